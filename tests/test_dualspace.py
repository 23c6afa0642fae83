"""Type I and Type II: one objective in two spaces, five algorithms, priors of any shape, and the sparsest solutions."""

from pathlib import Path

import numpy as np
import pytest
from conftest import clusters, peak_of
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from scipy.fft import idct
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from smaller import RVMClassifier, TypeIIClassifier, TypeIIRegressor, TypeIRegressor, load, maximally_sparse
from smaller.basis import Kernel
from smaller.design import as_design
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.likelihoods import Gaussian
from smaller.objective.evidence import Evidence
from smaller.objective.posterior import Posterior
from smaller.priors import Jeffreys, Laplace, Power, Student, log_prior, prior_slope
from smaller.priors.mixtures import SCALE_MIXTURES, conjugate_point
from smaller.solvers.l1.newton import newton
from smaller.solvers.type1.unit_objective import TypeOne
from smaller.solvers.type2.reweighted_l1 import cheapness, noiseless

ALGORITHMS = ["auto", "fast", "em", "mackay", "reweighted-l2", "reweighted-l1"]


def sparse_problem(n=50, m=20, k=1, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, m))
    X = np.zeros((m, k))
    X[[1, 5, 9]] = rng.standard_normal((3, k)) + 1
    Y = Phi @ X + noise * rng.standard_normal((n, k))
    return Phi, Y[:, 0] if k == 1 else Y


def gamma_space(Phi, y, gamma, noise):
    """y^T S^-1 y + log|S|, written down once more."""
    S = noise * np.eye(len(y)) + (Phi * gamma) @ Phi.T
    return float(y @ np.linalg.solve(S, y) + np.linalg.slogdet(S)[1])


def x_space(evidence, X, noise, iterations=2000):
    """|y - Phi X|^2 / noise + min_gamma [ sum_j |x_j|^2 / gamma_j + k log|Sigma_y| ] (Wipf & Wu 2012, eqs. 8-9, f = 0).

    The minimum is found by gamma_j = |x_j| / sqrt(k z_j), z_j = phi_j^T Sigma_y^-1 phi_j.
    """
    rows = np.flatnonzero(X.any(axis=1))
    Phi, X = evidence.take(rows), X[rows]
    size = np.sqrt((X**2).sum(axis=1) / evidence.k)
    G, gamma, value = Phi.T @ Phi, size.copy(), np.inf
    for _ in range(iterations):
        H = G / noise + np.diag(1 / gamma)
        logdet = np.linalg.slogdet(H)[1] + np.log(gamma).sum() + evidence.total * np.log(noise)
        before, value = value, evidence.k * (float((size**2 / gamma).sum()) + logdet)
        if before - value <= 1e-14 * abs(value):
            break
        z = (1 - np.diag(np.linalg.inv(H)) / gamma) / gamma
        gamma = size / np.sqrt(z)
    residual = evidence.root * evidence.Z - Phi @ X
    return float((residual**2).sum()) / noise + value


def dictionary_problem(kind, seed, n=40, p=160, count=10):
    """A dictionary with unit columns, iid, correlated along its columns, or of smooth bumps; data, and their noise."""
    rng = np.random.default_rng([seed, len(kind)])
    Phi = rng.standard_normal((n, p))
    if kind == "correlated":
        for j in range(1, p):
            Phi[:, j] = 0.9 * Phi[:, j - 1] + np.sqrt(1 - 0.9**2) * Phi[:, j]
    if kind == "smooth":
        Phi = 1 / (1 + ((np.linspace(0, 1, n)[:, None] - np.linspace(0, 1, p)) / 0.04) ** 2)
    Phi /= np.linalg.norm(Phi, axis=0)
    x = np.zeros(p)
    x[rng.choice(p, count, replace=False)] = rng.choice([-1.0, 1.0], count) * (1 + rng.random(count))
    clean = Phi @ x
    noise = clean @ clean / n / 10 ** (1 + 2 * rng.random())
    return Phi, clean + np.sqrt(noise) * rng.standard_normal(n), noise


def undersampled_cosines(n=128, p=512, count=32, seed=0):
    """Some rows of the discrete cosine transform, and the data of a few of its columns."""
    rng = np.random.default_rng(seed)
    Phi = idct(np.eye(p), norm="ortho", axis=0)[np.sort(rng.choice(p, n, replace=False))]
    x = np.zeros(p)
    x[rng.choice(p, count, replace=False)] = rng.choice([-1.0, 1.0], count) * (1 + rng.random(count))
    return Phi, Phi @ x + 0.01 * rng.standard_normal(n), 1e-4


def stationarity(Phi, Y, gamma, noise):
    """Largest slope of the log evidence in a log variance, and what the columns left out promise; both in nats."""
    Y = Y.reshape(len(Y), -1)
    S, k = noise * np.eye(len(Y)) + (Phi * gamma) @ Phi.T, Y.shape[1]
    z = np.einsum("ij,ij->j", Phi, np.linalg.solve(S, Phi))
    q2 = (np.linalg.solve(S, Phi).T @ Y) ** 2 @ np.ones(k)
    ratio = np.maximum(np.where(gamma > 0, 1.0, q2 / (k * z)), 1.0)
    return np.abs(0.5 * gamma * (k * z - q2)).max(), 0.5 * k * float((ratio - 1 - np.log(ratio)).sum())


