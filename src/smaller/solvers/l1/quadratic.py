"""The minimum of a quadratic model with an L1 term and norms of groups: the step of a proximal Newton method."""

from __future__ import annotations

import numpy as np

from ... import _core
from ...priors import RowGroups
from ..smooth import solve_semidefinite

LEAST_BLOCK = 1e-12  # relative to the largest diagonal entry, added to the Hessian of weights under norms


def quadratic_minimum(
    H: np.ndarray,
    g: np.ndarray,
    w: np.ndarray,
    l1: np.ndarray,
    scale: np.ndarray,
    target: float,
    groups: RowGroups | None = None,
) -> np.ndarray:
    """The w + d that minimises g.d + d H d / 2 + sum l1 |w + d|, to a KKT residual of `target` relative to `scale`.

    With `groups`, whose rows are these weights, their norms are added.
    """
    if groups is not None and len(groups.rows):
        return _block_minimum(H, g, w, l1, scale, target, groups)
    if not l1.any():
        return w - solve_semidefinite(H, g)
    slope, d = g.copy(), np.zeros(len(w))
    _core.quadratic(np.ascontiguousarray(H), slope, w.copy(), l1, scale, d, float(target))
    return w + d


def _block_minimum(H, g, w, l1, scale, target, groups: RowGroups) -> np.ndarray:
    """The minimum with norms, found in the units of the norms; a weight in no group is a block without a norm."""
    unit, alone = np.where(groups.labels >= 0, groups.unit, 1.0), np.flatnonzero(groups.labels < 0)
    start = np.append(groups.starts, groups.starts[-1] + 1 + np.arange(len(alone)))
    member, tau = np.append(groups.order, alone), np.append(groups.tau, np.zeros(len(alone)))
    H = np.ascontiguousarray(H / np.outer(unit, unit))
    H.flat[:: len(H) + 1] += LEAST_BLOCK * np.abs(np.diag(H)).max()
    slope, d = g / unit, np.zeros(len(w))
    _core.block_quadratic(
        H,
        slope,
        w * unit,
        l1 / unit,
        scale.copy(),
        d,
        start.astype(np.int64),
        member.astype(np.int64),
        tau,
        float(target),
    )
    moved = w * unit + d
    return np.where(moved == 0.0, 0.0, moved / unit)
