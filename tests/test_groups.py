"""Groups of columns: the norms of blocks, the certificate, the compiled solver, and the models that have them."""

import numpy as np
import pytest
from reference_cases import case
from scipy import sparse
from scipy.optimize import brentq
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from smaller import SBMLR, SMLR, SMLRCV, _core, path
from smaller._core.reference_norms import conjugate, dual_norm, residuals, root_of_secular, shrunk, soft
from smaller.design import as_design
from smaller.likelihoods import Gaussian, Multinomial
from smaller.models.base import problem_of
from smaller.objective.posterior import Posterior
from smaller.priors import ElasticNet, Groups
from smaller.solvers import solve_path
from smaller.solvers.l1 import newton as newton_module
from smaller.solvers.l1.newton import newton
from smaller.solvers.l1.warm_path import null_point
from smaller.solvers.ridge_evidence import log_determinant
from smaller.solvers.smooth import settle

LABELS = np.repeat([3, 1, 2, 0, 4], [3, 1, 2, 4, 3])  # of the columns of Wine


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def random_blocks(rng, blocks=50, entries=6, share=0.7):
    a = rng.uniform(0, 1, (blocks, entries)) * (rng.random((blocks, entries)) < share)
    return rng.standard_normal((blocks, entries)), a, rng.uniform(0.1, 2, blocks)


# -- one block


def test_the_dual_norm_is_the_root_of_its_definition():
    Z, a, tau = random_blocks(np.random.default_rng(0))
    for z, weights, t, found in zip(Z, a, tau, dual_norm(Z, a, tau), strict=True):
        excess = lambda s: np.linalg.norm(soft(z, s * weights)) - s * t  # noqa: B023, E731
        assert found == pytest.approx(brentq(excess, 0, 1e3, xtol=1e-15, rtol=1e-14), rel=1e-12)


def test_the_dual_norm_has_the_units_of_its_argument():
    Z, a, tau = random_blocks(np.random.default_rng(1))
    for unit in (1e-150, 1e150):
        np.testing.assert_allclose(dual_norm(unit * Z, a, tau), unit * dual_norm(Z, a, tau), rtol=1e-13)
    assert (dual_norm(0 * Z, a, tau) == 0).all()


def test_shrinking_ends_where_nothing_is_left_of_the_residual():
    V, a, tau = random_blocks(np.random.default_rng(2))
    W = shrunk(V, a, tau)
    assert 0 < np.count_nonzero(W.any(axis=1)) < len(W)
    np.testing.assert_allclose(residuals(W, V - W, a, tau), 0, atol=1e-14)
    assert (residuals(W + 1e-3, V - W - 1e-3, a, tau) > 1e-4).all()


def test_the_conjugate_is_the_supremum():
    rng = np.random.default_rng(3)
    Z, a, tau = random_blocks(rng, blocks=20)
    q = rng.uniform(0.2, 3, Z.shape)
    U = soft(Z, a)
    r = root_of_secular(q, U * U, tau)[:, None]
    best = U * r / (q * r + tau[:, None])

    def value(W):
        norm = np.linalg.norm(W, axis=1)
        return (Z * W - a * np.abs(W) - q * W * W / 2).sum(axis=1) - tau * norm

    np.testing.assert_allclose(conjugate(Z, a, q, tau), value(best), rtol=1e-12, atol=1e-14)
    for _ in range(200):
        assert (value(best + 0.1 * rng.standard_normal(Z.shape)) <= conjugate(Z, a, q, tau) + 1e-13).all()


def test_blocks_are_those_of_the_reference():
    _, reference = case("group_units")
    for e in reference["dual_norm"]:
        assert dual_norm(*(np.array([e[name]]) for name in ("z", "a", "tau")))[0] == pytest.approx(e["t"], rel=1e-13)
    for e in reference["prox"]:
        np.testing.assert_allclose(shrunk(*(np.array([e[n]]) for n in ("v", "a", "tau")))[0], e["x"], atol=1e-14)
    for e in reference["block"]:
        q, U = np.linalg.eigh(e["Q"])
        found = root_of_secular(q[None], np.square(U.T @ e["v"])[None], np.array([e["tau"]]))
        # The smallest eigenvalue, on which r depends, is known up to the rounding of the largest.
        assert found[0] == pytest.approx(e["r"], rel=1e-12 + 2e-16 * q[-1] / q[0])


