"""Weights and scalings of the inputs together: EM, with a bounded quasi-Newton step (Krishnapuram et al. 2004).

A round first takes the weights some way at fixed scalings, by :func:`reweighted`, whose M-step is closed. Then the
weights that survive, the intercept and all scalings move together, weights kept from changing their sign and scalings
from getting negative: a smooth problem with bounds, whose solution has exact zeros. Neither raises the objective. Zeros
that violate the optimality conditions get a value again before the next round.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import issparse

from ...errors import Status
from ...objective.scaled_kernels import ScaledPoint, ScaledPosterior
from ..solution import Solution, Step
from .expectation_maximisation import revived, reweighted
from .ridge_start import Ridge, Start, stretched

STEPS = 10  # EM steps of the weights in a round
TRIALS = 100  # iterations of the quasi-Newton method in a round
MEMORY = 30  # corrections that the quasi-Newton method keeps
NEWTON = 5  # steps that polish a round
PATIENCE = 5  # rounds without gain after which nothing more is expected
NOTHING = 1e-10
ROUNDING = 1e-13


def scalings(objective: ScaledPosterior, theta: np.ndarray, tol: float, max_iter: int) -> Solution:
    """Lower the objective, from these scalings, until the violation is at most tol."""
    began, steps = time.perf_counter(), []
    mixed = objective.pose(theta)
    start = stretched(mixed, Ridge(mixed).start(2.0 * objective.y - 1.0))
    for _ in range(max_iter):
        solution = reweighted(mixed, start, tol, STEPS)
        rows = solution.extra["rows"]
        survivors = Start(rows, solution.weights[rows, 0], float(solution.extra["b"]))
        point = _together(objective, theta, survivors, mixed.norm[rows] / np.sqrt(mixed.total), tol)
        theta, support = point.theta, len(point.weights.rows)
        steps.append(Step(point.value, point.violation, np.nan, support, time.perf_counter() - began))
        if point.violation <= tol or _stalled(steps):
            break
        mixed = objective.pose(theta)
        w = np.zeros(mixed.design.d)
        w[point.weights.rows] = point.weights.w
        start = revived(mixed, w, point.idle, np.full(len(w), objective.lam), point.weights.b)
    return _solution(objective, _merged(objective, point), tol, steps)


def _together(objective: ScaledPosterior, theta: np.ndarray, start: Start, size: np.ndarray, tol: float) -> ScaledPoint:
    """The point after a step of survivors and scalings; `size` is what the survivors' columns vary by."""
    r, p, sign = len(start.rows), len(theta), np.sign(start.w)
    price = np.repeat([objective.lam, 0.0, objective.lam_theta], [r, 1, p])
    unit = np.repeat([1.0, 1.0, theta.mean() or 1.0], [r, 1, p])
    unit[:r] = 1.0 / np.maximum(size, 1e-3 * size.max(initial=0.0))
    bounds: list = [(0, None)] * (r + 1 + p)
    bounds[r] = (None, None) if objective.intercept else (0, 0)
    least = np.where(np.arange(r + 1 + p) == r, -np.inf, 0.0)  # rounding takes the search a little below

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        v = np.maximum(v, least) * unit
        slopes = objective.slopes(v[r + 1 :], start.rows, sign * v[:r], v[r])
        slope = np.concatenate([sign * slopes.w, [slopes.b], slopes.theta])
        return slopes.loss + price @ v, (slope + price) * unit

    first = np.concatenate([np.abs(start.w), [start.b], theta]) / unit
    within = 0.1 * tol * float((price * unit)[price > 0].min())
    options = {"maxiter": TRIALS, "maxfun": 2 * TRIALS, "ftol": 0.0, "gtol": within, "maxcor": MEMORY}
    found = minimize(value, first, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    best = np.maximum(found.x, least) if found.fun <= value(first)[0] else first
    v = _polished(value, best, r if objective.intercept else -1, within)
    v = v * unit
    alive = np.flatnonzero(v[:r])
    return objective.at(v[r + 1 :], start.rows[alive], (sign * v[:r])[alive], float(v[r]))


def _polished(value: Callable, v: np.ndarray, free: int, within: float) -> np.ndarray:
    """Newton's method on what is not at its bound, where it leads to less gradient: rounding stops the search above.

    `free` is the position of the intercept, which has no bound, or -1.
    """
    bounded = np.arange(len(v)) != free
    f, G = value(v)
    for _ in range(NEWTON):
        moving = np.flatnonzero((v > 0) | ~bounded)
        before = np.abs(G[moving]).max(initial=0.0)
        if before <= within:
            break
        try:
            step = cho_solve(cho_factor(_hessian(value, v, moving, bounded), check_finite=False), -G[moving])
        except LinAlgError:
            break
        new = v.copy()
        new[moving] += step
        new[bounded] = np.maximum(new[bounded], 0.0)
        f_new, G_new = value(new)
        after = np.abs(np.where(bounded & (new == 0), np.minimum(G_new, 0.0), G_new)).max()
        if after > before / 2 or f_new > f + ROUNDING * max(1.0, abs(f)):
            break
        v, f, G = new, f_new, G_new
    return v


def _hessian(value: Callable, v: np.ndarray, moving: np.ndarray, bounded: np.ndarray) -> np.ndarray:
    """By differences of the exact gradient, central ones where the bound 0 leaves room for them."""
    H = np.empty((len(moving), len(moving)))
    for row, j in enumerate(moving):
        step = 1e-5 * max(abs(v[j]), 1e-3)
        above, below = v.copy(), v.copy()
        above[j] += step
        below[j] = max(v[j] - step, 0.0) if bounded[j] else v[j] - step
        H[row] = (value(above)[1] - value(below)[1])[moving] / (above[j] - below[j])
    return (H + H.T) / 2


def _merged(objective: ScaledPosterior, point: ScaledPoint) -> ScaledPoint:
    """Kernels whose centres are equal in all inputs that are seen are one kernel: the first gets all their weight.

    Kernels without any weight see nothing.
    """
    rows, w = point.weights.rows, point.weights.w
    if not len(rows):
        return objective.at(np.zeros_like(point.theta), rows, w, point.weights.b)
    centers = objective.centers[rows][:, np.flatnonzero(point.theta)]
    centers = centers.toarray() if issparse(centers) else centers
    if len(rows) < 2:
        return point
    _, first, group = np.unique(centers, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(group.ravel(), weights=w)
    order = np.argsort(first)
    keep = order[total[order] != 0]
    return objective.at(point.theta, rows[first[keep]], total[keep], point.weights.b)


def _stalled(steps: list[Step]) -> bool:
    """Whether many rounds together gained next to nothing."""
    if len(steps) <= PATIENCE:
        return False
    now, then = steps[-1].objective, steps[-1 - PATIENCE].objective
    return then - now <= NOTHING * max(1.0, abs(now))


def _solution(objective: ScaledPosterior, point: ScaledPoint, tol: float, steps: list[Step]) -> Solution:
    weights, violation = point.weights, point.violation
    W = np.zeros((objective.centers.shape[0] + objective.intercept, 1))
    W[weights.rows, 0] = weights.w
    if objective.intercept:
        W[-1] = weights.b
    # The last row is that of the point returned.
    steps[-1] = steps[-1]._replace(objective=point.value, violation=violation, support=len(weights.rows))
    status, extra = Status.CONVERGED if violation <= tol else Status.UNSETTLED, {"theta": point.theta}
    return Solution(W, weights.F[:, None], status, point.value, violation, violation, len(steps), steps, extra)
