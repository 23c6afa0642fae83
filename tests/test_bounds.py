"""What the bounds promise: formulas that equal integrals, theorems that hold when enumerated, refusals with reasons."""

import itertools
import math
import re
import warnings
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import pytest
from conftest import clusters
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference_cases import case
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smaller import RMLR, SMLR, SMLRCV, bounds
from smaller.basis import Polynomial
from smaller.bounds import gibbs_risk as gibbs
from smaller.bounds import training
from smaller.bounds.admission import admit
from smaller.errors import EmptyModelWarning


def two_classes(n=400, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] - X[:, 1] + rng.normal(size=n) > 0).astype(int)


def fitted(lam=3.0, n=400, p=12, seed=0, **parameters):
    X, y = two_classes(n, p, seed)
    return SMLR(lam, **{"fit_intercept": False, **parameters}).fit(X, y), X, y


DATA = two_classes()


@pytest.fixture(scope="module")
def reference():
    return case("bounds_tables")[1]


# -- divergences


@pytest.mark.parametrize("mean", [0.0, 1e-6, -0.3, 2.0, 40.0])
@pytest.mark.parametrize("rate", [0.05, 1.0, 7.0])
@pytest.mark.parametrize("prior", [0.1, 1.0, 5.0])
def test_the_divergence_of_laplace_densities_is_its_integral(mean, rate, prior):
    def integrand(w):
        log_q = math.log(rate / 2) - rate * abs(w - mean)
        return math.exp(log_q) * (log_q - math.log(prior / 2) + prior * abs(w))

    cuts = sorted({0.0, mean})
    far = 45.0 / rate
    edges = [cuts[0] - far, cuts[0] - far / 8, *cuts, cuts[-1] + far / 8, cuts[-1] + far]
    pieces = [quad(integrand, a, b, epsabs=1e-12, limit=200)[0] for a, b in itertools.pairwise(edges)]
    assert bounds.laplace_kl(mean, rate, prior) == pytest.approx(sum(pieces), abs=1e-8)


def test_the_divergence_of_laplace_densities_agrees_with_the_reference(reference):
    for row in reference["kl_laplace"]:
        found = bounds.laplace_kl(row["mu"], 1 / row["b1"], 1 / row["b2"])
        assert found == pytest.approx(row["closed_form"], abs=1e-12)


