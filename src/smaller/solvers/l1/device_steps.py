"""The work between two certificates where X lies on a device: matrix products only.

Few weights at work: Newton steps on their exact Hessian, summed on the device in float64; the small quadratic problem
with its L1 term is solved on the host. Many: the accelerated proximal gradient method (Beck & Teboulle 2009) with
restarts (O'Donoghue & Candes 2015) on centred, scaled columns, each step one reading of X in its own precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...design import host
from ...objective.posterior import Point
from ...rows.device import AcceleratedPosterior
from ..smooth import settle
from .quadratic import quadratic_minimum

LARGEST_SYSTEM = 2500  # weights at work whose Hessian is still worth forming
CHEAP = 2e10  # so many products are nothing beside the launches
SOON = 300  # gradient steps after which Newton's are worth trying all the same
STEPS = 10  # Newton steps between two certificates
CHECK = 5  # gradient steps between two looks at the violation, each of which waits for the device
PATIENCE, LAST_PATIENCE = 60, 1000  # of them without progress: rounding, of float32 and of float64
LONGEST = 2000  # gradient steps between two certificates
NOISE = 1e-4  # relative changes of the weights below this are too small to measure curvature by
DOUBT = 1.02  # a little above the largest curvature met


class Accelerated:
    """Moves a point towards the optimum; what it learns on the way is kept for the next call."""

    def __init__(self, objective: AcceleratedPosterior, tol: float):
        self.objective, self.tol = objective, tol
        self.precise = False  # whether float32 has done what it can
        self.slow = False  # whether gradient steps have been too many
        self.last, self.sharper = np.inf, 1.0
        self.descent: Descent | None = None

    def __call__(self, point: Point, chosen: np.ndarray, target: float) -> tuple[np.ndarray, Any, int, bool]:
        """Weights, their scores where they are known, the steps taken, and whether rounding stopped them."""
        n = self.objective.design.n
        q = len(chosen) + self.objective.k * self.objective.design.intercept
        able = q <= LARGEST_SYSTEM
        if able and (n * q**2 <= CHEAP or self.slow):
            return newton_steps(self.objective, point, chosen, target)
        # Where the last steps did not even halve the violation, float32 has given what it can.
        self.precise |= point.violation > 0.5 * self.last
        # A relative gap is seldom above the violation; once some steps were taken their ratio is known.
        known = self.descent is not None and np.isfinite(point.gap)
        aim = 0.5 * self.tol / point.gap * point.violation * self.sharper if known else self.tol
        self.sharper *= 0.3 if known else 1.0
        self.last = point.violation
        if self.descent is None or self.descent.precise != self.precise:
            self.descent = Descent(self.objective, self.precise)
        W, steps, reached = self.descent.run(point, min(aim, 0.1 * point.violation), SOON if able else LONGEST)
        self.slow |= able and not reached
        return W, None, steps, self.precise


# -- Newton steps


def newton_steps(
    objective: AcceleratedPosterior, point: Point, chosen: np.ndarray, target: float
) -> tuple[np.ndarray, Any, int, bool]:
    """Newton steps on the chosen weights and the intercepts until their violation is below the target."""
    active = _mask(objective, chosen)
    W, F, value, sweeps = point.W, point.F, point.value, 0
    P, residuals = point.P, point.residuals
    G = point.G
    for _ in range(STEPS):
        violation = float(residuals[active].max(initial=0.0))
        if violation <= target:
            return W, F, sweeps, False
        D = _quadratic_step(objective, W, P, G, active, min(target, 0.1 * violation))
        sweeps += 1
        E = objective.design.scores(D)
        found = _line_search(objective, W, F, D, E, G, value)
        if found is None:
            return W, F, sweeps, True
        W, F, value = found
        P, U, _ = objective.likelihood.fit(F, objective.Y, objective.s)
        G, residuals = _gradient(objective, W, U, active)
    return W, F, sweeps, False


def _mask(objective: AcceleratedPosterior, chosen: np.ndarray) -> np.ndarray:
    active = np.zeros(objective.shape, dtype=bool)
    flat = np.zeros((objective.k, objective.design.d), dtype=bool)
    flat.ravel()[chosen] = True
    active[: objective.design.d] = flat.T
    active[objective.design.d :] = True
    return active


def _gradient(
    objective: AcceleratedPosterior, W: np.ndarray, U: Any, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and KKT residuals of the rows at work, 0 elsewhere."""
    rows = np.flatnonzero(active.any(axis=1))
    G = np.zeros(objective.shape)
    G[rows] = objective.design.pull(objective.s[:, None] * U, rows)
    residuals = np.where(active, objective.judge(W, G).residuals, 0.0)
    G[rows] += objective.l2[rows] * W[rows]
    return G, residuals


