"""Intervals and p-values of weights: the one-step estimates, many splits, adjustments, and when nothing is given."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import norm, t
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smaller import RMLR, SBMLR, SMLR, SMLRCV, LaplaceRegressor
from smaller.errors import IntervalWarning, SameRowsWarning
from smaller.inference import Knockoffs, StabilitySelection, debiased
from smaller.inference.bias_reduced import bias_reduced
from smaller.inference.checked_input import checked_rows
from smaller.inference.debiased import Debiased
from smaller.inference.multi_split import _class_estimates, aggregated
from smaller.inference.multiplicity import benjamini_yekutieli, holm
from smaller.inference.one_step import curvature_at, maximum_likelihood, nodewise, one_step
from smaller.inference.weight_estimates import largest_leverage
from smaller.progress import listening

SOFTMAX = SMLR(0.0, parametrization="reference")
KNOCKOFFS = Knockoffs(SMLR(3.0, standardize=True), fdr=0.8, n_copies=1, random_state=0)
SEED = 1000  # of the first simulated set: methods and their constants were chosen on other sets


def simulated(kind, n, p, true, size, seed, rho=0.7, lognormal=False, shift=0.0):
    """AR(1) columns; true features spread evenly, of weight `size` (classes: rows of this norm); kind: classes or 0.

    ``shift`` is the intercept of two classes.
    """
    rng = np.random.default_rng([7, seed])
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X, k = np.exp(X) if lognormal else X, max(kind - 1, 1)
    W, rows = np.zeros((p, k)), np.arange(true) * (p // true)
    if kind <= 2:
        W[rows, 0] = size * np.where(np.arange(true) % 2, -1, 1)
    else:
        W[rows] = np.random.default_rng(3).standard_normal((true, k))
        W[rows] *= size / np.linalg.norm(W[rows], axis=1, keepdims=True)
    if kind == 0:
        return X, X @ W[:, 0] + rng.standard_normal(n), W
    if kind == 2:
        return X, (X @ W[:, 0] + shift + rng.logistic(size=n) > 0).astype(int), W
    F = np.column_stack([X @ W, np.zeros(n)])
    return X, (F + rng.gumbel(size=F.shape)).argmax(axis=1), W


# -- the one-step estimates


def test_linear_and_binary_estimates_equal_the_reference():
    inputs, reference = case("select_debiased")
    X = inputs["X"] - inputs["X"].mean(axis=0)
    gaussian = LaplaceRegressor(1.0, noise=1.0, standardize=False)
    for model, y, name in ((gaussian, inputs["y_linear"], "linear"), (SOFTMAX, inputs["y"], "binary")):
        expected = reference["results"][name]
        b = np.array([expected.get("intercept_init", y.mean())])
        found = one_step(curvature_at(model, (X, y, {}), np.array(expected["b_init"])[:, None], b), 0.5)
        assert_allclose(found.weights[:, 0], expected["b"], atol=1e-8)
        assert_allclose(np.sqrt(found.covariance[:, 0, 0]), expected["se"], atol=1e-8)


def test_estimates_of_three_classes_equal_the_reference_and_one_newton_step():
    inputs, reference = case("select_debiased")
    expected = reference["results"]["multinomial"]
    X = inputs["X3"] - inputs["X3"].mean(axis=0)
    start = np.array(expected["coef_init"]).T, np.array(expected["intercept_init"])
    at = curvature_at(SOFTMAX, (X, inputs["y3"], {}), *start)
    found = one_step(at, 0.5)
    assert_allclose(found.weights, expected["b"], atol=1e-8)
    assert_allclose(found.covariance, expected["cov"], atol=1e-8)
    assert_allclose(found.wald(), expected["p_wald"], rtol=1e-6)
    newton = one_step(at, 1e-9)
    assert_allclose(newton.weights, expected["newton_b"], atol=1e-7)
    assert_allclose(np.sqrt(np.diagonal(newton.covariance, axis1=1, axis2=2)), expected["newton_se"], rtol=1e-6)


def test_curvature_is_that_of_the_loss_with_fitted_intercepts():
    """By finite differences of the loss in NumPy, the intercepts minimised for each weight."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), np.arange(30) % 3
    W = 0.3 * rng.standard_normal((2, 2))
    weight = 1.0 + np.arange(30) % 2

    def gradient(W):
        b = np.zeros(2)
        for _ in range(30):  # Newton's method for the intercepts
            P = np.exp(np.column_stack([X @ W + b, np.zeros(30)]))
            P = (P / P.sum(axis=1, keepdims=True))[:, :2]
            R = P - np.eye(3)[y][:, :2]
            H = np.diag(weight @ P) - (P * weight[:, None]).T @ P
            b = b - np.linalg.solve(H, weight @ R)
        return X.T @ (weight[:, None] * R), b

    G, b = gradient(W)
    at = curvature_at(SOFTMAX, (X, y, {"sample_weight": weight}), W, b)
    assert_allclose(at.pull, -G, atol=1e-8)
    for j in range(2):
        for a in range(2):
            step = np.zeros((2, 2))
            step[j, a] = 1e-5
            assert_allclose(at.hessian[:, :, j, a], (gradient(W + step)[0] - gradient(W - step)[0]) / 2e-5, atol=1e-5)


