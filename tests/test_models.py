"""What the models promise: certified optima, paths, a chosen strength, warm starts, probabilities, supports."""

import warnings

import numpy as np
import pytest
import sklearn
from conftest import clusters, objective
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from smaller import RMLR, SMLR, SMLRCV, path
from smaller.basis import Kernel
from smaller.errors import EmptyModelWarning


def standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def some_digits(return_X_y=True):
    X, y = load_digits(return_X_y=return_X_y)
    return X[:300], y[:300]


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": some_digits,
    "iris, standardised": lambda: standardised(load_iris),
    "wine, standardised": lambda: standardised(load_wine),
    "breast cancer, standardised": lambda: standardised(load_breast_cancer),
    "digits, standardised": lambda: standardised(some_digits),
    "more columns than rows": lambda: clusters(n=60, p=500, m=3),
    "many classes": lambda: clusters(n=200, p=20, m=10),
}


def value_of(model, X, y):
    """The objective of SMLR or RMLR, recomputed from coef_ and intercept_."""
    strength = {"l2": model.lam} if isinstance(model, RMLR) else {"lam": model.lam, "l2": model.l2}
    return objective(model.coef_, model.intercept_, X, y, **strength)


# -- certificates


@pytest.mark.parametrize("lam", [10.0, 0.1])
@pytest.mark.parametrize("kind", [SMLR, RMLR])
@pytest.mark.parametrize("name", DATA)
def test_every_fit_comes_with_its_certificate(name, kind, lam):
    """gap >= (F - F*) / F, 0 at the optimum only; the default tolerance is reached whatever the units of the data."""
    X, y = DATA[name]()
    model = kind(lam).fit(X, y)
    assert 0.0 <= model.dual_gap_ <= 1e-6
    assert 0.0 <= model.violation_ < 1e-2
    assert model.status_ == "converged"
    assert model.objective_ == pytest.approx(value_of(model, X, y), rel=1e-9)
    assert model.n_iter_ <= 200


@pytest.mark.parametrize("basis", ["rbf", "poly", Kernel("rbf", gamma=1.0), Kernel("linear")], ids=str)
@pytest.mark.parametrize("kind", [SMLR, RMLR])
@pytest.mark.parametrize("name", ["iris, standardised", "wine, standardised", "digits, standardised"])
def test_every_kernel_fit_comes_with_its_certificate(name, kind, basis):
    X, y = DATA[name]()
    model = kind(0.5, basis=basis).fit(X[:200], y[:200])
    assert model.dual_gap_ <= 1e-6
    assert model.status_ == "converged"


@pytest.mark.parametrize("kind", [SMLR, RMLR])
@pytest.mark.parametrize("name", [name for name in DATA if "standardised" in name])
def test_a_tight_tolerance_is_reached_on_standardised_data(name, kind):
    X, y = DATA[name]()
    assert kind(1.0, tol=1e-10).fit(X, y).dual_gap_ <= 1e-10


@pytest.mark.parametrize("name", ["iris", "wine, standardised", "more columns than rows"])
def test_the_certificate_bounds_the_distance_to_the_optimum(name):
    """At every step of a fit: objective - optimum <= gap * objective."""
    X, y = DATA[name]()
    optimum = SMLR(0.5, tol=1e-11).fit(X, y).objective_
    for model in (SMLR(0.5, tol=1e-3), SMLR(0.5, solver="component-wise", tol=1e-3)):
        for step in model.fit(X, y).history_:
            assert step.objective - optimum <= step.gap * step.objective + 1e-9 * optimum


@pytest.mark.parametrize("solver", ["newton", "component-wise", "component-wise-greedy", "bound"])
@pytest.mark.parametrize("kind", [SMLR, RMLR])
@pytest.mark.parametrize("m", [2, 3])
def test_all_solvers_reach_the_same_optimum(m, kind, solver):
    X, y = clusters(m=m)
    expected = kind(1.5, tol=1e-10).fit(X, y)
    found = kind(1.5, solver=solver).fit(X, y)
    assert found.dual_gap_ <= 1e-6
    assert found.objective_ <= expected.objective_ * (1 + 1e-6)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=2e-3)


def test_the_history_has_a_row_for_each_iteration():
    X, y = clusters()
    for model in (SMLR(0.5), RMLR(0.5)):
        history = model.fit(X, y).history_
        assert len(history) == model.n_iter_ + 1
        assert history[-1].objective == pytest.approx(model.objective_)
        assert history[-1].violation == model.violation_
        assert history[-1].gap == model.dual_gap_
        assert np.all(np.diff([step.objective for step in history]) <= 1e-9 * history[0].objective)
        assert np.all(np.diff([step.seconds for step in history]) >= 0)


