"""Type I regression and Type II classification with the sparse linear model, after Wipf & Wu (2012)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..design import OperatorDesign
from ..errors import ConvergenceWarning, Status, warn
from ..likelihoods import Multinomial
from ..objective.evidence import Evidence
from ..objective.laplace_evidence import LaplaceEvidence
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..objective.weighted_columns import Columns
from ..priors import Laplace, is_laplace
from ..solvers import Solution
from ..solvers.type1.type_one import type_one
from ..solvers.type2 import sequential_laplace as laplace
from ..solvers.type2.recovery import penalised_logistic
from .base import COUNT
from .classification import ClassificationModel
from .one_vs_rest import one_vs_rest
from .operators import TakesOperators
from .regression import VarianceModel
from .selector import Selector
from .targets import split

WIDE = 10  # columns per sample, above which the search of a relevance vector machine would copy too many of them


class TypeIRegressor(TakesOperators, VarianceModel):
    """Maximum a posteriori regression under a sparse prior, its variances maximised over with the weights.

    The prior is p(x_j) ~ exp(-h(x_j^2) / 2), h concave. Minimises, half of ::

        |y - Phi x|^2 / lambda + sum_j h(x_j^2)                 with a given lambda (Wipf & Wu 2012, eq. 4),
        n h(|y - Phi x|^2 / n) + sum_j h(x_j^2)                 with a learned one (eq. 15),

    lambda = 1 / h'(|y - Phi x|^2 / n), on columns about their means and in units of their norms; n is the sum of the
    sample weights, less one for an intercept. With a Laplace prior these are the lasso and the square-root lasso,
    solved to a duality gap. Other priors go to a stationary point by ridge regressions with variances 1 / h'(x_j^2);
    columns at 0 are looked at in each step, and come back where they violate the optimality conditions.

    With lambda learned, y in other units gives the same model in these units. A prior that is neither a power nor
    Jeffreys' has a unit of its own: its weights are counted in units of the root mean square of y about its mean.

    Parameters
    ----------
    prior : {"laplace", "gaussian", "jeffreys", "student", "lp"} or object, default="laplace"
        |x|, x^2, 1 + log x^2, a Student t with one degree of freedom, |x|^(1/2); or an object with ``h(z)`` and its
        derivative ``slope(z)``, such as ``smaller.priors.Power(0.01)`` or ``smaller.priors.Student(3)``.
    noise : "learn" or float, default="learn"
        "learn", or the trade-off lambda of eq. (4). This number is not a variance: its unit is that of y to the power
        2 - p, so that with ``y * s`` it becomes ``noise * s**(2 - p)``, where p is 1 for "laplace" (``noise * s``), 2
        for "gaussian" (no change), 1/2 for "lp", p for ``Power(p)`` and 0 for "jeffreys" (``noise * s**2``). "student"
        and priors of your own then count weights in the units of y itself, and no number makes up for a change of these
        units. Units of X never matter.
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
    fit_intercept : bool, default=True
        The intercept is free.
    tol : float, default=1e-6
        Largest relative duality gap (Laplace prior) or violation at which the fit is done.
    max_iter : int, default=None
        None is 10 000.

    Attributes
    ----------
    coef_, intercept_, support_, relevance_vectors_
        As in :class:`RVMRegressor`.
    noise_ : float
        Variance of the noise: |y - Phi x|^2 / (n - degrees of freedom). These are the number of columns kept for a
        Laplace prior and one target, else sum_j gamma_j phi_j^T S^-1 phi_j, S the covariance of y that the variances
        give. Version 0.1 had the trade-off parameter here, in units of y^(2 - p), so that its error bars were wrong.
    lambda_ : float
        The trade-off lambda, given or learned; given as `noise`, it leads to the same weights (under a prior with a
        unit of its own only if y has root mean square 1).
    gamma_, covariance_
        Variances of the weights at the optimum, ``noise_ / (lambda_ h'(x_j^2))``, and the covariance of kept weights
        given these.
    evidence_ : float
        Log evidence of the variances and of the noise found.
    dual_gap_ : float
        Relative duality gap; only with a Laplace prior, where the problem is convex.
    violation_ : float
        Largest violation of the optimality conditions over all columns: relative to the penalty for a Laplace prior,
        else relative to the largest product of a column with y.
    status_ : str
        "converged"; "interpolates" where the columns fit y exactly, so that no noise is left to learn; "max_iter" or
        "stalled" (Laplace prior) and "unsettled" (others) where tol was not reached.
    objective_, n_iter_, history_

    Notes
    -----
    X may be a :class:`scipy.sparse.linalg.LinearOperator` (with a Laplace prior and one target, or another prior). Only
    columns that are kept are formed, and those in use where they are fewer than samples; ridge regressions on more are
    solved by conjugate gradients.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import TypeIRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TypeIRegressor(prior="jeffreys").fit(X, y)
    >>> print(len(model.support_), "of 10 inputs kept, R2", round(model.score(X, y), 2))
    6 of 10 inputs kept, R2 0.51
    """

    _parameter_constraints: ClassVar[dict] = {**VarianceModel._parameter_constraints, "prior": [str, object]}

    def __init__(self, prior="laplace", *, noise="learn", basis="linear", fit_intercept=True, tol=1e-6, max_iter=None):
        self.prior = prior
        self.noise = noise
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _maximise(self, evidence: Evidence, prior) -> Solution:
        if isinstance(evidence.columns.design, OperatorDesign) and evidence.k > 1 and is_laplace(prior):
            raise ValueError(
                "TypeIRegressor(prior='laplace') takes a LinearOperator with one target, or a matrix; "
                "LaplaceRegressor(groups='features') has the same prior for several targets of an operator."
            )
        return type_one(evidence, prior, self._noise(), self.tol, self.max_iter or 10_000)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        self.lambda_ = float(solution.extra["lambda"])
        self.__dict__.pop("dual_gap_", None)
        if solution.extra["convex"]:
            self.dual_gap_ = float(solution.gap)

    @staticmethod
    def _variances(alpha: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """1 / (alpha unit^2); a prior so flat that its variance is beyond all numbers has the largest of them."""
        with np.errstate(over="ignore"):
            return np.minimum(1 / alpha / unit**2, np.finfo(float).max)

    def _check_intervals(self) -> None:
        """Warn of a model from a file of version 0.1, which took the trade-off parameter for a variance."""
        if not hasattr(self, "lambda_"):
            warn(
                "This TypeIRegressor was fitted by smaller 0.1, which took its trade-off parameter for the variance of "
                "the noise: the mean is right, but the standard deviation is wrong, by a factor that depends on the "
                "units of y. Fit the model again.",
                UserWarning,
            )


class TypeIIClassifier(Selector, ClassificationModel):
    """Type II classification in coefficient space: the logistic loss with the non-separable penalty of the evidence.

    Minimises the principled objective of Wipf & Wu (2012), Theorem 3, ::

        psi(x) + 1/2 min_gamma [ sum_j x_j^2 / gamma_j + log|4 I + Phi Gamma Phi^T| ],

    psi the negative log-likelihood, which maximises a lower bound of the evidence; or that of Theorem 5, ::

        psi(x) + a1 sum_j x_j^2 / gamma_j + log|a2 I + Phi Gamma Phi^T|,

    which for small a1 and a2 is as sparse as the L0 norm. Each step is a certified L1 problem with penalty factors. The
    paper has two classes; for more, every class of a softmax has gammas of its own, and 4 becomes 2, for half of Phi^T
    Phi bounds the curvature.

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
    alpha : (a1, a2), default=None
        None is Theorem 3, two positive numbers are Theorem 5.
    class_weight : dict or "balanced", default=None
    fit_intercept : bool, default=True
        The intercept is free; columns are centred inside the penalty.
    tol : float, default=1e-8
        Relative decrease of the objective, without its constant, at which the fit is done; ``violation_`` is then at
        most the square root of this.
    max_iter : int, default=200
        Reweightings; their L1 fits read the data at most ``200 + 5 max_iter`` times together.

    Attributes
    ----------
    coef_, intercept_, classes_, support_, relevance_vectors_
        As in :class:`SMLR`.
    gamma_ : ndarray of shape (n_columns,) or (n_classes, n_columns)
    objective_ : float
        The above, with all constants; the sample weights are counts of samples in the size of the determinant. For
        Theorem 3 it exceeds minus the logarithm of the bound by half of log|4 I|, or log|2 I| for each class.
    dual_gap_ : float
        Of the last L1 problem.
    violation_ : float
        Largest violation of the conditions of a minimum, over all columns, relative to the slope of the penalty, which
        is that at the variances returned.
    n_iter_ : int
    history_ : list of float
        The objective after each step; it never rises.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from smaller import TypeIIClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = TypeIIClassifier().fit(X, y)
    >>> print(len(model.support_), "of 30 inputs kept, accuracy", round(model.score(X, y), 2))
    7 of 30 inputs kept, accuracy 0.98
    """

    _good_ends: ClassVar[set[Status]] = {Status.CONVERGED, Status.UNSETTLED}  # this model warns of UNSETTLED itself
    _parameter_constraints: ClassVar[dict] = {
        **ClassificationModel._parameter_constraints,
        "alpha": ["array-like", None],
        "max_iter": [COUNT],
    }

    def __init__(self, basis="linear", *, alpha=None, class_weight=None, fit_intercept=True, tol=1e-8, max_iter=200):
        self.basis = basis
        self.alpha = alpha
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _pose(self, sample: Sample) -> Problem:
        return Problem(sample, Multinomial(reference=sample.k == 1), Laplace(1.0))

    def _strengths(self, k: int) -> tuple[float, float, float]:
        """a1, a2 and the factor of the log determinant."""
        if self.alpha is None:
            return 0.5, 4.0 if k == 1 else 2.0, 0.5
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.shape != (2,) or not (np.isfinite(alpha) & (alpha > 0)).all():
            raise ValueError(f"alpha must be None or two positive numbers (a1, a2); got {self.alpha!r}.")
        return float(alpha[0]), float(alpha[1]), 1.0

    def _solve(self, problem: Problem) -> Solution:
        """From no variances, from large ones and from those of relevance vector machines, whichever ends lowest."""
        sample = problem.sample
        columns = Columns(sample.design, sample.weight)
        unit = np.where(np.isfinite(columns.unit), columns.unit, 0.0)
        strengths = self._strengths(sample.k)
        shape = columns.d, sample.k
        starts = [np.zeros(shape), np.full(shape, 10.0 * strengths[1])]
        if columns.d <= WIDE * sample.design.n:
            starts.append(_machine_variances(problem))
        # A constant column beside an intercept gets a penalty that keeps it out.
        unit = np.where(unit > 0, unit, columns.total)
        options = columns, unit, strengths
        found = [penalised_logistic(problem.objective, *options, start, self.tol, self.max_iter) for start in starts]
        best, values = min(found, key=lambda pair: pair[0].value)
        history: Any = values
        status = Status.CONVERGED if best.settled else Status.UNSETTLED
        certificate = best.value, best.solution.gap, best.violation, len(values)
        extra = {"prior": best.prior, "gamma": best.gamma / unit[:, None] ** 2}
        return Solution(best.solution.weights, None, status, *certificate, history, extra)

    def _coefficients(self, problem: Problem, solution: Solution) -> tuple[Any, Any, Solution]:
        objective = problem.objective.with_prior(solution.extra["prior"])
        return *split(solution.weights, objective, len(problem.sample.classes)), solution

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        gamma = solution.extra["gamma"].T
        self.gamma_ = gamma[0].copy() if len(gamma) == 1 else gamma.copy()
        self.dual_gap_ = solution.gap
        if solution.status is Status.UNSETTLED:
            warn(
                f"TypeIIClassifier stopped after {solution.n_iter} reweightings (max_iter) while the objective still "
                f"fell, at a violation of {solution.violation:.1e}; raise max_iter, or raise tol.",
                ConvergenceWarning,
            )


def _machine_variances(problem: Problem) -> np.ndarray:
    """Variances of relevance vector machines, of each class against the rest: (d, k).

    Reweighting exchanges no columns. Where classes hardly overlap, it ends far higher from the other starts.
    """
    gamma = np.zeros((problem.sample.design.d, problem.sample.k))
    for part, column in zip(one_vs_rest(problem), gamma.T, strict=True):
        sample = part.sample
        evidence = LaplaceEvidence(sample.design, sample.Y, sample.weight, sample.offset)
        mode = laplace.fast(evidence, 1e-3, 1000).extra["mode"]
        column[mode.rows] = 1 / mode.alpha
    return gamma
