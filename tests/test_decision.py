"""What must hold of decisions: they are those that enumeration finds, they compose, and wrong input is refused."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import clusters
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.stats import binom, chi2, kstest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from smaller import SMLR
from smaller.decision import (
    CostSensitive,
    PriorShift,
    Rejecting,
    adapt,
    decide,
    estimate_priors,
    expected_cost,
    incurred_cost,
    reject,
    risk_coverage,
    shift_priors,
    shift_test,
    threshold_for_error,
    threshold_for_rate,
)
from smaller.errors import ConvergenceWarning, RejectionWarning

SIZES = range(2, 11)


def problem(K, n=60, seed=0, coarse=False):
    """Random probabilities, labels drawn from them, weights; coarse ones have many ties."""
    rng = np.random.default_rng([seed, K])
    P = rng.dirichlet(np.ones(K), size=n)
    if coarse:  # multiples of 1/8, which are exact
        P = rng.multinomial(8, np.ones(K) / K, size=n) / 8
    y = np.array([rng.choice(K, p=row) for row in P])
    return P, y, rng.integers(0, 4, size=n).astype(float)


def draw(n, priors, rng, distance=1.5):
    """Normal classes of unit variance with centres on the axes: true posteriors are known for any priors."""
    K = len(priors)
    y = rng.choice(K, size=n, p=priors)
    return distance * np.eye(K)[y] + rng.normal(size=(n, K)), y


def posterior(X, priors, distance=1.5):
    F = distance * X + np.log(priors)
    P = np.exp(F - F.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


# Costs


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("coarse", [False, True])
def test_decisions_are_those_of_least_cost_among_all(K, coarse):
    """Every decision, and rejection last, is priced one by one; the first of the cheapest is taken."""
    P, _, _ = problem(K, coarse=coarse)
    rng = np.random.default_rng(K)
    cost = rng.integers(0, 9, size=(K, K)) * 1.0
    reject_cost = rng.integers(0, 5, size=K) / 2
    for row, found in zip(P, decide(P, cost=cost, reject_cost=reject_cost), strict=True):
        price = [sum(row[k] * cost[k, j] for k in range(K)) for j in range(K)]
        price.append(sum(row[k] * reject_cost[k] for k in range(K)))
        assert found == (min(range(K + 1), key=price.__getitem__) + 1) % (K + 1) - 1


@pytest.mark.parametrize("K", SIZES)
def test_expected_costs_are_sums_over_true_classes(K):
    P, _, _ = problem(K)
    cost = np.random.default_rng(K).random((K, K))
    assert_allclose(expected_cost(P, cost), P @ cost, rtol=1e-13)
    assert_allclose(expected_cost(P), 1 - P, atol=1e-15)


@pytest.mark.parametrize("K", SIZES)
def test_no_rule_at_all_has_a_lower_expected_cost(K):
    """Of all assignments of decisions to a few samples, enumerated, none is cheaper in total."""
    P, _, _ = problem(K, n=3)
    cost = np.random.default_rng(K).random((K, K))
    R = P @ cost
    least = min(sum(R[i, j] for i, j in enumerate(rule)) for rule in itertools.product(range(K), repeat=3))
    assert R[np.arange(3), decide(P, cost=cost)].sum() == pytest.approx(least, rel=1e-12)


def test_a_constant_reject_cost_is_chows_threshold():
    """With costs 0 and 1, rejection at cost d is the threshold 1 - d (Chow 1970)."""
    P, _, _ = problem(4, coarse=True)
    assert_array_equal(decide(P, reject_cost=0.375), decide(P, threshold=0.625))
    assert_array_equal(decide(P, threshold=0.625) == -1, reject(P, 0.625))


def test_ties_go_to_the_first_class_and_to_a_class_before_rejection():
    P = [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
    assert decide(P).tolist() == [0, 2]
    assert decide(P, reject_cost=0.5).tolist() == [0, 2]
    assert decide(P, threshold=0.5).tolist() == [0, 2]
    assert decide(P, threshold=np.nextafter(0.5, 1)).tolist() == [-1, -1]
    assert not reject(P, 0.5).any()


def test_a_decision_does_not_depend_on_the_samples_around_it():
    P, _, _ = problem(7, n=200)
    cost = np.random.default_rng(0).random((7, 7))
    alone = np.vstack([expected_cost(row[None], cost) for row in P])
    assert_array_equal(alone, expected_cost(P, cost))


def test_costs_and_priors_may_be_named():
    P, classes = [[0.7, 0.2, 0.1]], ["a", "b", "c"]
    cost = 1 - np.eye(3)
    cost[1, 0] = 9
    assert_array_equal(expected_cost(P, {("b", "a"): 9}, classes=classes), expected_cost(P, cost))
    by_name = shift_priors(P, {"c": 0.5, "a": 0.2, "b": 0.3}, {"a": 0.1, "b": 0.1, "c": 0.8}, classes=classes)
    assert_array_equal(by_name, shift_priors(P, [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]))


@pytest.mark.parametrize("K", [2, 3, 10])
def test_incurred_costs_are_counted_one_by_one(K):
    P, y, weight = problem(K)
    rng = np.random.default_rng(K)
    cost, reject_cost = rng.random((K, K)), rng.random(K) / 4
    decisions = decide(P, cost=cost, reject_cost=reject_cost)
    assert (decisions == -1).any()
    total = sum(w * (reject_cost[k] if j == -1 else cost[k, j]) for k, j, w in zip(y, decisions, weight, strict=True))
    options = {"classes": range(K), "cost": cost, "reject_cost": reject_cost}
    assert incurred_cost(y, decisions, **options, sample_weight=weight) == pytest.approx(total / weight.sum())
    with pytest.raises(ValueError, match="were rejected; give reject_cost"):
        incurred_cost(y, decisions, classes=range(K))


# Rejection


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("coarse", [False, True])
def test_the_risk_coverage_curve_is_what_counting_gives(K, coarse):
    P, y, weight = problem(K, coarse=coarse)
    found = risk_coverage(P, y, sample_weight=weight)
    wrong, confidence = P.argmax(axis=1) != y, P.max(axis=1)
    assert_array_equal(found.threshold, np.unique(confidence[weight > 0])[::-1])
    for threshold, coverage, risk in zip(found.threshold, found.coverage, found.risk, strict=True):
        accepted = weight * (confidence >= threshold)
        assert coverage == pytest.approx(accepted.sum() / weight.sum())
        assert risk == pytest.approx((accepted * wrong).sum() / accepted.sum())
    assert found.coverage[-1] == pytest.approx(1)
    assert found.area == pytest.approx(np.sum(found.risk * np.diff(found.coverage, prepend=0)))


def test_the_risk_with_costs_is_the_mean_cost_of_the_accepted():
    P, y, _ = problem(3)
    cost = np.random.default_rng(0).random((3, 3))
    found = risk_coverage(P, y, cost=cost)
    assert found.risk[-1] == pytest.approx(incurred_cost(y, decide(P, cost=cost), classes=range(3), cost=cost))
    keep = np.argsort(expected_cost(P, cost).min(axis=1))[:20]
    kept_cost = incurred_cost(y[keep], decide(P[keep], cost=cost), classes=range(3), cost=cost)
    assert found.risk[19] == pytest.approx(kept_cost)


@settings(deadline=None, max_examples=60)
@given(K=st.integers(2, 10), seed=st.integers(0, 999), rate=st.floats(0, 1), coarse=st.booleans())
def test_a_rate_is_never_exceeded_and_no_higher_threshold_keeps_to_it(K, seed, rate, coarse):
    P, _, weight = problem(K, 40, seed, coarse)
    found = threshold_for_rate(P, rate, sample_weight=weight)
    confidence = P.max(axis=1)

    def rejected(threshold):
        return weight[confidence < threshold].sum() / weight.sum()

    assert rejected(found.value) <= rate + 1e-8
    assert found.coverage == pytest.approx(1 - rejected(found.value))
    higher = [c for c in confidence if c > found.value and weight[confidence == c].any()]
    assert all(rejected(c) > rate - 1e-8 or rejected(c) == rejected(found.value) for c in higher)


@settings(deadline=None, max_examples=60)
@given(K=st.integers(2, 10), seed=st.integers(0, 999), error=st.floats(0, 1), coarse=st.booleans())
@pytest.mark.filterwarnings("ignore::smaller.errors.RejectionWarning")
def test_an_error_is_kept_to_with_the_most_accepted(K, seed, error, coarse):
    """Every threshold is tried."""
    P, y, weight = problem(K, 40, seed, coarse)
    found = threshold_for_error(P, y, error, sample_weight=weight)
    confidence, wrong = P.max(axis=1), P.argmax(axis=1) != y
    best = 0.0
    for threshold in confidence:
        accepted = weight * (confidence >= threshold)
        if accepted.any() and (accepted * wrong).sum() <= (error + 1e-9) * accepted.sum():
            best = max(best, accepted.sum() / weight.sum())
    assert found.coverage == pytest.approx(best)
    assert weight[confidence >= found.value].sum() / weight.sum() == pytest.approx(best)


def test_extreme_targets_accept_everything_or_nothing():
    P, y, _ = problem(3)
    assert threshold_for_rate(P, 0).value == -np.inf
    assert threshold_for_rate(P, 1).value == np.inf
    assert threshold_for_error(P, y, 1).value == -np.inf
    with pytest.warns(RejectionWarning, match=r"keeps the error of accepted samples to 0: the least found is 1, so"):
        assert threshold_for_error([[0.9, 0.1]], [1], 0).value == np.inf


def test_twenty_nine_of_a_hundred_are_not_more_than_a_fraction_of_029():
    P = np.column_stack([np.linspace(0.5, 1, 100), np.linspace(0.5, 0, 100)])
    assert threshold_for_rate(P, 0.29).coverage == pytest.approx(0.71)


def test_the_limit_of_a_guaranteed_error_is_that_of_clopper_and_pearson():
    """The error rate at which so few errors are as improbable as allowed, here by root finding on the binomial."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 500)
    P, y = np.column_stack([p, 1 - p]), (rng.random(500) > p).astype(int)
    found = threshold_for_error(P, y, 0.2, guarantee=0.9)
    n, wrong = round(found.coverage * 500), round(found.coverage * 500 * found.error)
    limit = brentq(lambda e: binom.cdf(wrong, n, e) - 0.1 / 4, 1e-9, 1 - 1e-9)
    assert found.bound == pytest.approx(limit)
    assert found.bound <= 0.2
    assert found.coverage < threshold_for_error(P, y, 0.2).coverage
    assert (p >= found.value).sum() == n