def test_nodewise_directions_satisfy_the_conditions_of_the_lasso():
    rng = np.random.default_rng(0)
    D = rng.standard_normal((40, 12)) @ (np.eye(12) + 0.3)
    H = D.T @ D
    M = nodewise(H, 0.1)
    lam = 0.1 * np.sqrt(2 * np.diag(H) * np.log(12))
    assert_array_equal(np.diag(M), 1)
    for j in range(12):
        pull = np.delete(M[j] @ H, j)  # D_-j^T z_j
        gamma = -np.delete(M[j], j)
        assert (np.abs(pull) <= lam[j] * (1 + 1e-3)).all()
        assert_allclose(pull[gamma != 0], lam[j] * np.sign(gamma[gamma != 0]), rtol=2e-2)


def test_maximum_likelihood_has_the_covariance_of_least_squares():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)) + 5, rng.standard_normal(50)
    A = np.column_stack([X, np.ones(50)])
    found = maximum_likelihood(
        curvature_at(LaplaceRegressor(1.0, noise=2.0), (X, y, {}), np.zeros((3, 1)), np.zeros(1))
    )
    assert_allclose(found.covariance[:, 0, 0], 2 * np.diag(np.linalg.inv(A.T @ A))[:3], rtol=1e-9)


# -- estimates by likelihood


def test_saturated_models_have_the_estimates_of_half_a_sample_more_in_each_cell():
    """Jeffreys' prior of a multinomial distribution is a Dirichlet distribution of 1/2 (Firth 1993, binomial case)."""
    counts = np.array([[3, 7, 11], [20, 5, 2]])  # of three classes, in two groups of samples
    X = np.repeat([[0.0], [1.0]], counts.sum(axis=1), axis=0)
    y = np.concatenate([np.repeat(range(3), row) for row in counts])
    odds = np.log((counts + 0.5)[:, :2] / (counts + 0.5)[:, 2:])
    found = bias_reduced((X, y, {}), True)
    assert_allclose(found.weights[0], odds[1] - odds[0], atol=1e-7)
    binary = bias_reduced((X[y > 0], y[y > 0] - 1, {}), True)
    odds = np.log((counts + 0.5)[:, 2] / (counts + 0.5)[:, 1])
    assert_allclose(binary.weights[0], odds[1] - odds[0], atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_bias_reduced_weights_minimise_the_loss_less_half_the_log_determinant(classes, intercept):
    """By finite differences of the objective in NumPy; the covariance is the inverse of the Hessian of the loss."""
    X, y, _ = simulated(classes, 60, 3, 2, 1.0, seed=0)
    weight, k = 1.0 + np.arange(60) % 2, classes - 1
    A = np.column_stack([X, np.ones(60)]) if intercept else X
    Y = (y[:, None] == (np.arange(k) if k > 1 else [1])).astype(float)

    def value(W, hessian=False):
        F = np.column_stack([A @ W, np.zeros(60)])
        P = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        V = np.einsum("ia,ab->iab", P[:, :k], np.eye(k)) - np.einsum("ia,ib->iab", P[:, :k], P[:, :k])
        H = np.einsum("i,ij,iab,il->jalb", weight, A, V, A).reshape(A.shape[1] * k, -1)
        loss = weight @ (np.log(np.exp(F).sum(axis=1)) - (Y * F[:, :k]).sum(axis=1))
        return np.linalg.inv(H) if hessian else loss - np.linalg.slogdet(H)[1] / 2

    found = bias_reduced((X, y, {"sample_weight": weight}), intercept)
    best = minimize(lambda w: value(w.reshape(-1, k)), np.zeros(A.shape[1] * k), tol=1e-12).x.reshape(-1, k)
    assert_allclose(found.weights, best[:3], atol=1e-4)
    covariance = value(best, hessian=True).reshape(A.shape[1], k, A.shape[1], k)
    assert_allclose(found.covariance, covariance[np.arange(3), :, np.arange(3)], rtol=1e-3)


def test_maximum_likelihood_pulls_weights_away_from_0_and_bias_reduced_weights_are_not():
    """40 sets of two classes with 8 samples for each weight: the mean ratio of the estimates to the true weights."""
    ratios = []
    for seed in range(SEED, SEED + 40):
        X, y, W = simulated(2, 400, 50, 10, 1.0, seed=seed)
        true = np.flatnonzero(W[:, 0])
        found = SMLR(0.0).fit(X, y).coef_[0], bias_reduced((X, y, {}), True).weights[:, 0]
        ratios.append([(weights[true] / W[true, 0]).mean() for weights in found])
    by_likelihood, reduced = np.mean(ratios, axis=0)
    assert by_likelihood > 1.2
    assert abs(reduced - 1) < 0.06


def test_numbers_have_the_estimates_and_intervals_of_least_squares():
    X, y, _ = simulated(0, 60, 4, 2, 1.0, seed=0)
    A = np.column_stack([X, np.ones(60)])
    weights, rss = np.linalg.lstsq(A, y, rcond=None)[:2]
    error = np.sqrt(rss / 55 * np.diag(np.linalg.inv(A.T @ A)))[:4]
    table = debiased(None, X, y)
    assert_allclose(table.estimate[0], weights[:4], rtol=1e-9)
    assert_allclose(table.upper[0], weights[:4] + t.ppf(0.975, 55) * error, rtol=1e-9)
    assert_allclose(table.p_value, 2 * t.sf(np.abs(weights[:4]) / error, 55), rtol=1e-7)


def test_columns_that_add_up_have_no_intervals_unless_asked_for():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 300)
    X = np.column_stack([np.eye(3)[group], rng.standard_normal((300, 2))])
    signal = 2 * X[:, 3] + (group == 1)
    for y in (signal + rng.logistic(size=300) > 0, signal + rng.standard_normal(300)):
        table = debiased(None, X, y, random_state=0, n_splits=20)
        assert table.method == "multi-split"
        assert table.estimate is None
        assert 3 in table.significant()
        assert "sums of multiples of others" in table.reason
        with pytest.warns(IntervalWarning, match="sums of multiples of others"):
            assert debiased(None, X, y, intervals="anyway", p_values="debiased").estimate.shape[1] == 5


