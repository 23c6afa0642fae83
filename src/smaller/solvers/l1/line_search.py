"""The line search of proximal Newton methods: along a proposed step until the objective falls enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...objective.posterior import Posterior

ROUNDING = 1e-14  # relative changes of the objective below this are rounding
ATTEMPTS, RELEARN = 15, 3  # trials of a step; the first of them may correct the model instead of the length


class Steps:
    """Steps to the minimum of a model of the objective, or part of the way; kinds of steps differ by their model."""

    falling = 0.5  # factor of the violation at which a step whose gain is rounding is accepted

    def __init__(self, objective: Posterior, screen: float = 1.0):
        self.objective, self.screen = objective, screen

    def fit_for(self, point: Any) -> Any:
        """The steps to take from a point."""
        return self

    def asks(self, W: np.ndarray, before: Any) -> np.ndarray | None:
        """The weights (m, k) whose Hessian the model at W needs; None: no Hessian."""
        return None

    def proposal(self, point: Any) -> np.ndarray:
        """The weights at which the model at this point is least."""
        raise NotImplementedError

    def learn(self, point: Any, moved: Any) -> bool:
        """Correct the model by the gradients at both ends of a trial step; whether another proposal is worth it."""
        return False

    def widened(self, point: Any) -> Any:
        """The point with the Hessian of more weights, where the model had too few for a step; None if it had enough."""
        return None

    def slopes(self, point: Any) -> np.ndarray:
        """The gradient of the smooth part in the weights of the columns as the objective has them."""
        return self.objective.slopes(point.G)

    def moved(self, point: Any, limit: int) -> Any:
        """The point after one step: whole where that lowers the objective enough, else shorter; None if nothing does.

        There are no trials beyond the `limit` of the objective's passes.
        """
        o, G = self.objective, self.slopes(point)
        length, target = 1.0, self.proposal(point)
        for attempt in range(ATTEMPTS):
            D = target - point.W
            slope = float((G * D).sum()) + o.kinked_change(point.W, target)
            if not slope < -ROUNDING * abs(point.value) and attempt == 0:
                wider = self.widened(point)
                if wider is not None:
                    return wider
            if not slope < 0:
                return None
            W = target if length == 1.0 else point.W + length * D
            moved = o.evaluate(W, self.asks(W, point))
            learnt = self.learn(point, moved)
            gain = point.value - moved.value
            if gain >= -1e-4 * length * slope:
                return moved
            # Where rounding hides the gain, a step is worth taking if the gradient falls.
            hidden = -slope * length <= 100 * ROUNDING * abs(point.value)
            if hidden and moved.violation < self.falling * point.violation:
                return moved
            if o.passes >= limit:
                return point
            if learnt and attempt < RELEARN:
                target = self.proposal(point)
            elif hidden:
                return None
            else:
                length *= float(np.clip(slope * length / (2 * (slope * length + gain)), 0.1, 0.5))
        return None
