"""From knockoff statistics to a list of features: thresholds, e-values and e-BH."""

from __future__ import annotations

import numpy as np

SLACK = 1e-12  # relative: an e-value that equals its limit but for rounding passes


def knockoff_threshold(W: np.ndarray, fdr: float, plus: bool = True) -> float:
    """The smallest t among |W|, t > 0, at which the estimated share of false features is at most `fdr`::

        (1 + #{W_j <= -t}) / max(1, #{W_j >= t}) <= fdr

    (knockoff+, Barber & Candes 2015; without the 1 where `plus` is False); infinite if there is none.
    """
    t = np.unique(np.abs(W[W != 0]))
    ordered = np.sort(W)
    below = np.searchsorted(ordered, -t, side="right")
    above = len(W) - np.searchsorted(ordered, t, side="left")
    passes = int(plus) + below <= fdr * np.maximum(above, 1)
    return float(t[np.argmax(passes)]) if passes.any() else np.inf


def e_values(W: np.ndarray, threshold: float) -> np.ndarray:
    """``e_j = p 1{W_j >= T} / (1 + #{W <= -T})`` (Ren & Barber 2024): of a false feature at most 1 on average."""
    return len(W) * (threshold <= W) / (1 + np.count_nonzero(-threshold >= W))


def e_bh(e: np.ndarray, fdr: float) -> np.ndarray:
    """Positions of the k largest e-values, k the largest with ``e_(k) >= p / (fdr k)`` (Wang & Ramdas 2022)."""
    p = len(e)
    order = np.argsort(-e, kind="stable")
    passes = np.flatnonzero(e[order] * fdr * np.arange(1, p + 1) >= p * (1 - SLACK))
    return np.sort(order[: passes[-1] + 1]) if len(passes) else np.array([], dtype=int)