@pytest.mark.filterwarnings("ignore::smaller.errors.RejectionWarning")  # small samples may allow no guarantee at all
def test_a_guaranteed_error_is_exceeded_no_more_often_than_promised_and_a_point_estimate_is():
    """Calibrated confidences, uniform on [1/2, 1]: the true error above a threshold c is (1 - c) / 2."""
    rng = np.random.default_rng(1)
    exceeded, accepted = {None: 0, 0.8: 0}, 0
    for _ in range(200):
        p = rng.uniform(0.5, 1, 150)
        P, y = np.column_stack([p, 1 - p]), (rng.random(150) > p).astype(int)
        for guarantee in exceeded:
            value = threshold_for_error(P, y, 0.1, guarantee=guarantee).value
            exceeded[guarantee] += value < 1 and (1 - max(value, 0.5)) / 2 > 0.1
        accepted += (p >= value).mean() / 200
    assert exceeded[0.8] <= 200 * 0.2
    assert exceeded[None] > 200 * 0.2
    assert accepted > 0.05  # of 0.4 that could be, if the distribution were known


@pytest.mark.parametrize("guarantee", [0.5, 0.95])
def test_a_guarantee_counts_weights_as_repetitions(guarantee):
    P, y, _ = problem(2, n=200)
    twice = threshold_for_error(np.repeat(P, 2, axis=0), np.repeat(y, 2), 0.35, guarantee=guarantee)
    assert threshold_for_error(P, y, 0.35, guarantee=guarantee, sample_weight=np.full(200, 2.0)) == twice


# Priors


@pytest.mark.parametrize("K", SIZES)
def test_shifted_probabilities_are_those_of_bayes_at_the_new_priors(K):
    rng = np.random.default_rng(K)
    old, new = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K))
    X, _ = draw(50, old, rng)
    assert_allclose(shift_priors(posterior(X, old), new, old), posterior(X, new), rtol=1e-9)


def test_unchanged_priors_change_nothing_and_a_shift_can_be_undone():
    P, _, _ = problem(4)
    old, new = [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1]
    assert_array_equal(shift_priors(P, old, old), P)
    assert_allclose(shift_priors(shift_priors(P, new, old), old, new), P, rtol=1e-12)