# -- Type II: one objective


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_reaches_the_reference(algorithm):
    """The minimum that EM, MacKay, reweighted L2 and L1, and SparseBayes 2 share, to 1e-5."""
    data, reference = case("type2_small")
    model = TypeIIRegressor(algorithm, noise=reference["lam"], fit_intercept=False, tol=1e-6)
    model.fit(data["Phi"], data["y"].ravel())
    there = reference["runs"]["numpy MacKay"]
    found = gamma_space(data["Phi"], data["y"].ravel(), model.gamma_, model.noise_)
    assert found == pytest.approx(there["L"], abs=1e-5)
    assert model.support_.tolist() == there["support"]
    assert_allclose(model.gamma_[model.support_], there["gamma"], rtol=1e-3)
    assert_allclose(model.coef_[model.support_], there["mu"], rtol=1e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_the_references_noise(algorithm):
    data, reference = case("type2_lambda")
    model = TypeIIRegressor(algorithm, fit_intercept=False, tol=1e-6).fit(data["Phi"], data["y"].ravel())
    there = reference["runs"]["polished from SB2"]
    assert model.noise_ == pytest.approx(there["lam"], rel=1e-4)
    assert model.evidence_ == pytest.approx(there["logml"], abs=1e-5)
    assert model.support_.tolist() == there["support"]


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("noise", ["learn", 0.05])
def test_all_algorithms_agree(noise, k):
    """Also for several targets, whose rows are sparse together."""
    Phi, Y = sparse_problem(m=12, k=k)
    models = [TypeIIRegressor(name, noise=noise, tol=1e-6).fit(Phi, Y) for name in ALGORITHMS]
    assert_allclose([model.evidence_ for model in models], models[0].evidence_, atol=1e-5)
    for model in models:
        assert_allclose(model.coef_, models[0].coef_, atol=2e-3)
        assert model.violation_ <= 1e-6


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_both_spaces_have_one_minimum(algorithm):
    """gamma-space, x-space and the model's own objective agree at the optimum (Wipf & Wu 2012, eqs. 5, 8, 9)."""
    Phi, y = sparse_problem(seed=1)
    model = TypeIIRegressor(algorithm, noise=0.1, fit_intercept=False, tol=1e-8).fit(Phi, y)
    evidence = Evidence(as_design(Phi), y[:, None])
    unit = evidence.columns.unit
    in_gamma = gamma_space(Phi, y, model.gamma_, model.noise_)
    in_x = x_space(evidence, (model.coef_ * unit)[:, None], model.noise_)
    assert in_x == pytest.approx(in_gamma, rel=1e-8)
    assert 2 * model.objective_ - len(y) * np.log(2 * np.pi) == pytest.approx(in_gamma, rel=1e-10)


def test_x_space_lies_above_its_minimum_elsewhere():
    Phi, y = sparse_problem(seed=1)
    model = TypeIIRegressor(noise=0.1, fit_intercept=False, tol=1e-8).fit(Phi, y)
    evidence = Evidence(as_design(Phi), y[:, None])
    X = (model.coef_ * evidence.columns.unit)[:, None]
    best = x_space(evidence, X, 0.1)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-1):
        moved = X * (1 + size * rng.standard_normal(X.shape))
        assert x_space(evidence, moved, 0.1) > best


@pytest.mark.parametrize("algorithm", ["em", "mackay", "reweighted-l2"])
def test_the_objective_falls(algorithm):
    Phi, y = sparse_problem(n=15, m=30)
    model = TypeIIRegressor(algorithm, noise=0.05).fit(Phi, y)
    steps = np.array([step.objective for step in model.history_])
    assert (np.diff(steps) <= 1e-9 * np.abs(steps[:-1])).all()


@pytest.mark.parametrize("noise", [0.1, "learn"])
@pytest.mark.parametrize("prior", [Power(1.0), Power(0.5), Student(2.0)], ids=repr)
def test_priors_of_the_variances_have_one_optimum(prior, noise):
    """f is not 0: EM, MacKay and reweighted ridge end at the same point, and the objective's slope there is 0."""
    Phi, y = sparse_problem()
    names = ("em", "mackay", "reweighted-l2")
    ends = [TypeIIRegressor(name, prior=prior, noise=noise, tol=1e-7).fit(Phi, y) for name in names]
    for end in ends[1:]:
        assert end.objective_ == pytest.approx(ends[0].objective_, abs=1e-6)
        assert_allclose(end.coef_, ends[0].coef_, atol=1e-5)
    assert len(ends[0].support_) == Phi.shape[1]


class Increasing:
    """f(gamma) = rate gamma: h(z) = min_gamma z / gamma + log gamma + rate gamma."""

    rate = 0.7

    def gamma(self, z):
        return (np.sqrt(1 + 4 * self.rate * z) - 1) / (2 * self.rate)

    def h(self, z):
        gamma = np.maximum(self.gamma(z), 1e-300)
        return z / gamma + np.log(gamma) + self.rate * gamma

    def slope(self, z):
        with np.errstate(divide="ignore"):
            return 1 / self.gamma(z)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("others", [("mackay", "reweighted-l2"), pytest.param(("em",), marks=pytest.mark.slow)])
def test_a_prior_whose_f_increases_suits_reweighted_l1_as_well(others, k):
    """Such a prior keeps the solution sparse, and its tangent raises the weights of the lasso by f'."""
    Phi, y = sparse_problem(n=30, m=12, k=k)
    names = (*others, "reweighted-l1")
    ends = [TypeIIRegressor(name, prior=Increasing(), noise=0.1, tol=1e-4).fit(Phi, y) for name in names]
    without = TypeIIRegressor("reweighted-l1", noise=0.1).fit(Phi, y)
    for end in ends[1:]:
        assert end.objective_ == pytest.approx(ends[0].objective_, abs=1e-5)
        assert_allclose(end.coef_, ends[0].coef_, atol=1e-3)
    assert len(ends[-1].support_) < Phi.shape[1]
    assert not np.allclose(ends[-1].coef_, without.coef_, atol=1e-3)


def test_algorithms_that_a_prior_does_not_suit_say_why():
    Phi, y = sparse_problem()
    with pytest.raises(ValueError, match="of each column has a closed form"):
        TypeIIRegressor("fast", prior="laplace").fit(Phi, y)
    with pytest.raises(ValueError, match=r"linear in \|x\|"):
        TypeIIRegressor("reweighted-l1", prior="laplace").fit(Phi, y)


def test_noise_that_collapses_is_held_and_said():
    """More atoms than samples: every algorithm would send the noise to 0."""
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((12, 40))
    y = Phi[:, 0] - Phi[:, 1]
    for algorithm in ("fast", "mackay"):
        with pytest.warns(ConvergenceWarning, match="fit the targets exactly"):
            model = TypeIIRegressor(algorithm).fit(Phi, y)
        assert model.noise_ >= 1e-9 * y.var()