def test_unpenalised_columns_are_fitted_and_certified():
    """|G| <= lam c for the others; the free columns and the intercept are orthogonal to the residuals."""
    X, y = clusters()
    factor = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 2.0])
    model = SMLR(4.0, penalty_factor=factor, tol=1e-10).fit(X, y)
    assert model.dual_gap_ <= 1e-10
    R = model.predict_proba(X) - np.eye(3)[y]
    G = R.T @ X
    assert_allclose(G[:, factor == 0], 0.0, atol=1e-6)
    assert_allclose(R.sum(axis=0), 0.0, atol=1e-6)
    assert (np.abs(G) <= 4.0 * factor + 1e-5).all()


# -- against scikit-learn

L1 = (
    {"l1_ratio": 1.0}
    if hasattr(LogisticRegression(), "l1_ratio") and LogisticRegression().l1_ratio is not None
    else {"penalty": "l1"}
)


@pytest.mark.parametrize("m", [2, 3])
def test_smlr_is_no_worse_than_saga(m):
    """The same optimum: never above saga's objective, and saga's probabilities in the limit."""
    X, y = clusters(m=m, n=150)
    lam = 4.0
    peer = LogisticRegression(C=1 / lam, solver="saga", tol=1e-9, max_iter=20_000, random_state=0, **L1).fit(X, y)
    model = SMLR(lam, tol=1e-10).fit(X, y)
    value = objective(peer.coef_, peer.intercept_, X, y, lam=lam)
    assert model.objective_ <= value * (1 + 1e-9)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)


def test_smlr_is_no_worse_than_liblinear():
    """Without an intercept, which liblinear penalises."""
    X, y = clusters(m=2, n=150)
    lam = 4.0
    peer = LogisticRegression(C=1 / lam, solver="liblinear", tol=1e-10, max_iter=10_000, fit_intercept=False, **L1).fit(
        X, y
    )
    model = SMLR(lam, fit_intercept=False, tol=1e-10).fit(X, y)
    value = objective(peer.coef_, peer.intercept_, X, y, lam=lam)
    assert model.objective_ <= value * (1 + 1e-9)
    assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert_array_equal(model.intercept_, [0.0])


@pytest.mark.parametrize("lam", [0.1, 10.0])
@pytest.mark.parametrize("m", [2, 3, 5])
def test_rmlr_is_scikit_learns_ridge(m, lam):
    """C = 1 / lam; in both, two classes share one column of weights and one penalty."""
    X, y = clusters(m=m, n=150)
    peer = LogisticRegression(C=1 / lam, tol=1e-10, max_iter=10_000).fit(X, y)
    model = RMLR(lam, tol=1e-10).fit(X, y)
    value = objective(peer.coef_, peer.intercept_, X, y, l2=lam)
    assert model.objective_ <= value * (1 + 1e-10)
    assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_rmlr_weights_samples_and_classes_as_scikit_learn():
    X, y = clusters(n=150)
    weight = np.random.default_rng(0).uniform(0, 2, 150)
    for class_weight in ({0: 2.0, 2: 0.5}, None):
        peer = LogisticRegression(tol=1e-10, max_iter=10_000, class_weight=class_weight).fit(X, y, weight)
        model = RMLR(1.0, tol=1e-10, class_weight=class_weight).fit(X, y, weight)
        assert_allclose(model.coef_, peer.coef_, atol=1e-4)


# -- the path


@pytest.mark.parametrize(
    "name", ["iris", "wine, standardised", "breast cancer, standardised", "more columns than rows"]
)
def test_the_path_is_made_of_single_fits(name):
    X, y = DATA[name]()
    found = path(X, y, 8)
    assert len(found) == len(found.lams) == 8
    assert (np.diff(found.lams) < 0).all()
    assert (found.dual_gaps <= 1e-6).all()
    assert_array_equal(found.n_kept, [np.any(coef, axis=0).sum() for coef in found.coefs])
    assert found.n_kept[0] == 0
    assert found.n_kept[-1] > 0
    assert_array_equal(found.classes, np.unique(y))
    for i in range(1, 8):
        single = SMLR(found.lams[i]).fit(X, y)
        assert found.objectives[i] == pytest.approx(single.objective_, rel=2e-6)
        value = objective(found.coefs[i], found.intercepts[i], X, y, lam=found.lams[i])
        assert value == pytest.approx(found.objectives[i], rel=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"parametrization": "reference"},
        {"l2": 1.0},
        {"standardize": True},
        {"basis": "rbf", "eps": 0.1},
        {"fit_intercept": False},
        {"penalty_factor": [0.0, 1.0, 2.0, 1.0, 1.0, 0.5]},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("m", [2, 3])