@pytest.mark.parametrize("mean", [1e-200, 1e-9, 0.01, 0.7, 5.0, 300.0, 1e7])
@pytest.mark.parametrize("prior", [1e-3, 1.0, 50.0])
def test_the_rates_of_least_divergence_are_minima(mean, prior):
    rate = float(bounds.least_kl_rates(np.array([mean]), prior)[0])
    assert rate == pytest.approx(prior * math.exp(-rate * mean) * (1 + rate * mean), rel=1e-12)
    least = bounds.laplace_kl(mean, rate, prior)
    assert 0 <= least <= prior * mean
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert bounds.laplace_kl(mean, factor * rate, prior) >= least - 1e-14
    other = minimize_scalar(
        lambda x: float(bounds.laplace_kl(mean, math.exp(x), prior)),
        bounds=(math.log(rate) - 5, math.log(prior) + 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert least <= other.fun + 1e-12


def test_a_weight_of_zero_keeps_the_rate_of_the_prior_and_costs_nothing():
    prior = np.array([0.5, 2.0])
    rates = bounds.least_kl_rates(np.zeros(2), prior)
    assert_allclose(rates, prior, rtol=0)
    assert bounds.laplace_kl(0.0, rates, prior).sum() == 0


def test_the_inverse_of_the_binary_divergence_agrees_with_the_reference(reference):
    for row in reference["kl_inverse"]:
        found = bounds.kl_inverse(float(row["q"]), float(row["c"]))
        assert found == pytest.approx(float(row["kl_inverse_upper"]), rel=1e-12)


@given(st.floats(0, 1), st.floats(0, 50))
@settings(max_examples=200, deadline=None)
def test_the_inverse_of_the_binary_divergence_is_the_largest_that_the_budget_allows(q, budget):
    p = bounds.kl_inverse(q, budget)
    assert q <= p <= 1
    rounding = 1e-14 * (1 + budget)
    assert p == 1 or bounds.binary_kl(q, p) >= budget
    below = np.nextafter(p, 0)
    assert below <= q or bounds.binary_kl(q, below) <= budget + rounding


def test_without_errors_the_inverse_has_a_closed_form():
    assert bounds.kl_inverse(0.0, 0.3) == pytest.approx(1 - math.exp(-0.3), rel=1e-14)
    assert bounds.kl_inverse(1.0, 0.3) == 1.0


# -- the Gibbs risk


def tail_in_decimals(mu, a):
    """P(Z > mu) by partial fractions in 150 digits: sum_j exp(-mu/a_j) / (2 prod_i (1 - a_i^2 / a_j^2))."""
    with localcontext() as context:
        context.prec = 150
        a, mu = [Decimal(float(x)) for x in a], Decimal(float(mu))
        total = Decimal(0)
        for x in a:
            product = Decimal(1)
            for other in a:
                product *= 1 if other is x else 1 - (other / x) ** 2
            total += (-mu / x).exp() / product / 2
        return float(total)


@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("d", [1, 2, 3, 10, 30])
def test_the_quadrature_equals_partial_fractions(d, spread):
    """From one weight to many, of like and of unlike sizes, from the centre to the far tail."""
    rng = np.random.default_rng(d)
    a = np.exp(spread * rng.normal(size=d))
    sizes = np.array([1e-9, 1e-3, 0.1, 1.0, 3.0, 8.0, 30.0, 1e4]) * np.sqrt(2 * (a**2).sum())
    expected = [tail_in_decimals(mu, a) for mu in sizes]
    assert_allclose(gibbs.tail(sizes, np.tile(a, (len(sizes), 1))), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e-8, 1.0, 1e100])
def test_the_quadrature_does_not_depend_on_units_and_knows_equal_weights(unit):
    mu = np.array([0.0, 0.01, 1.0, 7.0])
    one, two = np.full((4, 1), unit), np.full((4, 2), unit)
    assert_allclose(gibbs.tail(mu * unit, one), np.exp(-mu) / 2, rtol=0, atol=1e-13)
    assert_allclose(gibbs.tail(mu * unit, two), (2 + mu) / 4 * np.exp(-mu), rtol=0, atol=1e-13)


def test_one_large_and_many_small_weights_are_a_laplace_and_a_normal_variable():
    """Where nothing but the limit is known: the characteristic function is nearly Gaussian far beyond its pole."""
    a = np.r_[1.0, np.full(4000, 2.0 / np.sqrt(2 * 4000))]
    for mu in (0.1, 2.0, 9.0):

        def integrand(z, mu=mu):
            beyond = math.exp(z - mu) / 2 if z < mu else 1 - math.exp(mu - z) / 2
            return math.exp(-(z**2) / 8) / math.sqrt(8 * math.pi) * beyond

        limit = quad(integrand, -24, 24, points=[mu], limit=200)[0]
        assert gibbs.tail(np.array([mu]), a[None])[0] == pytest.approx(limit, abs=2e-5)


@pytest.mark.parametrize("p", [2, 12, 40])
def test_the_exact_gibbs_risk_is_what_drawing_finds(p):
    model, X, y = fitted(p=p)
    exact = bounds.pac_bayes(model, X, y)
    drawn = bounds.pac_bayes(model, X, y, gibbs="monte-carlo", draws=500)
    estimate, total = drawn.gibbs.estimate, 500 * len(y)
    assert abs(estimate - exact.gibbs.risk) < 4 * math.sqrt(estimate * (1 - estimate) / total)
    assert estimate < drawn.gibbs.risk < estimate + 0.01
    assert drawn.bound > exact.bound  # what is not known exactly must be paid for


@pytest.mark.parametrize("p", [10, 40])
def test_from_ten_weights_on_the_normal_approximation_is_close(p):
    """The paper: from d = 10 on they are indistinguishable. Here within 0.01."""
    model, X, y = fitted(p=p)
    exact, normal = (bounds.pac_bayes(model, X, y, gibbs=how).gibbs for how in ("exact", "gaussian"))
    assert abs(exact.risk - normal.risk) < 0.01
    assert exact.certain
    assert not normal.certain


def test_with_a_single_weight_the_normal_approximation_is_not():
    posterior = bounds.LaplacePosterior(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    Phi, codes = np.full((1, 1), 0.2), np.ones(1, dtype=int)
    exact, normal = gibbs.exact(posterior, Phi, codes), gibbs.gaussian(posterior, Phi, codes)
    assert exact.risk == pytest.approx(math.exp(-1) / 2)
    assert abs(normal.risk - exact.risk) > 0.03


def test_dense_and_sparse_rows_have_the_same_risk(monkeypatch):
    X, y = two_classes(n=300, p=15)
    X[np.random.default_rng(1).random(X.shape) < 0.7] = 0.0
    X[:3] = 0.0
    model = SMLR(2.0, fit_intercept=False).fit(X, y)
    dense = bounds.pac_bayes(model, X, y)
    monkeypatch.setattr(gibbs, "ENTRIES", 100)  # many small blocks
    for other in (sparse.csr_array(X), sparse.csc_matrix(X), X.astype(np.float32)):
        found = bounds.pac_bayes(model, other, y)
        assert found.gibbs.risk == pytest.approx(dense.gibbs.risk, abs=1e-6 if other.dtype == np.float32 else 1e-13)


def test_rows_of_zeros_are_decided_as_predict_decides_them():
    """Their score is 0 for all weights, and a score of 0 is the first class."""
    model, X, y = fitted()
    case = admit(model, X, y)
    rates = gibbs.error_rates(case.posterior, np.zeros((2, X.shape[1])), np.array([0, 1]))
    assert rates.tolist() == [0.0, 1.0]
    assert model.predict(np.zeros((1, X.shape[1]))).tolist() == [0]
    drawn = gibbs.monte_carlo(
        case.posterior, np.zeros((2, X.shape[1])), np.array([0, 1]), 5, 0.1, np.random.default_rng(0)
    )
    assert drawn.estimate == 0.5


@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_where_the_model_errs_at_least_half_of_the_weights_drawn_err(m, parametrization):
    """The factor 2, for the model's own predictions and any number of classes: a symmetric difference of scores."""
    X, y = clusters(n=150, p=5, m=m, seed=m, spread=3.0)
    model = SMLR(1.0, fit_intercept=False, parametrization=parametrization).fit(X, y)
    case = admit(model, X, y)
    wrong = np.flatnonzero(model.predict(X) != y)
    assert len(wrong) > 5
    rng, draws = np.random.default_rng(0), 4000
    for i in wrong:
        risk = gibbs.monte_carlo(case.posterior, case.Phi[[i]], case.codes[[i]], draws, 0.5, rng)
        assert risk.estimate > 0.5 - 4 * math.sqrt(0.25 / draws)


@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
def test_drawn_weights_are_those_of_the_posterior(parametrization):
    """The Gibbs risk with several classes, from whole weight matrices drawn in the plainest way."""
    X, y = clusters(n=60, p=4, m=3)
    model = SMLR(1.0, parametrization=parametrization).fit(X, y)
    found = bounds.pac_bayes(model, X, y, intercept_prior=0.5, draws=2000)
    posterior = found.posterior
    rng = np.random.default_rng(5)
    Phi = np.column_stack([X, np.ones(60)])
    errors = []
    for _ in range(3000):
        W = posterior.mean + rng.laplace(size=posterior.mean.shape) / posterior.rate
        F = Phi @ W
        F = np.column_stack([F, np.zeros(60)]) if parametrization == "reference" else F
        errors.append((F.argmax(axis=1) != y).mean())
    assert found.gibbs.estimate == pytest.approx(np.mean(errors), abs=5 * np.std(errors) / math.sqrt(3000))


def test_draws_in_small_portions_are_as_many(monkeypatch):
    model, X, y = fitted(p=5, n=60)
    monkeypatch.setattr(gibbs, "ENTRIES", 100)
    found = bounds.pac_bayes(model, X, y, gibbs="monte-carlo", draws=250)
    assert found.gibbs.method == "Monte Carlo, 15000 draws"
    exact = bounds.pac_bayes(model, X, y).gibbs.risk
    assert found.gibbs.estimate == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 15_000))