def test_columns_may_stand_in_any_order():
    """With their classes, costs and priors in the same order, the decisions are the same."""
    P, y, _ = problem(4)
    order = np.array([2, 0, 3, 1])
    names = np.array(["a", "b", "c", "d"])
    cost = np.random.default_rng(0).random((4, 4))
    found = decide(P[:, order], cost=cost[np.ix_(order, order)], reject_cost=0.3, classes=names[order])
    assert_array_equal(found, decide(P, cost=cost, reject_cost=0.3, classes=names))
    curves = risk_coverage(P[:, order], names[y], classes=names[order]), risk_coverage(P, names[y], classes=names)
    assert_array_equal(curves[0].risk, curves[1].risk)
    bill = {"cost": cost, "reject_cost": 0.3}
    turned = {"cost": cost[np.ix_(order, order)], "reject_cost": 0.3}
    assert incurred_cost(names[y], found, classes=names[order], **turned) == pytest.approx(
        incurred_cost(names[y], found, classes=names, **bill)
    )
    training = np.array([0.1, 0.2, 0.3, 0.4])
    assert_allclose(
        estimate_priors(P[:, order], training[order]).priors, estimate_priors(P, training).priors[order], atol=1e-6
    )


def test_a_prior_of_zero_rules_a_class_out():
    found = shift_priors([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]], [0.5, 0.5, 0], [0.3, 0.3, 0.4])
    assert_allclose(found, [[0.4, 0.6, 0.0], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize("algorithm", ["newton", "em"])
@pytest.mark.parametrize("K", SIZES)
def test_estimated_priors_meet_the_optimality_conditions(K, algorithm):
    """mean_i (P_ik / t_k) / sum_j o_j P_ij / t_j is at most 1, and 1 where o_k > 0."""
    rng = np.random.default_rng(K)
    training, actual = np.full(K, 1 / K), rng.dirichlet(np.ones(K))
    P = posterior(draw(400, actual, rng)[0], training)
    found = estimate_priors(P, training, algorithm=algorithm)
    Q = P / training
    g = (Q / (Q @ found.priors)[:, None]).mean(axis=0)
    assert found.converged
    assert found.priors.sum() == pytest.approx(1, abs=1e-12)
    assert (g <= 1 + 1e-8 + 1e-12).all()
    # Slackness in total; a prior of EM may still be on its way to 0.
    assert found.priors @ np.abs(g - 1) < 1e-4
    assert found.gap == pytest.approx(max(g.max() - 1, 0), abs=1e-12)
    assert found.log_likelihood_ratio == pytest.approx(np.log(Q @ found.priors).sum())


@pytest.mark.parametrize("K", SIZES)
def test_no_priors_of_a_fine_grid_are_more_likely(K):
    rng = np.random.default_rng(K)
    training = np.full(K, 1 / K)
    P = posterior(draw(100, rng.dirichlet(np.ones(K) / 2), rng)[0], training)
    found = estimate_priors(P, training)
    others = np.vstack([rng.dirichlet(np.ones(K) / 3, 3000), rng.dirichlet(1 + 300 * found.priors, 3000)])
    assert np.log(P / training @ others.T).sum(axis=0).max() <= found.log_likelihood_ratio + 1e-9


def test_em_follows_the_paper_and_its_likelihood_never_falls():
    """Cawley et al. 2006, eq. (6), written down once more."""
    rng = np.random.default_rng(0)
    training = np.array([0.5, 0.3, 0.2])
    P = posterior(draw(200, [0.1, 0.1, 0.8], rng)[0], training)
    priors, last = training, 0.0
    for n_iter in range(1, 6):
        corrected = P * priors / training
        corrected /= corrected.sum(axis=1, keepdims=True)
        priors = corrected.mean(axis=0)
        with pytest.warns(ConvergenceWarning, match=f"after {n_iter} iterations"):
            found = estimate_priors(P, training, algorithm="em", max_iter=n_iter)
        assert_allclose(found.priors, priors, rtol=1e-12)
        assert found.log_likelihood_ratio >= last
        last = found.log_likelihood_ratio


def test_newton_reaches_absent_classes_where_em_crawls():
    """At an absent class the likelihood is flat but not quite: EM approaches 0 no faster than 1 / iterations."""
    rng = np.random.default_rng(3)
    training = np.array([0.4, 0.4, 0.2])
    X, _ = draw(2000, [0.5, 0.5, 0.0], rng, 0.3)
    P = posterior(X, training, 0.3)
    newton = estimate_priors(P, training, tol=1e-10)
    assert newton.converged
    assert newton.n_iter < 20
    assert (newton.priors == 0).sum() >= 1
    with pytest.warns(ConvergenceWarning, match="algorithm='newton'"):
        em = estimate_priors(P, training, tol=1e-10, max_iter=300, algorithm="em")
    assert 0 <= newton.log_likelihood_ratio - em.log_likelihood_ratio <= 2000 * em.gap


def test_both_algorithms_find_the_same_priors_and_weights_are_repetitions():
    P, _, weight = problem(4, n=300)
    training = [0.1, 0.2, 0.3, 0.4]
    newton = estimate_priors(P, training, sample_weight=weight, tol=1e-12)
    em = estimate_priors(P, training, sample_weight=weight, tol=1e-12, algorithm="em")
    again = estimate_priors(np.repeat(P, weight.astype(int), axis=0), training, tol=1e-12)
    assert_allclose(newton.priors, em.priors, atol=1e-6)
    assert_allclose(newton.priors, again.priors, atol=1e-6)
    assert newton.log_likelihood_ratio == pytest.approx(again.log_likelihood_ratio)


def test_pseudo_counts_are_samples_of_known_class_and_leave_no_class_absent():
    rng = np.random.default_rng(0)
    training = np.array([0.4, 0.4, 0.2])
    P = posterior(draw(300, [0.5, 0.5, 0.0], rng)[0], training)
    found = estimate_priors(P, training, pseudo_count=0.5)
    by_hand = estimate_priors(np.vstack([P, np.eye(3)]), training, sample_weight=[1.0] * 300 + [0.5] * 3)
    assert_allclose(found.priors, by_hand.priors, atol=1e-9)
    assert (found.priors > 0.5 / 302).all()
    assert found.log_likelihood_ratio == pytest.approx(np.log(P / training @ found.priors).sum())
    model = PriorShift(FrozenEstimator(GaussianNB().fit(*draw(900, [1 / 3] * 3, rng))), training_priors="uniform")
    X_new, y_new = draw(300, [0.5, 0.5, 0.0], rng)
    model.fit(X_new, y_new).adapt(X_new)
    assert (model.predict_proba(X_new)[:, 2] == 0).all()
    smooth = clone(model).set_params(pseudo_count=1.0).fit(X_new, y_new).adapt(X_new)
    assert (smooth.priors_ > 1 / 303).all()
    assert smooth.shift_.statistic == model.shift_.statistic


def test_a_classifier_that_knows_nothing_leaves_the_priors_alone():
    found = estimate_priors(np.tile([0.3, 0.7], (50, 1)), [0.3, 0.7])
    assert_array_equal(found.priors, [0.3, 0.7])
    assert found.n_iter == 0


@pytest.mark.parametrize("P", [[[0.2, 0.8]], [[1.0, 0.0]], np.float32([[0.25, 0.75]])])
def test_one_sample_is_of_its_likeliest_class(P):
    found = estimate_priors(P, [0.5, 0.5])
    assert_allclose(found.priors, np.eye(2)[np.argmax(P)], atol=1e-8)


def test_samples_of_certain_class_are_counted():
    P = np.eye(3)[[0, 0, 0, 1, 1, 2]]
    assert_allclose(estimate_priors(P, [0.2, 0.2, 0.6]).priors, [3 / 6, 2 / 6, 1 / 6], atol=1e-8)


def test_without_a_shift_the_statistic_is_chi_square_distributed():
    """True posteriors, 300 samples of 300: Kolmogorov and Smirnov see no difference; a shift is seen."""
    rng = np.random.default_rng(0)
    training = np.array([0.5, 0.3, 0.2])
    found = [shift_test(posterior(draw(300, training, rng)[0], training), training) for _ in range(300)]
    assert all(test.dof == 2 for test in found)
    statistics = np.array([test.statistic for test in found])
    assert_allclose([test.p_value for test in found], chi2.sf(statistics, 2))
    assert kstest(statistics, chi2(2).cdf).pvalue > 0.01
    assert shift_test(posterior(draw(300, [0.2, 0.3, 0.5], rng)[0], training), training).p_value < 1e-6


# Input


P3 = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
BAD_P = {
    "a vector": ([0.2, 0.8], r"column_stack\(\[1 - p, p\]\)"),
    "one column": ([[1.0], [1.0]], "at least one row and two columns"),
    "no rows": (np.empty((0, 3)), "at least one row"),
    "three axes": (np.ones((1, 2, 2)) / 2, "must be a matrix of class probabilities"),
    "NaN": ([[0.5, 0.5], [np.nan, 0.5]], "Row 1 of P contains NaN or infinity"),
    "infinity": ([[np.inf, 0.5]], "contains NaN or infinity"),
    "negative": ([[1.5, -0.5]], "Row 0 of P has a negative value"),
    "scores": ([[0.5, 0.5], [2.0, 1.0], [3.0, 1.0]], r"Row 1 of P does not sum to 1 \(and 1 more rows\)"),
    "text": ([["a", "b"]], "must be an array of numbers"),
}
FUNCTIONS = {
    "expected_cost": expected_cost,
    "decide": decide,
    "reject": lambda P: reject(P, 0.5),
    "risk_coverage": lambda P: risk_coverage(P, [0]),
    "threshold_for_rate": lambda P: threshold_for_rate(P, 0.5),
    "threshold_for_error": lambda P: threshold_for_error(P, [0], 0.5),
    "shift_priors": lambda P: shift_priors(P, [0.5, 0.5], [0.5, 0.5]),
    "estimate_priors": lambda P: estimate_priors(P, [0.5, 0.5]),
    "shift_test": lambda P: shift_test(P, [0.5, 0.5]),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bad", BAD_P)
def test_what_are_no_probabilities_is_refused_by_every_function(function, bad):
    P, message = BAD_P[bad]
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[function](P)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": np.ones((2, 2))}, r"cost must have shape \(3, 3\), a row for each true class.*got shape \(2, 2\)"),
        ({"cost": np.ones(3)}, r"got shape \(3,\)"),
        ({"cost": np.full((3, 3), np.nan)}, "cost contains NaN or infinity"),
        ({"cost": np.full((3, 3), np.inf)}, "large but finite"),
        ({"cost": -np.eye(3)}, "cost must not be negative; the least is -1"),
        ({"cost": {(0, 7): 1}}, r"cost names classes that are not known: \[7\]; the classes are \[0, 1, 2\]"),
        ({"cost": {0: 1}}, r"pairs \(true class, decision\); got 0"),
        ({"cost": {(0, 1): -1}}, "cost must not be negative"),
        ({"reject_cost": -0.5}, "reject_cost must not be negative"),
        ({"reject_cost": np.nan}, "reject_cost contains NaN"),
        ({"reject_cost": [1, 2]}, r"reject_cost must be a number, or one for each of the 3 classes; got shape \(2,\)"),
        ({"reject_cost": {0: 1, 1: 1}}, r"reject_cost must have a value for every class; it lacks \[2\]"),
        ({"threshold": np.nan}, "threshold must be a number"),
        ({"threshold": [0.5, 0.6]}, "threshold must be a number"),
        ({"classes": ["a", "b"]}, "classes must name the 3 columns"),
        ({"classes": ["a", "b", "b"]}, "each column of P differently"),
        ({"reject_label": 1, "threshold": 0.5}, "reject_label=1 is a class"),
        ({"reject_label": [1, 2], "threshold": 0.5}, "must be a single label"),
        (
            {"classes": ["go", "stay", "reject"], "threshold": 0.5},
            "needs classes that are all numbers",
        ),
    ],
)
def test_wrong_costs_and_labels_are_refused_with_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        decide(P3, **options)


@pytest.mark.parametrize(
    ("priors", "training", "message"),
    [
        ([0.5, 0.5], [1 / 3] * 3, r"priors must have one value for each of the 3 classes; got shape \(2,\)"),
        ([0.5, 0.4, 0.2], [1 / 3] * 3, r"priors must sum to 1; .* sums to 1.1"),
        ([1.5, -0.5, 0], [1 / 3] * 3, "priors must be finite and not negative"),
        ([np.nan, 0.5, 0.5], [1 / 3] * 3, "priors must be finite"),
        ({0: 0.5, 1: 0.5, "x": 0}, [1 / 3] * 3, r"priors names classes that are not known: \['x'\]"),
        ({0: 0.5, 1: 0.5}, [1 / 3] * 3, r"it lacks \[2\]"),
        ([1 / 3] * 3, [0.5, 0.5, 0], r"training_priors must be positive, but is 0 for the class \[2\]"),
        ([1 / 3] * 3, [1, 0, 0], r"for the classes \[1, 2\]"),
    ],
)
def test_wrong_priors_are_refused_with_a_sentence(priors, training, message):
    with pytest.raises(ValueError, match=message):
        shift_priors(P3, priors, training)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reject(P3, 1.5), "threshold must be a fraction between 0 and 1; got 1.5"),
        (lambda: threshold_for_rate(P3, -0.1), "rate must be a fraction"),
        (lambda: threshold_for_rate(P3, np.nan), "rate must be a fraction"),
        (lambda: threshold_for_error(P3, [0, 1], [0.1, 0.2]), "error must be a fraction"),
        (lambda: threshold_for_error(P3, [0, 1], 0.1, guarantee=1), "guarantee must be a fraction"),
        (lambda: threshold_for_error(P3, [0, 5], 0.1), r"not among the classes: \[5\]; the classes are \[0, 1, 2\]"),
        (lambda: risk_coverage(P3, [0, 1, 1]), "P has 2 rows but y has 3 labels"),
        (lambda: risk_coverage(P3, ["a", "d"], classes=["a", "b", "c"]), r"not among the classes: \['d'\]"),
        (lambda: risk_coverage(P3, [0, 1], sample_weight=[0, 0]), "sample_weight is 0 for every sample"),
        (lambda: estimate_priors(P3, [1 / 3] * 3, pseudo_count=-1), "pseudo_count must be a finite number"),
        (lambda: estimate_priors(P3, [1 / 3] * 3, algorithm="magic"), "algorithm must be one of 'newton', 'em'"),
        (lambda: incurred_cost([0, 1], [0], classes=[0, 1]), "must describe the same samples"),
        (lambda: incurred_cost([0, 1], [0, 9], classes=[0, 1]), r"not among the classes: \[9\]"),
    ],
)
def test_wrong_targets_and_labels_are_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_single_precision_is_taken_and_decides_as_its_values_do():
    P, y, _ = problem(5)
    single = P.astype(np.float32)
    single /= single.sum(axis=1, keepdims=True)
    assert_array_equal(decide(single), decide(single.astype(float)))
    assert_array_equal(decide(single, reject_cost=0.5), decide(single.astype(float), reject_cost=0.5))
    assert risk_coverage(single, y).area == pytest.approx(risk_coverage(P, y).area)
    assert_allclose(shift_priors(single, [0.2] * 5, [0.1, 0.3, 0.1, 0.3, 0.2]).sum(axis=1), 1)


