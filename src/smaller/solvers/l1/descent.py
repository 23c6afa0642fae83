"""Steps where the working set is too large for its Hessian: accelerated proximal gradients on centred, scaled columns.

Each gradient is one reading of the design. On a device it is in the precision of X until that has done what it can.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...design import host
from ...objective.posterior import Posterior
from ..smooth import DIRECT
from .proximal import LONGEST, ProximalGradient, Shrinking

BRIEF = 100  # gradient steps before Newton steps of smooth problems, which do not need more where they suffice
SOON = 300  # gradient steps after which Newton steps are tried, however much their Hessian costs
PATIENCE, LAST_PATIENCE = 60, 1000  # steps without progress after which single and double precision stop


def approached(objective: Posterior, W: np.ndarray, tol: float) -> np.ndarray:
    """Weights of a smooth problem after a few gradient steps, where X lies on a device and the weights are many."""
    if objective.cheap == np.inf or W.size <= DIRECT:
        return W
    return Descent(objective, False).run(W, tol, BRIEF)[0]


class DescentSteps:
    """Many gradient steps between two certificates; the curvature met on the way is kept for the next call."""

    screen = 1.0

    def __init__(self, objective: Posterior, tol: float):
        self.objective, self.tol = objective, tol
        self.precise = False  # whether steps are in double precision
        self.able = self.slow = False  # whether Newton steps are possible; whether gradient steps have been too many
        self.last, self.sharper = np.inf, 1.0
        self.descent: Descent | None = None

    def moved(self, point: Any, limit: int) -> Any:
        """The point after the steps; None where rounding stopped them."""
        # Where the last steps did not even halve the violation, single precision is exhausted.
        self.precise |= point.violation > 0.5 * self.last
        # A relative gap is seldom above the violation; after the first steps the ratio of the two is known.
        known = self.descent is not None and np.isfinite(point.gap)
        aim = 0.5 * self.tol / point.gap * point.violation * self.sharper if known and point.gap > 0 else self.tol
        self.sharper *= 0.3 if known else 1.0
        self.last = point.violation
        if self.descent is None or self.descent.precise != self.precise:
            self.descent = Descent(self.objective, self.precise)
        W, _, reached = self.descent.run(point.W, min(aim, 0.1 * point.violation), SOON if self.able else LONGEST)
        self.slow |= self.able and not reached
        moved = self.objective.evaluate(W)
        worse = moved.violation >= 0.5 * point.violation and moved.value >= point.value * (1 - 1e-12)
        return None if self.precise and worse else moved


class Descent:
    """Gradient steps on W' = norm W and b' = b + center.W, in which columns are centred and of norm 1.

    In a group, columns that the prior measures alike have the norm of the longest of them. Where there are groups a
    ridge belongs to what is smooth, else to the penalty.
    """

    def __init__(self, objective: Any, precise: bool):
        self.objective, self.precise = objective, precise
        design, xp, put = objective.design, objective.xp, objective.put
        d, total = design.d, objective.total
        mean, spread = objective.gauge()
        self.center = mean if design.intercept else np.zeros(d)
        square = spread + total * (mean**2 - self.center**2)
        unit = np.sqrt(np.append(square, total))  # of each column, and of the intercept's ones
        rounding = 1e-6 if objective.single else 1e-13  # relative spread below which a column counts as constant
        still = unit <= rounding * np.sqrt(total) * np.append(np.abs(self.center), 0.0)
        unit = np.where(still, 0.0, unit)[:, None]
        if objective.blocks is not None:
            unit = objective.blocks.isotropic(unit)
        unit = np.where(unit > 0, unit, 1.0)
        self.unit = put(unit)
        self.moves = put(np.where(still, 0.0, 1.0)[:, None] * np.append(np.ones(d), float(design.intercept))[:, None])
        self.mean = put(self.center[None, :])
        pad = np.zeros((1 - design.intercept, objective.k))
        l1, l2, scale = (np.vstack([each, pad]) for each in (objective.l1, objective.l2, objective.scale))
        scale[scale == 0] = 1.0
        l1, l2, scale = put(l1) / self.unit, put(l2) / self.unit**2, put(scale) / self.unit
        self.loss = objective.loss_gradient(precise)
        shrinking = Shrinking(l1, objective.blocks, unit, xp, put)
        self.l2 = None if objective.blocks is None or not objective.ridged else l2
        shrink = shrinking if self.l2 is not None else lambda z, t: shrinking(z, t) / (1.0 + t * l2)
        self.steps = ProximalGradient(self._gradient, shrink, scale, xp)

    def run(self, W: np.ndarray, target: float, longest: int = LONGEST) -> tuple[np.ndarray, int, bool]:
        """Steps until the violation seems below the target; the weights, how many steps, and whether it is."""
        patience = LAST_PATIENCE if self.precise else PATIENCE
        x, steps, reached = self.steps.run(self._inward(W), target, longest, patience)
        return self._outward(x), steps, reached

    def _gradient(self, v: Any) -> Any:
        """The gradient of the loss in the scaled coordinates; one reading of the design."""
        xp, d = self.objective.xp, self.objective.design.d
        W = v / self.unit
        b = W[d:, :] - xp.matmul(self.mean, W[:d, :])
        G, left = self.loss(W[:d, :], b)
        G = G - self.mean.T * left
        concat = xp.concat if hasattr(xp, "concat") else np.concatenate  # NumPy 1 has no concat
        G = self.moves * concat([G, left], axis=0) / self.unit
        return G if self.l2 is None else G + self.l2 * v

    def _inward(self, W: np.ndarray) -> Any:
        d = self.objective.design.d
        b = W[d] + self.center @ W[:d] if self.objective.design.intercept else np.zeros(W.shape[1])
        return self.objective.put(np.vstack([W[:d], b])) * self.unit

    def _outward(self, x: Any) -> np.ndarray:
        d = self.objective.design.d
        W = host(x / self.unit)
        W[d] -= self.center @ W[:d]
        return W if self.objective.design.intercept else W[:d]
