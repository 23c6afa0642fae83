"""From Dask collections to a sample: blocks cut alike, labels found, columns measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..basis import Kernel, Linear, Polynomial
from ..rows.dask.block import Task
from ..rows.dask.block_moments import (
    Labels,
    Moments,
    find_labels,
    find_moments,
    gather_labels,
    join_labels,
    join_lists,
    join_moments,
)
from ..rows.dask.collections import is_frame, label_blocks, row_blocks
from ..rows.dask.drawn import share_of_rows
from ..rows.dask.passes import Passes
from ..rows.dask.summed_posterior import Blocks, DaskSample
from .targets import centred_offset, class_weights, encode


def dask_sample(given, basis, class_weight, score_columns: Callable[[int], int], intercept: bool) -> DaskSample:
    """One look at the labels and one pass over X, after which its columns are known by their moments.

    `score_columns` is the number of columns of scores for a number of classes.
    """
    X, y, sample_weight, offset = given[:4]
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    blocks = row_blocks(X, y, sample_weight, offset)
    # Labels are found without reading X.
    found = Passes(label_blocks(blocks, y, sample_weight)).total(find_labels, join_labels, None)
    return measured_sample(given, Passes(blocks), found, basis, class_weight, score_columns, intercept)


def measured_sample(
    given,
    passes: Any,
    found: Labels,
    basis,
    class_weight,
    score_columns: Callable[[int], int],
    intercept: bool,
    kept: np.ndarray | None = None,
    fits: int = 1,
) -> DaskSample:
    """The sample of the rows that `passes` goes over, whose labels are known; one pass measures the columns.

    `basis` is not fitted yet. `fits` is the number of samples that are measured at the same time.
    `kept` is a mask of the columns of an offset, where these rows have not all the classes that it is for.
    """
    if not len(found.classes):
        raise ValueError("There is no sample of positive weight; at least one is needed.")
    classes, codes = encode(found.classes)
    factor = class_weights(class_weight, classes, codes, found.weight)
    m = len(classes)
    k = score_columns(m)
    task = Task(basis, classes, factor, k, partial(_offset_columns, kept=kept, m=m, k=k))
    _fit(basis, given.X, passes, task)
    wide = 1 if isinstance(basis, Linear | Polynomial) and sparse.issparse(_empty(given.X)) else basis.n_columns_
    share = share_of_rows(found, wide, fits)
    moments: Moments = passes.total(find_moments, join_moments, task._replace(share=share))
    design = Blocks(passes, moments, found.rows, intercept)
    known = np.array([moments.total]), None if given.offset is None else np.zeros(0), basis, classes, given
    return DaskSample(design, None, *known, task=task, class_weight=found.weight * factor)


def client_labels(sample: DaskSample) -> tuple[np.ndarray, np.ndarray]:
    """The labels and weights of all rows, brought to the client without reading X."""
    design: Any = sample.design
    y, weight = sample.given.y, sample.given.sample_weight
    found = Passes(label_blocks(design.passes.blocks, y, weight)).total(gather_labels, join_lists, None)
    labels, weights = zip(*found, strict=True)
    return np.concatenate(labels), np.concatenate(weights)


def _fit(basis, X, passes: Any, task: Task) -> None:
    """Fit a basis whose columns do not depend on the rows, or on the spread of their inputs alone."""
    like = _empty(X)

    def measure() -> tuple[np.ndarray, float]:
        inputs: Moments = passes.total(find_moments, join_moments, task._replace(basis=Linear().fit(like, np.empty(0))))
        return inputs.spread, inputs.total

    if isinstance(basis, Kernel):
        basis._fit_elsewhere(like, measure)
    elif isinstance(basis, Linear | Polynomial):
        basis.fit(np.empty((1, like.shape[1]), dtype=like.dtype), np.ones(1))
    else:
        raise ValueError(
            f"A {type(basis).__name__} basis needs all rows in one place, which Dask collections are not; use "
            "basis='linear', 'quadratic' or Kernel(centers=<matrix>), or give a NumPy array of a sample."
        )


def _empty(X) -> Any:
    """A matrix of the kind of X without rows."""
    kinds = list(X.dtypes) if is_frame(X) else [X.dtype]
    dtype = np.float32 if all(kind == np.float32 for kind in kinds) else np.float64
    shape = 0, int(X.shape[1])
    return (
        sparse.csr_array(shape, dtype=dtype) if sparse.issparse(getattr(X, "_meta", None)) else np.empty(shape, dtype)
    )


def _offset_columns(offset: np.ndarray, kept: np.ndarray | None, m: int, k: int) -> np.ndarray | None:
    return centred_offset(offset if kept is None or offset.ndim < 2 else offset[:, kept], m, k)