def test_a_learned_noise_that_many_columns_make_too_small_is_doubted():
    """Above the least noise allowed, at a maximum of the evidence, and 13 times too small."""
    rng = np.random.default_rng(0)
    Phi, x = rng.standard_normal((60, 90)), np.zeros(90)
    x[rng.choice(90, 6, replace=False)] = rng.choice([-1.0, 1.0], 6) * (1 + rng.random(6))
    clean = Phi @ x
    noise = clean @ clean / 60 / 100
    y = clean + np.sqrt(noise) * rng.standard_normal(60)
    with pytest.warns(ConvergenceWarning, match="60 samples with 90 columns and is likely too small"):
        model = TypeIIRegressor("reweighted-l2", fit_intercept=False).fit(Phi, y)
    assert model.status_ == "converged"
    assert model.noise_ < 0.1 * noise
    tall = TypeIIRegressor("reweighted-l2", fit_intercept=False).fit(Phi[:, :40], y)
    assert tall.status_ == "converged"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_columns_that_were_pruned_are_part_of_the_violation(algorithm):
    """What an iteration switches off early may be wanted later: at the end it is looked at, and let in again."""
    tol = 1e-3 if algorithm == "em" else 1e-5
    for problem in (undersampled_cosines(), dictionary_problem("iid", 0), dictionary_problem("correlated", 0)):
        Phi, y, noise = problem
        model = TypeIIRegressor(algorithm, noise=noise, fit_intercept=False, tol=tol).fit(Phi, y)
        assert model.status_ == "converged"
        expected = max(stationarity(Phi, y, model.gamma_, noise))
        assert expected <= tol
        assert model.violation_ == pytest.approx(expected, rel=1e-3, abs=1e-8)


@pytest.mark.parametrize("algorithm", ["mackay", "reweighted-l2"])
def test_rules_that_prune_reach_the_maximum_that_others_reach(algorithm):
    Phi, y, noise = undersampled_cosines()
    best = TypeIIRegressor("reweighted-l1", noise=noise, fit_intercept=False).fit(Phi, y).evidence_
    assert TypeIIRegressor(algorithm, noise=noise, fit_intercept=False).fit(Phi, y).evidence_ > best - 0.1


def test_the_undersampled_cosines_of_the_reference_are_solved():
    data, reference = case("inverse_dct")
    Phi = idct(np.eye(1024), norm="ortho", axis=0)[data["rows1024"]]
    best = reference["problems"]["1024"]["best"]["log_evidence"]
    for algorithm in ("fast", "mackay", "reweighted-l2"):
        model = TypeIIRegressor(algorithm, noise=reference["lam"], fit_intercept=False).fit(Phi, data["y1024"])
        assert model.evidence_ == pytest.approx(best, abs=1e-2)


@pytest.mark.parametrize("stopped", [{"algorithm": "mackay"}, {"algorithm": "reweighted-l1"}], ids=str)
def test_an_iteration_that_is_stopped_says_how_far_it_was(stopped):
    Phi, y, noise = dictionary_problem("iid", 1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = TypeIIRegressor(**stopped, noise=noise, fit_intercept=False, max_iter=3).fit(Phi, y)
    assert model.status_ == "sloping"
    assert model.violation_ == pytest.approx(max(stationarity(Phi, y, model.gamma_, noise)), rel=1e-3)


@pytest.mark.parametrize("kind", ["iid", "correlated", "smooth"])
def test_the_default_ends_no_lower_than_the_other_algorithms(kind):
    """One column at a time it would end tens of nats lower on some of these; it has other starts as well."""
    for seed in range(6):
        Phi, y, noise = dictionary_problem(kind, seed)
        reached = [
            TypeIIRegressor(name, noise=noise, fit_intercept=False).fit(Phi, y).evidence_
            for name in ("fast", "mackay", "reweighted-l2", "reweighted-l1")
        ]
        assert reached[0] > max(reached) - 0.5


def test_the_default_reaches_the_best_known_maxima_of_hard_dictionaries():
    data, reference = case("inverse_hard")
    for name, instance in reference["instances"].items():
        model = TypeIIRegressor(noise=instance["lam"], fit_intercept=False).fit(data[f"Phi_{name}"], data[f"y_{name}"])
        assert model.evidence_ > instance["best"]["log_evidence"] - 1e-3


def test_several_starts_serve_several_targets():
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((30, 90))
    X = np.zeros((90, 4))
    X[rng.choice(90, 8, replace=False)] = rng.standard_normal((8, 4))
    Y = Phi @ X + 0.1 * rng.standard_normal((30, 4))
    default, others = (
        TypeIIRegressor(noise=0.01, fit_intercept=False).fit(Phi, Y),
        [TypeIIRegressor(name, noise=0.01, fit_intercept=False).fit(Phi, Y) for name in ("mackay", "reweighted-l2")],
    )
    assert default.evidence_ > max(other.evidence_ for other in others) - 0.1
    assert max(stationarity(Phi, Y, default.gamma_, 0.01)) <= 1e-5


# -- the priors


@pytest.mark.parametrize("prior", [Power(1.0), Power(0.3), Jeffreys(), Student(1.5)], ids=repr)
def test_a_prior_is_a_maximum_over_normal_densities(prior):
    """h(z) = min_gamma z / gamma + log gamma + f(gamma), reached at gamma = 1 / h'(z)."""
    z = np.array([0.1, 1.0, 7.0])
    gamma = 1 / prior.slope(z)
    assert_allclose(z / gamma + np.log(gamma) + log_prior(prior, gamma), prior.h(z), rtol=1e-8)
    for factor in (0.5, 2.0):
        other = factor * gamma
        assert (z / other + np.log(other) + log_prior(prior, other) >= prior.h(z) - 1e-9).all()
    step = 1e-5
    numeric = (log_prior(prior, gamma * np.exp(step)) - log_prior(prior, gamma * np.exp(-step))) / (2 * step)
    assert_allclose(prior_slope(prior, gamma), numeric, atol=1e-5)
    assert_allclose(conjugate_point(prior, gamma), z, rtol=1e-8)
    assert_allclose((prior.h(z + step) - prior.h(z - step)) / (2 * step), prior.slope(z), rtol=1e-6)


# -- Type I


def test_a_laplace_prior_is_the_lasso():
    """|y - Phi x|^2 / noise + sum |x_j|: half of it is the lasso with lam = 1/2 on unit columns."""
    Phi, y = sparse_problem()
    unit = np.linalg.norm(Phi, axis=0)
    model = TypeIRegressor("laplace", noise=0.8, fit_intercept=False, tol=1e-9).fit(Phi, y)
    core = Posterior(as_design(np.asfortranarray(Phi / unit)), y[:, None], Gaussian(0.8), Laplace(0.5))
    lasso = newton(core, core.start(), 1e-12, 200).weights[:, 0] / unit
    assert_allclose(model.coef_, lasso, atol=1e-6)
    assert model.objective_ == pytest.approx(core.value((lasso * unit)[:, None]), rel=1e-6)


def test_a_learned_noise_with_a_laplace_prior_is_the_square_root_lasso():
    """min sum |x| + sqrt(n) |u|, whose lambda is 2 |u| / sqrt(n): no other has a lower objective."""
    Phi, y = sparse_problem()
    unit = np.linalg.norm(Phi, axis=0)
    model = TypeIRegressor("laplace", fit_intercept=False, tol=1e-9).fit(Phi, y)
    u = np.linalg.norm(y - Phi @ model.coef_)
    assert model.lambda_ == pytest.approx(2 * u / np.sqrt(len(y)), rel=1e-10)
    assert model.noise_ == pytest.approx(u**2 / (len(y) - len(model.support_)), rel=1e-10)

    def value(x):
        return np.abs(x * unit).sum() + np.sqrt(len(y)) * np.linalg.norm(y - Phi @ x)

    best = value(model.coef_)
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = TypeIRegressor("laplace", noise=factor * model.lambda_, fit_intercept=False, tol=1e-9).fit(Phi, y)
        assert value(other.coef_) >= best - 1e-6


def test_a_jeffreys_prior_on_orthonormal_columns_has_a_closed_form():
    """From least squares, |b| >= 2 sigma stays and goes to (b + sign(b) sqrt(b^2 - 4 sigma^2)) / 2."""
    Phi = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 6)))[0]
    b, noise = np.array([3.0, -2.5, 2.01, 1.9, 0.5, -0.1]), 1.0
    model = TypeIRegressor("jeffreys", noise=noise, fit_intercept=False, tol=1e-10).fit(Phi, Phi @ b)
    expected = np.where(np.abs(b) >= 2, (b + np.sign(b) * np.sqrt(np.maximum(b**2 - 4, 0))) / 2, 0)
    # The start is a ridge regression, so that coordinates at the very edge may be lost.
    assert_allclose(model.coef_[[0, 1, 3, 4, 5]], expected[[0, 1, 3, 4, 5]], atol=1e-5)


