"""The minimum of a quadratic model with an L1 term: the step of a proximal Newton method."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..smooth import solve_semidefinite


def quadratic_minimum(
    H: np.ndarray, g: np.ndarray, w: np.ndarray, l1: np.ndarray, scale: np.ndarray, target: float
) -> np.ndarray:
    """The w + d that minimises g.d + d H d / 2 + sum l1 |w + d|, to a KKT residual of `target` relative to `scale`."""
    if not l1.any():
        return w - solve_semidefinite(H, g)
    slope, d = g.copy(), np.zeros(len(w))
    _core.quadratic(np.ascontiguousarray(H), slope, w.copy(), l1, scale, d, float(target))
    return w + d
