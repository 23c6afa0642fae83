"""The twin of the compiled sequential algorithm of Tipping & Faul (2003), which takes the same steps.

The compiled kernel updates the posterior from step to step; this module computes it afresh after each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NOISE_OFTEN, NOISE_EVERY = 10, 5  # the noise is learned after each of the first 10 steps, then after every fifth
NOISE_SETTLED = 1e-3  # change of the log noise, in units of tol, at which learning ends
DEPENDENT = 1e-12  # a smaller part of a column outside the span of the model is rounding


class GaussianData(NamedTuple):
    """Products C (w, k) of the columns with the targets, number of samples and sum of squares of the targets.

    The noise is learned, but stays above `floor`; with `floor` 0 the noise stays as it is.
    """

    C: Any
    total: float
    yy: float
    floor: float


class SearchRule(NamedTuple):
    """A step must gain `tol` nats; of columns whose cosine reaches `aligned` at most one is in the model."""

    tol: float
    aligned: float
    max_steps: int


class WeightPosterior(NamedTuple):
    """Covariance and mean of the weights in the model, and sparsity S and quality Q of all columns (eqs. 22-24)."""

    Sigma: np.ndarray
    mu: np.ndarray
    S: np.ndarray
    Q: np.ndarray


@np.errstate(all="ignore")  # as compiled arithmetic is
def sequential(X, data, alpha, noise, rule):
    """Add, delete or re-estimate the column of X (n, w) that raises the log evidence most, until no step gains `tol`.

    Deletions come first. alpha (w,), infinite where a column is out, is written to. Returns the number of steps and the
    noise.
    """
    return take_steps(X, data, alpha, noise, rule, rule.aligned)


def take_steps(X, data, alpha, noise, rule, alike, once=False):
    """Steps as in :func:`sequential`, but no column is added whose cosine with one of the model reaches `alike`.

    With `once`, the steps end when a column enters or leaves.
    """
    G = X.T @ X
    active = _remove_aligned(G, alpha, rule.aligned)
    steps = 0
    at = posterior(G, data.C, alpha, active, noise)
    while at and steps < rule.max_steps:
        j, gain, best = _best_step(G, alpha, active, at, noise, alike)
        quiet = not gain >= rule.tol
        if not quiet:
            changed = np.isinf(alpha[j]) or np.isinf(best)
            alpha[j] = best
            if once and changed:
                return steps + 1, float(noise)
            active = np.flatnonzero(np.isfinite(alpha))
            steps += 1
            at = posterior(G, data.C, alpha, active, noise)
            if steps > NOISE_OFTEN and steps % NOISE_EVERY:
                continue
        before = noise
        if data.floor > 0 and at:
            noise = _noise_by_em(G, data, alpha, active, at, noise)
            at = posterior(G, data.C, alpha, active, noise)
        if quiet and abs(np.log(noise / before)) < NOISE_SETTLED * rule.tol:
            break
        steps += quiet
    return steps, float(noise)


def _remove_aligned(G, alpha, aligned):
    """The columns of the model; of several whose cosines reach `aligned` all but the first are taken out."""
    unit = np.sqrt(np.diag(G))
    active: list[int] = []
    for j in np.flatnonzero(np.isfinite(alpha)):
        if (G[j, active] ** 2 >= (aligned * unit[j] * unit[active]) ** 2).any():
            alpha[j] = np.inf
        else:
            active.append(int(j))
    return np.array(active, dtype=int)


def posterior(G, C, alpha, active, noise):
    """The posterior of a model; None where its precision matrix is not positive definite for rounding."""
    H = G[np.ix_(active, active)] / noise
    H.flat[:: len(active) + 1] += alpha[active]
    try:
        T = np.linalg.inv(np.linalg.cholesky(H))
    except np.linalg.LinAlgError:
        return None
    Sigma = T.T @ T
    mu = Sigma @ C[active] / noise
    S = np.diag(G) / noise - ((T @ G[active] / noise) ** 2).sum(axis=0)
    return WeightPosterior(Sigma, mu, S, (C - G[:, active] @ mu) / noise)


def _best_step(G, alpha, active, at, noise, alike):
    """Column, gain and new precision of the best step (eqs. 18-21); the gain is -inf where there is no step."""
    if not len(alpha):
        return 0, -np.inf, np.inf
    k, variance = at.Q.shape[1], np.diag(at.Sigma)
    s, q2 = at.S.copy(), (at.Q**2).sum(axis=1)
    s[active] = (1 - alpha[active] * variance) / variance
    q2[active] = ((at.mu / variance[:, None]) ** 2).sum(axis=1)
    theta = q2 / k - s
    unit = np.sqrt(np.diag(G))
    dependent = s * noise <= DEPENDENT * np.diag(G)
    near = (G[:, active] ** 2 >= (alike * np.outer(unit, unit[active])) ** 2).any(axis=1)
    near[active] = False
    new = np.where(theta > 0, s * s / theta, np.inf)
    gain = _contribution(new, s, q2, k) - _contribution(alpha, s, q2, k)
    gain[near | (np.isinf(alpha) & ((theta <= 0) | dependent))] = -np.inf
    leaving = np.isfinite(alpha) & (theta <= 0)
    j = int(np.argmax(np.where(leaving, gain, -np.inf) if leaving.any() else gain))
    return j, gain[j], new[j]


def _contribution(alpha, s, q2, k):
    """The part of the log evidence that a column contributes at precision alpha (eq. 18)."""
    return 0.5 * (q2 / (alpha + s) - k * np.log1p(s / alpha))


def _noise_by_em(G, data, alpha, active, at, noise):
    """(|y - Phi mu|^2 + noise k sum_j (1 - alpha_j Sigma_jj)) / (k total): EM, so that the evidence does not fall."""
    k = data.C.shape[1]
    determined = (1 - alpha[active] * np.diag(at.Sigma)).sum()
    misfit = data.yy + float((at.mu * (G[np.ix_(active, active)] @ at.mu - 2 * data.C[active])).sum())
    return max(data.floor, (max(misfit, 0.0) + noise * k * determined) / (k * data.total))
