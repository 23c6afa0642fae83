"""Columns that say the same: copies of each other up to sign, scale and shift tie for ever, and are one feature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

CONSTANT = 1e-13  # a column that varies by less than this, relative to its largest number, is constant
IDENTICAL = 1e-12  # copies have a correlation within this of 1 or -1
BLOCK = 2**22  # numbers that are brought to float64 at a time


def distinct_columns(X, centred: bool, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One column for each set of copies, and for each column the position of its set; -1 for constant columns.

    `centred`: whether an intercept makes a shift irrelevant. Only columns of the same kind are copies. Of copies the
    one with the largest scale stands for all, the first of those that are equal.
    """
    X = X.tocsc() if sparse.issparse(X) else X
    mean, size, mark = _summaries(X, centred)
    return merged_columns(mark, size, kinds, lambda run: _copies(X, run, mean, size))


def merged_columns(
    mark: np.ndarray, size: np.ndarray, kinds: np.ndarray, copies: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """As `distinct_columns`, from a number for each column that copies share, NaN of constant ones, and its scale.

    `copies` is a function of the positions of columns with the same number: a mask of those that are copies of the
    first.
    """
    order = np.lexsort((mark, kinds))
    order = order[np.isfinite(mark[order])]
    near = (np.diff(mark[order]) <= 1e-9 * np.abs(mark[order][1:]) + 1e-12) & (np.diff(kinds[order]) == 0)
    unit = np.full(len(mark), -1)
    for run in np.split(order, np.flatnonzero(~near) + 1):
        while len(run):
            same = np.ones(1, dtype=bool) if len(run) == 1 else copies(run)
            unit[run[same]] = run[same][0]
            run = run[~same]
    return _representatives(unit, size)


def _representatives(unit: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest column of each set, in the order of the columns, and the position of each column's set."""
    by_size = np.lexsort((np.arange(len(unit)), -np.round(size / size.max(initial=1.0), 12), unit))
    by_size = by_size[unit[by_size] >= 0]
    first = np.ones(len(by_size), dtype=bool)
    first[1:] = unit[by_size][1:] != unit[by_size][:-1]
    chosen = by_size[first]
    position = np.full(len(unit) + 1, -1)
    position[unit[chosen]] = np.argsort(np.argsort(chosen))
    return np.sort(chosen), np.where(unit >= 0, position[unit], -1)


def _summaries(X, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means (0 where not centred), norms of the centred columns, and a number that copies share, NaN of constants."""
    n, d = X.shape
    direction = np.random.default_rng(0).standard_normal(n)
    mean, size, mark = np.zeros(d), np.empty(d), np.empty(d)
    width = max(BLOCK // max(n, 1), 1)
    for start in range(0, d, width):
        part = slice(start, start + width)
        mean[part], size[part], mark[part] = _summary(X[:, part], centred, direction)
    return mean, size, mark


def _summary(columns, centred: bool, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = columns.shape
    if sparse.issparse(columns):
        columns = columns.astype(np.float64)
        mean = np.asarray(columns.sum(axis=0)).ravel() / n if centred else np.zeros(d)
        squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel() - n * mean**2
        pull = columns.T @ direction - mean * direction.sum()
        largest = abs(columns).max(axis=0).toarray().ravel()
        squares[squares < 1e-14 * n * mean**2] = 0.0  # rounding errors of the difference
    else:
        columns = np.asarray(columns, dtype=np.float64)
        mean = columns.mean(axis=0) if centred else np.zeros(d)
        squares = ((columns - mean) ** 2).sum(axis=0)
        pull = direction @ (columns - mean)
        largest = np.abs(columns).max(axis=0)
    size = np.sqrt(squares)
    varies = size > CONSTANT * np.sqrt(n) * largest
    return mean, size, np.where(varies, np.abs(pull) / np.where(varies, size, 1.0), np.nan)


def _copies(X, run: np.ndarray, mean: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Which columns of the run are copies of its first."""
    columns = X[:, run]
    if sparse.issparse(columns):
        columns = columns.astype(np.float64)
        first = columns[:, [0]].toarray().ravel()
        product = columns.T @ first - X.shape[0] * mean[run] * mean[run[0]]
    else:
        columns = columns - mean[run]
        product = columns.T @ columns[:, 0]
    return np.abs(product) >= (1 - IDENTICAL) * size[run] * size[run[0]]
