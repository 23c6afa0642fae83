"""Laplace's approximation of the evidence of groups whose strength is integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import helmert
from scipy.special import gammaln

from ..likelihoods import Multinomial
from ..objective.posterior import Posterior
from .ridge_evidence import LOG_2PI, log_determinant


def group_evidence(objective: Posterior, W: np.ndarray, F: np.ndarray, lam: float | None = None) -> float:
    """log p(D) of SBMLR with groups and no L1 term: strength integrated out, weights by Laplace's method.

    Its negative is E_D + N log S - log Gamma(N) - sum log k_g + 1/2 log|A| - r/2 log 2 pi, over the groups that have
    weights, with S = sum c_g ||W_g||, N the sum of their dimensions d_g, and
    k_g = c_g^d_g Gamma(d_g / 2) / (2 pi^(d_g / 2) Gamma(d_g)), which makes the prior of a group a density. In a
    symmetric softmax the weights of a row live where they sum to 0: a row has one dimension less than classes. A, of
    rank r, is the Hessian of E_D there; where ``lam`` is given, that of all of M at this strength, to which the norms
    add lam c_g (I - u u^T) / ||W_g||, u = W_g / ||W_g||, and the strength -(lam^2 / N) times the square of their
    gradient.
    """
    blocks: Any = objective.blocks
    used = np.unique(blocks.labels[blocks.rows[W[blocks.rows].any(axis=1)]])
    within = np.flatnonzero(np.isin(blocks.labels, used))
    free = np.flatnonzero(objective.free.all(axis=1))
    rows = np.union1d(within, free)
    active = np.zeros(objective.shape, dtype=bool)
    active[rows] = True
    loss, A = objective.curvature_on(W, F, active)
    k, basis = objective.k, _basis(objective)
    unit = np.ones(objective.shape[0])
    unit[within] = blocks.unit[within]
    V = W[rows] * unit[rows, None]  # in the units of the norms
    A = A / np.outer(np.tile(unit[rows], k), np.tile(unit[rows], k))
    d = np.array([np.count_nonzero(blocks.labels == g) for g in used]) * basis.shape[0]
    c, N = blocks.tau[used] / objective.prior.l1, int(d.sum())
    members = [np.flatnonzero(np.append(blocks.labels, -1)[np.minimum(rows, len(blocks.labels))] == g) for g in used]
    lengths = np.array([np.linalg.norm(V[where]) for where in members])
    S = float(c @ lengths)
    value = loss
    if N:
        log_k = d * np.log(c) + gammaln(d / 2) - np.log(2) - d / 2 * np.log(np.pi) - gammaln(d)
        value += N * np.log(S) - gammaln(N) - float(log_k.sum())
    if lam is not None and N:
        A = A + _curvature_of_norms(V, members, c, lengths, N, lam)
    Z = np.kron(basis, np.eye(len(rows)))
    log_volume, rank = log_determinant(Z @ A @ Z.T, [])
    return -float(value + (log_volume - rank * LOG_2PI) / 2)


def _basis(objective: Posterior) -> np.ndarray:
    """Orthonormal rows that span the directions of a row of W that change the likelihood."""
    symmetric = isinstance(objective.likelihood, Multinomial) and not objective.likelihood.reference
    return helmert(objective.k) if symmetric else np.eye(objective.k)


def _curvature_of_norms(
    V: np.ndarray, members: list[np.ndarray], c: np.ndarray, lengths: np.ndarray, N: int, lam: float
) -> np.ndarray:
    """Second derivatives of N log S in the weights V, class by class, at fixed N."""
    r, k = V.shape
    H, g = np.zeros((r * k, r * k)), np.zeros(r * k)
    for where, factor, length in zip(members, c, lengths, strict=True):
        every = (where[None, :] + r * np.arange(k)[:, None]).ravel()
        u = V[where].T.ravel() / length
        H[np.ix_(every, every)] += lam * factor / length * (np.eye(len(u)) - np.outer(u, u))
        g[every] = factor * u
    return H - lam**2 / N * np.outer(g, g)