def test_the_confidence_term_of_monte_carlo_fails_no_more_often_than_it_says():
    posterior = bounds.LaplacePosterior.nearest(np.ones((3, 1)), np.full((3, 1), 2.0))
    rng = np.random.default_rng(0)
    Phi, codes = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    truth = gibbs.exact(posterior, Phi, codes).risk
    limits = [gibbs.monte_carlo(posterior, Phi, codes, 2, 0.2, rng).risk for _ in range(400)]
    assert np.mean(np.array(limits) < truth) < 0.2


# -- the theorem, by enumeration


def failure_probability(n, delta, limit):
    """P over all samples of n that some posterior over three classifiers breaks the bound; exact, by enumeration.

    Three classifiers err independently of each other with known rates; a sample is, for each, its number of errors.
    """
    rates = np.array([0.1, 0.2, 0.35])
    prior = np.array([0.5, 0.3, 0.2])
    posteriors = [np.array(q) / 4 for q in itertools.product(range(5), repeat=3) if sum(q) == 4] + [prior]
    divergences = [float(sum(a * math.log(a / b) for a, b in zip(q, prior, strict=True) if a)) for q in posteriors]
    chance = [binom.pmf(np.arange(n + 1), n, rate) for rate in rates]
    limit = cache(limit)  # of few values, each of which occurs often
    failing = 0.0
    for counts in itertools.product(range(n + 1), repeat=3):
        observed = np.array(counts) / n
        broken = any(
            q @ rates > limit(round(float(q @ observed), 12), kl, n, delta) * (1 + 1e-12)
            for q, kl in zip(posteriors, divergences, strict=True)
        )
        failing += broken * math.prod(chance[j][k] for j, k in enumerate(counts))
    return failing


