"""Laplace and Jeffreys priors by EM (Figueiredo 2003): closed forms, references, invariances, and hard cases."""

import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import Lasso

from smaller import JeffreysClassifier, JeffreysRegressor, LaplaceRegressor
from smaller.basis import Kernel
from smaller.design import as_design
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.likelihoods import Gaussian, Probit, hazard
from smaller.objective.mixture import MixturePosterior
from smaller.objective.posterior import Posterior
from smaller.priors import Jeffreys, Laplace, laplace_mixture
from smaller.solvers import SOLVERS
from smaller.solvers.type1.expectation_maximisation import reweighted, spread
from smaller.solvers.type1.ridge_start import Ridge, Start, stretched
from smaller.solvers.type1.scaled_lasso import em


def linear(n=80, d=12, seed=0, noise=0.5):
    """A third of the weights are not zero; columns in different units, one nearly collinear pair."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    w = np.where(np.arange(d) % 3 == 0, rng.choice([-1, 1], d) * rng.uniform(1, 3, d), 0.0)
    unit = 10.0 ** rng.integers(-2, 3, d)
    return (X + 1.0) * unit, X @ w + 2.0 + noise * rng.standard_normal(n)


def binary(n=150, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] - 0.7 * X[:, 1] + 0.7 * rng.standard_normal(n) > 0.2).astype(int)


def plain_em(H, y, w, noise=None, probit=False, steps=20_000):
    """The paper's iteration and nothing else; no intercept."""
    for _ in range(steps):
        target, variance = y, noise
        if probit:
            score = H @ w
            target, variance = score + np.where(y > 0, hazard(score), -hazard(-score)), 1.0
        elif noise is None:
            variance = np.mean((y - H @ w) ** 2)
        U = np.abs(w)
        new = U * np.linalg.solve(variance * np.eye(len(w)) + (H.T @ H) * np.outer(U, U), U * (H.T @ target))
        done = np.abs(new - w).max() <= 1e-14 * np.abs(new).max()
        w = new
        if done:
            break
    return np.where(np.abs(w) > 1e-12, w, 0.0)


def objectives(history):
    return np.array([step.objective for step in history])


def never_rises(history):
    values = objectives(history)
    return (np.diff(values) <= 1e-12 * np.maximum(1.0, np.abs(values[1:]))).all()


# -- closed forms and references


@pytest.mark.parametrize("seed", range(5))
def test_on_orthonormal_columns_a_weight_survives_at_two_sigma_and_is_the_larger_root(seed):
    """w = (z + sign(z) sqrt(z^2 - 4 noise)) / 2 where |z| >= 2 sigma, z the least-squares weight."""
    rng = np.random.default_rng(seed)
    noise = 10.0 ** rng.uniform(-3, 3)
    H = np.linalg.qr(rng.standard_normal((40, 12)))[0]
    z = np.sqrt(noise) * np.concatenate([rng.uniform(-6, 6, 9), [2.001, -2.01, 1.999]])
    model = JeffreysRegressor(noise=noise, fit_intercept=False, tol=1e-10).fit(H, H @ z)
    root = (z + np.sign(z) * np.sqrt(np.maximum(z**2 - 4 * noise, 0))) / 2
    expected = np.where(np.abs(z) >= 2 * np.sqrt(noise), root, 0.0)
    assert_allclose(model.coef_, expected, rtol=0, atol=1e-8 * np.sqrt(noise))
    assert_array_equal(model.support_, np.flatnonzero(expected))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("noise", [None, 0.3])
