"""Effects on classes: every feature alone by Newton's method, with Laplace's approximation of its Bayes factor.

Generalised iterative Bayesian stepwise selection: the other effects are an offset of the scores. There is no bound on
the evidence, so that the inclusion weights themselves decide when to stop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.special import logsumexp, softmax

from .effects import Effects
from .single_effect import FeatureEvidence, best_variance, effect_of
from .standard_columns import StandardColumns

BLOCK = 2**20  # numbers in an array of samples x classes x features
NEWTON_STEPS, SETTLED = 50, 1e-6  # at most; and the expected gain, in nats, below which no step is needed
# Brought to their modes are features whose quadratic log factor is near the best, and is strong or one of the largest.
HOPELESS, WEAK, AT_MODES = 20.0, 3.0, 1000
DOUBTED = 0.75  # of the best log factor: so far off may the quadratic factors of strong features be
LOOKS, NEAR = 5, 0.1  # a new effect is looked at again while the logarithm of its variance changes by more than NEAR
SAME = 1e-4  # change of the logarithm of a variance that moves no mode
FLAT = 1e-8  # precision of the intercepts: without it there is no mode where every sample is certain of its class
LONGEST = 2.0  # step of a weight, in nats for each standard deviation
FARTHEST_START = 10.0  # largest weight that Newton's method starts from
LOSS = 1e-12  # of a value: what rounding may take from a step that does not lower it


class Fits(NamedTuple):
    """Every feature alone: weights (d, k), log Bayes factors (d,), and information about the weights (d, k, k)."""

    weight: np.ndarray
    log_factor: np.ndarray
    info: np.ndarray

    def evidence(self, variance: float) -> tuple[FeatureEvidence, np.ndarray]:
        """The Gaussian summary about the modes, and the directions (d, k, k) in which its information is diagonal."""
        info, directions = np.linalg.eigh(self.info)
        info = np.maximum(info, 0.0)
        modes = np.einsum("jkr,jk->jr", directions, self.weight)
        slope = (info + 1 / variance) * modes
        bare = FeatureEvidence(slope, info)
        return FeatureEvidence(slope, info, self.log_factor - bare.log_factors(variance)), directions


def contrasts(m: int) -> np.ndarray:
    """C (m, m - 1) with columns that sum to 0: the log odds of two classes, else orthonormal."""
    return np.array([[-0.5], [0.5]]) if m == 2 else helmert(m).T


class ClassTarget:
    """Labels of m classes, with scores F = offset + (a + z b) C^T of each feature z alone."""

    def __init__(self, Z: StandardColumns, codes: np.ndarray, m: int):
        self.Z, self.C = Z, contrasts(m)
        self.codes, self.k = codes, m - 1
        self.Y = np.eye(m)[codes]
        self.variance = 1.0

    def null(self, offset: np.ndarray) -> tuple[np.ndarray, float]:
        """Intercepts (k,) at an offset (n, k) without any feature, and log-likelihood less half of log|H|."""
        a, s = np.zeros(self.k), self.Z.weight
        for _ in range(NEWTON_STEPS):
            P = softmax((offset + a) @ self.C.T, axis=1)
            gradient = s @ (self.Y - P) @ self.C - FLAT * a
            H = self.C.T @ (np.diag(s @ P) - (P * s[:, None]).T @ P) @ self.C + FLAT * np.eye(self.k)
            step = np.linalg.solve(H, gradient)
            a = a + step * min(1.0, LONGEST / max(np.abs(step).max(), 1e-300))
            if gradient @ step < 1e-3 * SETTLED:
                break
        F = (offset + a) @ self.C.T
        value = float(s @ ((self.Y * F).sum(axis=1) - logsumexp(F, axis=1)))
        return a, value - 0.5 * FLAT * float(a @ a) - 0.5 * float(np.linalg.slogdet(H)[1])

    def alone(self, offset: np.ndarray, variance: float) -> Fits:
        """Every feature alone under b ~ N(0, variance I), intercepts of variance 1e8: the promising at their modes."""
        a0, null = self.null(offset)
        a, b, factor, info = self._quadratic(offset, a0, variance)
        rank = np.argsort(np.argsort(-factor, kind="stable"))
        doubted = self.Z.varies & ((rank < AT_MODES) | (factor > WEAK))
        chosen = doubted & (factor > factor.max() - max(HOPELESS, DOUBTED * factor.max()))
        while chosen.any():  # until no quadratic factor comes near the best of those at their modes
            self._bring_to_modes(np.flatnonzero(chosen), offset, variance, (a, b, factor, info), null)
            doubted, best = doubted & ~chosen, factor[chosen].max()
            chosen = doubted & (factor > best - HOPELESS)
        return Fits(b, factor, info)

    def _bring_to_modes(self, columns: np.ndarray, offset: np.ndarray, variance: float, fits, null: float) -> None:
        """Intercepts, weights, log factors and information of some features, in place."""
        a, b, factor, info = fits
        step = max(1, BLOCK // (self.Z.n * (self.k + 1)))
        for part in (columns[i : i + step] for i in range(0, len(columns), step)):
            a[part], b[part], factor[part], info[part] = self._newton(part, offset, variance, a[part], b[part])
            factor[part] -= null

    def _quadratic(self, offset: np.ndarray, a0: np.ndarray, variance: float):
        """Modes, log factors and information of all features in the quadratic approximation about b = 0."""
        Z, C, k = self.Z, self.C, self.k
        P, s = softmax((offset + a0) @ C.T, axis=1), Z.weight[:, None]
        omega = C.T @ (P[:, :, None] * np.eye(k + 1) - P[:, :, None] * P[:, None, :]) @ C * s[:, :, None]
        slope = Z.pull(s * (self.Y - P) @ C)
        flat = omega.reshape(Z.n, k * k)
        mixed, square = Z.pull(flat).reshape(-1, k, k), Z.squares(flat).reshape(-1, k, k)
        along = np.linalg.solve(omega.sum(axis=0) + FLAT * np.eye(k), mixed)  # (d, k, k): how the intercepts follow b
        info = square - mixed.swapaxes(1, 2) @ along
        H = info + np.eye(k) / variance
        b = np.linalg.solve(H, slope[..., None])[..., 0]
        factor = 0.5 * ((slope * b).sum(axis=1) - np.linalg.slogdet(H)[1] - k * np.log(variance))
        return a0 - (along @ b[..., None])[..., 0], b, factor, info

    def _newton(self, columns: np.ndarray, offset: np.ndarray, variance: float, a: np.ndarray, b: np.ndarray):
        """Modes of some features, their Laplace factors before the null's is subtracted, and their information."""
        z, k = np.ascontiguousarray(self.Z.take(columns).T), self.k
        x, step = np.concatenate([a, np.clip(b, -FARTHEST_START, FARTHEST_START)], axis=1), np.zeros((len(b), 2 * k))
        reached, left = np.full(len(b), -np.inf), np.arange(len(b))
        factor, info = np.empty(len(b)), np.empty((len(b), k, k))
        for _ in range(NEWTON_STEPS):
            trial = x[left] + step[left]
            value, gradient, H = self._derivatives(z[left], offset, variance, trial[:, :k], trial[:, k:])
            better = value >= reached[left] - LOSS * np.abs(value)
            step[left[~better]] *= 0.5
            gradient, H, at = gradient[better], H[better], left[better]
            x[at], reached[at] = trial[better], value[better]
            ahead = np.linalg.solve(H, gradient[..., None])[..., 0]
            schur = H[:, k:, k:] - H[:, k:, :k] @ np.linalg.solve(H[:, :k, :k], H[:, :k, k:])
            factor[at] = reached[at] - 0.5 * (np.linalg.slogdet(H)[1] + k * np.log(variance))
            info[at] = schur - np.eye(k) / variance
            done = (gradient * ahead).sum(axis=1) <= SETTLED
            x[at[done]] += ahead[done]
            step[at] = ahead * np.minimum(1.0, LONGEST / np.maximum(np.abs(ahead).max(axis=1), 1e-300))[:, None]
            left = np.setdiff1d(left, at[done], assume_unique=True)
            if not len(left):
                break
        return x[:, :k], x[:, k:], factor, info

    def _derivatives(self, z: np.ndarray, offset: np.ndarray, variance: float, a: np.ndarray, b: np.ndarray):
        """Log posterior of (a, b) of each feature (r,), its gradient (r, 2k), and minus its Hessian (r, 2k, 2k).

        Arrays of samples have the classes first, (m, r, n), over which sums are fast.
        """
        s, C = self.Z.weight, self.C
        F = (C @ b.T)[:, :, None] * z
        F += (C @ offset.T)[:, None, :] + (C @ a.T)[:, :, None]
        F -= F.max(axis=0)
        P = np.exp(F)
        total = P.sum(axis=0)
        P /= total
        own = F[self.codes, :, np.arange(len(s))].T  # scores of each sample's own class
        value = (own - np.log(total)) @ s - (b**2).sum(axis=1) / (2 * variance) - 0.5 * FLAT * (a**2).sum(axis=1)
        R = (self.Y.T[:, None, :] - P) * s
        along = np.einsum("cri,ri->rc", R, z) @ C - b / variance
        gradient = np.concatenate([R.sum(axis=2).T @ C - FLAT * a, along], axis=1)
        return value, gradient, self._hessian(P, z, variance)

    def _hessian(self, P: np.ndarray, z: np.ndarray, variance: float) -> np.ndarray:
        """Minus the Hessian: sums of s z^t (diag P - P P^T), t = 0, 1, 2, in the contrasts."""
        s, C, k, m = self.Z.weight, self.C, self.k, len(P)
        along = s * z
        sums = np.zeros((3, len(z), m, m))
        for c in range(m):
            for other in range(c):
                product = P[c] * P[other]
                sums[0, :, c, other] = product @ s
                sums[1, :, c, other] = np.einsum("ri,ri->r", product, along)
                product *= z
                sums[2, :, c, other] = np.einsum("ri,ri->r", product, along)
        sums += sums.swapaxes(2, 3)
        curvature = C.T @ (sums.sum(axis=3)[..., None] * np.eye(m) - sums) @ C  # each row of diag P - P P^T sums to 0
        H = np.empty((len(z), 2 * k, 2 * k))
        H[:, :k, :k], H[:, :k, k:], H[:, k:, :k] = curvature[0] + FLAT * np.eye(k), curvature[1], curvature[1]
        H[:, k:, k:] = curvature[2] + np.eye(k) / variance
        return H


