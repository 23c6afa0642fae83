"""Bad input is refused before work starts, with a message that says what was expected, what came and what to do.

A model that was not fitted stays so; one that was keeps its earlier fit. Fits that could not reach their optimum warn.
"""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import clusters, objective
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from smaller import RMLR, SMLR, SMLRCV, path
from smaller.basis import Kernel, Polynomial
from smaller.errors import ConvergenceWarning, EmptyModelWarning, Status

X, Y = clusters()
N, P = X.shape


def changed(X, value):
    X = X.copy()
    X[3, 2] = value
    return X


def arguments(X=X, y=Y, **others):
    return {"X": X, "y": y, **others}


MODELS = {"SMLR": SMLR(2.0), "RMLR": RMLR(2.0), "SMLRCV": SMLRCV(lams=4, cv=3)}

# What is wrong with the data; what the message must say.
BAD_DATA = {
    "NaN": (arguments(changed(X, np.nan)), "X contains NaN"),
    "infinity": (arguments(changed(X, -np.inf)), "X contains infinity"),
    "NaN in a sparse matrix": (arguments(sparse.csr_array(changed(X, np.nan))), "X contains NaN"),
    "text": (arguments(np.full((N, P), "a")), "could not convert string to float|dtype='numeric' is not compatible"),
    "complex": (arguments(X + 1j), "[Cc]omplex data not supported"),
    "missing value in a frame": (arguments(pd.DataFrame(changed(X, np.nan))), "X contains NaN"),
    "X with one dimension": (arguments(X[:, 0]), "Expected 2D array, got 1D array"),
    "X with three dimensions": (arguments(X[:, :, None]), "expected <= 2|dim 3"),
    "no rows": (arguments(X[:0], Y[:0]), r"0 sample\(s\).*minimum of 1 is required"),
    "no columns": (arguments(X[:, :0]), r"0 feature\(s\).*minimum of 1 is required"),
    "y too long": (arguments(y=np.append(Y, 0)), rf"inconsistent numbers of samples: \[{N}, {N + 1}\]"),
    "labels that cannot be sorted": (
        arguments(y=np.array([None, 1] * (N // 2), dtype=object)),
        "types that cannot be sorted together: NoneType, int; give all labels as numbers, or all as text",
    ),
    "y missing": (arguments(y=None), "requires y to be passed"),
    "y with two columns": (arguments(y=np.column_stack([Y, Y])), "y should be a 1d array"),
    "y with NaN": (arguments(y=np.where(Y == 0, np.nan, Y)), "y contains NaN"),
    "y continuous": (arguments(y=X[:, 0]), "continuous"),
    "one class": (arguments(y=np.zeros(N, int)), "at least two classes; got one class only: .*0"),
    "one class of positive weight": (arguments(sample_weight=Y == 0), "at least two classes; got one class only: .*0"),
    "one row": (arguments(X[:1], Y[:1]), "at least two classes; got one class only"),
    "weights of another length": (arguments(sample_weight=np.ones(N - 1)), rf"sample_weight.*\({N - 1},\).*\({N},\)"),
    "weights with two dimensions": (arguments(sample_weight=np.ones((N, 2))), "Sample weights must be 1D"),
    "negative weight": (arguments(sample_weight=np.linspace(-1, 1, N)), "[Nn]egative values in.*sample_weight"),
    "weights all zero": (arguments(sample_weight=np.zeros(N)), "at least one weight must not be zero"),
    "NaN weight": (arguments(sample_weight=np.full(N, np.nan)), "sample_weight contains NaN"),
    "infinite weight": (arguments(sample_weight=np.full(N, np.inf)), "sample_weight contains infinity"),
    "offset of another length": (arguments(offset=np.zeros((N + 1, 3))), rf"offset .*{N} samples.*\({N + 1}, 3\)"),
    "offset with too few columns": (arguments(offset=np.zeros((N, 2))), rf"offset .*\({N}, 3\).*got \({N}, 2\)"),
    "offset for two classes only": (arguments(offset=np.zeros(N)), rf"offset .*\({N}, 3\).*got \({N},\)"),
    "offset of two classes": (
        arguments(y=(Y > 0).astype(int), offset=np.zeros((N, 3))), rf"\({N},\) or \({N}, 2\).*got \({N}, 3\)"
    ),
    "offset a number": (arguments(offset=1.0), r"offset .*got shape \(\)"),
    "offset with NaN": (arguments(offset=np.full((N, 3), np.nan)), "offset contains NaN or infinity"),
}  # fmt: skip

# What is wrong with the parameters of SMLR; what the message must say.
BAD_PARAMETERS = {
    "lam negative": ({"lam": -1.0}, r"'lam' parameter of SMLR must be a float in the range \[0.*Got -1.0"),
    "lam NaN": ({"lam": np.nan}, "'lam' parameter of SMLR must be .*Got nan"),
    "lam infinite": ({"lam": np.inf}, "'lam' parameter of SMLR must be .*Got inf"),
    "lam text": ({"lam": "strong"}, "'lam' parameter of SMLR must be .*Got 'strong'"),
    "l2 negative": ({"l2": -0.1}, "'l2' parameter of SMLR must be .*Got -0.1"),
    "tol zero": ({"tol": 0.0}, "'tol' parameter of SMLR must be .*Got 0.0"),
    "max_iter zero": ({"max_iter": 0}, "'max_iter' parameter of SMLR must be .*Got 0"),
    "unknown basis": ({"basis": "fourier"}, "basis must be one of 'linear', 'quadratic', 'rbf', .*got 'fourier'"),
    "basis of another kind": ({"basis": 3}, "basis must be one of 'linear'.* or a basis object.*got 3"),
    "unknown kernel": ({"basis": Kernel("cubic")}, "kernel must be one of 'rbf', 'laplacian'.*; got 'cubic'"),
    "gamma negative": ({"basis": Kernel(gamma=-1.0)}, "gamma must be 'scale' or a positive number; got -1.0"),
    "gamma NaN": ({"basis": Kernel(gamma=np.nan)}, "gamma must be 'scale' or a positive number; got nan"),
    "gamma text": ({"basis": Kernel(gamma="auto")}, "gamma must be 'scale' or a positive number; got 'auto'"),
    "degree zero": ({"basis": Polynomial(0)}, "degree must be an integer of at least 1; got 0"),
    "degree a fraction": ({"basis": Polynomial(1.5)}, "degree must be an integer of at least 1; got 1.5"),
    "kernel of another shape": (
        {"basis": Kernel(lambda A, B: np.ones((len(A), 2)))}, rf"must return .*shape \({N}, {N}\).*got \({N}, 2\)"
    ),
    "kernel of a number": ({"basis": Kernel(lambda a, b: 1.0)}, rf"must return .*shape \({N}, {N}\).*got \(\)"),
    "kernel with NaN": ({"basis": Kernel(lambda A, B: np.full((len(A), len(B)), np.nan))}, "[Kk]ernel .*NaN"),
    "kernel matrix not square": ({"basis": "precomputed"}, rf"must be square in fit.*got shape \({N}, {P}\)"),
    "unknown solver": ({"solver": "magic"}, "'solver' parameter of SMLR must be a str among.*'newton'.*Got 'magic'"),
    "unknown parametrization": ({"parametrization": "first"}, "'parametrization' .*'reference'.*Got 'first'"),
    "penalty_factor too short": ({"penalty_factor": np.ones(P - 1)}, rf"\({P},\).* or \(3, {P}\).*got \({P - 1},\)"),
    "penalty_factor of another shape": ({"penalty_factor": np.ones((2, P))}, rf"\({P},\).*\(3, {P}\).*got \(2, {P}\)"),
    "penalty_factor transposed": ({"penalty_factor": np.ones((P, 3))}, rf"\(3, {P}\).*got \({P}, 3\)"),
    "penalty_factor negative": ({"penalty_factor": -np.ones(P)}, "must not be negative; the smallest is -1.0"),
    "penalty_factor NaN": ({"penalty_factor": np.full(P, np.nan)}, "penalty_factor has NaN"),
    "penalty_factor infinite": ({"penalty_factor": np.full(P, np.inf)}, "inf for every column.*keep at least one"),
    "class_weight of an unknown class": ({"class_weight": {0: 1.0, 7: 2.0}}, r"not have: \[7\].*are \[0, 1, 2\]"),
    "class_weight negative": ({"class_weight": {0: -1.0}}, "class_weight must be positive and finite.*-1.0"),
    "class_weight text": ({"class_weight": "fair"}, "'class_weight' parameter.*'balanced'.*Got 'fair'"),
    "random_state negative": ({"random_state": -1}, "'random_state' parameter.*Got -1"),
    "standardize a number": ({"standardize": 2}, "'standardize' parameter.*Got 2"),
}  # fmt: skip

BAD_SEARCHES = {
    "no strengths": ({"lams": 0}, "'lams' parameter of SMLRCV must be .*Got 0"),
    "an empty list of strengths": ({"lams": []}, r"lams must be a number of strengths, or a list.*got \[\]"),
    "a negative strength": ({"lams": [1.0, -1.0]}, r"lams must be .*not negative; got \[1.0, -1.0\]"),
    "a strength of NaN": ({"lams": [1.0, np.nan]}, "lams must be .*finite"),
    "strengths in two dimensions": ({"lams": [[1.0, 2.0]]}, "lams must be .*got"),
    "strengths in words": ({"lams": "many"}, "'lams' parameter of SMLRCV must be .*Got 'many'"),
    "strengths in a list of words": ({"lams": ["a", "b"]}, "lams must be .*got|could not convert"),
    "eps above 1": ({"eps": 2.0}, "'eps' parameter of SMLRCV must be .*Got 2.0"),
    "one fold": ({"cv": 1}, r"'cv' parameter of SMLRCV must be an int in the range \[2, inf\).*Got 1"),
    "folds in words": ({"cv": "five"}, "'cv' parameter of SMLRCV must be .*Got 'five'"),
    "no folds": ({"cv": []}, "cv .*at least one|no folds|no split"),
    "a fold without training rows": ({"cv": [(np.arange(0), np.arange(5))]}, r"minimum of 1 is required|empty"),
    "a fold trained on one class": (
        {"cv": [(np.flatnonzero(Y == 0), np.flatnonzero(Y > 0))]}, "at least two classes; got one class only"
    ),
    "penalty factors of a kernel's columns": (
        {"basis": "rbf", "penalty_factor": np.ones(N)},
        "SMLRCV takes no penalty_factor with a kernel basis",
    ),
    "unknown rule": ({"rule": "max"}, "'rule' parameter of SMLRCV must be .*Got 'max'"),
    "unknown scoring": ({"scoring": "beauty"}, "'beauty'"),
}  # fmt: skip


def assert_refused(model, data, message, error=ValueError):
    """The fit raises, and leaves the model as it was: unfitted, or with its earlier fit."""
    before = vars(model).copy()
    with pytest.raises(error, match=f"(?s){message}"):
        model.fit(**data)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@pytest.mark.parametrize("fault", BAD_DATA)
@pytest.mark.parametrize("name", MODELS)
def test_bad_data_are_refused_and_leave_the_model_unfitted(name, fault):
    model = clone(MODELS[name])
    assert_refused(model, *BAD_DATA[fault], error=(ValueError, TypeError))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("fault", BAD_DATA)
def test_bad_data_leave_an_earlier_fit_alone(fault):
    model = SMLR(2.0).fit(X, Y)
    expected = model.predict_proba(X)
    assert_refused(model, *BAD_DATA[fault], error=(ValueError, TypeError))
    assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("fault", BAD_PARAMETERS)
def test_bad_parameters_are_refused(fault):
    parameters, message = BAD_PARAMETERS[fault]
    model = SMLR(**parameters)
    assert_refused(model, arguments(), message)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("fault", BAD_PARAMETERS)
def test_bad_parameters_leave_an_earlier_fit_alone(fault):
    """Parameters may be set to anything afterwards; the fit belongs to those it was made with."""
    model = SMLR(2.0).fit(X, Y)
    expected = model.predict_proba(X)
    model.set_params(**BAD_PARAMETERS[fault][0])
    assert_refused(model, arguments(), BAD_PARAMETERS[fault][1])
    assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("fault", BAD_SEARCHES)
def test_bad_searches_are_refused(fault):
    parameters, message = BAD_SEARCHES[fault]
    model = SMLRCV(**{"lams": 4, "cv": 3, **parameters})
    assert_refused(model, arguments(), message)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    fitted = SMLRCV(lams=4, cv=3).fit(X, Y)
    expected = fitted.predict_proba(X)
    assert_refused(fitted.set_params(**parameters), arguments(), message)
    assert_array_equal(fitted.predict_proba(X), expected)


# A path has its own strengths and one solver.
NOT_OF_A_PATH = ("lam ", "unknown solver", "random_state")


@pytest.mark.parametrize(
    "parameters", [{"lam": 1.0}, {"solver": "newton"}, {"warm_start": True}, {"random_state": 0}], ids=str
)
def test_the_path_refuses_what_it_would_ignore(parameters):
    with pytest.raises(ValueError, match=f"path takes no {next(iter(parameters))}"):
        path(X, Y, 4, **parameters)


@pytest.mark.parametrize("fault", [fault for fault in BAD_PARAMETERS if not fault.startswith(NOT_OF_A_PATH)])
def test_the_path_refuses_the_same_parameters(fault):
    parameters, message = BAD_PARAMETERS[fault]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        path(X, Y, 4, **parameters)


@pytest.mark.parametrize("lams", [0, -3, [], [-1.0], [np.nan], [np.inf], [[1.0]], "many", 2.5, None])
def test_the_path_refuses_bad_strengths(lams):
    with pytest.raises((ValueError, TypeError), match=r"lams must be .*got"):
        path(X, Y, lams)


@pytest.mark.parametrize("eps", [0.0, -0.1, 1.5, np.nan, "small"])
def test_the_path_refuses_a_bad_fraction(eps):
    with pytest.raises((ValueError, TypeError), match=r"eps.*(must be|range)"):
        path(X, Y, 4, eps=eps)


def test_a_fold_that_weighs_nothing_is_refused():
    """Rows of weight 0 do not exist, so such a fold has nothing to be scored on."""
    weight = np.r_[np.zeros(30), np.ones(60)]
    for scoring in (None, "accuracy"):
        model = SMLRCV(lams=3, cv=KFold(3), scoring=scoring)
        assert_refused(model, arguments(sample_weight=weight), "fold .*weight 0")


def test_the_path_refuses_a_parameter_that_does_not_exist():
    with pytest.raises(TypeError, match="strength"):
        path(X, Y, 4, strength=3.0)


@pytest.mark.parametrize("name", MODELS)
def test_a_column_for_each_weight_is_asked_of_the_ridge_as_well(name):
    model = clone(MODELS[name]).set_params(penalty_factor=np.ones(P + 1))
    assert_refused(model, arguments(), rf"penalty_factor must have shape \({P},\).*got \({P + 1},\)")


def test_an_interrupted_fit_leaves_the_earlier_one():
    """Ctrl-C is no ValueError."""
    model = SMLR(0.3, basis="rbf").fit(X, Y)
    expected = model.predict_proba(X)

    def interrupted(A, B):
        raise KeyboardInterrupt

    assert_refused(model.set_params(basis=Kernel(interrupted)), arguments(), "", KeyboardInterrupt)
    assert_array_equal(model.predict_proba(X), expected)


# -- prediction


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform"])
def test_prediction_checks_its_input(method):
    unfitted, model = SMLR(), SMLR(2.0).fit(X, Y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(unfitted, method)(X)
    with pytest.raises(ValueError, match=f"X has {P - 1} features, but SMLR is expecting {P} features"):
        getattr(model, method)(X[:, 1:])
    with pytest.raises(ValueError, match="contains NaN"):
        getattr(model, method)(changed(X, np.nan))
    with pytest.raises(ValueError, match="Expected 2D array"):
        getattr(model, method)(X[0])


@pytest.mark.parametrize("method", ["get_support", "get_feature_names_out", "sparsify", "densify"])
def test_what_belongs_to_a_fit_needs_one(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(SMLR(), method)()


def test_a_precomputed_kernel_for_prediction_has_a_column_for_each_training_row():
    K = rbf_kernel(X, gamma=0.05)
    model = SMLR(0.3, basis="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match=f"X has {N - 1} features, but SMLR is expecting {N} features"):
        model.predict(K[:, 1:])
    assert_array_equal(model.predict(K[:4]), model.predict(K)[:4])


def test_a_kernel_function_is_checked_in_prediction_too():
    kernel = Kernel(lambda A, B: rbf_kernel(A, B, gamma=0.05) if len(A) == N else np.ones((len(A), 1)))
    model = SMLR(0.3, basis=kernel).fit(X, Y)
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(5, "):
        model.predict(X[:5])


@pytest.mark.parametrize(
    "offset", [np.zeros(N), np.zeros((N, 2)), np.zeros((N - 1, 3)), np.zeros((N, 3, 1)), 0.0], ids=np.shape
)
def test_an_offset_of_another_shape_is_refused_in_prediction(offset):
    model = SMLR(2.0).fit(X, Y)
    with pytest.raises(ValueError, match=rf"offset must have shape \({N}, 3\)"):
        model.predict_proba(X, offset=offset)


def test_an_offset_with_nan_is_refused_in_prediction():
    with pytest.raises(ValueError, match="offset contains NaN or infinity"):
        SMLR(2.0).fit(X, Y).predict_proba(X, offset=np.full((N, 3), np.nan))


# -- too large


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("degree", "columns"), [(60, 1000), (4, 1000), (1000, 10_000)])
def test_a_polynomial_that_is_too_large_is_refused_at_once(degree, columns, as_given):
    """1000 inputs have 10^96 products of degree up to 60: neither memory nor integers hold them."""
    wide = as_given(np.tile(X, (1, columns // P + 1))[:, :columns])
    model = SMLR(basis=Polynomial(degree))
    assert_refused(
        model, arguments(wide), f"polynomial basis of degree {degree} .*fewer inputs", (MemoryError, ValueError)
    )


def test_a_matrix_larger_than_the_memory_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    message = "would need a matrix of .*more than this machine's .*use fewer samples"
    assert_refused(SMLR(basis="rbf"), arguments(), "kernel basis " + message, MemoryError)
    assert_refused(SMLR(basis="rbf"), arguments(sparse.csr_array(X)), "kernel basis " + message, MemoryError)
    assert_refused(SMLR(basis="quadratic"), arguments(), "polynomial basis of degree 2 " + message, MemoryError)
    SMLR().fit(X, Y)  # X exists already


# -- fits that do not reach an optimum


def warned(kind, model, *data, **others):
    """The one warning of a fit, which points at the line that asked for it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(*data, **others)
    assert [warning.category for warning in found] == [kind]
    assert found[0].filename == __file__
    return str(found[0].message)


SEPARABLE = np.where(Y == 0, -1.0, 1.0)[:, None] * np.linspace(1, 2, N)[:, None]


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", [SMLR(0.0), RMLR(0.0), SMLR(0.0, parametrization="reference")], ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_separable_data_without_a_penalty_warn(m, model, as_given):
    """The likelihood has no maximum (Albert & Anderson 1984): the remedy is a penalty."""
    separated, y = clusters(m=m, spread=0.05)
    message = warned(ConvergenceWarning, clone(model), as_given(separated), y)
    assert "separate the classes" in message
    assert "lam > 0" in message


def test_data_separable_in_part_without_a_penalty_warn():
    """One class can be told from the other two, which overlap: quasi-separation, no maximum either."""
    for model in (SMLR(0.0), RMLR(0.0)):
        message = warned(ConvergenceWarning, model, np.column_stack([X, 10.0 * (Y == 0)]), Y)
        assert "separate the classes" in message
        assert "lam > 0" in message


@pytest.mark.parametrize("model", [SMLR(2.0), RMLR(2.0)], ids=repr)
def test_an_unpenalised_column_that_separates_warns(model):
    data = np.column_stack([X, SEPARABLE])
    model = clone(model).set_params(penalty_factor=np.r_[np.ones(P), 0.0])
    message = warned(ConvergenceWarning, model, data, (Y > 0).astype(int))
    assert "separate the classes" in message
    assert "penalty_factor" in message


@pytest.mark.parametrize("model", [SMLR, RMLR])
def test_separable_data_with_a_penalty_do_not_warn(model):
    separated, y = clusters(spread=0.01)
    fitted = model(1e-3).fit(separated, y)
    assert fitted.dual_gap_ <= 1e-6
    assert fitted.score(separated, y) == 1.0


@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
@pytest.mark.parametrize("model", [SMLR(0.0), RMLR(0.0)], ids=repr)
@pytest.mark.parametrize("m", [2, 3])
def test_maximum_likelihood_on_overlapping_classes_is_found(m, model, parametrization):
    """Against a general-purpose minimiser of the negative log-likelihood."""
    data, y = clusters(m=m)
    weight = np.linspace(0.5, 2.0, len(y))

    def value(z):
        W = z.reshape(m - 1, P + 1)
        W = W if m == 2 else np.vstack([W, np.zeros(P + 1)])
        return objective(W[:, :P], W[:, P], data, y, weight=weight)

    expected = minimize(value, np.zeros((m - 1) * (P + 1)), method="BFGS", options={"gtol": 1e-6})
    model = clone(model).set_params(parametrization=parametrization).fit(data, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(expected.fun, rel=1e-8)
    assert model.violation_ <= 1e-6
    if m == 2:
        assert_allclose(np.append(model.coef_, model.intercept_), expected.x, atol=1e-4)


@pytest.mark.parametrize(
    "model", [SMLR(0.5), RMLR(0.5), SMLR(0.5, solver="component-wise"), SMLR(0.5, solver="bound")], ids=repr
)
def test_stopping_early_says_how_far_the_fit_came_and_what_to_do(model):
    model = clone(model).set_params(max_iter=1, tol=1e-14)
    message = warned(ConvergenceWarning, model, X, Y)
    assert "after 1 iterations (max_iter)" in message
    assert f"{model.violation_:.1e}" in message
    assert f"duality gap is {model.dual_gap_:.1e}" in message
    assert "tol=1.0e-14" in message
    assert "raise max_iter, or raise tol" in message
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.CONVERGED])
def test_every_status_says_what_happened_and_what_to_do(status):
    """Models put their name before the sentence and a full stop after it."""
    sentence = status.sentence(n_iter=7, gap=1e-3, violation=1e-4, tol=1e-6, lam=2.0, noise=1e-9)
    happened, _, remedy = sentence.partition("; ")
    assert happened
    assert remedy
    assert "{" not in sentence
    assert not sentence.endswith(".")


def test_a_search_that_stops_early_says_so_once():
    message = warned(ConvergenceWarning, SMLRCV(lams=[0.1, 0.2, 0.3], cv=3, max_iter=1, tol=1e-14), X, Y)
    assert "raise max_iter" in message


def test_a_path_that_stops_early_says_so_once():
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as found:
        path(X, Y, [0.1, 0.2, 0.3], max_iter=1, tol=1e-14)
    assert len(found) == 1
    assert found[0].filename == __file__


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, N)], ids=["plain", "weighted"])
@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
@pytest.mark.parametrize("m", [2, 3])
def test_a_model_without_weights_warns_and_predicts_the_class_frequencies(m, parametrization, weight):
    y = Y % m
    model = SMLR(1e4, parametrization=parametrization)
    message = warned(EmptyModelWarning, model, X, y, sample_weight=weight)
    assert "kept no column at lam=1e+04" in message
    assert "only the intercept predicts" in message
    below = float(message.split("below lam=")[1].rstrip("."))
    assert below == pytest.approx(
        path(X, y, 1, sample_weight=weight, parametrization=parametrization).lams[0], rel=1e-2
    )
    frequency = np.bincount(y, weights=weight) / (N if weight is None else weight.sum())
    assert_allclose(model.predict_proba(X), np.tile(frequency, (N, 1)), atol=1e-9)
    assert not model.coef_.any()
    assert len(model.support_) == 0
    assert model.get_support().sum() == 0
    assert model.dual_gap_ <= 1e-6


def test_a_kernel_model_without_weights_predicts_too():
    for given in (X, sparse.csr_array(X)):
        model = SMLR(1e4, basis="rbf")
        warned(EmptyModelWarning, model, given, Y)
        assert model.relevance_vectors_.shape == (0, P)
        assert_allclose(model.predict_proba(given), np.tile(np.bincount(Y) / N, (N, 1)), atol=1e-9)


def test_without_an_intercept_a_model_without_weights_is_indifferent():
    model = SMLR(1e4, fit_intercept=False)
    warned(EmptyModelWarning, model, X, Y)
    assert_allclose(model.predict_proba(X), 1 / 3)


def test_a_search_that_keeps_nothing_warns():
    noise = np.random.default_rng(0).normal(size=(N, 3))
    assert "kept no column" in warned(EmptyModelWarning, SMLRCV(lams=5, cv=3, rule="1se"), noise, Y)


def test_a_path_needs_a_column_that_varies():
    with pytest.raises(ValueError, match="No column is related to the target"):
        path(np.ones((N, 2)), Y, 5)
