"""The scikit-learn contract: its own checks without exception, and the tools around them that people really use."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_sparsify_coefficients, parametrize_with_checks

from smaller import (
    JCFO,
    JFSCL,
    LRVM,
    RMLR,
    SBMLR,
    SMLR,
    SMLRCV,
    EvidenceSearch,
    JeffreysClassifier,
    JeffreysRegressor,
    LaplaceRegressor,
    LaplaceRegressorCV,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
)
from smaller.basis import Kernel, Polynomial
from smaller.decision import CostSensitive, PriorShift, Rejecting

CHECKED = [
    SMLR(),
    RMLR(),
    SMLRCV(lams=5, cv=3),
    SMLR(basis="rbf"),
    SMLR(basis="quadratic"),
    SMLR(parametrization="reference"),
    SMLR(solver="component-wise"),
    SMLR(solver="bound", tol=1e-10),  # first order: only as near to the optimum as it is asked to come
    SMLR(standardize=True),
    RMLR(basis="rbf"),
    RMLR(standardize=True),
    RMLR(lam="evidence"),
    SBMLR(),
    SBMLR(n_init=3, basis="rbf"),
    EvidenceSearch(SBMLR(), {"basis": ["linear", "rbf"]}),
    JeffreysClassifier(),
    JeffreysClassifier(basis="rbf"),
    JCFO(0.3, 0.3),
]

WRAPPED = [
    PriorShift(SMLR()),
    CostSensitive(SMLR()),
    CostSensitive(SMLR(), reject_cost=1.0),  # as dear as an error: nothing is rejected
    Rejecting(SMLR()),
    Rejecting(SMLR(), threshold=0.0),
    Rejecting(SMLR(), rate=0.0, cv=3),
    Rejecting(SMLR(), error=1.0, cv=3),
    Rejecting(CostSensitive(PriorShift(SMLR())), rate=0.0, cv=3),
]

EVIDENCE = [
    RVMRegressor(),
    RVMRegressor("linear", algorithm="original"),
    RVMClassifier(),
    RVMClassifier(multiclass="ovr"),
    RVMClassifier("linear", algorithm="original"),
    TypeIRegressor(),
    TypeIRegressor("jeffreys"),
    TypeIIRegressor(),
    TypeIIRegressor("em", prior="laplace"),
    TypeIIRegressor("reweighted-l1"),
    TypeIIClassifier(),
    TypeIIClassifier(alpha=(0.1, 0.1)),
]

REGRESSORS = [
    JeffreysRegressor(),
    JeffreysRegressor(noise=1.0),
    JeffreysRegressor(basis="rbf"),
    LaplaceRegressor(),
    LaplaceRegressor(solver="em"),
    LaplaceRegressorCV(lams=5, cv=3),
    LaplaceRegressor(1.0, noise=0.5, standardize=False),
]

BOOSTED = [
    LRVM(cv=3, step=1.0, lam_ratio=0.1),
    LRVM(lam=0.5, multiclass="ovr"),
    JFSCL(cv=3, lam_ratio=0.02),
    JFSCL(lam=0.5, multiclass="ovr"),
]

CHECKS = parametrize_with_checks([*CHECKED, *WRAPPED, *REGRESSORS, *EVIDENCE, *BOOSTED])

# As constructed; all their checks together take minutes.
LONG_CHECKS = parametrize_with_checks([SMLRCV(), LaplaceRegressorCV(), LRVM(), JFSCL(), JCFO()])

EVERY_MODEL = [SMLR(0.5), RMLR(0.5), SMLRCV(lams=5, eps=0.05, cv=3), SBMLR()]


def names(model):
    return type(model).__name__


def tight(model):
    """The same model solved to the accuracy at which two ways to the same optimum can be compared."""
    return clone(model).set_params(tol=1e-12)


@pytest.fixture
def data():
    return clusters()


# -- scikit-learn's own checks


@pytest.mark.filterwarnings(
    "ignore::smaller.errors.EmptyModelWarning",
    "ignore::smaller.errors.ConvergenceWarning",
    "ignore::smaller.errors.UnidentifiedNoiseWarning",
)
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    """check_estimator, dense and sparse, no expected failure; its toy data may prune everything or be separable."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::smaller.errors.EmptyModelWarning",
    "ignore::smaller.errors.ConvergenceWarning",
    "ignore::smaller.errors.SmallClassWarning",
)
@pytest.mark.parametrize(LONG_CHECKS.args[0], list(LONG_CHECKS.args[1]), **LONG_CHECKS.kwargs)
def test_scikit_learn_finds_nothing_to_object_to_in_slow_models_as_they_are_constructed(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning", "ignore::smaller.errors.SmallClassWarning")
@pytest.mark.parametrize("model", [SMLRCV(), LRVM(), JFSCL()], ids=names)
def test_searches_as_they_are_constructed_take_classes_smaller_than_their_folds(model):
    """The one of scikit-learn's checks whose classes are so small."""
    check_sparsify_coefficients(type(model).__name__, model)


@pytest.mark.parametrize("model", CHECKED, ids=repr)
def test_models_promise_what_they_can_do(model):
    """The checks for sparse input and for several classes run only where the tags ask for them."""
    tags = get_tags(model)
    assert is_classifier(model)
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise
    assert tags.classifier_tags.multi_class
    assert not tags.input_tags.allow_nan
    assert (tags.transformer_tags is not None) == (not isinstance(model, (RMLR, EvidenceSearch)))


@pytest.mark.parametrize("model", WRAPPED, ids=repr)
def test_wrappers_promise_what_the_classifier_inside_can_do(model):
    tags = get_tags(model)
    assert is_classifier(model)
    assert tags.input_tags.sparse
    assert tags.classifier_tags.multi_class
    assert tags.transformer_tags is None
    assert not get_tags(CostSensitive(GaussianNB())).input_tags.sparse
    assert get_tags(CostSensitive(SMLR(basis="precomputed"))).input_tags.pairwise


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressors_promise_what_they_can_do(model):
    tags = get_tags(model)
    assert is_regressor(model)
    assert tags.input_tags.sparse
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    assert tags.target_tags.single_output
    assert tags.target_tags.multi_output == (getattr(model, "solver", None) == "newton")  # LaplaceRegressor


@pytest.mark.parametrize("model", EVERY_MODEL, ids=names)
def test_a_precomputed_kernel_is_declared_pairwise(model):
    """Cross-validation has to cut its rows and its columns."""
    assert get_tags(clone(model).set_params(basis="precomputed")).input_tags.pairwise


# -- inside other estimators


@pytest.mark.parametrize("model", EVERY_MODEL, ids=names)
def test_a_pipeline_predicts_as_its_last_step(model, data):
    X, y = data
    Z = StandardScaler().fit_transform(X)
    piped = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert_allclose(piped.predict_proba(X), clone(model).fit(Z, y).predict_proba(Z), atol=1e-12)
    assert piped.score(X, y) > 0.4


def test_a_grid_search_reaches_the_strength_and_the_width_of_the_kernel(data):
    """`basis__gamma` is a parameter like any other, and the search leaves the basis it was given alone."""
    X, y = data
    basis = Kernel("rbf")
    grid = {"lam": [0.1, 0.2], "basis__gamma": [1e-3, 0.05]}
    search = GridSearchCV(SMLR(basis=basis), grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_estimator_.basis_.gamma_ == search.best_params_["basis__gamma"]
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    assert basis.gamma == "scale"
    assert not hasattr(basis, "centers_")


def test_a_grid_search_can_choose_the_basis(data):
    search = GridSearchCV(RMLR(), {"basis": ["linear", "rbf", Polynomial(2), Kernel("poly", degree=2)]}, cv=3).fit(
        *data
    )
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("model", EVERY_MODEL, ids=names)
def test_cross_validation_of_a_precomputed_kernel_is_that_of_the_kernel(model, data):
    """K(x_i, x_j) given as a matrix or as a function: the same folds, the same predictions."""
    X, y = data
    gamma = 0.05
    folds = KFold(3)
    by_function = clone(model).set_params(basis=Kernel("rbf", gamma=gamma))
    by_matrix = clone(model).set_params(basis="precomputed")
    expected = cross_val_predict(by_function, X, y, cv=folds, method="predict_proba")
    found = cross_val_predict(by_matrix, rbf_kernel(X, gamma=gamma), y, cv=folds, method="predict_proba")
    assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
@pytest.mark.parametrize("m", [2, 3])
def test_cross_val_predict_takes_every_method(m, method):
    X, y = clusters(m=m)
    assert len(cross_val_predict(SMLR(), X, y, cv=3, method=method)) == len(y)


def test_a_sparse_model_selects_in_the_middle_of_a_pipeline(data):
    """What follows sees only the inputs that were kept."""
    X, y = data
    piped = make_pipeline(StandardScaler(), SMLR(8.0), RMLR(1.0)).fit(X, y)
    kept = piped[1].get_support()
    assert 0 < kept.sum() < X.shape[1]
    assert piped[-1].n_features_in_ == kept.sum()
    Z = StandardScaler().fit_transform(X)[:, kept]
    assert_allclose(piped.predict_proba(X), RMLR(1.0).fit(Z, y).predict_proba(Z), atol=1e-12)


def test_select_from_model_keeps_the_same_columns(data):
    X, y = data
    outer = SelectFromModel(SMLR(8.0), threshold=1e-12).fit(X, y)
    assert_array_equal(outer.get_support(), SMLR(8.0).fit(X, y).get_support())


def test_calibration_and_bagging_work_around_a_model(data):
    X, y = data
    for outer in (CalibratedClassifierCV(SMLR(), cv=3), BaggingClassifier(RMLR(), n_estimators=3, random_state=0)):
        assert outer.fit(X, y).predict_proba(X).shape == (len(y), 3)


def test_scores_of_folds_may_run_in_processes(data):
    """The model and its basis travel to other processes."""
    X, y = data
    model = SMLR(basis=Kernel("poly", degree=2))
    assert_allclose(cross_val_score(model, X, y, cv=3, n_jobs=2), cross_val_score(model, X, y, cv=3), atol=1e-12)


# -- data frames


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    return request.param


def as_frame(X, columns, frames):
    return pd.DataFrame(X, columns=columns) if frames == "pandas" else pl.DataFrame(X, schema=list(columns))


COLUMNS = np.array(["age", "dose", "height", "noise a", "noise b", "weight"], dtype=object)


@pytest.mark.parametrize("model", [*EVERY_MODEL, SMLR(basis="rbf")], ids=repr)
def test_frames_are_their_values_with_names(model, frames, data):
    X, y = data
    X_frame = as_frame(X, COLUMNS, frames)
    found = clone(model).fit(X_frame, y)
    assert_array_equal(found.feature_names_in_, COLUMNS)
    assert_allclose(found.predict_proba(X_frame), clone(model).fit(X, y).predict_proba(X), atol=1e-12)


def test_names_follow_the_columns_that_were_kept(frames, data):
    X, y = data
    model = SMLR(8.0).fit(as_frame(X, COLUMNS, frames), y)
    assert 0 < len(model.support_) < 6
    assert_array_equal(model.get_feature_names_out(), COLUMNS[model.support_])
    assert_array_equal(model.get_feature_names_out(COLUMNS), COLUMNS[model.support_])
    with pytest.raises(ValueError, match="feature_names_in_"):
        model.get_feature_names_out(COLUMNS[::-1])


def test_names_of_products_say_which(data):
    X, y = data
    model = SMLR(8.0, basis="quadratic", standardize=True).fit(pd.DataFrame(X[:, :3], columns=["a", "b", "c"]), y)
    every = np.array(["a", "b", "c", "a^2", "a b", "a c", "b^2", "b c", "c^2"], dtype=object)
    assert_array_equal(model.get_feature_names_out(), every[model.support_])


def test_names_of_centres_are_positions_of_training_rows(data):
    X, y = data
    model = SMLR(0.5, basis="rbf").fit(X, y)
    rows = [int(name.removeprefix("center")) for name in model.get_feature_names_out()]
    assert_array_equal(model.relevance_vectors_, X[rows])


def test_without_names_columns_are_called_x0_x1(data):
    model = SMLR(8.0).fit(*data)
    assert_array_equal(model.get_feature_names_out(), [f"x{i}" for i in model.support_])


def test_columns_in_another_order_are_refused(frames, data):
    X, y = data
    model = SMLR().fit(as_frame(X, COLUMNS, frames), y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(as_frame(X, COLUMNS[::-1], frames))


def test_transform_returns_the_frame_asked_for(frames, data):
    X, y = data
    model = SMLR(8.0).set_output(transform=frames).fit(as_frame(X, COLUMNS, frames), y)
    reduced = model.transform(as_frame(X, COLUMNS, frames))
    assert isinstance(reduced, pd.DataFrame if frames == "pandas" else pl.DataFrame)
    assert list(reduced.columns) == list(COLUMNS[model.support_])
    assert_array_equal(reduced.to_numpy(), X[:, model.support_])


def test_labels_weights_and_offsets_may_be_series(data):
    """Their index carries no meaning: rows belong together by position."""
    X, y = data
    label = np.array(["no", "perhaps", "yes"])[y]
    weight, offset = np.linspace(0.5, 2.0, len(y)), np.linspace(-1, 1, 3 * len(y)).reshape(-1, 3)
    index = np.arange(len(y))[::-1]
    series = pd.Series(label, index=index, dtype="category")
    model = SMLR().fit(
        pd.DataFrame(X), series, sample_weight=pd.Series(weight, index=index), offset=pd.DataFrame(offset, index=index)
    )
    plain = SMLR().fit(X, label, sample_weight=weight, offset=offset)
    assert_array_equal(model.classes_, ["no", "perhaps", "yes"])
    assert_allclose(model.coef_, plain.coef_, atol=1e-12)
    cv = SMLRCV(lams=4, cv=3)
    found = clone(cv).fit(pd.DataFrame(X), series, sample_weight=pd.Series(weight, index=index))
    assert_allclose(found.scores_, clone(cv).fit(X, label, sample_weight=weight).scores_, atol=1e-12)


def test_polars_labels_work(data):
    X, y = data
    label = np.array(["no", "perhaps", "yes"])[y]
    found = SMLR().fit(pl.DataFrame(X), pl.Series(label)).predict(pl.DataFrame(X))
    assert_array_equal(found, SMLR().fit(X, label).predict(X))


# -- copies and stored models


@pytest.mark.parametrize(
    "model", [*EVERY_MODEL, SMLR(basis=Kernel("poly", degree=2)), SMLR(basis="quadratic")], ids=repr
)
def test_a_pickled_model_predicts_the_same(model, data):
    X, y = data
    model = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params().keys() == model.get_params().keys()


def test_a_clone_has_the_parameters_and_no_fit(data):
    factor = np.arange(1.0, 7.0)
    model = SMLR(2.0, basis=Kernel("rbf", gamma=0.3), penalty_factor=factor, class_weight={0: 2.0}, l2=0.1)
    copy = clone(model)
    assert copy.basis is not model.basis
    assert copy.basis.gamma == 0.3
    assert_array_equal(copy.penalty_factor, factor)
    assert vars(clone(SMLR().fit(*data))).keys() == SMLR().get_params(deep=False).keys()


def test_fit_changes_nothing_that_was_given(data):
    """Neither parameters nor data: __init__ stores, fit sets only names that end in an underscore."""
    X, y = data
    weight, factor, basis = np.linspace(0, 2, len(y)), np.arange(6.0), Kernel("rbf")
    for model in (
        SMLR(penalty_factor=factor, class_weight="balanced"),
        SMLR(basis=basis, class_weight={0: 2.0}),
        SMLRCV([1.0, 9.0, 3.0], cv=3, penalty_factor=factor, class_weight="balanced"),
    ):
        given, X_given, weight_given = model.get_params(deep=False).copy(), X.copy(), weight.copy()
        model.fit(X, y, sample_weight=weight)
        assert all(model.get_params(deep=False)[name] is value for name, value in given.items())
        assert_array_equal(X, X_given)
        assert_array_equal(weight, weight_given)
        assert_array_equal(factor, np.arange(6.0))
        assert all(name.endswith("_") for name in vars(model).keys() - given.keys())


@pytest.mark.parametrize(
    "as_given", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("m", [2, 3])
def test_sparsify_keeps_predictions_and_densify_undoes_it(m, as_given):
    X, y = clusters(m=m)
    X_given = as_given(X)
    model = SMLR(8.0).fit(X_given, y)
    coef, probability = model.coef_.copy(), model.predict_proba(X_given)
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    assert_allclose(model.predict_proba(X_given), probability, atol=1e-14)
    assert_array_equal(model.predict(X_given), model.classes_[probability.argmax(axis=1)])
    assert model.transform(X_given).shape == (len(y), len(model.support_))
    assert model.densify() is model
    assert_array_equal(model.coef_, coef)
    assert_allclose(model.predict_proba(X_given), probability, atol=1e-14)


def test_a_sparsified_model_can_be_fitted_again_and_pickled(data):
    X, y = data
    model = SMLR(8.0, warm_start=True).fit(X, y)
    probability = model.predict_proba(X)
    model.sparsify()
    assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), probability, atol=1e-14)
    assert_allclose(model.fit(X, y).predict_proba(X), probability, atol=1e-6)


# -- metadata routing


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_weights_and_offsets_are_routed_through_a_pipeline(routing, data):
    X, y = data
    rng = np.random.default_rng(1)
    weight, offset = rng.uniform(0.5, 2, len(y)), rng.normal(size=(len(y), 3))
    for model in (SMLR(), RMLR(), SMLRCV(lams=4, cv=3)):
        step = clone(model).set_fit_request(sample_weight=True, offset=True).set_predict_request(offset=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        piped = make_pipeline(scaler, step).fit(X, y, sample_weight=weight, offset=offset)
        Z = StandardScaler().fit_transform(X)
        direct = clone(model).fit(Z, y, sample_weight=weight, offset=offset)
        assert_allclose(piped[-1].coef_, direct.coef_, atol=1e-12)
        assert_array_equal(piped.predict(X, offset=offset), direct.predict(Z, offset=offset))


def test_weights_are_routed_through_a_selector(routing, data):
    """fit_transform of the middle step gets its weights as well."""
    X, y = data
    weight = np.random.default_rng(1).uniform(0.0, 3.0, len(y))
    selector, last = SMLR(8.0).set_fit_request(sample_weight=True), RMLR().set_fit_request(sample_weight=True)
    piped = make_pipeline(selector, last).fit(X, y, sample_weight=weight)
    assert_array_equal(piped[0].support_, SMLR(8.0).fit(X, y, sample_weight=weight).support_)


def test_weights_and_offsets_are_routed_through_cross_validation(routing, data):
    """The rows of each fold: a fold fitted by hand scores the same."""
    X, y = data
    rng = np.random.default_rng(1)
    weight, offset = rng.uniform(0.0, 2, len(y)), rng.normal(size=(len(y), 3))
    model = SMLR().set_fit_request(sample_weight=True, offset=True)
    model.set_score_request(sample_weight=True, offset=True)
    found = cross_validate(model, X, y, cv=KFold(3), params={"sample_weight": weight, "offset": offset})
    for score, (train, test) in zip(found["test_score"], KFold(3).split(X), strict=True):
        by_hand = SMLR().fit(X[train], y[train], sample_weight=weight[train], offset=offset[train])
        assert score == pytest.approx(by_hand.score(X[test], y[test], weight[test], offset[test]), abs=1e-12)


# -- storage of the inputs

LAYOUTS = {
    "Fortran": np.asfortranarray,
    "C": np.ascontiguousarray,
    "rows reversed": lambda X: X[::-1].copy()[::-1],
    "columns reversed": lambda X: X[:, ::-1].copy()[:, ::-1],
    "every second": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "list": lambda X: X.tolist(),
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "coo_matrix": sparse.coo_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "lil_array": sparse.lil_array,
    "csc, 64-bit indices": lambda X: with_long_indices(sparse.csc_array(X)),
    "csr, 64-bit indices": lambda X: with_long_indices(sparse.csr_array(X)),
    "csc, unsorted": lambda X: shuffled_within_columns(sparse.csc_array(X)),
    "csc, zeros stored": lambda X: stored_in_full(X, 1).tocsc(),
    "coo, in two halves": lambda X: stored_in_full(X, 2),
}


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def shuffled_within_columns(X):
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end], X.data[start:end] = X.indices[start:end][::-1].copy(), X.data[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def stored_in_full(X, times):
    """Every entry stored, zeros included, as the sum of equal parts."""
    where = np.tile(np.indices(X.shape).reshape(2, -1), times)
    return sparse.coo_array((np.tile(X.ravel() / times, times), tuple(where)), shape=X.shape)


@pytest.mark.parametrize(
    "model", [*EVERY_MODEL, SMLR(basis="rbf"), SMLR(basis="quadratic"), RMLR(standardize=True)], ids=repr
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layout_does_not_matter(layout, model, data):
    """The numbers are what counts, not how they lie in memory."""
    X, y = data
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.5, 0.0, X)
    X_given = LAYOUTS[layout](X)
    expected, found = tight(model).fit(X, y), tight(model).fit(X_given, y)
    assert_allclose(found.coef_, expected.coef_, atol=1e-8)
    assert_allclose(found.predict_proba(X_given), expected.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize(
    "model", [*EVERY_MODEL, SMLR(solver="component-wise"), SMLR(solver="bound"), SMLR(basis="rbf")], ids=repr
)
def test_read_only_and_memory_mapped_inputs_work(model, data, tmp_path):
    X, y = data
    expected = clone(model).fit(X, y).predict_proba(X)
    for values, name in ((X, "X"), (y, "y"), (np.ones(len(y)), "weight")):
        np.save(tmp_path / f"{name}.npy", values)
    X_map, y_map, weight_map = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "weight"))
    found = clone(model).fit(X_map, y_map, sample_weight=weight_map)
    assert_allclose(found.predict_proba(X_map), expected, atol=1e-12)
    X_sparse = sparse.csc_array(X)
    for part in (X_sparse.data, X_sparse.indices, X_sparse.indptr):
        part.flags.writeable = False
    assert_allclose(clone(model).fit(X_sparse, y).predict_proba(X_sparse), expected, atol=1e-5)


def test_integers_and_booleans_are_numbers(data):
    X, y = data
    X = np.round(2 * X)
    expected = SMLR().fit(X, y)
    for dtype in (np.int8, np.int64, np.uint8, object):
        X_given = X.astype(dtype) if dtype is not np.uint8 else (X - X.min()).astype(dtype)
        assert_allclose(SMLR(tol=1e-12).fit(X_given, y).predict_proba(X_given), expected.predict_proba(X), atol=1e-5)
    assert SMLR().fit(X > 0, y > 0).classes_.dtype == bool