LABELS = {
    "int": (np.array([0, 1, 2]), -1, "i"),
    "int8": (np.array([3, 5, 7], np.int8), -1, "i"),
    "unsigned": (np.array([0, 1, 2], np.uint8), -1, "i"),
    "negative": (np.array([-1, 0, 1]), -2, "i"),
    "float": (np.array([0.5, 1.0, 2.0]), -1.0, "f"),
    "negative float": (np.array([-0.5, 1.0, 2.0]), -2.0, "f"),
    "str": (np.array(["a", "b", "c"]), "reject", "U"),
    "object": (np.array(["a", "b", "c"], dtype=object), "reject", "O"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_the_reject_label_suits_the_classes(kind):
    classes, label, dtype = LABELS[kind]
    found = decide(P3, threshold=0.55, classes=classes)
    assert found.tolist() == [label, classes[2]]
    assert found.dtype.kind == dtype


@pytest.mark.parametrize(("label", "kind"), [(99, "i"), (np.nan, "f"), ("?", "O"), (None, "O")])
def test_any_label_may_stand_for_rejection(label, kind):
    found = decide(P3, threshold=0.55, reject_label=label)
    assert found.dtype.kind == kind
    assert found[0] is label or found[0] == label or np.isnan(found[0])
    assert found[1] == 2


def test_of_two_boolean_classes_the_third_answer_is_minus_one():
    found = decide([[0.5, 0.5], [0.1, 0.9]], threshold=0.8, classes=[False, True])
    assert found.tolist() == [-1, 1]


# Meta-estimators


CLASSIFIERS = [
    SMLR(),
    LogisticRegression(),
    GaussianNB(),
    KNeighborsClassifier(3),
    DecisionTreeClassifier(max_depth=2, random_state=0),
    RandomForestClassifier(10, random_state=0),
    make_pipeline(StandardScaler(), SMLR()),
    CalibratedClassifierCV(RidgeClassifier(), cv=3),
    GridSearchCV(SMLR(), {"lam": [0.5, 2.0]}, cv=3),
]
NAMES = np.array(["ant", "bee", "cat"])


def kind(model):
    return type(model).__name__


@pytest.fixture
def data():
    X, y = clusters(n=150)
    return X, NAMES[y]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=kind)
def test_wrappers_decide_as_the_functions_do_on_the_probabilities_of_any_classifier(classifier, data):
    X, y = data
    P = clone(classifier).fit(X, y).predict_proba(X)
    training = np.unique(y, return_counts=True)[1] / len(y)
    new, cost = np.array([0.6, 0.3, 0.1]), np.array([[0, 1, 4], [2, 0, 1], [9, 1, 0.0]])
    Q = shift_priors(P, new, training)
    shift = PriorShift(clone(classifier), priors=new).fit(X, y)
    assert_array_equal(shift.predict_proba(X), Q)
    assert_array_equal(shift.predict(X), NAMES[Q.argmax(axis=1)])
    priced = CostSensitive(clone(classifier), cost=cost, reject_cost=0.5).fit(X, y)
    assert_array_equal(priced.predict(X), decide(P, cost=cost, reject_cost=0.5, classes=NAMES))
    assert_array_equal(priced.predict_proba(X), P)
    wary = Rejecting(clone(classifier), threshold=0.6).fit(X, y)
    assert_array_equal(wary.predict(X), decide(P, threshold=0.6, classes=NAMES))
    every = Rejecting(CostSensitive(PriorShift(classifier, priors=new), cost=cost), threshold=0.4).fit(X, y)
    assert_array_equal(every.predict(X), decide(Q, cost=cost, threshold=0.4, classes=NAMES))
    assert_array_equal(every.accepts(X), every.predict(X) != "reject")
    assert_array_equal(every.predict_proba(X), Q)
    with np.errstate(divide="ignore"):
        assert_array_equal(every.predict_log_proba(X), np.log(Q))
    assert_array_equal(every.classes_, NAMES)


@pytest.mark.parametrize("m", [2, 3])
def test_a_threshold_by_rate_is_that_of_cross_validated_probabilities(m):
    X, y = clusters(m=m)
    folds = StratifiedKFold(4)
    model = Rejecting(SMLR(), rate=0.2, cv=folds).fit(X, y)
    P = cross_val_predict(SMLR(), X, y, cv=folds, method="predict_proba")
    by_hand = threshold_for_rate(P, 0.2)
    assert model.threshold_ == pytest.approx(by_hand.value, abs=1e-12)
    assert model.coverage_ == by_hand.coverage
    expected = risk_coverage(P, y)
    assert_allclose(model.curve_.risk, expected.risk)
    assert model.curve_.area == pytest.approx(expected.area)
    by_error = Rejecting(SMLR(), error=0.2, cv=folds).fit(X, y)
    assert by_error.threshold_ == pytest.approx(threshold_for_error(P, y, 0.2).value, abs=1e-12)
    assert by_error.error_ <= 0.2


def test_without_an_aim_nothing_is_rejected_and_the_curve_is_there_to_choose_from(data):
    X, y = data
    model, none = Rejecting(SMLR()).fit(X, y), Rejecting(SMLR(), rate=0.0).fit(X, y)
    assert model.accepts(X).all()
    assert (model.coverage_, model.threshold_) == (1.0, -np.inf)
    assert_array_equal(model.curve_.risk, none.curve_.risk)
    aim = model.curve_.threshold[np.searchsorted(model.curve_.coverage, 0.8, side="right") - 1]
    assert Rejecting(SMLR(), rate=0.2).fit(X, y).threshold_ == pytest.approx(aim, abs=1e-12)


def test_a_frozen_classifier_is_not_fitted_again_and_its_threshold_uses_all_samples(data):
    X, y = data
    fitted = SMLR().fit(X[:60], y[:60])
    before = fitted.coef_.copy()
    model = Rejecting(FrozenEstimator(fitted), error=0.3, guarantee=0.9).fit(X[60:], y[60:])
    by_hand = threshold_for_error(fitted.predict_proba(X[60:]), y[60:], 0.3, guarantee=0.9, classes=fitted.classes_)
    assert (model.threshold_, model.coverage_, model.error_, model.bound_) == by_hand
    assert_array_equal(fitted.coef_, before)
    nested = Rejecting(CostSensitive(FrozenEstimator(fitted)), error=0.3, guarantee=0.9).fit(X[60:], y[60:])
    assert nested.threshold_ == pytest.approx(model.threshold_)
    assert nested.coverage_ == model.coverage_


def test_rejected_inside_is_rejected_outside_under_one_label(data):
    X, y = data
    inner = CostSensitive(SMLR(), reject_cost=0.4, reject_label="ask").fit(X, y)
    aside = ~inner.accepts(X)
    assert 0 < aside.sum() < len(y)
    model = Rejecting(inner, threshold=0.65).fit(X, y)
    assert set(model.predict(X)) <= {*NAMES, "reject"}
    assert (model.predict(X)[aside] == "reject").all()
    assert model.accepts(X).sum() < (~aside).sum()
    rate = Rejecting(FrozenEstimator(inner), rate=0.0).fit(X, y)
    assert rate.coverage_ == pytest.approx((~aside).mean())
    assert_array_equal(rate.accepts(X), ~aside)


def test_adapting_estimates_the_priors_of_operation_and_tests_the_shift():
    rng = np.random.default_rng(0)
    X, y = draw(1500, [1 / 3] * 3, rng)
    X_new, y_new = draw(4000, [0.85, 0.1, 0.05], rng)
    model = PriorShift(SMLR()).fit(X, y)
    raw = model.score(X_new, y_new)
    P = model.predict_proba(X_new)
    assert model.adapt(X_new) is model
    training = np.bincount(y) / len(y)
    assert_array_equal(model.priors_, estimate_priors(P, training).priors)
    assert_allclose(model.priors_, [0.85, 0.1, 0.05], atol=0.03)
    assert model.shift_.p_value < 1e-9
    assert model.score(X_new, y_new) > raw + 0.05
    assert model.estimate_.converged
    assert_array_equal(model.adapt(X_new).priors_, model.estimate_.priors)  # a second time starts anew


def test_a_shift_that_is_not_significant_is_left_alone_if_so_asked():
    rng = np.random.default_rng(0)
    X, y = draw(1000, [0.5, 0.5], rng)
    calm = PriorShift(SMLR(), significance=0.01).fit(X, y)
    P = calm.predict_proba(X)
    same, _ = draw(500, [0.5, 0.5], rng)
    assert calm.adapt(same).shift_.p_value > 0.01
    assert_array_equal(calm.predict_proba(X), P)
    other, _ = draw(500, [0.9, 0.1], rng)
    assert calm.adapt(other).shift_.p_value < 0.01
    assert_array_equal(calm.priors_, calm.estimate_.priors)


def test_a_rate_is_met_after_the_priors_have_shifted():
    """The held-out samples are weighted to the new priors: the fraction rejected in operation is the one asked for."""
    rng = np.random.default_rng(0)
    X, y = draw(3000, [0.5, 0.5], rng)
    X_new, y_new = draw(20000, [0.95, 0.05], rng)
    model = Rejecting(CostSensitive(PriorShift(LogisticRegression())), rate=0.2, cv=3).fit(X, y)
    before = model.threshold_
    assert (~model.accepts(X)).mean() == pytest.approx(0.2, abs=0.02)
    assert model.adapt(X_new) is model
    assert model.threshold_ != before
    assert (~model.accepts(X_new)).mean() == pytest.approx(0.2, abs=0.02)
    accepted = model.accepts(X_new)
    assert (model.predict(X_new)[accepted] != y_new[accepted]).mean() == pytest.approx(model.error_, abs=0.01)
    given = Rejecting(CostSensitive(PriorShift(LogisticRegression(), priors=[0.95, 0.05])), rate=0.2, cv=3).fit(X, y)
    assert (~given.accepts(X_new)).mean() == pytest.approx(0.2, abs=0.02)


def test_adapt_finds_the_shift_through_pipelines():
    rng = np.random.default_rng(0)
    X, y = draw(500, [0.5, 0.5], rng)
    X_new, _ = draw(500, [0.9, 0.1], rng)
    chain = Rejecting(CostSensitive(PriorShift(SMLR()), cost=[[0, 1], [3, 0]]), threshold=0.3)
    piped = make_pipeline(StandardScaler(), chain).fit(100 * X, y)
    assert adapt(piped, 100 * X_new) is piped
    scaler = StandardScaler().fit(X)
    by_hand = clone(chain).fit(scaler.transform(X), y).adapt(scaler.transform(X_new))
    assert_allclose(piped.predict_proba(100 * X_new), by_hand.predict_proba(scaler.transform(X_new)), atol=1e-9)
    inside = CostSensitive(PriorShift(make_pipeline(StandardScaler(), SMLR()))).fit(100 * X, y).adapt(100 * X_new)
    assert_allclose(inside.predict_proba(100 * X_new), piped.predict_proba(100 * X_new), atol=1e-9)
    only = make_pipeline(PriorShift(SMLR())).fit(X, y)
    assert adapt(only, X_new)[-1].shift_ is not None


def test_sample_weights_count_in_the_training_priors(data):
    X, y = data
    weight = np.where(y == "cat", 2.0, 1.0)
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    model = PriorShift(SMLR(tol=1e-10), priors=[0.2, 0.3, 0.5]).fit(X, y, sample_weight=weight)
    again = PriorShift(SMLR(tol=1e-10), priors=[0.2, 0.3, 0.5]).fit(X[repeated], y[repeated])
    assert_allclose(model.training_priors_, again.training_priors_)
    assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-6)


