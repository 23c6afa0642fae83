"""Likelihoods: functions of the scores F (n, k) and the targets Y (n, k) alone, in nats, weighted by s (n,).

Each offers, for the objective and the solvers,

- ``fit(F, Y, s)``: the fitted means P and the negative log-likelihood; ``residual(P, Y)``, its gradient in F;
- ``curvature(P, s, l, r)``: the weights of the Hessian block of columns l and r, and ``curve(P, s, E)``, its action;
- ``conjugate(U, Y, s)``: sum_i s_i f_i*(U_i), f_i the loss of row i as a function of its scores: the dual's first half.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from . import _core


class Multinomial:
    """-log p(Y | F) = sum_i s_i [ log sum_c exp F_ic - sum_c Y_ic F_ic ]        Krishnapuram et al. 2005, eq. (2).

    With ``reference`` one further class has score 0 and no column; two classes are one column.
    """

    noise = 1.0

    def __init__(self, reference: bool):
        self.reference = reference
        self.family = _core.reference.REFERENCE if reference else _core.reference.SYMMETRIC

    def fit(self, F: np.ndarray, Y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
        """P = softmax(F) and the negative log-likelihood."""
        P = np.empty_like(F, order="F")
        return P, _core.means(F, Y, s, self.family, P)

    def residual(self, P: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """P - Y."""
        return P - Y

    def curvature(self, P: np.ndarray, s: np.ndarray, left: int, right: int) -> np.ndarray:
        """s P_l (delta_lr - P_r)."""
        return s * P[:, left] * ((left == right) - P[:, right])

    def curve(self, P: np.ndarray, s: np.ndarray, E: np.ndarray) -> np.ndarray:
        """The Hessian in F applied to a change E of the scores."""
        return s[:, None] * P * (E - (P * E).sum(axis=1, keepdims=True))

    def conjugate(self, U: np.ndarray, Y: np.ndarray, s: np.ndarray) -> float:
        """Negative entropy of Q = Y + U, which must lie in the simplex."""
        Q = np.clip(Y + U, 0.0, 1.0)
        negative = xlogy(Q, Q).sum(axis=1)
        if self.reference:
            rest = np.clip(1.0 - Q.sum(axis=1), 0.0, 1.0)
            negative += xlogy(rest, rest)
        return float(s @ negative)


class Gaussian:
    """-log p(Y | F) = sum_i s_i |Y_i - F_i|^2 / (2 noise), without its constant; noise is a variance."""

    family = _core.reference.GAUSSIAN

    def __init__(self, noise: float = 1.0):
        self.noise = noise

    def fit(self, F: np.ndarray, Y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
        """The means, which are the scores, and the loss."""
        D = F - Y
        return F, float(s @ (D * D).sum(axis=1)) / (2 * self.noise)

    def residual(self, P: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """(P - Y) / noise."""
        return (P - Y) / self.noise

    def curvature(self, P: np.ndarray, s: np.ndarray, left: int, right: int) -> np.ndarray:
        """s / noise on the diagonal: the columns do not meet."""
        return s / self.noise if left == right else np.zeros_like(s)

    def curve(self, P: np.ndarray, s: np.ndarray, E: np.ndarray) -> np.ndarray:
        """The Hessian in F applied to a change E of the scores."""
        return s[:, None] * E / self.noise

    def conjugate(self, U: np.ndarray, Y: np.ndarray, s: np.ndarray) -> float:
        """noise |U|^2 / 2 + U.Y."""
        return float(s @ (self.noise * U * U / 2 + U * Y).sum(axis=1))
