"""The one road of every model: check the input, apply the basis, pose the problem, solve it, adopt the solution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from .._sklearn import Interval, check_sample_weight, fit_context
from ..basis import Kernel, Precomputed, as_basis, finite_columns
from ..design import AcceleratedDesign, Design, LazyDesign, as_design, follow, host, on_device
from ..design.operator import refuse_operator
from ..design.tensors import checked_targets, checked_tensor, rows_of
from ..errors import ConvergenceWarning, EmptyModelWarning, FitInterrupted, Status, warn
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..solvers import Solution


class Given(NamedTuple):
    """What the user gave to fit."""

    X: Any
    y: Any
    sample_weight: Any = None
    offset: Any = None
    groups: Any = None  # of samples, for the splitter of cross-validation
    X_val: Any = None  # held-out samples
    y_val: Any = None


class Targets(NamedTuple):
    """Targets, weights and offset in the shapes of the objective."""

    Y: Any
    weight: np.ndarray
    offset: np.ndarray | None
    classes: np.ndarray | None
    vector: bool = False  # whether there is one target, given as a vector


POSITIVE, NON_NEGATIVE = (Interval(Real, 0, None, closed=closed) for closed in ("neither", "left"))
COUNT = Interval(Integral, 1, None, closed="left")

# Fitted arrays that are copied to X's device; positions, labels, numbers and histories stay on the host.
FOLLOWING = {"coef_", "intercept_", "gamma_", "covariance_", "joint_covariance_", "center_"}

# A kernel matrix larger than this is not kept by models that need few passes over it, but computed anew.
LAZY_BYTES = 2**29

# The largest sum of the sample weights: their products with squares of X must not overflow.
MOST_WEIGHT = 1e50


class Estimator(BaseEstimator):
    """The base of all models: input checks, bases, the road of a fit, and scores of new inputs.

    A model supplies `_pose` (its likelihood and prior), `_solve` (its solver) and `_adopt_more` (attributes beyond the
    common ones).
    """

    basis: Any
    fit_intercept: bool
    tol: float
    coef_: Any
    intercept_: Any
    support_: np.ndarray
    basis_: Any
    _parameter_constraints: ClassVar[dict] = {
        "basis": [str, object],
        "fit_intercept": ["boolean"],
        "tol": [POSITIVE],
        "max_iter": [COUNT, None],
    }
    _targets: ClassVar[dict] = {"y_numeric": False}  # how scikit-learn is to check y
    _sparse_formats: ClassVar[Any] = ["csc", "csr"]
    _lazy: ClassVar[bool] = False  # whether the solver accepts columns that are computed on demand
    _most_squares: ClassVar[float] = 1e250  # largest sum of squares of X that does not overflow in the fit
    _on_device: ClassVar[bool] = False  # whether tensors of PyTorch and CuPy are fitted on their device
    _good_ends: ClassVar[set[Status]] = {Status.CONVERGED}  # statuses of a solver that need no warning
    _without_columns: ClassVar[str] = "the same for every sample"  # prediction of a model that kept no column

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
            A sample of weight 2 counts exactly like the same sample given twice, one of weight 0 like one left out.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Known part of the scores, added to what the model fits.

        Returns
        -------
        self
        """
        return self._fit(Given(X, y, sample_weight, offset))

    @fit_context(prefer_skip_nested_validation=True)
    def _fit(self, given: Given):
        """The one road of every fit."""
        with unchanged_on_failure(self):
            sample = self._check(given)
            problem = self._pose(sample)
            try:
                solution = self._solve(problem)
                return self._adopt(problem, solution)
            except (FitInterrupted, KeyboardInterrupt) as error:  # Ctrl-C too leaves what was reached
                error.model = self._unfinished(problem)  # type: ignore[union-attr]
                raise

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()  # scikit-learn reads the constructor anew at every fit

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.basis == "precomputed" or isinstance(self.basis, Precomputed)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    # -- checking the input

    def _check(self, given: Given) -> Sample:
        """Check everything, drop rows of weight 0, fit the basis, build the design."""
        if not _core.COMPILED:
            _core.tell_if_slow()
        basis = self._basis()
        X, y = self._check_inputs(given.X, given.y)
        weight = np.ones(X.shape[0])
        if given.sample_weight is not None:
            like = np.broadcast_to(0.0, (X.shape[0], 1)) if on_device(X) else X
            weight = checked_weights(host(given.sample_weight), like)
        offset = None if given.offset is None else _check_offset(host(given.offset), X.shape[0])
        rows = np.flatnonzero(weight > 0)
        self._refuse_overflow(X, weight)
        if len(rows) == X.shape[0]:
            targets, kept = self._encode(y, weight, offset), X
            basis.fit(X, targets.weight)
        else:
            offset = None if offset is None else offset[rows]
            targets, kept = self._encode(rows_of(y, rows), weight[rows], offset), rows_of(X, rows)
            weight[rows] = targets.weight
            basis.fit(X, weight)
        known = basis, targets.classes, given, targets.vector
        return Sample(self._design(basis, kept), targets.Y, targets.weight, targets.offset, *known)

    def _encode(self, y, weight: np.ndarray, offset: np.ndarray | None) -> Targets:
        """Targets, weights and offset in the shapes of the objective."""
        raise NotImplementedError

    def _refuse_overflow(self, X, weight: np.ndarray) -> None:
        """Refuse numbers so large that a fit, which sums their weighted squares, would overflow."""
        if not float(weight.max()) * len(weight) <= MOST_WEIGHT:
            raise ValueError(
                f"sample_weight must sum to at most {MOST_WEIGHT:g}, beyond which sums overflow; the largest weight is "
                f"{weight.max():g}. Divide the weights by a constant (and the strength of the prior by the same)."
            )
        _refuse_large(X, self._most_squares)

    def _check_inputs(self, X, y) -> tuple[Any, Any]:
        """Inputs and targets, checked by scikit-learn, or as it does where they are not NumPy's."""
        if _plain(X, y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        if self._follows(X):
            X = checked_tensor(self, X, reset=True)
            return X, checked_targets(X, y, **self._targets)
        refuse_operator(X, type(self).__name__)
        return validate_data(
            self, X, host(y), accept_sparse=self._sparse_formats, dtype=[np.float64, np.float32], **self._targets
        )

    def _new_inputs(self, X) -> Any:
        """New inputs, checked."""
        check_is_fitted(self)
        if self._follows(X):
            return checked_tensor(self, X, reset=False)
        refuse_operator(X, type(self).__name__)
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

    # -- posing and solving the problem

    def _pose(self, sample: Sample) -> Problem:
        """The sample with the likelihood and the prior of this model."""
        raise NotImplementedError

    def _solve(self, problem: Problem) -> Solution:
        raise NotImplementedError

    # -- adopting the solution

    def _adopt(self, problem: Problem, solution: Solution):
        """Store the weights, the solver's report and the attributes of this model; warn of a poor end."""
        sample = problem.sample
        self.basis_ = sample.basis
        if sample.classes is not None:
            self.classes_ = sample.classes
        self.coef_, self.intercept_, solution = self._coefficients(problem, solution)
        support = solution.extra.get("support")
        self.support_ = np.flatnonzero(np.atleast_2d(self.coef_).any(axis=0)) if support is None else support
        for name in ("relevance_vectors_", "path_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if hasattr(sample.basis, "centers_"):
            self.relevance_vectors_ = rows_of(sample.basis.centers_, self.support_)
        self._summarise(solution)
        self._adopt_more(problem, solution)
        warn_if_unconverged(self, solution.extra.get("parts", [solution]))
        self._warn_if_empty(problem)
        if isinstance(sample.design, AcceleratedDesign):
            for name in FOLLOWING & vars(self).keys():
                if isinstance(getattr(self, name), np.ndarray):
                    setattr(self, name, follow(getattr(self, name), sample.given.X))
        return self

    def _coefficients(self, problem: Problem, solution: Solution) -> tuple[Any, Any, Solution]:
        """``coef_`` and ``intercept_``, and the solution with the objective and gap of exactly these weights."""
        W = solution.weights
        d = len(W) - bool(self.fit_intercept)
        return W[:d].T.copy(), W[d].copy() if self.fit_intercept else np.zeros(W.shape[1]), solution

    def _summarise(self, solution: Solution) -> None:
        """Attributes of how the fit ended: iterations, certificate, history and status."""
        self.n_iter_, self.violation_ = solution.n_iter, solution.violation
        self.objective_, self.history_ = solution.objective, solution.history
        self.status_ = solution.status.name.lower()

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        """Attributes of this model beyond the common ones."""

    def _warn_if_empty(self, problem: Problem) -> None:
        if self.coef_.shape[-1] and not len(self.support_):
            name = type(self).__name__
            warn(f"{name} kept no column: it predicts {self._without_columns}.", EmptyModelWarning)

    def _unfinished(self, problem: Problem) -> Any:
        """A copy of the model with the weights that an interrupted fit had reached; None if there are none."""
        return None

    # -- scores of new inputs

    def _columns(self, X):
        """The columns of the basis that have a weight, for new inputs."""
        X = self._new_inputs(X)
        if len(self.support_) == self.coef_.shape[-1] and not isinstance(self.basis_, Precomputed):
            return finite_columns(self.basis_, X)
        return finite_columns(self.basis_, X, self.support_)

    def _scores(self, X) -> np.ndarray:
        """Phi W + b, in float64."""
        return self._scores_of(self._columns(X))

    def _scores_of(self, Phi) -> np.ndarray:
        """Scores from the columns that have a weight, (n, k): in float64 (or complex), or as X is on its device."""
        if sparse.issparse(self.coef_):
            kept = self.coef_[:, self.support_].toarray()
        else:
            kept = np.atleast_2d(host(self.coef_))[:, self.support_]
        intercept = host(self.intercept_)
        if on_device(Phi):
            return Phi @ follow(kept.T, Phi) + follow(np.atleast_1d(intercept), Phi)
        return np.asarray(Phi @ kept.T, dtype=np.result_type(kept, np.float64)) + intercept

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
    squares = _squares(X)
    with np.errstate(over="ignore"):
        return bool(np.isfinite(X.sum() if squares is None else squares))


def _squares(values: np.ndarray) -> float | None:
    """The sum of the squares of an array, None where they would first have to be copied."""
    if values.dtype != np.float64 or not (values.flags.c_contiguous or values.flags.f_contiguous):
        return None
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return float(flat @ flat)


def _refuse_large(values, most: float) -> None:
    """Refuse columns whose squares sum to more than a number."""
    values = values.data if sparse.issparse(values) else values
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or most == np.inf:
        return
    squares = _squares(values)
    if squares is not None and squares <= most:
        return
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= np.sqrt(most / max(values.size, 1)):
        raise ValueError(
            f"X, or a column that the basis makes of it, has values as large as {largest:g}, whose squares overflow "
            "when they are summed; divide them by a constant, so that they are of moderate size."
        )


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[None]:
    """A fit that fails leaves the model as it was."""
    before = model.__dict__.copy()
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def without(constraints: dict, *names: str) -> dict:
    """Constraints of a model's parameters but for those of these names."""
    return {name: allowed for name, allowed in constraints.items() if name not in names}


def problem_of(model: Estimator, X, y, sample_weight=None, offset=None) -> Problem:
    """The problem that a fit of the model would solve; its parameters are checked, and nothing is fitted."""
    model._validate_params()
    return model._pose(model._check(Given(X, y, sample_weight, offset)))


def raw_scores(model: Estimator, X) -> np.ndarray:
    """Phi W + b of a fitted model, (n, k), whatever its ``decision_function`` makes of them."""
    return model._scores(X)


def warn_if_unconverged(model: Estimator, solutions: list[Solution]) -> None:
    """Warn of fits that did not reach their certificate: once, with the worst."""
    missed = [solution for solution in solutions if solution.status not in model._good_ends]
    if not missed:
        return
    worst = max(missed, key=lambda solution: solution.gap)
    facts = {"n_iter": worst.n_iter, "gap": worst.gap, "violation": worst.violation, "tol": model.tol}
    facts |= {name: worst.extra.get(name, np.nan) for name in ("lam", "noise")}
    where = f" (the worst of {len(missed)} such fits)" if len(missed) > 1 else ""
    warn(f"{type(model).__name__}: {worst.status.sentence(**facts)}{where}.", ConvergenceWarning)


def checked_weights(sample_weight, X) -> np.ndarray:
    """Weights of the rows of X, none of them negative and not all 0; 1 where none are given."""
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise ValueError("sample_weight is 0 for every sample; at least one weight must not be zero.")
    return check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)


def _check_offset(offset, n: int) -> np.ndarray:
    offset = np.asarray(offset, dtype=np.float64)
    if offset.ndim not in (1, 2) or len(offset) != n:
        raise ValueError(f"offset must have one row for each of the {n} samples; got shape {offset.shape}.")
    return offset