def test_a_gaussian_prior_is_ridge():
    Phi, y = sparse_problem()
    unit = np.linalg.norm(Phi, axis=0)
    model = TypeIRegressor("gaussian", noise=0.7, fit_intercept=False).fit(Phi, y)
    B = Phi / unit
    assert_allclose(model.coef_ * unit, np.linalg.solve(B.T @ B + 0.7 * np.eye(20), B.T @ y), rtol=1e-6)


@pytest.mark.parametrize("prior", ["laplace", "student", "lp"])
@pytest.mark.parametrize("noise", ["learn", 0.5])
def test_type_one_falls(prior, noise):
    Phi, y = sparse_problem()
    steps = np.array([step.objective for step in TypeIRegressor(prior, noise=noise).fit(Phi, y).history_])
    assert (np.diff(steps) <= 1e-8).all()


def test_any_object_with_h_and_its_slope_is_a_prior():
    class Mine:
        def h(self, z):
            return np.log1p(z)

        def slope(self, z):
            return 1 / (1 + z)

    Phi, y = sparse_problem()
    assert TypeIRegressor(Mine()).fit(Phi, y).score(Phi, y) > 0.9
    with pytest.raises(ValueError, match="slope"):
        TypeIRegressor(object()).fit(Phi, y)
    with pytest.raises(ValueError, match="'jeffreys'"):
        TypeIRegressor("jeffrey").fit(Phi, y)


@pytest.mark.parametrize("prior", sorted(SCALE_MIXTURES))
def test_type_one_of_several_targets_is_sparse_in_rows(prior):
    Phi, Y = sparse_problem(k=3)
    model = TypeIRegressor(prior, noise=0.5).fit(Phi, Y)
    kept = np.zeros(20, dtype=bool)
    kept[model.support_] = True
    assert (model.coef_[:, ~kept] == 0).all()
    assert (model.coef_[:, kept] != 0).all()


@pytest.mark.parametrize("model", [TypeIIRegressor(), TypeIIRegressor("mackay"), TypeIRegressor("jeffreys")], ids=repr)
def test_units_and_repetitions(model):
    """Rescaled columns and targets, and rows given twice instead of weighted, change nothing but units."""
    Phi, y = sparse_problem()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    expected = model.fit(Phi, y, sample_weight=weight)
    coef, noise, support = expected.coef_, expected.noise_, expected.support_
    scale, many = 10.0 ** (np.arange(20) % 5 - 2), np.repeat(np.arange(len(y)), weight)
    found = model.fit(Phi[many] * scale, 100 * y[many] + 3)
    assert_array_equal(found.support_, support)
    assert_allclose(found.coef_ * scale, 100 * coef, rtol=1e-4)
    assert found.noise_ == pytest.approx(1e4 * noise, rel=1e-4)


def square_root_lasso(Phi, y, x, intercept):
    """F = (sum_j |phi_j| |x_j| + sqrt(n) |u|) / 2 and its relative duality gap, written down once more."""
    n = len(y) - intercept
    Phi, y = (Phi - Phi.mean(axis=0), y - y.mean()) if intercept else (Phi, y)
    norms = np.linalg.norm(Phi, axis=0)
    u = y - Phi @ x
    value = np.abs(norms * x).sum() + np.sqrt(n) * np.linalg.norm(u)
    theta = np.sqrt(n) * u / np.linalg.norm(u)
    theta *= min(1.0, 1 / np.abs(Phi.T @ theta / norms).max())
    return value / 2, 1 - y @ theta / value


