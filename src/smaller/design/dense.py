"""A NumPy matrix of float64 or float32 in any memory order; only a small one by rows is copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .. import _core
from .protocol import Design

BLOCK_BYTES = 2**23
WHOLE_BYTES = 2**25  # a matrix up to this size is multiplied at once, not in blocks
CACHE_BYTES = 2**18  # size of temporary blocks, so that they stay in the cache


class DenseDesign(Design):
    """float32 columns stay float32; products accumulate in float64, a block of rows at a time."""

    centred = True
    in_memory = True

    def __init__(self, X: np.ndarray, intercept: bool = False):
        super().__init__(X.shape[0], X.shape[1], intercept)
        self.X = X

    @cached_property
    def stored(self) -> tuple[np.ndarray] | None:
        """The matrix if its columns are contiguous, else a copy by columns if that is no larger than a block."""
        small = self.X.nbytes <= BLOCK_BYTES
        return (np.asfortranarray(self.X),) if small or self.X.flags.f_contiguous else None

    @property
    def stored_by_rows(self) -> tuple[np.ndarray]:
        """The matrix, in any memory order."""
        return (self.X,)

    def _blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of samples in float64, of all columns or some."""
        if self.X.dtype == np.float64 and self.X.nbytes <= WHOLE_BYTES:
            yield slice(None), self.X if columns is None else self.X[:, columns]
            return
        step = max(1, BLOCK_BYTES // (8 * max(1, self.d if columns is None else len(columns))))
        for first in range(0, self.n, step):
            part = slice(first, first + step)
            X = self.X[part]
            yield part, (X if columns is None else X[:, columns]).astype(np.float64, copy=False)

    def _product(self, W: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        W = W[: self.d] if columns is None else W[columns]
        F = np.empty((self.n, W.shape[1]), order="F")
        for part, X in self._blocks(columns):
            F[part] = X @ W
        return F

    def _adjoint(self, R: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        single = self.X.dtype != np.float64
        if columns is None and (single or R.shape[1] > 1) and self.X.flags.f_contiguous:
            G = np.empty((self.d, R.shape[1]))
            _core.pull(self.X, np.asfortranarray(R), G)  # BLAS is slow for few columns, and needs one dtype
            return G
        return sum(X.T @ R[part] for part, X in self._blocks(columns))

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        # Blocks of rows for float64 as well: the weighted columns are a copy.
        sizes = [self.d if columns is None else len(columns) for columns in (left, right)]
        K, step = np.zeros(sizes), max(1, BLOCK_BYTES // (8 * max(1, *sizes)))
        for part in (slice(i, i + step) for i in range(0, self.n, step)):
            X = self._part(part, left)
            K += (X.T * omega[part]) @ (X if left is right else self._part(part, right))
        return K

    def _part(self, part: slice, columns: np.ndarray | None) -> np.ndarray:
        X = self.X[part] if columns is None else self.X[part][:, columns]
        return X.astype(np.float64, copy=False)

    def spread(self, omega: np.ndarray, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C; each block of rows is centred before it is multiplied, to avoid cancellation."""
        K, root = np.zeros((len(columns), len(columns))), np.sqrt(omega)
        step = max(1, BLOCK_BYTES // (8 * max(1, len(columns))))
        for part in (slice(i, i + step) for i in range(0, self.n, step)):
            C = (self.X[part][:, columns] - center) * root[part, None]
            K += C.T @ C
        return K

    def outer(self, root: np.ndarray, center: np.ndarray, gamma: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root), a block of columns at a time."""
        B, scale = np.zeros((self.n, self.n)), np.sqrt(gamma)
        step = max(1, BLOCK_BYTES // (8 * max(1, self.n)))
        for part in (slice(i, i + step) for i in range(0, len(columns), step)):
            C = (self.X[:, columns[part]] - center[part]) * scale[part]
            C *= root[:, None]
            B += C @ C.T
        return B

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        total = s.sum()
        mean, mass = np.zeros((2, self.d))
        for part in self._parts():
            X = self.X[part].astype(np.float64, copy=False)
            mean += s[part] @ X / total
            mass += s[part] @ np.abs(X)
        return mean, self.squares(s[:, None], mean)[:, 0], mass

    @property
    def rowwise(self) -> bool:
        """Whether a compiled loop can read the matrix as it is, row by row."""
        return self.X.dtype == np.float64 and self.X.flags.c_contiguous

    def _parts(self) -> list[slice]:
        step = max(8, CACHE_BYTES // (8 * max(1, self.d)))
        return [slice(first, first + step) for first in range(0, self.n, step)]

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some of the d columns as a new float64 array."""
        return self.X.T[columns].T.astype(np.float64, copy=False)

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2, (d, L)."""
        total = np.zeros((self.d, omega.shape[1]))
        if self.rowwise and omega.shape[1] == 1:
            _core.squares(self.X, np.ascontiguousarray(omega[:, 0]), np.asarray(center, dtype=np.float64), total[:, 0])
            return total
        for part in self._parts():
            D = self.X[part] - center
            np.square(D, out=D)
            total += D.T @ omega[part]
        return total

    def restricted(self, rows: np.ndarray) -> DenseDesign:
        """A copy of some of the rows."""
        return DenseDesign(self.X[rows], self.intercept)

    def storage(self, columns: np.ndarray) -> tuple[tuple[np.ndarray], np.ndarray]:
        """All columns where they are contiguous, else a packed copy of those asked for."""
        if self.stored is not None:
            return self.stored, columns
        packed, where = np.unique(columns, return_inverse=True)
        return (self.X.T[packed].T,), where
