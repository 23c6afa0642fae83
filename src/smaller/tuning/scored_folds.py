"""The folds of SMLRCV: every candidate at every strength, scored on the rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import check_scoring

from ..design import as_design, host
from ..models.base import Given, problem_of
from ..models.cross_validated_choice import in_folds, refuse_unweighted
from ..models.folds import GivenRows, class_folds
from ..models.multinomial import SMLR
from ..models.targets import centred_offset, split
from ..objective.problem import Problem
from ..solvers import Solution, Trail
from .path import trail_of
from .relaxed import SHARES, Refits, blended

Candidate = tuple[tuple[int, int], float, Solution]  # share and strength as places, the strength, the fit


class FoldModel(SMLR):
    """SMLR as a scorer sees it in a fold: with the offset of the rows left out."""

    held_out_offset: np.ndarray | None = None

    def decision_function(self, X, offset=None) -> np.ndarray:
        # Scorers of scikit-learn need NumPy arrays.
        return host(super().decision_function(X, self.held_out_offset if offset is None else offset))


def fold_model(model: Any, classes: np.ndarray, y: np.ndarray) -> FoldModel:
    """SMLR with the parameters of the search, those of classes that the training labels y lack left out."""
    shared = SMLR._get_param_names()
    part = FoldModel(**{k: v for k, v in model.get_params(deep=False).items() if k in shared})
    part.l2 = float(model._ridges()[0])
    present = np.isin(classes, y)
    if present.all():
        return part
    if isinstance(part.class_weight, dict):
        names = set(classes[present].tolist())
        part.class_weight = {label: w for label, w in part.class_weight.items() if label in names}
    if np.ndim(part.penalty_factor) == 2:
        part.penalty_factor = _factors_of(np.asarray(part.penalty_factor), present)
    return part


def _factors_of(factor: np.ndarray, present: np.ndarray) -> np.ndarray:
    if len(factor) != len(present):
        raise ValueError(
            "A class is missing from a fold of cv, where penalty factors of the reference parametrisation mean "
            "nothing; use stratified folds."
        )
    factor = factor[present]
    # Two classes share one column: a weight goes to the cheaper of them.
    return factor.min(axis=0, keepdims=True) if len(factor) == 2 else factor


def path_scores(
    model: Any, problem: Problem, grid: np.ndarray, score: Callable[[Iterable], Iterable]
) -> tuple[np.ndarray, list[Solution]]:
    """The scores of every share (rows) at every strength, NaN where there is no refit; and the fits that missed.

    `score` makes pairs (place, score) of triples (place, lam, solution).
    """
    trail = trail_of(problem, grid, model.tol, model.max_iter)
    found = np.full((len(model._shares), len(grid)), np.nan)
    for place, value in score(_candidates(model, problem, grid, trail)):
        found[place] = value
    return found, trail.missed()


def _candidates(model: Any, problem: Problem, grid: np.ndarray, trail: Trail) -> Iterator[Candidate]:
    refits = Refits(problem, model.tol, model.max_iter)
    for i, (lam, solution) in enumerate(zip(grid, trail, strict=True)):
        yield (0, i), lam, solution
        refit = refits.of(solution) if model.relax else None
        if refit is not None:
            for j, share in enumerate(SHARES[1:], 1):
                yield (j, i), lam, blended(solution, refit, share)


class FoldsInMemory:
    """Every candidate at every strength, fitted on one part of the data and scored on the other, fold by fold.

    Attributes
    ----------
    values : tuple of ndarray of shape (n_l2, n_shares, L)
        The scores of each fold, NaN where there is no refit.
    missed : list of Solution
        Fits in folds that did not reach their certificate.
    """

    def __init__(self, model: Any, problem: Problem, grid: np.ndarray):
        self.model, self.problem, self.grid = model, problem, grid
        self.data = data = GivenRows(model, problem.sample)
        splits = class_folds(model.cv, data.X, data.y, data.weight, problem.sample.given.groups)
        self.values, missed = zip(*in_folds(self._scored, splits, model.n_jobs), strict=True)
        self.missed = list(chain.from_iterable(missed))

    def trail(self, ridge: int, part: slice) -> Trail:
        """The path on all rows with one of the ridge terms, or a part of it."""
        return trail_of(self.model._at(self.problem, ridge), self.grid[part], self.model.tol, self.model.max_iter)

    def _scored(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, list[Solution]]:
        model, train = self.model, self.data.weighted(train)
        part = fold_model(model, self.data.classes, self.data.y[train])
        problem, held_out = problem_of(part, *self.data.part(train)[:4]), self.data.part(test, train)
        one = self._score_by(part, problem, held_out)

        def score(candidates: Iterable[Candidate]) -> Iterator:
            return ((place, one(lam, solution)) for place, lam, solution in candidates)

        posed = [model._at(problem, ridge) for ridge in range(len(model._ridges()))]
        values, missed = zip(*(path_scores(model, each, self.grid, score) for each in posed), strict=True)
        return np.array(values), list(chain.from_iterable(missed))

    def _score_by(self, part: FoldModel, problem: Problem, rows: Given):
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
            weighed = problem.objective.with_strength(lam)
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