@pytest.mark.parametrize("name", ["100x50", "60x40"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_the_reference_square_root_lasso_is_reached_in_all_units(name, scale):
    data, reference = case("inverse_typeone")
    Phi, y, there = data[f"Phi_{name}"], data[f"y_{name}"] * scale, reference["instances"][name]["c=1"]
    model = TypeIRegressor(fit_intercept=False).fit(Phi, y)
    assert model.status_ == "converged"
    assert model.dual_gap_ <= 1e-12
    assert 2 * model.objective_ == pytest.approx(scale * there["F"], rel=1e-9)
    assert model.support_.tolist() == there["support"]
    assert_allclose(model.coef_[model.support_] / scale, there["coef_original_units"], rtol=1e-6, atol=1e-9)
    assert model.lambda_ == pytest.approx(2 * scale * there["sigma=|u|/sqrt n"], rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize(("n", "p"), [(100, 50), (50, 30), (40, 60)])
def test_the_square_root_lasso_has_one_optimum_and_a_true_certificate(n, p, scale, intercept):
    """Gap and objective are those of the weights that are returned; every column satisfies its condition."""
    Phi, y = sparse_problem(n, p, seed=n, noise=0.5)
    Phi, y = Phi * 10.0 ** (np.arange(p) % 3), y * scale
    model = TypeIRegressor(fit_intercept=intercept).fit(Phi, y)
    value, gap = square_root_lasso(Phi, y, model.coef_, intercept)
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert gap <= model.dual_gap_ + 1e-12
    assert model.dual_gap_ <= 1e-6
    assert model.violation_ <= 1e-6
    one, two = (TypeIRegressor(fit_intercept=intercept, noise=f * model.lambda_).fit(Phi, y) for f in (1.0, 1.5))
    assert_allclose(one.coef_, model.coef_, rtol=1e-6, atol=1e-9 * np.abs(model.coef_).max())
    assert square_root_lasso(Phi, y, two.coef_, intercept)[0] > value


@pytest.mark.parametrize("noise", ["learn", 0.3])
def test_several_targets_with_a_laplace_prior_have_a_certificate(noise):
    """Rows of weights have their norms penalised: (sqrt(k) / 2) (sum_j |x_j| + sqrt(n) |U|), or |U|^2 / (2 noise)."""
    Phi, Y = sparse_problem(n=40, m=60, k=3, noise=0.5)
    model = TypeIRegressor(noise=noise, fit_intercept=False).fit(Phi, Y)
    norms, b, n = np.linalg.norm(Phi, axis=0), np.sqrt(3) / 2, 40
    B, X = Phi / norms, model.coef_.T * norms[:, None]
    U = Y - B @ X
    length = np.linalg.norm(U)
    loss = b * np.sqrt(n) * length if noise == "learn" else length**2 / (2 * noise)
    value = b * np.linalg.norm(X, axis=1).sum() + loss
    D = U * (b * np.sqrt(n) / length if noise == "learn" else 1 / noise)
    D *= min(1.0, b / np.linalg.norm(B.T @ D, axis=1).max())
    dual = (Y * D).sum() - (0.0 if noise == "learn" else noise * (D**2).sum() / 2)
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert 1 - dual / value <= model.dual_gap_ + 1e-12
    assert model.dual_gap_ <= 1e-6


class Bent:
    """g(x) = 2 log(1 + |x| / 0.3): not convex, with a finite slope at 0."""

    def h(self, z):
        return 2 * np.log1p(np.sqrt(z) / 0.3)

    def slope(self, z):
        with np.errstate(divide="ignore"):
            return 1 / (np.sqrt(z) * (0.3 + np.sqrt(z)))

    def __repr__(self):
        return "Bent()"


PRIORS = ["gaussian", "student", "jeffreys", "lp", Power(0.1), Power(1.5), Bent()]


@pytest.mark.parametrize("noise", ["learn", 0.5])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_type_one_is_stationary_over_all_columns(prior, k, noise):
    """phi_j^T u = lambda x_j h'(x_j^2) where x_j is not 0; elsewhere |phi_j^T u| is at most its limit at 0."""
    Phi, Y = sparse_problem(n=60, m=30, k=k, seed=3, noise=0.5)
    scale = np.sqrt((Y**2).mean()) if noise == "learn" else 1.0  # the prior's own unit, where it has one
    model = TypeIRegressor(prior, noise=noise, fit_intercept=False).fit(Phi, Y)
    assert model.status_ == "converged"
    rule = SCALE_MIXTURES[prior] if isinstance(prior, str) else prior
    norms = np.linalg.norm(Phi, axis=0)
    X, Y = np.atleast_2d(model.coef_).T * norms[:, None] / scale, Y.reshape(len(Phi), -1) / scale
    U = Y - Phi / norms @ X
    pulled, z = (Phi / norms).T @ U, (X**2).mean(axis=1)
    strength = 1 / rule.slope(np.array([(U**2).mean()]))[0] if noise == "learn" else noise
    missed = np.sqrt(((pulled - strength * (rule.slope(np.maximum(z, 1e-30))[:, None] * X)) ** 2).mean(axis=1))
    edge = strength * 1e-9 * rule.slope(np.array([1e-18]))[0]
    missed = np.where(z > 0, missed, np.maximum(np.sqrt((pulled**2).mean(axis=1)) - edge, 0.0))
    largest = np.sqrt((((Phi / norms).T @ Y) ** 2).mean(axis=1)).max()
    assert missed.max() / largest <= 1.01e-6
    assert model.violation_ == pytest.approx(missed.max() / largest, rel=1e-3, abs=1e-12)


def test_a_column_that_was_left_at_zero_comes_back():
    """A step from the zero weight of a column whose condition is violated lets the column in."""
    Phi, y = sparse_problem(seed=4)
    evidence = Evidence(as_design(Phi), y[:, None])
    objective = TypeOne(evidence.scaled(np.sqrt(evidence.variance)), Bent(), 0.1)
    point = objective.at(np.zeros((20, 1)))
    assert point.violation > 0.5
    assert np.count_nonzero(objective.step(point)) == np.count_nonzero(point.residuals) > 0


@pytest.mark.parametrize("prior", ["laplace", "student", "jeffreys", "lp", "gaussian"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_intervals_hold_in_all_units(prior, scale):
    """About 95 % of new observations are within 1.96 standard deviations, in whatever units y is measured."""
    rng = np.random.default_rng(5)
    held = []
    for _ in range(20):
        X, w = rng.standard_normal((120, 15)), np.zeros(15)
        w[:5] = rng.standard_normal(5) + 1
        y, new = X @ w + rng.standard_normal(120), rng.standard_normal((200, 15))
        truth = new @ w + rng.standard_normal(200)
        mean, std = TypeIRegressor(prior).fit(X, scale * y).predict(new, return_std=True)
        held.append(np.mean(np.abs(mean / scale - truth) <= 1.96 * std / scale))
    assert 0.93 <= np.mean(held) <= 0.97


@pytest.mark.parametrize("prior", sorted(SCALE_MIXTURES))
def test_the_weights_are_the_mean_given_the_variances(prior):
    """Gamma Phi^T (noise I + Phi Gamma Phi^T)^-1 y, and the covariance that goes with it, with `noise_` a variance."""
    Phi, y = sparse_problem(noise=0.5)
    model = TypeIRegressor(prior, fit_intercept=False, tol=1e-10).fit(Phi, y)
    S = model.noise_ * np.eye(len(y)) + (Phi * model.gamma_) @ Phi.T
    assert_allclose(model.gamma_ * (Phi.T @ np.linalg.solve(S, y)), model.coef_, atol=1e-7)
    A = model.support_
    precision = Phi[:, A].T @ Phi[:, A] / model.noise_ + np.diag(1 / model.gamma_[A])
    assert_allclose(model.covariance_, np.linalg.inv(precision), rtol=1e-8, atol=1e-14)
    freedom = len(A) if prior == "laplace" else (model.gamma_ * np.diag(Phi.T @ np.linalg.solve(S, Phi))).sum()
    assert model.noise_ == pytest.approx(((y - Phi @ model.coef_) ** 2).sum() / (len(y) - freedom), rel=1e-6)


@pytest.mark.parametrize("prior", sorted(SCALE_MIXTURES))
@pytest.mark.parametrize("noise", ["learn", 0.5])
@pytest.mark.parametrize("value", [0.0, 3.0, 1e6 / 3])
def test_a_constant_target_leaves_an_empty_model(prior, noise, value):
    X = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.warns(EmptyModelWarning, match="mean of the targets"):
        model = TypeIRegressor(prior, noise=noise).fit(X, np.full(20, value))
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, value, rtol=1e-12)
    assert_array_equal(std, 0.0)
    assert model.objective_ == model.violation_ == model.noise_ == 0.0
    assert model.status_ == "converged"
    assert np.isfinite(model.evidence_)


@pytest.mark.parametrize("prior", ["laplace", "jeffreys", "lp"])
def test_an_exact_fit_says_that_it_interpolates(prior):
    """With four times as many columns as samples basis pursuit is the optimum of eq. (15): no noise is left."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((25, 100)), rng.standard_normal(25)
    with pytest.warns(ConvergenceWarning, match="fit the targets exactly"):
        model = TypeIRegressor(prior, fit_intercept=False).fit(X, y)
    assert model.status_ == "interpolates"
    assert_allclose(model.predict(X), y, atol=1e-3)
    assert 0 < model.noise_ < 1e-7 * (y**2).mean()
    if prior == "laplace":
        unit = np.linalg.norm(X, axis=0)
        both = np.hstack([X / unit, -X / unit])
        pursuit = linprog(np.ones(200), A_eq=both, b_eq=y)
        assert 2 * model.objective_ == pytest.approx(pursuit.fun, rel=1e-9)
        assert model.dual_gap_ <= 1e-9


def test_too_few_iterations_are_said():
    Phi, y = sparse_problem(noise=0.5)
    for prior, status in (("laplace", "max_iter"), ("student", "unsettled")):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = TypeIRegressor(prior, max_iter=1).fit(Phi, y)
        assert (model.status_, model.n_iter_) == (status, 1)


def test_the_objective_is_that_of_the_weights_where_the_fit_was_cut_short():
    Phi, y = sparse_problem(noise=0.5)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = TypeIRegressor("lp", max_iter=3, fit_intercept=False).fit(Phi, y)
    x, u = model.coef_ * np.linalg.norm(Phi, axis=0), y - Phi @ model.coef_
    value = np.sqrt(np.abs(x)).sum() + len(y) * (u @ u / len(y)) ** 0.25
    assert model.objective_ == model.history_[-1].objective == pytest.approx(value / 2, rel=1e-12)


def test_several_targets_of_nearly_no_weight_settle():
    """lambda and the weights pull each other along slowly where the optimum keeps hardly anything."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 50)), rng.standard_normal((40, 4))
    model = TypeIRegressor().fit(X, Y)
    assert model.status_ == "converged"
    assert model.n_iter_ < 500


def test_a_second_fit_keeps_no_certificate_of_the_first():
    Phi, y = sparse_problem()
    model = TypeIRegressor().fit(Phi, y)
    assert model.dual_gap_ <= 1e-6
    assert not hasattr(model.set_params(prior="lp").fit(Phi, y), "dual_gap_")


@pytest.mark.parametrize("prior", ["laplace", "jeffreys", "student"])
def test_type_one_takes_sparse_and_single_precision_inputs_and_offsets(prior):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8)) * (rng.random((50, 8)) < 0.4)
    y, weight, offset = X[:, 0] - X[:, 3] + 0.3 * rng.standard_normal(50), rng.uniform(0.5, 2, 50), rng.random(50)
    expected = TypeIRegressor(prior).fit(X, y, sample_weight=weight)
    for inputs in (sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X)):
        found = TypeIRegressor(prior).fit(inputs, y + offset, sample_weight=weight, offset=offset)
        assert_allclose(found.coef_, expected.coef_, atol=1e-8)
        assert found.noise_ == pytest.approx(expected.noise_, rel=1e-8)
    single = TypeIRegressor(prior).fit(X.astype(np.float32), y, sample_weight=weight)
    assert_allclose(single.coef_, expected.coef_, atol=1e-5)


GOLDEN = Path(__file__).parent / "golden" / "typeone_0.1"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.model")), ids=lambda path: path.stem)
def test_files_of_version_0_1_predict_the_same_mean_and_say_that_their_intervals_were_wrong(path):
    known = np.load(GOLDEN / "predictions.npz")
    model = load(path)
    assert_allclose(model.predict(known["new"]), known[f"{path.stem}_mean"], rtol=1e-12)
    with pytest.warns(UserWarning, match="standard deviation is wrong"):
        mean, std = model.predict(known["new"], return_std=True)
    assert_allclose(mean, known[f"{path.stem}_mean"], rtol=1e-12)
    assert_allclose(std, known[f"{path.stem}_std"], rtol=1e-12)
    again = clone(model).fit(known["X"], known["Y"] if path.stem == "targets" else known["y"])
    again.predict(known["new"], return_std=True)
    assert again.lambda_ > 0


# -- the sparsest solution


def dictionary(seed, n=30, groups=12, per=7, angle=0.01, active=4, inside=3):
    """Clusters of columns; coefficients of random signs in some of them."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n, groups))
    centres /= np.linalg.norm(centres, axis=0)
    Phi = np.repeat(centres, per, axis=1) + angle / np.sqrt(n) * rng.standard_normal((n, groups * per))
    x = np.zeros(groups * per)
    for cluster in rng.choice(groups, active, replace=False):
        chosen = cluster * per + rng.choice(per, inside, replace=False)
        while abs(x[chosen].sum()) < 0.5:
            x[chosen] = rng.choice([-1.0, 1.0], inside) * rng.uniform(0.5, 1.5, inside)
    return Phi, x


def test_clustered_dictionaries_are_solved_where_l1_fails():
    """Theorem 2 of Wipf & Wu (2012); the experiment of that name has more of it."""
    plain = ours = 0
    for seed in range(10):
        Phi, x = dictionary(seed, n=40, groups=15, per=8, inside=4)
        found = maximally_sparse(Phi, Phi @ x)
        plain += np.array_equal(np.flatnonzero(found.plain), np.flatnonzero(x))
        ours += np.array_equal(found.support, np.flatnonzero(x))
        assert len(found.support) <= np.count_nonzero(found.plain)
        assert found.residual < 1e-6
    assert plain <= 2
    assert ours == 10


def test_the_reference_dictionary_is_solved():
    data, reference = case("clustered_noiseless")
    y = data["y"].ravel()
    found = maximally_sparse(data["Phi"], y)
    assert found.support.tolist() == reference["instance_results"]["true_support"]
    assert_allclose(found.x, data["x_true"].ravel(), atol=1e-6)
    plain = reference["instance_results"]["l1"]
    assert np.abs(found.plain).sum() == pytest.approx(plain["l1_norm"], rel=1e-6)
    for setting in ((0.1, 0.5), (0.01, 1.0), (0.001, 2.0)):
        sizes = [np.count_nonzero(attempt.x) for attempt in noiseless(data["Phi"], y, *setting, 15)]
        assert sizes[0] == len(plain["support"])
        assert sizes[-1] == 5


def test_weights_are_those_of_the_paper():
    """eta(x; alpha, 1/2) is the slope of g_II in |x_i| as alpha goes to 0 (eqs. 19-20)."""
    rng = np.random.default_rng(0)
    Phi, x = rng.standard_normal((4, 6)), np.array([0.0, 1.0, 0, -2.0, 0.5, 3.0])
    S = 1e-3 * np.eye(4) + (Phi * x**2) @ Phi.T
    assert_allclose(cheapness(Phi, x, 1e-3), np.diag(Phi.T @ np.linalg.inv(S) @ Phi), rtol=1e-8)


def test_noisy_data_keep_the_support():
    rng = np.random.default_rng(2)
    Phi = rng.standard_normal((40, 80))
    x = np.zeros(80)
    x[[3, 30, 60]] = 2.0, -1.5, 1.0
    y = Phi @ x + 0.1 * rng.standard_normal(40)
    found = maximally_sparse(Phi, y, noise=0.01)
    assert found.support.tolist() == [3, 30, 60]
    assert len(found.support) <= np.count_nonzero(found.plain)


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_units_of_a_dictionary_do_not_matter(scale):
    Phi, x = dictionary(1)
    sizes = 10.0 ** (np.arange(len(x)) % 4)
    expected, found = maximally_sparse(Phi, Phi @ x), maximally_sparse(Phi * sizes, scale * (Phi @ x))
    assert_allclose(found.x * sizes, scale * expected.x, atol=1e-6 * scale)


def test_what_cannot_be_solved_is_said():
    Phi, _ = dictionary(0, groups=4, per=3)
    with pytest.raises(ValueError, match="span"):
        maximally_sparse(Phi, np.random.default_rng(0).standard_normal(30), noise=0.0)
    with pytest.raises(ValueError, match="alpha"):
        maximally_sparse(Phi, Phi[:, 0], alpha=-1.0)
    assert maximally_sparse(Phi, np.zeros(30)).support.tolist() == []


# -- classification


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("alpha", [None, (0.05, 0.5)])
def test_the_classifier_goes_down_to_a_stationary_point(m, alpha):
    """Theorems 3 and 5: the objective falls, and at its end the L1 problem with the end's own weights is solved."""
    X, y = clusters(n=120, m=m, p=8)
    model = TypeIIClassifier(alpha=alpha, tol=1e-12).fit(X, y)
    assert (np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1])).all()
    assert model.dual_gap_ <= 1e-8
    assert 0 < len(model.support_) < 8
    assert model.score(X, y) > 0.5


