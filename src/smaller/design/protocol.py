"""What all designs share: the intercept as a last column of ones, and products with some of the columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Of columns x, with weights s: mean = sum s x / sum s, spread = sum s (x - mean)^2, mass = sum s |x|."""

    mean: np.ndarray
    spread: np.ndarray
    mass: np.ndarray

    def second(self, total: float) -> np.ndarray:
        """sum s x^2."""
        return self.spread + total * self.mean**2


class Design:
    """Phi (n, m) with ``m = d + intercept`` columns; W is (m, k), scores and residuals are (n, k), all float64.

    A back-end supplies ``_product(W, columns)``, ``_adjoint(R, columns)``, ``_cross(omega, left, right)``,
    ``_moments(s)``, ``take(columns)``, ``squares(omega, center)``, ``spread(omega, center, columns)``,
    ``outer(root, center, gamma, columns)`` and ``storage(columns)`` for the d columns of its matrix.
    """

    centred: bool  # whether a step along a centred column costs no more than one along the column
    in_memory = False  # whether the compiled solvers can read the columns or the rows where they lie
    accelerated = False  # whether arrays with a row for each sample lie on a device
    few = 0  # work on up to this many columns costs little beside a pass over all columns

    def __init__(self, n: int, d: int, intercept: bool):
        self.n, self.d, self.intercept = n, d, intercept

    @property
    def stored(self) -> tuple[Any, ...] | None:
        """The arrays of all columns for a compiled kernel; None where no matrix by columns is in memory."""
        return None

    @property
    def stored_by_rows(self) -> tuple[Any, ...] | None:
        """The arrays of a matrix by rows for a compiled solver; None where no such matrix is in memory."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, the intercept counted."""
        return self.n, self.d + self.intercept

    def _split(self, columns: np.ndarray | None) -> tuple[np.ndarray | None, bool]:
        """The matrix columns among `columns`, and whether the intercept is one of them."""
        if columns is None or len(columns) == self.d + self.intercept:
            return None, self.intercept
        return columns[columns < self.d], bool(len(columns) and columns[-1] == self.d)

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Phi W, class-major in memory; where few columns have a non-zero weight, only those are read."""
        columns = np.flatnonzero(W[: self.d].any(axis=1))
        if not len(columns):
            F = np.zeros((self.n, W.shape[1]), order="F")
        else:
            F = np.asfortranarray(self._product(W, columns if 4 * len(columns) < self.d else None))
        if self.intercept:
            F += W[self.d]
        return F

    def pull(self, R: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Phi^T R, all rows of it or those of some columns of Phi, which must be sorted."""
        inner, ones = self._split(columns)
        G = np.empty(((self.d if inner is None else len(inner)) + ones, R.shape[1]))
        if inner is None or len(inner):
            G[: len(G) - ones] = self._adjoint(R, inner)
        if ones:
            G[-1] = R.sum(axis=0)
        return G

    def gram(self, omega: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Phi^T diag(omega) Phi, of all columns of Phi or of some, which must be sorted."""
        columns = np.arange(self.d + self.intercept) if columns is None else columns
        return self.cross(omega, columns, columns)

    def cross(self, omega: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Phi[:, left]^T diag(omega) Phi[:, right]; both index arrays are sorted."""
        (first, left_ones), (second, right_ones) = self._split(left), self._split(right)
        K = np.empty((len(left), len(right)))
        inner = K[: len(left) - left_ones, : len(right) - right_ones]
        if inner.size:
            inner[:] = self._cross(omega, first, second)
        if left_ones:
            K[-1] = self.pull(omega[:, None], right)[:, 0]
        if right_ones:
            K[:, -1] = self.pull(omega[:, None], left)[:, 0]
        return K

    def moments(self, s: np.ndarray) -> Moments:
        """Weighted moments of every column."""
        mean, spread, mass = self._moments(s)
        if self.intercept:
            mean, spread, mass = np.append(mean, 1.0), np.append(spread, 0.0), np.append(mass, s.sum())
        return Moments(mean, spread, mass)

    def leaders(self, *units: np.ndarray | None) -> np.ndarray | None:
        """Mask (d,) of columns that, divided by the units, are no multiple of an earlier one; None: not computed."""
        return None

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some of the d columns as a new array, (n, len(columns))."""
        raise NotImplementedError

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2 of the d columns, (d, L); omega is (n, L)."""
        raise NotImplementedError

    def spread(self, omega: np.ndarray, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C, C = Phi[:, columns] - center, where `center` is the omega-weighted mean or 0: (r, r)."""
        raise NotImplementedError

    def outer(self, root: np.ndarray, center: np.ndarray, gamma: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root), C = Phi[:, columns] - center: (n, n)."""
        raise NotImplementedError

    def square(self, B: np.ndarray) -> np.ndarray:
        """B^T B of a matrix on the host."""
        return B.T @ B

    def factorised(self, H: np.ndarray) -> tuple[np.ndarray, float] | None:
        """H^-1 and log|H| by Cholesky on the device; None where that fails, or the host is faster."""
        return None

    def restricted(self, rows: np.ndarray) -> Design:
        """The same columns on some of the rows."""
        raise NotImplementedError

    def _product(self, W: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def _adjoint(self, R: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def storage(self, columns: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray]:
        """The arrays of these columns for a compiled kernel, and the position of each in them; columns may repeat."""
        packed, where = np.unique(columns, return_inverse=True)
        return (np.asfortranarray(self.take(packed)),), where