def test_splits_leave_out_columns_that_add_up():
    """All three columns of a category are chosen again and again; two of them say it all."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 400)
    y = (rng.random(400) < np.array([0.3, 0.85, 0.3])[group]).astype(int)
    table = debiased(None, np.eye(3)[group], y, random_state=0, n_splits=20)
    assert np.isfinite(table.p_value).all()
    assert table.significant().tolist() == [1]


# -- many tests


def test_adjusted_p_values_are_the_definitions():
    p = np.array([0.01, 0.04, 0.03, np.nan, 0.005])
    assert_allclose(holm(p), [0.03, 0.06, 0.06, np.nan, 0.02])
    unit = 4 * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    assert_allclose(benjamini_yekutieli(p), np.array([0.005, 0.04 / 4, 0.04 / 4, np.nan, 0.005]) * unit)
    assert holm(np.array([0.6, 0.9])).max() == benjamini_yekutieli(np.array([0.6, 0.9])).max() == 1


def test_p_values_of_splits_are_combined_as_in_the_reference():
    inputs, reference = case("select_multisplit")
    assert_allclose(aggregated(inputs["P"], 0.05), reference["results"]["aggregated"], rtol=1e-12)


# -- the table


@pytest.fixture(scope="module")
def binary():
    return simulated(2, 300, 12, 3, 1.0, seed=0)


def test_signals_are_found_and_intervals_contain_the_estimates(binary):
    X, y, W = binary
    table = debiased(None, X, y)
    assert table.method == "debiased"
    assert set(np.flatnonzero(W[:, 0])) <= set(table.significant())
    assert table.estimate.shape == table.lower.shape == (1, 12)
    z = table.estimate / table.standard_error
    assert_allclose(table.p_value, 2 * norm.sf(np.abs(z[0])), rtol=1e-9)
    assert_allclose(table.upper - table.lower, 2 * norm.ppf(0.975) * table.standard_error)
    assert_allclose(table.p_holm, holm(table.p_value))
    assert_allclose(table.p_by, benjamini_yekutieli(table.p_value))
    narrow = debiased(None, X, y, level=0.5)
    assert (narrow.upper - narrow.lower < table.upper - table.lower).all()


@pytest.mark.filterwarnings("ignore::smaller.errors.IntervalWarning")
def test_one_step_starts_from_a_fitted_model_as_it_is_and_an_unfitted_one_is_fitted():
    X, y, _ = simulated(2, 80, 12, 3, 1.0, seed=0)
    ways = {"intervals": "anyway", "p_values": "debiased"}
    fitted = SMLR(3.0, standardize=True).fit(X, y)
    one, other = debiased(fitted, X, y, **ways), debiased(SMLR(3.0, standardize=True), X, y, **ways)
    assert_allclose(one.estimate, other.estimate, atol=1e-6)
    assert np.abs(debiased(SMLR(10.0, standardize=True), X, y, **ways).estimate - one.estimate).max() > 0.01


def test_strength_of_the_model_plays_no_part_where_there_are_many_samples(binary):
    X, y, _ = binary
    assert_array_equal(debiased(SMLR(0.1), X, y).estimate, debiased(SMLR(30.0), X, y).estimate)


@pytest.mark.parametrize("kind", [0, 2, 3])
def test_units_rows_and_storage_change_what_mathematics_says(kind):
    X, y, _ = simulated(kind, 300, 6, 2, 1.0, seed=1)
    X = np.where(np.abs(X) > 0.5, X, 0)
    model = LaplaceRegressor(20.0, tol=1e-10) if kind == 0 else SMLR(3.0, standardize=True, tol=1e-10)
    plain, units = debiased(model, X, y), np.geomspace(1e-3, 1e3, 6)
    order = np.random.default_rng(0).permutation(300)
    same = (
        (X * units, y, units),
        (X[order], y[order], 1.0),
        (sparse.csr_array(X), y, 1.0),
        (sparse.csc_array(X), y, 1.0),
    )
    for changed, targets, factor in same:
        found = debiased(model, changed, targets)
        assert_allclose(found.estimate * factor, plain.estimate, rtol=1e-5, atol=1e-7)
        assert_allclose(found.standard_error * factor, plain.standard_error, rtol=1e-5)


def test_rescaled_targets_rescale_the_estimates():
    X, y, _ = simulated(0, 300, 6, 2, 1.0, seed=1)
    plain, scaled = debiased(None, X, y), debiased(None, X, 1000 * y)
    assert_allclose(scaled.estimate, 1000 * plain.estimate, rtol=1e-4)
    assert_allclose(scaled.p_value, plain.p_value, rtol=1e-3)


@pytest.mark.parametrize("kind", [0, 2, 3])
def test_sample_of_weight_two_counts_like_two_samples(kind):
    X, y, _ = simulated(kind, 200, 5, 2, 1.0, seed=2)
    weight = 1.0 + np.arange(200) % 2
    model = LaplaceRegressor(20.0, tol=1e-10) if kind == 0 else SMLR(3.0, standardize=True, tol=1e-10)
    weighted = debiased(model, X, y, sample_weight=weight)
    repeated = debiased(model, np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    assert_allclose(weighted.estimate, repeated.estimate, rtol=1e-5, atol=1e-8)
    assert_allclose(weighted.standard_error, repeated.standard_error, rtol=1e-5)
    assert weighted.n_samples == 300


@pytest.mark.parametrize("kind", [0, 2, 3])
def test_offset_that_is_a_column_times_a_number_shifts_its_weight(kind):
    X, y, _ = simulated(kind, 400, 4, 2, 0.7, seed=3)
    part = X[:, 0] if kind < 3 else np.column_stack([X[:, 0], np.zeros((400, 2))])
    plain, known = debiased(None, X, y), debiased(None, X, y, offset=part)
    assert_allclose(plain.estimate[0, 0] - known.estimate[0, 0], 1.0, atol=1e-7)
    assert_allclose(plain.estimate[:, 1:], known.estimate[:, 1:], atol=1e-7)


def test_reference_class_turns_contrasts_around():
    X, y, _ = simulated(3, 400, 4, 2, 1.0, seed=4)
    labels = np.array(["a", "b", "c"])[y]
    model = SMLR()
    last, first = debiased(model, X, labels), debiased(model, X, labels, reference="a")
    assert last.contrasts == ["a against c", "b against c"]
    assert first.contrasts == ["b against a", "c against a"]
    assert_allclose(first.estimate[1], -last.estimate[0], atol=1e-7)
    assert_allclose(first.p_value, last.p_value, rtol=1e-5)
    X, y, _ = simulated(2, 300, 4, 2, 1.0, seed=4)
    assert_allclose(debiased(model, X, y, reference=1).estimate, -debiased(model, X, y).estimate, atol=1e-6)
    assert debiased(model, X, y).contrasts == ["1 against 0"]


def test_constant_columns_and_copies_have_their_place():
    X, y, _ = simulated(2, 400, 6, 2, 1.0, seed=5)
    wide = np.column_stack([X, 3 - 2 * X[:, 0], np.ones(400)])
    plain, table = debiased(None, X, y), debiased(None, wide, y)
    assert table.n_distinct == 6
    assert_array_equal(table.copies[0], [0, 6])
    assert_allclose(table.p_value[[0, 6]], plain.p_value[0], rtol=1e-2)
    assert np.isnan(table.p_value[7])
    assert np.isnan(table.estimate[0, [0, 7]]).all()
    assert_allclose(-2 * table.estimate[0, 6], plain.estimate[0, 0], rtol=1e-3)


def test_excluded_columns_are_left_out_and_free_ones_are_tested():
    X, y, _ = simulated(2, 400, 6, 3, 1.0, seed=5)
    factor = np.array([np.inf, 0, 1, 1, 1, 1])
    table, without = debiased(SMLR(penalty_factor=factor), X, y), debiased(None, X[:, 1:], y)
    assert np.isnan(table.p_value[0])
    assert np.isnan(table.estimate[0, 0])
    assert table.n_distinct == 5
    assert_allclose(table.estimate[0, 1:], without.estimate[0], rtol=1e-7)
    assert_allclose(table.p_holm[1:], without.p_holm, rtol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_columns_without_a_penalty_adjust_the_tests_of_every_split(classes):
    """Column 1 is related to the target through column 0 alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30))
    X[:, 1] = X[:, 0] + 0.7 * rng.standard_normal(400)
    y = np.digitize(1.5 * X[:, 0] + rng.logistic(size=400), [0, 1.5][: classes - 1])
    model = SMLR(penalty_factor=np.r_[0, np.ones(29)])
    table = debiased(model, X, y, p_values="multi-split", n_splits=20, random_state=0)
    assert table.significant().tolist() == [0]
    alone = debiased(None, X[:, 1:], y, p_values="multi-split", n_splits=20, random_state=0)
    assert 0 in alone.significant()


