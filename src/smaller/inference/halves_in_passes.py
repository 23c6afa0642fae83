"""Stability selection on Dask collections: rows stay where they are, and half-samples share their passes over them.

The labels and the halves are the client's. A half is a mask of the rows; its path is a fit of its own, and one pass
answers what all of them have asked.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..basis import Linear
from ..errors import EmptyModelWarning
from ..models.base import Given
from ..models.dask_sample import client_labels, dask_sample, measured_sample
from ..models.predictions import note_inputs
from ..rows.dask.block_directions import Projections, join_projections, project
from ..rows.dask.block_moments import find_labels
from ..rows.dask.collections import columns_of_collection, is_lazy, row_blocks
from ..rows.dask.passes import Passes
from ..rows.dask.shared_passes import ROOM, TEST, TRAIN, SharedPasses, SomeRows
from ..rows.dask.summed_posterior import DaskSample
from ..solvers.l1.newton import HESSIAN
from ..tuning.path import followed
from .checked_input import ROW_DATA, Rows, checked_columns, checked_estimator, checked_groups
from .distinct_columns import CONSTANT, merged_columns
from .first_features import CLASS_PATHS, END, ROUNDING, first_to_enter, path_model
from .reused_rows import mark_direction

KEPT = 2**29  # bytes of Hessians that the client holds, one for each half in the same passes
WORKING = 300  # weights of a working set on a path that has begun, beside those of the features that entered


class RemoteRows(NamedTuple):
    """Rows in blocks, with what the client knows of them."""

    given: Given
    sizes: list[int]  # rows of each block
    y: np.ndarray  # labels and weights of all rows
    weight: np.ndarray
    kept: np.ndarray  # positions of the rows of positive weight
    passes: int  # over X so far


def checked_collection(selector, X, y, groups, fit_params: dict) -> Rows:
    """As `checked_rows`: the labels come to the client, and two passes measure the columns of X."""
    unknown = [name for name in fit_params if name not in ROW_DATA]
    if unknown:
        raise TypeError(f"fit takes {' and '.join(ROW_DATA)} beside X, y and groups; got {', '.join(unknown)}.")
    if selector.estimator is not None and not isinstance(selector.estimator, CLASS_PATHS):
        raise ValueError(
            f"With Dask input features enter the path of SMLR, SMLRCV or SBMLR; {type(selector.estimator).__name__} "
            "needs rows in memory. Give one of these, or a sample of the rows."
        )
    given = Given(X, y, *(fit_params.get(name) for name in ROW_DATA))
    # One column of scores for each class, as in the paths of the halves.
    intercept = getattr(selector.estimator, "fit_intercept", True)
    sample = dask_sample(given, Linear(), None, lambda m: 1 if m == 2 else m, intercept)
    labels, weight = client_labels(sample)
    note_inputs(selector, X)
    kept = np.flatnonzero(weight > 0)
    groups = _groups_of_rows(groups, len(labels), kept)
    estimator = checked_estimator(selector, labels[kept])
    found = _projections(sample)
    columns = checked_columns(estimator, X.shape[1], partial(_distinct, sample, found))
    reduced = X if len(columns.chosen) == X.shape[1] else columns_of_collection(X, columns.chosen)
    design: Any = sample.design
    remote = RemoteRows(given._replace(X=reduced), design.found.sizes, labels, weight, kept, design.passes.count)
    return Rows(remote, labels[kept], {}, groups, estimator, *columns[:3], X, found.marks, columns.labels)


def _groups_of_rows(groups, n: int, kept: np.ndarray) -> np.ndarray | None:
    if groups is None:
        return None
    known = checked_groups(groups.compute() if is_lazy(groups) else groups)
    if len(known) != n:
        raise ValueError(f"groups must label each of the {n} rows of X; got {len(known)} labels.")
    return known[kept]


def _projections(sample: DaskSample) -> Projections:
    design: Any = sample.design
    task = sample.task._replace(center=design.center, W=mark_direction(design.d))
    return design.passes.total(project, join_projections, task)


def _distinct(sample: DaskSample, found: Projections, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `distinct_columns`, from the spread of the columns and their products with random numbers."""
    design: Any = sample.design
    moments = design.found
    second = moments.spread + (0.0 if design.intercept else moments.total * moments.mean**2)
    size = np.sqrt(second / moments.total)
    varies = size > CONSTANT * moments.mass / moments.total
    along = found.pulls / np.where(varies, size, 1.0)[:, None]
    along *= np.where(along[:, :1] < 0, -1.0, 1.0)  # a copy may have the other sign

    def copies(run: np.ndarray) -> np.ndarray:
        first = along[run[0]]
        return (np.abs(along[run] - first) <= 1e-9 * np.abs(first).max()).all(axis=1)

    return merged_columns(np.where(varies, along[:, 0], np.nan), size, kinds, copies)


