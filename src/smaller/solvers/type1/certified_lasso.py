"""The lasso and the square-root lasso of Type I estimation under a Laplace prior, with a duality gap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from ...errors import Status
from ...likelihoods import Gaussian
from ...objective.posterior import Posterior
from ...priors import Laplace
from ..l1.newton import newton
from ..type2.sequential import FLOOR
from .reweighted_ridge import solve
from .row_lasso import RowLasso
from .unit_objective import EXACT, Notes, Point, TypeOne

GOAL, INNER = 1e-12, 1e-10  # relative duality gaps at which the whole fit, and the lasso at one lam, may end
FINEST = 1e-15  # gap of a lasso of several targets: its weights must certify another lam as well
SMALLEST = 1e-12  # smallest lam that is passed to the lasso
NEWTON_STEPS = 50  # of one lasso
ATTEMPTS = 5  # at a closed form, each without the columns of the wrong sign
PATIENCE = 10  # lassos in a row without a smaller gap after which the fit ends


def certified_lasso(objective: TypeOne, tol: float, max_iter: int, notes: Notes) -> tuple[Point, Status, int]:
    """The lasso or the square-root lasso, to a relative duality gap of tol, and further where it can.

    With lam learned, the lasso at lam = 2 |u| / sqrt(n) and this lam in turn: weights and lam together are a convex
    problem. For one target, on the right support with the right signs, either has a closed form, which is tried each
    time.
    """
    point, n_iter, idle = objective.at(np.zeros((len(objective.columns.rows), objective.k))), 1, 0
    lasso = _one_target(objective) if objective.lasso else _several_targets(objective)
    trail: list[tuple[float, float]] = []  # logarithms of lam, of the last lassos and of their residuals
    notes.add(point)
    while point.gap > min(tol, GOAL) and n_iter <= max_iter and idle < PATIENCE:
        if not objective.lasso and objective.interpolates(point):
            break
        lam = point.lam if objective.lasso else _ahead(trail, point.lam)
        weights, steps = lasso(point.X, max(lam / 2, SMALLEST), min(NEWTON_STEPS, max_iter))
        n_iter += max(1, steps)
        tried = [objective.at(weights), *(_closed_form(objective, weights) if objective.lasso else [])]
        best = min(tried, key=lambda each: each.gap)
        trail = [*trail[-1:], (float(np.log(lam)), float(np.log(best.lam)))] if best.value < point.value else []
        idle = 0 if best.gap < 0.99 * point.gap else idle + 1
        # The objective of the square-root lasso falls with every lasso, its gap need not.
        if best.gap < point.gap or (best.value <= point.value and point.gap > tol):
            point = best
            notes.add(point)
        if idle and (objective.lam is not None or point.gap <= tol):
            break
    n_iter = min(n_iter, max_iter)
    square = objective.mean_square(point.U)
    if objective.lam is None and square <= (EXACT if point.gap <= tol else FLOOR):
        return point, Status.INTERPOLATES, n_iter
    missed = Status.MAX_ITER if n_iter >= max_iter else Status.STALLED
    return point, Status.CONVERGED if point.gap <= tol else missed, n_iter


def _ahead(trail: list[tuple[float, float]], plain: float) -> float:
    """The lam to which the last two lead, by the secant rule, where plain steps are slow; else the plain one."""
    if len(trail) < 2:
        return plain
    (x, reached), (y, now) = trail
    rate = (now - reached) / (y - x) if y != x else 0.0
    return float(np.exp(y + np.clip((now - y) / (1 - rate), -1.0, 1.0))) if 0.5 < rate < 1 else plain


def _one_target(objective: TypeOne) -> Callable:
    """The lasso with |y - Phi x|^2 / 2 + sigma sum |x_j|, from some weights: new ones, and the steps taken."""
    design = objective.columns.design()

    def lasso(X: np.ndarray, sigma: float, steps: int) -> tuple[np.ndarray, int]:
        found = newton(Posterior(design, objective.T, Gaussian(sigma), Laplace(1.0)), X, INNER, steps)
        return found.weights, found.n_iter

    return lasso


def _several_targets(objective: TypeOne) -> Callable:
    """The same with rows of weights: sigma sqrt(k) sum |x_j|."""
    every = np.arange(len(objective.columns.rows))
    Phi, ones = objective.columns.take(every), np.sqrt(objective.k) * np.ones(len(every))

    def lasso(X: np.ndarray, sigma: float, steps: int) -> tuple[np.ndarray, int]:
        return RowLasso(Phi, objective.T, sigma * ones).solve(X, FINEST, steps)

    return lasso


def _closed_form(objective: TypeOne, X: np.ndarray) -> list[Point]:
    """The best weights on the support of these with their signs, without columns that would change sign, if any."""
    rows = np.flatnonzero(X)
    for _ in range(ATTEMPTS):
        rows = rows[_independent(objective.columns.take(rows) * np.abs(X[rows, 0]))]
        if not len(rows):
            break
        found, dual = _solved_on(objective, rows, np.sign(X[rows]))
        if found is None:
            break
        if dual is not None:  # weights that vanish with lam are 0 but for rounding
            found[np.abs(found) <= 1e-10 * np.abs(found).max()] = 0.0
        wrong = (np.sign(found[:, 0]) != np.sign(X[rows, 0])) & (found[:, 0] != 0)
        if not wrong.any():
            moved = np.zeros_like(X)
            moved[rows] = found
            return [objective.at(moved, dual)]
        rows = rows[~wrong]
    return []


def _independent(B: np.ndarray) -> np.ndarray:
    """Columns of which none is, up to rounding, a combination of others; the longest first, in their order."""
    if not B.shape[1]:
        return np.arange(0)
    norms = np.sqrt((B * B).sum(axis=0))
    R, order = qr(B, mode="r", pivoting=True)
    depth = np.abs(np.diag(R)) / norms[order[: min(B.shape)]]
    return np.sort(order[: min(B.shape)][depth > 1e-8])


def _solved_on(objective: TypeOne, rows: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The weights of independent columns, the signs S given, and a dual point where they fit the targets exactly.

    With G the columns' products, x = G^-1 (Phi^T y - sigma S), sigma = lam / 2. Where lam is learned, sigma = |u| /
    sqrt(n), u = r + sigma v, r what least squares leaves and v = Phi G^-1 S, so that sigma^2 (n - |v|^2) = |r|^2.
    """
    G, C = objective.columns.products(rows)
    least, tilt = np.split(solve(G, np.hstack([C, signs])), 2, axis=1)
    if objective.lam is not None:
        return least - objective.lam / 2 * tilt, None
    Phi = objective.columns.take(rows)
    r, v = objective.T - Phi @ least, Phi @ tilt
    square, left = float((r * r).sum()), objective.n - float((v * v).sum())
    if left <= 0:
        return None, None
    if square <= EXACT * objective.n:
        return least, 0.5 * v
    return least - np.sqrt(square / left) * tilt, None