def test_the_path_takes_the_parameters_of_the_model(m, parameters):
    X, y = clusters(m=m)
    weight = np.linspace(0.5, 1.5, len(y))
    found = path(X, y, 5, sample_weight=weight, **parameters)
    model = {name: value for name, value in parameters.items() if name != "eps"}
    for i in range(1, 5):
        single = SMLR(found.lams[i], **model).fit(X, y, sample_weight=weight)
        assert found.objectives[i] == pytest.approx(single.objective_, rel=2e-6)
        assert found.coefs[i].shape == single.coef_.shape


@pytest.mark.parametrize("m", [2, 3])
def test_a_path_may_have_one_point(m):
    X, y = clusters(m=m)
    lam = 0.1 * path(X, y, 1).lams[0]
    single, found = SMLR(lam).fit(X, y), path(X, y, [lam])
    assert_array_equal(found.coefs[0], single.coef_)
    assert_array_equal(found.intercepts[0], single.intercept_)
    assert found.n_kept[0] == len(single.support_) > 0
    searched = SMLRCV([lam], cv=3).fit(X, y)
    assert_array_equal(searched.path_.coefs[0], searched.coef_)


def test_the_path_goes_down_to_the_fraction_asked_for():
    X, y = clusters()
    assert path(X, y, 5, eps=0.2).lams[[0, -1]] == pytest.approx(path(X, y, 1).lams[0] * np.array([1.0, 0.2]))
    assert path(X, y, 4).lams[-1] / path(X, y, 4).lams[0] == pytest.approx(1e-3)
    assert path(X[:8, :], y[:8] % 2, 4).lams.shape == (4,)
    wide, labels = clusters(n=30, p=60)
    assert path(wide, labels, 3).lams[-1] / path(wide, labels, 3).lams[0] == pytest.approx(1e-2)


def test_the_path_takes_strengths_in_any_order_and_returns_them_decreasing():
    X, y = clusters()
    found = path(X, y, [1.0, 8.0, 0.0, 3.0])
    assert_array_equal(found.lams, [8.0, 3.0, 1.0, 0.0])
    assert found.objectives[-1] == pytest.approx(SMLR(0.0).fit(X, y).objective_, rel=1e-6)


def largest_strength(X, y, factor, **parameters):
    """max |G_jl| / c_jl over c_jl > 0, at the maximum-likelihood fit of the intercept and the free columns."""
    free = factor == 0
    null = SMLR(0.0, tol=1e-12, **parameters).fit(np.column_stack([X[:, free], np.zeros(len(y))]), y)
    R = null.predict_proba(np.column_stack([X[:, free], np.zeros(len(y))])) - np.eye(len(np.unique(y)))[y]
    return np.abs((R[:, 1:] if R.shape[1] == 2 else R).T @ X[:, ~free] / factor[~free]).max()


@pytest.mark.parametrize(
    "factor", [np.ones(6), np.array([0.0, 1.0, 0.5, 2.0, 0.0, 1.0])], ids=["all penalised", "two free"]
)
@pytest.mark.parametrize("m", [2, 3])
def test_weights_appear_just_below_the_largest_strength(m, factor):
    """lam_max is the smallest strength at which every penalised weight is 0."""
    X, y = clusters(m=m)
    largest = path(X, y, 1, penalty_factor=factor).lams[0]
    assert largest == pytest.approx(largest_strength(X, y, factor), rel=1e-7)
    free = factor == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if not free.any() else "error", EmptyModelWarning)
        for lam in (largest, 2 * largest):
            assert_array_equal(SMLR(lam * (1 + 1e-9), penalty_factor=factor).fit(X, y).get_support(), free)
    below = SMLR(0.999 * largest, penalty_factor=factor, tol=1e-10).fit(X, y)
    assert below.get_support()[~free].sum() >= 1


# -- the choice of the strength