# -- the reference cases


def objective_of(name, data, reference, entry, convert=np.asfortranarray):
    X, d = data["X"], data["X"].shape[1]
    weight = offset = factor = None
    if entry["parametrisation"] == "gaussian":
        Y, likelihood = data["Y"], Gaussian(1.0)
        weight = data["sample_weight"] if "weight" in entry["setting"] else None
    else:
        Y, likelihood = (
            np.eye(reference["m"])[data["y"]],
            Multinomial(reference="reference" in entry["parametrisation"]),
        )
        if likelihood.reference:
            Y = Y[:, 1:] if reference["m"] == 2 else Y[:, :-1]
    labelled = "user" in entry["setting"] or name == "group_fgl_full"
    labels = np.unique(data["group"] if labelled else np.arange(d), return_inverse=True)[1]
    c = np.sqrt(np.bincount(labels))
    if name == "group_fgl_full":
        weight, offset, c, factor = (data[n] for n in ("sample_weight", "offset", "group_factor", "penalty_factor"))
        offset = offset[:, :-1] - offset[:, -1:] if likelihood.reference else offset
    prior = Groups(entry["lam"], labels, c, entry["mix"], entry["l2"], factor)
    return Posterior(as_design(convert(X), entry["intercept"]), Y, likelihood, prior, weight, offset)


