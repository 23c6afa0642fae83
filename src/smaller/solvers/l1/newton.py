"""Proximal Newton on a growing working set: the default solver.

A full pass over the design finds which weights violate the optimality conditions and reads the certificate; compiled
Newton steps with coordinate sweeps then solve the problem on the working set of non-zero and violating weights.
Where every column is penalised and lies in memory by columns, the rounds of passes and steps are compiled as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ... import _core
from ...errors import Status
from ...objective.posterior import Point, Posterior
from ..separation import separates
from ..smooth import confirm, settle, smooth
from ..solution import History, Solution, Step, Trail
from .group_newton import group_newton

SMALLEST_WORKING_SET = 64
STEPS_PER_PASS = 20
POLISHED = 1e-11
POLISH_WORK = 2_000_000
CAREFUL = 1e-5  # who asks for less than this is not given more
ROUGHLY = 0.3  # of the violation is left where the working set is small and will grow
SHARE = 0.1  # of tol is what the last working set is solved to
REFUTED = 3  # times that fresh scores say no: rounding puts the tolerance out of reach
# What a compiled fit took: Newton steps, sweeps over their models, Hessians of all rows and of samples of the rows.
WORK = "sweeps", "steps", "hessians", "sampled_hessians"
FORCING = 0.1  # the sweeps of a Newton step stop at this fraction of the violation it started from


def newton(
    objective: Posterior,
    W: np.ndarray,
    tol: float,
    max_iter: int,
    screen: float = 1.0,
    F: np.ndarray | None = None,
    exact: bool = False,
) -> Solution:
    """Minimise to a relative duality gap of tol.

    Parameters
    ----------
    screen : float
        Along a path, weights with \\|gradient\\| above this fraction of their l1 join the working set at once: the
        sequential strong rule of Tibshirani et al. (2012) has ``2 - previous lam / lam``. Below 1 there is at least one
        round, even where W is good enough: else a loose tol would make stairs of a path.
    F : ndarray, optional
        The scores of W, where they are known.
    exact : bool
        Whether small problems are solved to rounding even where tol asks for little.
    """
    if not objective.sparse:
        return smooth(objective, W, tol, max_iter)
    if _core.COMPILED and objective.in_memory:
        return minimise(objective, W, tol, max_iter, screen, F, exact).last
    if objective.blocks is not None:
        return group_newton(objective, W, tol, max_iter, F)
    history = History(objective)
    settle, solve = _means(objective, tol)
    share = 0.3 if objective.design.accelerated else SHARE  # there a step costs as much as a pass
    point = settle(objective, W, tol, F)
    chosen = np.empty(0, dtype=np.intp)
    sweeps = refuted = 0
    missed = Status.MAX_ITER
    for iteration in range(max_iter + 1):
        history.note(point)
        if point.gap <= tol and (iteration > 0 or screen >= 1.0):
            polished = _polish(objective, point, tol, settle, solve) if exact or tol <= CAREFUL else point
            point = confirm(objective, polished, tol, settle)
            if polished is not point or not point.fresh:
                history.steps.pop()
                history.note(point)
            refuted += 1
            if point.gap <= tol or refuted == REFUTED:
                missed = Status.STALLED
                break
        if iteration == max_iter:
            break
        previous = chosen
        chosen = _working_set(objective, point, screen if iteration == 0 else 1.0)
        # A working set that had to grow will not be the last: no need to solve it well. One that was screened will be.
        settled = screen < 1.0 if iteration == 0 else np.isin(chosen, previous, assume_unique=True).all()
        small = 2 * len(chosen) < objective.design.d * objective.k
        enough = share * tol / point.gap if point.gap > 0 else 1.0
        fraction = np.clip(enough, 1e-9, 0.1) if settled else ROUGHLY if small else 0.1
        W, F, swept, stalled = solve(point, chosen, fraction * point.violation)
        sweeps += swept
        before = point
        point = settle(objective, W, tol, F)
        if stalled and point.violation >= 0.5 * before.violation and point.value >= before.value * (1 - 1e-12):
            history.note(point)
            missed = Status.STALLED
            break
    return history.solution(confirm(objective, point, tol, settle), tol, iteration, missed, sweeps=sweeps)


ONCE = np.ones(1)
ENDS = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED)  # as the compiled solver numbers them


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
    """The same, compiled, for data in memory: at each of some multiples of the objective's L1 strengths."""
    design = objective.design
    G = None if F is None else objective.known_gradient(F)
    known, G = G is not None, np.empty(W.shape) if G is None else G.copy()
    W, F = np.array(W, order="C"), (objective.scores(W) if F is None else F).copy(order="F")
    rule = _core.Rule(
        tol=float(tol), max_iter=int(max_iter), screen=float(screen), exact=bool(exact or tol <= CAREFUL),
        room=max(SMALLEST_WORKING_SET, design.few * objective.k),
    )  # fmt: skip
    by_columns = design.stored is not None
    run, arrays = (_core.minimise, design.stored) if by_columns else (_core.minimise_by_rows, design.stored_by_rows)
    described = objective.samples, objective.penalty_arrays, rule, _core.Point(W=W, F=F, G=G, known=known), lams
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
    return found if not objective.free[: design.d].any() else _without_maximum(objective, found)


