"""The twins of the compiled losses after each of the moves that boosted lasso may take, of a weight or of a gate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .reference_sums import GAUSSIAN, Columns, means


class Moves(NamedTuple):
    """Moves of single weights by +-step; the intercept takes `center` out of a column that moves."""

    column: Any
    klass: Any
    center: Any
    step: float


class State(NamedTuple):
    """Means P and their complements Q = 1 - P, targets Y, all (n, k), and sample weights s."""

    P: Any
    Q: Any
    Y: Any
    s: Any
    family: int


class Gates(NamedTuple):
    """An RBF kernel whose inputs have gates, on the centres in use.

    Inputs X (n, p), centres C (a, p), kernel K (n, a), weights W (a, k), and the rest of the scores, base (n, k).
    """

    X: Any
    C: Any
    K: Any
    W: Any
    base: Any


def weight_moves(*arguments):
    """Changes of the loss when the score of a class moves by +-step times a column, into up and down.

    ``weight_moves(*columns, moves, state, up, down)``. A softmax's loss changes by ``sum s (log(q + p exp(z)) - y z)``,
    z being the change of the score. The intercept takes `center` out of the column, if that is dense.
    """
    *columns, (column, klass, center, step), (P, Q, Y, s, family), up, down = arguments
    X = Columns(columns)
    for i, (j, at) in enumerate(zip(column, klass, strict=True)):
        rows, x = X[j]
        z = step * (x - center[i] if len(columns) == 1 else x)
        p, q, y, weight = P[rows, at], Q[rows, at], Y[rows, at], s[rows]
        if family == GAUSSIAN:
            slope, curve = weight * (p - y) @ z, weight @ z**2 / 2
            up[i], down[i] = curve + slope, curve - slope
        else:
            up[i], down[i] = weight @ _moved(p, q, y, z), weight @ _moved(p, q, y, -z)


def _moved(p, q, y, z):
    """log(q + p exp(z)) - y z: exp(-|z|) cannot overflow, and a sum that is 0 in rounding has a finite logarithm."""
    e, up = np.exp(-np.abs(z)), z >= 0
    total = np.where(up, p + q * e, q + p * e)
    return np.log(np.maximum(total, np.finfo(float).tiny)) + (np.maximum(z, 0.0) - y * z)


def gate_moves(gates, samples, input, rate, losses):
    """Losses of the scores base + K' W, where K' = K exp(-rate (x - c)^2) for one input at a time, into losses.

    The intercepts follow by one step of Newton's method, with a bound of the curvature where classes meet.
    """
    X, C, K, W, base = gates
    Y, s, _, family, intercept, *_ = samples
    P, U = np.empty_like(base), np.empty_like(base)
    for i, (j, change) in enumerate(zip(input, rate, strict=True)):
        F = base + K * np.exp(-change * np.square(X[:, j, None] - C[:, j])) @ W
        losses[i] = means(F, Y, s, family, P, U)
        if intercept:
            spread = np.ones_like(P) if family == GAUSSIAN else P * (1 - P) if P.shape[1] == 1 else P
            F -= (s @ U) / np.maximum(s @ spread, np.finfo(float).tiny)
            losses[i] = min(losses[i], means(F, Y, s, family, P, U))


def regate(S, K, x, c, change, gamma):
    """S += change (x - c)^2 and K = exp(-gamma S): squared distances and kernel after a gate has moved, in place."""
    S += change * np.square(x[:, None] - c)
    K[:] = np.exp(-gamma * S)
