"""A SciPy sparse matrix or array, kept by columns (CSC) and never densified."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .columns import Design

SAME = 2**40  # products that differ by less than this part are of the same column


class SparseDesign(Design):
    """CSC of float64 or float32, with 32- or 64-bit indices; other formats are converted once."""

    centred = False

    def __init__(self, X, intercept: bool = False):
        super().__init__(X.shape[0], X.shape[1], intercept)
        csc = sparse.csc_array(X)
        if not csc.has_canonical_format:
            csc = csc.copy()  # what the user gave is not to be sorted
            csc.sum_duplicates()
        index = np.result_type(csc.indices, csc.indptr)
        self.X = csc
        self._led: tuple[tuple, np.ndarray] | None = None
        self._arrays = (csc.data, csc.indices.astype(index, copy=False), csc.indptr.astype(index, copy=False))

    def _columns(self, rows: np.ndarray | None):
        return self.X if rows is None else self.X[:, rows]

    def _product(self, W: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        return self._columns(rows) @ (W[: self.d] if rows is None else W[rows])

    def _adjoint(self, R: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        return self._columns(rows).T @ np.ascontiguousarray(R)

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        X = self._columns(left).astype(np.float64)
        Z = X if left is right else self._columns(right).astype(np.float64)
        return (X.T @ (sparse.diags_array(omega) @ Z)).toarray()

    def spread(self, omega: np.ndarray, center: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C without forming C: sum omega x x^T - total center center^T."""
        return self._cross(omega, rows, rows) - omega.sum() * np.outer(center, center)

    def outer(self, root: np.ndarray, center: np.ndarray, gamma: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root) without forming C."""
        X = sparse.diags_array(root) @ self._columns(rows).astype(np.float64)
        shift = np.outer(X @ (gamma * center), root)
        constant = float(gamma @ center**2) * np.outer(root, root)
        return (X @ sparse.diags_array(gamma) @ X.T).toarray() - shift - shift.T + constant

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X, total = self.X.astype(np.float64), s.sum()
        mean = s @ X / total
        stored = sparse.csc_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
        centred = sparse.csc_array((X.data - np.repeat(mean, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
        unstored = np.maximum(total - s @ stored, 0.0)
        return mean, s @ centred.power(2) + unstored * mean**2, s @ abs(X)

    def leaders(self, *units: np.ndarray | None) -> np.ndarray | None:
        """Words of one text only, for instance, are the same column many times; two random products tell them apart."""
        if self._led is None or any(was is not now for was, now in zip(self._led[0], units, strict=True)):
            unit = np.prod([np.ones(self.d), *(each for each in units if each is not None)], axis=0)
            probes = self.X.T @ np.random.default_rng(0).standard_normal((self.n, 2))
            probes *= (np.sign(probes[:, 0]) / np.where(unit > 0, unit, 1.0))[:, None]
            mantissa, exponent = np.frexp(probes)
            keys = np.column_stack([np.rint(mantissa * SAME), exponent, np.where(unit > 0, -1, np.arange(self.d))])
            first = np.zeros(self.d, dtype=bool)
            first[np.unique(keys, axis=0, return_index=True)[1]] = True
            self._led = units, first
        return self._led[1]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some of the d columns as a dense array."""
        return self.X[:, rows].toarray().astype(np.float64, copy=False)

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2, (d, L)."""
        X = self.X.astype(np.float64)
        column = np.repeat(center, np.diff(X.indptr))
        shifted = sparse.csc_array((X.data * (X.data - 2 * column), X.indices, X.indptr), shape=X.shape)
        return shifted.T @ omega + np.outer(center**2, omega.sum(axis=0))

    def storage(self, rows: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """The three arrays of the CSC matrix."""
        return self._arrays, rows
