"""Lazy predictions: each block of rows becomes a block of predictions when it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .block import as_vector, as_weight
from .block_moments import add
from .collections import is_frame, row_blocks
from .passes import Passes


def by_blocks(function: Callable, X: Any, columns: int | None, dtype: Any) -> Any:
    """function(block) for every block of X as a Dask array: one value for each row, or `columns` values."""
    meta = np.empty((0,) if columns is None else (0, 0), dtype=dtype)
    if is_frame(X):
        return X.map_partitions(function, meta=meta)
    whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    if columns is None:
        return whole.map_blocks(function, drop_axis=1, dtype=dtype, meta=meta)
    return whole.map_blocks(function, chunks=(whole.chunks[0], (columns,)), dtype=dtype, meta=meta)


def fraction_correct(predict: Callable, X: Any, y: Any, sample_weight: Any) -> float:
    """The weighted fraction of rows whose label is predicted; only two sums leave a block."""
    right, total = Passes(row_blocks(X, y, sample_weight, None)).total(_count, add, predict)
    if not total > 0:
        raise ValueError("sample_weight is 0 for every sample; at least one weight must not be zero.")
    return float(right / total)


def _count(X, y, weight, offset, predict) -> np.ndarray:
    y = as_vector(y, "y")
    s = as_weight(weight, len(y))
    return np.array([s @ (predict(X) == y), s.sum()])