def test_the_strength_chosen_is_the_best_on_the_rows_left_out():
    X, y = clusters()
    model = SMLRCV(lams=12, cv=4).fit(X, y)
    assert isinstance(model.lam_, float)
    assert model.lams_.shape == (12,)
    assert model.scores_.shape == (4, 12)
    best = model.scores_.mean(axis=0).argmax()
    assert model.lam_ == model.lams_[best]
    assert_allclose(model.lams_, path(X, y, 12).lams)
    assert_array_equal(model.path_.lams, model.lams_)
    assert_allclose(model.path_.coefs[best], model.coef_)
    assert_array_equal(model.path_.at(model.lam_).coef, model.path_.coefs[best])
    assert model.lam_ == (model.lam_min_ if model.rule == "min" else model.lam_1se_)
    single = SMLR(model.lam_).fit(X, y)
    assert model.objective_ == pytest.approx(single.objective_, rel=2e-6)
    assert_allclose(model.predict_proba(X), single.predict_proba(X), atol=2e-3)
    assert model.dual_gap_ <= 1e-6


def test_scores_are_mean_log_likelihoods_of_single_fits():
    X, y = clusters()
    lams = [8.0, 2.0, 0.5]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = SMLRCV(lams=lams, cv=folds).fit(X, y).scores_
    for f, (train, test) in enumerate(folds.split(X, y)):
        for i, lam in enumerate(lams):
            P = SMLR(lam).fit(X[train], y[train]).predict_proba(X[test])
            assert found[f, i] == pytest.approx(-log_loss(y[test], P), abs=1e-4)


@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("parameters", [{}, {"parametrization": "reference"}, {"basis": "rbf", "eps": 0.1}], ids=str)
@pytest.mark.parametrize("m", [2, 3])
def test_the_default_score_is_scikit_learns_log_loss(m, parameters, weighted, offset):
    """Weights and offsets of the rows left out count in both."""
    X, y = clusters(m=m)
    rng = np.random.default_rng(0)
    others = {}
    if weighted:
        others["sample_weight"] = rng.uniform(0.0, 2.0, len(y))
    if offset:
        others["offset"] = 2 * rng.normal(size=(len(y), m))
    model = SMLRCV(lams=4, cv=3, **parameters)
    own = clone(model).fit(X, y, **others)
    theirs = clone(model).set_params(scoring="neg_log_loss").fit(X, y, **others)
    assert_allclose(own.scores_, theirs.scores_, atol=1e-9)


@pytest.mark.parametrize(
    "scoring",
    ["accuracy", "balanced_accuracy", "roc_auc_ovr", "f1_macro", "neg_brier_score", make_scorer(accuracy_score)],
    ids=str,
)
@pytest.mark.parametrize("m", [2, 3])
def test_any_scorer_chooses(m, scoring):
    if scoring == "neg_brier_score" and m == 3 and sklearn.__version__.startswith("1.7"):
        pytest.skip("the Brier score of several classes is newer")
    X, y = clusters(m=m)
    model = SMLRCV(lams=5, cv=3, scoring=scoring).fit(X, y)
    assert np.isfinite(model.scores_).all()
    assert model.lam_ == model.lams_[model.scores_.mean(axis=0).argmax()]