def limit_of(form):
    return lambda risk, kl, n, delta: bounds.kl_inverse(risk, bounds.budget(kl, n, delta, form))


def swapped_arguments(risk, kl, n, delta):
    """The misprint: sup { p : kl(p || risk) <= budget }."""
    grid = np.linspace(risk, 1, 400)
    return grid[bounds.binary_kl(grid, risk) <= bounds.budget(kl, n, delta)].max(initial=risk)


def without_logarithm(risk, kl, n, delta):
    return bounds.kl_inverse(risk, kl / n)


@pytest.mark.parametrize("form", training.FORMS)
def test_the_pac_bayes_theorem_holds_for_every_sample_and_posterior(form):
    assert failure_probability(8, 0.2, limit_of(form)) <= 0.2


@pytest.mark.parametrize("planted", [swapped_arguments, without_logarithm])
def test_the_enumeration_finds_planted_errors(planted):
    assert failure_probability(8, 0.2, planted) > 0.2


def test_the_moment_behind_both_forms_is_below_them():
    """E exp(n kl(K/n || p)) = sum_k C(n,k) (k/n)^k (1-k/n)^(n-k), for any p: at most 2 sqrt(n), at most n + 1."""
    for n in [*range(1, 60), 200, 1000]:
        k = np.arange(n + 1)
        moment = binom.pmf(k, n, k / n).sum()
        assert moment <= training.FORMS["maurer"](n) * (1 + 1e-12)
        assert moment <= training.FORMS["langford-seeger"](n) * (1 + 1e-12)
        p = 0.3
        with np.errstate(over="ignore"):
            expected = (binom.pmf(k, n, p) * np.exp(n * bounds.binary_kl(k / n, p))).sum() if n < 200 else moment
        assert expected == pytest.approx(moment, rel=1e-9)


# -- coverage


class Discrete:
    """64 points with their probabilities and label noise: every true error is a finite sum."""

    def __init__(self):
        rng = np.random.default_rng(7)
        self.points = rng.normal(size=(64, 6))
        self.mass = rng.dirichlet(np.ones(64))
        self.positive = np.where(self.points[:, 0] + 0.5 * self.points[:, 1] > 0, 0.9, 0.1)

    def sample(self, n, rng):
        where = rng.choice(64, size=n, p=self.mass)
        return self.points[where], (rng.random(n) < self.positive[where]).astype(int)

    def true_error(self, wrong_if_positive, wrong_if_negative):
        return float(self.mass @ (self.positive * wrong_if_positive + (1 - self.positive) * wrong_if_negative))

    def true_errors(self, model, posterior):
        """Of the model and of the Gibbs classifier."""
        guess = model.predict(self.points)
        drawn = gibbs.error_rates(posterior, self.points, np.ones(64, dtype=int))
        return self.true_error(guess != 1, guess != 0), self.true_error(drawn, 1 - drawn)


def test_over_500_training_sets_the_bounds_hold_as_often_as_promised():
    world, rng, delta, n = Discrete(), np.random.default_rng(0), 0.1, 120
    broken = dict.fromkeys(["gibbs", "pac-bayes", "test set"], 0)
    for _ in range(500):
        X, y = world.sample(n, rng)
        model = SMLR(2.0, fit_intercept=False).fit(X, y)
        found = bounds.pac_bayes(model, X, y, delta)
        error, drawn = world.true_errors(model, found.posterior)
        broken["gibbs"] += drawn > found.gibbs_bound
        broken["pac-bayes"] += error > found.bound
        broken["test set"] += error > bounds.test_set(model, *world.sample(n, rng), delta).bound
    assert max(broken.values()) <= delta * 500, broken
    assert broken["test set"] > 0  # the check can fail: this bound is as tight as one can be


