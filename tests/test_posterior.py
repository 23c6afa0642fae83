"""Draws from posteriors: conditionals against their formulas, cases of other samplers, and the sample's own methods."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from scipy.stats import kstest, norm
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smaller import (
    LRVM,
    RMLR,
    SBMLR,
    SMLR,
    JeffreysClassifier,
    JeffreysRegressor,
    LaplaceRegressor,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
    _core,
    load,
    save,
)
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.inference import PosteriorSample, normal_draws, polya_gamma_draws, sample_posterior
from smaller.inference.diagnostics import agreement
from smaller.inference.gibbs import SoftmaxChain, SoftmaxData
from smaller.inference.posterior_problem import posterior_problem
from smaller.inference.scale_mixtures import LaplaceScales, NormalScales, inverse_gaussian, piecewise_exponential
from smaller.inference.trajectories import Trajectories
from smaller.models.base import Given
from smaller.progress import listening

SEEDS = [0, 1, 2]


def two_classes(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + rng.logistic(size=n) > 0).astype(int)


# -- pieces


@pytest.mark.parametrize("drawer", [polya_gamma_draws.polya_gamma, polya_gamma_draws.by_series])
@pytest.mark.parametrize(
    ("shape", "tilt"),
    [
        (1.0, 0.0),
        (1.0, 3.0),
        (2.5, 1.0),
        (0.3, 2.0),
        (7.0, 0.5),
        (60.0, 1.0),
        (0.3, 40.0),
        (60.0, 30.0),
        (127.0, 200.0),
    ],
)
def test_polya_gamma_variables_have_their_moments(drawer, shape, tilt):
    count = 20_000
    drawn = drawer(np.random.default_rng(1), np.full(count, shape), np.full(count, tilt))
    c = max(tilt, 1e-4)
    mean, variance = shape * np.tanh(c / 2) / (2 * c), shape * (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2)
    variance = shape / 24 if tilt == 0 else variance
    assert abs(drawn.mean() - mean) < 4 * np.sqrt(variance / count)
    assert_allclose(drawn.var(), variance, rtol=0.1)


def test_polya_gamma_variables_of_enormous_scores_end_and_have_their_mean():
    tilt = np.array([1e8, -7e15, 1e300])
    drawn = np.mean(
        [polya_gamma_draws.polya_gamma(np.random.default_rng(i), np.full(3, 127.0), tilt) for i in range(9)], 0
    )
    assert_allclose(drawn, 127.0 / (2 * np.abs(tilt)), rtol=1e-3)


@pytest.mark.parametrize("mean", [0.1, 1.0, 1e6, 1e16, np.inf])
def test_inverse_gaussian_variables_are_right_for_every_mean(mean):
    """1 / x has the mean 1/mean + 1/shape, whatever the mean; NumPy's wald gives zeros at 1e16."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        drawn = inverse_gaussian(np.random.default_rng(0), np.full(40_000, mean), np.full(40_000, 2.0))
    inverse = 1 / drawn
    assert (drawn > 0).all()
    assert_allclose(inverse.mean(), 1 / mean + 0.5, rtol=0.03)


def test_shifts_have_their_density():
    rng = np.random.default_rng(0)
    knots, rates = np.array([[-1.0, 0.3, 2.0]]), np.array([[0.5, 2.0, 1.0]])
    drawn = piecewise_exponential(rng, np.tile(knots, (4000, 1)), np.tile(rates, (4000, 1)))
    grid = np.linspace(-25, 25, 200_001)
    density = np.exp(-(rates * np.abs(grid[:, None] - knots)).sum(axis=1))
    distribution = np.cumsum(density) / density.sum()
    assert kstest(drawn, lambda t: np.interp(t, grid, distribution)).pvalue > 1e-3


@pytest.mark.parametrize(
    "scales",
    [
        LaplaceScales(1.0, np.ones((2, 3)), np.zeros((2, 3)), (3.0, 2.0)),
        NormalScales(1.0, np.ones((2, 3)), (3.0, 2.0)),
    ],
    ids=["laplace", "normal"],
)
def test_shifts_forget_the_strength_that_was_drawn_before_weights_were_scaled(scales):
    """Scaled weights have the posterior without the strength; a shift given an older strength would leave it."""
    w, found = np.random.default_rng(0).standard_normal((2, 3)), []
    for scales.lam in (0.01, 100.0):
        found.append(scales.shift(np.random.default_rng(1), w))
    assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("way", ["columns", "rows", "products"])
