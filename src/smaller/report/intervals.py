"""Confidence intervals of a fraction."""

from __future__ import annotations

from scipy.special import betaincinv


def exact_interval(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934)."""
    tail = (1.0 - level) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1 - tail))
    return low, high
