"""One block of rows on a worker, and the description of the problem that is sent to workers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

PART_BYTES = 2**24  # a block is worked on in parts of this size, so that temporaries stay small beside it
SAME_BLOCKS = "both must be split into the same blocks of rows."


class Task(NamedTuple):
    """What is sent to a worker: basis, classes, and the weights at which to evaluate the objective."""

    basis: Any
    classes: np.ndarray
    factor: np.ndarray  # multiplies the sample weights of each class, (m,)
    k: int
    offset_columns: Any = None  # function: offset -> columns of the objective
    share: np.ndarray | None = None  # fraction of the rows of each class to draw, (m,)
    center: Any = None  # subtracted from the columns, (d,)
    far: bool = True  # whether some column lies so far from 0 that products must be those of centred columns
    W: Any = None  # weights (d, k) and, below, intercepts of centred columns (k,)
    b: Any = None
    thin: int = 1  # the Hessian uses every thin-th row
    active: Any = None  # mask (m, k) of the weights whose Hessian is computed, all intercepts among them

    @property
    def reference(self) -> bool:
        """Whether a further class has score 0."""
        return self.k < len(self.classes)


class Block:
    """Checked rows of one block: columns of the basis, codes of the labels, weights, offset."""

    def __init__(self, X, y, weight, offset, task: Task, check: bool = False):
        X = matrix(X)
        y = as_vector(y, "y")
        if len(y) != X.shape[0]:
            raise ValueError(f"A block of X has {X.shape[0]} rows but that of y has {len(y)}; {SAME_BLOCKS}")
        if check and not np.isfinite(X.data if sparse.issparse(X) else X).all():
            raise ValueError("X contains NaN or infinity; every entry must be finite.")
        s = as_weight(weight, len(y))
        position = np.searchsorted(task.classes, y)
        self.codes = np.where(s > 0, np.minimum(position, len(task.classes) - 1), 0)
        self.s = s * task.factor[self.codes]
        self.X, self.basis = X, task.basis
        self.offset = None if offset is None else task.offset_columns(_offset(offset, len(y)))
        if check:
            width = self.columns(slice(0, 1)).shape[1]
            if width != task.basis.n_columns_:
                raise ValueError(f"A block of X gives {width} columns where {task.basis.n_columns_} were expected.")

    def parts(self, width: int = 0) -> list[slice]:
        """Slices of rows, so small that copies of them with `width` columns take about PART_BYTES."""
        n, d = self.X.shape[0], max(1, self.basis.n_columns_)
        lean = sparse.issparse(self.columns(slice(0, 1)))
        d = 1 + self.X.nnz // max(1, n) if lean else max(d, width)
        step = max(256, PART_BYTES // (8 * d))
        return [slice(i, i + step) for i in range(0, n, step)] or [slice(0, 0)]

    def columns(self, part: slice, kept: np.ndarray | None = None):
        """The basis columns of some rows, or those `kept` among them, in float64, dense or CSR."""
        X = self.X[part]
        if not X.shape[0]:  # scikit-learn's products refuse no rows
            d = self.basis.n_columns_ if kept is None else len(kept)
            return sparse.csr_array((0, d)) if sparse.issparse(X) else np.empty((0, d))
        with np.errstate(over="ignore", invalid="ignore"):  # the pass that measures the columns refuses them
            Z = self.basis.transform(X, kept)
        return sparse.csr_array(Z, dtype=np.float64) if sparse.issparse(Z) else np.asarray(Z, dtype=np.float64)


def matrix(X):
    """The rows of a block as an array or a CSR matrix."""
    if sparse.issparse(X):
        return X if X.format == "csr" else X.tocsr()
    if hasattr(X, "to_numpy"):  # a data frame, whose columns may have extension dtypes
        single = all(kind == np.float32 for kind in X.dtypes)
        return X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    return np.asarray(X)


def as_vector(y, name: str) -> np.ndarray:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{name} must have one dimension, a value for each sample; got shape {y.shape}.")
    return y


def as_weight(weight, n: int) -> np.ndarray:
    if weight is None:
        return np.ones(n)
    s = as_vector(weight, "sample_weight").astype(np.float64)
    if len(s) != n:
        raise ValueError(f"A block of y has {n} rows but that of sample_weight has {len(s)}; {SAME_BLOCKS}")
    if not np.isfinite(s).all() or (s < 0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    return s


def _offset(offset, n: int) -> np.ndarray:
    offset = np.asarray(offset, dtype=np.float64)
    if len(offset) != n:
        raise ValueError(f"A block of y has {n} rows but that of offset has {len(offset)}; {SAME_BLOCKS}")
    return offset
