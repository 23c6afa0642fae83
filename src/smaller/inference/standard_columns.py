"""The columns of X, centred and divided by their standard deviations, known through products and never copied whole."""

from __future__ import annotations

import numpy as np

from ..design import as_design

CONSTANT = 1e-13  # a column that varies by less than this, relative to its mean size, is constant


class StandardColumns:
    """Z = (X - mean) / scale with weighted means and standard deviations (n in the denominator); X may be sparse.

    Constant columns have ``scale`` infinite, so that they are 0 in Z; ``varies`` is a mask of the others.
    """

    def __init__(self, X, weight: np.ndarray):
        self.design, self.weight, self.total = as_design(X), weight, float(weight.sum())
        moments = self.design.moments(weight)
        size = moments.mass / self.total
        deviation = np.sqrt(np.maximum(moments.spread, 0.0) / self.total)
        self.varies = deviation > CONSTANT * size
        self.mean, self.scale = moments.mean, np.where(self.varies, deviation, np.inf)
        self.n, self.d = self.design.n, self.design.d

    def pull(self, R: np.ndarray) -> np.ndarray:
        """Z^T R, (d, k)."""
        return (self.design.pull(R) - np.outer(self.mean, R.sum(axis=0))) / self.scale[:, None]

    def scores(self, B: np.ndarray) -> np.ndarray:
        """Z B, (n, k)."""
        B = B / self.scale[:, None]
        return np.asarray(self.design.scores(B)) - self.mean @ B

    def squares(self, omega: np.ndarray) -> np.ndarray:
        """sum_i omega_il Z_ij^2, (d, L)."""
        return self.design.squares(omega, self.mean) / self.scale[:, None] ** 2

    def row_squares(self, columns: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """sum_j variance_j Z_ij^2 over some columns, (n,)."""
        return self.take(columns) ** 2 @ variance

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some columns of Z, dense."""
        return (self.design.take(columns) - self.mean[columns]) / self.scale[columns]

    def raw(self, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (d, k) on the columns of X, and the intercepts (k,) that centring leaves."""
        B = B / self.scale[:, None]
        return B, -self.mean @ B


def location_and_scale(y: np.ndarray, Z: StandardColumns) -> tuple[float, float]:
    """Weighted mean and standard deviation of the target; 1 where it is constant."""
    mean = float(Z.weight @ y) / Z.total
    deviation = float(np.sqrt(Z.weight @ (y - mean) ** 2 / Z.total))
    if not np.isfinite(deviation):
        raise ValueError("y has numbers whose squares overflow in float64; divide y by its size.")
    return mean, deviation if deviation > 1e-13 * abs(mean) else 1.0
