"""What must not change the answer, or change it only as mathematics says: repetition, order, names, units, storage."""

import numpy as np
import pytest
from conftest import clusters, objective, peak_of, scores
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from smaller import RMLR, SMLR, SMLRCV, path
from smaller.basis import Kernel, Polynomial

TIGHT = 1e-12  # a duality gap at which two ways to the same optimum can be compared
SAME = {"rtol": 0, "atol": 1e-8}

LINEAR = [SMLR(2.0, tol=TIGHT), RMLR(2.0, tol=TIGHT), SMLR(2.0, l2=1.0, tol=TIGHT)]
MODELS = [
    *LINEAR,
    SMLR(2.0, parametrization="reference", tol=TIGHT),
    SMLR(2.0, standardize=True, tol=TIGHT),
    SMLR(5.0, basis="quadratic", tol=TIGHT),
    RMLR(5.0, basis="quadratic", tol=TIGHT),
    SMLR(0.3, basis="rbf", tol=TIGHT),
    RMLR(0.3, basis="rbf", tol=TIGHT),
    SMLR(2.0, solver="component-wise", tol=TIGHT),
]


def by_row(model, n):
    """Kernel weights in the order of the training rows, 0 where an equal row came before."""
    coef = np.zeros((len(model.coef_), n))
    coef[:, model.basis_.center_index_] = model.coef_
    return coef


def assert_same_fit(found, expected):
    """The same weights, probabilities aside."""
    assert_allclose(found.coef_, expected.coef_, **SAME)
    assert_allclose(found.intercept_, expected.intercept_, **SAME)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)


@pytest.fixture
def times():
    """How often each of 90 rows occurs; every class keeps some."""
    return np.random.default_rng(7).integers(0, 4, size=90)


# -- a weight is a repetition


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0}], ids=str)
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_a_weight_is_a_repetition(m, model, class_weight, times):
    """Weight 3 is the row given three times and weight 0 the row left out, kernels and their widths included."""
    X, y = clusters(m=m)
    model = clone(model).set_params(class_weight=class_weight)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = clone(model).fit(X, y, sample_weight=times)
    assert_same_fit(weighted, repeated)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), **SAME)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize(
    "model", [SMLR(0.3, basis="precomputed", tol=TIGHT), RMLR(0.3, basis="precomputed", tol=TIGHT)], ids=repr
)
def test_a_weight_is_a_repetition_of_a_row_and_a_column_of_a_precomputed_kernel(model, class_weight, times):
    X, y = clusters()
    K = rbf_kernel(X, gamma=0.05)
    rows = np.repeat(np.arange(len(y)), times)
    model = clone(model).set_params(class_weight=class_weight)
    repeated = clone(model).fit(K[np.ix_(rows, rows)], y[rows])
    weighted = clone(model).fit(K, y, sample_weight=times)
    assert_same_fit(weighted, repeated)
    assert_allclose(weighted.predict_proba(K), repeated.predict_proba(K[:, rows]), **SAME)


@pytest.mark.parametrize("model", [SMLR(2.0, tol=TIGHT), RMLR(2.0, tol=TIGHT)], ids=repr)
def test_a_weight_is_a_repetition_for_four_classes(model, times):
    """With an even number of classes too, where the optimal weights are not unique but their representative is."""
    X, y = clusters(m=4)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = clone(model).fit(X, y, sample_weight=times)
    assert_same_fit(weighted, repeated)


def test_a_weight_is_a_repetition_of_sparse_rows(times):
    X, y = clusters()
    X = sparse.csr_array(np.where(np.abs(X) < 1, 0.0, X))
    for model in (SMLR(2.0, standardize=True, tol=TIGHT), SMLR(0.3, basis="rbf", tol=TIGHT)):
        repeated = clone(model).fit(X[np.repeat(np.arange(90), times)], np.repeat(y, times))
        weighted = clone(model).fit(X, y, sample_weight=times)
        assert_same_fit(weighted, repeated)


def test_a_weight_is_a_repetition_of_an_offset(times):
    X, y = clusters()
    offset = np.random.default_rng(2).normal(size=(90, 3))
    model = SMLR(2.0, tol=TIGHT)
    repeated = clone(model).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times), offset=np.repeat(offset, times, axis=0)
    )
    assert_same_fit(model.fit(X, y, sample_weight=times, offset=offset), repeated)


def test_a_weight_is_a_repetition_along_the_path(times):
    X, y = clusters()
    weighted = path(X, y, 6, sample_weight=times, tol=TIGHT)
    repeated = path(np.repeat(X, times, axis=0), np.repeat(y, times), 6, tol=TIGHT)
    assert_allclose(weighted.lams, repeated.lams, rtol=1e-12)
    assert_allclose(weighted.coefs, repeated.coefs, **SAME)


