"""One block of weights under a penalty a |w| + tau ||w||_2 (+ q w^2 / 2): shrinking, dual norm, residual, conjugate.

Arrays are (blocks, entries): a row is a block, ``tau`` has one number for each. ``a`` and ``q`` have the shape of the
weights.
"""

from __future__ import annotations

import numpy as np

MOST_STEPS = 100  # of Newton's method on a secular equation, which needs 5 and seldom more than 10


def soft(V: np.ndarray, a) -> np.ndarray:
    """sign(v) (|v| - a)_+."""
    return np.sign(V) * np.maximum(np.abs(V) - a, 0.0)


def lengths(V: np.ndarray) -> np.ndarray:
    """The 2-norm of each block, safe from overflow."""
    largest = np.abs(V).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return unit * np.sqrt(np.square(V / unit[:, None]).sum(axis=1))


def shrunk(V: np.ndarray, a, tau: np.ndarray) -> np.ndarray:
    """argmin ||x - v||^2 / 2 + a |x| + tau ||x||: entries are shrunk first, then the block (not the reverse)."""
    U = soft(V, a)
    length = lengths(U)
    factor = np.maximum(1.0 - tau / np.where(length > 0, length, 1.0), 0.0)
    return U * factor[:, None]


def dual_norm(Z: np.ndarray, a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The smallest t with ||soft(z, t a)|| <= t tau, exactly; tau > 0.

    Entry j counts while t < |z_j| / a_j. With the entries in the order of these, the t at which the first k count
    solves a quadratic equation.
    """
    Z = np.abs(Z)
    if not a.any():
        return lengths(Z) / tau
    size = Z.max(axis=1, initial=0.0)
    unit = np.where(size > 0, size, 1.0)
    Z = Z / unit[:, None]
    leaves = np.divide(Z, a, out=np.full(Z.shape, np.inf), where=a > 0)
    order = np.argsort(-leaves, axis=1)
    Z, a, leaves = (np.take_along_axis(each, order, axis=1) for each in (Z, np.broadcast_to(a, Z.shape), leaves))
    A, B, C = (np.cumsum(each, axis=1) for each in (a * a, a * Z, Z * Z))
    A = A - np.square(tau)[:, None]
    t = np.hstack([leaves[:, 1:], np.zeros((len(Z), 1))])  # the first k count between this and their own
    with np.errstate(invalid="ignore"):
        reached = np.isfinite(t) & (C - 2 * t * B + t * t * A >= 0)
    reached[:, -1] = True
    last = reached.argmax(axis=1)[:, None]
    A, B, C = (np.take_along_axis(each, last, axis=1)[:, 0] for each in (A, B, C))
    root = B + np.sqrt(np.maximum(B * B - A * C, 0.0))
    return np.where(size > 0, size * C / np.where(root > 0, root, 1.0), 0.0)


def residuals(W: np.ndarray, V: np.ndarray, a: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The distance of V, minus the gradient of all that is smooth, to the subdifferential at each block."""
    length = lengths(W)
    there = length > 0
    U = V - (tau / np.where(there, length, 1.0))[:, None] * W
    pull = np.where(W != 0, a, 0.0) * np.sign(W)  # columns that are left out have an infinite a
    off = lengths(np.where(W != 0, U - pull, soft(U, a)))
    return np.where(there, off, np.maximum(lengths(soft(V, a)) - tau, 0.0))


def root_of_secular(q: np.ndarray, square: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """r > 0 with sum square / (q r + tau)^2 = 1, or 0 where sum square <= tau^2.

    The power -1/2 of the sum is concave and increases, so that Newton's steps rise from below to the root.
    """
    length = np.sqrt(square.sum(axis=1))
    q = np.where(square > 0, q, 0.0)
    most = q.max(axis=1, initial=0.0)
    inside = (length > tau) & (most > 0)
    r = np.where(inside, (length - tau) / np.where(most > 0, most, 1.0), 0.0)
    for _ in range(MOST_STEPS):
        e = q * r[:, None] + tau[:, None]
        one, two = (square / e**2).sum(axis=1), (q * square / e**3).sum(axis=1)
        step = np.where(inside & (two > 0), one * (np.sqrt(one) - 1) / np.where(two > 0, two, 1.0), 0.0)
        r = r + step
        if (step <= 1e-15 * r).all():
            break
    return r


def conjugate(Z: np.ndarray, a: np.ndarray, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """sup_w z.w - a |w| - tau ||w|| - q w^2 / 2 of each block, for q > 0."""
    U = soft(Z, a)
    r = root_of_secular(q, U * U, tau)[:, None]
    return (q * np.square(U * r / (q * r + tau[:, None]))).sum(axis=1) / 2
