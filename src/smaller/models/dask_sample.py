"""From Dask collections to a sample: blocks cut alike, labels found, columns measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from ..basis import Linear, Polynomial
from ..rows.dask.block import Task
from ..rows.dask.block_moments import Moments, find_labels, find_moments, join_labels, join_moments
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
    if not isinstance(basis, Linear | Polynomial):
        raise ValueError(
            f"A {type(basis).__name__} basis needs all rows in one place, which Dask collections are not; use "
            "basis='linear' or 'quadratic', or give a NumPy array of a sample."
        )
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    blocks = row_blocks(X, y, sample_weight, offset)
    # Labels are found without reading X.
    found = Passes(label_blocks(blocks, y, sample_weight)).total(find_labels, join_labels, None)
    passes = Passes(blocks)
    if not len(found.classes):
        raise ValueError("There is no sample of positive weight; at least one is needed.")
    classes, codes = encode(found.classes)
    factor = class_weights(class_weight, classes, codes, found.weight)
    m = len(classes)
    k = score_columns(m)
    basis.fit(np.empty((1, int(X.shape[1])), dtype=_dtype(X)), np.ones(1))
    task = Task(basis, classes, factor, k, partial(centred_offset, m=m, k=k))
    share = share_of_rows(found, 1 if sparse.issparse(getattr(X, "_meta", None)) else basis.n_columns_)
    moments: Moments = passes.total(find_moments, join_moments, task._replace(share=share))
    design = Blocks(passes, moments, found.rows, intercept)
    known = np.array([moments.total]), None if offset is None else np.zeros(0), basis, classes, given
    return DaskSample(design, None, *known, task=task, class_weight=found.weight * factor)


def _dtype(X) -> np.dtype:
    kinds = list(X.dtypes) if is_frame(X) else [X.dtype]
    return np.dtype(np.float32) if all(kind == np.float32 for kind in kinds) else np.dtype(np.float64)
