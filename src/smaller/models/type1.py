"""Type I regression: weights under a sparse prior whose variances are maximised over, after Wipf & Wu (2012)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..design import OperatorDesign
from ..errors import warn
from ..objective.evidence import Evidence
from ..objective.problem import Problem
from ..priors import is_laplace
from ..solvers import Solution
from ..solvers.type1.type_one import type_one
from .operators import TakesOperators
from .regression import VarianceModel


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
