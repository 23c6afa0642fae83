"""Models whose X is known by products alone: the same answers as of the matrix, and refusals everywhere else."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import smaller
from smaller import LaplaceRegressor, LaplaceRegressorCV, TypeIIRegressor, TypeIRegressor, maximally_sparse
from smaller.design import as_design
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.objective.evidence import Evidence
from smaller.solvers.type2 import auto


def problem(n=30, p=80, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, p)) + 1.0
    Y = Phi[:, :4] @ np.full((4, targets), 2.0) + 0.1 * rng.standard_normal((n, targets))
    return Phi, Y if targets > 1 else Y[:, 0], rng.integers(0, 3, n).astype(float)


def same(model, Phi, Y, weight=None, tolerance=1e-8):
    """Weights, noise and error bars of the operator beside those of the matrix."""
    matrix, operator = (type(model)(**model.get_params()).fit(X, Y, weight) for X in (Phi, aslinearoperator(Phi)))
    scale = np.abs(matrix.coef_).max(initial=1.0)
    assert_allclose(operator.coef_, matrix.coef_, atol=tolerance * scale)
    assert operator.status_ == matrix.status_
    assert operator.noise_ == pytest.approx(matrix.noise_, rel=1e-6, abs=1e-12)
    expected = matrix.predict(Phi, return_std=True)
    for found, wanted in zip(operator.predict(aslinearoperator(Phi), return_std=True), expected, strict=True):
        assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    return operator


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"lam": 10.0}, {"lam": 3.0, "noise": 0.01, "fit_intercept": False}, {"lam": 3.0, "noise": 0.01, "l2": 0.1},
        {"lam": 10.0, "groups": np.arange(80) // 2}, {"lam": 10.0, "penalty_factor": np.append(0.0, np.ones(79))},
        {"lam": 3.0, "solver": "em", "noise": 0.01}, {"lam": 20.0, "noise": 0.01, "standardize": False},
    ],
    ids=str,
)  # fmt: skip
def test_the_lasso_of_an_operator_is_that_of_its_matrix(options, weighted):
    Phi, y, weight = problem()
    model = LaplaceRegressor(**{"tol": 1e-10, "max_iter": 20_000, **options})
    found = same(model, Phi, y, weight if weighted else None, 1e-6 if options.get("solver") == "em" else 1e-8)
    assert found.dual_gap_ <= 1e-10


def test_the_lasso_of_an_operator_with_several_targets():
    Phi, Y, _ = problem(targets=3)
    assert len(same(LaplaceRegressor(20.0, groups="features", tol=1e-10), Phi, Y).support_) < 80


def test_a_strength_chosen_by_cross_validation_on_an_operator():
    Phi, y, _ = problem(n=60)
    options = {"lams": 8, "cv": 3, "tol": 1e-10}
    matrix, operator = (LaplaceRegressorCV(**options).fit(X, y) for X in (Phi, aslinearoperator(Phi)))
    assert operator.lam_ == pytest.approx(matrix.lam_)
    assert_allclose(operator.scores_, matrix.scores_, rtol=1e-6)


def test_the_lasso_of_cosines_is_certified_by_products_alone():
    """1024 of 4096 rows: the gap by NumPy from the weights returned, and far fewer products than columns."""
    rng, p = np.random.default_rng(0), 4096
    rows, used = np.sort(rng.choice(p, 1024, replace=False)), [0]

    def forward(v):
        used[0] += v.shape[1] if v.ndim > 1 else 1
        return idct(v, norm="ortho", axis=0)[rows]

    def adjoint(u):
        used[0] += u.shape[1] if u.ndim > 1 else 1
        full = np.zeros((p, *u.shape[1:]))
        full[rows] = u
        return dct(full, norm="ortho", axis=0)

    products = {"matvec": forward, "rmatvec": adjoint, "matmat": forward, "rmatmat": adjoint}
    operator = LinearOperator((1024, p), dtype=float, **products)
    x = np.zeros(p)
    x[rng.choice(p, 128, replace=False)] = rng.standard_normal(128)
    y = forward(x) + 0.01 * rng.standard_normal(1024)
    model = LaplaceRegressor(200.0, noise=1e-4, fit_intercept=False, standardize=False).fit(operator, y)
    residual = y - forward(model.coef_)
    value = residual @ residual / 2e-4 + 200 * np.abs(model.coef_).sum()
    dual = residual / 1e-4 * min(1.0, 200 / np.abs(adjoint(residual / 1e-4)).max())
    gap = (value - (dual @ y - 0.5e-4 * dual @ dual)) / value
    assert gap <= 1e-6
    assert gap == pytest.approx(model.dual_gap_, abs=1e-8)
    assert used[0] < p


@pytest.mark.filterwarnings("ignore:.*the columns fit the targets exactly")
@pytest.mark.parametrize("shape", [(30, 80), (60, 20)], ids=["wide", "tall"])
@pytest.mark.parametrize("prior", ["laplace", "gaussian", "jeffreys", "lp"])
@pytest.mark.parametrize("noise", ["learn", 0.5])
def test_type_one_of_an_operator_is_that_of_its_matrix(prior, noise, shape):
    Phi, Y, weight = problem(*shape, targets=2)
    for intercept, targets in ((True, Y[:, 0]), (False, Y if prior != "laplace" else Y[:, 1])):
        same(TypeIRegressor(prior, noise=noise, fit_intercept=intercept), Phi, targets, weight if intercept else None)


def test_type_one_of_several_targets_of_an_operator_has_a_remedy():
    Phi, Y, _ = problem(targets=2)
    with pytest.raises(ValueError, match="LaplaceRegressor\\(groups='features'\\)"):
        TypeIRegressor().fit(aslinearoperator(Phi), Y)


@pytest.mark.parametrize("groups", [None, np.arange(80) % 40], ids=["alone", "groups"])
def test_a_fit_by_products_alone_is_that_with_columns(monkeypatch, groups):
    """Large problems form neither their columns nor copies of the covariance; here a small one is treated so."""
    Phi, y, _ = problem()
    options = {"noise": 0.01, "groups": groups, "tol": 1e-8}
    whole = TypeIIRegressor(**options).fit(aslinearoperator(Phi), y)
    monkeypatch.setattr(auto, "LASSO_SAMPLES", 10)
    lean = TypeIIRegressor(**options).fit(aslinearoperator(Phi), y)
    assert lean.status_ == "converged"
    assert lean.evidence_ == pytest.approx(whole.evidence_, abs=1e-7)
    assert_allclose(lean.coef_, whole.coef_, atol=1e-7)
    assert_allclose(lean.covariance_, whole.covariance_, rtol=1e-6, atol=1e-12)
    assert lean.violation_ <= 1e-8


def test_a_search_whose_work_is_limited_says_what_is_still_promised():
    Phi, y, _ = problem()
    evidence = Evidence(as_design(Phi), y[:, None])
    short, long = (auto.best_evidence(evidence, 1e-4, 1e-6, 100, effort) for effort in (0.0, np.inf))
    assert (short.status.name, long.status.name) == ("SLOPING", "CONVERGED")
    assert short.violation > 1e-6 > long.violation
    assert short.objective > long.objective


def test_the_sparsest_solution_of_an_operator_with_noise_is_that_of_its_matrix():
    """With columns of different norms; the same as of the matrix."""
    Phi, y, _ = problem(60, 150)
    Phi *= np.linspace(0.1, 10, 150)
    operator = aslinearoperator(Phi)
    here, there = (maximally_sparse(X, y, noise=0.01) for X in (Phi, operator))
    assert_allclose(there.x, here.x, atol=1e-8)
    assert_allclose(there.plain, here.plain, atol=1e-8)
    assert there.residual == pytest.approx(here.residual, abs=1e-10)
    with pytest.raises(ValueError, match="Complex data not supported"):
        maximally_sparse(aslinearoperator(Phi + 1j), y, noise=0.01)


NUMBERS = ("JeffreysRegressor", "RVMRegressor")
CLASSES = ("SMLR", "SMLRCV", "RMLR", "SBMLR", "JeffreysClassifier", "TypeIIClassifier", "RVMClassifier", "LRVM")


@pytest.mark.parametrize("name", [*NUMBERS, *CLASSES, "JFSCL", "JCFO"])
def test_models_that_need_entries_refuse_operators(name):
    Phi, y, _ = problem()
    with pytest.raises(ValueError, match=f"{name} needs the entries of X.*TypeIIRegressor.*numpy.eye"):
        getattr(smaller, name)().fit(aslinearoperator(Phi), y if name in NUMBERS else (y > np.median(y)).astype(int))


def test_everything_around_the_models_refuses_operators():
    Phi, y, _ = problem(60, 8)
    operator, model = aslinearoperator(Phi), LaplaceRegressor().fit(Phi, y)
    for name, call in {
        "StabilitySelection": lambda: smaller.inference.StabilitySelection(LaplaceRegressor()).fit(operator, y),
        "Knockoffs": lambda: smaller.inference.Knockoffs().fit(operator, y),
        "CredibleSetsRegressor": lambda: smaller.inference.CredibleSetsRegressor().fit(operator, y),
        "report": lambda: smaller.report(model, operator, y),
        "SMLR": lambda: smaller.SMLR().fit(Phi, y > np.median(y)).predict(operator),
    }.items():
        with pytest.raises(ValueError, match=f"{name} needs the entries of X"):
            call()


def test_paths_and_posteriors_take_operators():
    Phi, y, _ = problem(60, 8)
    here, there = (smaller.laplace_path(X, y, lams=5) for X in (Phi, aslinearoperator(Phi)))
    assert_allclose(there.coefs, here.coefs, atol=1e-6)
    model = LaplaceRegressor(3.0).fit(aslinearoperator(Phi), y)
    assert_allclose(model.transform(aslinearoperator(Phi)), Phi[:, model.support_])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few draws
        draws = {"draws": 50, "chains": 1, "random_state": 0}
        samples = [smaller.inference.sample_posterior(model, X, y, **draws).coef for X in (Phi, aslinearoperator(Phi))]
    assert_allclose(samples[1].mean(axis=(0, 1)), samples[0].mean(axis=(0, 1)), atol=0.1)


def test_an_empty_lasso_of_an_operator_warns():
    Phi, y, _ = problem()
    with pytest.warns(EmptyModelWarning):
        LaplaceRegressor(1e6).fit(aslinearoperator(Phi), y)
