"""The probit likelihood: two classes with the normal distribution function of the score."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

FAR = -100.0  # signed score below which the asymptotic series is more accurate than the formula


class Probit:
    """-log p(Y | F) = -sum_i s_i log Phi(t_i F_i), t = 2 Y - 1, Phi the normal distribution function; k = 1.

    P holds the signed scores t F. With a latent z = F + normal noise of variance 1, of which only the sign is observed,
    E[z | Y] = F - residual. These are the complete data of Figueiredo (2003), whose curvature 1 bounds the loss's.
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