def test_a_weight_is_a_repetition_within_folds(times):
    """Given the same folds, scores on the rows left out are weighted as well, and the same strength is chosen."""
    X, y = clusters()
    rows = np.repeat(np.arange(90), times)
    folds = [(np.flatnonzero(np.arange(90) % 3 != f), np.flatnonzero(np.arange(90) % 3 == f)) for f in range(3)]
    repeated_folds = [(np.flatnonzero(rows % 3 != f), np.flatnonzero(rows % 3 == f)) for f in range(3)]
    for scoring in (None, "accuracy"):
        model = SMLRCV(6, scoring=scoring, tol=TIGHT)
        weighted = clone(model).set_params(cv=folds).fit(X, y, sample_weight=times)
        repeated = clone(model).set_params(cv=repeated_folds).fit(X[rows], y[rows])
        assert_allclose(weighted.scores_, repeated.scores_, **SAME)
        assert weighted.lam_ == pytest.approx(repeated.lam_, rel=1e-12)
        assert_same_fit(weighted, repeated)


def test_the_default_width_counts_weights_and_forgets_rows_of_weight_zero(times):
    """gamma = 1 / (sum of weighted variances)."""
    X, y = clusters()
    model = SMLR(0.3, basis="rbf").fit(X, y, sample_weight=times)
    variance = np.repeat(X, times, axis=0).var(axis=0).sum()
    assert model.basis_.gamma_ == pytest.approx(1 / variance, rel=1e-12)
    far = np.vstack([X, np.full((1, X.shape[1]), 1e6)])
    again = SMLR(0.3, basis="rbf").fit(far, np.append(y, 0), sample_weight=np.append(times, 0))
    assert again.basis_.gamma_ == pytest.approx(1 / variance, rel=1e-12)
    assert_allclose(again.predict_proba(X), model.predict_proba(X), **SAME)


def test_a_class_of_weight_zero_is_no_class():
    X, y = clusters()
    model = SMLR(2.0, tol=TIGHT).fit(X, y, sample_weight=(y != 1).astype(float))
    assert_array_equal(model.classes_, [0, 2])
    assert_same_fit(model, SMLR(2.0, tol=TIGHT).fit(X[y != 1], y[y != 1]))


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
@pytest.mark.parametrize("model", [SMLR, RMLR])
def test_the_objective_is_a_sum_over_samples(model, factor):
    """No hidden 1/n: all weights and lam times the same number is the same problem."""
    X, y = clusters()
    plain = model(2.0, tol=TIGHT).fit(X, y)
    found = model(2.0 * factor, tol=TIGHT).fit(X, y, sample_weight=np.full(len(y), factor))
    assert_allclose(found.coef_, plain.coef_, **SAME)
    assert found.objective_ == pytest.approx(factor * plain.objective_, rel=1e-9)


def test_class_weights_multiply_sample_weights(times):
    X, y = clusters()
    by_class = SMLR(2.0, class_weight={0: 0.5, 2: 3.0}, tol=TIGHT).fit(X, y, sample_weight=times)
    assert_same_fit(by_class, SMLR(2.0, tol=TIGHT).fit(X, y, sample_weight=times * np.array([0.5, 1.0, 3.0])[y]))


# -- order and names


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_the_order_of_rows_does_not_matter(m, model):
    X, y = clusters(m=m)
    order = np.random.default_rng(3).permutation(len(y))
    expected, found = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    if hasattr(expected.basis_, "centers_"):
        assert_allclose(by_row(found, len(y)), by_row(expected, len(y))[:, order], **SAME)
    else:
        assert_same_fit(found, expected)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), **SAME)


@pytest.mark.parametrize("model", LINEAR, ids=repr)
def test_the_order_of_columns_permutes_the_weights(model):
    X, y = clusters()
    order = np.random.default_rng(3).permutation(X.shape[1])
    factor = np.linspace(0.5, 2.0, X.shape[1])
    expected = clone(model).set_params(penalty_factor=factor).fit(X, y)
    found = clone(model).set_params(penalty_factor=factor[order]).fit(X[:, order], y)
    assert_allclose(found.coef_, expected.coef_[:, order], **SAME)


