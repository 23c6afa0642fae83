"""SMLR with its strength chosen by cross-validation along a path."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from inspect import signature
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import check_scoring

from ..design import as_design, host
from ..models.base import NON_NEGATIVE, Given, problem_of, without
from ..models.folds import GivenRows, class_folds
from ..models.multinomial import SMLR, SparseMultinomialModel
from ..models.strength_choice import (
    ChosenStrength,
    choose_strength,
    cross_validated_scores,
    in_folds,
    refuse_unweighted,
)
from ..models.targets import centred_offset, split
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..rows.dask.collections import is_lazy
from ..solvers import Solution, Trail
from .path import Path, collected, grid_of, trail_of


@dataclass(eq=False, repr=False)
class SMLRCV(ChosenStrength, SparseMultinomialModel):
    """SMLR with the strength of its prior chosen by cross-validation along a warm-started path.

    Parameters
    ----------
    lams : int or array-like, default=100
        How many strengths, from the largest useful one on the full data down; or the strengths themselves.
    eps : float, default=None
        The smallest strength as a fraction of the largest; by default 1e-2 when there are more columns than samples,
        else 1e-3.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is stratified folds, fewer where the smallest class has fewer samples.
    rule : {"min", "1se"}, default="min"
        The best mean score, or the strongest prior within one standard error of it.
    scoring : str or callable, default=None
        Any scikit-learn scorer; None is the log-loss.
    n_jobs : int, default=None
        Folds fitted side by side.
    basis, parametrization, l2, penalty_factor, class_weight, fit_intercept, standardize, tol, max_iter
        As in :class:`SMLR`.
    groups, l1_share, group_factor
        Of columns, as in :class:`SMLR`.

    Attributes
    ----------
    lam_ : float
        The strength chosen.
    lams_ : ndarray of shape (L,)
    scores_ : ndarray of shape (n_folds, L)
        Greater is better; the log-loss is negated.
    lam_min_, lam_1se_ : float
        The strengths that both rules choose.
    path_ : Path
        The path on the full data at all of ``lams_``; ``path_.at(lam)`` has the weights at a strength. The model is its
        point at ``lam_``.
    coef_, intercept_, classes_, support_, dual_gap_, violation_, objective_, ...
        As in :class:`SMLR`, at ``lam_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import SMLRCV
    >>> model = SMLRCV(lams=30, rule="1se", standardize=True).fit(*load_breast_cancer(return_X_y=True))
    >>> print(len(model.support_), "of 30 inputs kept")
    13 of 30 inputs kept
    """

    lams: Any = 100
    _: KW_ONLY
    eps: float | None = None
    cv: Any = 5
    rule: str = "min"
    scoring: Any = None
    n_jobs: int | None = None
    basis: Any = "linear"
    parametrization: str = "symmetric"
    l2: float = 0.0
    penalty_factor: Any = None
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-6
    max_iter: int | None = None
    groups: Any = None
    l1_share: float = 0.0
    group_factor: Any = None

    _parameter_constraints: ClassVar[dict] = {
        **without(SparseMultinomialModel._parameter_constraints, "solver", "warm_start", "random_state"),
        **ChosenStrength._choice_constraints,
        "scoring": [str, callable, None],
        "l2": [NON_NEGATIVE],
    }

    def _strengths(self) -> tuple[float, float]:
        return 1.0, self.l2

    def fit(self, X, y, sample_weight=None, offset=None, groups=None):
        """Fit the model at the strength that cross-validation chooses.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in :meth:`SMLR.fit`.
        groups : array-like of shape (n_samples,), optional
            Given to the splitter, such as ``cv=GroupKFold()``, which keeps the samples of a group together. (Groups of
            columns are a parameter of the model.)

        Returns
        -------
        self
        """
        if groups is not None and np.shape(groups) != np.shape(y)[:1]:
            raise ValueError(
                f"fit(..., groups=) labels the samples, for the splitter, and must have shape {np.shape(y)[:1]}; got "
                f"{np.shape(groups)}. Labels of columns go to the constructor: SMLRCV(groups=...)."
            )
        return self._fit(Given(X, y, sample_weight, offset, groups))

    def _check(self, given: Given) -> Sample:
        if is_lazy(given.X):
            raise ValueError(
                "SMLRCV cuts its folds out of data in memory, and X is a Dask collection; follow path(X, y) and score "
                "its strengths on rows kept aside, or give SMLRCV a sample (its folds can run on a cluster: "
                "joblib.parallel_config(backend='dask'))."
            )
        sample = super()._check(given)
        labelled = self.groups is not None and not isinstance(self.groups, str)
        name = "penalty_factor" if self.penalty_factor is not None else "labels of groups" if labelled else None
        if name is not None and hasattr(sample.basis, "center_index_"):
            raise ValueError(
                f"SMLRCV takes no {name} with a kernel basis: its columns are training samples, and each fold "
                f"has other ones. Leave {name} out, or use SMLR at a strength of your choice."
            )
        return sample

    def _solve(self, problem: Problem) -> Solution:
        """The end of the path at the strength with the best score."""
        grid = grid_of(problem, self.lams, self.eps)
        data = GivenRows(self, problem.sample)
        splits = class_folds(self.cv, data.X, data.y, data.weight, problem.sample.given.groups)
        values, missed = zip(*in_folds(_Fold(self, data, grid), splits, self.n_jobs), strict=True)
        scores = cross_validated_scores(list(values))
        best = choose_strength(scores, self.rule)
        trail = trail_of(problem, grid[: best + 1], self.tol, self.max_iter)
        told = {
            "lam": float(grid[best]), "path": self._whole_path(problem, grid, best, trail), "lams": grid,
            "scores": scores, "parts": [*trail.missed(), *chain.from_iterable(missed)],
        }  # fmt: skip
        return trail.last._replace(extra={**trail.last.extra, **told})

    def _whole_path(self, problem: Problem, grid: np.ndarray, best: int, trail: Trail) -> Path:
        """The path to the strength chosen, and on to the smallest strength."""
        found = collected(problem, grid[: best + 1], trail)
        rest = grid[best + 1 :]
        if not len(rest):
            return found
        return found.followed_by(collected(problem, rest, trail_of(problem, rest, self.tol, self.max_iter)))


class _FoldModel(SMLR):
    """SMLR as a scorer sees it in a fold: with the offset of the rows left out."""

    held_out_offset: np.ndarray | None = None

    def decision_function(self, X, offset=None) -> np.ndarray:
        # Scorers of scikit-learn need NumPy arrays.
        return host(super().decision_function(X, self.held_out_offset if offset is None else offset))


class _Fold:
    """Fits the path on one part of the data and scores every strength on the other."""

    def __init__(self, model: SMLRCV, data: GivenRows, grid: np.ndarray):
        self.model, self.data, self.grid, self.classes = model, data, grid, data.classes

    def __call__(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, list[Solution]]:
        """The scores, and how those fits ended that did not reach their certificate."""
        train = self.data.weighted(train)
        part = self._single_model(train)
        problem = problem_of(part, *self.data.part(train)[:4])
        score = self._score_by(part, problem, self.data.part(test, train))
        trail = trail_of(problem, self.grid, self.model.tol, self.model.max_iter)
        values = [score(lam, solution) for lam, solution in zip(self.grid, trail, strict=True)]
        return np.array(values), trail.missed()

    def _single_model(self, train: np.ndarray) -> _FoldModel:
        """SMLR with the parameters of the search, those of classes that the fold does not have left out."""
        shared = SMLR._get_param_names()
        part = _FoldModel(**{k: v for k, v in self.model.get_params(deep=False).items() if k in shared})
        present = np.isin(self.classes, self.data.y[train])
        if present.all():
            return part
        if isinstance(part.class_weight, dict):
            names = set(self.classes[present].tolist())
            part.class_weight = {label: w for label, w in part.class_weight.items() if label in names}
        if np.ndim(part.penalty_factor) == 2:
            part.penalty_factor = self._factors_of(np.asarray(part.penalty_factor), present)
        return part

    def _factors_of(self, factor: np.ndarray, present: np.ndarray) -> np.ndarray:
        if len(factor) != len(self.classes):
            raise ValueError(
                "A class is missing from a fold of cv, where penalty factors of the reference parametrisation mean "
                "nothing; use stratified folds."
            )
        factor = factor[present]
        # Two classes share one column: a weight goes to the cheaper of them.
        return factor.min(axis=0, keepdims=True) if len(factor) == 2 else factor

    def _score_by(self, part: _FoldModel, problem: Problem, rows: Given):
        """A function of a solution: its score on the rows left out."""
        refuse_unweighted(rows)
        X, y, weight, offset, *_ = rows
        if self.model.scoring is None:
            return _LogLikelihood(problem, X, y, weight, offset)
        scorer = check_scoring(part, scoring=self.model.scoring)
        weighted = "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
        keywords = {"sample_weight": weight} if weighted and weight is not None else {}

        part.held_out_offset = offset

        def score(lam: float, solution: Solution) -> float:
            part.lam = lam
            weighed = problem.objective.with_prior(problem.prior.with_strength(lam))
            part.classes_, part.basis_ = problem.sample.classes, problem.sample.basis
            part.coef_, part.intercept_ = split(solution.weights, weighed, len(part.classes_))
            part.support_ = np.flatnonzero(part.coef_.any(axis=0))
            return scorer(part, X, y, **keywords)

        return score


class _LogLikelihood:
    """Mean log-likelihood of held-out rows; a class that the training part does not have gets the smallest number."""

    def __init__(self, problem: Problem, X, y, weight, offset):
        sample, classes = problem.sample, problem.sample.classes
        self.weight = np.ones(len(y)) if weight is None else weight
        self.design = as_design(sample.basis.transform(X), sample.design.intercept)
        self.k, self.reference = sample.k, problem.likelihood.reference
        self.offset = centred_offset(offset, len(classes), sample.k)
        position = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        self.known = classes[position] == y
        self.position = position

    def __call__(self, lam: float, solution: Solution) -> float:
        F = host(self.design.scores(solution.weights))
        F = F if self.offset is None else F + self.offset
        if self.k == 1:
            F = np.column_stack([np.zeros(len(F)), F])
        elif self.reference:
            F = np.column_stack([F, np.zeros(len(F))])
        own = np.take_along_axis(log_softmax(F, axis=1), self.position[:, None], axis=1)[:, 0]
        own = np.where(self.known, own, np.log(np.finfo(float).tiny))
        return float(np.average(own, weights=self.weight))