def test_a_scorer_sees_a_model_it_can_ask_anything():
    """A scorer may be a function of a fitted estimator, X and y."""
    X, y = clusters()
    seen = []

    def score(model, X, y):
        seen.append((type(model), model.lam, len(model.support_), model.n_features_in_))
        return model.score(X, y)

    model = SMLRCV(lams=[20.0, 1.0], cv=3, scoring=score).fit(X, y)
    assert len(seen) == 6
    assert [lam for _, lam, _, _ in seen[:2]] == [20.0, 1.0]
    assert all(issubclass(kind, SMLR) and inputs == 6 for kind, _, _, inputs in seen)
    assert model.scores_.shape == (3, 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_one_standard_error_rule_prefers_the_stronger_prior(seed):
    """The largest strength whose mean score is within one standard error of the best."""
    X, y = clusters(seed=seed)
    least, one = SMLRCV(lams=12, cv=4).fit(X, y), SMLRCV(lams=12, cv=4, rule="1se").fit(X, y)
    assert_allclose(least.scores_, one.scores_)
    mean = one.scores_.mean(axis=0)
    best = mean.argmax()
    error = one.scores_[:, best].std(ddof=1) / np.sqrt(4)
    assert one.lam_ == one.lams_[mean >= mean[best] - error].max()
    assert one.lam_ >= least.lam_
    assert len(one.support_) <= len(least.support_)


@pytest.mark.parametrize(
    "cv",
    [KFold(3), ShuffleSplit(4, random_state=0), [(np.arange(60), np.arange(60, 90))]],
    ids=["KFold", "ShuffleSplit", "iterable"],
)
def test_any_splitter_splits(cv):
    X, y = clusters()
    model = SMLRCV(lams=4, cv=cv).fit(X, y)
    assert model.scores_.shape == (cv.get_n_splits() if hasattr(cv, "get_n_splits") else 1, 4)


def test_integer_folds_are_stratified():
    X, y = clusters()
    found, expected = SMLRCV(lams=4, cv=3).fit(X, y), SMLRCV(lams=4, cv=StratifiedKFold(3)).fit(X, y)
    assert_array_equal(found.scores_, expected.scores_)


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.parametrize("names", [np.array([0, 1, 2]), np.array(["a", "b", "c"])], ids=["numbers", "text"])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"parametrization": "reference"},
        {"class_weight": "balanced"},
        {"class_weight": True},
        {"penalty_factor": np.ones((3, 6))},
    ],
    ids=["", "reference", "balanced", "class_weight", "penalty_factor"],
)
def test_a_class_may_be_missing_from_a_fold(parameters, scoring, names):
    """Sorted rows in folds without shuffling: each fold is trained without one of the classes."""
    X, y = clusters()
    order = np.argsort(y, kind="stable")
    X, y = X[order], names[y[order]]
    if parameters.get("class_weight") is True:
        parameters = {"class_weight": dict.fromkeys(names.tolist(), 2.0)}
    model = SMLRCV(lams=4, cv=KFold(3), scoring=scoring, **parameters).fit(X, y)
    assert np.isfinite(model.scores_).all()
    assert_array_equal(model.classes_, names)
    if scoring == "accuracy":
        assert_array_equal(model.scores_, 0.0)
    else:
        assert (model.scores_ < -100).all()


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
def test_offsets_go_with_their_classes_when_one_is_missing_from_a_fold():
    X, y = clusters()
    order = np.argsort(y, kind="stable")
    offset = np.random.default_rng(0).normal(size=(90, 3))
    model = SMLRCV(lams=4, cv=KFold(3)).fit(X[order], y[order], offset=offset)
    assert np.isfinite(model.scores_).all()


def test_a_search_over_a_precomputed_kernel_is_that_over_the_kernel():
    X, y = clusters()
    by_function = SMLRCV(lams=4, eps=0.1, cv=3, basis=Kernel("rbf", gamma=0.05)).fit(X, y)
    by_matrix = SMLRCV(lams=4, eps=0.1, cv=3, basis="precomputed").fit(rbf_kernel(X, gamma=0.05), y)
    assert_allclose(by_matrix.scores_, by_function.scores_, atol=1e-8)
    assert by_matrix.lam_ == pytest.approx(by_function.lam_)


def test_rows_of_weight_zero_count_neither_in_training_nor_in_scores():
    X, y = clusters()
    weight = np.ones(90)
    weight[80:] = 0.0
    folds = [(np.arange(90) % 3 != f, np.arange(90) % 3 == f) for f in range(3)]
    kept = [(np.flatnonzero(train[:80]), np.flatnonzero(test[:80])) for train, test in folds]
    every = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in folds]
    X_wild = X.copy()
    X_wild[80:] *= 100
    found = SMLRCV(lams=[5.0, 1.0], cv=every, tol=1e-10).fit(X_wild, y, sample_weight=weight)
    expected = SMLRCV(lams=[5.0, 1.0], cv=kept, tol=1e-10).fit(X[:80], y[:80])
    assert_allclose(found.scores_, expected.scores_, atol=1e-7)


def test_folds_side_by_side_give_the_same_scores():
    X, y = clusters()
    assert_array_equal(SMLRCV(lams=5, cv=3, n_jobs=2).fit(X, y).scores_, SMLRCV(lams=5, cv=3).fit(X, y).scores_)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_folds_report_what_they_missed_from_other_processes_too(backend):
    X, y = clusters()
    with (
        parallel_config(backend=backend),
        pytest.warns(sklearn.exceptions.ConvergenceWarning, match="such fits") as told,
    ):
        SMLRCV(lams=[1.0, 1e-3], cv=3, n_jobs=2, max_iter=1).fit(X, y)
    counts = [int(str(each.message).split("the worst of ")[1].split()[0]) for each in told]
    assert len(counts) == 1
    assert counts[0] > 2  # more than the path on all samples has


# -- warm starts and limits