def test_weights_are_routed_to_every_level_and_to_the_folds(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    plain = Rejecting(PriorShift(SMLR()), rate=0.2, cv=KFold(3)).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), SMLR())
        classifier[-1].set_fit_request(sample_weight=True)
        shift = PriorShift(classifier).set_fit_request(sample_weight=True)
        model = Rejecting(shift, rate=0.2, cv=KFold(3)).set_fit_request(sample_weight=True)
        routed = model.fit(X, y, sample_weight=weight)
        outer = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clone(model))
        outer.fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"Pipeline.fit takes no sample_weight.*enable metadata routing"):
        Rejecting(make_pipeline(StandardScaler(), SMLR()), threshold=0.5).fit(X, y, sample_weight=weight)
    assert_allclose(routed.estimator_.training_priors_, plain.estimator_.training_priors_)
    assert_allclose(outer[-1].held_out_.weight, plain.held_out_.weight)
    by_hand = [SMLR().fit(X[a], y[a], sample_weight=weight[a]).predict_proba(X[b]) for a, b in KFold(3).split(X)]
    assert_allclose(plain.held_out_.P, np.vstack(by_hand), atol=1e-12)


def test_offsets_are_routed_to_the_classifier(data):
    X, y = data
    offset = np.random.default_rng(0).normal(size=(len(y), 3))
    with sklearn.config_context(enable_metadata_routing=True):
        model = Rejecting(CostSensitive(SMLR().set_fit_request(offset=True)), rate=0.1, cv=3).fit(X, y, offset=offset)
    direct = SMLR().fit(X, y, offset=offset)
    assert_allclose(model.predict_proba(X), direct.predict_proba(X), atol=1e-12)


