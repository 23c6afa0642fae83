"""The largest tail of an r-concave distribution with a known mean, on which the r-concave bound rests."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

LOWEST, HIGHEST = 1e-12, 1e5  # between these lies the parameter a of every extreme distribution
HALVINGS = 64  # of that interval in logarithms: the root is exact to rounding
FIRST_POINTS = 9  # of each interval, before the golden section
GOLDEN = (np.sqrt(5) - 1) / 2
SECTIONS = 40  # leave 4e-9 of the interval, and 1e-16 of the value


def largest_tail(mean: float, t: int, N: int, r: float) -> float:
    """D: the largest P(X >= t) over r-concave X on {0, ..., N} with this mean (Shah & Samworth 2013).

    The extreme distributions are proportional to ``(a + i)^(1/r)`` on {0, ..., k} with a rest at k + 1, so that ::

        D = max_{k, a}  1 - (k + 1 - mean) sum_{i < t} (a + i)^(1/r) / sum_{i <= k} (k + 1 - i) (a + i)^(1/r)

    over k from t - 1 on and a between the values at which the rest at k + 1, or that at k + 2, vanishes.
    """
    first = int(np.ceil(2 * mean)) + 1
    if t < first:
        return 1.0
    ks = np.arange(max(first, t - 1), N)
    if not len(ks):  # so many are selected that nothing is known
        return 1.0
    ends = _without_rest(mean, first, N, r)
    low, high = ends[ks + 1 - first], ends[ks - first]
    return float(_maximum(lambda a: _tail(a, ks, mean, t, r), low, high).max())


@lru_cache(maxsize=64)
def _without_rest(mean: float, first: int, N: int, r: float) -> np.ndarray:
    """For k = first, ..., N the a at which the distribution on {0, ..., k} has this mean; the mean increases with a."""
    ks = np.arange(first, N + 1)
    low, high = np.full(len(ks), np.log(LOWEST)), np.full(len(ks), np.log(HIGHEST))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        f, i = _shape(np.exp(middle), ks, r)
        below = (f * i).sum(axis=1) < mean * f.sum(axis=1)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.exp((low + high) / 2)


def _shape(a: np.ndarray, ks: np.ndarray, r: float) -> tuple[np.ndarray, np.ndarray]:
    """((a + i) / a)^(1/r) for i = 0, ..., k in rows, one for each k, and i; 0 beyond k."""
    i = np.arange(ks[-1] + 1)
    f = (1 + i / a[:, None]) ** (1 / r)
    return np.where(i <= ks[:, None], f, 0.0), i


def _tail(a: np.ndarray, ks: np.ndarray, mean: float, t: int, r: float) -> np.ndarray:
    """P(X >= t) of the extreme distribution of each k, with its rest at k + 1."""
    f, i = _shape(a, ks, r)
    return 1 - (ks + 1 - mean) * f[:, :t].sum(axis=1) / (f * (ks[:, None] + 1 - i)).sum(axis=1)


def _maximum(function, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The maximum of each component between its ends: the best of a few points, then a golden section beside it."""
    points = low + (high - low) * np.linspace(0, 1, FIRST_POINTS)[:, None]
    values = np.array([function(a) for a in points])
    best, place = values.max(axis=0), values.argmax(axis=0)
    each = np.arange(len(low))
    low, high = points[np.maximum(place - 1, 0), each], points[np.minimum(place + 1, FIRST_POINTS - 1), each]
    for _ in range(SECTIONS):
        step = GOLDEN * (high - low)
        left, right = function(high - step), function(low + step)
        best = np.maximum(best, np.maximum(left, right))
        low, high = np.where(left < right, high - step, low), np.where(left < right, high, low + step)
    return best