@pytest.mark.parametrize("solver", ["newton", "component-wise", "bound"])
@pytest.mark.parametrize("kind", [SMLR, RMLR])
@pytest.mark.parametrize("m", [2, 3])
def test_a_warm_start_gives_the_same_answer_in_fewer_iterations(m, kind, solver):
    X, y = clusters(m=m)
    model = kind(0.5, warm_start=True, solver=solver).fit(X, y)
    first, value = model.n_iter_, model.objective_
    model.fit(X, y)
    assert model.n_iter_ < first
    assert model.objective_ == pytest.approx(value, rel=2e-6)
    model.set_params(lam=0.6).fit(X, y)
    cold = kind(0.6, solver=solver).fit(X, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=2e-6)


@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
def test_a_warm_start_from_another_problem_does_no_harm(parametrization):
    """Other columns, other classes, another basis or parametrisation: the optimum is the same."""
    X, y = clusters()
    model = SMLR(0.5, warm_start=True, parametrization=parametrization)
    for data, labels in ((X, y), (X[:, :3], y), (X, y % 2), (X, y + 5), (X, y)):
        value = model.fit(data, labels).objective_
        cold = SMLR(0.5, parametrization=parametrization).fit(data, labels)
        assert value == pytest.approx(cold.objective_, rel=2e-6)
    other = "reference" if parametrization == "symmetric" else "symmetric"
    value = model.set_params(parametrization=other).fit(X, y).objective_
    assert value == pytest.approx(SMLR(0.5, parametrization=other).fit(X, y).objective_, rel=2e-6)
    value = model.set_params(basis="rbf").fit(X, y).objective_
    assert value == pytest.approx(SMLR(0.5, parametrization=other, basis="rbf").fit(X, y).objective_, rel=2e-6)


def test_a_fit_without_warm_start_forgets_the_last_one():
    X, y = clusters()
    once, twice = SMLR(0.5).fit(X, y), SMLR(0.5).fit(X[::-1] * 2, y).fit(X, y)
    assert_array_equal(twice.coef_, once.coef_)
    assert twice.n_iter_ == once.n_iter_


def test_attributes_of_an_earlier_basis_do_not_linger():
    X, y = clusters()
    model = SMLR(0.5, basis="rbf").fit(X, y)
    assert hasattr(model, "relevance_vectors_")
    assert not hasattr(model.set_params(basis="linear").fit(X, y), "relevance_vectors_")


def test_the_seed_does_not_change_the_optimum():
    X, y = clusters()
    fits = [SMLR(0.5, solver="component-wise", random_state=seed).fit(X, y).objective_ for seed in (None, 1, 2)]
    assert_allclose(fits, fits[0], rtol=2e-6)


def test_max_iter_is_obeyed():
    X, y = clusters(p=40)
    for limit in (1, 2, 3):
        with pytest.warns(sklearn.exceptions.ConvergenceWarning):
            model = SMLR(0.05, max_iter=limit, tol=1e-14, solver="component-wise").fit(X, y)
        assert model.n_iter_ == limit


# -- probabilities and decisions


@pytest.mark.parametrize("kind", [SMLR, RMLR])
@pytest.mark.parametrize("m", [2, 3])
def test_probabilities_are_consistent(m, kind):
    X, y = clusters(m=m)
    model = kind(0.5).fit(X, y)
    P, F = model.predict_proba(X), model.decision_function(X)
    assert F.shape == ((90,) if m == 2 else (90, 3))
    assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
    assert_allclose(np.exp(model.predict_log_proba(X)), P, rtol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])
    scores = np.column_stack([np.zeros(90), F]) if m == 2 else F
    assert_allclose(np.log(P), scores - logsumexp(scores, axis=1, keepdims=True), atol=1e-12)
    assert_allclose(scores[:, 1:] - scores[:, :1], np.log(P[:, 1:] / P[:, :1]), atol=1e-10)


@pytest.mark.parametrize("m", [2, 3])
def test_log_probabilities_stay_finite_where_probabilities_round_to_zero(m):
    X, y = clusters(m=m)
    model = SMLR(0.5).fit(X, y)
    for factor in (1e3, 1e8, 1e100):
        logarithm = model.predict_log_proba(X * factor)
        assert np.isfinite(logarithm).all()
        assert logarithm.min() < -100
        assert_allclose(logarithm.max(axis=1), 0.0, atol=1)
        P = model.predict_proba(X * factor)
        assert np.isfinite(P).all()
        assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)


def test_training_on_extreme_scores_stays_finite():
    """Columns of a million with tiny penalties: no overflow, no NaN."""
    X, y = clusters()
    model = RMLR(1e-3).fit(X * 1e6, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_log_proba(X * 1e6)).all()
    assert np.isfinite(SMLR(2.0).fit(X, y, offset=np.tile([0.0, 500.0, -500.0], (90, 1))).coef_).all()


