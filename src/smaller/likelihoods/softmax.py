"""The multinomial likelihood: class labels with the softmax of the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..design import namespace


class Multinomial:
    """-log p(Y | F) = sum_i s_i [ log sum_c exp F_ic - sum_c Y_ic F_ic ]        Krishnapuram et al. 2005, eq. (2).

    With ``reference`` one further class has score 0 and no column; two classes are one column.
    """

    noise = 1.0
    xp: Any = np  # the namespace of scores, targets and weights

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
        return s[:, None] * P * (E - self.xp.sum(P * E, axis=1, keepdims=True))

    def conjugate(self, U: np.ndarray, Y: np.ndarray, s: np.ndarray, shrink: float = 1.0) -> float:
        """Negative entropy of Q = Y + shrink U, which must lie in the simplex."""
        return _core.negentropy(U, Y, s, shrink, self.family)


def one_hot(codes: np.ndarray, m: int, k: int) -> np.ndarray:
    """Class indicators, (n, k): of all m classes, of all but the last, or of the second of two."""
    labelled = np.arange(k) if m > 2 else np.array([1])
    if not isinstance(codes, np.ndarray):  # on a device
        return codes[:, None] == namespace(codes).asarray(labelled, dtype=codes.dtype, device=codes.device)[None, :]
    return np.asfortranarray(codes[:, None] == labelled, dtype=np.float64)
