"""Newton's method on weights without an L1 term: ridge, maximum likelihood, and the free columns of sparse models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from ..errors import Status
from ..likelihoods import Multinomial
from ..objective.certificate import FREE_TOLERANCE, NEGLIGIBLE
from ..objective.posterior import Point, Posterior
from .conditioning import Conditioning
from .solution import History, Solution

# Up to this many unknowns the Hessian is formed and factorised; beyond, conjugate gradients use products only.
DIRECT = 1500
LAST_RESORT = 3000  # unknowns whose Hessian is factorised where conjugate gradients have failed: a matter of seconds
ROUNDING = 1e-13
CONFIRMATIONS = 4
EXACT = 1e-8  # a reported gap is read where free weights are fitted as for this gap, whatever tol is
LEAST = 1e-12  # added to a curvature, relative to its upper bound: rows certain of their class have none
HALVINGS = 60
FARTHEST = 30.0  # nats by which a step may exceed the largest score: beyond, rows are certain of their class


def smooth(objective: Posterior, W: np.ndarray, tol: float, max_iter: int) -> Solution:
    """Minimise an objective that has no L1 term to a relative duality gap of tol, and further while it costs little."""
    history = History(objective)
    point = objective.at(W)
    history.note(point)
    every, near, conditioning = np.arange(objective.shape[0]), tol, Conditioning(objective)
    for _ in range(max_iter):
        if point.violation <= near:
            point = confirm(objective, settle(objective, point.W, min(tol, EXACT), point.F), tol)
            if point.gap <= tol:
                break
            near = 0.1 * point.violation  # not at every step, in case the free weights cannot be fitted
        moved = step(objective, point, every, conditioning)
        if moved is None:
            point = confirm(objective, settle(objective, point.W, tol, point.F), tol)
            break
        point = moved
        history.note(point)
    iterations = len(history.steps) - 1
    missed = Status.MAX_ITER if iterations == max_iter else Status.STALLED
    return history.solution(point, tol, iterations, missed)


def settle(objective: Posterior, W: np.ndarray, tol: float, F: np.ndarray | None = None) -> Point:
    """The point at W with its free weights fitted exactly, the others held: there a certificate of tol can be read."""
    point = objective.at(W, F)
    for _ in range(50):
        if is_settled(objective, point, tol):
            break
        moved = step(objective, point, np.flatnonzero(objective.free.any(axis=1)))
        if moved is None:
            break
        point = moved
    return point


def confirm(objective: Posterior, point: Point, tol: float, settle: Callable[..., Point] = settle) -> Point:
    """The same point with its certificate from freshly computed scores; free weights are fitted again if needed."""
    tight = min(tol, EXACT)
    for _ in range(CONFIRMATIONS):
        if not point.gap <= tol or (point.fresh and is_settled(objective, point, tight)):
            break
        point = settle(objective, point.W, tight)
        if point.fresh:  # no free weight could be fitted better
            break
    return point


def is_settled(objective: Posterior, point: Point, tol: float) -> bool:
    """Whether the free weights are fitted well enough for a certificate of tol."""
    return objective.free_violation(point.residuals) <= FREE_TOLERANCE * min(1.0, 1e5 * tol)


def step(
    objective: Posterior, point: Point, rows: np.ndarray, conditioning: Conditioning | None = None
) -> Point | None:
    """The point after one Newton step on the smooth weights of these rows; None when nothing is gained."""
    unknowns = objective.k * len(rows)
    if unknowns <= DIRECT:
        return _search(objective, point, rows, partial(_direct, objective))
    moved = _search(objective, point, rows, (conditioning or Conditioning(objective)).direction)
    # Conjugate gradients give up where the Hessian is too ill-conditioned for them, or nothing is left to gain.
    worth = unknowns <= LAST_RESORT and point.value > NEGLIGIBLE * objective.total
    return _search(objective, point, rows, partial(_direct, objective)) if moved is None and worth else moved


def _search(objective: Posterior, point: Point, rows: np.ndarray, direction: Callable[..., np.ndarray]) -> Point | None:
    """Backtracking along the direction, by the objective while its change exceeds rounding, then by the gradient."""
    smooth_weights = objective.l1[rows] == 0
    G = np.where(smooth_weights, objective.slopes(point.G)[rows], 0.0)
    D = np.zeros(objective.shape)
    D[rows] = direction(point, rows, smooth_weights, G)
    slope = float((D[rows] * G).sum())
    if not slope < 0:
        return None
    E = objective.design.scores(D)
    longest = _longest(objective, point, E)
    D, E, slope = longest * D, longest * E, longest * slope
    rounding = ROUNDING * abs(point.value)
    if -slope <= 100 * rounding:
        # The gain may drown in the rounding of the objective; the step is worth taking if the gradient falls.
        moved = objective.at(point.W + D, point.F + E)
        if moved.residuals[rows].max() < 0.5 * point.residuals[rows].max():
            return moved
    for length in (0.5 ** np.arange(HALVINGS)).tolist():
        if -slope * length <= rounding:
            break
        W, F = point.W + length * D, point.F + length * E
        if objective.value(W, F) <= point.value + 1e-4 * length * slope:
            return objective.at(W, F)
    return None


def _longest(objective: Posterior, point: Point, E: np.ndarray) -> float:
    """The part of a step that is sensible: where classes are separable, curvature vanishes and steps have no end."""
    if not isinstance(objective.likelihood, Multinomial):
        return 1.0
    farthest, change = FARTHEST + objective.largest(point.F), objective.largest(E)
    return farthest / change if change > farthest else 1.0


def _direct(
    objective: Posterior, point: Point, rows: np.ndarray, smooth_weights: np.ndarray, G: np.ndarray
) -> np.ndarray:
    H = objective.hessian(point.P, rows)
    H.flat[:: len(H) + 1] += LEAST * np.tile(objective.largest_curvature(rows), objective.k)
    if isinstance(objective.likelihood, Multinomial) and not objective.likelihood.reference:
        _pin_shifts(H, objective.k, np.flatnonzero((smooth_weights & (objective.l2[rows] == 0)).all(axis=1)))
    keep = np.flatnonzero(smooth_weights.T.ravel())
    direction = np.zeros(smooth_weights.size)
    direction[keep] = -solve_semidefinite(H[np.ix_(keep, keep)], G.T.ravel()[keep])
    return direction.reshape(objective.k, len(rows)).T


def _pin_shifts(H: np.ndarray, k: int, rows: np.ndarray) -> None:
    """Give equal shifts of all classes some curvature: they change nothing, and no gradient points along them."""
    r = len(H) // k
    for j in rows:
        every = j + r * np.arange(k)
        H[np.ix_(every, every)] += np.diag(H)[every].sum() / k**2


def solve_semidefinite(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H^+ g: by Cholesky of the diagonally scaled matrix, or by least squares where columns are collinear."""
    if not len(g):
        return g
    unit = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    scaled = H / np.outer(unit, unit)
    try:
        factor = cho_factor(scaled)
        if np.diag(factor[0]).min() > 1e-7:
            return cho_solve(factor, g / unit) / unit
    except LinAlgError:
        pass
    return lstsq(scaled, g / unit, cond=1e-13)[0] / unit