@pytest.mark.slow
def test_over_500_training_sets_the_rademacher_bound_keeps_its_promise():
    """On samples that are large enough for it to say something."""
    world, rng, delta = Discrete(), np.random.default_rng(2), 0.1
    broken, trivial = 0, 0
    for _ in range(500):
        X, y = world.sample(3000, rng)
        model = SMLR(2.0, fit_intercept=False).fit(X, y)
        found = bounds.rademacher(model, X, y, delta)
        guess = model.predict(world.points)
        broken += world.true_error(guess != 1, guess != 0) > found.bound
        trivial += found.trivial
    assert broken <= delta * 500
    assert trivial == 0


@pytest.mark.slow
def test_over_500_training_sets_a_chosen_strength_and_narrower_posteriors_keep_the_promise():
    world, rng, delta, n = Discrete(), np.random.default_rng(1), 0.1, 120
    broken = dict.fromkeys(["sharper", "chosen", "chosen, Gibbs"], 0)
    for _ in range(500):
        X, y = world.sample(n, rng)
        model = SMLR(2.0, fit_intercept=False).fit(X, y)
        sharper = bounds.pac_bayes(model, X, y, delta, rates="least-bound")
        broken["sharper"] += world.true_errors(model, sharper.posterior)[1] > sharper.gibbs_bound
        chosen = bounds.choose(SMLR(fit_intercept=False), X, y, [0.5, 2.0, 8.0, 32.0], delta)
        error, drawn = world.true_errors(chosen.model, chosen.best.posterior)
        broken["chosen"] += error > chosen.bound
        broken["chosen, Gibbs"] += drawn > chosen.best.gibbs_bound
    assert max(broken.values()) <= delta * 500, broken


def test_the_test_set_bound_fails_with_probability_delta_and_no_more():
    """Exact for every true error, by enumeration; and not below what is needed: at a limit it fails with delta."""
    n, delta = 30, 0.1
    limits = np.array([_limit(k, n, delta) for k in range(n + 1)])
    for p in np.linspace(0.001, 0.999, 199):
        assert binom.pmf(np.arange(n + 1), n, p)[limits < p].sum() <= delta * (1 + 1e-9)
    for k in (0, 3, 17):
        assert binom.cdf(k, n, limits[k]) == pytest.approx(delta, rel=1e-9)
    assert limits[0] == pytest.approx(1 - delta ** (1 / n))
    assert limits[n] == 1.0


class Constant(BaseEstimator):
    """Predicts 0; labels of 1 are its errors."""

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def _limit(errors, n, delta):
    return bounds.test_set(Constant(), np.zeros((n, 1)), np.arange(n) < errors, delta).bound


# -- the parts together


def test_the_bound_is_its_formula():
    model, X, y = fitted()
    found = bounds.pac_bayes(model, X, y, 0.02, form="langford-seeger")
    w, n = model.coef_[0], len(y)
    kl = bounds.laplace_kl(w, bounds.least_kl_rates(w, 3.0), 3.0).sum()
    assert found.kl == pytest.approx(kl, rel=1e-12)
    assert found.kl <= 3.0 * np.abs(w).sum()
    budget = bounds.binary_kl(found.gibbs.risk, found.gibbs_bound)
    assert budget == pytest.approx((kl + math.log((n + 1) / 0.02)) / n, rel=1e-9)
    assert found.bound == min(1.0, 2 * found.gibbs_bound)
    assert float(found) == found.bound
    assert bounds.pac_bayes(model, X, y, 0.02).bound < found.bound  # Maurer's form is the tighter one


def test_what_monte_carlo_spends_of_delta_the_theorem_does_not_have():
    model, X, y = fitted()
    found = bounds.pac_bayes(model, X, y, 0.05, gibbs="monte-carlo", draws=20)
    assert found.gibbs.spent == pytest.approx(0.005)
    draws = 20 * len(y)
    assert found.gibbs.risk == pytest.approx(bounds.kl_inverse(found.gibbs.estimate, math.log(1 / 0.005) / draws))
    left = bounds.budget(found.kl, len(y), 0.045)
    assert found.gibbs_bound == pytest.approx(bounds.kl_inverse(found.gibbs.risk, left), rel=1e-9)