def test_regression_ends_where_the_plain_iteration_ends(seed, noise):
    """Pruning and Newton steps change the time, not the answer."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((50, 15)) @ (np.eye(15) + 0.4 * rng.standard_normal((15, 15)))
    y = H[:, :4] @ [2.0, -1.0, 0.6, 0.3] + 0.5 * rng.standard_normal(50)
    expected = plain_em(H, y, np.linalg.lstsq(H, y, rcond=None)[0], noise)
    model = JeffreysRegressor(noise="learn" if noise is None else noise, fit_intercept=False, tol=1e-9).fit(H, y)
    assert_allclose(model.coef_, expected, atol=1e-9)
    assert model.n_iter_ < 200


@pytest.mark.parametrize("seed", range(6))
def test_the_probit_ends_where_the_plain_iteration_ends(seed):
    X, t = binary(n=90, seed=seed)
    start = np.linalg.lstsq(X, 2.0 * t - 1, rcond=None)[0]
    objective = MixturePosterior(as_design(X), t, Probit(), Jeffreys())
    start = stretched(objective, Start(np.arange(8), start, 0.0)).w
    expected = plain_em(X, t, start, probit=True)
    model = JeffreysClassifier(fit_intercept=False, tol=1e-9).fit(X, t)
    assert_allclose(model.coef_[0], expected, atol=1e-7)
    assert model.n_iter_ < 200


def test_reference_case_regression():
    data, reference = case("jeffreys_reg")
    for name, run in reference["runs"].items():
        noise = float(name.rpartition(" ")[2]) if "fixed" in name else "learn"
        model = JeffreysRegressor(noise=noise, fit_intercept=False, tol=1e-10).fit(data["X"], data["y"])
        assert_allclose(model.coef_, run["w"], atol=1e-7 if "R " in name else 1e-10)
        assert_allclose(model.noise_, run.get("s2", noise), rtol=1e-8)
    lasso = reference["laplace_EM_equals_lasso"]
    for solver in ("em", "newton"):
        model = LaplaceRegressor(
            np.sqrt(lasso["gamma"]), noise=lasso["s2"], solver=solver, fit_intercept=False, standardize=False, tol=1e-10
        ).fit(data["X"], data["y"])
        assert_allclose(model.coef_, lasso["w_lasso"], atol=1e-8)


def test_reference_case_orthonormal():
    data, reference = case("jeffreys_orthonormal")
    model = JeffreysRegressor(noise=1.0, fit_intercept=False, tol=1e-10).fit(data["X"], data["y"])
    assert_allclose(model.coef_, reference["closed_form"], atol=1e-8)


def test_reference_case_sinc_from_its_own_starts():
    data, reference = case("jeffreys_sinc")
    H, y = data["H"], data["t"]
    objective = MixturePosterior(as_design(H), y, Gaussian(), Jeffreys(), learn=True)
    for name, run in reference["runs"].items():
        ridge = float(name.partition("+")[2].partition(" ")[0])
        w = np.linalg.solve(H.T @ H + ridge * np.eye(100), H.T @ y)
        found = reweighted(objective, Start(np.arange(100), w, 0.0), 1e-10, 1000)
        assert found.extra["rows"].tolist() == run["support"]
        assert_allclose(found.weights[run["support"], 0], run["w"], atol=1e-9)
        assert_allclose(found.extra["noise"], run["s2"], rtol=1e-9)


def test_reference_case_probit_from_its_own_starts():
    data, reference = case("jeffreys_probit")
    H = data["PHI"]
    objective = MixturePosterior(as_design(H), data["t"].ravel(), Probit(), Jeffreys())
    for run in reference["runs"].values():
        found = reweighted(objective, Start(np.arange(H.shape[1]), np.array(run["w0"]), 0.0), 1e-10, 1000)
        assert found.extra["rows"].tolist() == run["support"]
        assert_allclose(found.weights[run["support"], 0], run["w"], rtol=1e-9)


def test_reference_case_where_the_noise_collapses():
    """From the least-norm start the noise falls to its floor and that is said; from ours it does not."""
    data, reference = case("jeffreys_noise_collapse")
    X, y = data["X"], data["y"]
    objective = MixturePosterior(as_design(X), y, Gaussian(), Jeffreys(), learn=True)
    found = reweighted(objective, Start(np.arange(40), np.linalg.pinv(X) @ y, 0.0), 1e-6, 1000)
    assert found.status.name == "COLLAPSED"
    assert found.extra["noise"] == objective.floor
    model = JeffreysRegressor(fit_intercept=False, tol=1e-10).fit(X, y)
    expected = reference["runs"]["ridge 10"]
    assert_allclose(model.coef_, expected["w"], atol=1e-9)
    assert_allclose(model.noise_, expected["s2"], rtol=1e-9)


# -- the Laplace prior


@pytest.mark.parametrize("shape", [(60, 20), (40, 90)])
@pytest.mark.parametrize("seed", range(4))
def test_laplace_em_is_the_certified_lasso(shape, seed):
    n, d = shape
    rng = np.random.default_rng(seed)
    X, y = linear(n, d, seed)
    design, weight = as_design(X, seed % 2 == 0), rng.uniform(0.5, 2, n)
    lam = [0.3, 3.0, 8.0, 15.0][seed]
    objective = Posterior(design, y[:, None], Gaussian(0.4), Laplace(lam, scale=X.std(axis=0)), weight)
    best = SOLVERS["newton"][0](objective, objective.start(), 1e-10, 500)
    ours = em(objective, objective.start(), 1e-10, 10_000)
    assert ours.gap <= 1e-10
    unit = np.append(X.std(axis=0), 1.0)[: len(best.weights), None]
    assert_allclose(ours.weights * unit, best.weights * unit, atol=1e-5)


def test_laplace_em_lets_pruned_columns_come_back():
    """A start without the columns that matter is no obstacle: zeros that violate the conditions are revived."""
    X, y = linear()
    objective = Posterior(as_design(X, True), y[:, None], Gaussian(0.25), Laplace(2.0, scale=X.std(axis=0)))
    W = objective.start()
    W[1] = 1e-3
    best = SOLVERS["newton"][0](objective, objective.start(), 1e-10, 500)
    assert_allclose(em(objective, W, 1e-9, 10_000).objective, best.objective, rtol=1e-9)


@pytest.mark.parametrize("solver", ["newton", "em"])
def test_with_the_noise_given_it_is_scikit_learns_lasso(solver):
    X, y = linear()
    model = LaplaceRegressor(5.0, noise=0.3, solver=solver, standardize=False, tol=1e-12).fit(X, y)
    theirs = Lasso(5.0 * 0.3 / len(y), tol=1e-12, max_iter=100_000).fit(X, y)
    assert_allclose(model.coef_ * X.std(axis=0), theirs.coef_ * X.std(axis=0), atol=1e-6)
    assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("solver", ["newton", "em"])
@pytest.mark.parametrize("lam", ["universal", 5.0])
def test_learned_noise_and_weights_minimise_the_scaled_lasso(lam, solver):
    """|y - F|^2 / (2 sigma) + n sigma / 2 + lam sum sd |w| is convex: nothing near is lower, so nothing is."""
    X, y = linear()
    model = LaplaceRegressor(lam, solver=solver, tol=1e-10).fit(X, y)
    assert_allclose(model.noise_, np.mean((y - model.predict(X)) ** 2), rtol=1e-8)
    assert model.dual_gap_ <= 1e-10

    def scaled(w, b, sigma):
        rss = ((y - X @ w - b) ** 2).sum()
        return rss / (2 * sigma) + len(y) * sigma / 2 + model.lam_ * (X.std(axis=0) * np.abs(w)).sum()

    here = scaled(model.coef_, model.intercept_, np.sqrt(model.noise_))
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3):
        for _ in range(100):
            w = model.coef_ + size * rng.standard_normal(len(model.coef_)) / X.std(axis=0)
            b = np.mean(y - X @ w)
            assert scaled(w, b, np.sqrt(model.noise_) * np.exp(size * rng.standard_normal())) >= here * (1 - 1e-12)


def test_both_laplace_solvers_agree_when_the_noise_is_learned_in_absolute_units():
    X, y = linear()
    ours, paper = (
        LaplaceRegressor(2.0, solver=solver, standardize=False, tol=1e-10).fit(X, y) for solver in ("newton", "em")
    )
    assert_allclose(ours.predict(X), paper.predict(X), atol=1e-6)
    assert_allclose(ours.noise_, paper.noise_, rtol=1e-8)


def test_a_universal_strength_needs_units():
    with pytest.raises(ValueError, match="give a number, or standardize=True"):
        LaplaceRegressor(standardize=False).fit(*linear())


# -- optimality, recomputed


@pytest.mark.parametrize("basis", ["linear", "quadratic", "rbf"])
def test_the_posterior_never_falls_and_ends_stationary_on_every_basis(basis):
    X, y = linear(n=60, d=5)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = JeffreysRegressor(basis=basis, tol=1e-9).fit(X, y)
    assert model.status_ == "converged"
    assert never_rises(model.history_)
    H = model.transform(X)
    pull = H.T @ (y - model.predict(X)) / model.noise_
    assert_allclose(pull * model.coef_[model.support_], 1.0, atol=1e-8)
    assert_allclose(model.noise_, np.mean((y - model.predict(X)) ** 2), rtol=1e-10)
    assert_allclose(np.mean(y - model.predict(X)), 0, atol=1e-10)
    assert len(model.support_) < model.coef_.size


@pytest.mark.parametrize("basis", ["linear", "quadratic", "rbf"])
def test_the_same_for_classification(basis):
    X, t = binary(d=4)
    model = JeffreysClassifier(basis=basis, tol=1e-9).fit(X, t)
    assert model.status_ == "converged"
    assert never_rises(model.history_)
    H = model.transform(X)
    score = H @ model.coef_[0, model.support_] + model.intercept_[0]
    sign = 2 * t - 1
    latent = sign * norm.pdf(score) / ndtr(sign * score)
    assert_allclose((H.T @ latent) * model.coef_[0, model.support_], 1.0, atol=1e-8)
    assert_allclose(latent.sum(), 0, atol=1e-7)
    loss = -log_ndtr(sign * score).sum() + np.log(np.abs(model.coef_[0, model.support_])).sum()
    assert_allclose(model.objective_, loss, rtol=1e-10)


@pytest.mark.parametrize("solver", ["newton", "em"])
def test_the_laplace_objective_never_rises_at_a_known_noise(solver):
    model = LaplaceRegressor(3.0, noise=0.3, solver=solver).fit(*linear())
    assert never_rises(model.history_)
    assert len(model.history_) > 2


@pytest.mark.parametrize("prior", [Jeffreys(), laplace_mixture(0.7)])
def test_the_rules_of_the_priors_are_their_derivatives(prior):
    """variance = 1 / h', bend = 1 + 2 z h'' / h'."""
    z, step = np.array([0.3, 2.0, 11.0]), 1e-4
    slope = (prior.h(z + step) - prior.h(z - step)) / (2 * step)
    second = (prior.h(z + step) - 2 * prior.h(z) + prior.h(z - step)) / step**2
    assert_allclose(prior.variance(z), 1 / slope, rtol=1e-6)
    assert_allclose(prior.bend(z), 1 + 2 * z * second / slope, atol=1e-4)


def test_the_probit_and_its_derivatives():
    rng = np.random.default_rng(0)
    F, s = 3 * rng.standard_normal((7, 1)), rng.uniform(0.5, 2, 7)
    Y = (np.arange(7) % 2)[:, None].astype(float)
    probit, step = Probit(), 1e-5
    P, U, loss = probit.fit(F, Y, s)
    assert_allclose(loss, -s @ np.log(ndtr(np.where(Y > 0, F, -F)))[:, 0])
    for i in range(7):
        E = np.zeros_like(F)
        E[i] = step
        up, down = (probit.fit(F + sign * E, Y, s) for sign in (1, -1))
        assert_allclose((up[-1] - down[-1]) / (2 * step), s[i] * U[i, 0], rtol=1e-6)
        slopes = [s[i] * point[1][i, 0] for point in (up, down)]
        assert_allclose((slopes[0] - slopes[1]) / (2 * step), probit.curvature(P, s, 0, 0)[i], rtol=1e-6)


def test_the_hazard_of_the_normal_distribution_far_out():
    """phi / Phi: exp(log phi - log Phi) where that has digits, the asymptotic -x - 1/x below, 0 above."""
    x = np.linspace(-30, 8, 200)
    assert_allclose(hazard(x), np.exp(norm.logpdf(x) - log_ndtr(x)), rtol=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = hazard(np.array([-1e8, -1e4, 50.0, 1e4]))
    assert_allclose(far, [1e8, 1e4 + 1e-4, 0.0, 0.0], rtol=1e-12)


def test_the_curvature_of_the_probit_keeps_its_digits_at_any_score():
    """q (q + x) with q = phi / Phi loses all digits far below 0, where it is 1 - 1/x^2 + 6/x^4."""
    x = np.array([-1e300, -1e8, -1e5, -100.1, -99.9, 40.0, 1e4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curvature = Probit().curvature(x[:, None], np.ones(len(x)), 0, 0)
    near = 1 - 1 / x[3:5] ** 2 + 6 / x[3:5] ** 4
    assert_allclose(curvature, [1.0, 1.0, 1 - 1e-10, *near, 0.0, 0.0], rtol=1e-10, atol=1e-300)


# -- the pieces


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, lambda X: X.astype(np.float32)])
def test_designs_form_centred_products(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((9, 6)) < 0.6, rng.standard_normal((9, 6)) + 1, 0.0)
    omega, gamma, rows = rng.uniform(0.5, 2, 9), rng.uniform(0.1, 3, 4), np.array([0, 2, 3, 5])
    design = as_design(form(X), True)
    for center in (np.zeros(4), omega @ X[:, rows] / omega.sum()):
        C = X[:, rows] - center
        tolerance = 1e-5 if design.X.dtype == np.float32 else 1e-12
        assert_allclose(design.spread(omega, center, rows), (C.T * omega) @ C, atol=tolerance)
        root = np.sqrt(omega)
        expected = root[:, None] * ((C * gamma) @ C.T) * root
        assert_allclose(design.outer(root, center, gamma, rows), expected, atol=tolerance)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (40, 40)])
def test_the_start_is_the_ridge_of_the_largest_evidence(shape):
    """Against a search with the density of y itself, on standardised columns with the constant projected out."""
    n, d = shape
    X, y = linear(n, d, seed=3)
    objective = MixturePosterior(as_design(X, True), y, Gaussian(), Jeffreys(), learn=True)
    start = Ridge(objective).start(y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][
        :, 1:
    ]  # what is orthogonal to the constant
    A, target = basis.T @ Z, basis.T @ y

    def evidence(kappa):
        shape = np.eye(n - 1) + A @ A.T / kappa
        noise = target @ np.linalg.solve(shape, target) / (n - 1)
        return multivariate_normal(cov=noise * shape).logpdf(target)

    def ridge(kappa):
        return np.linalg.solve(Z.T @ Z + kappa * np.eye(d), Z.T @ (y - y.mean()))

    strengths = np.geomspace(1e-3, 1e4, 400)
    best = strengths[np.argmax([evidence(kappa) for kappa in strengths])]
    assert_allclose(start.w * X.std(axis=0), ridge(best), atol=0.02 * np.abs(ridge(best)).max())
    assert_allclose(start.b, y.mean() - X.mean(axis=0) @ start.w)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_start_for_labels_is_stretched_to_the_largest_likelihood(intercept):
    X, t = binary()
    objective = MixturePosterior(as_design(X, intercept), t, Probit(), Jeffreys())
    plain = Ridge(objective).start(2.0 * t - 1)
    start = stretched(objective, plain)
    c = start.w[0] / plain.w[0]
    assert_allclose(start.w, c * plain.w)
    assert 1 < c < 10

    def loss(factor, shift):
        score = factor * (X @ plain.w + plain.b) + shift
        return -log_ndtr(np.where(t > 0, score, -score)).sum()

    shift = start.b - c * plain.b
    assert intercept or start.b == 0
    others = [(c * f, shift + s * intercept) for f in (0.99, 1, 1.01) for s in (-0.01, 0, 0.01)]
    assert loss(c, shift) <= min(loss(*other) for other in others) + 1e-6


def test_least_squares_is_the_start_where_it_is_well_posed():
    X, y = linear()
    objective = MixturePosterior(as_design(X, True), y, Gaussian(), Jeffreys(), learn=True)
    start = Ridge(objective).start(y)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0]
    assert_allclose(np.append(start.w, start.b), expected, rtol=1e-7)
    assert_allclose(start.spent, 12 / 79)


# -- units


def with_unit(X, column, factor):
    X = X.copy()
    X[:, column] *= factor
    return X


@pytest.mark.parametrize("factor", [1e4, 1e-4])
@pytest.mark.parametrize("shape", [(80, 12), (40, 90)])
@pytest.mark.parametrize("model", [JeffreysRegressor(tol=1e-10), LaplaceRegressor(tol=1e-10)], ids=repr)
def test_units_of_the_target_and_of_a_column_do_not_matter(model, shape, factor):
    X, y = linear(*shape)
    base = model.fit(X, y)
    coef, noise, kept, spread_ = base.coef_, base.noise_, base.support_, base.predict(X, return_std=True)[1]
    assert 0 < len(kept) < X.shape[1]
    model.fit(X, factor * y)
    assert_array_equal(model.support_, kept)
    assert_allclose(model.coef_, factor * coef, rtol=1e-6)
    assert_allclose(model.noise_, factor**2 * noise, rtol=1e-6)
    assert_allclose(model.predict(X, return_std=True)[1], factor * spread_, rtol=1e-6)
    column = kept[0]
    model.fit(with_unit(X, column, factor), y)
    assert_array_equal(model.support_, kept)
    assert_allclose(model.coef_, np.where(np.arange(len(coef)) == column, coef / factor, coef), rtol=1e-6)
    assert_allclose(model.noise_, noise, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e4, 1e-4])
def test_the_unit_of_a_column_does_not_matter_to_the_classifier(factor):
    X, t = binary()
    base = JeffreysClassifier().fit(X, t).predict_proba(X)
    scaled = with_unit(X, 0, factor)
    assert_allclose(JeffreysClassifier().fit(scaled, t).predict_proba(scaled), base, atol=1e-9)


@pytest.mark.parametrize("model", [JeffreysRegressor(), LaplaceRegressor(), JeffreysClassifier()], ids=repr)
def test_where_the_columns_have_their_zero_does_not_matter(model):
    """An intercept is there for that, also at ten thousand standard deviations."""
    X, t = binary()
    y = X @ np.arange(8) + t if model.__class__ is not JeffreysClassifier else t
    base = model.fit(X, y).coef_
    assert_allclose(model.fit(X + 1e4, y).coef_, base, atol=1e-6)


# -- weights, offsets, containers


@pytest.mark.parametrize("basis", ["linear", "rbf"])
@pytest.mark.parametrize(
    "model", [JeffreysRegressor(), LaplaceRegressor(), LaplaceRegressor(solver="em"), JeffreysClassifier()], ids=repr
)
def test_a_weight_is_a_repetition(model, basis):
    X, t = binary(60, 3)
    y = t if isinstance(model, JeffreysClassifier) else X[:, 0] + 0.3 * np.sin(np.arange(60))
    counts = np.random.default_rng(0).integers(0, 3, 60)
    model.set_params(basis=basis, tol=1e-10)
    weighted = model.fit(X, y, sample_weight=counts).coef_
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).coef_
    assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-8)


def test_class_weights_are_sample_weights():
    X, t = binary()
    ours = JeffreysClassifier(class_weight={0: 2.0, 1: 0.5}).fit(X, t).coef_
    assert_allclose(ours, JeffreysClassifier().fit(X, t, sample_weight=np.where(t == 0, 2.0, 0.5)).coef_)


@pytest.mark.parametrize("model", [JeffreysRegressor(), LaplaceRegressor(), LaplaceRegressor(solver="em")], ids=repr)
def test_an_offset_is_a_known_part_of_the_target(model):
    X, y = linear()
    offset = np.cos(np.arange(len(y)))
    base = model.fit(X, y).predict(X)
    model.fit(X, y + offset, offset=offset)
    assert_allclose(model.predict(X), base, atol=1e-8)
    assert_allclose(model.predict(X, offset=offset), base + offset, atol=1e-8)
    with pytest.raises(ValueError, match=r"offset must have shape \(80,\)"):
        model.fit(X, y, offset=np.zeros((80, 2)))


def test_an_offset_is_a_known_part_of_the_score():
    """With the score itself as offset nothing is left to say, but for noise."""
    X, t = binary(400)
    known = X[:, 0] * 2
    free = JeffreysClassifier().fit(X, t)
    told = JeffreysClassifier().fit(X, t, offset=known)
    assert abs(free.coef_[0, 0] - told.coef_[0, 0] - 2) < 0.5
    assert_allclose(
        told.predict_proba(X, offset=known), told.predict_proba(X, offset=np.column_stack([0 * known, known]))
    )


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("model", [JeffreysRegressor(), LaplaceRegressor(), JeffreysClassifier()], ids=repr)
@pytest.mark.parametrize("d", [8, 120])
def test_sparse_and_dense_agree(model, form, d):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((70, d)) < 0.3, rng.standard_normal((70, d)), 0.0)
    y = 3 * X[:, 0] - 2 * X[:, 1] + 0.2 * rng.standard_normal(70)
    y = (y > 0).astype(int) if isinstance(model, JeffreysClassifier) else y
    dense = model.fit(X, y)
    coef, out = dense.coef_, dense.predict(X)
    thin = model.fit(form(X), y)
    assert_allclose(thin.coef_, coef, atol=1e-7)
    assert_allclose(thin.predict(form(X)), out, atol=1e-7)


def test_sparse_coefficients_predict_the_same():
    X, y = linear()
    model = JeffreysRegressor().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    shape = model.coef_.shape
    assert sparse.issparse(model.sparsify().coef_)
    assert_allclose(model.predict(X, return_std=True), (mean, std))
    assert model.densify().coef_.shape == shape == (12,)


# -- uncertainty


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("model", [JeffreysRegressor, LaplaceRegressor])
def test_the_standard_deviation_is_that_of_the_normal_approximation(model, intercept):
    """var = noise + phi^T (Phi^T S Phi / noise + diag(1 / gamma, 0))^-1 phi, phi with its 1."""
    X, y = linear()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    fitted = model(fit_intercept=intercept).fit(X, y, sample_weight=weight)
    w = fitted.coef_[fitted.support_]
    if model is JeffreysRegressor:
        precision = 1 / w**2
    else:
        mean = weight @ X / weight.sum() * intercept
        unit = np.sqrt(weight @ (X - mean) ** 2 / weight.sum())[fitted.support_]
        precision = fitted.lam_ * unit / np.sqrt(fitted.noise_) / np.abs(w)
    H = fitted.transform(X)
    H = np.column_stack([H, np.ones(len(y))]) if intercept else H
    prior = np.append(precision, 0.0) if intercept else precision
    covariance = np.linalg.inv((H.T * weight) @ H / fitted.noise_ + np.diag(prior))
    expected = np.sqrt(fitted.noise_ + ((H @ covariance) * H).sum(axis=1))
    assert_allclose(fitted.predict(X, return_std=True)[1], expected, rtol=1e-8)


def test_ninety_percent_intervals_hold_about_ninety_percent():
    inside = []
    for seed in range(40):
        X, y = linear(n=120, seed=seed)
        model = JeffreysRegressor().fit(X[:60], y[:60])
        mean, std = model.predict(X[60:], return_std=True)
        inside.append(np.abs(y[60:] - mean) <= norm.ppf(0.95) * std)
    assert 0.85 < np.mean(inside) < 0.93


def test_probabilities_are_moderated_by_the_variance_of_the_score():
    X, t = binary()
    model = JeffreysClassifier().fit(X, t)
    H = np.column_stack([model.transform(X), np.ones(len(t))])
    w = np.append(model.coef_[0, model.support_], model.intercept_)
    score, sign = H @ w, 2 * t - 1
    q = norm.pdf(score) / ndtr(sign * score)
    omega = q * (q + sign * score)
    covariance = np.linalg.inv((H.T * omega) @ H + np.diag(np.append(w[:-1] ** -2.0, 0)))
    moderated = score / np.sqrt(1 + ((H @ covariance) * H).sum(axis=1))
    assert_allclose(model.decision_function(X), moderated, rtol=1e-7)
    assert_allclose(model.predict_proba(X)[:, 1], ndtr(moderated), rtol=1e-7)
    near, far = (model.decision_function(scale * X) for scale in (1e4, 1e6))
    assert_allclose(near, far, atol=1e-2)  # the direction itself is uncertain, however far one goes


def test_more_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = np.eye(3, 6)[y] * 2 + rng.standard_normal((150, 6))
    model = JeffreysClassifier().fit(X, np.array(["a", "b", "c"])[y])
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    single = [JeffreysClassifier().fit(X, y == c) for c in range(3)]
    rest = np.column_stack([one.predict_proba(X)[:, 1] for one in single])
    assert_allclose(P, rest / rest.sum(axis=1, keepdims=True), rtol=1e-8)
    assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])
    assert_array_equal(model.support_, np.unique(np.concatenate([one.support_ for one in single])))
    assert len(model.history_) == 3


# -- what must not break


def test_scores_beyond_forty_stay_finite():
    """Near-separable data in a narrow direction: no overflow, and finite logarithms of sure probabilities."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1000, -1, 100), rng.uniform(1, 1000, 100)])
    t = (x > 0).astype(int)
    t[[99, 100]] = t[[100, 99]]  # the two nearest to the boundary may be on the wrong side
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = JeffreysClassifier().fit(x[:, None], t)
        log = model.predict_log_proba(x[:, None])
        wild = MixturePosterior(as_design(x[:, None]), t, Probit(), Jeffreys()).at(np.array([0]), [5.0], 0.0)
    assert model.status_ == "converged"
    assert np.isfinite(log).all()
    assert np.abs(wild.F).max() > 4000
    assert np.isfinite([wild.value, wild.violation]).all()


