"""Which inputs are Dask collections, and their blocks; Dask itself is imported only when one was given."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array or data frame, to be left where it is."""
    return callable(getattr(type(X), "__dask_graph__", None)) and hasattr(X, "to_delayed")


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame or series."""
    return is_lazy(X) and hasattr(X, "map_partitions")


def matrix_blocks(X: Any) -> list[Any]:
    """The delayed row blocks of a two-dimensional collection."""
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got {getattr(X, 'ndim', 0)}.")
    if is_frame(X):
        text = [str(name) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "biuf"]
        if text:
            raise ValueError(f"Every column of X must be numeric; these are not: {', '.join(text)}.")
        return list(X.to_delayed())
    if not np.isfinite(X.shape[1]):
        raise ValueError("The number of columns of X must be known; call X.compute_chunk_sizes() first.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must be numeric; got dtype {X.dtype}.")
    whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    return list(whole.to_delayed()[:, 0])


def row_sizes(X: Any) -> tuple[int, ...] | None:
    """How many rows each block of X has, where that is known without computing anything."""
    if is_frame(X) or not np.isfinite(X.shape[0]):
        return None
    return tuple(X.chunks[0])


def aligned_blocks(values: Any, X: Any, count: int, name: str) -> list[Any]:
    """The blocks of what belongs to the rows of X (targets, weights, offset), cut as X is; Nones if that is None."""
    if values is None:
        return [None] * count
    sizes = row_sizes(X)
    if not is_lazy(values):
        return _cut(np.asarray(values), sizes, name)
    if not is_frame(values):
        if sizes is not None and np.isfinite(values.shape[0]):
            _same_length(sum(sizes), int(values.shape[0]), name)
            values = values.rechunk({0: sizes})
        if values.ndim == 2 and values.numblocks[1] > 1:
            values = values.rechunk({1: -1})
    blocks = list(np.ravel(values.to_delayed()))
    if len(blocks) != count:
        raise ValueError(
            f"X has {count} blocks of rows but {name} has {len(blocks)}, and their lengths are not known; take both "
            "from the same data frame, or call compute_chunk_sizes() on both."
        )
    return blocks


def _cut(values: np.ndarray, sizes: tuple[int, ...] | None, name: str) -> list[Any]:
    from dask import delayed

    if sizes is None:
        raise ValueError(
            f"The lengths of the blocks of X are not known, so that {name} cannot be cut to fit; give {name} as a Dask "
            "collection with the same blocks, or call X.compute_chunk_sizes()."
        )
    _same_length(sum(sizes), len(values), name)
    ends = np.cumsum((0, *sizes))
    return [delayed(values[a:b], traverse=False) for a, b in pairwise(ends)]


def _same_length(n: int, other: int, name: str) -> None:
    if n != other:
        raise ValueError(f"X has {n} rows but {name} has {other}; they must describe the same samples.")