@pytest.mark.parametrize("size", [20, 60, 1000])
def test_offsets_that_decide_the_classes_of_a_half_leave_nothing_to_test(size):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 3
    found = _class_estimates((X, y, {"offset": size * np.eye(3)[y] + rng.standard_normal((30, 3))}), True)
    assert found is None or (found.wald() > 0.99).all()


def test_rare_classes_have_no_intervals_unless_asked_for():
    X, y, _ = simulated(2, 400, 10, 2, 1.0, seed=0)
    rare = np.append(np.flatnonzero(y == 1)[:15], np.flatnonzero(y == 0))
    table = debiased(None, X[rare], y[rare], n_splits=20, random_state=0)
    assert table.method == "multi-split"
    assert table.estimate is None
    assert "The rarest class has 15 samples for 10 features, fewer than 2 for each" in table.reason
    with pytest.warns(IntervalWarning, match="The rarest class has 15 samples"):
        asked = debiased(None, X[rare], y[rare], intervals="anyway", p_values="debiased")
    weighted = debiased(None, X[rare], y[rare], sample_weight=np.where(y[rare], 2.0, 1.0))
    assert asked.estimate.shape == weighted.estimate.shape == (1, 10)
    assert weighted.method == "debiased"


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_samples_that_decide_their_own_fit_leave_no_intervals_unless_asked_for(kind, store):
    X, y, _ = simulated(kind, 400, 6, 2, 1.0, seed=0)
    X[7, 1] = 60.0
    table = debiased(None, store(X), y, n_splits=20, random_state=0)
    A = np.column_stack([X, np.ones(400)])
    leverage = (np.linalg.qr(A)[0] ** 2).sum(axis=1).max()
    assert f"One sample decides {leverage:.0%} of its own fitted value, more than 50%" in table.reason
    assert table.method == "multi-split"
    assert table.estimate is None
    with pytest.warns(IntervalWarning, match="take logarithms or ranks"):
        asked = debiased(None, store(X), y, intervals="anyway", p_values="debiased")
    assert asked.estimate.shape == (kind - 1, 6)
    assert debiased(None, store(np.sign(X) * np.log1p(np.abs(X))), y).method == "debiased"