# -- supports


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_support_is_where_any_class_has_a_weight(m):
    X, y = clusters(m=m, p=12)
    model = SMLR(8.0).fit(X, y)
    assert 0 < len(model.support_) < 12
    assert_array_equal(model.support_, np.flatnonzero(np.any(model.coef_ != 0, axis=0)))
    assert_array_equal(model.get_support(indices=True), model.support_)
    assert_array_equal(np.flatnonzero(model.get_support()), model.support_)
    assert model.get_support().dtype == bool
    assert_array_equal(model.transform(X), X[:, model.support_])
    assert_array_equal(model.transform(sparse.csr_array(X)).toarray(), X[:, model.support_])
    assert_array_equal(SMLR(8.0).fit_transform(X, y), X[:, model.support_])


def test_a_returned_support_may_be_changed_without_harm():
    X, y = clusters()
    model = SMLR(2.0).fit(X, y)
    expected = model.predict_proba(X)
    model.get_support(indices=True)[:] = 0
    model.get_support()[:] = False
    assert_array_equal(model.predict_proba(X), expected)


def test_a_prediction_needs_only_the_columns_kept():
    """Inputs that were switched off may hold anything finite."""
    X, y = clusters(p=12)
    model = SMLR(8.0).fit(X, y)
    other = np.where(model.get_support(), X, 1e300)
    assert_allclose(model.predict_proba(other), model.predict_proba(X), atol=1e-14)


def test_a_kernel_prediction_needs_only_the_relevance_vectors():
    """F(x) = sum_r K(x, r) w_r + b."""
    X, y = clusters()
    model = SMLR(1.0, basis=Kernel("rbf", gamma=0.05)).fit(X, y)
    assert 0 < len(model.relevance_vectors_) < 60
    assert_array_equal(model.relevance_vectors_, X[model.basis_.center_index_[model.support_]])
    F = rbf_kernel(X, model.relevance_vectors_, gamma=0.05) @ model.coef_[:, model.support_].T + model.intercept_
    assert_allclose(model.decision_function(X), F, atol=1e-10)
    assert_allclose(model.transform(X), rbf_kernel(X, model.relevance_vectors_, gamma=0.05), atol=1e-12)


@pytest.mark.parametrize("kernel", ["poly", "linear", "rbf"])
def test_a_kernel_value_in_single_precision_does_not_depend_on_the_other_centres(kernel):
    """A prediction asks for the columns of the support alone; sums in single precision would differ by their number."""
    X = np.random.default_rng(0).normal(50.0, 1.0, (300, 40)).astype(np.float32)
    basis = Kernel(kernel).fit(X, np.ones(300))
    some = np.array([3, 50, 111])
    assert_array_equal(basis.transform(X[5:6], some), basis.transform(X)[5:6, some])


def test_equal_rows_are_one_centre():
    X, y = clusters()
    model = SMLR(0.5, basis="rbf").fit(np.vstack([X, X[:10]]), np.append(y, y[:10]))
    assert model.coef_.shape == (3, 90)
    assert model.get_support().shape == (90,)


def test_a_ridge_keeps_every_column():
    X, y = clusters()
    assert_array_equal(RMLR(1.0).fit(X, y).support_, np.arange(6))


def test_more_penalty_keeps_less_weight():
    """sum |W| decreases with lam; so does the likelihood."""
    X, y = clusters()
    found = path(X, y, 10, tol=1e-9)
    size = np.abs(found.coefs).sum(axis=(1, 2))
    assert (np.diff(size) >= -1e-6).all()
    loss = found.objectives - found.lams * size
    assert (np.diff(loss) <= 1e-6).all()


# -- penalties and weights of classes


def test_penalty_factors_of_single_weights_act_on_their_class():
    """A factor for each class and column: a very large one switches one weight off, 0 frees one."""
    X, y = clusters()
    factor = np.ones((3, 6))
    factor[0, 0], factor[1, 1] = 1e6, 0.0
    model = SMLR(2.0, penalty_factor=factor, tol=1e-10).fit(X, y)
    assert model.coef_[0, 0] == 0.0
    G = (model.predict_proba(X) - np.eye(3)[y]).T @ X
    assert abs(G[1, 1]) < 1e-5
    assert (np.abs(G) <= 2.0 * factor * (1 + 1e-6) + 1e-5).all()
    assert objective(model.coef_, model.intercept_, X, y, lam=2.0, factor=factor) == pytest.approx(model.objective_)
    same = SMLR(2.0, penalty_factor=np.tile(np.arange(1.0, 7.0), (3, 1)), tol=1e-10).fit(X, y)
    assert_allclose(same.coef_, SMLR(2.0, penalty_factor=np.arange(1.0, 7.0), tol=1e-10).fit(X, y).coef_, atol=1e-6)


