"""Proximal Newton on a working set: the default solver.

Each round evaluates the objective where its rows are (in memory, on a device, in blocks of Dask collections), reads the
certificate, and steps to the minimum of a quadratic model with the L1 term. Where the working set is small the
model has the exact Hessian of the weights that are not zero or about to leave zero. Where it is large, the steps are
those of the accelerated proximal gradient method (:mod:`.descent`) or, where an evaluation is a pass over a cluster, of
a quasi-Newton method (:mod:`.quasi_newton`). Problems in memory have the same method compiled (:mod:`.compiled`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ...errors import Status
from ...objective.curvature import centring
from ...objective.posterior import Posterior
from ..collinear import untangled
from ..smooth import LEAST, confirm, is_settled, settle, smooth
from ..solution import History, Solution
from .compiled import POLISH_BELOW, SMALLEST_WORKING_SET, minimise
from .descent import DescentSteps, approached
from .line_search import Steps
from .quadratic import quadratic_minimum
from .quasi_newton import QuasiNewton

HESSIAN = 3000  # weights up to which a Hessian is formed
GRAM = 6000  # columns up to which a Gram matrix is formed
NEAR = 0.9  # weights with |gradient| / l1 above this join the working set
ROOM = 256  # weights by which a working set may grow in one step, if that is more than twofold
FORCING = 0.01  # the model of a step is minimised to this fraction of the violation
POLISHED, POLISH_WORK, POLISH_STEPS = 1e-11, 2_000_000, 5
REFUTED = 3  # times that fresh scores contradict the certificate before the fit ends as stalled


def newton(
    objective: Posterior,
    W: np.ndarray,
    tol: float,
    max_iter: int,
    screen: float = 1.0,
    F: np.ndarray | None = None,
    exact: bool = False,
) -> Solution:
    """Minimise to a relative duality gap of tol, with at most max_iter evaluations of the objective.

    Parameters
    ----------
    screen : float
        Along a path, weights with \\|gradient\\| above this fraction of their l1 join the working set at once: the
        sequential strong rule of Tibshirani et al. (2012) has ``2 - previous lam / lam``. Below 1 there is at least one
        step, even where W is good enough: else a loose tol would make stairs of a path.
    F : ndarray, optional
        The scores of W, where they are known.
    exact : bool
        Whether small problems are solved to rounding even where tol asks for little.
    """
    if not objective.remote and not objective.sparse:
        return untangled(objective, smooth(objective, approached(objective, W, tol), tol, max_iter), tol)
    if _core.COMPILED and objective.design.in_memory:
        return minimise(objective, W, tol, max_iter, screen, F, exact).last
    solution = _rounds(objective, W, tol, max_iter, NewtonSteps(objective, tol, screen), F, exact)
    return untangled(objective, solution, tol)


def quasi_newton(
    objective: Any, W: np.ndarray, tol: float, max_iter: int, screen: float = 1.0, F=None, gram: bool | None = None
) -> Solution:
    """As :func:`newton` for rows elsewhere, by the curvature of few rows and a Gram matrix or its diagonal."""
    gram = objective.design.d <= GRAM if gram is None else gram
    return _rounds(objective, W, tol, max_iter, QuasiNewton(objective, gram))


def _rounds(
    objective: Posterior, W: np.ndarray, tol: float, max_iter: int, means: Any, F: Any = None, exact: bool = False
) -> Solution:
    """Steps until the gap is at most tol; `means` chooses the kind of steps at each point."""
    history, first = History(objective), objective.passes
    point = _first_point(objective, W, F, means, tol)
    if not objective.remote:
        first = objective.passes  # as in the compiled solver, the start is no iteration
    missed, refuted = Status.MAX_ITER, 0
    while True:
        history.note(point)
        if _is_optimal(objective, point, tol) and (len(history.steps) > 1 or means.screen >= 1.0):
            polished = _polish(point, means, first + max_iter) if exact or tol <= POLISH_BELOW else point
            point, refuted = confirm(objective, polished, tol), refuted + 1
            if point.gap <= tol or refuted == REFUTED:
                missed = Status.STALLED
                break
        if objective.passes - first >= max_iter:
            break
        moved = means.fit_for(point).moved(point, first + max_iter)
        if moved is None:
            missed = Status.STALLED
            break
        point = moved if is_settled(objective, moved, tol) else settle(objective, moved.W, tol, moved.F)
    return history.solution(confirm(objective, point, tol), tol, objective.passes - first, missed)


def first_ask(objective: Posterior, W: np.ndarray) -> np.ndarray:
    """The weights whose Hessian the first evaluation is to sum, where rows lie elsewhere."""
    return NewtonSteps(objective, 1.0, 1.0).asks(W, None)


def _first_point(objective: Posterior, W: np.ndarray, F: Any, means: Any, tol: float) -> Any:
    """The point at W, without an evaluation where the last one was at the same weights under any prior."""
    if F is not None and not objective.remote:
        return settle(objective, W, tol, F)
    point = objective.known(W) or objective.evaluate(objective.centred(W), means.asks(W, None))
    return point if is_settled(objective, point, tol) else settle(objective, point.W, tol, point.F)


def _is_optimal(objective: Posterior, point: Any, tol: float) -> bool:
    return point.gap <= tol and (objective.sparse or point.violation <= tol)


def _polish(point: Any, means: Any, limit: int) -> Any:
    """Small problems are solved to rounding at little cost: the result then does not depend on the order of rows."""
    objective, support = means.objective, int(np.count_nonzero(point.W))
    if objective.remote or support**2 * objective.design.n > POLISH_WORK:
        return point
    for _ in range(POLISH_STEPS):
        if point.violation <= POLISHED:
            break
        moved = means.moved(point, limit)
        if moved is None or not moved.gap <= point.gap:
            break
        point = moved
    return point


class NewtonSteps(Steps):
    """Newton steps on a working set: all weights where these are few, else those not zero or about to be."""

    def __init__(self, objective: Posterior, tol: float, screen: float):
        super().__init__(objective, screen)
        self.tol = tol
        self.other: Any = None  # steps that need no Hessian
        few = HESSIAN if objective.remote else max(SMALLEST_WORKING_SET, objective.design.few * objective.k)
        self.whole = objective.shape[0] * objective.k <= min(few, HESSIAN)

    def fit_for(self, point: Any) -> Any:
        """These steps, or others where the Hessian is too large, or costs more than the others."""
        objective: Any = self.objective
        if objective.remote:
            if self.other is None and self._count(self._wanted(point.W, point)) > HESSIAN:
                self.other = QuasiNewton(objective, objective.drawn is None and objective.design.d <= GRAM)
            return self.other or self
        size = self._count(self._wanted(point.W, point))
        if size <= HESSIAN and (objective.design.n * size**2 <= objective.cheap or getattr(self.other, "slow", False)):
            return self
        self.other = self.other or DescentSteps(objective, self.tol)
        self.other.able = size <= HESSIAN
        return self.other

    def _count(self, mask: np.ndarray) -> int:
        return int(np.count_nonzero(mask))

    def _must(self, W: np.ndarray) -> np.ndarray:
        return self.objective.together((W != 0) | ~self.objective.kinked)

    def asks(self, W: np.ndarray, before: Any) -> np.ndarray:
        """The weights (m, k) whose Hessian is asked for: all, or the working set that is foreseen."""
        wanted = self._wanted(W, before)
        return wanted if self._count(wanted) <= HESSIAN else np.zeros(W.shape, dtype=bool)

    def _wanted(self, W: np.ndarray, before: Any) -> np.ndarray:
        if self.whole:
            return np.ones(W.shape, dtype=bool)
        must = self._must(W)
        size = self._count(must)
        if before is None or size > HESSIAN:
            return must
        room = min(HESSIAN - size, max(ROOM, size))
        pressing = np.where(must, 0.0, self.objective.pressing(before.G))
        near = np.flatnonzero((pressing > min(NEAR, max(self.screen, 0.0))).ravel())
        if len(near) > room:
            near = near[np.argpartition(pressing.ravel()[near], -room)[-room:]]
        must.flat[near] = True
        return self.objective.together(must)

    def widened(self, point: Any) -> Any:
        """The point with the Hessian of the weights that violate their conditions, where these were not foreseen."""
        if point.active is None:
            return None
        wanted = self.asks(point.W, point)
        return None if (wanted <= point.active).all() else self.objective.evaluate(point.W, wanted | point.active)

    def proposal(self, point: Any) -> np.ndarray:
        """Where the quadratic model on the working set is least."""
        o = self.objective
        active = self.asks(point.W, point) if point.active is None else point.active
        klass, feature = np.nonzero(active.T)
        at, target = (feature, klass), point.W.copy()
        H, g = o.curvature_at(point, active), self.slopes(point)[at]
        H.flat[:: len(H) + 1] += LEAST * o.largest_curvature(feature)
        # In the weights of centred columns the model is well conditioned; rows elsewhere have centred columns already.
        T = centring(active, o.moments.mean) if o.design.intercept and not o.remote else None
        H, g = (H, g) if T is None else ((T.T @ (T.T @ H).T).T, T.T @ g)
        w = point.W[at]
        groups = None if o.blocks is None else o.blocks.on(feature)
        step = quadratic_minimum(H, g, w, o.l1[at], o.scale[at], FORCING * point.violation, groups) - w
        target[at] = w + (step if T is None else T @ step)
        return target
