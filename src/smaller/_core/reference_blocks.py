"""The minimum of a quadratic model with norms of groups of weights, in NumPy: a twin of the compiled kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, lstsq

from .reference_norms import residuals, root_of_secular, shrunk, soft
from .reference_smoothing import smoothed

MOST_SWEEPS, SWEEPS_PER_SOLVE, SWEEPS_PER_SMOOTHING = 300, 3, 30
LEAST = 1e-4  # of the smoothing that a pass begins with, it ends with
SHRINKINGS = 30  # proximal gradient steps on a block with an L1 term, in a sweep
HALVINGS, DOUBLINGS = 40, 30


class _Model(NamedTuple):
    """slope.d + d H d / 2 + sum l1 |w + d| + sum_g tau_g ||(w + d)_g||, weights in the units of the norms."""

    H: np.ndarray
    w: np.ndarray
    l1: np.ndarray
    scale: np.ndarray
    blocks: list[np.ndarray]  # places of the weights of each block; a weight alone is a block with tau 0
    tau: np.ndarray


def block_quadratic(H, slope, w, l1, scale, d, start, member, tau, tolerance):
    """The d that minimises slope.d + d H d / 2 + sum l1 |w + d| + sum_g tau_g ||(w + d)_g||; how many sweeps.

    The weights of block g are ``member[start[g]:start[g + 1]]``. ``slope`` becomes the gradient of the smooth part at
    d; both are written in place. Sweeps minimise over one block at a time, which finds the blocks of zeros; Newton's
    equations of all weights that are not 0, where the norms are smooth, come in between; and where these are not enough
    steps with smoothed norms, which begin each time at a tenth of the smoothing. They end at a KKT residual of the
    tolerance times the `scale` of a block's first weight.
    """
    model = _Model(H, w, l1, scale, np.split(member, start[1:-1]), tau)
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # eigenvalues and eigenvectors of the blocks that moved
    for sweep in range(1, MOST_SWEEPS + 1):
        for b, where in enumerate(model.blocks):
            x, Q = w[where] + d[where], H[np.ix_(where, where)]
            V = Q @ x - slope[where]
            if not x.any() and np.linalg.norm(soft(V, l1[where])) <= tau[b]:
                continue
            if b not in parts:
                parts[b] = eigh(Q)
            _put(model, d, slope, where, _least(Q, V, x, l1[where], tau[b : b + 1], *parts[b]))
        if _violation(model, d, slope) <= tolerance:
            break
        if sweep % SWEEPS_PER_SMOOTHING == 0:
            most = 0.1 ** (sweep // SWEEPS_PER_SMOOTHING - 1)
            new = smoothed(H, slope, w + d, _terms(model), most, LEAST * most)
            _put(model, d, slope, np.arange(len(w)), new)
        if sweep % SWEEPS_PER_SOLVE == 0:
            _solve_on_support(model, d, slope)
    return sweep


def _terms(model: _Model) -> list[tuple[np.ndarray, float]]:
    """The blocks under a norm, and each weight that has an L1 term, alone."""
    blocks = [(where, tau) for where, tau in zip(model.blocks, model.tau.tolist(), strict=True) if tau > 0]
    return blocks + [(np.array([c]), float(model.l1[c])) for c in np.flatnonzero(model.l1 > 0)]


def _put(model: _Model, d: np.ndarray, slope: np.ndarray, where: np.ndarray, new: np.ndarray) -> None:
    """The weights of some places become `new`; what becomes 0 is exactly 0."""
    step = np.where(new == 0.0, -model.w[where], new - model.w[where]) - d[where]
    slope += model.H[:, where] @ step
    d[where] += step
    d[where[new == 0.0]] = -model.w[where[new == 0.0]]


def _violation(model: _Model, d: np.ndarray, slope: np.ndarray) -> float:
    worst, x = 0.0, model.w + d
    for b, where in enumerate(model.blocks):
        part = x[where][None], -slope[where][None], model.l1[where][None], model.tau[b : b + 1]
        worst = max(worst, float(residuals(*part)[0]) / model.scale[where[0]])
    return worst


def _least(Q, V, x, a, tau, q, U) -> np.ndarray:
    """The minimum over one block: exact without an L1 term, else some proximal gradient steps towards it."""
    q = np.maximum(q, 0.0)
    if np.linalg.norm(soft(V, a)) <= tau[0]:
        return np.zeros(len(V))
    if not q[-1] > 0:
        return x
    if not a.any() and tau[0] > 0:
        z = U.T @ V
        r = root_of_secular(q[None], (z * z)[None], tau)[0]
        return U @ (z * r / (q * r + tau[0]))
    for _ in range(SHRINKINGS):
        new = shrunk((x - (Q @ x - V) / q[-1])[None], a / q[-1], tau / q[-1])[0]
        if np.abs(new - x).max() <= 1e-14 * np.abs(new).max():
            break
        x = new
    return x


def _solve_on_support(model: _Model, d: np.ndarray, slope: np.ndarray) -> None:
    """Newton's equations of the weights that are not 0; a step that does not lower the model is halved, then left.

    A step that does is doubled while the model falls further: along near copies the model is flat.
    """
    x = model.w + d
    support = np.flatnonzero(x)
    H, g = model.H[np.ix_(support, support)].copy(), slope[support] + model.l1[support] * np.sign(x[support])
    for b, where in enumerate(model.blocks):
        length = np.linalg.norm(x[where])
        if model.tau[b] > 0 and length > 0:
            at = np.flatnonzero(np.isin(support, where))
            u = x[support[at]] / length
            H[np.ix_(at, at)] += model.tau[b] / length * (np.eye(len(at)) - np.outer(u, u))
            g[at] += model.tau[b] * u
    unit = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    step, before = -lstsq(H / np.outer(unit, unit), g / unit, cond=1e-13)[0] / unit, _penalty(model, x)

    def tried(length: float) -> tuple[float, np.ndarray]:
        new = x[support] + length * step
        new[(model.l1[support] > 0) & (new * x[support] < 0)] = 0.0
        move, trial = new - x[support], x.copy()
        trial[support] = new
        change = move @ (slope[support] + model.H[np.ix_(support, support)] @ move / 2)
        return float(change + _penalty(model, trial) - before), new

    gain, new = tried(1.0)
    if gain < 0:
        for further in map(tried, 2.0 ** np.arange(1, DOUBLINGS)):
            if not further[0] < gain:
                break
            gain, new = further
    else:
        shorter = (found for found in map(tried, 0.5 ** np.arange(1, HALVINGS)) if found[0] < 0)
        gain, new = next(shorter, (gain, new))
    if gain < 0:
        _put(model, d, slope, support, new)


def _penalty(model: _Model, x: np.ndarray) -> float:
    norms = sum(tau * np.linalg.norm(x[where]) for where, tau in zip(model.blocks, model.tau, strict=True))
    there = x != 0  # columns that are left out have an infinite l1
    return float(model.l1[there] @ np.abs(x[there]) + norms)
