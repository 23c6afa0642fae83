"""The accelerated proximal gradient method (Beck & Teboulle 2009) with restarts (O'Donoghue & Candes 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

CHECK = 5  # steps between two looks at the violation, each of which waits for a device
NOISE = 1e-4  # relative changes of the weights below this are too small to measure curvature by
DOUBT = 1.02  # factor of the largest curvature met, for safety
LONGEST = 2000  # steps of one run


class State(NamedTuple):
    """Where the descent stands; all arrays of the namespace that the gradient is in."""

    x: Any  # the weights
    y: Any  # the point of the next gradient
    G: Any  # the last gradient, at `at`
    at: Any
    t: Any  # momentum
    L: Any  # curvature


class ProximalGradient:
    """Minimises f(x) + penalty(x), in coordinates in which the curvature of f is about the same in all directions.

    Parameters
    ----------
    gradient : function of x
        Of f.
    shrink : function of z and a step length t
        The minimiser over x of ``|x - z|^2 / 2 + t penalty(x)``.
    scale : array
        What KKT residuals are measured against.
    xp : array namespace
    """

    def __init__(self, gradient: Callable[[Any], Any], shrink: Callable[[Any, Any], Any], scale: Any, xp: Any = np):
        self.gradient, self.shrink, self.scale, self.xp = gradient, shrink, scale, xp
        self.L: float | None = None  # the largest curvature met so far

    def run(self, x: Any, target: float, longest: int = LONGEST, patience: float = np.inf) -> tuple[Any, int, bool]:
        """Steps until the violation seems below the target; the weights, how many steps, and whether it is.

        It also ends after `patience` steps without progress.
        """
        xp, best, since, steps = self.xp, np.inf, 0, 0
        one = xp.ones_like(x[0, 0])
        state = State(x, x, xp.zeros_like(x), x, one, self._curvature(x) * one)
        for steps in range(1, longest + 1):
            state, violation = self._step(state, first=steps == 1)
            if steps % CHECK:
                continue
            seen = float(violation)
            since = 0 if seen < 0.9 * best else since + CHECK
            best = min(best, seen)
            if seen <= target or since >= patience:
                break
        self.L = float(state.L)
        return state.x, steps, best <= target

    def _step(self, state: State, first: bool) -> tuple[State, Any]:
        """One gradient, one proximal step, one extrapolation; nothing waits for the device."""
        xp = self.xp
        G = self.gradient(state.y)
        L = state.L if first else self._at_least_seen(state, G)
        steeper = L > state.L
        x = self.shrink(state.y - G / L, 1.0 / L)
        moved, mapped = x - state.x, state.y - x
        # Momentum that leads uphill, or that came of steps too long, is dropped.
        restart = (xp.sum(mapped * moved) > 0) | steeper
        t = xp.where(restart, xp.ones_like(state.t), state.t)
        after = (1.0 + xp.sqrt(1.0 + 4.0 * t * t)) / 2.0
        y = x + xp.where(restart, xp.zeros_like(t), (t - 1.0) / after) * moved
        violation = xp.max(L * xp.abs(mapped) / self.scale)
        return State(x, y, G, state.y, after, L), violation

    def _at_least_seen(self, state: State, G: Any) -> Any:
        """The curvature between the last two gradients, where it exceeds the largest curvature so far."""
        xp = self.xp
        change = state.y - state.at
        square = xp.sum(change * change)
        seen = DOUBT * xp.sum(change * (G - state.G)) / xp.where(square > 0, square, xp.ones_like(square))
        measured = square > NOISE**2 * xp.sum(state.y * state.y)
        return xp.where(measured & (seen > state.L), seen, state.L)

    def _curvature(self, x: Any) -> float:
        """A first guess at the largest curvature: that along the gradient; the steps correct it."""
        if self.L is None:
            G = self.gradient(x)
            size = self.xp.sqrt(self.xp.sum(G * G)) + 1e-300
            step = 1e-2 * G / size * (1.0 + self.xp.sqrt(self.xp.sum(x * x)))
            change = self.gradient(x - step) - G
            self.L = max(abs(float(self.xp.sum(change * step) / self.xp.sum(step * step))), 1e-6)
        return self.L


class Shrinking:
    """The minimiser over x of ``|x - z|^2 / 2 + t (sum l1 |x| + sum_g tau_g ||x_g||)``, a function of z and t.

    Entries are shrunk first, then the groups.

    Parameters
    ----------
    l1 : array of shape (m, k)
    groups : RowGroups or None
        Of the rows; with None there are no norms.
    unit : ndarray of shape (m, k) or (m, 1)
        What weights are multiplied by in x: in each group a multiple of the units of its norm.
    xp : array namespace
    put : function
        From a NumPy array, and a type of the namespace, to an array beside x.
    """

    def __init__(self, l1: Any, groups: Any, unit: np.ndarray, xp: Any = np, put: Any = np.asarray):
        self.l1, self.xp, self.parts = l1, xp, []
        if groups is None or not len(groups.rows):
            return
        for part in groups.parts:
            tau = part.tau / (unit[part.rows[:, 0], 0] / part.unit[:, 0, 0])
            self.parts.append((put(part.rows.ravel(), xp.int64), part.rows.shape, put(tau)))
        inside = np.concatenate([part.rows.ravel() for part in groups.parts])
        alone = np.setdiff1d(np.arange(len(unit)), inside)
        self.alone = put(np.ones(len(alone)))
        self.back = put(np.argsort(np.concatenate([inside, alone])), xp.int64)

    def __call__(self, z: Any, t: Any) -> Any:
        x = soft_threshold(z, t * self.l1, self.xp)
        return x * self._factors(x, t)[:, None] if self.parts else x

    def _factors(self, x: Any, t: Any) -> Any:
        """The factor by which the norm of its group shrinks each row."""
        xp = self.xp
        squares, factors = xp.sum(x * x, axis=1), []
        for rows, shape, tau in self.parts:
            own = xp.reshape(xp.take(squares, rows), shape)
            length = xp.sqrt(xp.sum(own, axis=1))
            left = xp.clip(1.0 - t * tau / xp.where(length > 0, length, xp.ones_like(length)), 0.0, None)
            factors.append(xp.reshape(left[:, None] + xp.zeros_like(own), (-1,)))
        concat = xp.concat if hasattr(xp, "concat") else np.concatenate  # NumPy 1 has no concat
        return xp.take(concat([*factors, self.alone]), self.back)


def soft_threshold(z: Any, threshold: Any, xp: Any = np) -> Any:
    """The minimiser over x of ``|x - z|^2 / 2 + threshold |x|``."""
    return xp.sign(z) * xp.clip(xp.abs(z) - threshold, 0.0, None)