COMPOSED = Rejecting(
    CostSensitive(PriorShift(SMLR(), priors={"ant": 0.2, "bee": 0.2, "cat": 0.6}), cost={("ant", "cat"): 5}),
    rate=0.1,
    cv=3,
)


def test_clones_and_pickles_decide_the_same(data):
    X, y = data
    model = clone(COMPOSED).fit(X, y)
    again = clone(model)
    assert not hasattr(again, "estimator_")
    assert_array_equal(again.fit(X, y).predict(X), model.predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert again.get_params()["estimator__estimator__estimator__lam"] == 1.0


def test_compositions_live_in_pipelines_searches_and_cross_validation(data):
    X, y = data
    piped = make_pipeline(StandardScaler(), COMPOSED).fit(X, y)
    assert set(piped.predict(X)) <= {*NAMES, "reject"}
    grid = {"rejecting__estimator__estimator__estimator__lam": [0.5, 2.0], "rejecting__rate": [0.1, 0.3]}
    search = GridSearchCV(piped, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(piped, X, y, cv=3)).all()


def test_a_rejected_sample_counts_as_not_right_in_the_score(data):
    X, y = data
    model = Rejecting(SMLR(), threshold=0.6).fit(X, y)
    accepted = model.accepts(X)
    right = accuracy_score(y[accepted], model.predict(X)[accepted], normalize=False)
    assert model.score(X, y) == pytest.approx(right / len(y))


def test_names_of_columns_and_their_number_are_passed_on(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    model = CostSensitive(PriorShift(SMLR())).fit(frame, y)
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == X.shape[1]
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_a_class_that_a_fold_lacks_is_improbable_there_and_no_error():
    X, y = clusters(n=60)
    y[:] = np.where(np.arange(60) < 20, 0, np.where(np.arange(60) < 40, 1, 2))
    model = Rejecting(SMLR(), rate=0.5, cv=KFold(3)).fit(X, y)
    assert (model.held_out_.P[np.arange(60), y] == 0).all()
    assert model.error_ == 1.0


def test_a_failed_fit_leaves_the_last_one_untouched(data):
    X, y = data
    model = CostSensitive(SMLR()).fit(X, y)
    before, attributes = model.predict(X), set(vars(model))
    model.set_params(cost=np.ones((2, 2)))
    with pytest.raises(ValueError, match="cost must have shape"):
        model.fit(X[:, :2], y)
    assert set(vars(model)) == attributes
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CostSensitive(Perceptron()), "Perceptron has no predict_proba.*CalibratedClassifierCV"),
        (PriorShift(CostSensitive(SMLR())), r"PriorShift cannot be around CostSensitive: .* order shift, cost, reject"),
        (CostSensitive(Rejecting(SMLR(), threshold=0.5)), "CostSensitive cannot be around Rejecting"),
        (PriorShift(PriorShift(SMLR())), "PriorShift cannot be around PriorShift"),
        (
            Rejecting(make_pipeline(StandardScaler(), CostSensitive(SMLR())), threshold=0.5),
            "Rejecting cannot use the CostSensitive inside a Pipeline; put the Pipeline innermost",
        ),
        (
            CostSensitive(GridSearchCV(PriorShift(SMLR()), {"estimator__lam": [1.0]})),
            "CostSensitive cannot use the PriorShift inside a GridSearchCV",
        ),
        (Rejecting(SMLR(), rate=0.1, error=0.1), "takes one of threshold, rate and error"),
        (Rejecting(SMLR(), rate=0.1, guarantee=0.9), "guarantee is the probability with which error is kept"),
        (Rejecting(SMLR(), threshold=1.5), "would reject every sample"),
        (Rejecting(SMLR(), threshold=np.nan), "threshold must be a number"),
        (Rejecting(SMLR(), rate=2), "'rate' parameter of Rejecting must be a float in the range"),
        (
            Rejecting(PriorShift(SMLR(), priors=[0.1, 0.1, 0.8]), error=0.1, guarantee=0.9),
            "A guarantee holds at the priors of the held-out samples",
        ),
        (CostSensitive(SMLR(), cost=np.eye(2)), r"cost must have shape \(3, 3\)"),
        (CostSensitive(SMLR(), cost={("ant", "dog"): 3}), r"not known: \['dog'\]; the classes are \['ant'"),
        (CostSensitive(SMLR(), reject_cost=0.5, reject_label="ant"), "reject_label='ant' is a class"),
        (PriorShift(SMLR(), priors=[0.5, 0.5]), "priors must have one value for each of the 3 classes"),
        (PriorShift(SMLR(), priors={"ant": 1.0}), r"it lacks \['bee', 'cat'\]"),
        (PriorShift(SMLR(), training_priors=[0.5, 0.5, 0.0]), r"is 0 for the class \['cat'\]"),
        (PriorShift(SMLR(class_weight="balanced")), r"class_weight='balanced'.*\"uniform\" for \"balanced\""),
        (PriorShift(make_pipeline(StandardScaler(), SMLR(class_weight={"ant": 2}))), "smlr__class_weight"),
    ],
)
def test_wrong_wrapping_is_refused_with_a_sentence(model, message, data):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


