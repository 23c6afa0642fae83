"""One against the rest: a problem of several classes as one problem of two classes for each, and their solutions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..design.tensors import columns_of
from ..errors import Status
from ..likelihoods import Multinomial
from ..objective.problem import Problem
from ..solvers import Solution


def one_vs_rest(problem: Problem) -> list[Problem]:
    """The problem of each class against the rest; of two classes, the problem itself."""
    sample, likelihood = problem.sample, problem.likelihood
    if sample.k == 1:
        return [problem]
    likelihood = Multinomial(reference=True) if isinstance(likelihood, Multinomial) else likelihood

    def column(values, c: int):
        return None if values is None else columns_of(values, np.array([c]))

    parts = [replace(sample, Y=column(sample.Y, c), offset=column(sample.offset, c)) for c in range(sample.k)]
    return [Problem(part, likelihood, problem.prior) for part in parts]


def joined(solutions: list[Solution]) -> Solution:
    """One solution, its columns those of all, its end that of the worst; extra["parts"] are the single ones."""
    worst = max(solutions, key=lambda each: (each.status is not Status.CONVERGED, each.violation))
    histories: Any = [each.history for each in solutions]
    return Solution(
        weights=np.column_stack([each.weights for each in solutions]),
        scores=None,
        status=worst.status,
        objective=sum(each.objective for each in solutions),
        gap=worst.gap,
        violation=max(each.violation for each in solutions),
        n_iter=max(each.n_iter for each in solutions),
        history=histories[0] if len(solutions) == 1 else histories,
        extra={"parts": solutions},
    )