def test_the_rademacher_bound_is_its_formula():
    model, X, y = fitted(n=2000)
    found = bounds.rademacher(model, X, y, 0.1, margin=0.5, g0=0.5, ratio=1.5)
    posterior, n = admit(model, X, y).posterior, 2000
    votes = 1 - 2 * gibbs.error_rates(posterior, X, y)  # y E sign(w.x)
    g = 1.5 * max(posterior.kl, 0.5)
    terms = np.clip(1 - votes / 0.5, 0, 1).mean(), 2 / 0.5 * math.sqrt(2 * g / n)
    last = math.sqrt((math.log(math.log(1.5 * g / 0.5, 1.5)) + 0.5 * math.log(10)) / n)
    assert (found.margin_loss, found.complexity, found.confidence) == pytest.approx((*terms, last))
    assert found.bound == pytest.approx(min(1.0, sum(terms) + last))


def test_more_samples_make_all_bounds_better():
    found = []
    for n in (200, 2000, 20_000):
        model, X, y = fitted(lam=4.0, n=n, p=5)
        found.append([bounds.pac_bayes(model, X, y).bound, bounds.rademacher(model, X, y).bound])
    assert np.all(np.diff(found, axis=0) <= 0)
    assert found[-1][0] < 0.6


def test_narrower_posteriors_can_only_better_the_bound():
    model, X, y = fitted(lam=2.0, n=1000)
    plain, sharper = (bounds.pac_bayes(model, X, y, rates=rates) for rates in ("least-kl", "least-bound"))
    assert sharper.bound < plain.bound
    assert sharper.kl > plain.kl
    X, y = clusters(n=400, m=3)
    model = SMLR(1.0, fit_intercept=False).fit(X, y)
    drawn = bounds.pac_bayes(model, X, y, rates="least-bound", draws=20)
    tries = len(training.SHARPER) * (1 if model.coef_.all() else 2)
    assert drawn.gibbs.spent * tries == pytest.approx(0.1 * 0.05)  # each that might be tried pays


def test_a_declared_prior_on_the_intercept_is_one_more_weight():
    """The same as a column of ones, whose weight has that prior."""
    X, y = two_classes()
    model = SMLR(2.0).fit(X, y + (X[:, 0] > 1))  # three classes, unequal
    with_prior = bounds.pac_bayes(model, X, y + (X[:, 0] > 1), intercept_prior=0.5)
    assert with_prior.posterior.mean.shape == (13, 3)
    model = SMLR(2.0).fit(X, y)
    found = bounds.pac_bayes(model, X, y, intercept_prior=0.5)
    ones = SMLR(2.0, fit_intercept=False, penalty_factor=np.r_[np.ones(12), 0.25])
    ones.fit(np.column_stack([X, np.ones(len(X))]), y)
    ones.coef_ = np.column_stack([model.coef_, model.intercept_])
    same = bounds.pac_bayes(ones, np.column_stack([X, np.ones(len(X))]), y)
    assert (found.bound, found.kl) == pytest.approx((same.bound, same.kl), rel=1e-12)


def test_penalty_factors_are_rates_of_the_prior():
    X, y = two_classes()
    factor = np.linspace(0.5, 2, 12)
    model = SMLR(2.0, fit_intercept=False, penalty_factor=factor).fit(X, y)
    found = bounds.pac_bayes(model, X, y)
    assert_allclose(found.posterior.prior[:, 0], 2.0 * factor)
    # The prior measures weights in units of the columns: scaling a column by its factor is the same model.
    same = SMLR(2.0, fit_intercept=False, tol=1e-10).fit(X / factor, y)
    assert bounds.pac_bayes(same, X / factor, y).bound == pytest.approx(found.bound, abs=1e-3)


def test_products_of_inputs_are_columns_fixed_in_advance():
    X, y = two_classes(p=4)
    model = SMLR(2.0, basis="quadratic", fit_intercept=False).fit(X, y)
    Phi = Polynomial(2).fit(X, np.ones(len(X))).transform(X)
    same = SMLR(2.0, fit_intercept=False).fit(Phi, y)
    assert bounds.pac_bayes(model, X, y).bound == pytest.approx(bounds.pac_bayes(same, Phi, y).bound, abs=1e-9)


def test_any_sample_will_do_if_it_is_independent_of_the_prior():
    model, _, _ = fitted()
    other = two_classes(n=1000, seed=1)
    found = bounds.pac_bayes(model, *other)
    assert found.n == 1000
    assert found.bound < 1


def test_labels_may_have_names_and_weights_may_be_sparse():
    model, X, y = fitted()
    named = SMLR(3.0, fit_intercept=False).fit(X, np.array(["no", "yes"])[y])
    expected = bounds.pac_bayes(model, X, y).bound
    assert bounds.pac_bayes(named, X, np.array(["no", "yes"])[y]).bound == expected
    assert bounds.pac_bayes(model.sparsify(), X, y).bound == expected


