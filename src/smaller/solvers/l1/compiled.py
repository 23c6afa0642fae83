"""The compiled L1 solver for every problem whose rows are in memory: one strength, or a whole path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import _core
from ...errors import Status
from ...objective.posterior import Posterior
from ..collinear import fitted, nearly_collinear
from ..separation import separates
from ..solution import Solution, Step, Trail

SMALLEST_WORKING_SET = 64
POLISH_BELOW = 1e-5  # only fits with tol at or below this are polished to rounding, where that costs little
# What a compiled fit took: Newton steps, sweeps over their models, Hessians of all rows and of samples of the rows.
WORK = "sweeps", "steps", "hessians", "sampled_hessians"
ONCE = np.ones(1)
ENDS = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED)  # in the order of the compiled solver's numbers


def minimise(
    objective: Posterior,
    W: np.ndarray,
    tol: float,
    max_iter: int,
    screen: float = 1.0,
    F: np.ndarray | None = None,
    exact: bool = False,
    lams: np.ndarray = ONCE,
) -> Trail:
    """The compiled solver, for data in memory: at each of some multiples of the objective's L1 strengths.

    The other arguments are those of :func:`smaller.solvers.l1.newton.newton`.
    """
    design = objective.design
    by_columns = design.stored is not None
    run, arrays = (_core.minimise, design.stored) if by_columns else (_core.minimise_by_rows, design.stored_by_rows)
    # Columns without a penalty may separate the classes: then there is no maximum.
    bounded = objective.l1[: design.d].all() or not objective.free[: design.d].any()
    G = None if F is None else objective.known_gradient(F)
    known, G = G is not None, np.empty(W.shape) if G is None else G.copy()
    W, F = np.array(W, order="C"), (objective.scores(W) if F is None else F).copy(order="F")
    rule = _core.Rule(
        tol=float(tol), max_iter=int(max_iter), screen=float(screen), exact=bool(exact or tol <= POLISH_BELOW),
        room=max(SMALLEST_WORKING_SET, design.few * objective.k),
    )  # fmt: skip
    described = objective.samples, objective.penalties, rule, _core.Point(W=W, F=F, G=G, known=known), lams
    ends, history, places, values = run(*arrays, *described)  # type: ignore[misc]
    objective.remember(F, G)
    status, iterations, *work, rows, counts = ends.T
    objectives, violations, gaps, *_ = history[np.cumsum(rows) - 1].T
    statuses = [ENDS[i] for i in status.tolist()]
    extras = [dict(zip(WORK, each, strict=True)) for each in np.transpose(work).tolist()]
    steps = [Step(*row)._replace(support=int(row[3])) for row in history[len(history) - rows[-1] :].tolist()]
    value, violation, gap, *_ = steps[-1]
    last = Solution(W, F, statuses[-1], value, gap, violation, int(iterations[-1]), steps, extras[-1])
    found = Trail(
        *(last, statuses, iterations.tolist(), extras, objectives, gaps, violations),
        *(counts, places[:, 0], values[:, 0], rows, history),
    )
    return found if bounded else _exactly(objective, _without_maximum(objective, found), float(tol))


def _without_maximum(objective: Posterior, found: Trail) -> Trail:
    """The same trail, with the status SEPARABLE where free columns separate the classes: there is no maximum."""
    gaps, statuses, last = found.gaps.copy(), list(found.statuses), found.last
    known: dict[str, float] = {}
    for i, solution in enumerate(found):
        F = solution.scores if solution.scores is not None else objective.scores(solution.weights)
        if separates(objective, objective.likelihood.fit(F, objective.Y, objective.s)[0], known):
            gaps[i], statuses[i] = np.inf, Status.SEPARABLE
    last = last._replace(gap=float(gaps[-1]), status=statuses[-1])
    return replace(found, gaps=gaps, statuses=statuses, last=last)


def _exactly(objective: Posterior, found: Trail, tol: float) -> Trail:
    """The same trail with nearly collinear columns without a penalty fitted exactly at its last strength.

    Before it the weights are what they were, with the gap that is left to them.
    """
    rows = nearly_collinear(objective)
    if rows is None:
        return found
    gaps, statuses, last = found.gaps.copy(), list(found.statuses), fitted(objective, rows, found.last, tol)
    for i, solution in enumerate(list(found)[:-1]):
        better = fitted(objective, rows, solution, tol)
        gaps[i] = better.gap + max(0.0, 1 - better.objective / solution.objective)
        statuses[i] = solution.status if gaps[i] <= tol else Status.STALLED
    gaps[-1], statuses[-1] = last.gap, last.status
    return replace(found, gaps=gaps, statuses=statuses, last=last)
