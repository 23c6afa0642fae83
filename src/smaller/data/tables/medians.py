"""Exact medians of columns that are read block by block: the order statistics are enclosed ever more closely.

Floating-point numbers in their order are whole numbers in their order (their bits). An interval of these that holds the
wanted order statistic is split into bins, the values in each bin are counted in a pass over the blocks, and the bin of
the order statistic is the next interval. Few values are left after a pass or two; they are fetched and sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

BINS = 1024
FETCHED = 1_000_000  # values that are fetched and sorted
SIGN = np.uint64(1 << 63)


def keys_of(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the values."""
    bits = (np.ascontiguousarray(values) + 0.0).view(np.uint64)  # adding 0 makes -0 the same as 0
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def values_of(keys: np.ndarray) -> np.ndarray:
    """The values of the whole numbers: the inverse of `keys_of`."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)


@dataclass(frozen=True)
class Search:
    """Order statistics that are looked for: column and rank of each, and the interval of keys that encloses it."""

    columns: np.ndarray
    ranks: np.ndarray
    low: np.ndarray
    high: np.ndarray
    below: np.ndarray  # values below the interval
    inside: np.ndarray  # values in the interval

    @property
    def width(self) -> np.ndarray:
        """Keys in each bin."""
        return (self.high - self.low) // np.uint64(BINS) + np.uint64(1)

    def inside_of(self, X: np.ndarray, i: int) -> np.ndarray:
        """The keys of a block that are in an interval."""
        values = X[:, self.columns[i]]
        keys = keys_of(values[~np.isnan(values)])
        return keys[(keys >= self.low[i]) & (keys <= self.high[i])]

    def count(self, X: np.ndarray) -> np.ndarray:
        """The values of a block in each bin, (order statistics, bins)."""
        found = np.zeros((len(self.columns), BINS), dtype=np.int64)
        for i in range(len(self.columns)):
            bins = (self.inside_of(X, i) - self.low[i]) // self.width[i]
            found[i] = np.bincount(bins.astype(np.int64), minlength=BINS)
        return found

    def fetch(self, X: np.ndarray) -> list[np.ndarray]:
        """The keys of a block that are in each interval; none where the interval is a single key."""
        wide = self.low < self.high
        return [self.inside_of(X, i) if wide[i] else np.zeros(0, np.uint64) for i in range(len(wide))]

    def narrowed(self, counts: np.ndarray) -> Search:
        """The bins that have the order statistics, from the counts of all blocks."""
        before = self.below[:, None] + np.cumsum(counts, axis=1)
        at = (before <= self.ranks[:, None]).sum(axis=1)
        each = np.arange(len(at))
        below = np.where(at > 0, before[each, at - 1], self.below)
        low = self.low + at.astype(np.uint64) * self.width
        high = np.minimum(low + (self.width - np.uint64(1)), self.high)
        return replace(self, low=low, high=high, below=below, inside=counts[each, at])


def counted_together(found: list[np.ndarray]) -> np.ndarray:
    """The counts of several blocks."""
    return np.sum(found, axis=0)


def fetched_together(found: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The fetched keys of several blocks."""
    return [np.concatenate(several) for several in zip(*found, strict=True)]


def medians(low: np.ndarray, high: np.ndarray, present: np.ndarray, total: Callable[..., Any]) -> np.ndarray:
    """The medians of columns whose ends and numbers of values are known.

    `total(function, combine)` is combine([function(X), ...]) over all blocks X of these columns.
    """
    ends = keys_of(low), keys_of(high)
    column = np.repeat(np.arange(len(low)), 2)
    ranks = np.column_stack([(present - 1) // 2, present // 2]).ravel()
    search = Search(column, ranks, ends[0][column], ends[1][column], np.zeros(len(column), np.int64), present[column])
    while search.inside[search.low < search.high].sum() > FETCHED:
        search = search.narrowed(total(search.count, counted_together))
    found = values_of(search.low)
    wide = np.flatnonzero(search.low < search.high)
    fetched = total(search.fetch, fetched_together) if len(wide) else []
    for i in wide:
        found[i] = values_of(np.sort(fetched[i]))[search.ranks[i] - search.below[i]]
    return found.reshape(-1, 2).mean(axis=1)