def test_penalty_factors_of_two_classes_and_of_the_reference_have_a_row_for_each_column_of_weights():
    X, y = clusters(m=2)
    one = SMLR(2.0, penalty_factor=np.arange(1.0, 7.0)[None]).fit(X, y)
    assert_allclose(one.coef_, SMLR(2.0, penalty_factor=np.arange(1.0, 7.0)).fit(X, y).coef_, atol=1e-9)
    X, y = clusters()
    factor = np.arange(1.0, 13.0).reshape(2, 6) / 6
    model = SMLR(2.0, parametrization="reference", penalty_factor=factor).fit(X, y)
    value = objective(model.coef_, model.intercept_, X, y, lam=2.0, factor=np.vstack([factor, np.zeros(6)]))
    assert value == pytest.approx(model.objective_, rel=1e-10)


def test_balanced_class_weights_make_classes_of_equal_weight():
    X, y = clusters(n=120)
    keep = (y != 0) | (np.arange(120) % 4 == 0)
    X, y = X[keep], y[keep]
    counts = np.bincount(y)
    balanced = SMLR(1.0, class_weight="balanced", tol=1e-10).fit(X, y)
    by_hand = SMLR(1.0, class_weight=dict(enumerate(len(y) / (3 * counts))), tol=1e-10).fit(X, y)
    assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-8)
    share = np.average(balanced.predict_proba(X), axis=0, weights=(len(y) / (3 * counts))[y])
    assert_allclose(share, 1 / 3, atol=1e-6)


def test_class_weights_may_name_only_some_classes():
    X, y = clusters()
    label = np.array(["no", "perhaps", "yes"])[y]
    model = SMLR(1.0, class_weight={"yes": 3.0}, tol=1e-10).fit(X, label)
    by_hand = SMLR(1.0, tol=1e-10).fit(X, label, sample_weight=np.where(label == "yes", 3.0, 1.0))
    assert_allclose(model.coef_, by_hand.coef_, atol=1e-8)


def test_the_mean_probability_of_each_class_is_its_frequency():
    """The intercept's optimality condition, which an unpenalised intercept makes exact."""
    for m in (2, 3):
        X, y = clusters(m=m)
        for model in (SMLR(2.0, tol=1e-10), RMLR(2.0, tol=1e-10), SMLR(0.5, basis="rbf", tol=1e-10)):
            assert_allclose(model.fit(X, y).predict_proba(X).mean(axis=0), np.bincount(y) / 90, atol=1e-8)


# -- groups, offsets and missing classes around a fit


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
def test_groups_reach_the_splitter():
    """Copies of each sample stay together: their classes, drawn at random, cannot be learned from the copies."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 30)), rng.integers(0, 2, 40)
    groups = np.tile(np.arange(40), 3)
    together = SMLRCV(lams=8, cv=GroupKFold(5)).fit(np.tile(X, (3, 1)), np.tile(y, 3), groups=groups)
    apart = SMLRCV(lams=8, cv=KFold(5, shuffle=True, random_state=0)).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert apart.scores_.mean(axis=0).max() > together.scores_.mean(axis=0).max() + 0.1
    with pytest.raises(ValueError, match="groups"):
        SMLRCV(lams=3, cv=GroupKFold(5)).fit(X, y)


def test_the_score_takes_an_offset_as_the_fit_does():
    rng = np.random.default_rng(1)
    X, offset = rng.standard_normal((200, 2)), 3 * rng.standard_normal(200)
    y = (X[:, 0] + offset + rng.logistic(size=200) > 0).astype(int)
    model = SMLR(1.0).fit(X, y, offset=offset)
    assert model.score(X, y, offset=offset) == np.mean(model.predict(X, offset) == y) > model.score(X, y)


def test_a_fold_may_lack_a_class_that_class_weight_names():
    X, y = load_iris(return_X_y=True)
    weights = {0: 1.0, 1: 2.0, 2: 3.0}
    assert_allclose(
        SMLR(1.0, class_weight=weights).fit(X[:100], y[:100]).coef_,
        SMLR(1.0).fit(X[:100], y[:100], np.array([1.0, 2.0])[y[:100]]).coef_,
        atol=1e-8,
    )
