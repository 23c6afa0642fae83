"""Three algorithms, one optimum: they agree with each other, with independent references, and never go uphill."""

from itertools import pairwise

import numpy as np
import pytest
from crossing.judges import Softmax
from reference_cases import case
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from smaller import SMLR, _core
from smaller._core import COMPILED
from smaller.basis import Kernel
from smaller.design import as_design
from smaller.errors import Status
from smaller.likelihoods import Gaussian, Multinomial
from smaller.models.base import problem_of
from smaller.objective.posterior import Posterior
from smaller.priors import ElasticNet, Laplace, Normal
from smaller.solvers import SOLVERS
from smaller.solvers.l1 import newton
from smaller.solvers.l1.warm_path import null_point, solve_path


def draw(seed, copies=True):
    """A random problem, always with a constant and two badly scaled columns, and a duplicated one unless told.

    n < p and n > p; 2, 3, 4 or 10 classes; dense and sparse; both parametrisations; weights, factors, a ridge term.
    """
    rng = np.random.default_rng(seed)
    n, d = [(60, 9), (30, 45), (120, 14)][seed % 3]
    m = [2, 3, 10, 4][seed % 4]
    X = rng.standard_normal((n, d))
    B = rng.standard_normal((d, m)) * (rng.random((d, 1)) < 0.3)
    y = (X @ B + rng.gumbel(size=(n, m))).argmax(axis=1)
    y[:m] = np.arange(m)
    X[:, 1], X[:, 2] = X[:, 0] if copies else X[:, 1], 1.0
    X[:, 3] *= 100
    X[:, 4] /= 100
    if seed % 5 == 1:
        X = np.where(rng.random(X.shape) < 0.5, X, 0.0)
        X = (sparse.csr_array if seed % 2 else sparse.csc_matrix)(X)
    reference = m == 2 or seed % 2 == 0
    k = m - reference
    Y = (y[:, None] == np.arange(k)).astype(float)
    # The factor undoes the bad scaling, as a user who knows the units would; one column is free in some problems.
    factor = np.ones(d)
    factor[3], factor[4] = 100, 0.01
    if seed % 7 == 3:
        factor[5] = 0
        factor[6] = 2
    s = rng.uniform(0.5, 2, n) if seed % 3 else None
    objective = Posterior(
        as_design(X, seed % 4 != 0), Y, Multinomial(bool(reference)), ElasticNet(1.0, 0.1 * (seed % 6 == 2), factor), s
    )
    largest = objective.largest_strength(null_point(objective))
    return objective.with_prior(objective.prior.with_strength((0.5, 0.2, 0.1)[seed % 3 - 1] * largest))


@pytest.mark.parametrize("seed", range(36))
def test_all_solvers_reach_the_same_certified_optimum(seed):
    objective = draw(seed)
    found = {}
    for name in ("newton", "component-wise", "bound"):
        solver, iterations = SOLVERS[name]
        found[name] = solver(objective, np.zeros(objective.shape), 1e-8, iterations)
        assert found[name].gap <= 1e-8, name
    values = [solution.objective for solution in found.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-7)
    for name in ("component-wise", "bound"):
        steps = np.array(found[name].extra["objectives"])
        assert (np.diff(steps) <= 2e-13 * np.abs(steps[:-1])).all(), f"{name} went uphill"


def test_newton_steps_converge_fast_on_classes_of_a_few_rows_under_a_weak_prior():
    """Rows of a rare class have small probabilities; the curvature that the steps assume there must become exact."""
    rng = np.random.default_rng(1)
    y = np.r_[rng.integers(2, size=988), np.full(8, 2), np.full(4, 3)]
    Z = rng.standard_normal((1000, 3)) + 1.5 * (y[:, None] == 1)
    X = np.hstack([Z, Z.sum(axis=1, keepdims=True) + 0.05 * rng.standard_normal((1000, 1))])
    model = SMLR(0.001).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert model.n_iter_ <= 5  # passes over the data, of at most 20 Newton steps each


