"""The step that a quadratic model asks for, solved on the client without another look at the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, qr, solve_triangular

from .. import _core

RIDGE = 1e-11  # keeps the Cholesky factor of collinear columns alive
STEPS, FORCING = 50, 0.1
LONGEST = 1000  # iterations of the first-order method


def minimum(
    H: np.ndarray, g: np.ndarray, w: np.ndarray, l1: np.ndarray, scale: np.ndarray, target: float
) -> np.ndarray:
    """The w + D that minimises g.D + D^T H D / 2 + l1.|w + D|, to a KKT residual of `target` relative to `scale`.

    With H = R^T R this is a lasso whose columns are those of R, which the compiled sweeps solve.
    """
    unit = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    unit = np.where(unit > 1e-150, unit, 1.0)
    R = _root(H / np.outer(unit, unit))
    start, pull, threshold = w * unit, g / unit, l1 / unit
    target_scores = R @ start - solve_triangular(R, pull, trans="T")
    if not l1.any():
        return solve_triangular(R, target_scores) / unit
    v, F = start.copy(), np.asfortranarray((R @ start)[:, None])
    at, zero = np.arange(len(v)), np.zeros(len(v), dtype=np.int64)
    _core.newton(
        np.asfortranarray(R), float(target), STEPS, FORCING, at, zero, v, np.zeros(1), F,
        np.asfortranarray(target_scores[:, None]), np.ones(len(v)), threshold, np.zeros(len(v)), scale / unit,
        _core.reference.GAUSSIAN, False,
    )  # fmt: skip
    return np.where(v == start, w, v / unit)


def _root(H: np.ndarray) -> np.ndarray:
    """R, upper triangular, with R^T R = H but for a tiny ridge."""
    eye = np.eye(len(H))
    try:
        return cholesky(H + RIDGE * eye)
    except LinAlgError:
        # Rounding made it indefinite: what is below the largest eigenvalue's rounding counts as that.
        values, vectors = eigh(H)
        floor = max(RIDGE, len(H) * np.finfo(float).eps) * max(values[-1], 1.0)
        return qr((vectors * np.sqrt(np.maximum(values, floor))).T, mode="r")[0]


def accelerated_minimum(
    product: Callable[[np.ndarray], np.ndarray],
    diagonal: np.ndarray,
    g: np.ndarray,
    W: np.ndarray,
    l1: np.ndarray,
    missed: Callable[[np.ndarray, np.ndarray], float],
) -> np.ndarray:
    """The same for an operator B and matrices W: accelerated proximal steps with restarts (O'Donoghue & Candes 2015).

    Steps are measured by the diagonal of B; `missed` says how far W + D, where the model has this gradient, is from
    its optimum; the loop ends when that is below 1.
    """
    step = 1.0 / (1.05 * _largest(product, diagonal))
    shrink = step / diagonal
    V, X, momentum = W.copy(), W.copy(), 1.0
    BV = np.zeros_like(W)  # B (V - W)
    BX = BV
    for iteration in range(LONGEST):
        slope = g + BV
        Z = V - shrink * slope
        new = np.sign(Z) * np.maximum(np.abs(Z) - shrink * l1, 0.0)
        BN = product(new - W)
        if float(((V - new) * diagonal * (new - X)).sum()) > 0:
            momentum = 1.0
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        beta = (momentum - 1) / after
        V, BV = new + beta * (new - X), BN + beta * (BN - BX)
        X, BX, momentum = new, BN, after
        if iteration % 10 == 9 and missed(X, g + BX) <= 1.0:
            break
    return X


def _largest(product: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray) -> float:
    """The largest eigenvalue of B relative to its diagonal, by the power method."""
    root = np.sqrt(diagonal)
    v = np.cos(np.arange(root.size, dtype=float)).reshape(root.shape)
    value = 1.0
    for _ in range(30):
        v /= np.linalg.norm(v)
        u = product(v / root) / root
        value, v = float((u * v).sum()), u
    return max(value, 1e-300) * 1.1