def _quadratic_step(
    objective: AcceleratedPosterior, W: np.ndarray, P: Any, G: np.ndarray, active: np.ndarray, target: float
) -> np.ndarray:
    """The D that minimises G.D + D H D / 2 + l1 |W + D|."""
    H = objective.hessian_on(P, active)
    w, g, l1, scale = (each.T[active.T] for each in (W, G, objective.l1, objective.scale))
    D = np.zeros(objective.shape)
    D.T[active.T] = quadratic_minimum(H, g, w, l1, scale, target) - w
    return D


def _line_search(objective: AcceleratedPosterior, W, F, D, E, G, value: float):
    """The first of ever shorter steps that lowers the objective enough; None where rounding hides every gain."""
    slope = float((G * D).sum() - (objective.l2 * W * D).sum()) + objective.penalty(W + D) - objective.penalty(W)
    for length in (0.5 ** np.arange(25)).tolist():
        moved, scores = W + length * D, F + length * E
        lower = objective.value(moved, scores)
        if lower <= value + 1e-4 * length * slope + 1e-15 * abs(value):
            return moved, scores, lower
    return None


# -- Accelerated proximal gradient


class State(NamedTuple):
    """Where the descent stands, in the coordinates of scaled columns; all on the device."""

    x: Any  # (d + 1, k): weights times the columns' norms, the intercept of centred columns last
    y: Any  # the point of the next gradient
    G: Any  # the last gradient, at `at`
    at: Any
    t: Any  # momentum
    L: Any  # curvature


