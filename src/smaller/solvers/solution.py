"""The solution that a solver returns, and the history of its iterations."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import Status
from ..likelihoods import Multinomial
from ..objective.posterior import Point, Posterior
from .separation import separates


class Step(NamedTuple):
    """One row of a solver's history."""

    objective: float
    violation: float
    gap: float
    support: int
    seconds: float


class Solution(NamedTuple):
    """The weights with their certificate, how the solver ended, and its history."""

    weights: np.ndarray
    scores: Any  # (n, k); None where the rows lie on workers
    status: Status
    objective: float
    gap: float
    violation: float
    n_iter: int
    history: list[Step]
    extra: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trail:
    """The solutions of a path: numbers in arrays, sparse weights one below the other; iteration makes each solution.

    Attributes
    ----------
    last : Solution
    statuses, n_iter, extras : list
    objectives, gaps, violations : ndarray of shape (L,)
    counts : ndarray of shape (L,)
        Non-zero weights of each solution.
    places, values : ndarray
        Of all of them: where in their (flat) weights, and what.
    rows : ndarray of shape (L,)
        Steps of each history.
    history : ndarray of shape (sum of rows, 5)
    """

    last: Solution
    statuses: list[Status]
    n_iter: list[int]
    extras: list[dict[str, Any]]
    objectives: np.ndarray
    gaps: np.ndarray
    violations: np.ndarray
    counts: np.ndarray
    places: np.ndarray
    values: np.ndarray
    rows: np.ndarray
    history: np.ndarray

    @classmethod
    def of(cls, solutions: Iterable[Solution]) -> Trail:
        """At least one solution, of which only the last keeps its scores."""
        ends, kept, values, steps = [], [], [], []
        for last in solutions:
            weights = last.weights.ravel()
            kept.append(np.flatnonzero(weights != 0))
            values.append(weights[kept[-1]])
            steps.append(np.array(last.history, dtype=float).reshape(-1, len(Step._fields)))
            ends.append(last._replace(weights=np.empty(0), scores=None, history=[]))
        return cls(
            last=last,
            statuses=[end.status for end in ends],
            n_iter=[end.n_iter for end in ends],
            extras=[end.extra for end in ends],
            objectives=np.array([end.objective for end in ends]),
            gaps=np.array([end.gap for end in ends]),
            violations=np.array([end.violation for end in ends]),
            counts=np.array([len(places) for places in kept]),
            places=np.concatenate(kept),
            values=np.concatenate(values),
            rows=np.array([len(rows) for rows in steps]),
            history=np.concatenate(steps),
        )

    def __len__(self) -> int:
        return len(self.statuses)

    def __iter__(self) -> Iterator[Solution]:
        kept, noted = np.cumsum(self.counts) - self.counts, np.cumsum(self.rows) - self.rows
        for i in range(len(self) - 1):
            weights = np.zeros(self.last.weights.shape)
            at = slice(kept[i], kept[i + 1])
            weights.ravel()[self.places[at]] = self.values[at]
            yield self._told(i, weights, self.history[noted[i] : noted[i + 1]])
        yield self.last

    def missed(self) -> list[Solution]:
        """Those that did not reach their certificate, without weights."""
        bad = [i for i, status in enumerate(self.statuses) if status is not Status.CONVERGED]
        return [self._told(i, np.empty(0), np.empty((0, len(Step._fields)))) for i in bad]

    def _told(self, i: int, weights: np.ndarray, history: np.ndarray) -> Solution:
        certificate = (float(self.objectives[i]), float(self.gaps[i]), float(self.violations[i]))
        steps = [Step(*row)._replace(support=int(row[3])) for row in history.tolist()]
        return Solution(weights, None, self.statuses[i], *certificate, self.n_iter[i], steps, self.extras[i])


class History:
    """Collects a step per iteration and turns the last point into a Solution."""

    def __init__(self, objective: Posterior) -> None:
        self.objective = objective
        self.began = time.perf_counter()
        self.steps: list[Step] = []

    def note(self, point: Any) -> None:
        """Add a row."""
        support = int(np.count_nonzero(point.W != 0))  # faster than counting non-zero floats
        seconds = time.perf_counter() - self.began
        self.steps.append(Step(point.value, point.violation, point.gap, support, seconds))

    def solution(
        self, point: Point, tol: float, n_iter: int, missed: Status = Status.MAX_ITER, **extra: Any
    ) -> Solution:
        """The Solution at a point after so many iterations: the only place that sets the status CONVERGED.

        The certificate is computed from the weights alone, not from scores that the solver updated step by step.
        `missed` is the status of a solver that did not reach tol. Where free columns separate the classes there is no
        maximum of the likelihood, and the status is SEPARABLE.
        """
        claimed = point.gap <= tol
        W = _without_common_shift(self.objective, point.W)
        if not point.fresh or W is not point.W:
            point = self.objective.at(W)
        self.steps[-1:] = []  # the last row is that of the weights returned
        self.note(point)
        status = Status.CONVERGED if point.gap <= tol else Status.STALLED if claimed else missed
        known = self.objective.separated(point)
        if separates(self.objective, point.P) if known is None else known:
            status, point = Status.SEPARABLE, point._replace(gap=np.inf)
        weights = self.objective.uncentred(point.W)
        return Solution(weights, point.F, status, point.value, point.gap, point.violation, n_iter, self.steps, extra)


def _without_common_shift(objective: Posterior, W: np.ndarray) -> np.ndarray:
    """W as models return it: in a symmetric softmax the free weights of each column sum to 0 over the classes.

    A shift that all classes share changes no probability, but a large one costs the scores their digits.
    """
    loose = objective.free[: objective.design.d].all(axis=1)
    if not loose.any() or not isinstance(objective.likelihood, Multinomial) or objective.likelihood.reference:
        return W
    rows, W = np.flatnonzero(loose), W.copy()
    W[rows] -= W[rows].mean(axis=1, keepdims=True)
    return W