def test_the_priors_of_a_frozen_classifier_must_be_told(data):
    X, y = data
    frozen = FrozenEstimator(SMLR(class_weight="balanced").fit(X, y))
    with pytest.raises(ValueError, match=r"The estimator is frozen.*give training_priors"):
        PriorShift(frozen).fit(X, y)
    model = PriorShift(frozen, training_priors="uniform", priors=[0.2, 0.2, 0.6]).fit(X, y)
    assert_allclose(model.predict_proba(X), shift_priors(frozen.predict_proba(X), [0.2, 0.2, 0.6], [1 / 3] * 3))


def test_adapt_is_refused_where_it_means_nothing(data):
    X, y = data
    with pytest.raises(ValueError, match="There is no PriorShift around SMLR"):
        Rejecting(SMLR(), threshold=0.5).fit(X, y).adapt(X)
    with pytest.raises(ValueError, match="There is no PriorShift around SMLR"):
        adapt(make_pipeline(StandardScaler(), SMLR()).fit(X, y), X)
    with pytest.raises(ValueError, match="has the parameter priors"):
        PriorShift(SMLR(), priors=[0.2, 0.2, 0.6]).fit(X, y).adapt(X)
    model = Rejecting(PriorShift(SMLR()), error=0.5, guarantee=0.9).fit(X, y)
    with pytest.raises(ValueError, match="fit with guarantee=None to adapt"):
        model.adapt(X)
    assert model.estimator_.shift_ is None


