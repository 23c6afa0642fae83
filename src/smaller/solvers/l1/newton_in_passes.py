"""Solvers that see the data only through sums over all rows, and count passes.

Where the unknowns are few the Hessian is summed along with the gradient and each step is Newton's: about half a dozen
passes. On wide problems only the Hessian of the weights that are not zero, or about to leave it, is summed. Where those
are too many as well, the curvature is that of a few rows on the client, corrected by what the last steps have shown of
it (limited-memory BFGS): a dozen or two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...design import as_design
from ...errors import Status, choose
from ...objective.posterior import Posterior
from ...priors import ElasticNet
from ...rows.dask.drawn import DrawnRows
from ...rows.dask.summed_posterior import SummedPoint, SummedPosterior
from .. import Solution, null_point
from ..smooth import LEAST
from ..solution import History
from .newton import newton
from .quadratic import quadratic_minimum
from .quasi_newton import QuasiNewton
from .start import begin

GUESS = 1e-3  # relative duality gap of a first guess: the drawn rows determine the weights no better
HESSIAN = 3000  # unknowns up to which a Hessian is summed
GRAM = 6000  # columns up to which a Gram matrix is
ROUNDING = 1e-14  # relative changes of the objective below this mean nothing
NEAR = 0.9  # of its l1: a gradient from which on a weight may leave 0 in the next step
ROOM = 256  # weights that a working set may take in, besides as many as it has
ATTEMPTS, RELEARN = 15, 3  # to find a step that is worth taking, the first by what failed steps taught


def newton_in_passes(
    objective: SummedPosterior, W: np.ndarray, tol: float, max_iter: int, screen: float = 1.0, scores=None
) -> Solution:
    """Minimise to a relative duality gap of tol, by Newton steps where a Hessian has room, else by quasi-Newton steps.

    `screen` is the sequential strong rule's fraction of l1, as for the solver in memory. `scores` are ignored: rows
    stay on the workers.
    """
    return _run(objective, W, tol, max_iter, _Newton(objective, screen))


def quasi_newton(
    objective: SummedPosterior, W: np.ndarray, tol: float, max_iter: int, screen: float = 1.0, scores=None, gram=None
) -> Solution:
    """Minimise to a relative duality gap of tol with the curvature of few rows and the Gram matrix, or its diagonal."""
    gram = objective.design.d <= GRAM if gram is None else gram
    return _run(objective, W, tol, max_iter, QuasiNewton(objective, gram))


def _run(objective: SummedPosterior, W: np.ndarray, tol: float, max_iter: int, steps) -> Solution:
    history, first = History(objective), objective.passes
    point = _first_point(objective, W, steps)
    status = Status.MAX_ITER
    while True:
        history.note(point)
        if point.gap <= tol and (objective.l1.any() or point.violation <= tol):
            status = Status.CONVERGED
            break
        if objective.passes - first >= max_iter:
            break
        if steps.too_many(point):
            steps = QuasiNewton(objective, gram=objective.drawn is None and objective.design.d <= GRAM)
        moved = _step(objective, point, steps, first + max_iter)
        if moved is None:
            status = Status.STALLED
            break
        point = moved
    return _solution(objective, point, status, history, first)


def null_of(objective: Posterior) -> Any:
    """The optimum when every penalised weight is 0, of data in memory or elsewhere; its W is in the user's columns."""
    if not isinstance(objective, SummedPosterior):
        return null_point(objective)
    start = objective.start()
    if objective.offset is None and not objective.free[: objective.design.d].any():
        return objective.at(objective.centred(start), _Newton(objective, 1.0).asks(start, None))
    # A prior so strong that only the free weights move.
    strong: Any = objective.with_prior(
        objective.prior.with_strength(1e3 * float(objective.moments.mass.max(initial=1.0)))
    )
    newton_in_passes(strong, start, 1e-10, 50)
    point = objective.again(objective.reached[1])
    return point._replace(W=objective.uncentred(point.W))


def _first_point(objective: SummedPosterior, W: np.ndarray, steps) -> SummedPoint:
    """At the start, or at a guess from few rows where that is empty and far from the optimum; never above the null."""
    d = objective.design.d
    point = _known(objective, W)
    if not W[:d].any() and (point is None or point.violation > 1.0) and objective.drawn is not None:
        guess = _guess(objective.drawn, objective.prior)
        W, point = (guess, None) if guess[:d].any() else (W, point)
    point = point or objective.at(objective.centred(W), steps.asks(W, None))
    if objective.offset is None and objective.design.intercept and W[:d].any():
        share = objective.class_weight / objective.total
        if point.value > -float(objective.class_weight @ np.log(share)):
            start = objective.start()
            point = objective.at(start, steps.asks(start, None))
    return point


def _guess(drawn: DrawnRows, prior: ElasticNet) -> np.ndarray:
    """The weights that minimise the objective of the drawn rows, to an accuracy that suits a start."""
    design = as_design(drawn.Z, drawn.intercept)
    objective = Posterior(design, drawn.Y, drawn.likelihood, prior, drawn.s, drawn.offset)
    return newton(objective, begin(objective), GUESS, 20).weights


def _known(objective: SummedPosterior, W: np.ndarray) -> SummedPoint | None:
    """The last point, where it was at the same weights under another prior: a pass that need not be repeated."""
    if not objective.reached:
        return None
    last, d = objective.reached[1], objective.design.d
    C = objective.centred(W)
    same = np.array_equal(C[:d], last.W[:d]) and np.allclose(C[d:], last.W[d:], rtol=1e-12, atol=1e-12)
    return objective.again(last) if same and last.active is not None else None


