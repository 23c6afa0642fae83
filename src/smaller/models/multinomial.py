"""Multinomial logistic regression with a Laplace prior (SMLR), a normal prior (RMLR), or none (maximum likelihood)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._sklearn import StrOptions
from ..basis import as_basis
from ..design import host
from ..errors import EmptyModelWarning, Status, warn
from ..likelihoods import Multinomial
from ..objective.posterior import Posterior
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet
from ..rows.dask.collections import is_lazy
from ..rows.device_rows import placed
from ..solvers import SOLVERS, Solution, begin, null_point, solver_for
from ..solvers.l1.start import warm
from ..solvers.ridge_evidence import most_evident_ridge
from ..solvers.symmetric_weights import lowered
from .base import NON_NEGATIVE, Given
from .classification import ClassificationModel
from .dask_sample import dask_sample
from .grouping import Grouped
from .predictions import note_inputs
from .selector import Selector
from .targets import coef_of, penalty_factors, split_whole

INPUTS = ("n_features_in_", "feature_names_in_")
ON_DEVICE = {"auto", "accelerated", "fixed-point"}  # solvers that need nothing but products with X


class MultinomialModel(ClassificationModel):
    """Softmax classifiers: labels, parametrisations, probabilities. Models add a prior."""

    solver: str
    _on_device = True

    _parameter_constraints: ClassVar[dict] = {
        **ClassificationModel._parameter_constraints,
        "parametrization": [StrOptions({"symmetric", "reference"})],
        "solver": [StrOptions(set(SOLVERS))],
        "penalty_factor": ["array-like", None],
        "standardize": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    # -- posing the problem

    def _check(self, given: Given) -> Sample:
        """Checked data in memory, on a device, or in Dask, whose rows stay where they are."""
        if is_lazy(given.X):
            about = self.class_weight, self._score_columns, self.fit_intercept
            found = dask_sample(given, as_basis(self.basis), *about)
            note_inputs(self, given.X)
            return found
        solver, follows = getattr(self, "solver", "auto"), self._follows(given.X)
        if follows and solver not in ON_DEVICE:
            raise ValueError(
                f"solver={solver!r} needs a NumPy array or a SciPy matrix; for tensors and CuPy arrays use 'auto'."
            )
        if not follows and solver == "accelerated":
            raise ValueError("solver='accelerated' needs a tensor or a CuPy array; for NumPy and SciPy use 'auto'.")
        sample = super()._check(given)
        return placed(sample) if follows else sample

    def _score_columns(self, m: int) -> int:
        return 1 if m == 2 else m - (self.parametrization == "reference")

    def _pose(self, sample: Sample) -> Problem:
        l1, l2 = self._strengths()
        factor = self.penalty_factor
        factor = None if factor is None else penalty_factors(factor, sample.design.d, sample.k)
        prior = self._prior(sample, l1, l2, factor, sample.scale if self.standardize else None)
        return Problem(sample, Multinomial(reference=sample.k < len(sample.classes)), prior)

    def _prior(self, sample: Sample, l1: float, l2: float, factor: np.ndarray | None, scale) -> ElasticNet:
        if factor is not None and np.isinf(factor).any():
            raise ValueError(
                f"{type(self).__name__} takes no infinite penalty_factor; drop the columns from X instead."
            )
        return ElasticNet(l1, l2, factor, scale)

    def _strengths(self) -> tuple[float, float]:
        raise NotImplementedError

    # -- solving it

    def _solve(self, problem: Problem) -> Solution:
        solver, iterations = solver_for(problem.objective, self.solver)
        options: dict[str, Any] = {}
        if self.solver.startswith("component-wise") and self.random_state is not None:
            options["seed"] = check_random_state(self.random_state).randint(2**31)
        return solver(problem.objective, self._start(problem), self.tol, self.max_iter or iterations, **options)

    def _start(self, problem: Problem) -> np.ndarray:
        """The weights to begin with: those of the last fit where the problem has the same shape, else fresh ones."""
        objective, classes = problem.objective, problem.sample.classes
        if not (self.warm_start and hasattr(self, "coef_") and np.array_equal(classes, self.classes_)):
            return begin(objective)
        if self.coef_.shape[1] != objective.design.d:
            return begin(objective)
        coef, intercept, k = coef_of(self).astype(np.float64), host(self.intercept_), objective.k
        last = np.vstack([coef[:k].T, intercept[:k]]) if self.fit_intercept else coef[:k].T.copy()
        last[np.isinf(objective.l1)] = 0.0
        return warm(objective, last)

    def _unfinished(self, problem: Problem) -> Any:
        if not problem.objective.reached:
            return None
        objective, point = problem.objective.reached
        certificate = point.value, point.gap, point.violation, objective.passes
        told: dict[str, Any] = {"parts": []}  # the exception says how the fit ended
        solution = Solution(objective.uncentred(point.W), None, Status.INTERRUPTED, *certificate, [], told)
        model = clone(self)
        model.__dict__.update({name: self.__dict__[name] for name in INPUTS if name in self.__dict__})
        return model._adopt(problem.with_prior(objective.prior), solution)

    # -- adopting the solution

    def _coefficients(self, problem: Problem, solution: Solution) -> tuple[Any, Any, Solution]:
        """The coefficients of the smallest penalty among those that predict the same."""
        coef, intercept, gain = split_whole(solution.weights, problem.objective, len(problem.sample.classes))
        objective, gap = map(float, lowered(solution.objective, solution.gap, gain))
        return coef, intercept, solution._replace(objective=objective, gap=gap)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        self.dual_gap_ = solution.gap
        for name in ("n_passes_", "lam_", "evidence_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if problem.objective.remote:
            self.n_passes_ = problem.objective.passes
        for found in {"lam", "evidence"} & solution.extra.keys():
            setattr(self, f"{found}_", solution.extra[found])

    def _warn_if_empty(self, problem: Problem) -> None:
        objective = problem.objective
        if objective.design.d and not len(self.support_) and objective.sparse:
            plain = objective.design.intercept and objective.offset is None
            predicts = "only the intercept predicts (the class frequencies)"
            self._warn_of_empty(objective, predicts if plain else "no input has a non-zero weight")

    def _warn_of_empty(self, objective: Posterior, predicts: str) -> None:
        largest = objective.largest_strength(null_point(objective))
        name, lam = type(self).__name__, objective.prior.l1
        warn(
            f"{name} kept no column at lam={lam:.3g}: {predicts}; weights appear below lam={largest:.3g}.",
            EmptyModelWarning,
        )


class SparseMultinomialModel(Grouped, Selector, MultinomialModel):
    """What SMLR, SMLRCV and SBMLR share."""

    _parameter_constraints: ClassVar[dict] = {
        **MultinomialModel._parameter_constraints,
        **Grouped._group_constraints,
    }

    def _prior(self, sample: Sample, l1: float, l2: float, factor: np.ndarray | None, scale) -> ElasticNet:
        return self._group_prior(sample, l1, l2, factor, scale)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        self._adopt_groups(problem, solution)


@dataclass(eq=False, repr=False)
class SMLR(SparseMultinomialModel):
    """Sparse multinomial logistic regression: a Laplace prior on every weight.

    Minimises, over W (and b, which is never penalised), ::

        sum_i s_i [ log sum_c exp F_ic - F_i,y(i) ] + lam sum_jl c_jl |W_jl| + l2/2 sum_jl c_jl W_jl^2,   F = Phi W + b,

    the negative log posterior of Krishnapuram et al. (2005), eqs. (2)-(3), summed over samples, in nats. It is convex;
    the fit ends with a certificate that bounds how far it is from the optimum. With ``groups`` the second term is ::

        lam [ (1 - l1_share) sum_g c_g ||W_g||_2 + l1_share sum_jl c_jl |W_jl| ],

    W_g all weights of the columns of group g, which are zero together: the group lasso, or the sparse-group lasso.

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
        Multiplies the penalty of each weight; 0 leaves it unpenalised, infinity leaves a column out.
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
    groups : None, "features" or array-like of shape (n_columns,), default=None
        Columns whose weights, in all classes, enter or leave the model together: "features" makes each column a group,
        labels make groups of the columns with the same label. With ``standardize`` the norm of a group is that of its
        weights in units of the standard deviations. (Labels of *samples*, for cross-validation, go to
        ``SMLRCV.fit(..., groups=)``.)
    l1_share : float, default=0.0
        Share of the L1 penalty beside the norms of groups, which then have zeros inside (sparse-group lasso); 1 is the
        L1 penalty alone.
    group_factor : array-like or dict, default=None
        c_g of labelled groups, in the order of the sorted labels or by label; by default the square root of their
        number of columns. 0 leaves the norm of a group out. For ``groups="features"`` it is ``penalty_factor``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray
    support_ : ndarray
        Columns of the basis with a non-zero weight.
    group_support_ : ndarray
        With labelled groups, the labels of those with a non-zero weight.
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

    lam: float = 1.0
    _: KW_ONLY
    basis: Any = "linear"
    parametrization: str = "symmetric"
    solver: str = "auto"
    l2: float = 0.0
    penalty_factor: Any = None
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-6
    max_iter: int | None = None
    warm_start: bool = False
    random_state: Any = None
    groups: Any = None
    l1_share: float = 0.0
    group_factor: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **SparseMultinomialModel._parameter_constraints,
        "lam": [NON_NEGATIVE],
        "l2": [NON_NEGATIVE],
    }

    def _strengths(self) -> tuple[float, float]:
        return self.lam, self.l2


@dataclass(eq=False, repr=False)
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

    lam: Any = 1.0
    _: KW_ONLY
    basis: Any = "linear"
    parametrization: str = "symmetric"
    solver: str = "auto"
    penalty_factor: Any = None
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-6
    max_iter: int | None = None
    warm_start: bool = False
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **MultinomialModel._parameter_constraints,
        "lam": [NON_NEGATIVE, StrOptions({"evidence"})],
    }

    def _strengths(self) -> tuple[float, float]:
        return 0.0, 1.0 if self.lam == "evidence" else self.lam

    def _solve(self, problem: Problem) -> Solution:
        if self.lam != "evidence":
            return super()._solve(problem)
        return most_evident_ridge(problem.objective, self._start(problem), self.tol, self.max_iter or 200)