@pytest.mark.parametrize("intercept", [True, False])
def test_a_sample_of_weight_two_decides_as_much_of_its_fit_as_each_of_two_samples(intercept):
    X, y, _ = simulated(2, 100, 4, 2, 1.0, seed=0)
    weight, model = 1 + np.arange(100) % 2, SMLR(fit_intercept=intercept)
    checked = [
        checked_rows(Debiased(model), *given, None, {"sample_weight": share})
        for given, share in (((X, y), weight), ((np.repeat(X, weight, axis=0), np.repeat(y, weight)), None))
    ]
    weighted, repeated = (largest_leverage(rows) for rows in checked)
    A = np.repeat(np.column_stack([X, np.ones(100)])[:, : 4 + intercept], weight, axis=0)
    assert_allclose([weighted, repeated], (np.linalg.qr(A)[0] ** 2).sum(axis=1).max(), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0, 5, "x"])
def test_levels_of_tests_are_checked(binary, alpha):
    with pytest.raises(ValueError, match=r"alpha must be a probability between 0 and 1, such as 0\.05; got"):
        debiased(None, *binary[:2]).significant(alpha)


def test_frame_and_text_have_names_and_the_sentence():
    pd = pytest.importorskip("pandas")
    X, y, _ = simulated(3, 400, 4, 2, 1.0, seed=4)
    table = debiased(SMLR(3.0), pd.DataFrame(X, columns=list("pqrs")), y)
    assert table.to_frame().index[1] == ("p", "1 against 2")
    assert "q" in str(table)
    assert table.sentence() in str(table)
    assert "at most 5 %" in table.sentence()


