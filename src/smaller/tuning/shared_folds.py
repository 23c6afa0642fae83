"""The folds of SMLRCV on Dask collections: all folds, all ridge terms and the path on all rows in the same passes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from ..basis import as_basis
from ..models.base import Given
from ..models.cross_validated_choice import refuse_unweighted
from ..models.dask_sample import client_labels, measured_sample
from ..models.folds import class_folds
from ..objective.problem import Problem
from ..rows.dask.block_moments import add, find_labels
from ..rows.dask.block_scores import Candidates, log_likelihoods
from ..rows.dask.collections import is_lazy
from ..rows.dask.shared_passes import TEST, TRAIN, SharedPasses, SomeRows
from ..solvers import Solution, Trail
from .path import trail_of
from .scored_folds import Candidate, fold_model, path_scores


class FoldsInPasses:
    """As :class:`FoldsInMemory`, with the labels on the client and the rows where they are.

    The labels decide which rows a fold is trained and scored on, as in memory. A fold is a problem of its own, with the
    moments of its own rows; its fits and those of the other folds ask for sums over their rows in shared passes.
    """

    def __init__(self, model: Any, problem: Problem, grid: np.ndarray):
        self.model, self.problem, self.grid = model, problem, grid
        if model.scoring is not None:
            raise ValueError(
                "With Dask input SMLRCV scores by the log-loss, which is a sum over rows; other scorers need all rows "
                f"of a fold in one place. Leave scoring={model.scoring!r} out, or give data in memory."
            )
        sample: Any = problem.sample
        self.y, self.weight = client_labels(sample)
        self.splits = self._splits()
        self.together = SharedPasses(sample.design.passes, sample.design.found.sizes, self._roles())
        folds, ridges = range(len(self.splits)), range(len(model._ridges()))
        posed = self.together.run([partial(self._posed, fold) for fold in folds])
        paths: list[Any] = [partial(self._path, ridge) for ridge in ridges]
        scored: list[Any] = [partial(self._scored, posed[fold], fold, ridge) for fold in folds for ridge in ridges]
        found = self.together.run(paths + scored)
        self.paths, values, missed = found[: len(ridges)], *zip(*found[len(ridges) :], strict=True)
        self.values = tuple(np.array(values).reshape(len(folds), len(ridges), *values[0].shape))
        self.missed: list[Solution] = list(chain.from_iterable(missed))

    def trail(self, ridge: int, part: slice) -> Trail:
        """The path on all rows with one of the ridge terms, or a part of it."""
        return Trail.of(islice(self.paths[ridge], part.start, part.stop))

    # -- Which rows

    def _splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        given = self.problem.sample.given
        groups = np.asarray(given.groups.compute() if is_lazy(given.groups) else given.groups)
        if groups.ndim and len(groups) != len(self.y):
            raise ValueError(f"groups must label each of the {len(self.y)} rows of X; got {len(groups)} labels.")
        weight = None if given.sample_weight is None else self.weight
        seen: Any = UnreadRows((len(self.y), int(given.X.shape[1])))
        found = class_folds(self.model.cv, seen, self.y, weight, groups if groups.ndim else None)
        if not found:
            raise ValueError("cv must give at least one fold; got none.")
        every = np.arange(len(self.y))
        splits = [(every[train], every[test]) for train, test in found]  # masks become positions
        if any(len(np.unique(rows)) < len(rows) for rows in chain.from_iterable(splits)):
            raise ValueError("cv gives a fold a row more than once; with Dask input each row must be in it once.")
        return splits

    def _roles(self) -> np.ndarray:
        """What each row is in each fold."""
        roles = np.zeros((len(self.y), len(self.splits)), dtype=np.uint8)
        for fold, (train, test) in enumerate(self.splits):
            roles[train, fold] |= TRAIN
            roles[test, fold] |= TEST
            refuse_unweighted(Given(None, None, self.weight[test]))
        roles[self.weight == 0] &= TEST
        return roles

    # -- What each fold asks for

    def _posed(self, fold: int) -> Problem:
        """The problem of the rows that a fold is trained on, whose columns are measured in one pass."""
        sample: Any = self.problem.sample
        train = self.splits[fold][0]
        y, weight = self.y[train], self.weight[train]
        model = fold_model(self.model, sample.classes, y[weight > 0])
        model._validate_params()
        found = find_labels(None, y, weight, None, None)
        about = as_basis(model.basis), model.class_weight, model._score_columns, model.fit_intercept
        kept = np.isin(sample.classes, found.classes)
        return model._pose(measured_sample(sample.given, self.together.part(fold), found, *about, kept=kept))

    def _path(self, ridge: int) -> Trail:
        """The path on all rows."""
        problem = _through(self.model._at(self.problem, ridge), self.together.part())
        return trail_of(problem, self.grid, self.model.tol, self.model.max_iter)

    def _scored(self, problem: Problem, fold: int, ridge: int) -> tuple[np.ndarray, list[Solution]]:
        """Scores (n_shares, L) of one fold with one of the ridge terms, and the fits that missed their certificate."""
        part = self.together.part(fold)
        posed = _through(self.model._at(problem, ridge), part)
        return path_scores(self.model, posed, self.grid, partial(_mean_log_likelihoods, posed, part.others()))


def _through(problem: Problem, part: SomeRows) -> Problem:
    """The problem with its own passes."""
    sample: Any = problem.sample
    return replace(problem, sample=sample.through(part))


def _mean_log_likelihoods(problem: Problem, part: SomeRows, candidates: Iterable[Candidate]) -> zip:
    """Places of candidates with their mean log-likelihoods on some rows, all found in one pass."""
    sample: Any = problem.sample
    d, k, places, kept, intercepts = sample.design.d, sample.k, [], [], []
    for place, _, solution in candidates:
        W = solution.weights
        rows = np.flatnonzero(W[:d].any(axis=1))
        places.append(place)
        kept.append((rows, W[rows]))
        intercepts.append(W[d] if sample.design.intercept else np.zeros(k))
    columns = np.unique(np.concatenate([rows for rows, _ in kept]))
    W = np.zeros((len(columns), k, len(places)))
    for i, (rows, values) in enumerate(kept):
        W[np.searchsorted(columns, rows), :, i] = values
    told = Candidates(sample.task, columns, W.reshape(len(columns), k * len(places)), np.array(intercepts).T.ravel())
    sums = part.total(log_likelihoods, add, told)
    return zip(places, sums[:-1] / sums[-1], strict=True)


class UnreadRows:
    """What a splitter gets for X: rows that it can count, but not look at."""

    def __init__(self, shape: tuple[int, int]):
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, *asked: Any, **how: Any) -> Any:
        raise ValueError(
            "With Dask input a splitter sees the labels and the groups, not X; give cv=<number>, a splitter that does "
            "not look at X, or pairs of row positions."
        )

    __array__ = __getitem__
