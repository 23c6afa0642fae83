"""The Gaussian likelihood: numbers with normal noise."""

from __future__ import annotations

import numpy as np

from .. import _core


class Gaussian:
    """-log p(Y | F) = sum_i s_i |Y_i - F_i|^2 / (2 noise), without its constant; noise is a variance."""

    family = _core.reference.GAUSSIAN

    def __init__(self, noise: float = 1.0):
        self.noise = noise

    @property
    def bound(self) -> float:
        """The second derivative of a sample's loss, 1 / noise."""
        return 1.0 / self.noise

    def fit(self, F: np.ndarray, Y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The means, which are the scores, (F - Y) / noise and the loss."""
        D = F - Y
        return F, D / self.noise, float(s @ (D * D).sum(axis=1)) / (2 * self.noise)

    def curvature(self, P: np.ndarray, s: np.ndarray, left: int, right: int) -> np.ndarray:
        """s / noise on the diagonal and 0 elsewhere: the columns of scores are independent."""
        return s / self.noise if left == right else np.zeros_like(s)

    def curve(self, P: np.ndarray, s: np.ndarray, E: np.ndarray) -> np.ndarray:
        """The Hessian in F applied to a change E of the scores."""
        return s[:, None] * E / self.noise

    def conjugate(self, U: np.ndarray, Y: np.ndarray, s: np.ndarray, shrink: float = 1.0) -> float:
        """noise |shrink U|^2 / 2 + shrink U.Y."""
        U = shrink * U
        return float(s @ (self.noise * U * U / 2 + U * Y).sum(axis=1))