def test_separable_classes_have_a_finite_fit():
    X, _ = binary()
    model = JeffreysClassifier().fit(X, X[:, 0] > 0)
    assert model.status_ == "converged"
    assert_array_equal(model.support_, [0])
    assert np.isfinite(model.coef_).all()
    assert model.score(X, X[:, 0] > 0) > 0.97


@pytest.mark.parametrize("model", [JeffreysRegressor(), LaplaceRegressor()], ids=repr)
@pytest.mark.parametrize("shape", [(60, 6), (30, 100)])
def test_without_noise_the_collapse_is_reported_and_the_weights_are_right(model, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    with pytest.warns(ConvergenceWarning, match="the learned noise variance falls towards 0"):
        model.fit(X, 2 * X[:, 0] - X[:, 1] + 5)
    assert model.status_ == "collapsed"
    assert_allclose(model.coef_[:2], [2, -1], atol=1e-3 if isinstance(model, LaplaceRegressor) else 1e-8)
    assert_allclose(model.predict(X), 2 * X[:, 0] - X[:, 1] + 5, atol=1e-3)
    assert np.isfinite(model.predict(X, return_std=True)[1]).all()


def test_of_equal_columns_one_is_kept():
    """Half the weight on each is a saddle point; EM alone would rest there."""
    X, y = linear()
    X[:, 1] = X[:, 0]
    single = JeffreysRegressor(tol=1e-10).fit(np.delete(X, 1, axis=1), y)
    model = JeffreysRegressor(tol=1e-10).fit(X, y)
    assert len({0, 1} & set(model.support_)) == 1
    assert_allclose(model.predict(X), single.predict(np.delete(X, 1, axis=1)), atol=1e-6)
    objective = MixturePosterior(as_design(X, True), y, Gaussian(), Jeffreys(), learn=True)
    half = np.repeat(single.coef_, np.where(np.arange(11) == 0, 2, 1)) * np.where(np.arange(12) < 2, 0.5, 1.0)
    rows = np.flatnonzero(half)
    found = reweighted(objective, Start(rows, half[rows], single.intercept_), 1e-8, 1000)
    assert len({0, 1} & set(found.extra["rows"])) == 1


def test_few_of_many_columns_are_found():
    """100 samples, 1000 columns: the five that matter are kept, of the others only those far from zero by chance."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 1000))
        model = JeffreysRegressor().fit(X, X[:, :5] @ [2, -2, 1.5, -1.5, 1.2] + 0.5 * rng.standard_normal(100))
        assert_array_equal(model.support_[:5], np.arange(5))
        assert len(model.support_) < 20
        assert 0.05 < model.noise_ < 0.5


@pytest.mark.parametrize("model", [JeffreysRegressor(), LaplaceRegressor()], ids=repr)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_a_constant_target_is_predicted(model, value):
    X, _ = linear()
    with pytest.warns(EmptyModelWarning, match="kept no column"):
        model.fit(X, np.full(len(X), value))
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, value, rtol=1e-12)
    assert_array_equal(std, 0.0)


def test_too_few_steps_are_reported():
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations at an optimality violation"):
        model = JeffreysRegressor(max_iter=1).fit(*linear())
    assert model.status_ == "unsettled"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (JeffreysRegressor(noise=0.0), "noise"),
        (JeffreysRegressor(noise="guess"), "noise"),
        (LaplaceRegressor(lam=0.0), "lam"),
        (LaplaceRegressor(solver="bound"), "solver"),
        (JeffreysRegressor(basis="spline"), "basis must be one of"),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*linear())
    assert not hasattr(model, "coef_")


def test_em_refuses_what_it_cannot_do():
    X, y = linear()
    objective = Posterior(as_design(X), y[:, None], Gaussian(), Laplace(1.0, factor=np.arange(12)))
    with pytest.raises(ValueError, match="use solver='newton'"):
        em(objective, objective.start(), 1e-6, 10)


def test_relevance_vectors_are_the_centres_kept():
    X, y = linear(d=2)
    model = JeffreysRegressor(basis=Kernel("rbf", gamma=0.3)).fit(X, y)
    assert_array_equal(model.relevance_vectors_, model.basis_.centers_[model.support_])
    assert 0 < len(model.relevance_vectors_) < len(y) / 2


def test_the_covariance_of_nothing_is_empty():
    X, _ = linear()
    found = spread(as_design(X, True), np.ones(len(X)), np.zeros(0), np.zeros(0, dtype=int))
    assert found.covariance.shape == (0, 0)
    assert found.level == 1 / len(X)


@pytest.mark.slow
@pytest.mark.parametrize("model", [JeffreysRegressor(), LaplaceRegressor(), JeffreysClassifier()], ids=repr)
def test_a_thousand_samples_of_five_thousand_columns_take_less_than_five_seconds(model):
    """Of one core: BLAS is to be told so (OMP_NUM_THREADS=1)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5000))
    y = X[:, :10] @ np.linspace(0.3, 2, 10) + rng.standard_normal(1000)
    began = time.process_time()
    model.fit(X, y > 0 if isinstance(model, JeffreysClassifier) else y)
    assert time.process_time() - began < 5
