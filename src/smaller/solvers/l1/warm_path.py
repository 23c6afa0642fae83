"""The regularisation path: the same problem at decreasing strengths, each warm-started from the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import _core
from ...objective.posterior import Posterior
from ..smooth import settle
from ..solution import Solution, Trail
from .compiled import minimise
from .newton import first_ask, newton
from .start import begin, is_far, newton_from, null_start


def null_point(objective: Any) -> Any:
    """The optimum when every penalised weight is 0: what remains are the intercept and the free columns."""
    if not objective.remote:
        return settle(objective, null_start(objective), 1e-10)
    start = objective.start()
    if objective.offset is None and not objective.free[: objective.design.d].any():
        return objective.evaluate(objective.centred(start), first_ask(objective, start))
    # A prior so strong that only the free weights move; the sums over the rows do not depend on the prior.
    strong = 1e3 * float(objective.moments.mass.max(initial=1.0))
    newton(objective.with_strength(strong), start, 1e-10, 50)
    point = objective.again(objective.reached[1])
    return point._replace(W=objective.uncentred(point.W))


def solve_path(
    objective: Posterior,
    lams: Sequence[float] | np.ndarray,
    tol: float,
    max_iter: int,
    W: np.ndarray | None = None,
    solve: Callable[..., Solution] = newton,
) -> Trail:
    """Solutions at each strength in the order given, screened by the sequential strong rule when they decrease."""
    if W is None:
        W = begin(objective.with_strength(float(lams[0])))
    unit = objective.with_strength(1.0)
    sparse = np.min(lams, initial=1.0) > 0 and unit.sparse
    if _core.COMPILED and solve is newton and unit.design.in_memory and sparse and not is_far(unit):
        return minimise(unit, W, tol, max_iter, lams=np.ascontiguousarray(lams, dtype=np.float64))
    solve = newton_from if solve is newton else solve
    return Trail.of(_one_by_one(objective, lams, tol, max_iter, W, solve))


def _one_by_one(
    objective: Posterior, lams: Sequence[float] | np.ndarray, tol: float, max_iter: int, W: np.ndarray, solve: Callable
) -> Iterator[Solution]:
    previous = F = None
    for lam in lams:
        screen = 2.0 - previous / lam if previous is not None and lam > 0 and previous > lam else 1.0
        solution = solve(objective.with_strength(lam), W, tol, max_iter, screen, F)
        W, F, previous = solution.weights, solution.scores, lam
        yield solution
