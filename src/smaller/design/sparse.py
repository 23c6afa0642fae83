"""A SciPy sparse matrix or array, by columns (CSC) or, where a second copy would be large, by rows; dense if small."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from .protocol import Design

LARGE_BYTES = 2**26  # a larger CSR matrix is not converted to CSC
SMALL = 2**14  # a matrix of up to this many entries, zeros included, is multiplied as a dense one
SAME = 2.0**-40  # relative difference of random products below which two columns count as equal


class SparseDesign(Design):
    """float64 or float32, with 32- or 64-bit indices; formats other than CSC and CSR are converted once.

    Solvers work on columns. A small CSR matrix is turned into a CSC matrix; of a large one, only the
    columns that a solver needs.
    """

    centred = False
    in_memory = True

    def __init__(self, X, intercept: bool = False):
        super().__init__(X.shape[0], X.shape[1], intercept)
        self.by_rows = X.format == "csr" and X.data.nbytes + X.indices.nbytes > LARGE_BYTES
        matrix = sparse.csr_array(X) if self.by_rows else sparse.csc_array(X)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # the user's matrix is not changed
            matrix.sum_duplicates()
        self.X = matrix
        self.few = min(self.n // 3, self.d // 12)
        self._led: tuple[tuple, np.ndarray] | None = None

    @property
    def stored(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The three arrays of the CSC matrix, if it is one."""
        return None if self.by_rows else _three(self.X)

    @property
    def stored_by_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The three arrays of the CSR matrix, if it is one."""
        return _three(self.X) if self.by_rows else None

    @cached_property
    def _small(self) -> np.ndarray | None:
        """A dense copy of a matrix so small that a product costs less than the bookkeeping of a sparse one."""
        return self.take(np.arange(self.d)) if self.n * self.d <= SMALL else None

    def restricted(self, rows: np.ndarray) -> SparseDesign:
        """A copy of some of the rows."""
        return SparseDesign(self.X.tocsr()[rows], self.intercept)

    def _columns(self, columns: np.ndarray | None):
        return self.X if columns is None else self.X[:, columns]

    def _entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and value of each stored entry."""
        along = np.repeat(np.arange(len(self.X.indptr) - 1), np.diff(self.X.indptr))
        row, column = (along, self.X.indices) if self.by_rows else (self.X.indices, along)
        return row, column, self.X.data

    def _product(self, W: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        return self._columns(columns) @ (W[: self.d] if columns is None else W[columns])

    def _adjoint(self, R: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        if self._small is not None:
            return (self._small if columns is None else self._small[:, columns]).T @ R
        return self._columns(columns).T @ np.ascontiguousarray(R)

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        if self._small is not None:
            X, Z = (self._small if columns is None else self._small[:, columns] for columns in (left, right))
            return (X.T * omega) @ Z
        X = self._columns(left).astype(np.float64, copy=False)
        Z = X if left is right else self._columns(right).astype(np.float64, copy=False)
        return (X.T @ (sparse.diags_array(omega) @ Z)).toarray()

    def spread(self, omega: np.ndarray, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C without forming C: sum omega x x^T - total center center^T."""
        return self._cross(omega, columns, columns) - omega.sum() * np.outer(center, center)

    def outer(self, root: np.ndarray, center: np.ndarray, gamma: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root) without forming C."""
        X = sparse.diags_array(root) @ self._columns(columns).astype(np.float64)
        shift = np.outer(X @ (gamma * center), root)
        constant = float(gamma @ center**2) * np.outer(root, root)
        return (X @ sparse.diags_array(gamma) @ X.T).toarray() - shift - shift.T + constant

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        row, column, x = self._entries()
        weight, total = s[row], s.sum()
        mean = self._total(column, weight * x) / total
        unstored = np.maximum(total - self._total(column, weight), 0.0)
        unstored[np.bincount(column, minlength=self.d) == self.n] = 0.0  # else rounding, times the square of the mean
        spread = self._total(column, weight * (x - mean[column]) ** 2) + unstored * mean**2
        return mean, spread, self._total(column, weight * np.abs(x))

    def _total(self, column: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Sums of entries by column, (d,)."""
        return np.bincount(column, weights=values, minlength=self.d)

    def leaders(self, *units: np.ndarray | None) -> np.ndarray | None:
        """The mask by two random products; words that occur in one text only, for instance, are equal columns."""
        if self._led is None or any(was is not now for was, now in zip(self._led[0], units, strict=True)):
            unit = np.prod([np.ones(self.d), *(each for each in units if each is not None)], axis=0)
            probes = self.X.T @ np.random.default_rng(0).standard_normal((self.n, 2))
            probes *= (np.sign(probes[:, 0]) / np.where(unit > 0, unit, 1.0))[:, None]
            order = np.argsort(probes[:, 0], kind="stable")
            ahead, here = probes[order[:-1]], probes[order[1:]]
            same = (np.abs(here - ahead) <= SAME * np.abs(here)).all(axis=1)
            starts = np.append(0, 1 + np.flatnonzero(~same))  # of each set of equal columns
            first = unit == 0  # columns without a penalty are never left out
            first[np.minimum.reduceat(order, starts)] = True
            self._led = units, first
        return self._led[1]

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some of the d columns as a dense array."""
        return self.X[:, columns].toarray().astype(np.float64, copy=False)

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2, (d, L)."""
        row, column, x = self._entries()
        beyond = x * (x - 2 * center[column])  # (x - center)^2 - center^2 of each stored entry
        inside = [self._total(column, omega[row, each] * beyond) for each in range(omega.shape[1])]
        return np.stack(inside, axis=1) + np.outer(center**2, omega.sum(axis=0))

    def storage(self, columns: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """The three arrays of the CSC matrix, of all columns or of those asked for."""
        X, where = self.X, columns
        if self.by_rows:
            packed, where = np.unique(columns, return_inverse=True)
            X = sparse.csc_array(self.X[:, packed])
        return _three(X), where


def _three(X: sparse.csc_array | sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, indices and starts of a compressed matrix, with indices of one type."""
    index = np.result_type(X.indices, X.indptr)
    return X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