def test_an_empty_model_is_a_coin_and_its_bound_says_nothing():
    X, y = two_classes()
    with pytest.warns(EmptyModelWarning):
        model = SMLR(1e4, fit_intercept=False).fit(X, y)
    found = bounds.pac_bayes(model, X, y)
    assert (found.kl, found.gibbs.risk) == (0.0, 0.5)
    assert found.trivial
    assert "(no information: every error rate is at most 1; Gibbs" in found.sentence


# -- choosing a strength


def test_choosing_pays_for_its_grid_and_takes_the_least_bound():
    X, y = two_classes(n=1500)
    lams = [64.0, 1.0, 8.0, 1e5]
    found = bounds.choose(SMLR(fit_intercept=False), X, y, lams, delta=0.08)
    single = [
        bounds.pac_bayes(_quiet(SMLR(lam, fit_intercept=False), X, y), X, y, 0.08 / 4).gibbs_bound
        for lam in sorted(lams)
    ]
    assert_allclose([result.gibbs_bound for result in found.results], single, rtol=1e-12)
    assert found.lam == sorted(lams)[int(np.argmin(single))] == found.model.lam
    assert found.bound == found.best.bound
    assert (found.delta, found.best.delta) == (0.08, 0.02)
    assert "the least of 4 bounds" in str(found)
    assert found.bound > bounds.pac_bayes(found.model, X, y, 0.08).bound


def _quiet(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        return model.fit(X, y)


def test_the_default_grid_is_fixed_and_the_model_given_stays_as_it_is():
    X, y = two_classes(n=150, p=3)
    model = SMLR(fit_intercept=False)
    found = bounds.choose(model, X, y)
    assert_allclose(found.lams, bounds.GRID)
    assert not hasattr(model, "coef_")
    assert model.lam == 1.0


@pytest.mark.parametrize("lams", [20, 1.0, [], [0.0, 1.0], [1.0, np.inf]])
def test_a_grid_that_data_would_make_or_that_is_none_is_refused(lams):
    X, y = two_classes(n=50)
    with pytest.raises(ValueError, match="lams must be"):
        bounds.choose(SMLR(fit_intercept=False), X, y, lams)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SMLRCV(), "pass an SMLR in place of SMLRCV"),
        (make_pipeline(SMLR()), "steps before its model"),
        (RMLR(), "normal"),
    ],
    ids=["SMLRCV", "pipeline", "RMLR"],
)
def test_only_a_plain_model_has_its_strength_chosen(model, reason):
    with pytest.raises(ValueError, match=reason):
        bounds.choose(model, *DATA, [1.0])


# -- what is said


def test_a_bound_prints_as_a_sentence_with_its_assumptions():
    model, X, y = fitted(lam=4.0, n=11_467, p=5)
    found = bounds.pac_bayes(model, X, y)
    numbers = f"Gibbs {found.gibbs_bound:.3g} doubled; KL {found.kl:.3g} nats; n 11 467"
    assert found.sentence == (
        f"With probability ≥ 0.95 over training sets, true error ≤ {found.bound:.3g} ({numbers})."
    )
    text = str(found)
    assert text.startswith(found.sentence)
    assert "drawn independently" in text
    assert "a Laplace density of rate lam=4 on each of 5 weights" in text
    approximate = bounds.pac_bayes(model, X, y, gibbs="gaussian")
    assert approximate.sentence.startswith("Approximately, and without guarantee: with probability")
    assert "margin=1" in str(bounds.rademacher(model, X, y))
    held_out = bounds.test_set(model, *two_classes(n=50, p=5, seed=2))
    assert f"{held_out.errors} errors in 50 held-out samples" in held_out.sentence
    assert "over test sets" in held_out.sentence
    assert "no part in fitting" in str(held_out)


# -- refusals