def classifier_judged(model, X, y, weight=None, strengths=None):
    """The objective of Theorem 3 or 5 at the model's x and gamma, and the violation of its conditions, anew."""
    weight = np.ones(len(y), dtype=int) if weight is None else weight
    m = len(model.classes_)
    X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    F = X @ model.coef_.T + model.intercept_
    Y = (y[:, None] == model.classes_).astype(float)
    if m == 2:
        F = np.column_stack([np.zeros(len(F)), F[:, -1]])
    P = softmax(F, axis=1)
    a1, a2, c = strengths or (0.5, 4.0 if m == 2 else 2.0, 0.5)
    value, slopes = -float((Y * log_softmax(F, axis=1)).sum()), X.T @ (P - Y)
    slopes = slopes[:, 1:] if m == 2 else slopes
    Phi, worst = X - X.mean(axis=0) * model.fit_intercept, 0.0
    for x, gamma, slope in zip(model.coef_[-slopes.shape[1] :], np.atleast_2d(model.gamma_), slopes.T, strict=True):
        S, kept = a2 * np.eye(len(X)) + (Phi * gamma) @ Phi.T, x != 0
        z = np.einsum("ij,ij->j", Phi, np.linalg.solve(S, Phi))
        value += a1 * (x[kept] ** 2 / gamma[kept]).sum() + c * np.linalg.slogdet(S)[1]
        penalty = 2 * np.sqrt(a1 * c * z)
        missed = np.where(kept, np.abs(slope + penalty * np.sign(x)), np.maximum(np.abs(slope) - penalty, 0)) / penalty
        worst = max(worst, float(missed.max()))
    return value, worst


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [None, (0.05, 0.5)])
def test_the_classifiers_objective_and_violation_are_those_of_what_it_returns(m, intercept, alpha):
    """psi(x) + 1/2 sum x^2 / gamma + 1/2 log|4 I + Phi Gamma Phi^T|, constants included; a weight of 2 is two rows."""
    X, y = clusters(n=80, m=m, p=6)
    weight = np.random.default_rng(0).integers(0, 3, 80)
    for given in (None, weight):
        model = TypeIIClassifier(alpha=alpha, fit_intercept=intercept).fit(X, y, sample_weight=given)
        value, violation = classifier_judged(model, X, y, given, None if alpha is None else (*alpha, 1.0))
        assert model.status_ == "converged"
        assert model.objective_ == pytest.approx(value, rel=1e-9)
        assert model.violation_ == pytest.approx(violation, rel=1e-2, abs=1e-8)
        assert violation <= 1e-4