def test_normal_draws_have_their_mean_and_covariance(way):
    """From exact draws w; and what they share with w is -OVER, so that none of them stays where it was."""
    rng = np.random.default_rng(0)
    n, d, count = 6, 9, 4000
    A, omega, kappa = rng.standard_normal((n, d)), rng.uniform(0.1, 2, n), rng.standard_normal(n)
    precision = 10.0 ** rng.uniform(-1, 2, d)
    precision[:2] = 1e15  # of weights that are nearly 0
    Q = A.T @ np.diag(omega) @ A + np.diag(precision)
    drawer = getattr(normal_draws, f"by_{way}")
    mean, root = np.linalg.solve(Q, A.T @ kappa), np.linalg.cholesky(Q).T
    present = rng.standard_normal((count, d))
    starts = mean + np.linalg.solve(root, present.T).T
    draws = np.array([drawer(rng, A, omega, kappa, precision, w) for w in starts])
    z = (draws - mean) @ root.T  # standard normal
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(count)
    assert_allclose(np.cov(z.T), np.eye(d), atol=0.1)
    assert_allclose(present.T @ z / count, -normal_draws.OVER * np.eye(d), atol=0.1)


def test_conjugate_gradients_draw_though_the_mean_is_large():
    """With a mean of a million deviations, a tolerance relative to the mean would return the start."""
    rng = np.random.default_rng(0)
    A, kappa = rng.standard_normal((40, 5)), 1e6 * rng.standard_normal(40)
    Q = A.T @ A + np.eye(5)
    mean = np.linalg.solve(Q, A.T @ kappa)
    starts = mean + np.linalg.solve(np.linalg.cholesky(Q).T, rng.standard_normal((5, 2000))).T
    draws = [normal_draws.by_products(rng, A, np.ones(40), kappa, np.ones(5), w) for w in starts]
    z = (np.array(draws) - mean) @ np.linalg.cholesky(Q)
    assert_allclose(np.cov(z.T), np.eye(5), atol=0.15)


@pytest.mark.parametrize(
    "prior",
    [
        LaplaceScales(2.0, np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[0.3, 0.0], [0.0, 0.0]]), None),
        LaplaceScales(2.0, np.ones((2, 2)), np.zeros((2, 2)), (3.0, 2.0)),
        NormalScales(2.0, np.array([[1.0, 0.5], [0.0, 1.0]]), None),
        NormalScales(2.0, np.ones((2, 2)), (3.0, 2.0)),
    ],
    ids=["laplace", "laplace, learned", "normal", "normal, learned"],
)
def test_trajectories_are_leapfrog_steps_along_the_gradient_and_return(prior):
    """Against five steps by finite differences; run backwards, a trajectory ends where it began."""
    rng = np.random.default_rng(0)
    n, weight = 20, rng.integers(1, 3, 20).astype(float)
    A = np.column_stack([rng.standard_normal((n, 2)), np.ones(n)])
    data = SoftmaxData(A, np.eye(3)[rng.integers(0, 3, n)], weight, rng.standard_normal((n, 3)), 2, True)
    moves, V = Trajectories(data, prior), rng.standard_normal((3, 2))
    moves.total, moves.seen = V.copy(), 1
    moves.whiten()
    root = moves.root.reshape(2, 3, 6).swapaxes(0, 1)

    def value(V):
        return SoftmaxChain(data, prior, V, rng).log_likelihood() + prior.log_density(V[:2])

    def slope(V, h=1e-6):
        return np.array([(value(V + h * root[..., a]) - value(V - h * root[..., a])) / (2 * h) for a in range(6)])

    def along(V, momentum, step=0.05):
        for _ in range(5):
            momentum = momentum + 0.5 * step * slope(V)
            V = V + step * root @ momentum
            momentum = momentum + 0.5 * step * slope(V)
        return V, momentum

    def moved(V, momentum, threshold):
        ends, told = np.empty((1, 6)), np.empty((1, 2))
        rule = momentum[None], np.array([5]), np.array([threshold]), 0.05
        _core.trajectories(*moves.posterior, np.asfortranarray(V), *rule, ends, told)
        return ends.reshape(2, 3).T, told[0]

    momentum = rng.standard_normal(6)
    end, last = along(V, momentum)
    found, (log_likelihood, gain) = moved(V, momentum, -np.inf)
    assert_allclose(found, end, rtol=1e-5, atol=1e-7)
    assert_allclose(log_likelihood, SoftmaxChain(data, prior, found, rng).log_likelihood())
    assert_allclose(gain, value(end) - value(V) + (momentum @ momentum - last @ last) / 2, atol=1e-6)
    assert_allclose(moved(found, -last, -np.inf)[0], V, rtol=1e-5, atol=1e-7)
    assert_array_equal(moved(V, momentum, gain + 1e-9)[0], V)


