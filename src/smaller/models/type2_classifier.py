"""Type II classification: the logistic loss under the non-separable penalty of the evidence, after Wipf & Wu (2012)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..errors import ConvergenceWarning, Status, warn
from ..likelihoods import Multinomial
from ..objective.laplace_evidence import LaplaceEvidence
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..objective.weighted_columns import Columns
from ..priors import Laplace
from ..solvers import Solution
from ..solvers.type2 import sequential_laplace as laplace
from ..solvers.type2.reweighted_l1 import penalised_logistic
from .base import COUNT
from .classification import ClassificationModel
from .one_vs_rest import one_vs_rest
from .selector import Selector
from .targets import split

WIDE = 10  # columns per sample, above which the search of a relevance vector machine would copy too many of them
ROUNDS = 100  # of these searches, which are only starts: large offsets would use up many times as many


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
        mode = laplace.fast(evidence, 1e-3, ROUNDS).extra["mode"]
        column[mode.rows] = 1 / mode.alpha
    return gamma
