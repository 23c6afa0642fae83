"""Adaptive sparseness (Figueiredo 2003): linear regression with a Laplace prior and a learned noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._sklearn import StrOptions
from ..likelihoods import Gaussian
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet, Groups
from ..solvers import SOLVERS, Solution
from ..solvers.type1.expectation_maximisation import Spread, spread
from ..solvers.type1.scaled_lasso import em, laplace, universal_group_strength, universal_strength
from .base import NON_NEGATIVE, POSITIVE
from .grouping import Grouped
from .operators import TakesOperators
from .regression import RegressionModel
from .selector import Selector
from .targets import penalty_factors

EM_STEPS = 10_000


class AdaptiveRegressor(Selector, RegressionModel):
    """What the two regressors share: adopting weights, noise and covariance."""

    noise: Any
    max_iter: int | None

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        """Noise and covariance, from the solution's noise and prior variances of the weights kept."""
        sample, noise = problem.sample, float(solution.extra["noise"])
        gamma = solution.extra["gamma"].reshape(len(self.support_), sample.k)
        if noise > 0:
            each = [spread(sample.design, sample.weight / noise, column, self.support_) for column in gamma.T]
        else:  # a constant target
            each = [Spread(np.zeros((0, 0)), np.zeros(0), 0.0)] * sample.k
        covariance = each[0].covariance if sample.vector else np.stack([one.covariance for one in each])
        self._store_uncertainty(noise, each[0]._replace(covariance=covariance))


class LaplaceRegressor(TakesOperators, Grouped, AdaptiveRegressor):
    """Linear regression with a Laplace prior: the lasso, with the noise learned and the strength free of units.

    Minimises, over w (and b, which is never penalised), ::

        sum_i s_i (y_i - F_i)^2 / (2 noise) + lam sum_j u_j |w_j|,   F = Phi w + b,

    with ``noise = sum_i s_i (y_i - F_i)^2 / sum_i s_i`` unless it is given (Figueiredo 2003, where lam is the square
    root of gamma). With ``standardize=True`` the unit is ``u_j = (standard deviation of column j) / sqrt(noise)``: then
    lam has no unit, and weights and noise together solve a convex problem, the scaled lasso (Sun and Zhang 2012). With
    False ``u_j = 1`` as in the paper. The fit ends with a duality gap for the weights at the noise found.

    With ``groups`` the norms of groups take the place of the L1 term (the scaled group lasso), with ``l2`` a ridge term
    ``l2 sum_j c_j (u_j w_j)^2 / 2`` comes beside it. Several targets have a column of weights each and one noise over
    all, ``sum_it s_i (y_it - F_it)^2 / (n_targets sum_i s_i)``: scale them to comparable noise. ``groups="features"``
    keeps an input for all of them or for none.

    Parameters
    ----------
    lam : "universal" or float, default="universal"
        Strength of the prior. "universal" is ``sqrt(2 n log d)`` for n samples (their weights summed) and d weights, at
        which pure noise keeps no column; for groups of size g, with factors c and t targets, the largest of
        ``sqrt(n) (sqrt(g t) + sqrt(2 log n_groups)) / c``. It needs standardised units, and takes penalty factors to be
        1 and the columns of a group to be uncorrelated. Predictions are often best at a fraction of it.
    noise : "learn" or float, default="learn"
        Variance of the noise.
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
        What the weights belong to; see :mod:`smaller.basis`.
    solver : {"newton", "em"}, default="newton"
        Both reach the same certified optimum; "em" is the algorithm of the paper, for one target and the L1 term alone.
    l2 : float, default=0.0
        Strength of a ridge term beside the prior. In standardised units a learned noise counts it with the residuals,
        so that weights and noise stay one convex problem.
    penalty_factor : array-like of shape (n_columns,) or (n_targets, n_columns), default=None
        Multiplies the penalty of each weight; 0 leaves it unpenalised, infinity leaves a column out.
    fit_intercept : bool, default=True
    standardize : bool, default=True
        Measure the prior in units of each column's standard deviation and of the noise's; ``coef_`` stays in units of
        the data.
    tol : float, default=1e-6
        Relative duality gap at which the fit is done, and relative change of the noise.
    max_iter : int, default=None
        Iterations for the weights at one noise; None is the solver's own limit.
    groups : None, "features" or array-like of shape (n_columns,), default=None
        Columns whose weights, for all targets, enter or leave the model together: "features" makes each column a group,
        labels make groups of the columns with the same label.
    l1_share : float, default=0.0
        Share of the L1 penalty beside the norms of groups.
    group_factor : array-like or dict, default=None
        c_g of labelled groups; by default the square root of their number of columns. All three as in :class:`SMLR`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
    intercept_ : float or ndarray of shape (n_targets,)
    lam_ : float
        The strength used.
    noise_ : float
        Variance of the noise, learned or given.
    support_ : ndarray
        Columns of the basis with a non-zero weight.
    group_support_ : ndarray
        With labelled groups, the labels of those with a non-zero weight.
    relevance_vectors_ : ndarray or sparse array
        On a kernel basis, the centres with a non-zero weight.
    covariance_ : ndarray of shape (n_kept, n_kept) or (n_targets, n_kept, n_kept)
        Of the kept weights: that of the normal distribution they have given the variances that EM expects.
    center_, center_variance_
        Weighted means of the kept columns, and the variance of the prediction there.
    dual_gap_ : float
        Relative duality gap of the weights at ``noise_``.
    violation_ : float
        Largest violation of the optimality conditions, or relative change of the noise that is left.
    objective_, n_iter_, status_, history_
        As in :class:`SMLR`.

    Notes
    -----
    X may be a :class:`scipy.sparse.linalg.LinearOperator`, or an operator of PyLops: the fit and its certificate need
    products with X and its transpose, and the columns of the working set alone are formed.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import LaplaceRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LaplaceRegressor(lam=20.0).fit(X, y)
    >>> model.support_.tolist(), bool(model.dual_gap_ <= 1e-6)
    ([1, 2, 3, 4, 6, 8, 9], True)
    >>> mean, std = model.predict(X[:1], return_std=True)
    >>> print(f"{mean[0]:.0f} +- {std[0]:.0f}")
    202 +- 54
    """

    _parameter_constraints: ClassVar[dict] = {
        **RegressionModel._parameter_constraints,
        "lam": [StrOptions({"universal"}), POSITIVE],
        "solver": [StrOptions({"newton", "em"})],
        "l2": [NON_NEGATIVE],
        "penalty_factor": ["array-like", None],
        "standardize": ["boolean"],
        **Grouped._group_constraints,
    }
    _without_columns = "the mean of the targets"

    @property
    def _targets(self) -> dict:  # type: ignore[override]
        return {"y_numeric": True, "multi_output": self.solver == "newton"}

    def __init__(
        self,
        lam="universal",
        *,
        noise="learn",
        basis="linear",
        solver="newton",
        fit_intercept=True,
        standardize=True,
        tol=1e-6,
        max_iter=None,
        l2=0.0,
        penalty_factor=None,
        groups=None,
        l1_share=0.0,
        group_factor=None,
    ):
        self.lam = lam
        self.noise = noise
        self.basis = basis
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.l2 = l2
        self.penalty_factor = penalty_factor
        self.groups = groups
        self.l1_share = l1_share
        self.group_factor = group_factor

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.solver == "newton"
        return tags

    def _pose(self, sample: Sample) -> Problem:
        noise = 1.0 if self.noise == "learn" else self.noise
        scale, factor = sample.scale if self.standardize else None, None
        if self.penalty_factor is not None:
            factor = penalty_factors(self.penalty_factor, sample.design.d, sample.k)
        prior = self._group_prior(sample, 1.0, self.l2, factor, scale)
        if self.solver == "em":
            refuse_em(sample, prior)
        return Problem(sample, Gaussian(noise), prior.with_strength(self._strength(sample, prior)))

    def _solve(self, problem: Problem) -> Solution:
        return solve_laplace(problem, self.noise == "learn", self.solver, self.tol, self.max_iter)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        self._adopt_groups(problem, solution)
        self.lam_, self.dual_gap_ = problem.prior.l1, solution.gap

    def _strength(self, sample: Sample, prior: ElasticNet) -> float:
        if self.lam != "universal":
            return float(self.lam)
        if not self.standardize:
            raise ValueError("lam='universal' is a strength in standardised units; give a number, or standardize=True.")
        return universal(sample, prior)


