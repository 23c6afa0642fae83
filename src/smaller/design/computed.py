"""Columns that are computed when they are needed, a block at a time, and not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .protocol import Design

BLOCK_BYTES = 2**26


class LazyDesign(Design):
    """The columns of a function: ``columns(indices)`` returns those of the indices, (n, len(indices)).

    For kernels whose matrix does not fit in memory. Every pass computes the columns again, so this suits solvers with
    few passes over all columns, such as the sequential algorithm.
    """

    centred = True

    def __init__(self, columns: Callable[[np.ndarray], np.ndarray], n: int, d: int, intercept: bool = False):
        super().__init__(n, d, intercept)
        self.columns = columns

    def _blocks(self, columns: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        columns = np.arange(self.d) if columns is None else columns
        step = max(1, BLOCK_BYTES // (8 * self.n))
        for first in range(0, len(columns), step):
            part = slice(first, first + step)
            yield part, self.take(columns[part])

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some of the d columns, computed now."""
        return np.asarray(self.columns(columns), dtype=np.float64)

    def _product(self, W: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        W = W[: self.d] if columns is None else W[columns]
        F = np.zeros((self.n, W.shape[1]), order="F")
        for part, X in self._blocks(columns):
            F += X @ W[part]
        return F

    def _adjoint(self, R: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        blocks = [X.T @ R for _, X in self._blocks(columns)]
        return np.concatenate(blocks) if blocks else np.zeros((0, R.shape[1]))

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        every = np.arange(self.d)
        X = self.take(every if left is None else left)
        Z = X if left is right else self.take(every if right is None else right)
        return (X.T * omega) @ Z

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mean, spread, mass = np.zeros((3, self.d))
        for part, X in self._blocks():
            mean[part] = s @ X / s.sum()
            mass[part] = s @ np.abs(X)
            spread[part] = s @ np.square(X - mean[part])
        return mean, spread, mass

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2, (d, L)."""
        total = np.empty((self.d, omega.shape[1]))
        for part, X in self._blocks():
            total[part] = np.square(X - center[part]).T @ omega
        return total
