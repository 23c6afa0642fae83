"""The one road of every model: check the input, apply the basis, pose the objective, solve it, adopt the solution."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, log_ndtr, log_softmax, logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from .._sklearn import check_feature_names, check_n_features, check_sample_weight
from ..basis import Kernel, Precomputed, as_basis, finite_columns
from ..design import Design, LazyDesign, as_design, follow, host, namespace, on_device
from ..design.tensors import checked_targets, checked_tensor, log_probabilities, most_probable, rows_of
from ..errors import ConvergenceWarning, EmptyModelWarning, Status, warn
from ..rows.dask.collections import is_frame, is_lazy
from ..rows.dask.predicting import by_blocks, fraction_correct
from ..solvers import Solution
from .dask_sample import LazySample
from .targets import class_weights, encode, prediction_offset


class Sample(NamedTuple):
    """Checked training data: rows of positive weight only."""

    y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray | None
    basis: Any  # fitted
    design: Design


# What of a fit lies where X lies; positions, labels, numbers and histories stay with the host.
FOLLOWING = {"coef_", "intercept_", "gamma_", "covariance_", "joint_covariance_", "center_"}

# A kernel matrix larger than this is not kept by models that need few passes over it, but computed anew.
LAZY_BYTES = 2**29

# What the sample weights may sum to: their products with squares of X must leave room.
MOST_WEIGHT = 1e50


class Estimator(BaseEstimator):
    """What all models share: input checks, bases, weights, and the promise that a failed fit leaves nothing behind."""

    basis: Any
    fit_intercept: bool
    coef_: Any
    intercept_: Any
    support_: np.ndarray
    basis_: Any
    _targets: ClassVar[dict] = {"y_numeric": False}  # how scikit-learn is to check y
    _sparse_formats: ClassVar[Any] = ["csc", "csr"]
    _lazy: ClassVar[bool] = False  # whether the solver can do with columns that are computed when needed
    _most_squares: ClassVar[float] = 1e250  # what the squares of all numbers of X may sum to
    _on_device: ClassVar[bool] = False  # whether a fit follows X to where PyTorch or CuPy keep it

    def fit(self, X, y, sample_weight=None, offset=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs. float32 is kept, sparse matrices are never densified. Where a model says so, a PyTorch tensor or
            CuPy array is fitted where it lies, and what the fit finds lies there too. `SMLR`, `RMLR` and `SBMLR` also
            take Dask arrays (of dense or sparse blocks) and data frames, whose rows stay where they are.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            A weight is a repetition: weight 2 is the same as the row given twice, weight 0 as the row left out.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Known part of the scores, added to what the model fits.

        Returns
        -------
        self
        """
        return self._fit_or_restore(X, y, sample_weight, offset)

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()  # scikit-learn reads the constructor anew at every fit

    def _fit_or_restore(self, *data):
        before = self.__dict__.copy()
        try:
            fitted = self._fit(*data)
            if self._follows(data[0]):
                for name in FOLLOWING & vars(self).keys():
                    if isinstance(getattr(self, name), np.ndarray):
                        setattr(self, name, follow(getattr(self, name), data[0]))
            return fitted
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, *data):
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.basis == "precomputed" or isinstance(self.basis, Precomputed)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _sample(self, X, y, sample_weight, offset, encode) -> Sample:
        """Check everything, drop rows of weight 0, fit the basis, build the design; `encode` checks the targets."""
        _core.tell_if_slow()
        basis = self._basis()
        X, y = self._checked(X, y)
        weight = np.ones(X.shape[0])
        if sample_weight is not None:
            like = np.broadcast_to(0.0, (X.shape[0], 1)) if on_device(X) else X
            given = host(sample_weight)
            weight = check_sample_weight(given, like, dtype=np.float64, ensure_non_negative=True, copy=True)
        offset = None if offset is None else _check_offset(host(offset), X.shape[0])
        rows = np.flatnonzero(weight > 0)
        if not len(rows):
            raise ValueError("sample_weight is 0 for every sample; at least one must be positive.")
        self._refuse_overflow(X, weight)
        every = len(rows) == X.shape[0]
        if every:
            y, weight, offset = encode(y, weight, offset)
        else:
            offset = None if offset is None else offset[rows]
            y, weight[rows], offset = encode(rows_of(y, rows), weight[rows], offset)
        basis.fit(X, weight)
        if every:
            return Sample(y, weight, offset, basis, self._design(basis, X))
        return Sample(y, weight[rows], offset, basis, self._design(basis, rows_of(X, rows)))

    def _refuse_overflow(self, X, weight: np.ndarray) -> None:
        """Refuse numbers so large that a fit, which sums their weighted squares, would overflow."""
        if not float(weight.max()) * len(weight) <= MOST_WEIGHT:
            raise ValueError(
                f"sample_weight must sum to at most {MOST_WEIGHT:g}, beyond which sums overflow; the largest weight is "
                f"{weight.max():g}. Divide the weights by a constant (and the strength of the prior by the same)."
            )
        _refuse_large(X, self._most_squares)

    def _checked(self, X, y) -> tuple[Any, Any]:
        """Inputs and targets, checked by scikit-learn, or as it does where they are not NumPy's."""
        if self._follows(X):
            X = checked_tensor(self, X, reset=True)
            return X, checked_targets(X, y, **self._targets)
        if _plain(X, y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        return validate_data(
            self, X, host(y), accept_sparse=self._sparse_formats, dtype=[np.float64, np.float32], **self._targets
        )

    def _inputs(self, X) -> Any:
        """New inputs, checked."""
        check_is_fitted(self)
        if self._follows(X):
            return checked_tensor(self, X, reset=False)
        return validate_data(self, X, accept_sparse=self._sparse_formats, dtype=[np.float64, np.float32], reset=False)

    def _follows(self, X) -> bool:
        return self._on_device and on_device(X)

    def _basis(self):
        """A fresh basis object."""
        return as_basis(self.basis)

    def _design(self, basis, X) -> Design:
        """The basis applied to X: all columns now, or, where there are too many to keep, each when it is needed."""
        n = X.shape[0]
        if self._lazy and isinstance(basis, Kernel) and not on_device(X) and 8 * n * basis.n_columns_ > LAZY_BYTES:
            return LazyDesign(lambda columns: basis.transform(X, columns), n, basis.n_columns_, self.fit_intercept)
        Phi = finite_columns(basis, X)
        if Phi is not X:
            _refuse_large(Phi, self._most_squares)
        return as_design(Phi, self.fit_intercept)

    def _note_inputs(self, X, reset: bool = True) -> None:
        """Number and names of the inputs of a Dask collection: kept, or compared with those kept."""
        seen = X._meta if is_frame(X) else np.empty((0, int(X.shape[1])))
        check_feature_names(self, seen, reset=reset)
        check_n_features(self, seen, reset=reset)

    def _lazily(self, method: str, X, columns: int | None, dtype):
        """A method applied to each block of a Dask collection, when its result is asked for."""
        check_is_fitted(self)
        self._note_inputs(X, reset=False)
        return by_blocks(partial(_call, self, method), X, columns, dtype)

    def _scale(self, sample: Sample | LazySample) -> np.ndarray:
        """Weighted standard deviations of the design's columns (about 0 when there is no intercept)."""
        moments, total, d = sample.design.moments(sample.weight), sample.weight.sum(), sample.design.d
        square = moments.mean[:d] ** 2
        variance = moments.spread[:d] / total + (0.0 if sample.design.intercept else square)
        constant = variance <= 1e-28 * square
        return np.where(constant, 1.0, np.sqrt(variance))

    def _report(self, solutions: list[Solution], tol: float) -> None:
        """Warn of fits that did not reach their certificate: once, with the worst."""
        missed = [solution for solution in solutions if solution.status is not Status.CONVERGED]
        if not missed:
            return
        worst = max(missed, key=lambda solution: solution.gap)
        facts = {"n_iter": worst.n_iter, "gap": worst.gap, "violation": worst.violation, "tol": tol}
        facts |= {name: worst.extra.get(name, np.nan) for name in ("lam", "noise")}
        where = f" (the worst of {len(missed)} such fits)" if len(missed) > 1 else ""
        warn(f"{type(self).__name__}: {worst.status.sentence(**facts)}{where}.", ConvergenceWarning)

    def _tell(self, solutions: list[Solution], tol: float) -> None:
        """Attributes that say how the fit (or the fit of each class) ended; warnings where it did not end well."""
        worst = max(solutions, key=lambda solution: (solution.status is not Status.CONVERGED, solution.violation))
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.violation_, self.status_ = worst.violation, worst.status.name.lower()
        self.objective_ = sum(solution.objective for solution in solutions)
        self.history_ = solutions[0].history if len(solutions) == 1 else [solution.history for solution in solutions]
        self._report(solutions, tol)
        if self.coef_.shape[-1] and not len(self.support_):
            name = type(self).__name__
            warn(f"{name} kept no column: it predicts the same for every sample.", EmptyModelWarning)

    def _columns(self, X):
        """The columns of the basis that have a weight, for new inputs."""
        X = self._inputs(X)
        if len(self.support_) == self.coef_.shape[-1] and not isinstance(self.basis_, Precomputed):
            return finite_columns(self.basis_, X)
        return finite_columns(self.basis_, X, self.support_)

    def _scores(self, X) -> np.ndarray:
        """Phi W + b, in float64."""
        return self._scores_of(self._columns(X))

    def _scores_of(self, Phi) -> np.ndarray:
        """Scores from the columns that have a weight, (n, k): in float64, or as X is on its device."""
        if sparse.issparse(self.coef_):
            kept = self.coef_[:, self.support_].toarray()
        else:
            kept = np.atleast_2d(host(self.coef_))[:, self.support_]
        intercept = host(self.intercept_)
        if on_device(Phi):
            return Phi @ follow(kept.T, Phi) + follow(np.atleast_1d(intercept), Phi)
        return np.asarray(Phi @ kept.T, dtype=np.float64) + intercept

    def _keep(self, sample: Sample | LazySample, coef: np.ndarray, intercept) -> None:
        """Take over the weights, and what goes with those that are not zero."""
        self.basis_ = sample.basis
        self.coef_, self.intercept_ = coef, intercept
        self.support_ = np.flatnonzero(np.atleast_2d(coef).any(axis=0))
        if hasattr(sample.basis, "centers_"):
            self.relevance_vectors_ = rows_of(sample.basis.centers_, self.support_)
        else:
            self.__dict__.pop("relevance_vectors_", None)
        self.__dict__.pop("path_", None)  # of an earlier fit

    def sparsify(self):
        """Turn ``coef_`` into a sparse matrix (of one row, in regression); predictions stay the same."""
        check_is_fitted(self)
        coef = host(self.coef_)
        self.coef_ = sparse.csr_array(coef if sparse.issparse(coef) else np.atleast_2d(coef))
        return self

    def densify(self):
        """Turn ``coef_`` back into an array."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            coef = self.coef_.toarray()
            self.coef_ = coef[0] if np.ndim(self.intercept_) == 0 else coef
        return self


def _plain(X, y) -> bool:
    """Whether X and y are arrays that all of scikit-learn's checks would let pass as they are: most are.

    In fits of a millisecond those checks would take most of the time.
    """
    if not (type(X) is type(y) is np.ndarray and X.ndim == 2 and y.shape == X.shape[:1] and X.size):
        return False
    if X.dtype not in (np.float64, np.float32) or y.dtype.kind not in "iub" or not X.flags.aligned:
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(X.sum()))


def _refuse_large(values, most: float) -> None:
    """Refuse columns whose squares sum to more than a number."""
    if on_device(values) or values.dtype != np.float64 or most == np.inf:
        return
    values = values.data if sparse.issparse(values) else values
    if values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        with np.errstate(over="ignore", invalid="ignore"):
            if float(flat @ flat) <= most:
                return
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= np.sqrt(most / max(values.size, 1)):
        raise ValueError(
            f"X, or a column that the basis makes of it, has values as large as {largest:g}, whose squares overflow "
            "when they are summed; divide them by a constant, so that they are of moderate size."
        )


def _call(model, method: str, X):
    return getattr(model, method)(X)


class ClassificationModel(ClassifierMixin, Estimator):
    """Models with scores: log odds of the second of two classes, or one score for each class of a softmax."""

    classes_: np.ndarray
    class_weight: Any

    def _labelled_sample(self, X, y, sample_weight, offset) -> tuple[Sample, np.ndarray]:
        """The sample with the positions of its labels among the classes as targets, weighted by class; the classes."""
        found: list[np.ndarray] = []

        def prepare(y, weight, offset):
            classes, codes = encode(y)
            found.append(classes)
            return codes, weight * class_weights(self.class_weight, classes, codes, weight), offset

        return self._sample(X, y, sample_weight, offset, prepare), found[0]

    def _lazily_without(self, offset, method: str, X, columns: int | None, dtype):
        if offset is not None:
            raise ValueError("offset is not taken with Dask input here; add it to decision_function(X) instead.")
        return self._lazily(method, X, columns, dtype)

    def decision_function(self, X, offset=None) -> np.ndarray:
        """Scores: log odds of the second class, (n_samples,), or one column for each class."""
        if is_lazy(X):
            check_is_fitted(self)
            rows = len(self.intercept_)
            return self._lazily_without(offset, "decision_function", X, None if rows == 1 else rows, np.float64)
        F = self._scores(X)
        if offset is not None:
            F = F + follow(prediction_offset(host(offset), *F.shape), F)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict(self, X, offset=None) -> np.ndarray:
        """The most probable class of each sample."""
        if is_lazy(X):
            check_is_fitted(self)
            return self._lazily_without(offset, "predict", X, None, self.classes_.dtype)
        F = self.decision_function(X, offset)
        if on_device(F):
            return most_probable(F, self.classes_)
        return self.classes_[(F > 0).astype(int) if F.ndim == 1 else F.argmax(axis=1)]

    def predict_proba(self, X, offset=None) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes)."""
        if is_lazy(X):
            check_is_fitted(self)
            return self._lazily_without(offset, "predict_proba", X, len(self.classes_), np.float64)
        F = self.decision_function(X, offset)
        if on_device(F):
            return namespace(F).exp(log_probabilities(F))
        return np.column_stack([expit(-F), expit(F)]) if F.ndim == 1 else softmax(F, axis=1)

    def predict_log_proba(self, X, offset=None) -> np.ndarray:
        """Logarithms of the class probabilities, finite where the probabilities round to 0."""
        if is_lazy(X):
            check_is_fitted(self)
            return self._lazily_without(offset, "predict_log_proba", X, len(self.classes_), np.float64)
        F = self.decision_function(X, offset)
        if on_device(F):
            return log_probabilities(F)
        return np.column_stack([log_expit(-F), log_expit(F)]) if F.ndim == 1 else log_softmax(F, axis=1)

    def score(self, X, y, sample_weight=None, offset=None) -> float:
        """The fraction of samples whose class is predicted."""
        if is_lazy(X):
            self._lazily_without(offset, "predict", X, None, None)
            return fraction_correct(partial(_call, self, "predict"), X, y, sample_weight)
        return float(accuracy_score(host(y), host(self.predict(X, offset)), sample_weight=host(sample_weight)))


class ProbitModel(ClassificationModel):
    """Models whose score has the probability Phi(score), Phi the normal distribution function.

    More than two classes are one against the rest each, their probabilities divided by their sum.
    """

    def predict_log_proba(self, X, offset=None) -> np.ndarray:
        """Logarithms of the class probabilities, finite where the probabilities round to 0."""
        F = self.decision_function(X, offset)
        if F.ndim == 1:
            return np.column_stack([log_ndtr(-F), log_ndtr(F)])
        log = log_ndtr(F)
        return log - logsumexp(log, axis=1, keepdims=True)

    def predict_proba(self, X, offset=None) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X, offset))


def _check_offset(offset, n: int) -> np.ndarray:
    offset = np.asarray(offset, dtype=np.float64)
    if offset.ndim not in (1, 2) or len(offset) != n:
        raise ValueError(f"offset must have one row for each of the {n} samples; got shape {offset.shape}.")
    return offset