def collinear(m, *, as_sparse, intercept, fraction):
    """Columns around 100 common directions, with so weak a prior that many weights stay; m = 1: regression."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 100)) @ rng.standard_normal((100, 2000)) + 2 * rng.standard_normal((900, 2000))
    X = sparse.csc_array(np.where(rng.random(X.shape) < 0.3, X, 0.0)) if as_sparse else X
    F = X @ rng.standard_normal((2000, m)) / 40
    y = (F + rng.gumbel(size=F.shape)).argmax(axis=1)
    Y = F + rng.standard_normal(F.shape) if m == 1 else (y[:, None] == np.arange(m)).astype(float)
    objective = Posterior(as_design(X, intercept), Y, Gaussian(1.0) if m == 1 else Multinomial(False), Laplace(1.0))
    largest = objective.largest_strength(null_point(objective))
    return objective.with_prior(Laplace(fraction * largest))


@pytest.mark.skipif(not COMPILED, reason="the compiled core has the conjugate gradients")
@pytest.mark.parametrize(
    ("m", "as_sparse", "intercept", "fraction", "sweeps"),
    [(1, True, True, 3e-3, 10_000), (1, True, False, 1e-2, 3000), (4, True, True, 2e-3, 600)],
)
def test_conjugate_gradients_shorten_the_work_on_large_supports(m, as_sparse, intercept, fraction, sweeps):
    objective = collinear(m, as_sparse=as_sparse, intercept=intercept, fraction=fraction)
    found = SOLVERS["newton"][0](objective, np.zeros(objective.shape), 1e-8, 200)
    assert np.count_nonzero(found.weights) > 800  # close to the number of rows, or more
    assert objective.at(found.weights).gap <= 1e-8
    assert found.extra["sweeps"] < sweeps


def test_of_sparse_columns_that_nothing_tells_apart_the_first_enters():
    objective = draw(1)
    assert sparse.issparse(objective.design.X)
    assert objective.prior.l2 == 0
    X, factor = objective.design.X, objective.prior.factor
    unit = np.linspace(0.5, 2.0, 3 * X.shape[1]) * np.tile([1.0, -1.0, 1.0], X.shape[1])
    thrice = sparse.csc_array(X.toarray().repeat(3, axis=1) * unit)
    wide = Posterior(
        as_design(thrice, objective.design.intercept), objective.Y, objective.likelihood,
        Laplace(objective.prior.l1, factor.repeat(3), np.abs(unit)), objective.s,
    )  # fmt: skip
    plain, found = (SOLVERS["newton"][0](each, np.zeros(each.shape), 1e-10, 200) for each in (objective, wide))
    np.testing.assert_allclose(found.objective, plain.objective, rtol=1e-9)
    d = X.shape[1]
    np.testing.assert_allclose(found.weights[: 3 * d : 3] * unit[::3, None], plain.weights[:d], atol=1e-6)
    assert not found.weights[1 : 3 * d : 3].any()
    assert not found.weights[2 : 3 * d : 3].any()


@pytest.mark.parametrize("seed", range(0, 36, 6))
def test_the_greedy_schedule_reaches_it_too(seed):
    """Section 6.4 of Krishnapuram et al. (2005)."""
    objective = draw(seed)
    newton, greedy = (SOLVERS[name][0] for name in ("newton", "component-wise-greedy"))
    best = newton(objective, np.zeros(objective.shape), 1e-9, 200)
    ours = greedy(objective, np.zeros(objective.shape), 1e-8, 20_000)
    np.testing.assert_allclose(ours.objective, best.objective, rtol=1e-7)
    assert (np.diff(ours.extra["objectives"]) <= 2e-13 * best.objective).all()


@pytest.mark.parametrize("seed", range(0, 36, 3))
def test_ridge_solvers_agree(seed):
    """Newton, eq. (10) and eq. (16) minimise the same quadratic-penalised likelihood."""
    objective = draw(seed)
    objective = objective.with_prior(Normal(2.0, objective.prior.factor))
    values = []
    for name in ("newton", "component-wise", "bound"):
        solver, iterations = SOLVERS[name]
        solution = solver(objective, np.zeros(objective.shape), 1e-9, iterations)
        assert solution.gap <= 1e-9, name
        values.append(solution.objective)
    np.testing.assert_allclose(values, values[0], rtol=1e-7)


def test_conjugate_gradients_and_cholesky_take_the_same_newton_steps(monkeypatch):
    from smaller.solvers import smooth

    objective = draw(4).with_prior(Normal(0.5))
    direct = smooth.smooth(objective, np.zeros(objective.shape), 1e-9, 100)
    monkeypatch.setattr(smooth, "DIRECT", 0)
    iterative = smooth.smooth(objective, np.zeros(objective.shape), 1e-9, 100)
    np.testing.assert_allclose(direct.objective, iterative.objective, rtol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_newton_reaches_a_gap_of_1e_10_on_well_scaled_data(seed):
    objective = draw(3 * seed + 2)
    assert SOLVERS["newton"][0](objective, np.zeros(objective.shape), 1e-10, 200).gap <= 1e-10


def test_newton_is_quick_on_nearly_collinear_columns():
    """A very wide kernel without intercept: its columns are all but equal, and coordinate sweeps alone need ages."""
    X, y = load_iris(return_X_y=True)
    model = SMLR(basis=Kernel("rbf", gamma=2.0**-11), parametrization="reference", fit_intercept=False)
    objective = problem_of(model, StandardScaler().fit_transform(X), y).objective
    lams = objective.largest_strength(null_point(objective)) * np.geomspace(1, 1e-4, 30)
    solutions = list(solve_path(objective, lams, 1e-6, 200))
    assert max(solution.gap for solution in solutions) <= 1e-6
    assert max(solution.n_iter for solution in solutions) <= 12


@pytest.mark.parametrize("seed", range(6))
def test_a_path_is_its_single_fits(seed):
    objective = draw(seed)
    largest = objective.largest_strength(null_point(objective))
    lams = largest * np.geomspace(1, 0.05, 12)
    for lam, solution in zip(lams, solve_path(objective, lams, 1e-9, 200), strict=True):
        single = SOLVERS["newton"][0](
            objective.with_prior(objective.prior.with_strength(lam)), np.zeros(objective.shape), 1e-9, 200
        )
        np.testing.assert_allclose(solution.objective, single.objective, rtol=1e-8)


OPTIONS = {
    "plain": {},
    "ridge": {"l2": 0.5},
    "free columns": {"factor": True},
    "offset": {"offset": True},
    "all": {"l2": 0.5, "factor": True, "offset": True},
}


def with_options(objective, l2=0.0, factor=False, offset=False):
    """The same data with a ridge, a free column and others of factor 2, and an offset."""
    rng, d = np.random.default_rng(3), objective.design.d
    factors = np.where(np.arange(d) % 3 == 2, 2.0, 1.0) if factor else np.ones(d)
    factors[0] = 0.0 if factor else 1.0
    shift = rng.standard_normal(objective.Y.shape) if offset else None
    prior = ElasticNet(objective.prior.l1, l2, factors)
    return Posterior(objective.design, objective.Y, objective.likelihood, prior, objective.s, shift)


@pytest.mark.skipif(not COMPILED, reason="the compiled core is not installed")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("seed", [0, 1, 4, 6, 7, 11, 12, 13, 18, 21])
def test_the_compiled_solver_and_that_of_python_end_at_the_same_optimum(seed, options, monkeypatch):
    """Cold and warm, each with the certificate that its weights have."""
    objective = with_options(draw(seed, copies=False), **options)
    lams = objective.largest_strength(null_point(objective)) * np.array([0.5, 0.45, 0.1, 0.05])
    ends = []
    for compiled in (True, False):
        monkeypatch.setattr(_core, "COMPILED", compiled)
        found, W, F = [], np.zeros(objective.shape), None
        for lam, screen in zip(lams, (1.0, 0.8, 1.0, 0.0), strict=True):
            problem = objective.with_prior(objective.prior.with_strength(lam))
            found.append(SOLVERS["newton"][0](problem, W, 1e-8, 200, screen, F))
            W, F = found[-1].weights, found[-1].scores
        ends.append(found)
    for lam, ours, python in zip(lams, *ends, strict=True):
        assert ours.status is python.status is Status.CONVERGED
        np.testing.assert_allclose(ours.objective, python.objective, rtol=1e-8)
        problem = objective.with_prior(objective.prior.with_strength(lam))
        for each in (ours, python):
            point = problem.at(each.weights)
            assert point.value == pytest.approx(each.objective, rel=1e-12)
            assert point.gap == pytest.approx(each.gap, abs=1e-11)
            assert point.violation == pytest.approx(each.violation, abs=1e-9)


def by_rows(kind, X):
    """The same numbers in a layout that is not stored by columns, however small."""
    if kind == "sparse":
        design = as_design(sparse.csr_array(X), True)
        design.by_rows, design.X = True, sparse.csr_array(X)
        return design
    strided = np.full((3 * X.shape[0], 2 * X.shape[1]), np.nan)
    strided[::-3, ::2] = X
    design = as_design({"C": X, "strided": strided[::-3, ::2]}[kind], True)
    design.__dict__["stored"] = None
    return design


@pytest.mark.skipif(not COMPILED, reason="the compiled core is not installed")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["C", "strided", "sparse"])
def test_columns_that_lie_by_rows_give_the_same_path(kind, dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((61, 40)) < 0.7, rng.standard_normal((61, 40)) + 1.0, 0.0).astype(dtype)
    Y = np.asfortranarray(np.eye(3)[rng.integers(0, 3, 61)])
    ends = []
    for design in (as_design(np.asfortranarray(X), True), by_rows(kind, X)):
        assert (design.stored is None) == bool(ends)
        objective = Posterior(design, Y, Multinomial(False), ElasticNet(1.0, 0.1), np.full(61, 1.5))
        lams = objective.largest_strength(null_point(objective)) * np.geomspace(1, 0.05, 6)
        ends.append(list(solve_path(objective, lams, 1e-9, 200)))
    for columns, rows in zip(*ends, strict=True):
        np.testing.assert_allclose(columns.objective, rows.objective, rtol=1e-9)
        change = columns.weights - rows.weights
        np.testing.assert_allclose(change[:-1], 0.0, atol=1e-5)
        np.testing.assert_allclose(
            change[-1] - change[-1].mean(), 0.0, atol=1e-5
        )  # what all classes share is no matter


def test_a_large_matrix_by_rows_is_not_copied_by_columns():
    X = np.zeros((1100, 1000))
    assert as_design(X, True).stored is None
    assert as_design(X.T, True).stored[0].base is X
    small = as_design(X[:1000], False).stored[0]
    assert small.flags.f_contiguous
    assert not np.shares_memory(small, X)


@pytest.mark.parametrize("steps", [np.geomspace(1, 0.02, 25), [0.9, 0.9, 0.899, 0.1, 0.1, 0.09, 0.3, 0.05]])
@pytest.mark.parametrize("seed", [0, 1, 4, 7, 12, 13, 21])
def test_every_point_of_a_path_has_the_certificate_that_it_claims(seed, steps):
    objective = draw(seed)
    lams = objective.largest_strength(null_point(objective)) * np.array(steps)
    for lam, solution in zip(lams, solve_path(objective, lams, 1e-5, 200), strict=True):
        point = objective.with_prior(objective.prior.with_strength(lam)).at(solution.weights)
        assert solution.status is Status.CONVERGED
        assert point.gap <= 1e-5
        assert point.gap == pytest.approx(solution.gap, abs=1e-12)
        assert (point.value, point.violation) == pytest.approx((solution.objective, solution.violation), abs=1e-9)


@pytest.mark.skipif(not COMPILED, reason="compares the compiled solver with the Python one")
@pytest.mark.parametrize("hessian", [3000, 20, 0], ids=["whole", "working set", "gradient steps"])
@pytest.mark.parametrize("seed", range(12))
def test_the_python_body_reaches_the_optimum_of_the_compiled_one(seed, hessian, monkeypatch):
    """By Newton steps on all weights or some, and, where no Hessian has room, by accelerated gradient steps."""
    objective, tol = draw(seed), 1e-6
    best = newton.newton(objective, objective.start(), 1e-10, 200).objective
    monkeypatch.setattr(_core, "COMPILED", False)
    monkeypatch.setattr(newton, "HESSIAN", hessian)
    found = newton.newton(objective, objective.start(), tol, 200)
    assert found.status is Status.CONVERGED
    assert found.gap <= tol
    assert best * (1 - 1e-9) <= found.objective <= best * (1 + tol)


@pytest.mark.parametrize("kind", [np.asfortranarray, np.float32, sparse.csc_array])
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_what_a_path_does_not_compute_would_not_change_its_certificates(kind, m, intercept):
    """Wide columns far from centred, weighted samples; strengths go down in small and in large steps, and up."""
    rng = np.random.default_rng(0)
    X = kind(np.where(rng.random((50, 600)) < 0.6, rng.standard_normal((50, 600)) + rng.normal(0, 5, 600), 0.0))
    Y = np.eye(m)[np.maximum(rng.integers(-4, m, 50), 0)][:, : 1 if m == 2 else m]  # the start, at 0, is far off
    design = as_design(X, intercept)
    objective = Posterior(design, Y, Multinomial(m == 2), Laplace(1.0), rng.uniform(0.2, 3, 50))
    assert objective.design.in_memory
    steps = np.concatenate([[1.3], np.geomspace(0.97, 0.3, 40), [0.1, 0.2, 0.21], np.geomspace(0.19, 0.02, 40)])
    lams = objective.largest_strength(null_point(objective)) * steps
    for lam, solution in zip(lams, solve_path(objective, lams, 1e-4, 200), strict=True):
        point = objective.with_prior(objective.prior.with_strength(lam)).at(solution.weights)
        assert point.gap == pytest.approx(solution.gap, abs=1e-11)
        assert point.violation == pytest.approx(solution.violation, abs=1e-9)


@pytest.mark.parametrize("above", [1.05, 1.2, 1.26])
def test_a_path_may_begin_where_nothing_is_kept(above):
    """Columns far from centred: their gradients at the start, where the intercept is 0, say nothing of later ones."""
    X, y = load_breast_cancer(return_X_y=True)
    objective = problem_of(SMLR(standardize=True), X, y).objective
    lams = objective.largest_strength(null_point(objective)) * np.array([above, 0.99])
    first, second = solve_path(objective, lams, 1e-6, 200)
    assert not first.weights[:-1].any()
    assert np.count_nonzero(second.weights[:-1]) == 1
    assert second.status is Status.CONVERGED


@pytest.mark.parametrize("rounds", ["compiled", "python"])
def test_a_loose_tolerance_makes_no_stairs_of_a_path(rounds, monkeypatch):
    """Each point has weights of its own, far better than the tolerance asks, though those of the last would do."""
    objective = draw(1, copies=False)
    lams = objective.largest_strength(null_point(objective)) * np.geomspace(0.8, 0.02, 50)
    best = [solution.objective for solution in solve_path(objective, lams, 1e-10, 200)]
    if rounds == "python":
        monkeypatch.setattr(_core, "COMPILED", False)
    solutions = list(solve_path(objective, lams, 0.1, 200))
    assert all(solution.n_iter >= 1 for solution in solutions[1:])
    assert all(np.any(a.weights != b.weights) for a, b in pairwise(solutions))
    assert max(solution.objective / least for solution, least in zip(solutions[1:], best[1:], strict=True)) < 1 + 1e-4


# Optima of standardised Iris and Wine without intercept, each found by two independent convex solvers to 1e-10:
# (lam, parametrisation, objective, non-zero weights).
REFERENCES = {
    "iris": [
        (0.1, "reference", 46.81326442967055, 7),
        (0.1, "symmetric", 46.498566028039484, 7),
        (1.0, "reference", 58.47157136583572, 6),
        (1.0, "symmetric", 56.4752342548623, 5),
        (10.0, "reference", 108.75726269793833, 4),
        (10.0, "symmetric", 100.74594980983117, 4),
    ],
    "wine": [
        (0.1, "reference", 4.497653922037385, 18),
        (0.1, "symmetric", 3.855867803304645, 19),
        (1.0, "reference", 23.340973043841288, 16),
        (1.0, "symmetric", 20.939897868057194, 18),
        (10.0, "reference", 99.03475227127717, 11),
        (10.0, "symmetric", 90.32137711584193, 12),
    ],
}


@pytest.mark.parametrize("name", REFERENCES)
def test_independent_references(name):
    X, y = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for lam, parametrization, objective, kept in REFERENCES[name]:
        model = SMLR(lam, parametrization=parametrization, fit_intercept=False, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(model.objective_, objective, rtol=1e-8)
        assert np.count_nonzero(model.coef_) == kept


@pytest.mark.parametrize("name", ["smlr_iris", "smlr_wine", "smlr_crabs4", "smlr_crabs_rbf"])
def test_reference_cases(name):
    """Independent optima, both parametrisations and several strengths, within 1e-8."""
    data, reference = case(name)
    for found in reference["results"]:
        parametrization = found["parametrisation"].partition("(")[0]
        model = SMLR(found["lam"], parametrization=parametrization, fit_intercept=False, tol=1e-9)
        model.fit(data["X"], data["y"])
        np.testing.assert_allclose(model.objective_, found["objective"], rtol=1e-8)


@pytest.mark.skipif(not COMPILED, reason="the compiled core has the sampled Hessians")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
@pytest.mark.parametrize("fraction", [0.1, 1e-3])
def test_hessians_of_sampled_rows_reach_the_certified_optimum_of_all_rows(parametrization, intercept, fraction):
    """Few columns, many rows and classes, one class of six rows, and sample weights.

    The lower bound of the optimum is that of a judge which shares no code with the solver.
    """
    rng = np.random.default_rng(3)
    n, d, m = 12_000, 12, 8
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    y = (X @ rng.standard_normal((d, m - 1)) + rng.gumbel(size=(n, m - 1))).argmax(axis=1)
    y[:6], s = m - 1, np.r_[np.ones(6), rng.integers(0, 4, n - 6) / 2]
    model = SMLR(1.0, tol=1e-9, fit_intercept=intercept, parametrization=parametrization)
    objective = problem_of(model, X, y, sample_weight=s).objective
    model.lam = fraction * objective.largest_strength(null_point(objective))
    found = SOLVERS["newton"][0](objective.with_prior(Laplace(model.lam)), np.zeros(objective.shape), 1e-9, 200)
    assert found.extra["sampled_hessians"] >= 1
    assert found.extra["hessians"] <= (2 if fraction == 0.1 else 20)  # under a weak prior samples may be given up
    model.fit(X, y, sample_weight=s)
    judge = Softmax(X, y, m, s, None, model.lam, 0.0, intercept, parametrization == "reference")
    W, b = model.coef_[judge.scored], model.intercept_[judge.scored]
    value = judge.value(W, b)
    np.testing.assert_allclose(model.objective_, value, rtol=1e-12)
    assert value - judge.lower_bound(W, b) <= 1e-8 * value
