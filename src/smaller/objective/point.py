"""The objective at one set of weights: value, gradient and certificate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Point(NamedTuple):
    """The objective at one W: scores, means, gradient of its smooth part, value and certificate."""

    W: np.ndarray
    F: np.ndarray
    P: np.ndarray
    G: np.ndarray
    residuals: np.ndarray  # of the KKT conditions, relative to their scale, (m, k)
    value: float
    gap: float  # relative duality gap; inf where the free columns are not fitted exactly
    fresh: bool = False  # whether the scores were computed from W itself, not added up step by step
    active: np.ndarray | None = None  # the weights whose Hessian came along, for rows that lie elsewhere

    @property
    def violation(self) -> float:
        """The largest KKT residual."""
        return float(self.residuals.max(initial=0.0))


class Fit(NamedTuple):
    """The likelihood at some scores, which no prior changes."""

    F: np.ndarray
    P: np.ndarray
    U: np.ndarray  # gradient of a row's loss in its scores
    G: np.ndarray  # gradient of the loss in the weights
    loss: float


class Verdict(NamedTuple):
    """The parts of a certificate that depend on weights and the gradient of the loss in them."""

    residuals: np.ndarray  # of the KKT conditions, relative to their scale, (m, k)
    penalty: float
    shrinkages: tuple[float, ...]  # by which the gradient becomes feasible: everywhere, and where there is no ridge