# -- the paths of the halves


def entries_in_passes(rows: Rows, halves: list[np.ndarray], q: int) -> tuple[sparse.csr_array, int]:
    """The strengths at which the first q columns entered on each half, and the passes over X that this took."""
    remote: RemoteRows = rows.X
    pairs = list(zip(halves[::2], halves[1::2], strict=True))
    found: list[np.ndarray] = []
    passes = remote.passes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)  # a half may well select nothing
        for batch in np.array_split(np.arange(len(pairs)), -(-len(pairs) // _pairs_at_a_time(rows, q))):
            entered, count = _together(rows, [pairs[i] for i in batch], q)
            found, passes = found + entered, passes + count
    return sparse.csr_array(sparse.vstack([sparse.csr_array(each[None]) for each in found])), passes


def _pairs_at_a_time(rows: Rows, q: int) -> int:
    """Pairs whose fits and masks of rows the client has room for."""
    m, d, n = len(np.unique(rows.y)), rows.X.given.X.shape[1], len(rows.X.y)
    k = 1 if m == 2 else m
    unknowns = d * k if d * k <= HESSIAN else min(HESSIAN, WORKING + 2 * q * k)
    return int(max(1, min(KEPT // (8 * unknowns**2) // 2, ROOM // n)))


def _together(rows: Rows, pairs: list[tuple[np.ndarray, np.ndarray]], q: int) -> tuple[list[np.ndarray], int]:
    """The strengths of entry on the halves of some pairs, all in the same passes, and how many these were."""
    remote: RemoteRows = rows.X
    roles = np.zeros((len(remote.y), len(pairs)), dtype=np.uint8)
    for number, (one, other) in enumerate(pairs):
        roles[remote.kept[one], number], roles[remote.kept[other], number] = TRAIN, TEST
    together = SharedPasses(Passes(row_blocks(*remote.given[:4])), remote.sizes, roles)
    works: list[Any] = []
    for number, (one, other) in enumerate(pairs):
        part = together.part(number)
        for half, seen in ((one, part), (other, part.others())):
            works.append(partial(_on_half, rows, remote.kept[half], seen, q, 2 * len(pairs)))
    return together.run(works), together.passes.count


def _on_half(rows: Rows, half: np.ndarray, part: SomeRows, q: int, fits: int) -> np.ndarray:
    """The strengths, relative to the largest, at which the first q features entered on some rows; 0 of all others."""
    remote, model = rows.X, path_model(rows.estimator)
    model._validate_params()
    found = find_labels(None, remote.y[half], remote.weight[half], None, None)
    about = Linear(), model.class_weight, model._score_columns, model.fit_intercept
    sample = measured_sample(remote.given, part, found, *about, fits=fits)
    if _is_unrelated(sample):
        return np.zeros(len(rows.candidates))
    problem = model._pose(sample)
    labels = None if rows.labels is None else rows.unit
    end = END[len(half) < sample.design.d]
    q = min(q, int(rows.candidates.sum()))
    return first_to_enter(lambda lams, eps=None: followed(problem, model, lams, eps), q, rows.candidates, end, labels)


def _is_unrelated(sample: DaskSample) -> bool:
    """Whether no column has any relation to the labels but rounding errors, so that no path exists."""
    design: Any = sample.design
    moments, total = design.found, sample.class_weight
    null = total / total.sum() if design.intercept else np.full(len(total), 1 / len(total))
    pull = np.abs(moments.by_class - np.outer(moments.total * moments.mean, null)).max(axis=1)
    return bool((pull <= ROUNDING * moments.mass).all())
