"""The folds of SMLRCV: every candidate at every strength, scored on the rows left out."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.metrics import check_scoring

from ..design import as_design, host
from ..models.base import Given, problem_of
from ..models.cross_validated_choice import refuse_unweighted
from ..models.folds import GivenRows
from ..models.multinomial import SMLR
from ..models.targets import centred_offset, split
from ..objective.problem import Problem
from ..solvers import Solution, Trail
from .path import trail_of
from .relaxed import SHARES, Refits, blended


class FoldModel(SMLR):
    """SMLR as a scorer sees it in a fold: with the offset of the rows left out."""

    held_out_offset: np.ndarray | None = None

    def decision_function(self, X, offset=None) -> np.ndarray:
        # Scorers of scikit-learn need NumPy arrays.
        return host(super().decision_function(X, self.held_out_offset if offset is None else offset))


class ScoredFold:
    """Fits the path on one part of the data and scores every strength on the other."""

    def __init__(self, model: Any, data: GivenRows, grid: np.ndarray):
        self.model, self.data, self.grid, self.classes = model, data, grid, data.classes

    def __call__(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, list[Solution]]:
        """The scores (n_l2, n_shares, L), and how those fits ended that did not reach their certificate."""
        train = self.data.weighted(train)
        part = self._single_model(train)
        problem, held_out = problem_of(part, *self.data.part(train)[:4]), self.data.part(test, train)
        score = self._score_by(part, problem, held_out)
        values, missed = [], []
        for ridge in self.model._ridges().tolist():
            posed = problem.with_prior(problem.prior.with_ridge(ridge))
            trail = trail_of(posed, self.grid, self.model.tol, self.model.max_iter)
            values.append(self._scores(posed, trail, score))
            missed += trail.missed()
        return np.array(values), missed

    def _scores(self, problem: Problem, trail: Trail, score: Callable[[float, Solution], float]) -> np.ndarray:
        """The scores of every share (rows) at every strength, NaN where there is no refit."""
        refits = Refits(problem, self.model.tol, self.model.max_iter)
        found = np.full((len(self.model._shares), len(self.grid)), np.nan)
        for i, (lam, solution) in enumerate(zip(self.grid, trail, strict=True)):
            found[0, i] = score(lam, solution)
            refit = refits.of(solution) if self.model.relax else None
            if refit is not None:
                found[1:, i] = [score(lam, blended(solution, refit, share)) for share in SHARES[1:]]
        return found

    def _single_model(self, train: np.ndarray) -> FoldModel:
        """SMLR with the parameters of the search, those of classes that the fold does not have left out."""
        shared = SMLR._get_param_names()
        part = FoldModel(**{k: v for k, v in self.model.get_params(deep=False).items() if k in shared})
        part.l2 = float(self.model._ridges()[0])
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
