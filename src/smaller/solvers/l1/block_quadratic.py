"""The minimum of a quadratic model with norms of groups of weights: the step of a proximal Newton method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ...priors.block_norms import residuals, root_of_secular, shrunk, soft
from ..smooth import solve_semidefinite

MOST_SWEEPS, SWEEPS_PER_SOLVE = 300, 3
SHRINKINGS = 30  # proximal gradient steps on a block with an L1 term, in a sweep
HALVINGS = 8


class BlockModel(NamedTuple):
    """g.d + d H d / 2 + sum a |w + d| + sum_g tau_g ||(w + d)_g||, weights in the units of the norms."""

    H: np.ndarray
    g: np.ndarray
    w: np.ndarray
    a: np.ndarray
    blocks: list[np.ndarray]  # places of the weights of each block; a weight alone is a block with tau 0
    tau: np.ndarray
    scale: np.ndarray  # of each block: what its KKT residual is measured against


def block_minimum(model: BlockModel, target: float) -> np.ndarray:
    """The w + d at which the model is least, to a KKT residual of ``target`` relative to the scale.

    Sweeps minimise over one block at a time, which finds the blocks of zeros; Newton's equations of all weights that
    are not 0, where the norms are smooth, come in between.
    """
    x, slope = model.w.copy(), model.g.copy()
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # eigenvalues and eigenvectors of the blocks that moved
    for sweep in range(1, MOST_SWEEPS + 1):
        for b, where in enumerate(model.blocks):
            V = model.H[np.ix_(where, where)] @ x[where] - slope[where]
            if not x[where].any() and np.linalg.norm(soft(V, model.a[where])) <= model.tau[b]:
                continue
            if b not in parts:
                parts[b] = eigh(model.H[np.ix_(where, where)])
            _put(model, x, slope, where, _least(model, b, V, x[where], *parts[b]))
        if _violation(model, x, slope) <= target:
            break
        if sweep % SWEEPS_PER_SOLVE == 0:
            _solve_on_support(model, x, slope)
    return x


def _put(model: BlockModel, x: np.ndarray, slope: np.ndarray, where: np.ndarray, new: np.ndarray) -> None:
    slope += model.H[:, where] @ (new - x[where])
    x[where] = new


def _violation(model: BlockModel, x: np.ndarray, slope: np.ndarray) -> float:
    worst = 0.0
    for b, where in enumerate(model.blocks):
        part = x[where][None], -slope[where][None], model.a[where][None], model.tau[b : b + 1]
        worst = max(worst, float(residuals(*part)[0]) / model.scale[b])
    return worst


def _least(model: BlockModel, b: int, V: np.ndarray, x: np.ndarray, q: np.ndarray, U: np.ndarray) -> np.ndarray:
    """The minimum over one block: exact without an L1 term, else some proximal gradient steps towards it."""
    where, tau, q = model.blocks[b], model.tau[b : b + 1], np.maximum(q, 0.0)
    a = model.a[where]
    if np.linalg.norm(soft(V, a)) <= tau[0]:
        return np.zeros(len(where))
    if not q[-1] > 0:
        return x
    if not a.any() and tau[0] > 0:
        z = U.T @ V
        r = root_of_secular(q[None], (z * z)[None], tau)[0]
        return U @ (z * r / (q * r + tau[0]))
    Q = model.H[np.ix_(where, where)]
    for _ in range(SHRINKINGS):
        new = shrunk((x - (Q @ x - V) / q[-1])[None], a / q[-1], tau / q[-1])[0]
        if np.abs(new - x).max() <= 1e-14 * np.abs(new).max():
            break
        x = new
    return x


def _solve_on_support(model: BlockModel, x: np.ndarray, slope: np.ndarray) -> None:
    """Newton's equations of the weights that are not 0; a step that does not lower the model is halved, then left."""
    support = np.flatnonzero(x)
    H, g = model.H[np.ix_(support, support)].copy(), slope[support] + model.a[support] * np.sign(x[support])
    for b, where in enumerate(model.blocks):
        length = np.linalg.norm(x[where])
        if model.tau[b] > 0 and length > 0:
            at = np.flatnonzero(np.isin(support, where))
            u = x[support[at]] / length
            H[np.ix_(at, at)] += model.tau[b] / length * (np.eye(len(at)) - np.outer(u, u))
            g[at] += model.tau[b] * u
    step, before = -solve_semidefinite(H, g), _penalty(model, x)
    for length in 0.5 ** np.arange(HALVINGS):
        new = x[support] + length * step
        new[(model.a[support] > 0) & (new * x[support] < 0)] = 0.0
        d = new - x[support]
        trial = x.copy()
        trial[support] = new
        change = d @ (slope[support] + model.H[np.ix_(support, support)] @ d / 2) + _penalty(model, trial) - before
        if change < 0:
            return _put(model, x, slope, support, new)


def _penalty(model: BlockModel, x: np.ndarray) -> float:
    norms = sum(tau * np.linalg.norm(x[where]) for where, tau in zip(model.blocks, model.tau, strict=True))
    return float(model.a @ np.abs(x) + norms)