class Descent:
    """Gradient steps on W' = norm W and b' = b + center.W, in which columns are centred and of norm 1."""

    def __init__(self, objective: AcceleratedPosterior, precise: bool):
        self.objective, self.precise = objective, precise
        design = self.design = objective.design
        self.xp = design.xp
        self.dtype = self.xp.float64 if precise else design.X.dtype
        d, total = design.d, objective.total
        mean, spread = design.gauge(objective.s)
        self.center = mean if design.intercept else np.zeros(d)
        square = spread + total * (mean**2 - self.center**2)
        unit = np.sqrt(np.append(square, total))  # of each column, and of the intercept's ones
        rounding = 1e-6 if design.X.dtype == self.xp.float32 else 1e-13  # a column that varies less does not vary
        still = unit <= rounding * np.sqrt(total) * np.append(np.abs(self.center), 0.0)
        put = self._put
        self.unit = put(np.where(still, 1.0, unit)[:, None])
        self.moves = put(np.where(still, 0.0, 1.0)[:, None] * np.append(np.ones(d), float(design.intercept))[:, None])
        self.mean = put(self.center[None, :])
        pad = np.zeros((1 - design.intercept, objective.k))
        l1, l2, scale = (np.vstack([each, pad]) for each in (objective.l1, objective.l2, objective.scale))
        scale[scale == 0] = 1.0
        self.l1, self.l2, self.scale = put(l1) / self.unit, put(l2) / self.unit**2, put(scale) / self.unit
        self.L: float | None = None
        self.loss = design.loss(objective.Y, objective.s, objective.offset, objective.likelihood.reference, self.dtype)

    def _put(self, a: np.ndarray) -> Any:
        return self.design.put(a, self.xp.float64)

    def run(self, point: Point, target: float, longest: int = LONGEST) -> tuple[np.ndarray, int, bool]:
        """Steps until the violation seems below the target; the weights, how many steps, and whether it is."""
        xp, best, since, steps = self.xp, np.inf, 0, 0
        x = self._inward(point.W)
        state = State(x, x, xp.zeros_like(x), x, xp.asarray(1.0, dtype=x.dtype, device=x.device), self._curvature(x))
        for steps in range(1, longest + 1):
            state, violation = self.step(state, first=steps == 1)
            if steps % CHECK:
                continue
            seen = float(violation)
            since = 0 if seen < 0.9 * best else since + CHECK
            best = min(best, seen)
            if seen <= target or since >= (LAST_PATIENCE if self.precise else PATIENCE):
                break
        self.L = float(state.L)
        return self._outward(state.x), steps, best <= target

    def step(self, state: State, first: bool) -> tuple[State, Any]:
        """One gradient, one proximal step, one extrapolation; nothing waits for the device."""
        xp = self.xp
        G = self._gradient(state.y)
        L = state.L if first else self._at_least_seen(state, G)
        fresh = L > state.L
        x = self._prox(state.y - G / L, L)
        moved, mapped = x - state.x, state.y - x
        # Momentum that leads uphill, or that came of steps too long, is dropped.
        restart = (xp.sum(mapped * moved) > 0) | fresh
        t = xp.where(restart, xp.ones_like(state.t), state.t)
        after = (1.0 + xp.sqrt(1.0 + 4.0 * t * t)) / 2.0
        y = x + xp.where(restart, xp.zeros_like(t), (t - 1.0) / after) * moved
        violation = xp.max(L * xp.abs(mapped) / self.scale)
        return State(x, y, G, state.y, after, L), violation

    def _at_least_seen(self, state: State, G: Any) -> Any:
        """The curvature between the last two gradients, where it exceeds what was thought the largest."""
        xp = self.xp
        change = state.y - state.at
        square = xp.sum(change * change)
        seen = DOUBT * xp.sum(change * (G - state.G)) / xp.where(square > 0, square, xp.ones_like(square))
        told = square > NOISE**2 * xp.sum(state.y * state.y)
        return xp.where(told & (seen > state.L), seen, state.L)

    def _prox(self, z: Any, L: Any) -> Any:
        shrunk = self.xp.sign(z) * self.xp.clip(self.xp.abs(z) - self.l1 / L, 0.0, None)
        return shrunk / (1.0 + self.l2 / L)

    def _gradient(self, v: Any) -> Any:
        """Of the loss, in the scaled coordinates; one reading of X."""
        xp, d = self.xp, self.design.d
        W = v / self.unit
        b = W[d:, :] - xp.matmul(self.mean, W[:d, :])
        G, left = self.loss(W[:d, :], b)
        G = G - self.mean.T * left
        return self.moves * xp.concat([G, left], axis=0) / self.unit

    def _curvature(self, x: Any) -> Any:
        """A first guess at the largest curvature: that along the gradient; the steps correct it."""
        if self.L is None:
            G = self._gradient(x)
            size = self.xp.sqrt(self.xp.sum(G * G)) + 1e-300
            step = 1e-2 * G / size * (1.0 + self.xp.sqrt(self.xp.sum(x * x)))
            change = self._gradient(x - step) - G
            self.L = max(abs(float(self.xp.sum(change * step) / self.xp.sum(step * step))), 1e-6)
        return self.xp.asarray(self.L, dtype=x.dtype, device=x.device)

    def _inward(self, W: np.ndarray) -> Any:
        d = self.design.d
        b = W[d] + self.center @ W[:d] if self.design.intercept else np.zeros(W.shape[1])
        return self._put(np.vstack([W[:d], b])) * self.unit

    def _outward(self, x: Any) -> np.ndarray:
        d = self.design.d
        W = host(x / self.unit)
        W[d] -= self.center @ W[:d]
        return W if self.design.intercept else W[:d]


def settled(objective: AcceleratedPosterior, W: np.ndarray, tol: float, F: Any = None) -> Point:
    """The point at W with its free weights fitted exactly; where these are intercepts alone, X is read only once."""
    d = objective.design.d
    if not objective.design.intercept or objective.free[:d].any():
        return settle(objective, W, tol, F)
    W, F = W.copy(), objective.scores(W) if F is None else F
    for _ in range(30):
        P, U, _ = objective.likelihood.fit(F, objective.Y, objective.s)
        g = host(objective.design.xp.sum(objective.s[:, None] * U, axis=0))
        if np.abs(g).max() <= 1e-12 * objective.total:
            break
        step = np.linalg.lstsq(objective.hessian(P, np.array([d])), -g, rcond=1e-12)[0]
        step *= min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        W[d] += step
        F = F + objective.design.put(step)
    return settle(objective, W, tol, F)