CASES = ["group_iris", "group_wine", "group_wide", "group_binary", "group_fgl_full", "group_multitask"]
STORAGES = {
    "columns": np.asfortranarray,
    "rows": np.ascontiguousarray,
    "csc": sparse.csc_array,
    "csr": sparse.csr_array,
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", CASES)
def test_the_solver_meets_the_reference(name, storage):
    data, reference = case(name)
    for entry in reference["results"]:
        objective = objective_of(name, data, reference, entry, STORAGES[storage])
        solution = newton(objective, objective.start(), 1e-9, 200)
        assert solution.status.name == "CONVERGED"
        assert solution.objective == pytest.approx(entry["objective"], rel=1e-8)
        point = objective.at(solution.weights)  # what NumPy says of the same weights
        assert solution.objective == pytest.approx(point.value, rel=1e-13)
        assert solution.gap == pytest.approx(point.gap, rel=1e-3, abs=1e-13)
        assert solution.violation == pytest.approx(point.violation, rel=1e-3, abs=1e-11)
        assert objective.largest_strength(null_point(objective)) == pytest.approx(entry["lam_max"], rel=1e-8)


@pytest.fixture
def python_body(monkeypatch):
    """The Newton method in Python: at whose speed rows on devices and in Dask blocks are fitted."""
    monkeypatch.setattr(_core, "COMPILED", False)
    return newton


@pytest.mark.parametrize("hessian", [3000, 0])
@pytest.mark.parametrize("name", CASES)
def test_the_python_body_meets_the_reference(name, hessian, python_body, monkeypatch):
    """By Newton steps, and by gradient steps, to which problems that are too large for a Hessian come."""
    monkeypatch.setattr(newton_module, "HESSIAN", hessian)
    data, reference = case(name)
    for entry in reference["results"]:
        objective = objective_of(name, data, reference, entry)
        if objective.blocks is None:
            continue
        solution = python_body(objective, objective.start(), 1e-9, 200)
        assert solution.status.name == "CONVERGED"
        assert solution.objective == pytest.approx(entry["objective"], rel=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_both_bodies_agree_in_units(share, monkeypatch):
    rng = np.random.default_rng(17)
    problem = random_problem(rng, share, 0.5, False)
    prior = Groups(2.0, problem.prior.labels, np.ones(4), share, 0.5, None, rng.uniform(0.1, 10, 8))
    problem = problem.with_prior(prior)
    compiled = newton(problem, problem.start(), 1e-10, 200)
    monkeypatch.setattr(_core, "COMPILED", False)
    for hessian in (3000, 0):
        monkeypatch.setattr(newton_module, "HESSIAN", hessian)
        solution = newton(problem, problem.start(), 1e-9, 200)
        assert solution.status.name == "CONVERGED"
        assert solution.objective == pytest.approx(compiled.objective, rel=1e-9)
        np.testing.assert_allclose(solution.weights[:-1], compiled.weights[:-1], atol=1e-4)


@pytest.mark.parametrize("name", ["group_iris", "group_wine", "group_fgl_full"])
def test_models_meet_the_reference(name):
    data, reference = case(name)
    for entry in reference["results"]:
        shared = {"lam": entry["lam"], "l1_share": entry["mix"], "l2": entry["l2"], "fit_intercept": entry["intercept"]}
        symmetric = "symmetric" if "symmetric" in entry["parametrisation"] else "reference"
        labelled = "user" in entry["setting"] or name == "group_fgl_full"
        given = {}
        if name == "group_fgl_full":
            given = {n: data[n] for n in ("sample_weight", "offset")}
            if entry["mix"] < 1:
                shared["group_factor"] = data["group_factor"]
            if entry["mix"] > 0 or entry["l2"] > 0:
                shared["penalty_factor"] = data["penalty_factor"]
        groups = data["group"] if labelled else "features"
        model = SMLR(groups=groups, parametrization=symmetric, tol=1e-9, **shared).fit(data["X"], data["y"], **given)
        assert model.objective_ == pytest.approx(entry["objective"], rel=1e-8)
        assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("name", ["group_sbmlr_iris", "group_sbmlr_wine", "group_sbmlr_fgl"])
def test_the_strength_found_is_that_of_the_reference(name):
    data, reference = case(name)
    for place, run in enumerate(reference["runs"]):
        groups = "features" if place == 0 else np.repeat(np.arange(5), [3, 1, 2, 4, 3])
        for curvature, told in (("likelihood", "A_only"), ("posterior", "consistent")):
            model = SBMLR(groups=groups, standardize=False, curvature=curvature).fit(data["X"], data["y"])
            assert model.lam_ == pytest.approx(run["alpha"], rel=1e-6)
            assert model.status_ == {"fixed point": "converged", "boundary": "jump"}[run["status"]]
            assert model.evidence_ == pytest.approx(-run["evidence_minus_log"][told], abs=1e-4)


# -- the certificate


def random_problem(rng, share, l2, reference, weights=None):
    n, d, k = 30, 8, 3
    X, Y = rng.standard_normal((n, d)), np.eye(k)[rng.integers(k, size=n)]
    labels, factor = rng.integers(4, size=d), np.ones(d) if weights is None else weights(rng, d)
    offset = rng.standard_normal((n, k))
    if reference:
        Y, offset = Y[:, :-1], offset[:, :-1]
    prior = Groups(rng.uniform(0.5, 4), labels, rng.uniform(0.5, 2, 4), share, l2, factor)
    s = rng.uniform(0.2, 3, n)
    return Posterior(as_design(np.asfortranarray(X), True), Y, Multinomial(reference=reference), prior, s, offset)


def check_gaps(problems, points):
    rng = np.random.default_rng(7)
    bounded = 0
    for _ in range(problems):
        share, l2 = rng.choice([0.0, 0.4]), rng.choice([0.0, 0.7])
        objective = random_problem(rng, share, l2, bool(rng.integers(2)), lambda rng, d: rng.uniform(0.5, 2, d))
        best = newton(objective, objective.start(), 1e-10, 200)
        for _ in range(points):
            away = rng.choice([1e-3, 1e-1, 1.0]) * rng.standard_normal(objective.shape)
            W = best.weights * rng.integers(2) + np.where(rng.random(objective.shape) < 0.5, away, 0.0)
            point = settle(objective, W, 1e-10)  # free weights at their optimum
            if np.isfinite(point.gap):
                bounded += 1
                assert point.value - best.objective <= point.gap * point.value * (1 + 1e-12)
    return bounded


def test_the_gap_is_a_bound():
    assert check_gaps(20, 20) >= 390


@pytest.mark.slow
def test_the_gap_is_a_bound_at_ten_thousand_points():
    assert check_gaps(250, 42) >= 10_000


def test_ridge_and_groups_certify_near_the_optimum():
    """There the unscaled dual point is the better one: the scaled one alone would leave a gap of per cents."""
    rng = np.random.default_rng(11)
    objective = random_problem(rng, 0.0, 1.0, False)
    solution = newton(objective, objective.start(), 1e-12, 200)
    assert objective.gap(solution.weights) <= 1e-12


# -- limits


def test_an_l1_share_of_one_is_the_lasso():
    X, y = wine()
    plain = SMLR(2.0).fit(X, y)
    for groups in ("features", LABELS):
        model = SMLR(2.0, groups=groups, l1_share=1.0).fit(X, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_two_classes_and_single_columns_are_the_lasso():
    X, y = wine()
    X, y = X[y < 2], y[y < 2]
    plain = SMLR(1.0, tol=1e-10).fit(X, y)
    np.testing.assert_array_equal(SMLR(1.0, groups="features", tol=1e-10).fit(X, y).coef_, plain.coef_)
    labelled = SMLR(1.0, groups=np.arange(13), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(labelled.coef_, plain.coef_, atol=1e-7)
    assert labelled.objective_ == pytest.approx(plain.objective_, rel=1e-10)


def test_two_symmetric_columns_are_one_at_a_strength_of_root_two():
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[y > 0]), y[y > 0] - 1
    one = newton(Posterior(as_design(X, True), np.eye(2)[y][:, 1:], Multinomial(reference=True), ElasticNet(1.0)),
                 np.zeros((5, 1)), 1e-12, 100)  # fmt: skip
    prior = Groups(np.sqrt(2), np.arange(4), np.ones(4))
    two = newton(
        Posterior(as_design(X, True), np.eye(2)[y], Multinomial(reference=False), prior), np.zeros((5, 2)), 1e-12, 100
    )
    np.testing.assert_allclose(two.weights[:, 1:] - two.weights[:, :1], one.weights, atol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_standardising_a_group_divides_its_columns(share):
    X, y = load_wine(return_X_y=True)
    whole = SMLR(3.0, groups=LABELS, l1_share=share, l2=0.3, standardize=True, tol=1e-10).fit(X, y)
    divided = SMLR(3.0, groups=LABELS, l1_share=share, l2=0.3, tol=1e-10).fit(X / X.std(axis=0), y)
    assert whole.objective_ == pytest.approx(divided.objective_, rel=1e-9)
    np.testing.assert_allclose(whole.coef_ * X.std(axis=0), divided.coef_, atol=1e-6)


def test_rows_of_symmetric_groups_sum_to_zero():
    X, y = wine()
    model = SMLR(2.0, groups=LABELS).fit(X, y)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)
    mixed = SMLR(2.0, groups=LABELS, l1_share=0.5, tol=1e-10).fit(X, y)
    assert np.abs(mixed.coef_.sum(axis=0)).max() > 1e-2  # between mean and median: no shift is free
    assert mixed.dual_gap_ <= 1e-10


# -- paths, large problems, options


def large_problem(n=400, d=300, k=4, size=1, share=0.0, sparse_columns=False):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d)) + 3.0
    X = sparse.csc_array(np.where(rng.random(X.shape) < 0.1, X, 0)) if sparse_columns else np.asfortranarray(X)
    B = np.zeros((d, k))
    B[:10] = rng.standard_normal((10, k))
    y = (X @ B + rng.gumbel(size=(n, k))).argmax(axis=1)
    labels = np.arange(d) // size
    prior = Groups(1.0, labels, np.sqrt(np.bincount(labels)), share)
    return Posterior(as_design(X, True), np.eye(k)[y], Multinomial(reference=False), prior)


def many_rows(classes, n=12_000, d=40):
    """Neighbouring columns are correlated; the weights of half of them are large."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    X[:, 1:] += X[:, :-1] / np.sqrt(3)
    F = X[:, ::2] @ rng.standard_normal((d // 2, classes)) * 1.5
    return X, (F + rng.gumbel(size=F.shape)).argmax(axis=1)


@pytest.mark.skipif(not _core.COMPILED, reason="the steps are counted by the compiled solver")
@pytest.mark.parametrize(("fraction", "steps"), [(0.1, 5), (0.01, 6)])
def test_the_first_steps_are_as_long_as_the_objective_falls(fraction, steps):
    """Rows lose curvature on the way from weights of 0: steps of the model alone are far too short there."""
    X, y = many_rows(2)
    model = SMLR(1.0, groups=np.arange(40) // 10)
    objective = problem_of(model, X, y).objective
    found, at = fitted_at(objective, fraction, 1e-6)
    assert found.extra["steps"] <= steps
    assert at.gap <= 1e-6


@pytest.mark.skipif(not _core.COMPILED, reason="the Hessians are counted by the compiled solver")
@pytest.mark.parametrize("fraction", [0.1, 0.01])
def test_groups_are_fitted_by_hessians_of_sampled_rows(fraction):
    X, y = many_rows(8, d=12)
    objective = problem_of(SMLR(1.0, groups="features"), X, y).objective
    found, at = fitted_at(objective, fraction, 1e-9)
    assert found.extra["sampled_hessians"] >= 1
    assert at.gap <= 1e-9


def fitted_at(objective, fraction, tol):
    """The compiled solution at a fraction of the largest strength, and the NumPy certificate of its weights."""
    objective = objective.with_strength(fraction * objective.largest_strength(null_point(objective)))
    found = newton(objective, np.zeros(objective.shape), tol, 200)
    return found, objective.at(found.weights)


def test_the_units_of_groups_need_no_pass_over_the_rows():
    X, y = many_rows(2)
    objective = problem_of(SMLR(1.0, groups=np.arange(40) // 10), X, y).objective
    np.testing.assert_allclose(objective.scale[:-1], np.sqrt(10))
    assert "moments" not in vars(objective.sample)


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize(("size", "sparse_columns"), [(1, False), (1, True), (10, False)])
def test_a_path_is_its_single_fits(size, share, sparse_columns):
    objective = large_problem(size=size, share=share, sparse_columns=sparse_columns)
    lams = objective.largest_strength(null_point(objective)) * np.geomspace(1, 0.05, 15)
    trail = solve_path(objective, lams, 1e-8, 100)
    for lam, solution in zip(lams, trail, strict=True):
        one = objective.with_prior(objective.prior.with_strength(lam))
        alone = newton(one, one.start(), 1e-8, 100)
        assert solution.status.name == "CONVERGED"
        assert one.gap(solution.weights) <= 1e-8
        assert solution.objective == pytest.approx(alone.objective, rel=1e-7)
    assert not trail.last.weights[:300].all()


def test_nothing_is_kept_above_the_largest_strength():
    for share in (0.0, 0.4):
        objective = large_problem(share=share)
        largest = objective.largest_strength(null_point(objective))
        for times, kept in ((1.000001, False), (0.999, True)):
            one = objective.with_prior(objective.prior.with_strength(times * largest))
            assert newton(one, one.start(), 1e-9, 100).weights[:-1].any() == kept


@pytest.mark.parametrize("groups", [None, "features", LABELS])
def test_an_infinite_factor_leaves_a_column_out(groups):
    X, y = wine()
    factor = np.ones(13)
    factor[[3, 10]] = np.inf
    left = np.delete(np.arange(13), [3, 10])
    whole = SMLR(2.0, groups=groups, penalty_factor=factor).fit(X, y)
    part = SMLR(2.0, groups=groups if groups is None or isinstance(groups, str) else groups[left]).fit(X[:, left], y)
    assert whole.objective_ == pytest.approx(part.objective_, rel=1e-9)
    assert not set(whole.support_) & {3, 10}
    assert np.isfinite(whole.predict_proba(X)).all()
    whole.set_params(warm_start=True, penalty_factor=factor[::-1]).fit(X, y)
    assert not set(whole.support_) & {9, 2}


def test_labels_may_be_names_and_factors_go_by_them():
    X, y = wine()
    names = np.array(["d", "b", "c", "a", "e"])[LABELS]
    model = SMLR(5.0, groups=names, group_factor={"a": 1.0, "b": 0.0, "c": 3.0, "d": 1.0, "e": 1.0}).fit(X, y)
    order = SMLR(5.0, groups=names, group_factor=[1.0, 0.0, 3.0, 1.0, 1.0]).fit(X, y)
    np.testing.assert_array_equal(model.coef_, order.coef_)
    assert set(model.group_support_) == set(names[model.support_])
    assert "b" in model.group_support_


def test_cross_validation_and_path_take_groups():
    X, y = wine()
    model = SMLRCV(20, groups=LABELS, l1_share=0.2).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert set(model.group_support_) <= set(LABELS)
    found = path(X, y, 10, groups="features")
    assert (np.diff(found.n_kept) >= 0).all()
    assert found.dual_gaps.max() <= 1e-6
    kernel = SMLRCV(5, basis="rbf", groups="features").fit(X, y)
    assert kernel.dual_gap_ <= 1e-6


def test_the_evidence_ignores_directions_that_are_rounding():
    """As where offsets make every class certain: diagonal entries of rounding, and large ones beside them."""
    A = np.diag([-1e3, -2e3, 1e40])
    A[0, 1] = A[1, 0] = 1e20
    log_volume, rank = log_determinant(A, [])
    assert (log_volume, rank) == (pytest.approx(np.log(1e40)), 1)


def test_sbmlr_of_sparse_groups_has_no_evidence():
    X, y = wine()
    model = SBMLR(groups="features", l1_share=0.5).fit(X, y)
    assert np.isnan(model.evidence_)
    assert model.status_ in ("converged", "jump")


@pytest.mark.slow
def test_groups_keep_fewer_false_features():
    """At the strongest strength that finds 8 of 10 features that matter for all classes (docs/howto/genes.md)."""
    false = {"features": [], None: []}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, W = rng.standard_normal((100, 2000)), np.zeros((2000, 4))
        W[:10] = 1.5 * rng.standard_normal((10, 4))
        y = (X @ W + rng.gumbel(size=(100, 4))).argmax(axis=1)
        for groups, found in false.items():
            kept = path(X, y, 60, groups=groups, tol=1e-3).coefs.any(axis=1)
            enough = np.flatnonzero(kept[:, :10].sum(axis=1) >= 8)
            found.append(kept[enough[0], 10:].sum() if len(enough) else np.nan)
    grouped, plain = (np.array(found, dtype=float) for found in false.values())
    both = np.isfinite(grouped + plain)
    assert both.sum() >= 30
    assert np.mean(grouped[both]) < 0.8 * np.mean(plain[both])
    assert np.sum(grouped[both] < plain[both]) > 2 * np.sum(grouped[both] > plain[both])


def test_sbmlr_on_noise_is_empty():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="kept no column"):
        model = SBMLR(groups="features").fit(rng.standard_normal((60, 8)), rng.integers(3, size=60))
    assert not len(model.support_)


BAD = {
    "must be None, 'features' or one label": {"groups": "feature"},
    "number of samples: labels of samples": {"groups": np.zeros(178)},
    r"must have shape \(13,\)": {"groups": np.zeros(4)},
    "missing label": {"groups": [np.nan] * 13},
    "has no effect without groups": {"l1_share": 0.5},
    "use penalty_factor": {"groups": "features", "group_factor": np.ones(13)},
    "in the order of the sorted labels": {"groups": LABELS, "group_factor": [1, 2]},
    "name each label": {"groups": LABELS, "group_factor": {0: 1.0}},
    "finite and not negative": {"groups": LABELS, "group_factor": [1, 1, 1, 1, np.inf]},
    "a label of its own with a group_factor of 0": {"groups": LABELS, "penalty_factor": [0] + [1] * 12},
    "penalty_factor has no effect": {"groups": LABELS, "penalty_factor": [2] + [1] * 12},
    "no effect with l1_share=1": {"groups": LABELS, "group_factor": np.ones(5), "l1_share": 1.0},
    "share one penalty": {"groups": "features", "penalty_factor": np.ones((3, 13))},
    "takes no groups": {"groups": "features", "solver": "bound"},
    "for all rows of that column": {"penalty_factor": np.where(np.arange(39).reshape(3, 13) == 0, np.inf, 1.0)},
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_refused_says_why(message):
    X, y = wine()
    with pytest.raises(ValueError, match=message):
        SMLR(**BAD[message]).fit(X, y)


def test_labels_of_samples_and_of_columns_are_told_apart():
    X, y = wine()
    with pytest.raises(ValueError, match=r"Labels of columns go to the constructor"):
        SMLRCV().fit(X, y, groups=LABELS)