def universal(sample: Sample, prior: ElasticNet) -> float:
    """The strength at which pure noise keeps no column, of an L1 term, of norms of groups, or of their mixture."""
    total, d, k = sample.weight.sum(), sample.design.d, sample.k
    count = d * k if prior.factor is None else int(np.count_nonzero((prior.factor > 0) & np.isfinite(prior.factor)))
    lone = universal_strength(total, count * k if prior.factor is not None and prior.factor.ndim == 1 else count)
    blocks = prior.with_strength(1.0).blocks(d, k)
    if blocks is None:
        return lone
    share = prior.l1_share  # type: ignore[attr-defined]
    together = universal_group_strength(total, np.diff(blocks.starts), blocks.tau / (1 - share), k)
    return 1.0 / ((1 - share) / together + share / lone)


def refuse_em(sample: Sample, prior: ElasticNet) -> None:
    """Figueiredo's algorithm is for one target with an L1 term on every weight, and nothing else."""
    beside = sample.k > 1 or prior.l2 or isinstance(prior, Groups)
    factor = np.ones(1) if prior.factor is None else prior.factor
    if beside or not (np.isfinite(factor) & (factor > 0)).all():
        raise ValueError(
            "solver='em' takes one target with an L1 penalty on every column; use solver='newton' for groups, a ridge, "
            "penalty factors of 0 or infinity, or several targets."
        )


def solve_laplace(problem: Problem, learn: bool, solver: str, tol: float, max_iter: int | None) -> Solution:
    """The lasso at the noise of the likelihood, or with the noise learned."""
    noise = None if learn else problem.likelihood.noise
    solve, steps = (em, EM_STEPS) if solver == "em" else SOLVERS["newton"]
    return laplace(problem.sample, problem.prior, noise, solve, tol, max_iter or steps)