# -- where there are too few samples


def test_middling_samples_get_p_values_of_splits_and_a_reason():
    X, y, W = simulated(2, 200, 40, 2, 2.0, seed=0)
    table = debiased(None, X, y, random_state=0)
    assert table.method == "multi-split"
    assert table.estimate is None
    assert table.lower is None
    assert set(table.significant()) <= set(np.flatnonzero(W[:, 0]))
    assert len(table.significant())
    assert_array_equal(table.p_holm, table.p_value)
    for part in ("at most 5 % (many splits)", "200 samples for 40", "fewer than 8", "cover too little", "50 splits"):
        assert part in table.sentence()
    assert "estimate" not in table.to_frame()


def test_intervals_anyway_come_with_a_warning_and_p_values_of_splits():
    X, y, _ = simulated(2, 200, 40, 2, 2.0, seed=0)
    with pytest.warns(IntervalWarning, match="fewer than 8 for each: intervals of strong effects would cover too lit"):
        table = debiased(None, X, y, intervals="anyway", random_state=0)
    assert table.estimate.shape == (1, 40)
    assert_array_equal(table.p_value, debiased(None, X, y, random_state=0).p_value)


def test_below_two_samples_for_each_weight_there_are_p_values_only():
    X, y, _ = simulated(2, 60, 40, 2, 2.0, seed=0)
    assert debiased(None, X, y, random_state=0).estimate is None
    for asked in ({"intervals": "anyway"}, {"p_values": "debiased"}):
        with pytest.raises(ValueError, match="at least 2 samples for each weight, and 8 to be trusted; there are 60"):
            debiased(None, X, y, **asked)


@pytest.mark.parametrize("kind", [0, 2, 3])
def test_result_of_splits_depends_on_the_seed_and_not_on_the_jobs(kind):
    X, y, _ = simulated(kind, 120, 30, 2, 1.0, seed=1)
    said = []
    with listening(said.append):
        one = debiased(None, X, y, random_state=0, n_splits=20)
    two, other = (
        debiased(None, X, y, random_state=0, n_jobs=2, n_splits=20),
        debiased(None, X, y, random_state=1, n_splits=20),
    )
    assert_array_equal(one.p_value, two.p_value)
    assert (one.p_value != other.p_value).any()
    assert said[-1] == "multi-split: 20 of 20 splits done"


def test_splits_that_separate_the_classes_count_as_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    table = debiased(None, X, (X[:, 0] > 0).astype(int), random_state=0, n_splits=20)
    assert table.p_value.min() > 0.05
    assert "separate the classes, which counts as p = 1" in table.sentence()
    assert "An empty list is not evidence" in table.sentence()


# -- refusals


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (RMLR(), {}, "debiased takes SMLR, SMLRCV, SBMLR or LaplaceRegressor; got RMLR"),
        (SMLR(class_weight="balanced"), {}, "no standard errors hold; give class_weight=None"),
        (SMLR(basis="rbf"), {}, "basis='rbf', whose columns are others"),
        (None, {"y": np.repeat([0, 1], [295, 5])}, "at least 10 samples of each class; class 1 has 5"),
        (None, {"X": np.ones((300, 2))}, "Every column of X is constant"),
        (None, {"level": 95}, "level must be a probability between 0 and 1, such as 0.95; got 95"),
        (None, {"intervals": "yes"}, "intervals must be one of 'auto', 'anyway'"),
        (None, {"p_values": "wald"}, "p_values must be one of"),
        (None, {"reference": 7}, r"reference must be one of the classes \[0, 1\]; got 7"),
        (None, {"penalty": 0}, "penalty must be a positive number"),
        (None, {"n_splits": 5}, "n_splits must be a whole number of at least 20.*got 5"),
        (None, {"n_splits": 20.5}, "n_splits must be a whole number of at least 20.*got 20.5"),
        (None, {"level": "high"}, "level must be a probability between 0 and 1, such as 0.95; got 'high'"),
        (None, {"y": np.linspace(0, 1, 300), "reference": 1}, "reference is a class, but y has numbers"),
        (SMLR(penalty_factor=np.ones((2, 12))), {}, "give the model one penalty factor for each column"),
        (SMLR(penalty_factor=np.r_[np.zeros(11), 1]), {"p_values": "multi-split", "weight": 20}, "leaves 11 columns"),
        (SMLR(0.1).fit(np.eye(4), [0, 1, 0, 1]), {}, "The model was fitted on 4 columns, but X has 12"),
        (None, {"y": np.zeros(300, dtype=int)}, "at least two classes; got one class only: 0"),
        (None, {"offset": 1e6 * np.random.default_rng(0).standard_normal(300)}, "offset|separate the classes"),
    ],
)
def test_bad_input_is_refused_with_the_remedy(binary, model, change, message):
    X, y, _ = binary
    given = {"X": X, "y": y, **change}
    few = slice(0, given.pop("weight", None))
    with pytest.raises(ValueError, match=message):
        debiased(model, **{**given, "X": given["X"][few], "y": given["y"][few]})


