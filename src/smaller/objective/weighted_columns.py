"""The columns of a design as the evidence sees them: centred, weighted, in units of their norms, alone or in groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..design import Design, OperatorDesign

CONSTANT = 1e-12  # a column whose spread, relative to its mean, is below this is constant up to rounding


class Taken(NamedTuple):
    """What free intercepts took out of columns and targets before: the sizes of the means, and how many intercepts."""

    center: np.ndarray  # of each column, (d,)
    mean: np.ndarray  # of each target, (k,)
    intercepts: int


class Columns:
    """The columns of a design, weighted, centred (where there is an intercept) and in units of their norms.

    `groups` has a number 0, 1, ... for each column; columns of one number share a variance, and so a unit: the root of
    their mean squared norm.
    """

    def __init__(
        self,
        design: Design,
        sample_weight: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        taken: Taken | None = None,
    ):
        self.design, self.groups = design, groups
        self.s = np.ones(design.n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.total = float(self.s.sum())
        moments, d = design.moments(self.s), design.d
        second = moments.second(self.total)[:d]
        self.center = moments.mean[:d] if design.intercept else np.zeros(d)
        square = moments.spread[:d] if design.intercept else second
        before = 0.0 if taken is None else self.total * taken.center**2
        # A constant column is the intercept once more: in infinite units it vanishes.
        present = square > CONSTANT**2 * (second + before)
        norms = np.where(present, square, 0.0)
        shared = norms if groups is None else (self.grouped(norms) / np.maximum(self.grouped(present), 1))[groups]
        self.unit = np.sqrt(np.where(present, shared, np.inf))
        self.square = np.where(present, norms / np.where(present, shared, 1.0), 0.0)  # of each column, in its unit

    def grouped(self, values: np.ndarray) -> np.ndarray:
        """Sums of the values of all columns over each group; the values themselves where every column is its own."""
        return values if self.groups is None else np.bincount(self.groups, weights=values)

    @property
    def sizes(self) -> np.ndarray:
        """Columns of each group, constant ones not counted."""
        return self.grouped(np.isfinite(self.unit).astype(float))

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.design.d

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Columns, centred and scaled but not weighted, (n, len(rows)) in Fortran order."""
        Phi = np.asfortranarray(self.design.take(rows))
        if self.design.intercept:
            Phi -= self.center[rows]
        Phi /= self.unit[rows]
        return Phi

    def push(self, rows: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Some columns, centred and scaled but not weighted, times W (len(rows), r): (n, r)."""
        if isinstance(self.design, OperatorDesign):
            return self.design.scores(self._spread_out(rows, W / self.unit[rows, None]))
        return self.take(rows) @ W

    def _spread_out(self, rows: np.ndarray, W: np.ndarray) -> np.ndarray:
        """W (len(rows), r) as weights of all columns, and of the intercept what takes the columns' means out."""
        if not self.design.intercept and np.array_equal(rows, np.arange(self.d)):
            return W
        full = np.zeros((self.design.shape[1], W.shape[1]))
        full[rows] = W
        if self.design.intercept:
            full[-1] = -self.center[rows] @ W
        return full

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Weighted products of some columns with others, both sorted; sparse ones stay sparse."""
        if self.design.centred:
            return (self.take(left).T * self.s) @ self.take(right)
        K = self.design.cross(self.s, left, right) - self.total * np.outer(self.center[left], self.center[right])
        return K / np.outer(self.unit[left], self.unit[right])

    def outer(self, gamma: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Phi Gamma Phi^T of some columns times the square roots of the weights, (n, n)."""
        return self.design.outer(np.sqrt(self.s), self.center[rows], gamma / self.unit[rows] ** 2, rows)

    def pull(self, R: np.ndarray) -> np.ndarray:
        """Products of all columns with R (n, r): (d, r)."""
        G = self.design.pull(R)[: self.d]
        if self.design.intercept:
            G -= np.outer(self.center, R.sum(axis=0))
        G /= self.unit[:, None]
        return G

    def spread(self, omega: np.ndarray) -> np.ndarray:
        """Squares of all columns summed with weights omega (n, r): (d, r)."""
        return self.design.squares(omega, self.center) / self.unit[:, None] ** 2
