"""Multinomial logistic regression with a Laplace prior (SMLR), a normal prior (RMLR), or none (maximum likelihood)."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .accelerated import AcceleratedPosterior
from .basis import as_basis
from .design import AcceleratedDesign, host
from .distributed import LazySample, SummedPosterior, is_lazy, null_of, pose, solver_of
from .encoding import centred_offset, one_hot, penalty_factors, split_whole
from .errors import EmptyModelWarning, FitInterrupted, Status, warn
from .estimator import ClassificationModel, Sample
from .likelihoods import Multinomial
from .objective import Posterior
from .posterior_evidence import most_evident_ridge
from .priors import ElasticNet
from .selecting import Selector
from .solvers import SOLVERS, Solution, begin
from .solvers.canonical import lowered

INPUTS = ("n_features_in_", "feature_names_in_")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
ON_DEVICE = {"auto", "accelerated", "fixed-point"}  # solvers that need nothing but products with X


class MultinomialModel(ClassificationModel):
    """Softmax classifiers: labels, parametrisations, probabilities. Models add a prior."""

    solver: str
    _on_device = True

    _parameter_constraints: ClassVar[dict] = {
        "basis": [str, object],
        "parametrization": [StrOptions({"symmetric", "reference"})],
        "solver": [StrOptions(set(SOLVERS))],
        "penalty_factor": ["array-like", None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "fit_intercept": ["boolean"],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    # -- posing the problem

    def _pose(self, X, y, sample_weight, offset) -> tuple[Sample | LazySample, Posterior, np.ndarray]:
        """The sample, its objective and the class labels."""
        if is_lazy(X):
            return self._pose_lazily(X, y, sample_weight, offset)
        sample, classes = self._labelled_sample(X, y, sample_weight, offset)
        m = len(classes)
        reference = m == 2 or self.parametrization == "reference"
        k = 1 if m == 2 else m - reference
        known = self._prior(sample, k), sample.weight, centred_offset(sample.offset, m, k)
        Y = one_hot(sample.y, m, k)
        if isinstance(sample.design, AcceleratedDesign):
            return sample, AcceleratedPosterior(sample.design, Y, reference, *known), classes
        return sample, Posterior(sample.design, Y, Multinomial(reference), *known), classes

    def _checked(self, X, y) -> tuple[Any, Any]:
        solver = getattr(self, "solver", "auto")
        if self._follows(X) and solver not in ON_DEVICE:
            raise ValueError(
                f"solver={solver!r} needs a NumPy array or a SciPy matrix; for tensors and CuPy arrays use 'auto'."
            )
        if not self._follows(X) and solver == "accelerated":
            raise ValueError("solver='accelerated' needs a tensor or a CuPy array; for NumPy and SciPy use 'auto'.")
        return super()._checked(X, y)

    def _pose_lazily(self, X, y, sample_weight, offset) -> tuple[LazySample, SummedPosterior, np.ndarray]:
        """The same of Dask collections, whose rows stay where they are."""
        reference = self.parametrization == "reference"
        basis = as_basis(self.basis)
        sample = pose(X, y, sample_weight, offset, basis, self.class_weight, reference, self.fit_intercept)
        self._note_inputs(X)
        prior = self._prior(sample, sample.task.k)
        objective = SummedPosterior(sample.design, sample.task, prior, sample.class_weight, sample.offset)
        return sample, objective, sample.classes

    def _prior(self, sample: Sample | LazySample, k: int) -> ElasticNet:
        factor = penalty_factors(self.penalty_factor, sample.design.d, k)
        scale = self._scale(sample) if self.standardize else None
        l1, l2 = self._strengths()
        return ElasticNet(l1, l2, factor, scale)

    def _strengths(self) -> tuple[float, float]:
        raise NotImplementedError

    # -- solving it

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, y, sample_weight, offset):
        sample, objective, classes = self._pose(X, y, sample_weight, offset)
        try:
            solution = self._solve(objective, classes)
        except FitInterrupted as error:
            error.model = self._unfinished(sample, objective, classes)
            raise
        self._report([solution], self.tol)
        return self._adopt(sample, objective, classes, solution)

    def _unfinished(self, sample, objective: Posterior, classes: np.ndarray):
        """A copy of the model with the weights of the last pass over the data; None if there was none."""
        if not (isinstance(objective, SummedPosterior) and objective.reached):
            return None
        posed, point = objective.reached
        weights = posed.uncentred(point.W)
        solution = Solution(
            weights, None, Status.INTERRUPTED, point.value, point.gap, point.violation, posed.passes, [], {}
        )
        model = clone(self)
        model.__dict__.update({name: self.__dict__[name] for name in INPUTS if name in self.__dict__})
        return model._adopt(sample, posed, classes, solution)

    def _solve(self, objective: Posterior, classes: np.ndarray) -> Solution:
        solver, iterations = solver_for(objective, self.solver)
        options: dict[str, Any] = {}
        if self.solver.startswith("component-wise") and self.random_state is not None:
            options["seed"] = check_random_state(self.random_state).randint(2**31)
        start = self._start(objective, classes)
        return solver(objective, start, self.tol, self.max_iter or iterations, **options)

    def _start(self, objective: Posterior, classes: np.ndarray) -> np.ndarray:
        """Those of a fresh start, or the last fit's where they belong to a problem of the same shape."""
        W = objective.start() if isinstance(objective, SummedPosterior) else begin(objective)
        d, k = objective.design.d, objective.k
        if not (self.warm_start and hasattr(self, "coef_") and np.array_equal(classes, self.classes_)):
            return W
        coef, intercept = host(self.coef_), host(self.intercept_)
        coef = coef.astype(np.float64) if isinstance(coef, np.ndarray) else coef.toarray()
        if coef.shape[1] == d:
            last = np.vstack([coef[:k].T, intercept[:k]]) if self.fit_intercept else coef[:k].T.copy()
            # Weights that fit the new data worse than none at all are no start; solvers of lazy data find that out.
            if isinstance(objective, SummedPosterior) or objective.value(last) <= objective.value(W):
                return last
        return W

    # -- adopting the solution

    def _adopt(self, sample: Sample | LazySample, objective: Posterior, classes: np.ndarray, solution: Solution):
        d = sample.design.d
        coef, intercept, gain = split_whole(solution.weights, objective, len(classes))
        self.classes_ = classes
        self._keep(sample, coef, intercept)
        self.n_iter_ = solution.n_iter
        self.violation_ = solution.violation
        self.objective_, self.dual_gap_ = map(float, lowered(solution.objective, solution.gap, gain))
        self.status_, self.history_ = solution.status.name.lower(), solution.history
        self.__dict__.pop("n_passes_", None)
        if isinstance(objective, SummedPosterior):
            self.n_passes_ = objective.passes
        for found in ("lam", "evidence"):
            self.__dict__.pop(f"{found}_", None)
            if found in solution.extra:
                setattr(self, f"{found}_", solution.extra[found])
        if d and not len(self.support_) and objective.l1.any():
            self._tell_empty(objective)
        return self

    def _tell_empty(self, objective: Posterior) -> None:
        largest = objective.largest_strength(null_of(objective))
        name, lam, what = type(self).__name__, objective.prior.l1, self._without_columns(objective)
        warn(
            f"{name} kept no column at lam={lam:.3g}: {what}; weights appear below lam={largest:.3g}.",
            EmptyModelWarning,
        )

    @staticmethod
    def _without_columns(objective: Posterior) -> str:
        plain = objective.design.intercept and objective.offset is None
        return "only the intercept predicts (the class frequencies)" if plain else "no input has a non-zero weight"


