"""The step that a quadratic model asks for, solved on the client without another look at the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

LONGEST = 1000  # iterations of the first-order method


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