@pytest.mark.parametrize("model", [*LINEAR, SMLR(0.3, basis="rbf", tol=TIGHT)], ids=repr)
@pytest.mark.parametrize("m", [3, 5])
def test_renaming_an_odd_number_of_classes_permutes_the_rows_of_the_weights(m, model):
    """No class is special in the symmetric parametrisation, and its optimum is unique: the median of a row is 0."""
    X, y = clusters(m=m, n=100)
    new = np.random.default_rng(4).permutation(m)
    expected, found = clone(model).fit(X, y), clone(model).fit(X, new[y])
    assert_allclose(found.coef_[new], expected.coef_, **SAME)
    assert_allclose(found.intercept_[new], expected.intercept_, **SAME)
    assert_allclose(found.predict_proba(X)[:, new], expected.predict_proba(X), **SAME)


@pytest.mark.parametrize("model", [*LINEAR, SMLR(0.3, basis="rbf", tol=TIGHT)], ids=repr)
@pytest.mark.parametrize("m", [4, 6])
def test_renaming_an_even_number_of_classes_changes_neither_objective_nor_probabilities(m, model):
    X, y = clusters(m=m, n=120)
    new = np.random.default_rng(4).permutation(m)
    expected, found = clone(model).fit(X, y), clone(model).fit(X, new[y])
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-11)
    assert_allclose(found.predict_proba(X)[:, new], expected.predict_proba(X), **SAME)