def _step(objective: SummedPosterior, point: SummedPoint, steps, limit: int) -> SummedPoint | None:
    """The point after one step: whole where that lowers the objective enough, else another; None if nothing does."""
    length, target = 1.0, steps.proposal(point)
    for attempt in range(ATTEMPTS):
        D = target - point.W
        slope = float((point.G * D).sum()) + _l1_change(objective, point.W, target)
        if not slope < -ROUNDING * abs(point.value) and attempt == 0:
            wider = steps.widened(point)
            if wider is not None:
                return wider
        if not slope < 0:
            return None
        W = target if length == 1.0 else point.W + length * D
        moved = objective.at(W, steps.asks(W, point))
        learnt = steps.learn(point, moved)
        gain = point.value - moved.value
        if gain >= -1e-4 * length * slope:
            return moved
        if -slope * length <= 100 * ROUNDING * abs(point.value):
            return moved if moved.violation < 0.5 * point.violation else None
        if objective.passes >= limit:
            return point
        if learnt and attempt < RELEARN:
            target = steps.proposal(point)
        else:
            length *= float(np.clip(slope * length / (2 * (slope * length + gain)), 0.1, 0.5))
    return None


def _l1_change(objective: SummedPosterior, W: np.ndarray, target: np.ndarray) -> float:
    """Of the penalty that is not smooth; the ridge's slope is in the gradient."""
    return float((objective.l1 * (np.abs(target) - np.abs(W))).sum())


class _Newton:
    """Newton steps on a working set: all weights where these are few, else those not zero or about to be."""

    def __init__(self, objective: SummedPosterior, screen: float):
        self.objective, self.screen = objective, screen
        self.whole = objective.shape[0] * objective.k <= HESSIAN

    def too_many(self, point: SummedPoint) -> bool:
        """Whether the working set has outgrown the Hessian."""
        return not self.whole and int(np.count_nonzero(self._must(point.W))) > HESSIAN

    def _must(self, W: np.ndarray) -> np.ndarray:
        return (W != 0) | (self.objective.l1 == 0)

    def asks(self, W: np.ndarray, before: SummedPoint | None) -> np.ndarray:
        """The weights (m, k) whose Hessian the next pass is to sum: all, or the working set that is foreseen."""
        if self.whole:
            return np.ones(W.shape, dtype=bool)
        must = self._must(W)
        if before is None or int(np.count_nonzero(must)) > HESSIAN:
            return must if int(np.count_nonzero(must)) <= HESSIAN else np.zeros(W.shape, dtype=bool)
        room = min(HESSIAN - int(np.count_nonzero(must)), max(ROOM, int(np.count_nonzero(must))))
        pressing = np.where(must, 0.0, np.abs(before.G) / np.where(self.objective.l1 > 0, self.objective.l1, np.inf))
        near = np.flatnonzero((pressing > min(NEAR, max(self.screen, 0.0))).ravel())
        if len(near) > room:
            near = near[np.argpartition(pressing.ravel()[near], -room)[-room:]]
        must.flat[near] = True
        return must

    def widened(self, point: SummedPoint) -> SummedPoint | None:
        """The same point with the Hessian of the weights that want to move, where these were not foreseen."""
        wanted = self.asks(point.W, point)
        return None if (wanted <= point.active).all() else self.objective.at(point.W, wanted | point.active)

    def proposal(self, point: SummedPoint) -> np.ndarray:
        """Where the quadratic model on the working set is least."""
        o, d = self.objective, self.objective.design.d
        active = point.active[:d]  # type: ignore[index]
        feature, klass = np.nonzero(active.T)[::-1]
        flat = (feature, klass)
        H: Any = point.sums.hessian
        if o.design.intercept:
            rows = np.concatenate([feature, np.full(o.k, d)])
            flat = (rows, np.concatenate([klass, np.arange(o.k)]))
        else:
            H = H[: len(feature), : len(feature)]
        H = H + np.diag(o.l2[flat] + LEAST * o.largest_curvature(flat[0]))
        target = point.W.copy()
        model = H, point.G[flat], point.W[flat], o.l1[flat], o.scale[flat]
        target[flat] = quadratic_minimum(*model, 0.01 * point.violation)
        return target

    def learn(self, point: SummedPoint, moved: SummedPoint) -> bool:
        """The exact Hessian needs no quasi-Newton correction."""
        return False


def _solution(objective: SummedPosterior, point: SummedPoint, status: Status, history: History, first: int) -> Solution:
    gap = point.gap
    free = objective.free[: objective.design.d].any()
    # As for large problems in memory: only a fit that puts every sample in its own class counts as separating them.
    if free and point.sums.doubt <= 1e-8 and point.sums.least > 0.5:
        status, gap = Status.SEPARABLE, np.inf
    passes = objective.passes - first
    W = objective.uncentred(point.W)
    return Solution(W, None, status, point.value, gap, point.violation, passes, history.steps, {})


# Each with the passes over the data that it may take by default.
DISTRIBUTED: dict[str, tuple[Callable[..., Solution], int]] = {
    "auto": (newton_in_passes, 200),
    "newton": (newton_in_passes, 200),
    "bound": (quasi_newton, 500),
}


def solver_of(name: str) -> tuple[Callable[..., Solution], int]:
    """The solver for data in blocks and its passes; those that go through single columns do not exist here."""
    choose("With Dask input, solver", name, DISTRIBUTED)
    return DISTRIBUTED[name]
