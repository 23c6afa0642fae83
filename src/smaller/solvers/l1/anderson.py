"""Anderson extrapolation of a slowly converging sequence (Bertrand & Massias 2021), guarded by the objective."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, solve

from ...objective.posterior import Posterior

MEMORY = 6
ROUNDING = 1e-13  # relative differences of the objective below this are rounding


class Extrapolation:
    """Remembers the last iterates and, once there are enough, proposes their combination with the smallest residual."""

    def __init__(self, objective: Posterior):
        self.objective = objective
        self.iterates: list[tuple[np.ndarray, np.ndarray]] = []

    def improve(self, W: np.ndarray, F: np.ndarray, value: float) -> tuple[np.ndarray, np.ndarray, float]:
        """The iterate given, or the extrapolated one where the objective is lower there."""
        self.iterates.append((W.copy(), F.copy(order="F")))
        if len(self.iterates) < MEMORY:
            return W, F, value
        coefficients = self._coefficients()
        history, self.iterates = self.iterates[1:], []
        if coefficients is None:
            return W, F, value
        proposal = sum(c * w for c, (w, _) in zip(coefficients, history, strict=True))
        scores = np.asfortranarray(sum(c * f for c, (_, f) in zip(coefficients, history, strict=True)))
        proposed = self.objective.value(proposal, scores)
        return (proposal, scores, proposed) if proposed < value - ROUNDING * abs(value) else (W, F, value)

    def _coefficients(self) -> np.ndarray | None:
        """c, summing to 1, that minimise the norm of the combined differences."""
        D = np.stack([(b - a).ravel() for (a, _), (b, _) in zip(self.iterates, self.iterates[1:], strict=False)])
        K = D @ D.T
        trace = np.trace(K)
        if not trace > 0:
            return None
        try:
            c = solve(K + 1e-12 * trace * np.eye(len(K)), np.ones(len(K)), assume_a="pos")
        except LinAlgError:
            return None
        return c / c.sum()
