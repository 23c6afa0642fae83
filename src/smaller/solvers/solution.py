"""What a solver returns, and what it notes on the way."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ..errors import Status
from ..objective import Point, Posterior
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
    scores: Any  # (n, k); None of data that are elsewhere
    status: Status
    objective: float
    gap: float
    violation: float
    n_iter: int
    history: list[Step]
    extra: dict[str, Any]


class History:
    """Collects a step per iteration and turns the last point into a Solution."""

    def __init__(self, objective: Posterior) -> None:
        self.objective = objective
        self.began = time.perf_counter()
        self.steps: list[Step] = []

    def note(self, point: Any) -> None:
        """Add a row."""
        support = int(np.count_nonzero(point.W != 0))  # faster than of the numbers themselves
        seconds = time.perf_counter() - self.began
        self.steps.append(Step(point.value, point.violation, point.gap, support, seconds))

    def solution(self, point: Point, status: Status, n_iter: int, **extra: Any) -> Solution:
        """The end, after so many iterations as the solver counts them; a maximum that does not exist is not reached."""
        if separates(self.objective, point.P):
            status, point = Status.SEPARABLE, point._replace(gap=np.inf)
        return Solution(point.W, point.F, status, point.value, point.gap, point.violation, n_iter, self.steps, extra)
