"""One representative of the weights that have the same probabilities in a symmetric softmax."""

from __future__ import annotations

import numpy as np


def canonical(W: np.ndarray, l1: np.ndarray, l2: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """One representative of the symmetric optima, and by how much the penalty of each row was lowered.

    A shift of a row by a constant changes no probability. Where the L1 penalty leaves a row free to shift between its
    two (weighted) middle values, one of them becomes 0: the one that occurs more often, then the nearer to 0.
    Intercepts and unpenalised rows sum to zero.
    """
    given, W = np.abs(W), W.copy()
    loose = ((l1 == 0) & (l2 == 0)).all(axis=1)
    W[loose] -= W[loose].mean(axis=1, keepdims=True)
    # Where more than half of a row is 0, 0 is its only middle value.
    candidates = (
        (2 * np.count_nonzero(W[:d], axis=1) >= W.shape[1]) & (l2[:d] == 0).all(axis=1) & (l1[:d] > 0).any(axis=1)
    )
    even = (l1[:d] == l1[:d, :1]).all(axis=1)
    rows = np.flatnonzero(candidates & even)
    W[rows] -= _middle(W[rows])[:, None]
    for j in np.flatnonzero(candidates & ~even):
        W[j] -= _weighted_middle(W[j], l1[j])
    return W, (l1 * (given - np.abs(W))).sum(axis=1)


def _middle(V: np.ndarray) -> np.ndarray:
    """The middle value of each row: of two (with an even number of classes) the more frequent, then the nearer to 0."""
    m = V.shape[1]
    ordered = np.sort(V, axis=1)
    low, high = ordered[:, (m - 1) // 2], ordered[:, m // 2]
    often_low, often_high = (np.count_nonzero(value[:, None] == V, axis=1) for value in (low, high))
    take_high = (often_high > often_low) | ((often_high == often_low) & (np.abs(high) < np.abs(low)))
    return np.where(take_high, high, low)


def _weighted_middle(values: np.ndarray, weight: np.ndarray) -> float:
    """The middle value of a row by the weights of its entries: of two, the more frequent, then the nearer to 0."""
    distinct, where = np.unique(values, return_inverse=True)
    below = np.cumsum(np.bincount(where, weights=weight, minlength=len(distinct)))
    half = below[-1] / 2
    first = int(np.searchsorted(below, half * (1 - 1e-12)))
    level = bool(abs(below[first] - half) <= 1e-12 * half) and first + 1 < len(distinct)
    choices = distinct[first : first + 2] if level else distinct[first : first + 1]
    often = [np.count_nonzero(values == value) for value in choices]
    return float(max(zip(often, -np.abs(choices), choices, strict=True))[2])


def lowered(value, gap, gain):
    """Objective and relative gap of weights whose penalty a shift of rows has lowered; numbers or arrays."""
    rest = value - gain
    bound = np.maximum(gap * np.where(rest > 0, value, 1.0) - gain, 0.0) / np.where(rest > 0, rest, 1.0)
    return rest, np.where(gain == 0, gap, bound)