def test_trajectories_that_get_nowhere_are_few():
    """Under a weak prior separable classes have a posterior like a box, in which Gibbs draws get further."""
    X, y = load_wine(return_X_y=True)
    model = SMLR(0.1, standardize=True).fit(X, y)
    known = {"prior": None, "rate": "fixed", "rate_prior": None}
    problem = posterior_problem(model, Given(X, y), **known)
    chain = problem.chain(problem.mode, np.random.default_rng(0))
    assert chain.trajectories.ahead == 50
    for _ in range(300):
        chain.sweep()
    assert chain.trajectories.ahead == 1


def test_diagnostics_equal_those_of_arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    draws = np.zeros((4, 500, 3))
    for t in range(1, 500):
        draws[:, t] = np.array([0.0, 0.5, 0.95]) * draws[:, t - 1] + rng.standard_normal((4, 3))
    draws[0, :, 2] += 1
    draws = np.concatenate([draws, draws.round(1)], axis=2)  # and with equal values
    found = agreement(draws)
    for j in range(6):
        assert_allclose(found.rhat[j], arviz.rhat(draws[:, :, j]), rtol=1e-6)
        assert_allclose(found.bulk[j], arviz.ess(draws[:, :, j], method="bulk"), rtol=0.05)
        assert_allclose(found.tail[j], arviz.ess(draws[:, :, j], method="tail"), rtol=0.1)


# -- against other samplers


CASES = {
    "pima": ("posterior_logistic_pima", 0, lambda: SMLR(3.0), {}),
    "pima, learned": ("posterior_logistic_pima", 1, lambda: SMLR(3.0), {"rate": "learn", "rate_prior": (1, 1)}),
    "horseshoe": ("posterior_horseshoe_pima", 0, lambda: SMLR(3.0), {"prior": "horseshoe", "global_scale": 0.2}),
    "diabetes": ("posterior_lasso_diabetes", 0, lambda: LaplaceRegressor(0.237 * np.sqrt(442)), {}),
    "iris, reference": ("posterior_multinomial_iris", 0, lambda: SMLR(1.0, parametrization="reference"), {}),
    "iris, symmetric": ("posterior_multinomial_iris", 1, lambda: SMLR(1.0), {}),
}


def z_scores(sample, reference):
    """Differences of means and 95 % ends, in units of both Monte Carlo errors."""
    found = {
        "mean": (sample.mean(), sample.monte_carlo_error()),
        "q025": (sample.interval()[0], sample.monte_carlo_error(0.025)),
        "q975": (sample.interval()[1], sample.monte_carlo_error(0.975)),
    }
    scores = []
    for name, (value, error) in found.items():
        expected, other = np.atleast_2d(reference[name]), np.atleast_2d(reference[f"mcse_{name}"])
        expected, other = (each.T if np.ndim(reference[name]) == 2 else each for each in (expected, other))
        rows = len(expected)
        scores.append((value[:rows] - expected) / np.hypot(error[:rows], other))
    return np.concatenate([each.ravel() for each in scores])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["pima", "diabetes"])