def test_separable_and_noiseless_data_are_refused():
    X = np.random.default_rng(0).standard_normal((200, 4))
    with pytest.raises(ValueError, match="separate the classes exactly"):
        debiased(SMLR(0.1), X, (X[:, 0] > 0).astype(int))
    for exact in (np.zeros(200), np.full(200, 2.5), 1e6 + X @ np.arange(4)):
        with pytest.raises(ValueError, match="without noise there are no intervals"):
            debiased(LaplaceRegressor(), X, exact)
    with pytest.raises(ValueError, match="without noise there are no intervals"):
        debiased(LaplaceRegressor(5.0), X[:30, :4], np.full(30, 2.5), intervals="anyway", p_values="debiased")


@pytest.mark.parametrize("name", ["p_values_", "pvalues_", "pvalues", "p_value"])
@pytest.mark.parametrize("model", [SMLR(), SMLRCV(), SBMLR(), LaplaceRegressor()], ids=lambda m: type(m).__name__)
def test_bare_p_value_of_an_l1_weight_is_refused_with_a_sentence(model, name):
    with pytest.raises(AttributeError, match=r"no p-value of its own. Use smaller\.inference\.debiased"):
        getattr(model, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        model.nothing  # noqa: B018


def test_selection_and_assessment_on_the_same_rows_come_with_a_warning(binary):
    X, y, _ = binary
    selector = StabilitySelection(n_selected=3, n_pairs=10, random_state=0)
    with pytest.warns(
        SameRowsWarning, match=r"100% of these samples were used by StabilitySelection.*assess on others"
    ):
        debiased(make_pipeline(selector, SMLR(3.0)).fit(X, y), X, y)
    half = make_pipeline(StandardScaler(), selector, SMLR(3.0)).fit(X[:150], y[:150])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = debiased(half, X[150:], y[150:])
    assert len(table.p_value) == len(selector.support_)
    with pytest.warns(SameRowsWarning, match="50% of these samples"):
        debiased(half, X, y)
    with pytest.warns(SameRowsWarning, match="used by SelectKBest"):
        debiased(make_pipeline(SelectKBest(k=3), SMLR(3.0)).fit(X, y), X, y)


@pytest.mark.parametrize("selector", [StabilitySelection(n_selected=3, n_pairs=10, random_state=0), KNOCKOFFS])
def test_columns_that_a_selector_kept_are_recognised_without_a_pipeline(binary, selector):
    X, y, _ = binary
    selector = clone(selector).fit(X[:150], y[:150])
    assert 0 < len(selector.support_) < X.shape[1]
    with pytest.warns(SameRowsWarning, match=f"50% of these samples were used by {type(selector).__name__}"):
        debiased(None, selector.transform(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        debiased(None, selector.transform(X[150:]), y[150:])
        debiased(None, X, y)


def test_fresh_rows_with_repeated_values_are_not_taken_for_rows_that_selected():
    """Of three columns of two values every fresh row is equal to a known one."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    y = (4 * X[:, 0] + rng.logistic(size=400) > 2).astype(int)
    selector = StabilitySelection(n_selected=1, n_pairs=10, threshold=0.9, max_false=None, random_state=0)
    selector.fit(X[:200], y[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SameRowsWarning)
        debiased(make_pipeline(selector, SMLR()).fit(X[:200], y[:200]), X[200:], y[200:])


# -- do the promises hold?

# classes (0 for numbers), n, p, true features, their size: the settings at which error rates are simulated
LIKELIHOOD_SETTINGS = {
    "binary 2000 x 50": (2, 2000, 50, 10, 0.7),
    "binary 400 x 50": (2, 400, 50, 10, 1.0),
    "3 classes 1000 x 60": (3, 1000, 60, 5, 1.0),
    "3 classes 1000 x 60, strong": (3, 1000, 60, 10, 1.5),
    "4 classes 1500 x 60": (4, 1500, 60, 5, 1.0),
    "numbers 400 x 50": (0, 400, 50, 5, 0.5),
}
HARD_SETTINGS = {  # at the limits of what gets intervals: rare classes, and columns with a heavy tail
    "15 % of 1000 x 50": (2, 1000, 50, 5, 0.7, {"shift": -2.2}),
    "5 % of 1500 x 25": (2, 1500, 25, 5, 0.7, {"shift": -3.6}),
    "lognormal 2000 x 20, strong": (2, 2000, 20, 5, 0.7, {"lognormal": True}),
}
HEAVY_SETTINGS = {  # columns with a tail so heavy that few sets of this size get intervals
    "lognormal 400 x 50": (2, 400, 50, 5, 0.4, {"lognormal": True}),
    "lognormal 160 x 20, strong": (2, 160, 20, 5, 0.7, {"lognormal": True}),
    "lognormal 320 x 20, strong": (2, 320, 20, 5, 0.7, {"lognormal": True}),
}
ONE_STEP_SETTINGS = {
    "binary 400 x 200, weak": (2, 400, 200, 5, 0.5),
    "binary 400 x 200, strong": (2, 400, 200, 10, 1.0),
    "3 classes 400 x 100": (3, 400, 100, 5, 1.0),
    "numbers 400 x 200": (0, 400, 200, 5, 0.5),
}
SPLIT_SETTINGS = {
    "binary 400 x 200": (2, 400, 200, 5, 1.0),
    "binary 100 x 200": (2, 100, 200, 5, 1.0),
    "3 classes 400 x 100": (3, 400, 100, 5, 1.5),
    "numbers 100 x 200": (0, 100, 200, 5, 1.0),
}


def simulated_rates(name, setting, sets, **options):
    """Per-test error, family-wise error, power, and coverage of nulls and signals, each with its standard error.

    Coverage is that of the sets with intervals; "given" is their share.
    """
    rows, more = [], setting[5] if len(setting) > 5 else {}
    for seed in range(SEED, SEED + sets):
        X, y, W = simulated(*setting[:5], seed=seed, **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IntervalWarning)
            table = debiased(None, X, y, random_state=seed, **options)
        null = ~W.any(axis=1)
        found = np.isin(np.arange(len(W)), table.significant())
        given = table.estimate is not None
        row = [(table.p_value[null] <= 0.05).mean(), found[null].any(), found[~null].mean(), given, np.nan, np.nan]
        if given:
            inside = (table.lower <= W.T) & (table.upper >= W.T)
            row[4:] = inside[:, null].mean(), inside[:, ~null].mean()
        rows.append(row)
    columns = [column[~np.isnan(column)] for column in np.array(rows, dtype=float).T]
    of = [(c.mean(), c.std() / np.sqrt(len(c))) if len(c) else (np.nan, np.nan) for c in columns]
    found = dict(zip(("test", "family", "power", "given", "nulls", "signals"), of, strict=True))
    print(name, {key: f"{mean:.3f} +- {error:.3f}" for key, (mean, error) in found.items()})
    return found


def assert_errors_are_kept(found, rates):
    for rate in rates:
        mean, error = found[rate]
        assert mean <= 0.05 + 2 * error, rate


@pytest.mark.slow
@pytest.mark.parametrize("name", LIKELIHOOD_SETTINGS)
def test_errors_of_tests_and_coverage_of_intervals_at_eight_samples_a_weight_and_more(name):
    found = simulated_rates(name, LIKELIHOOD_SETTINGS[name], 500)
    assert_errors_are_kept(found, ("test", "family"))
    assert 0.93 <= found["nulls"][0] <= 0.97
    assert found["signals"][0] >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD_SETTINGS)
def test_errors_of_tests_and_coverage_of_intervals_at_the_limits_of_what_gets_intervals(name):
    found = simulated_rates(name, HARD_SETTINGS[name], 200, p_values="debiased")
    assert_errors_are_kept(found, ("test", "family"))
    assert found["given"][0] > 0.5
    assert 0.93 <= found["nulls"][0] <= 0.97
    assert found["signals"][0] >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY_SETTINGS)
def test_columns_with_heavy_tails_get_no_intervals_that_cover_too_little(name):
    """The coverage of the intervals that are given when they are asked for is printed beside."""
    found = simulated_rates(name, HEAVY_SETTINGS[name], 200, p_values="debiased")
    assert_errors_are_kept(found, ("test", "family"))
    assert found["given"][0] < 0.1
    simulated_rates(f"{name}, asked for", HEAVY_SETTINGS[name], 200, intervals="anyway", p_values="debiased")


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_STEP_SETTINGS)
def test_errors_of_one_step_tests_at_two_samples_a_weight(name):
    found = simulated_rates(name, ONE_STEP_SETTINGS[name], 100, intervals="anyway", p_values="debiased")
    assert_errors_are_kept(found, ("test", "family"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLIT_SETTINGS)
def test_family_wise_error_of_many_splits(name):
    assert_errors_are_kept(simulated_rates(name, SPLIT_SETTINGS[name], 100, p_values="multi-split"), ("family",))