def test_a_classifier_that_is_stopped_says_how_far_it_was():
    X, y = clusters(n=80, m=2, p=6)
    with pytest.warns(ConvergenceWarning, match="reweightings"):
        model = TypeIIClassifier(max_iter=3).fit(X, y)
    assert model.status_ == "unsettled"
    assert model.violation_ == pytest.approx(classifier_judged(model, X, y)[1], rel=1e-6)
    assert model.violation_ > 1e-4


def test_no_relevance_vector_machine_has_a_lower_objective():
    """Its variances, at their mode; the classifier goes on from there, and has other starts."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    basis = Kernel("rbf", gamma=1 / 30)
    machine, model = RVMClassifier(basis).fit(X, y), TypeIIClassifier(basis).fit(X, y)
    Phi = machine.basis_.transform(X)[:, machine.support_] * np.sqrt(machine.gamma_[machine.support_])
    Phi -= Phi.mean(axis=0)
    x = minimize(_posterior, np.zeros(Phi.shape[1] + 1), (Phi, y), jac=True, method="BFGS").x
    bound = _posterior(x, Phi, y)[0] + 0.5 * np.linalg.slogdet(4 * np.eye(len(Phi)) + Phi @ Phi.T)[1]
    assert model.objective_ < bound


def _posterior(x, Phi, y):
    """psi + |x|^2 / 2 and its gradient; the last weight is a free intercept."""
    F = Phi @ x[:-1] + x[-1]
    slope = np.append(Phi.T @ (expit(F) - y) + x[:-1], (expit(F) - y).sum())
    return np.logaddexp(0, F).sum() - y @ F + 0.5 * x[:-1] @ x[:-1], slope


def test_smaller_strengths_of_theorem_five_are_sparser():
    X, y = clusters(n=150, m=2, p=10, spread=1.0)
    sizes = [len(TypeIIClassifier(alpha=(a, a)).fit(X, y).support_) for a in (0.5, 0.01)]
    assert sizes[1] <= sizes[0]
    with pytest.raises(ValueError, match="alpha"):
        TypeIIClassifier(alpha=(1.0,)).fit(X, y)


def test_units_do_not_matter_to_the_classifier():
    X, y = clusters(n=80, m=3)
    scale = 10.0 ** np.arange(-3, 3)
    expected, found = TypeIIClassifier().fit(X, y), TypeIIClassifier().fit(X * scale, y)
    assert_array_equal(found.support_, expected.support_)
    assert_allclose(found.predict_proba(X * scale), expected.predict_proba(X), atol=1e-5)


def test_inputs_without_a_say_leave_an_empty_classifier():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 3)), 2, axis=0)
    y = np.arange(40) % 2
    with pytest.warns(EmptyModelWarning, match="class frequencies"):
        model = TypeIIClassifier().fit(X, y)
    assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("p", [30, 200])
def test_the_classifier_takes_sparse_inputs(p, m):
    """Fewer and more columns than samples: the two sizes of its linear systems."""
    rng = np.random.default_rng(m)
    X = sparse.random_array((80, p), density=0.2, rng=rng, format="csr")
    y = (3 * X[:, [0]].toarray()[:, 0] + rng.random(80) * 1.2).astype(int) % m
    kept, dense = (TypeIIClassifier(tol=1e-10).fit(A, y) for A in (X, X.toarray()))
    assert kept.objective_ == pytest.approx(dense.objective_, rel=1e-8)
    assert_allclose(kept.predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-4)


def test_the_classifier_does_not_densify_sparse_inputs():
    rng = np.random.default_rng(0)
    X = sparse.random_array((150, 40_000), density=0.002, rng=rng, format="csc")
    y = (X[:, :200].sum(axis=1) > 0.1).astype(int)
    model = TypeIIClassifier(max_iter=50, tol=1e-3)
    assert peak_of(lambda: model.fit(X, y)) < 0.5 * 8 * X.shape[0] * X.shape[1]
    assert model.n_features_in_ == 40_000
