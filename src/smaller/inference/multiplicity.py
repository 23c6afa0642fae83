"""Many tests at once: p-values adjusted for the family-wise error and for the false discovery rate."""

from __future__ import annotations

import numpy as np


def holm(p: np.ndarray) -> np.ndarray:
    """Adjusted for the family-wise error: ``max over i <= j of min(1, (d - i + 1) p_(i))`` (Holm 1979).

    NaN, a feature without a test, stays NaN and is not counted in d.
    """
    order, d, adjusted = *_ordered(p), np.full(len(p), np.nan)
    steps = (d - np.arange(d)) * p[order]
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def benjamini_yekutieli(p: np.ndarray) -> np.ndarray:
    """Adjusted for the false discovery rate of tests that may depend on each other (Benjamini & Yekutieli 2001).

    ``min over i >= j of min(1, p_(i) d H_d / i)``, ``H_d = 1 + 1/2 + ... + 1/d``; NaN as in :func:`holm`.
    """
    order, d, adjusted = *_ordered(p), np.full(len(p), np.nan)
    rank = np.arange(1, d + 1)
    steps = p[order] * d * (1 / rank).sum() / rank
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return adjusted


def _ordered(p: np.ndarray) -> tuple[np.ndarray, int]:
    """The tests from the smallest p-value to the largest, and how many there are."""
    order = np.argsort(p, kind="stable")
    d = int(np.count_nonzero(~np.isnan(p)))
    return order[:d], d