def test_quick_cases_agree_with_other_samplers(name, seed):
    check_case(name, seed, draws=2000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_cases_agree_with_other_samplers(name, seed):
    check_case(name, seed, draws=10_000)


def check_case(name, seed, draws):
    folder, place, make, options = CASES[name]
    given, reference = case(folder)
    model = make().fit(given["X"], given["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sample = sample_posterior(model, given["X"], given["y"], draws=draws, random_state=seed, **options)
    found = reference["results"][place]
    scores = np.abs(z_scores(sample, found.get("nuts_long", found["nuts"])["w"]))
    print(name, seed, scores.max().round(2), sample.diagnostics)
    assert scores.max() < 4.5
    assert (scores > 3).mean() <= 0.01


def test_a_normal_prior_has_the_exact_posterior_of_a_linear_model():
    """LaplaceRegressor at lam near 0 is least squares with a known noise: N((X'X)^-1 X'y, noise (X'X)^-1)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X @ [1.0, -1.0, 0.0] + rng.standard_normal(50)
    model = LaplaceRegressor(1e-6, noise=1.0, fit_intercept=False).fit(X, y)
    sample = sample_posterior(model, X, y, draws=4000, random_state=0)
    covariance = np.linalg.inv(X.T @ X)
    assert_allclose(sample.mean()[0], covariance @ X.T @ y, atol=0.01)
    assert_allclose(sample.std()[0], np.sqrt(np.diag(covariance)), rtol=0.05)


IDENTITIES = {
    "two classes, elastic net": (2, SMLR(2.0, l2=3.0, standardize=True)),
    "two classes, factors": (2, SMLR(2.0, penalty_factor=[0.0, 1.0, 2.0], fit_intercept=False)),
    "symmetric": (3, SMLR(3.0, class_weight={0: 1, 1: 2, 2: 1})),
    "reference": (3, SMLR(3.0, parametrization="reference")),
    "ridge": (3, RMLR(2.0, standardize=True)),
    "numbers": (0, LaplaceRegressor(5.0)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if m == 3 else []) for name, (m, _) in IDENTITIES.items()]
)
def test_gradients_of_the_likelihood_average_to_those_of_the_prior(name):
    """The mean of d log p(w, b | y) / dw over the posterior is 0, whatever the sampler; z by means of batches."""
    classes, model = IDENTITIES[name]
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3)) * [1.0, 3.0, 0.5] + 1.0
    weight = rng.integers(1, 3, 60).astype(float)
    offset = rng.standard_normal((60, max(classes, 1)))
    F = X @ (rng.standard_normal((3, max(classes, 1))) / X.std(axis=0)[:, None]) + offset
    y = (F + rng.gumbel(size=F.shape)).argmax(axis=1) if classes else F[:, 0] + rng.standard_normal(60)
    known = {"sample_weight": weight, "offset": offset if classes else offset[:, 0]}
    model.fit(X, y, **known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sample = sample_posterior(model, X, y, draws=2000, max_sweeps=2000, random_state=0, **known)
    middle = 2 if classes and model.class_weight else 1  # the weight of class 1
    gradient = (likelihood_slopes if classes else linear_slopes)(sample, X, y, weight, offset, middle)
    gradient -= prior_slopes(model, sample, X, weight)
    gradient = gradient[:, :, sample.coef.any(axis=(0, 1)).ravel()]  # the reference class has none
    batches = gradient.reshape(-1, 100, gradient.shape[2]).mean(axis=1)
    z = batches.mean(axis=0) / (batches.std(axis=0) / np.sqrt(len(batches)))
    assert np.abs(z).max() < 4.5


def likelihood_slopes(sample, X, y, weight, offset, middle=1):
    """d log p(y | w, b) / dw of every draw, class by class: (chains, draws, rows x columns)."""
    shift = offset[:, 1:] - offset[:, :1] if sample.coef.shape[2] == 1 else offset
    F = np.einsum("cdrj,ij->cdir", sample.coef, X) + sample.intercept[:, :, None] + shift
    F = F if F.shape[3] > 1 else np.concatenate([np.zeros_like(F), F], axis=3)
    s = weight * np.where(y == 1, middle, 1)
    R = ((y[:, None] == np.arange(F.shape[3])) - np.exp(F - np.logaddexp.reduce(F, axis=3)[..., None])) * s[:, None]
    R = R if sample.coef.shape[2] > 1 else R[..., 1:]
    return np.einsum("cdir,ij->cdrj", R, X).reshape(*R.shape[:2], -1)


def linear_slopes(sample, X, y, weight, offset, middle=1):
    """The same for numbers."""
    F = np.einsum("cdj,ij->cdi", sample.coef[:, :, 0], X) + sample.intercept + offset[:, 0]
    return ((y - F) * weight) @ X / sample.noise[..., None]


def prior_slopes(model, sample, X, weight):
    """-d log p(w) / dw of every draw."""
    mean = weight @ X / weight.sum()
    sd = np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    W = sample.coef
    if isinstance(model, LaplaceRegressor):
        return model.lam_ * sd * np.sign(W[:, :, 0]) / np.sqrt(sample.noise)[..., None]
    unit = sd if model.standardize else np.ones(3)
    if isinstance(model, RMLR):
        return (model.lam * unit**2 * W).reshape(*W.shape[:2], -1)
    factor = np.ones(3) if model.penalty_factor is None else np.asarray(model.penalty_factor)
    return (model.lam * factor * unit * np.sign(W) + model.l2 * factor * unit**2 * W).reshape(*W.shape[:2], -1)


# -- the sample


@pytest.fixture(scope="module")
def sampled():
    X, y = two_classes()
    return X, y, sample_posterior(SMLR(1.0).fit(X, y), X, y, random_state=0)


def test_a_sample_has_the_shapes_of_its_model(sampled):
    _, _, sample = sampled
    assert sample.coef.shape == (4, 1000, 1, 3)
    assert sample.interval().shape == (2, 1, 3)
    assert sample.converged
    assert sample.probability_of_sign()[0, 0] > 0.99
    assert sample.probability_above(0.1)[0, 0] > 0.95
    assert len(sample.table()) == 3
    assert "R-hat" in sample.sentence()


def test_predictions_are_averages_over_the_draws(sampled):
    X, _, sample = sampled
    P, ends = sample.predict_proba(X, level=0.9)
    F = np.einsum("cdrj,ij->cdir", sample.coef, X) + sample.intercept[:, :, None]
    exact = (1 / (1 + np.exp(-F[..., 0]))).mean(axis=(0, 1))
    assert_allclose(P[:, 1], exact, atol=0.02)
    assert (ends[0] <= P).all()
    assert (ends[1] >= P).all()
    assert set(sample.predict(X)) <= {0, 1}


def test_seeds_and_jobs(sampled):
    X, y, sample = sampled
    model = SMLR(1.0).fit(X, y)
    for n_jobs in (1, 2):
        again = sample_posterior(model, X, y, random_state=0, n_jobs=n_jobs)
        assert_array_equal(again.coef, sample.coef)
    other = sample_posterior(model, X, y, random_state=1)
    assert not np.array_equal(other.coef, sample.coef)


def test_samples_are_saved(sampled, tmp_path):
    X, _, sample = sampled
    save(sample, tmp_path / "draws.smaller")
    again = load(tmp_path / "draws.smaller")
    assert isinstance(again, PosteriorSample)
    assert_array_equal(again.coef, sample.coef)
    assert_array_equal(again.predict_proba(X), sample.predict_proba(X))
    assert again.sentence() == sample.sentence()
    assert again.n_features_in_ == 3
    assert repr(again) == "<PosteriorSample of SMLR: 4 chains x 1000 draws of 1 x 3 weights>"


def test_samples_go_to_arviz(sampled):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("arviz")
        assert sampled[2].to_arviz().posterior["coef"].shape == (4, 1000, 1, 3)


def test_a_repeated_row_is_a_weight_of_two():
    X, y = two_classes(40)
    weight = np.random.default_rng(0).integers(0, 3, 40)
    model = SMLR(1.0).fit(X, y, weight)
    one = sample_posterior(model, X, y, sample_weight=weight, draws=3000, random_state=0)
    two = sample_posterior(model, X.repeat(weight, 0), y.repeat(weight), draws=3000, random_state=1)
    z = (one.mean() - two.mean()) / np.hypot(one.monte_carlo_error(), two.monte_carlo_error())
    assert np.abs(z).max() < 4


@pytest.mark.parametrize("model", [SMLR(1.0, standardize=True), RMLR(1.0, standardize=True)], ids=["SMLR", "RMLR"])
def test_units_change_only_the_units(model):
    X, y = two_classes()
    scale = np.array([1e6, 1.0, 1e-6])
    plain = sample_posterior(model.fit(X, y), X, y, random_state=0)
    other = sample_posterior(model.fit(X * scale, y), X * scale, y, random_state=0)
    assert_allclose(other.coef * scale, plain.coef, rtol=1e-5, atol=1e-6)


def test_regression_scales_with_its_target():
    X, y = load_diabetes(return_X_y=True)
    plain, other = (
        sample_posterior(LaplaceRegressor(20.0).fit(X, s * y), X, s * y, random_state=0) for s in (1.0, 1e6)
    )
    assert_allclose(other.coef, 1e6 * plain.coef, rtol=1e-5, atol=1.0)
    assert_allclose(other.noise, 1e12 * plain.noise, rtol=1e-6)
    mean, ends = plain.predict(X, level=0.9)
    assert 0.85 < ((ends[0] < y) & (y < ends[1])).mean() < 0.95
    assert_allclose(mean, X @ plain.mean()[0] + plain.intercept.mean(), atol=5)


@pytest.mark.slow
@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
def test_several_classes_and_sparse_columns(parametrization):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    model = SMLR(3.0, parametrization=parametrization).fit(X, y)
    fixed = {"draws": 3000, "chains": 2, "random_state": 0, "max_sweeps": 3000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sample = sample_posterior(model, X, y, **fixed)
        thin = sample_posterior(model, sparse.csr_array(X), y, **fixed)
    assert sample.coef.shape == (2, 3000, 3, 4)
    assert (sample.predict(X) == y).mean() > 0.93
    assert_allclose(thin.predict_proba(X), sample.predict_proba(X), atol=0.05)


def test_more_columns_than_samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    y = (X[:, 0] > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sample = sample_posterior(SMLR(2.0).fit(X, y), X, y, draws=400, chains=2, random_state=0, max_sweeps=400)
    assert sample.mean()[0].argmax() == 0


# -- what is refused, and what is said


def test_improper_posteriors_are_refused_with_the_reason():
    X, y = two_classes()
    with pytest.raises(ValueError, match="no posterior to sample"):
        sample_posterior(SBMLR().fit(X, y), X, y, rate="learn", rate_prior=(0, 0))
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="separate the classes"):
        sample_posterior(SMLR(1.0).fit(X, y), X, y, rate="learn")


def test_a_laplace_approximation_at_an_l1_mode_is_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match="kink"):
        sample_posterior(SMLR(1.0).fit(X, y), X, y, method="laplace")
    with pytest.raises(ValueError, match="not implemented for RMLR"):
        sample_posterior(RMLR(1.0).fit(X, y), X, y, method="laplace")
    with pytest.raises(ValueError, match="leave out prior, rate and method"):
        sample_posterior(TypeIIRegressor().fit(X, y), X, y, method="gibbs")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (LRVM(max_iter=20), TypeError, "LRVM"),
        (SMLR(groups=[0, 0, 1]), ValueError, "groups"),
        (SMLR(penalty_factor=[1, 1, np.inf]), ValueError, "drop them"),
        (TypeIRegressor(), ValueError, "kink"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_models_without_a_posterior_that_can_be_drawn_from_are_refused(model, error, message):
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    with pytest.raises(error, match=message):
        sample_posterior(model, X, y)


@pytest.mark.parametrize(
    "wrapped",
    [
        make_pipeline(StandardScaler(), SMLR(1.0)),
        GridSearchCV(make_pipeline(StandardScaler(), SMLR()), {"smlr__lam": [1.0]}),
    ],
    ids=["pipeline", "search"],
)
def test_the_model_inside_a_pipeline_is_asked_for_and_sampled(wrapped):
    X, y = two_classes()
    with pytest.raises(TypeError, match="give the model inside, and X with the columns that this model gets"):
        sample_posterior(wrapped.fit(X, y), X, y)
    pipeline = getattr(wrapped, "best_estimator_", wrapped)
    inside = sample_posterior(pipeline[-1], pipeline[:-1].transform(X), y, draws=500, random_state=0)
    plain = sample_posterior(SMLR(1.0, standardize=True).fit(X, y), X, y, draws=500, random_state=0)
    assert_allclose(inside.coef, plain.coef * X.std(axis=0), rtol=1e-6, atol=1e-9)


def test_dask_collections_are_refused():
    da = pytest.importorskip("dask.array")
    X, y = two_classes()
    X, y = da.from_array(X, chunks=(40, 3)), da.from_array(y, chunks=40)
    with pytest.raises(ValueError, match="in memory"):
        sample_posterior(SMLR(1.0).fit(X, y), X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "spike"}, "prior must be one of"),
        ({"rate": "guess"}, "rate must be one of"),
        ({"draws": 1}, "draws"),
        ({"prior": "horseshoe", "global_scale": -1.0}, "global_scale"),
        ({"prior": "horseshoe", "rate": "learn"}, "horseshoe always"),
        ({"prior": "horseshoe", "slab": 0.0}, "slab"),
        ({"prior": "horseshoe", "n_relevant": 1, "global_scale": 1.0}, "give one of them"),
        ({"draws": 10.5}, "must be an int"),
        ({"warmup": -1}, "warmup"),
        ({"max_sweeps": 10}, "max_sweeps must be at least draws=1000"),
        ({"n_relevant": 2}, "of the horseshoe"),
        ({"rate_prior": (3, 1)}, "give rate='learn'"),
        ({"rate": "learn", "rate_prior": 3}, "must be two numbers"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, y = two_classes()
    with pytest.raises(ValueError, match=message):
        sample_posterior(SMLR(1.0).fit(X, y), X, y, **options)


def test_bad_questions_to_a_sample_are_refused(sampled):
    X, _, sample = sampled
    for question, message in [
        (lambda: sample.predict_proba(X, level=95), "give 0.95"),
        (lambda: sample.predict(X, level=0.9), "predict_proba takes level"),
        (lambda: sample.probability_above(-1.0), "at least 0"),
        (lambda: sample.predict_proba(X[:, :2]), "X has 2 features"),
        (lambda: sample.predict_proba(np.where(X > 0, X, np.nan)), "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            question()


def test_columns_are_those_of_the_fit():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LaplaceRegressor(20.0).fit(X, y)
    turned = X[X.columns[::-1]]
    with pytest.raises(ValueError, match="same order"):
        sample_posterior(model, turned, y)
    sample = sample_posterior(model, X, y, random_state=0)
    with pytest.raises(ValueError, match="same order"):
        sample.predict(turned)
    with pytest.warns(EmptyModelWarning):
        constant = LaplaceRegressor(20.0).fit(X, 0 * y)
    with pytest.raises(ValueError, match="same value in all samples"):
        sample_posterior(constant, X, 0 * y)


def test_other_rows_have_the_centres_of_the_fit():
    """A kernel basis has a column for each training row; fitted anew, it would have other columns."""
    X, y = two_classes(40)
    model = SMLR(1.0, basis="rbf").fit(X, y)
    sample = sample_posterior(model, X[:30], y[:30], draws=500, random_state=0)
    assert sample.coef.shape[3] == 40
    weight = np.repeat([1.0, 0.0], [30, 10])
    same = sample_posterior(model, X, y, draws=500, random_state=0, sample_weight=weight)
    assert_array_equal(same.coef, sample.coef)


def test_a_prior_that_does_not_scale_with_a_learned_noise_is_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="two modes"):
        sample_posterior(LaplaceRegressor(0.1, standardize=False).fit(X, y), X, y)


def test_poor_chains_say_so():
    X, y = load_wine(return_X_y=True)
    model = SMLR(1.0, standardize=True).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="effective sample size"):
        sample = sample_posterior(model, X, y, draws=50, chains=2, max_sweeps=50, random_state=0)
    assert not sample.converged
    assert "NOT converged" in sample.sentence()


@pytest.mark.parametrize("model", [TypeIIRegressor(), JeffreysRegressor()], ids=["Type II", "Jeffreys"])
def test_models_with_a_covariance_have_the_same_face_with_a_caveat(model):
    X, y = load_diabetes(return_X_y=True)
    sample = sample_posterior(model.fit(X, y), X, y, random_state=0)
    assert "conditional" in sample.sentence()
    kept = model.support_
    assert_allclose(sample.std()[0, kept], np.sqrt(np.diag(model.covariance_)), rtol=0.1)
    mean, ends = sample.predict(X[:20], level=norm.cdf(1) - norm.cdf(-1))
    expected, deviation = model.predict(X[:20], return_std=True)
    assert_allclose(mean, expected, atol=5)
    assert_allclose((ends[1] - ends[0]) / 2, deviation, rtol=0.15)


def labelled(classes, n=150, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = (2 * X[:, :3] @ np.eye(3)[:, :classes] + rng.gumbel(size=(n, classes))).argmax(axis=1)
    return X, y, rng.integers(0, 3, n).astype(float), rng.standard_normal((n, classes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [RVMClassifier("linear"), RVMClassifier("linear", multiclass="ovr"), TypeIIClassifier(), JeffreysClassifier()],
    ids=["softmax", "one against the rest", "Type II", "probit"],
)
def test_classifiers_with_a_covariance_average_their_probabilities(model, classes):
    """The models' own moderated probabilities are approximations of this average, exact for a probit of two classes."""
    X, y, weight, offset = labelled(classes)
    sample = sample_posterior(
        model.fit(X, y, weight, offset), X, y, sample_weight=weight, offset=offset, random_state=0
    )
    assert "conditional" in sample.sentence()
    P = sample.predict_proba(X, offset)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_allclose(P, model.predict_proba(X, offset), atol=0.01 if classes == 2 and "Jeff" in repr(model) else 0.08)
    assert_allclose(sample.mean(), model.coef_, atol=5 * sample.std().max() / np.sqrt(4000))


@pytest.mark.parametrize("classes", [2, 3])
def test_draws_of_type_two_have_the_curvature_of_the_objective(classes):
    """Their covariance is the inverse Hessian of the log-likelihood and the variances, by finite differences."""
    X, y, weight, offset = labelled(classes)
    model = TypeIIClassifier(fit_intercept=False).fit(X, y, weight, offset)
    draws = sample_posterior(model, X, y, sample_weight=weight, offset=offset, draws=20_000, random_state=0).coef[0]
    kept, gamma = model.coef_ != 0, np.atleast_2d(model.gamma_)

    def objective(w):
        W = np.zeros(model.coef_.shape)
        W[kept] = w
        F = X @ W.T + (offset if classes > 2 else offset[:, 1:] - offset[:, :1])
        F = F if classes > 2 else np.column_stack([np.zeros(len(F)), F])
        own = np.take_along_axis(F, y[:, None], axis=1)[:, 0]
        return float(weight @ (np.logaddexp.reduce(F, axis=1) - own) + 0.5 * (w**2 / gamma[kept]).sum())

    w, h = model.coef_[kept], 1e-4
    steps = h * np.eye(len(w))
    hessian = [[objective(w + a + b) - objective(w + a - b) - objective(w - a + b) + objective(w - a - b)
                for a in steps] for b in steps]  # fmt: skip
    expected = np.linalg.inv(np.array(hessian) / (4 * h**2))
    found = np.cov(draws[:, kept].T)
    assert_allclose(found, expected, atol=0.04 * np.diag(expected).max())
    assert (draws[:, ~kept] == 0).all()


def test_several_targets_have_a_column_each():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -2 * y])
    model = RVMRegressor("linear").fit(X, Y)
    sample = sample_posterior(model, X, Y, random_state=0)
    mean, ends = sample.predict(X[:9], level=0.9)
    assert mean.shape == (9, 2)
    assert_allclose(mean, model.predict(X[:9]), atol=20)
    assert ((ends[0] < mean) & (mean < ends[1])).all()


def test_conditional_models_take_no_other_prior():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="leave out prior, rate and method"):
        sample_posterior(TypeIIRegressor().fit(X, y), X, y, prior="horseshoe")