@pytest.mark.parametrize("basis", ["linear", "quadratic", "rbf"])
@pytest.mark.parametrize("m", [3, 4, 5, 6])
def test_a_middle_weight_of_every_row_is_zero(m, basis):
    """A row may be shifted by a constant; the L1 penalty is least at a median, and one of its values is taken as 0."""
    X, y = clusters(m=m, n=120)
    model = SMLR(0.3 if basis == "rbf" else 1.0, basis=basis, tol=1e-10).fit(X, y)
    assert len(model.support_)
    ordered = np.sort(model.coef_[:, model.support_], axis=0)
    assert (ordered[[(m - 1) // 2, m // 2]] == 0).any(axis=0).all()


def test_canonical_weights_have_the_optimal_penalty():
    """Choosing a representative may not change the objective, which is recomputed here from coef_ and intercept_."""
    for m in (3, 4):
        X, y = clusters(m=m)
        factor = np.random.default_rng(0).uniform(0.5, 2.0, size=(m, X.shape[1]))
        model = SMLR(1.0, penalty_factor=factor, tol=1e-10).fit(X, y)
        value = objective(model.coef_, model.intercept_, X, y, lam=1.0, factor=factor)
        assert value == pytest.approx(model.objective_, rel=1e-12)


@pytest.mark.parametrize(
    "model", [SMLR(2.0, tol=TIGHT), RMLR(2.0, tol=TIGHT), SMLR(0.3, basis="rbf", tol=TIGHT)], ids=repr
)
def test_swapping_two_classes_turns_the_sign(model):
    X, y = clusters(m=2)
    expected, found = clone(model).fit(X, y), clone(model).fit(X, 1 - y)
    assert_allclose(found.coef_, -expected.coef_, **SAME)
    assert_allclose(found.intercept_, -expected.intercept_, **SAME)


@pytest.mark.parametrize(
    "names",
    [np.array(["b", "c", "a"]), np.array([10, -3, 7]), np.array([2.0, 3.0, 1.0]), np.array(["é", "ß", ""])],
    ids=str,
)
def test_labels_are_only_names(names):
    X, y = clusters()
    model, plain = SMLR(2.0, tol=TIGHT).fit(X, names[y]), SMLR(2.0, tol=TIGHT).fit(X, y)
    assert_array_equal(model.classes_, np.sort(names))
    assert_allclose(model.coef_, plain.coef_[np.argsort(names)], **SAME)
    assert_array_equal(model.predict(X), names[plain.predict(X)])


@pytest.mark.parametrize("m", [2, 3, 4])
def test_without_penalty_the_parametrisation_does_not_matter(m):
    """Maximum likelihood knows probabilities only."""
    X, y = clusters(m=m)
    symmetric = SMLR(0.0, tol=1e-10).fit(X, y)
    reference = SMLR(0.0, parametrization="reference", tol=1e-10).fit(X, y)
    assert_allclose(reference.predict_proba(X), symmetric.predict_proba(X), **SAME)
    if m > 2:
        assert_array_equal(reference.coef_[-1], 0.0)
        assert reference.intercept_[-1] == 0.0
        assert_allclose(reference.coef_ - reference.coef_.mean(axis=0), symmetric.coef_, atol=1e-6)


def test_the_reference_is_the_last_class():
    """Its row of weights is 0 and carries no penalty; the objective is recomputed from coef_."""
    X, y = clusters()
    for model, strength in (
        (SMLR(2.0, parametrization="reference"), {"lam": 2.0}),
        (RMLR(2.0, parametrization="reference"), {"l2": 2.0}),
    ):
        model.fit(X, y)
        assert_array_equal(model.coef_[-1], 0.0)
        assert model.intercept_[-1] == 0.0
        assert objective(model.coef_, model.intercept_, X, y, **strength) == pytest.approx(model.objective_, rel=1e-12)


# -- units


@pytest.mark.parametrize("a", [1e-3, 0.3, -2.0, 1e3])
@pytest.mark.parametrize(
    "model", [SMLR(2.0, tol=TIGHT), RMLR(2.0, tol=TIGHT), SMLR(2.0, parametrization="reference", tol=TIGHT)], ids=repr
)
@pytest.mark.parametrize("m", [2, 3])
def test_another_unit_of_a_column_changes_only_its_weight(m, model, a):
    """x -> a x with penalty factor c -> |a| c (a^2 c for the ridge) is the same problem with w -> w / a."""
    X, y = clusters(m=m)
    unit = np.ones(X.shape[1])
    unit[1] = a
    factor = np.linspace(0.5, 1.5, X.shape[1])
    power = 2 if isinstance(model, RMLR) else 1
    expected = clone(model).set_params(penalty_factor=factor).fit(X, y)
    found = clone(model).set_params(penalty_factor=factor * np.abs(unit) ** power).fit(X * unit, y)
    assert_allclose(found.coef_ * unit, expected.coef_, **SAME)
    assert_allclose(found.intercept_, expected.intercept_, **SAME)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-11)


@pytest.mark.parametrize("weight", [None, np.linspace(0.0, 3.0, 90)], ids=["plain", "weighted"])
@pytest.mark.parametrize("model", LINEAR, ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_standardize_is_a_standard_scaler_in_the_units_of_the_data(m, model, weight):
    X, y = clusters(m=m)
    X = X * np.array([1e-4, 1.0, 10.0, 1e3, 0.1, 5.0]) + np.array([0.0, 3.0, 0.0, 1e3, 1.0, -20.0])
    scaler = StandardScaler().fit(X, sample_weight=weight)
    expected = clone(model).fit(scaler.transform(X), y, sample_weight=weight)
    found = clone(model).set_params(standardize=True).fit(X, y, sample_weight=weight)
    assert_allclose(found.coef_ * scaler.scale_, expected.coef_, **SAME)
    intercept = found.intercept_ + found.coef_ @ scaler.mean_
    assert_allclose(intercept - (intercept.mean() if m > 2 else 0.0), expected.intercept_, **SAME)
    assert_allclose(found.predict_proba(X), expected.predict_proba(scaler.transform(X)), **SAME)


@pytest.mark.parametrize("model", LINEAR, ids=repr)
def test_standardize_without_an_intercept_measures_about_zero(model):
    """Centring needs an intercept; the unit is then the root mean square."""
    X, y = clusters()
    X = X * np.array([1e-2, 1.0, 10.0, 1e2, 0.1, 5.0])
    unit = np.sqrt(np.square(X).mean(axis=0))
    expected = clone(model).set_params(fit_intercept=False).fit(X / unit, y)
    found = clone(model).set_params(fit_intercept=False, standardize=True).fit(X, y)
    assert_allclose(found.coef_ * unit, expected.coef_, **SAME)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", LINEAR, ids=repr)
def test_units_do_not_matter_when_standardised(model, as_given):
    X, y = clusters()
    unit = np.array([1e-8, 1e-3, 1.0, 1e3, 1e8, 1e2])
    model = clone(model).set_params(standardize=True)
    expected, found = clone(model).fit(as_given(X), y), clone(model).fit(as_given(X * unit), y)
    assert_allclose(found.coef_ * unit, expected.coef_, **SAME)


@pytest.mark.parametrize("shift", [1e5, 1e6])
@pytest.mark.parametrize("model", LINEAR, ids=repr)
def test_standardize_survives_columns_far_from_zero(model, shift):
    """A mean of millions of standard deviations (a date in seconds) costs digits of the data, not the answer."""
    X, y = clusters()
    shifted = X.copy()
    shifted[:, 0] += shift
    model = clone(model).set_params(standardize=True, tol=1e-6)
    expected, found = clone(model).fit(X, y), clone(model).fit(shifted, y)
    assert_allclose(found.coef_, expected.coef_, atol=1e-3)


def test_a_constant_column_gets_no_weight_and_no_division_by_zero():
    X, y = clusters()
    for value in (0.0, 1.0, 0.1, 1e9):
        found = SMLR(2.0, standardize=True, tol=1e-10).fit(np.column_stack([X, np.full(len(y), value)]), y)
        expected = SMLR(2.0, standardize=True, tol=1e-10).fit(X, y)
        assert_allclose(found.coef_[:, -1], 0.0, atol=1e-12)
        assert_allclose(found.coef_[:, :-1], expected.coef_, atol=1e-6)


SHIFTED = [
    (model, shift, as_given)
    for model in (*LINEAR, SMLR(2.0, standardize=True, tol=TIGHT), SMLR(2.0, solver="component-wise", tol=1e-10))
    for shift in (-3.0, 100.0)
    for as_given in (np.asarray, sparse.csc_array)
    # The bound of the component-wise solver is loose for a column far from 0 that cannot be centred: 30 000 sweeps.
    if (model.solver, shift, as_given) != ("component-wise", 100.0, sparse.csc_array)
]


@pytest.mark.parametrize(
    ("model", "shift", "as_given"), SHIFTED, ids=lambda value: getattr(value, "__name__", repr(value))
)
@pytest.mark.parametrize("m", [2, 3])
def test_adding_a_constant_to_a_column_changes_only_the_intercept(m, model, shift, as_given):
    """F = (x + c) w + (b - c w); the intercepts of three classes keep the sum 0, which w's row may move."""
    X, y = clusters(m=m)
    shifted = X.copy()
    shifted[:, 0] += shift
    expected, found = clone(model).fit(X, y), clone(model).fit(as_given(shifted), y)
    assert len(expected.support_)
    assert_allclose(found.coef_, expected.coef_, atol=1e-7)
    intercept = expected.intercept_ - shift * expected.coef_[:, 0]
    assert_allclose(found.intercept_, intercept - (intercept.mean() if m > 2 else 0.0), atol=1e-5)
    assert_allclose(found.predict_proba(as_given(shifted)), expected.predict_proba(X), atol=1e-7)


def test_the_default_kernel_depends_only_on_differences():
    """rbf with the default width: moving and rescaling all inputs together changes nothing."""
    X, y = clusters()
    model = SMLR(0.3, basis="rbf", tol=TIGHT)
    expected = clone(model).fit(X, y).predict_proba(X)
    for moved in (X + 100.0, X * 1e-5, 1e4 * X - 1e4):
        assert_allclose(clone(model).fit(moved, y).predict_proba(moved), expected, atol=1e-7)


def test_the_default_width_survives_inputs_far_from_zero():
    X, y = clusters()
    plain, far = SMLR(0.3, basis="rbf").fit(X, y), SMLR(0.3, basis="rbf").fit(X + 1e6, y)
    assert far.basis_.gamma_ == pytest.approx(plain.basis_.gamma_, rel=1e-6)


def test_a_column_of_zeros_changes_nothing():
    X, y = clusters()
    for model in (*LINEAR, SMLR(2.0, solver="bound"), SMLR(2.0, solver="component-wise")):
        expected = clone(model).fit(X, y)
        found = clone(model).fit(np.insert(X, 2, 0.0, axis=1), y)
        assert_array_equal(found.coef_[:, 2], 0.0)
        assert_allclose(np.delete(found.coef_, 2, axis=1), expected.coef_, atol=1e-8 if model.tol == TIGHT else 1e-4)


def test_a_column_given_twice_shares_its_weight():
    """The optimum is not unique then, but its value and its probabilities are."""
    X, y = clusters()
    expected, found = SMLR(2.0, tol=TIGHT).fit(X, y), SMLR(2.0, tol=TIGHT).fit(np.hstack([X, X]), y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-11)
    assert_allclose(found.coef_[:, :6] + found.coef_[:, 6:], expected.coef_, atol=1e-7)
    ridge, twice = RMLR(1.0, tol=TIGHT).fit(X, y), RMLR(2.0, tol=TIGHT).fit(np.hstack([X, X]), y)
    assert_allclose(twice.coef_[:, :6], ridge.coef_ / 2, **SAME)


# -- offsets


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_offset_that_is_constant_for_each_class_is_absorbed_by_the_intercept(model):
    X, y = clusters()
    constant = np.array([1.0, -2.0, 4.0])
    plain = clone(model).fit(X, y)
    found = clone(model).fit(X, y, offset=np.tile(constant, (len(y), 1)))
    centred = constant - (constant[-1] if model.parametrization == "reference" else constant.mean())
    assert_allclose(found.coef_, plain.coef_, **SAME)
    assert_allclose(found.intercept_, plain.intercept_ - centred, **SAME)
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-10)


def test_an_offset_of_two_classes_is_a_shift_of_the_log_odds():
    """(n,) and (n, 2) say the same; what both classes share does not matter."""
    X, y = clusters(m=2)
    shift = np.random.default_rng(2).normal(size=len(y))
    model = SMLR(2.0, tol=TIGHT)
    one = clone(model).fit(X, y, offset=shift)
    two = clone(model).fit(X, y, offset=np.column_stack([5.0 - shift, np.full(len(y), 5.0)]))
    assert_same_fit(two, one)
    constant = clone(model).fit(X, y, offset=np.full(len(y), 3.0))
    plain = clone(model).fit(X, y)
    assert_allclose(constant.coef_, plain.coef_, **SAME)
    assert_allclose(constant.intercept_, plain.intercept_ - 3.0, **SAME)


@pytest.mark.parametrize("model", [*LINEAR, SMLR(2.0, parametrization="reference", tol=TIGHT)], ids=repr)
def test_what_all_classes_share_of_an_offset_does_not_matter(model):
    X, y = clusters()
    rng = np.random.default_rng(2)
    offset, shared = rng.normal(size=(len(y), 3)), rng.normal(size=(len(y), 1))
    assert_same_fit(clone(model).fit(X, y, offset=offset + shared), clone(model).fit(X, y, offset=offset))


@pytest.mark.parametrize("model", [*LINEAR, SMLR(2.0, parametrization="reference", tol=TIGHT)], ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_an_offset_is_a_column_whose_weight_is_fixed(m, model):
    """At the optimum, a column may be replaced by its scores: the other weights stay optimal."""
    X, y = clusters(m=m)
    full = clone(model).fit(X, y)
    offset = X[:, :1] @ full.coef_[:, :1].T
    offset = offset[:, 0] if m == 2 else offset
    rest = clone(model).fit(X[:, 1:], y, offset=offset)
    assert_allclose(rest.coef_, full.coef_[:, 1:], atol=1e-7)
    assert_allclose(rest.intercept_, full.intercept_, atol=1e-7)
    assert_allclose(rest.predict_proba(X[:, 1:], offset=offset), full.predict_proba(X), atol=1e-7)
    assert_allclose(np.exp(rest.predict_log_proba(X[:, 1:], offset=offset)), full.predict_proba(X), atol=1e-7)
    assert_array_equal(rest.predict(X[:, 1:], offset=offset), full.predict(X))


def test_the_objective_counts_the_offset():
    X, y = clusters()
    offset = np.random.default_rng(2).normal(size=(len(y), 3))
    model = SMLR(2.0).fit(X, y, offset=offset)
    value = objective(model.coef_, model.intercept_, X, y, lam=2.0, offset=offset)
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert_allclose(
        model.predict_proba(X, offset=offset), softmax(X @ model.coef_.T + model.intercept_ + offset, axis=1)
    )


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.int64])
def test_integers_of_any_kind_and_size_are_labels(dtype):
    """The largest and the smallest that there are too."""
    X, y = clusters(m=2)
    ends = np.array([False, True]) if dtype is np.bool_ else np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    top = ends if dtype is np.bool_ else np.array([np.iinfo(dtype).max - 1, np.iinfo(dtype).max], dtype)
    expected = SMLR(2.0).fit(X, y)
    for names in (ends, top):
        found = SMLR(2.0).fit(X, names[y])
        assert_array_equal(found.classes_, names)
        assert found.classes_.dtype == dtype
        assert_allclose(found.coef_, expected.coef_, **SAME)


# -- storage


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_dense_and_sparse_inputs_give_the_same_fit(m, model):
    X, y = clusters(m=m)
    X = np.where(np.abs(X) < 1, 0.0, X)
    expected = clone(model).fit(X, y)
    for as_given in (sparse.csr_array, sparse.csc_matrix):
        found = clone(model).fit(as_given(X), y)
        assert_same_fit(found, expected)
        assert_allclose(found.predict_proba(as_given(X)), expected.predict_proba(X), **SAME)


@pytest.mark.parametrize(
    "as_given", [np.ascontiguousarray, np.asfortranarray, sparse.csc_array], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_single_precision_inputs_give_the_probabilities_of_double_precision(model, as_given):
    X, y = clusters()
    model = clone(model).set_params(tol=1e-6)
    expected = clone(model).fit(X, y).predict_proba(X)
    single = as_given(X.astype(np.float32))
    found = clone(model).fit(single, y).predict_proba(single)
    assert_allclose(found, expected, atol=1e-4)
    assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_single_precision_is_kept():
    """X is not copied into double precision: centres, columns and the memory used say so."""
    X, y = clusters()
    single = X.astype(np.float32)
    assert SMLR(0.3, basis="rbf").fit(single, y).relevance_vectors_.dtype == np.float32
    assert SMLR(0.3, basis="rbf").fit(single, y).transform(single).dtype == np.float32
    assert SMLR(2.0).fit(single, y).transform(single).dtype == np.float32
    assert SMLR(2.0).fit(single, y).transform(sparse.csr_array(single)).dtype == np.float32


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
def test_a_kernel_fitted_in_one_precision_predicts_inputs_in_the_other(fitted):
    X, y = clusters()
    model = SMLR(0.3, basis="rbf").fit(X.astype(fitted), y)
    single, double = model.predict_proba(X.astype(np.float32)), model.predict_proba(X)
    assert_allclose(single, double, atol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_never_copies_the_inputs_whole(dtype, order):
    X, y = clusters(n=1500, p=4000, m=3)
    X = np.asarray(X, dtype=dtype, order=order)
    model = SMLR(60.0)
    assert peak_of(lambda: model.fit(X, y)) < 0.8 * X.nbytes
    assert 0 < len(model.support_) < 100


def test_a_sparse_input_is_never_densified():
    """A million entries stored of 40 thousand million."""
    rng = np.random.default_rng(0)
    n = d = 20_000
    y = rng.integers(0, 2, n)
    X = sparse.csr_array((np.ones(20 * n), (np.repeat(np.arange(n), 20), rng.integers(1, d, 20 * n))), shape=(n, d))
    X = (X + sparse.csr_array((y * (rng.random(n) < 0.8), (np.arange(n), np.zeros(n, int))), shape=(n, d))).tocsr()
    model = SMLR(40.0, standardize=True)
    assert peak_of(lambda: model.fit(X, y).predict_proba(X)) < 100e6
    assert 0 in model.support_


def test_a_large_input_by_rows_is_not_copied(monkeypatch):
    """Beside X only the columns at work are kept, and the fit is that of X by columns."""
    monkeypatch.setattr("smaller.design.sparse.LARGE_BYTES", 10_000_000)
    rng = np.random.default_rng(0)
    n, d = 20_000, 5000
    y = rng.integers(0, 2, n)
    entries = (rng.random(60 * n), (np.repeat(np.arange(n), 60), rng.integers(1, d, 60 * n)))
    X = sparse.csr_array(entries, shape=(n, d)) + sparse.csr_array((2.0 * y, (np.arange(n), 0 * y)), shape=(n, d))
    X.sum_duplicates()
    expected = SMLR(400.0).fit(X.tocsc(), y)
    found = SMLR(400.0)
    assert peak_of(lambda: found.fit(X, y)) < 0.5 * (X.data.nbytes + X.indices.nbytes)
    assert_same_fit(found, expected)
    assert 0 < len(found.support_) < 100


# -- two classes, symmetry, elastic net


def two_columns(X, y, l1, l2):
    """Minimum over two columns of weights, W = U - V with U, V >= 0 and penalty l1 sum(U + V) + l2/2 |W|^2."""
    p = X.shape[1]

    def value_and_gradient(z):
        U, V, b = z[: 2 * p].reshape(2, p), z[2 * p : 4 * p].reshape(2, p), z[4 * p :]
        W = U - V
        R = softmax(scores(W, b, X), axis=1)
        R[np.arange(len(y)), y] -= 1
        G = R.T @ X + l2 * W
        value = objective(W, b, X, y, l2=l2) + l1 * (U + V).sum()
        return value, np.concatenate([(G + l1).ravel(), (l1 - G).ravel(), R.sum(axis=0)])

    bounds = [(0, None)] * (4 * p) + [(None, None)] * 2
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        value_and_gradient, np.full(4 * p + 2, 0.1), jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    z = found.x
    return found.fun, softmax(scores((z[: 2 * p] - z[2 * p : 4 * p]).reshape(2, p), z[4 * p :], X), axis=1)


def test_one_column_for_two_classes_is_the_softmax_of_two_columns():
    """L1: |w_2 - w_1| <= |w_1| + |w_2|, equal at w_1 = 0, so lam is the same; ridge: w_1 = -w_2 = w/2 halves it."""
    X, y = clusters(m=2)
    sparse_model, ridge = SMLR(2.0, tol=1e-10).fit(X, y), RMLR(1.0, tol=1e-10).fit(X, y)
    value, P = two_columns(X, y, 2.0, 0.0)
    assert sparse_model.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(sparse_model.predict_proba(X), P, atol=1e-4)
    value, P = two_columns(X, y, 0.0, 2.0)
    assert ridge.objective_ == pytest.approx(value, rel=1e-7)
    assert_allclose(ridge.predict_proba(X), P, atol=1e-4)
    assert sparse_model.coef_.shape == ridge.coef_.shape == (1, 6)
    assert sparse_model.intercept_.shape == (1,)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("model", [m for m in MODELS if m.parametrization == "symmetric"], ids=repr)
@pytest.mark.parametrize("m", [3, 4])
def test_symmetric_intercepts_sum_to_zero(m, model, offset):
    X, y = clusters(m=m)
    model = clone(model).fit(X, y, offset=np.random.default_rng(0).normal(size=(len(y), m)) if offset else None)
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(model.intercept_).max() > 0.01


@pytest.mark.parametrize("model", [RMLR(2.0), RMLR(2.0, basis="rbf"), SMLR(0.0, l2=2.0), RMLR(0.0)], ids=repr)
def test_ridge_weights_of_a_column_sum_to_zero(model):
    """Of all shifts of a row, the one of least squares; by convention also where nothing is penalised."""
    X, y = clusters()
    assert_allclose(clone(model).fit(X, y).coef_.sum(axis=0), 0.0, atol=1e-8)


@pytest.mark.parametrize("m", [2, 3])
def test_an_elastic_net_without_its_l1_term_is_the_ridge(m):
    X, y = clusters(m=m)
    assert_same_fit(SMLR(0.0, l2=3.0, tol=TIGHT).fit(X, y), RMLR(3.0, tol=TIGHT).fit(X, y))


@pytest.mark.parametrize("m", [2, 3])
def test_an_elastic_net_minimises_both_penalties_together(m):
    """Its KKT conditions, in the notation of the theory, hold to the accuracy asked for."""
    X, y = clusters(m=m)
    factor = np.linspace(0.5, 2.0, X.shape[1])
    model = SMLR(3.0, l2=2.0, penalty_factor=factor, tol=TIGHT).fit(X, y)
    assert objective(model.coef_, model.intercept_, X, y, 3.0, 2.0, factor=factor) == pytest.approx(model.objective_)
    R = model.predict_proba(X) - np.eye(m)[y]
    G = ((R[:, 1:] if m == 2 else R).T @ X) + 2.0 * factor * model.coef_
    zero = model.coef_ == 0
    assert zero.any()
    assert not zero.all()
    limit = np.broadcast_to(3.0 * factor, G.shape)
    assert (np.abs(G)[zero] <= limit[zero] * (1 + 1e-8)).all()
    assert_allclose(G[~zero], -(limit * np.sign(model.coef_))[~zero], atol=1e-7)
    assert_allclose(R.sum(axis=0), 0.0, atol=1e-7)


# -- bases


def test_a_quadratic_basis_is_the_linear_one_on_the_products():
    X, y = clusters(p=3)
    left, right = np.triu_indices(3)
    Phi = np.column_stack([X, X[:, left] * X[:, right]])
    expected, found = SMLR(2.0, tol=TIGHT).fit(Phi, y), SMLR(2.0, basis="quadratic", tol=TIGHT).fit(X, y)
    assert_same_fit(found, expected)
    assert_same_fit(SMLR(2.0, basis=Polynomial(1), tol=TIGHT).fit(X, y), SMLR(2.0, tol=TIGHT).fit(X, y))
    products_only = SMLR(2.0, basis=Polynomial(2, interaction_only=True), tol=TIGHT).fit(X, y)
    keep = np.r_[0:3, 3 + np.flatnonzero(left != right)]
    assert_same_fit(products_only, SMLR(2.0, tol=TIGHT).fit(Phi[:, keep], y))


@pytest.mark.parametrize(
    ("basis", "K"),
    [
        (Kernel("rbf", gamma=0.1), lambda X: rbf_kernel(X, gamma=0.1)),
        (Kernel("poly", gamma=0.1, degree=2, coef0=0.5), lambda X: (0.1 * X @ X.T + 0.5) ** 2),
        (Kernel(lambda A, B: np.tanh(A @ B.T / 10)), lambda X: np.tanh(X @ X.T / 10)),
    ],
    ids=["rbf", "poly", "callable"],
)
def test_a_kernel_basis_is_the_precomputed_one_and_the_linear_one_on_its_matrix(basis, K):
    X, y = clusters(n=60)
    found = RMLR(0.5, basis=basis, tol=TIGHT).fit(X, y)
    for other in (RMLR(0.5, basis="precomputed", tol=TIGHT), RMLR(0.5, tol=TIGHT)):
        assert_allclose(other.fit(K(X), y).coef_, by_row(found, 60), **SAME)
        assert_allclose(other.predict_proba(K(X)), found.predict_proba(X), **SAME)
