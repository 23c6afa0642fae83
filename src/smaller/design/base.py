"""What all designs share: the intercept as a last column of ones, and supports smaller than the matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Of the columns x, with weights s: mean = sum s x / sum s, spread = sum s (x - mean)^2, mass = sum s |x|."""

    mean: np.ndarray
    spread: np.ndarray
    mass: np.ndarray

    def second(self, total: float) -> np.ndarray:
        """sum s x^2."""
        return self.spread + total * self.mean**2


class Design:
    """Phi (n, m) with ``m = d + intercept`` columns; W is (m, k), scores and residuals are (n, k), all float64.

    A back-end supplies ``_product(W, rows)``, ``_adjoint(R, rows)``, ``_cross(omega, left, right)``, ``_moments(s)``,
    ``take(rows)``, ``squares(omega, center)``, ``spread(omega, center, rows)``, ``outer(root, center, gamma, rows)``
    and ``storage(rows)`` for the d columns of its matrix.
    """

    centred: bool  # whether moving a centred column costs no more than moving the column
    accelerated = False  # whether what has a row for each sample lies on a device
    few = 0  # columns that cost next to nothing beside a pass over all of them and over the rows of all classes

    def __init__(self, n: int, d: int, intercept: bool):
        self.n, self.d, self.intercept = n, d, intercept

    @property
    def stored(self) -> tuple[Any, ...] | None:
        """The arrays that a compiled kernel takes for all columns; None where they do not lie here as columns."""
        return None

    @property
    def stored_by_rows(self) -> tuple[Any, ...] | None:
        """The arrays that a compiled solver takes where columns do not lie here as columns; None where rows do not."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, the intercept counted."""
        return self.n, self.d + self.intercept

    def _split(self, rows: np.ndarray | None) -> tuple[np.ndarray | None, bool]:
        """The matrix columns among `rows`, and whether the intercept is one of them."""
        if rows is None or len(rows) == self.d + self.intercept:
            return None, self.intercept
        return rows[rows < self.d], bool(len(rows) and rows[-1] == self.d)

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Phi W, class-major in memory; only columns with a non-zero weight are touched where those are few."""
        rows = np.flatnonzero(W[: self.d].any(axis=1))
        F = np.asfortranarray(self._product(W, rows if 4 * len(rows) < self.d else None))
        if self.intercept:
            F += W[self.d]
        return F

    def pull(self, R: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Phi^T R, all rows of it or the sorted ones asked for."""
        inner, ones = self._split(rows)
        G = np.empty(((self.d if inner is None else len(inner)) + ones, R.shape[1]))
        if inner is None or len(inner):
            G[: len(G) - ones] = self._adjoint(R, inner)
        if ones:
            G[-1] = R.sum(axis=0)
        return G

    def gram(self, omega: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Phi^T diag(omega) Phi, restricted to the sorted rows asked for."""
        rows = np.arange(self.d + self.intercept) if rows is None else rows
        return self.cross(omega, rows, rows)

    def cross(self, omega: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The sorted rows `left` and columns `right` of Phi^T diag(omega) Phi."""
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
        """Which columns are not multiples of an earlier one when divided by the units, (d,); None is not known."""
        return None

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some of the d columns as a fresh array, (n, len(rows))."""
        raise NotImplementedError

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2 of the d columns, (d, L); omega is (n, L)."""
        raise NotImplementedError

    def spread(self, omega: np.ndarray, center: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C, C = Phi[:, rows] - center, where `center` is the omega-weighted mean or 0: (r, r)."""
        raise NotImplementedError

    def outer(self, root: np.ndarray, center: np.ndarray, gamma: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root), C = Phi[:, rows] - center: (n, n)."""
        raise NotImplementedError

    def square(self, B: np.ndarray) -> np.ndarray:
        """B^T B of a matrix on the host: by whatever is fast here."""
        return B.T @ B

    def factorised(self, H: np.ndarray) -> tuple[np.ndarray, float] | None:
        """H^-1 and log|H| by a Cholesky factorisation here; None where the host had better do it, or it fails."""
        return None

    def _product(self, W: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def _adjoint(self, R: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def storage(self, rows: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray]:
        """The arrays a compiled kernel takes for these columns, which may repeat, and where in them each column is."""
        raise NotImplementedError