def test_progress_is_told_and_an_interrupt_keeps_what_is_there(monkeypatch):
    X, y = two_classes()
    model, told = SMLR(1.0).fit(X, y), []

    def listener(what):
        told.append(what)
        if sum(each.startswith("sampling") for each in told) == 2:
            raise KeyboardInterrupt

    with listening(listener), pytest.warns(ConvergenceWarning) as warned:
        sample = sample_posterior(model, X, y, random_state=0)
    assert "interrupted" in str(warned[0].message)
    assert "warm-up: 496 sweeps left of each chain" in told
    draws = sample.coef.shape[1]
    assert 8 <= draws <= 24
    assert told[-1] == f"sampling: {draws} of 1000 draws of each chain"
    assert "interrupted" in sample.sentence()
    full = sample_posterior(model, X, y, random_state=0)
    assert_array_equal(full.coef[:, :draws], sample.coef)


def test_forest_and_sets_are_drawn(sampled):
    pytest.importorskip("matplotlib").use("Agg")
    from smaller.inference import CredibleSetsClassifier
    from smaller.plots import ForestDisplay, SetsDisplay

    X, y, sample = sampled
    forest = ForestDisplay.from_sample(sample)
    assert len(forest.lines_) == 1
    assert forest.names[0] == "x0"
    sets = SetsDisplay.from_estimator(CredibleSetsClassifier().fit(X, y))
    assert len(sets.points_) == 1 + len(sets.sets)
    with pytest.raises(ValueError, match="no sets"):
        SetsDisplay.from_estimator(SMLR(1.0).fit(X, y))
