"""Columns that are computed when they are asked for, a block at a time, and never all kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .base import Design

BLOCK_BYTES = 2**26


class LazyDesign(Design):
    """The columns of a function: ``columns(rows)`` returns those asked for, (n, len(rows)).

    For kernels between more samples than a matrix of all pairs has room for; solvers that need few passes over all
    columns, such as the sequential algorithm, can afford to compute them anew each time.
    """

    centred = True

    def __init__(self, columns: Callable[[np.ndarray], np.ndarray], n: int, d: int, intercept: bool = False):
        super().__init__(n, d, intercept)
        self.columns = columns

    def _blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        rows = np.arange(self.d) if rows is None else rows
        step = max(1, BLOCK_BYTES // (8 * self.n))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            yield part, self.take(rows[part])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some of the d columns, computed now."""
        return np.asarray(self.columns(rows), dtype=np.float64)

    def _product(self, W: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        W = W[: self.d] if rows is None else W[rows]
        F = np.zeros((self.n, W.shape[1]), order="F")
        for part, X in self._blocks(rows):
            F += X @ W[part]
        return F

    def _adjoint(self, R: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        blocks = [X.T @ R for _, X in self._blocks(rows)]
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

    def storage(self, rows: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray]:
        """The columns asked for, packed."""
        packed, where = np.unique(rows, return_inverse=True)
        return (np.asfortranarray(self.take(packed)),), where
