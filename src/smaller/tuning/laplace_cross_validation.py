"""LaplaceRegressor with its strength chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv

from ..design import as_design, host
from ..models.adaptive import LaplaceRegressor, solve_laplace
from ..models.base import problem_of, without
from ..models.cross_validated_choice import CHOICE, choose_strength, cross_validated_scores, in_folds, refuse_unweighted
from ..models.folds import CrossValidated, GivenRows
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet
from ..solvers import Solution
from .training_path import collected_numbers, laplace_grid, laplace_solutions


class LaplaceRegressorCV(CrossValidated, LaplaceRegressor):
    """LaplaceRegressor, the lasso with the noise learned, at the strength that cross-validation chooses.

    Every strength is scored by the mean squared error on the rows left out.

    Parameters
    ----------
    lams : int or array-like, default=50
        How many strengths, from the largest useful one on the full data down; or the strengths themselves.
    eps : float, default=None
        The smallest strength as a fraction of the largest; by default 1e-2 when there are more columns than samples,
        else 1e-3.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is that many folds of consecutive rows. At least two rows must have a positive
        weight.
    rule : {"min", "1se"}, default="min"
        The least error, or the strongest prior within one standard error of it.
    n_jobs : int, default=None
        Folds fitted side by side.
    noise, basis, solver, fit_intercept, standardize, tol, max_iter
        As in :class:`LaplaceRegressor`.
    l2, penalty_factor, groups, l1_share, group_factor
        As in :class:`LaplaceRegressor`. (Labels of *samples*, for the splitter, go to ``fit(..., groups=)``.)

    Attributes
    ----------
    lam_ : float
        The strength chosen.
    lam_min_, lam_1se_ : float
        The strengths that both rules choose.
    lams_ : ndarray of shape (L,)
    scores_ : ndarray of shape (n_folds, L)
        The negative mean squared error. From the strength on at which the columns of a fold fit its targets exactly,
        the score is that of the strength before.
    path_ : Path
        The path on the full data at ``lams_``; it ends where the columns kept can fit the targets exactly.
    coef_, intercept_, noise_, support_, covariance_, dual_gap_, violation_, objective_, ...
        As in :class:`LaplaceRegressor`, at ``lam_``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import LaplaceRegressorCV
    >>> model = LaplaceRegressorCV(lams=20, rule="1se").fit(*load_diabetes(return_X_y=True))
    >>> bool(model.lam_ == model.lam_1se_ >= model.lam_min_)
    True
    """

    _at_one_strength = "LaplaceRegressor"
    _parameter_constraints: ClassVar[dict] = {
        **without(LaplaceRegressor._parameter_constraints, "lam"),
        **CHOICE,
    }

    def __init__(
        self,
        lams=50,
        *,
        eps=None,
        cv=5,
        rule="min",
        n_jobs=None,
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
        self.lams = lams
        self.eps = eps
        self.cv = cv
        self.rule = rule
        self.n_jobs = n_jobs
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

    def _strength(self, sample: Sample, prior: ElasticNet) -> float:
        return 1.0

    def _solve(self, problem: Problem) -> Solution:
        data = GivenRows(self, problem.sample)
        splits = self._splits(data, problem)
        grid = laplace_grid(problem, self.lams, self.eps, self.noise == "learn")
        scores = cross_validated_scores(in_folds(_Fold(self, data, grid), splits, self.n_jobs))
        lam = float(grid[choose_strength(scores, self.rule)])
        at = problem.with_strength(lam)
        chosen = solve_laplace(at, self.noise == "learn", self.solver, self.tol, self.max_iter)
        others = laplace_solutions(problem, grid, self)
        told = {"lam": lam, "lams": grid, "scores": scores, "path": collected_numbers(problem.sample, grid, others)}
        return chosen._replace(extra={**chosen.extra, **told})

    def _splits(self, data: GivenRows, problem: Problem) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows of each fold, of positive weight where folds are given by their number."""
        rows = np.arange(len(data.y)) if data.weight is None else np.flatnonzero(data.weight > 0)
        if not isinstance(self.cv, Integral | None):
            return list(check_cv(self.cv).split(data.X, data.y, problem.sample.given.groups))
        folds = min(5 if self.cv is None else int(self.cv), len(rows))
        if folds < 2:
            raise ValueError(
                f"Cross-validation needs two samples at least; got {len(rows)} sample. Give more, or use "
                "LaplaceRegressor."
            )
        return [(rows[train], rows[test]) for train, test in check_cv(folds).split(rows[:, None])]

    def _adopt(self, problem: Problem, solution: Solution):
        return super()._adopt(problem.with_strength(solution.extra["lam"]), solution)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        self.path_, self.lams_, self.scores_ = (solution.extra[name] for name in ("path", "lams", "scores"))
        self.lam_min_, self.lam_1se_ = (
            float(self.lams_[choose_strength(self.scores_, rule)]) for rule in ("min", "1se")
        )


class _Fold:
    """Fits the path on one part of the data and scores every strength on the other."""

    def __init__(self, model: LaplaceRegressorCV, data: GivenRows, grid: np.ndarray):
        self.model, self.data, self.grid = model, data, grid

    def __call__(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """The negative mean squared error at each strength."""
        train = self.data.weighted(train)
        shared = LaplaceRegressor._get_param_names()
        settings: dict[str, Any] = {k: v for k, v in self.model.get_params(deep=False).items() if k in shared}
        problem = problem_of(LaplaceRegressor(1.0, **settings), *self.data.part(train)[:4])
        rows = self.data.part(test, train)
        refuse_unweighted(rows)
        X, y, weight, offset, *_ = rows
        design = as_design(problem.sample.basis.transform(X), problem.sample.design.intercept)
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        known = y - (0.0 if offset is None else np.reshape(offset, y.shape))
        scores = [
            -float(np.average(((known - host(design.scores(found.weights))) ** 2).mean(axis=1), weights=weight))
            for found in laplace_solutions(problem, self.grid, self.model)
        ]
        return np.array(
            scores + [scores[-1] if scores else -float(known.var(axis=0).mean())] * (len(self.grid) - len(scores))
        )