def settle_effects(
    target: ClassTarget, effects: Effects, prior: np.ndarray, learn: bool, tol: float, max_iter: int
) -> Effects:
    """Update one effect after the other until no inclusion weight changes by tol."""
    L = len(effects.fits)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    while prior.any() and effects.n_iter < max_iter:
        before, empty_seen = effects.inclusion.copy(), False
        for effect in range(L):
            unused = learn and (effects.n_iter == 0 or effects.prior_variance[effect] == 0)
            if unused and empty_seen:  # the same offset as before: the same answer
                effects.drop(effect, prior)
            else:
                empty_seen = _update(target, effects, effect, (prior, log_prior), learn)
        effects.n_iter += 1
        if np.abs(effects.inclusion - before).max() < tol:
            effects.converged = True
            break
    if not prior.any():
        effects.emptied(prior, lambda _: 0.0).bounds.clear()
    effects.intercept = target.null(effects.fits.sum(axis=0))[0]
    return effects


def _update(target: ClassTarget, effects: Effects, effect: int, priors, learn: bool) -> bool:
    """One effect given the others; whether it is switched off."""
    prior, log_prior = priors
    offset = effects.fits.sum(axis=0) - effects.fits[effect]
    fresh = effects.n_iter == 0 or effects.prior_variance[effect] == 0
    variance = effects.prior_variance[effect] or target.variance
    for _ in range(LOOKS if learn and fresh else 1):
        evidence, directions = target.alone(offset, variance).evidence(variance)
        last = variance
        if learn:
            variance = best_variance(evidence, log_prior, variance, fresh)
        if variance == 0 or abs(np.log(variance / last)) < NEAR:
            break
    if variance == 0:
        effects.drop(effect, prior)
        return True
    if abs(np.log(variance / last)) > SAME:  # the modes belong to the variance before
        evidence, directions = target.alone(offset, variance).evidence(variance)
    found = effect_of(evidence, variance, log_prior)
    effects.inclusion[effect], effects.prior_variance[effect] = found.inclusion, variance
    effects.mean[effect] = np.einsum("jkr,jr->jk", directions, found.mean)
    effects.variance[effect] = np.einsum("jkr,jr->jk", directions**2, found.variance)
    effects.fits[effect] = target.Z.scores(found.inclusion[:, None] * effects.mean[effect])
    return False
