"""Dask collections and their blocks of rows; Dask is imported only when a collection is given."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array or data frame."""
    return callable(getattr(type(X), "__dask_graph__", None)) and hasattr(X, "to_delayed")


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame or series."""
    return is_lazy(X) and hasattr(X, "map_partitions")


def columns_of_collection(X: Any, columns: np.ndarray) -> Any:
    """Some columns of a Dask collection."""
    return X.iloc[:, columns] if is_frame(X) else X[:, columns]


def row_blocks(X: Any, y: Any, weight: Any, offset: Any) -> list[tuple[Any, ...]]:
    """Delayed blocks of rows of X, y, weight and offset, with the same rows in each; None stays None."""
    _check_matrix(X)
    others = {"y": y, "sample_weight": weight, "offset": offset}
    given = {name: values for name, values in others.items() if values is not None}
    if is_frame(X) and all(is_frame(values) and values.ndim == 1 for values in given.values()):
        together = _joined_blocks(X, given)
        if together is not None:
            return together
    blocks = list(X.to_delayed()) if is_frame(X) else list(_whole_rows(X).to_delayed()[:, 0])
    return list(zip(blocks, *(_aligned(v, X, len(blocks), name) for name, v in others.items()), strict=True))


def label_blocks(blocks: list[tuple[Any, ...]], y: Any, weight: Any) -> list[tuple[Any, ...]]:
    """The same blocks without X; of data frames only the columns needed are read."""
    if is_frame(y) and y.ndim == 1 and (weight is None or is_frame(weight)):
        together = _joined_blocks(y.to_frame(), {} if weight is None else {"sample_weight": weight})
        if together is not None:
            return [(None, part, s, None) for part, _, s, _ in together]
    return [(None, *block[1:3], None) for block in blocks]


def _joined_blocks(X: Any, given: dict[str, Any]) -> list[tuple[Any, ...]] | None:
    """Blocks of one frame with all columns: Dask may split a file differently if fewer columns are read."""
    from dask import delayed

    names = {name: f"{name} of smaller" for name in given}
    try:
        parts = X.assign(**{names[name]: values for name, values in given.items()}).to_delayed()
    except (ValueError, NotImplementedError):  # y, weight or offset belong to another frame
        return None
    take = delayed(_columns, pure=False)
    order = ("y", "sample_weight", "offset")
    inputs = list(X.columns)
    return [
        (take(part, inputs), *(take(part, names[name]) if name in names else None for name in order)) for part in parts
    ]


def _columns(frame, names):
    return frame[names]


def _check_matrix(X: Any) -> None:
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got {getattr(X, 'ndim', 0)}.")
    if is_frame(X):
        text = [str(name) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "biuf"]
        if text:
            raise ValueError(f"Every column of X must be numeric; these are not: {', '.join(text)}.")
        return
    if not np.isfinite(X.shape[1]):
        raise ValueError("The number of columns of X must be known; call X.compute_chunk_sizes() first.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must be numeric; got dtype {X.dtype}.")


def _whole_rows(values: Any) -> Any:
    return values if values.ndim < 2 or values.numblocks[1] == 1 else values.rechunk({1: -1})


def _row_sizes(X: Any) -> tuple[int, ...] | None:
    """Rows in each block of X; None where that is not known without computing."""
    if is_frame(X) or not np.isfinite(X.shape[0]):
        return None
    return tuple(X.chunks[0])


def _aligned(values: Any, X: Any, count: int, name: str) -> list[Any]:
    """The blocks of values that belong to the rows of X, with the same rows as those of X; Nones without values."""
    if values is None:
        return [None] * count
    sizes = _row_sizes(X)
    if not is_lazy(values):
        return cut(np.asarray(values), sizes, name)
    if not is_frame(values):
        if sizes is not None and np.isfinite(values.shape[0]):
            _same_length(sum(sizes), int(values.shape[0]), name)
            values = values.rechunk({0: sizes})
        values = _whole_rows(values)
    blocks = list(np.ravel(values.to_delayed()))
    if len(blocks) != count:
        raise ValueError(
            f"X has {count} blocks of rows but {name} has {len(blocks)}, and their lengths are not known; take both "
            "from the same data frame, or call compute_chunk_sizes() on both."
        )
    return blocks


def cut(values: np.ndarray, sizes: tuple[int, ...] | None, name: str) -> list[Any]:
    """An array with a row for each sample as delayed blocks of these sizes."""
    from dask import delayed

    if sizes is None:
        raise ValueError(
            f"The lengths of the blocks of X are not known, so {name} cannot be split to match; give {name} as a Dask "
            "collection with the same blocks, or call X.compute_chunk_sizes()."
        )
    _same_length(sum(sizes), len(values), name)
    ends = np.cumsum((0, *sizes))
    return [delayed(values[a:b], traverse=False) for a, b in pairwise(ends)]


def _same_length(n: int, other: int, name: str) -> None:
    if n != other:
        raise ValueError(f"X has {n} rows but {name} has {other}; they must describe the same samples.")