def _without_maximum(objective: Posterior, found: Trail) -> Trail:
    """The same, where free columns that separate the classes are told: the likelihood then has no maximum."""
    gaps, statuses, last = found.gaps.copy(), list(found.statuses), found.last
    for i, solution in enumerate(found):
        F = solution.scores if solution.scores is not None else objective.scores(solution.weights)
        if separates(objective, objective.likelihood.fit(F, objective.Y, objective.s)[0]):
            gaps[i], statuses[i] = np.inf, Status.SEPARABLE
    last = last._replace(gap=float(gaps[-1]), status=statuses[-1])
    return replace(found, gaps=gaps, statuses=statuses, last=last)


def _means(objective: Posterior, tol: float) -> tuple[Callable, Callable]:
    """What settles the free weights and what works on the chosen ones: here, or where X lies."""
    if objective.design.accelerated:
        from .device_steps import Accelerated, settled

        return settled, Accelerated(objective, tol)  # type: ignore[arg-type]
    return settle, partial(_solve, objective)


def _polish(objective: Posterior, point: Point, tol: float, settle: Callable, solve: Callable) -> Point:
    """Small problems are solved to rounding, which costs next to nothing: the order of the rows then does not show."""
    support = int(np.count_nonzero(point.W))
    if point.violation <= POLISHED or support**2 * objective.design.n > POLISH_WORK:
        return point
    chosen = _working_set(objective, point, 1.0)
    W, F, _, _ = solve(point, chosen, POLISHED)
    better = settle(objective, W, tol, F)
    return better if better.gap <= point.gap else point


def _working_set(objective: Posterior, point: Point, screen: float) -> np.ndarray:
    """Flat positions in W^T (class by class) of the weights to work on: the non-zero ones and the worst violators."""
    d, k = objective.design.d, objective.k
    W, residuals = point.W[:d].ravel(), point.residuals[:d].ravel()
    used, leaders = W != 0, objective.leaders
    idle = ~used if leaders is None else ~used & np.repeat(leaders, k)
    support, violating = np.flatnonzero(used), np.flatnonzero((residuals > 0) & idle)
    room = max(SMALLEST_WORKING_SET, 2 * len(support), objective.design.few * k)
    if len(violating) > room:
        violating = violating[np.argpartition(residuals[violating], -room)[-room:]]
    chosen = [support, violating, objective.free_places[objective.free_places < d * k]]
    if screen < 1.0:
        pressing = np.abs(point.G[:d]) > max(screen, 0.0) * objective.l1[:d]
        chosen.append(np.flatnonzero(pressing.ravel() & idle))
    feature, klass = np.divmod(np.concatenate(chosen), k)
    return np.unique(klass * d + feature)


def _solve(
    objective: Posterior, point: Point, chosen: np.ndarray, target: float
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Newton steps on the chosen weights until their violation is below the target."""
    d, intercept = objective.design.d, objective.design.intercept
    klass, feature = np.divmod(chosen, d) if d else (chosen, chosen)
    columns, where = objective.design.storage(feature)
    W, F = point.W.copy(), point.F.copy(order="F")
    w = W[feature, klass]
    b = W[d].copy() if intercept else np.zeros(objective.k)
    at = (feature, klass)
    _, sweeps, _, _, stalled = _core.reference.newton(
        *columns, float(target), STEPS_PER_PASS, FORCING, where.astype(np.int64), klass.astype(np.int64),
        w, b, F, objective.Y, objective.s / objective.likelihood.noise, objective.l1[at], objective.l2[at],
        objective.scale[at], objective.likelihood.family, intercept,
    )  # fmt: skip
    W[feature, klass] = w
    if intercept:
        W[d] = b
    return W, F, sweeps, stalled
