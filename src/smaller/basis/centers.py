"""Which rows a kernel is centred on: the distinct ones, some spread over them, or those that the user gives."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from ..design import host
from ..design.tensors import rows_of

MOST = 2500  # distinct rows up to which "auto" takes all; of more it takes so many


def checked_centers(centers: Any, X) -> Any:
    """The parameter `centers` of a kernel: None, "auto", a number, or a matrix of as many columns as X, like X."""
    if centers is None or (isinstance(centers, str) and centers == "auto"):
        return centers
    if isinstance(centers, Integral) and not isinstance(centers, (bool, np.bool_)) and int(centers) >= 1:
        return int(centers)
    if np.ndim(centers) == 2 and np.shape(centers)[0] and np.shape(centers)[1] == X.shape[1]:
        given: Any = sparse.csr_array(centers) if sparse.issparse(centers) else np.asarray(host(centers))
        if given.dtype.kind in "iuf" and np.isfinite(given.data if sparse.issparse(given) else given).all():
            given = given.astype(X.dtype if isinstance(X.dtype, np.dtype) else np.float64)
            if sparse.issparse(X):
                return sparse.csr_array(given)
            return given.toarray() if sparse.issparse(given) else given
    shape = f"an array of shape {np.shape(centers)}" if np.ndim(centers) else repr(centers)
    raise ValueError(
        "Kernel: centers must be None (all distinct rows), 'auto', a whole number of at least 1, or a matrix of finite "
        f"numbers with one column for each of the {X.shape[1]} inputs; got {shape}."
    )


def chosen_rows(X, rows: np.ndarray, centers: str | int | None) -> tuple[int, np.ndarray]:
    """The number of distinct rows of X among `rows`, and the positions of all or some of these, sorted by value."""
    found = rows[distinct_rows(host(X if len(rows) == X.shape[0] else rows_of(X, rows)))]
    count = len(found) if centers is None else MOST if isinstance(centers, str) else centers
    if len(found) <= count:
        return len(found), found
    return len(found), found[spread_rows(host(rows_of(X, found)), count)]


def spread_rows(X, count: int) -> np.ndarray:
    """Positions of so many rows, each the farthest from those before it; the first is the farthest from the mean.

    Rows that are sorted and distinct are chosen alike whatever their order and their weights were, and no row is
    farther from a chosen one than these are from each other.
    """
    X = sparse.csr_array(X).astype(np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    middle = np.asarray(X.mean(axis=0)).ravel()
    if not sparse.issparse(X):
        X, middle = X - middle, np.zeros(X.shape[1])  # about the mean, distances lose few digits
    squares = np.asarray(X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)).ravel()
    nearest = squares - 2 * (X @ middle) + middle @ middle
    found, row = np.empty(count, dtype=np.intp), int(np.argmax(nearest))
    nearest[:] = np.inf
    for number in range(count):
        found[number] = row
        here = X[[row]].toarray()[0] if sparse.issparse(X) else X[row]
        np.minimum(nearest, squares - 2 * (X @ here) + squares[row], out=nearest)
        nearest[row] = -np.inf
        row = int(np.argmax(nearest))
    return np.sort(found)


def distinct_rows(X) -> np.ndarray:
    """Positions of the first of each set of equal rows, the rows sorted."""
    if not sparse.issparse(X):
        X = X[:, 0] if X.shape[1] == 1 else np.ascontiguousarray(X)
        return np.unique(X, axis=0, return_index=True)[1]
    rows = sparse.csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    first: dict[tuple, int] = {}
    for i, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        # Keys sort as dense rows do: an early negative entry makes a row small, an early positive one large.
        entries = zip(rows.indices[start:end].tolist(), rows.data[start:end].tolist(), strict=True)
        key = (*((0, j, x) if x < 0 else (2, -j, x) for j, x in entries), (1,))
        first.setdefault(key, i)
    return np.array([first[key] for key in sorted(first)], dtype=np.intp)