def test_labels_unknown_to_a_frozen_classifier_are_refused(data):
    X, y = data
    frozen = FrozenEstimator(SMLR().fit(X, y))
    with pytest.raises(ValueError, match=r"not among the classes: \['dog'\]"):
        Rejecting(frozen, rate=0.1).fit(X, np.where(y == "ant", "dog", y))


def test_samples_for_a_frozen_classifier_need_not_have_all_of_its_classes(data):
    X, y = data
    frozen = FrozenEstimator(SMLR().fit(X, y))
    some = y != "cat"
    shift = PriorShift(frozen, training_priors="uniform", priors=[0.2, 0.2, 0.6])
    for model in (shift, CostSensitive(shift, cost=np.ones((3, 3))), Rejecting(CostSensitive(shift), rate=0.2)):
        assert_array_equal(clone(model).fit(X[some], y[some]).classes_, NAMES)


class Explosive(LogisticRegression):
    """Must not be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted before the parameters were checked")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CostSensitive(Explosive(), cost=np.ones((2, 2))), "cost must have shape"),
        (CostSensitive(Explosive(), reject_cost=0.1, reject_label="ant"), "is a class"),
        (PriorShift(Explosive(), priors={"dog": 1.0}), "not known"),
        (PriorShift(Explosive(), training_priors=[1.0, 0.0, 0.0]), "must be positive"),
        (Rejecting(Explosive(), rate=0.1, error=0.1), "one of threshold"),
        (Rejecting(CostSensitive(PriorShift(Explosive(), priors=[0.5, 0.5])), rate=0.1), "priors must have one value"),
    ],
)
def test_wrong_parameters_are_refused_before_the_work_starts(model, message, data):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


def test_several_targets_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="y has several targets"):
        CostSensitive(KNeighborsClassifier()).fit(X, np.column_stack([y, y]))


@pytest.mark.filterwarnings("ignore::smaller.errors.RejectionWarning")
@pytest.mark.parametrize("excess", [0.0, 5e-5])
@pytest.mark.parametrize("aim", [0.0, 0.25, 1.0])
def test_the_thresholds_found_can_be_given_to_reject(aim, excess):
    """Those that accept all or nothing too, and those of rows whose sum is rounded to a little more than 1."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.3, 0.3, 0.3], size=40) * (1 + excess)
    P[:3] = [1 + excess, 0.0, 0.0]
    y = rng.integers(3, size=40)
    for found in (threshold_for_rate(P, aim), threshold_for_error(P, y, aim)):
        assert_allclose((~reject(P, found.value)).mean(), found.coverage)


def test_labels_that_cannot_be_compared_with_the_classes_are_refused():
    with pytest.raises(ValueError, match=r"not among the classes, such as None; the classes are \[0, 1\]"):
        threshold_for_error([[0.9, 0.1], [0.2, 0.8]], np.array([None, 1], dtype=object), 0.1)
