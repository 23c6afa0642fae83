"""Likelihoods: functions of the scores F (n, k) and the targets Y (n, k) alone, in nats, weighted by s (n,).

Each offers, for the objective and the solvers,

- ``fit(F, Y, s)``: fitted means P, the gradient U of a sample's loss in its scores, and the negative log-likelihood;
- ``curvature(P, s, l, r)``: the weights of the Hessian block of columns l and r, and ``curve(P, s, E)``, its action;
- ``conjugate(U, Y, s, rho)``: sum_i s_i f_i*(rho U_i), f_i the loss of row i in its scores: the dual's first half;
- ``bound``: what the second derivative of a row's loss never exceeds, where EM uses it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from .. import _core
from ..design import namespace, on_device

FAR = -100.0  # a signed score of the probit likelihood below which its series is more exact than its formula


class Multinomial:
    """-log p(Y | F) = sum_i s_i [ log sum_c exp F_ic - sum_c Y_ic F_ic ]        Krishnapuram et al. 2005, eq. (2).

    With ``reference`` one further class has score 0 and no column; two classes are one column.
    """

    noise = 1.0

    def __init__(self, reference: bool):
        self.reference = reference
        self.family = _core.reference.REFERENCE if reference else _core.reference.SYMMETRIC

    def fit(self, F: np.ndarray, Y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """P = softmax(F), U = P - Y and the negative log-likelihood."""
        P, U = np.empty_like(F, order="F"), np.empty_like(F, order="F")
        loss = _core.means(F, Y, s, self.family, P, U)
        return P, U, loss

    def curvature(self, P: np.ndarray, s: np.ndarray, left: int, right: int) -> np.ndarray:
        """s P_l (delta_lr - P_r)."""
        return s * P[:, left] * (float(left == right) - P[:, right])

    def curve(self, P: np.ndarray, s: np.ndarray, E: np.ndarray) -> np.ndarray:
        """The Hessian in F applied to a change E of the scores."""
        return s[:, None] * P * (E - (P * E).sum(axis=1, keepdims=True))

    def conjugate(self, U: np.ndarray, Y: np.ndarray, s: np.ndarray, shrink: float = 1.0) -> float:
        """Negative entropy of Q = Y + shrink U, which must lie in the simplex."""
        return _core.negentropy(U, Y, s, shrink, self.family)


def one_hot(codes: np.ndarray, m: int, k: int) -> np.ndarray:
    """Columns of the classes that have one: all of them, all but the last, or the second of two."""
    labelled = np.arange(k) if m > 2 else np.array([1])
    if on_device(codes):
        return codes[:, None] == namespace(codes).asarray(labelled, dtype=codes.dtype, device=codes.device)[None, :]
    return np.asfortranarray(codes[:, None] == labelled, dtype=np.float64)


class Gaussian:
    """-log p(Y | F) = sum_i s_i |Y_i - F_i|^2 / (2 noise), without its constant; noise is a variance."""

    family = _core.reference.GAUSSIAN

    def __init__(self, noise: float = 1.0):
        self.noise = noise

    @property
    def bound(self) -> float:
        """1 / noise, everywhere."""
        return 1.0 / self.noise

    def fit(self, F: np.ndarray, Y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The means, which are the scores, (F - Y) / noise and the loss."""
        D = F - Y
        return F, D / self.noise, float(s @ (D * D).sum(axis=1)) / (2 * self.noise)

    def curvature(self, P: np.ndarray, s: np.ndarray, left: int, right: int) -> np.ndarray:
        """s / noise on the diagonal: the columns do not meet."""
        return s / self.noise if left == right else np.zeros_like(s)

    def curve(self, P: np.ndarray, s: np.ndarray, E: np.ndarray) -> np.ndarray:
        """The Hessian in F applied to a change E of the scores."""
        return s[:, None] * E / self.noise

    def conjugate(self, U: np.ndarray, Y: np.ndarray, s: np.ndarray, shrink: float = 1.0) -> float:
        """noise |shrink U|^2 / 2 + shrink U.Y."""
        U = shrink * U
        return float(s @ (self.noise * U * U / 2 + U * Y).sum(axis=1))


class Probit:
    """-log p(Y | F) = -sum_i s_i log Phi(t_i F_i), t = 2 Y - 1, Phi the normal distribution function; k = 1.

    What it calls P are the signed scores t F. With a latent z = F + normal noise of variance 1, of which only the sign
    is seen, E[z | Y] = F - residual: the complete data of Figueiredo (2003), whose curvature 1 bounds this one's.
    """

    noise = 1.0
    bound = 1.0

    def fit(self, F: np.ndarray, Y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Signed scores, -t phi(P) / Phi(P) and the negative log-likelihood."""
        P = np.where(Y > 0, F, -F)
        return P, np.where(Y > 0, -hazard(P), hazard(P)), -float(s @ log_ndtr(P).sum(axis=1))

    def curvature(self, P: np.ndarray, s: np.ndarray, left: int, right: int) -> np.ndarray:
        """s q (q + P), q = phi(P) / Phi(P); between 0 and s. Far below 0, where q + P loses all digits, 1 - 1 / P^2."""
        near, inverse = np.maximum(P[:, 0], FAR), 1.0 / np.minimum(P[:, 0], FAR)
        q, square = hazard(near), inverse * inverse
        return s * np.where(P[:, 0] > FAR, np.clip(q * (q + near), 0.0, 1.0), 1.0 - square + 6.0 * square * square)


def hazard(x: np.ndarray) -> np.ndarray:
    """phi(x) / Phi(x), without overflow or loss of digits at any x: sqrt(2 / pi) / erfcx(-x / sqrt 2)."""
    # Beyond 26 standard deviations erfcx overflows to infinity, and the ratio is 0 as it should be.
    return np.sqrt(2 / np.pi) / erfcx(-x / np.sqrt(2.0))