def _refused(model, X=None, y=None, **options):
    if X is None:
        X, y = two_classes()
    with pytest.raises(ValueError, match=r"\w") as error:
        bounds.pac_bayes(model, X, y, **options)
    if not options:
        with pytest.raises(ValueError, match=re.escape(str(error.value))):
            bounds.rademacher(model, X, y)
    return str(error.value)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: SMLR(basis="rbf", fit_intercept=False), "columns may depend on the training set"),
        (lambda: SMLR(basis="poly", fit_intercept=False), "columns may depend on the training set"),
        (lambda: SMLR(), "an intercept without a prior, whose divergence is infinite"),
        (lambda: SMLR(standardize=True, fit_intercept=False), "the training set's standard deviations"),
        (lambda: SMLR(class_weight="balanced", fit_intercept=False), "minimises a weighted error"),
        (lambda: SMLR(penalty_factor=np.r_[0, np.ones(11)], fit_intercept=False), "penalty_factor 0"),
        (lambda: SMLR(lam=0, fit_intercept=False), "lam=0"),
        (lambda: SMLRCV(lams=5, cv=3, fit_intercept=False), "chose the strength of its prior on the training set"),
        (lambda: GridSearchCV(SMLR(), {"lam": [1, 2]}, cv=2), "tuned its model on the training set"),
        (lambda: make_pipeline(StandardScaler(), SMLR()), "steps before its model"),
        (lambda: RMLR(), "normal prior"),
        (lambda: LogisticRegression(), "for a fitted SMLR"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_breaks_a_bound_is_refused_with_its_reason(model, reason):
    assert reason in _refused(model().fit(*DATA))


def test_a_sample_standardised_by_itself_is_refused():
    X, y = two_classes()
    X = X * 3 + 5
    for scaled in (StandardScaler().fit_transform(X), (X - X.mean(0)) / X.std(0, ddof=1)):
        model = SMLR(fit_intercept=False).fit(scaled, y)
        assert "standardised by it" in _refused(model, scaled, y)
    elsewhere = StandardScaler().fit(two_classes(seed=9)[0] * 3 + 5).transform(X)
    bounds.pac_bayes(SMLR(fit_intercept=False).fit(elsewhere, y), elsewhere, y)
    codes = np.sign(two_classes(n=8, p=3)[0])
    codes[4:] = -codes[:4]
    labels = np.arange(8) % 2
    bounds.pac_bayes(_quiet(SMLR(0.1, fit_intercept=False), codes, labels), codes, labels)


def test_a_prior_declared_in_advance_makes_up_for_one_that_was_tuned():
    """The theorem holds for all posteriors at once: only the prior must not depend on the sample."""
    X, y = two_classes()
    tuned = SMLRCV(lams=5, cv=3, fit_intercept=False).fit(X, y)
    found = bounds.pac_bayes(tuned, X, y, prior=2.0)
    plain = SMLR(tuned.lam_, fit_intercept=False).fit(X, y)
    assert found.bound == pytest.approx(bounds.pac_bayes(plain, X, y, prior=2.0).bound, abs=1e-4)
    assert "rate 2 on each of 12 weights" in str(found)
    assert "between" not in _refused(tuned, X, y, prior=-1.0)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"form": "catoni"}, "form must be one of"),
        ({"gibbs": "exactly"}, "gibbs must be one of"),
        ({"rates": "best"}, "rates must be one of"),
        ({"prior": np.inf}, "prior must be a positive number"),
        ({"intercept_prior": 1.0}, "has no intercept"),
        ({"gibbs": "monte-carlo", "draws": 0}, "draws must be at least 1"),
    ],
)
def test_options_out_of_range_are_refused(options, reason):
    model, X, y = fitted()
    assert reason in _refused(model, X, y, **options)


@pytest.mark.parametrize("how", ["exact", "gaussian"])
def test_quadrature_is_for_two_classes(how):
    X, y = clusters(m=3)
    model = SMLR(fit_intercept=False).fit(X, y)
    assert "is for two classes, and the model has 3" in _refused(model, X, y, gibbs=how)
    with pytest.raises(ValueError, match="use pac_bayes"):
        bounds.rademacher(model, X, y)


def test_samples_that_do_not_fit_the_model_are_refused():
    model, X, y = fitted()
    assert "labels that are not classes of the model" in _refused(model, X, y + 1)
    assert "same samples" in _refused(model, X[:-1], y)
    assert "features" in _refused(model, X[:, 1:], y)
    with pytest.raises(ValueError, match="ratio above 1"):
        bounds.rademacher(model, X, y, ratio=1.0)


@pytest.mark.parametrize("model", [SMLR(), SMLR(standardize=True), RMLR(), SMLRCV(lams=5, cv=3)], ids=str)
def test_the_training_sample_is_not_a_test_set(model):
    X, y = two_classes()
    model = model.fit(X, y)
    with pytest.raises(ValueError, match="fitted on this very sample"):
        bounds.test_set(model, X, y)
    bounds.test_set(model, *two_classes(seed=1))
    bounds.test_set(model, X[:5], np.zeros(5))