def solver_for(objective: Posterior, name: str) -> tuple[Callable[..., Solution], int]:
    """The solver of this name for data in memory or elsewhere, and the iterations that it may take."""
    return solver_of(name) if isinstance(objective, SummedPosterior) else SOLVERS[name]


class SparseMultinomialModel(Selector, MultinomialModel):
    """What SMLR and SMLRCV share."""


class SMLR(SparseMultinomialModel):
    """Sparse multinomial logistic regression: a Laplace prior on every weight.

    Minimises, over W (and b, which is never penalised), ::

        sum_i s_i [ log sum_c exp F_ic - F_i,y(i) ] + lam sum_jl c_jl |W_jl| + l2/2 sum_jl c_jl W_jl^2,   F = Phi W + b,

    the negative log posterior of Krishnapuram et al. (2005), eqs. (2)-(3), summed over samples, in nats. It is convex;
    the fit ends with a certificate that bounds how far it is from the optimum.

    Parameters
    ----------
    lam : float, default=1.0
        Strength of the prior (scikit-learn's ``1 / C``). At 0 and ``l2=0`` the fit is maximum likelihood.
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
        What the weights belong to; see :mod:`smaller.basis`.
    parametrization : {"symmetric", "reference"}, default="symmetric"
        Weights for every class, or for all but the last (whose scores are 0). Two classes always share one column.
    solver : {"auto", "newton", "component-wise", "component-wise-greedy", "bound", "accelerated"}, default="auto"
        All reach the same optimum. "newton" is the fast one; the next three are the algorithms of the paper. Where X is
        a tensor or a CuPy array, "auto" is "accelerated", which works where X lies.
    l2 : float, default=0.0
        Strength of a ridge term beside the L1 term (elastic net).
    penalty_factor : array-like of shape (n_columns,) or (n_rows_of_weights, n_columns), default=None
        Multiplies the penalty of each weight; 0 leaves it unpenalised.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    fit_intercept : bool, default=True
    standardize : bool, default=False
        Measure the prior in units of each column's standard deviation; ``coef_`` stays in units of the data.
    tol : float, default=1e-6
        Relative duality gap at which the fit is done.
    max_iter : int, default=None
        Iterations, as the solver counts them; None is the solver's own limit.
    warm_start : bool, default=False
        Start from the last fit's weights.
    random_state : int, RandomState instance or None, default=None
        Seed of the visiting schedule of the component-wise solver, None being always the same one; the optimum does
        not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray
    support_ : ndarray
        Columns of the basis with a non-zero weight.
    relevance_vectors_ : ndarray or sparse array
        On a kernel basis, the centres with a non-zero weight.
    dual_gap_ : float
        Relative duality gap: (objective - optimum) / objective is at most this (an objective below 1e-12 nats for each
        sample counts as that).
    violation_ : float
        Largest violation of the optimality conditions, relative to the penalty.
    objective_ : float
    n_iter_ : int
    n_passes_ : int
        With Dask input, how often the rows of X were read.
    status_ : str
    history_ : list
        Objective, violation, gap, support size and seconds of each iteration.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SMLR
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SMLR(lam=2.0).fit(X, y)
    >>> print(len(model.support_), "of 4 inputs kept, accuracy", round(model.score(X, y), 2))
    2 of 4 inputs kept, accuracy 0.97
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultinomialModel._parameter_constraints,
        "lam": [NON_NEGATIVE],
        "l2": [NON_NEGATIVE],
    }

    def __init__(
        self,
        lam=1.0,
        *,
        basis="linear",
        parametrization="symmetric",
        solver="auto",
        l2=0.0,
        penalty_factor=None,
        class_weight=None,
        fit_intercept=True,
        standardize=False,
        tol=1e-6,
        max_iter=None,
        warm_start=False,
        random_state=None,
    ):
        self.lam = lam
        self.basis = basis
        self.parametrization = parametrization
        self.solver = solver
        self.l2 = l2
        self.penalty_factor = penalty_factor
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state

    def _strengths(self) -> tuple[float, float]:
        return self.lam, self.l2


class RMLR(MultinomialModel):
    """Ridge multinomial logistic regression: a normal prior of variance 1 / lam on every weight.

    Minimises ``sum_i s_i [ log sum_c exp F_ic - F_i,y(i) ] + lam/2 sum_jl c_jl W_jl^2``, F = Phi W + b (Krishnapuram
    et al. 2005, section 3.3). Two classes share one column of weights and one penalty.

    Parameters
    ----------
    lam : float or "evidence", default=1.0
        Inverse variance of the prior. At 0 the fit is maximum likelihood, which separable data do not have. "evidence"
        maximises Laplace's approximation of the evidence (MacKay 1992), which needs no cross-validation.
    basis, parametrization, solver, penalty_factor, class_weight, fit_intercept, standardize, tol
        As in :class:`SMLR`.
    max_iter, warm_start, random_state
        As in :class:`SMLR`.

    Attributes
    ----------
    coef_, intercept_, classes_, support_, relevance_vectors_, dual_gap_, violation_, objective_
        As in :class:`SMLR`.
    n_iter_, status_, history_
        As in :class:`SMLR`.
    lam_, evidence_ : float
        With ``lam="evidence"``, the strength found and the log evidence there.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from smaller import RMLR
    >>> X, y = load_wine(return_X_y=True)
    >>> RMLR(lam=1.0, standardize=True).fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict] = {
        **MultinomialModel._parameter_constraints,
        "lam": [NON_NEGATIVE, StrOptions({"evidence"})],
    }

    def __init__(
        self,
        lam=1.0,
        *,
        basis="linear",
        parametrization="symmetric",
        solver="auto",
        penalty_factor=None,
        class_weight=None,
        fit_intercept=True,
        standardize=False,
        tol=1e-6,
        max_iter=None,
        warm_start=False,
        random_state=None,
    ):
        self.lam = lam
        self.basis = basis
        self.parametrization = parametrization
        self.solver = solver
        self.penalty_factor = penalty_factor
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state

    def _strengths(self) -> tuple[float, float]:
        return 0.0, 1.0 if self.lam == "evidence" else self.lam

    def _solve(self, objective: Posterior, classes: np.ndarray) -> Solution:
        if self.lam != "evidence":
            return super()._solve(objective, classes)
        if isinstance(objective, SummedPosterior):
            raise ValueError("lam='evidence' needs the data in memory, not a Dask collection; give lam a number.")
        return most_evident_ridge(objective, self._start(objective, classes), self.tol, self.max_iter or 200)
