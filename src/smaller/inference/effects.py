"""A sum of single effects on numbers, or on two classes under a bound: coordinate ascent of the evidence bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .single_effect import FeatureEvidence, best_variance, effect_of
from .standard_columns import StandardColumns

LEAST_NOISE = 1e-10  # relative to the variance of the target
HELD = 1e-12  # inclusion weights below this do not enter the sums over features


@dataclass
class Effects:
    """The approximate posterior of L effects on standardised columns, k coordinates each."""

    inclusion: np.ndarray  # (L, d)
    mean: np.ndarray  # (L, d, k), given that the feature is the one
    variance: np.ndarray  # (L, d, k)
    prior_variance: np.ndarray  # (L,), 0 of effects that are not used
    fits: np.ndarray  # (L, n, k), expected scores
    divergence: np.ndarray  # (L,), Kullback-Leibler from prior to posterior
    intercept: np.ndarray  # (k,)
    noise: float = 1.0
    bounds: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False

    @classmethod
    def empty(cls, L: int, Z: StandardColumns, k: int, prior: np.ndarray, variance: float) -> Effects:
        """No effect yet."""
        shape = (L, Z.d, k)
        start = np.tile(prior, (L, 1)), np.zeros(shape), np.zeros(shape), np.full(L, variance)
        return cls(*start, np.zeros((L, Z.n, k)), np.zeros(L), np.zeros(k))

    def begin_at(self, Z: StandardColumns, weights: np.ndarray) -> Effects:
        """Start from a sparse model: an effect on each of the features with the largest weights (d,)."""
        order = np.argsort(-np.abs(weights), kind="stable")[: len(self.fits)]
        for effect, j in enumerate(order[weights[order] != 0]):
            self.inclusion[effect] = np.arange(Z.d) == j
            self.mean[effect, j] = weights[j]
            self.fits[effect] = weights[j] * Z.take(np.array([j]))
        return self

    @property
    def used(self) -> np.ndarray:
        """Positions of the effects with a positive prior variance."""
        return np.flatnonzero(self.prior_variance > 0)

    def expected(self) -> np.ndarray:
        """Expected weights, (d, k)."""
        return np.einsum("ld,ldk->dk", self.inclusion[self.used], self.mean[self.used])

    def second_moments(self) -> np.ndarray:
        """sum_l E b_lj^2 of one-dimensional effects, (d,)."""
        moments = (self.mean**2 + self.variance)[self.used, :, 0]
        return np.einsum("ld,ld->d", self.inclusion[self.used], moments)

    def inclusion_probabilities(self) -> np.ndarray:
        """Probability that at least one effect is on the feature, (d,)."""
        return 1.0 - np.prod(1.0 - self.inclusion[self.used], axis=0)

    def emptied(self, prior: np.ndarray, bound) -> Effects:
        """All effects switched off: there is no feature to choose from."""
        for effect in range(len(self.fits)):
            self.drop(effect, prior)
        self.bounds.append(bound(self))
        self.n_iter, self.converged = 1, True
        return self

    def drop(self, effect: int, prior: np.ndarray) -> None:
        """Switch an effect off: its posterior is its prior, a point at 0."""
        self.inclusion[effect], self.prior_variance[effect], self.divergence[effect] = prior, 0.0, 0.0
        self.mean[effect], self.variance[effect], self.fits[effect] = 0.0, 0.0, 0.0


class GaussianTarget:
    """y = f + noise: residual weights 1 / noise, one for all rows."""

    def __init__(self, Z: StandardColumns, y: np.ndarray, noise: float | None):
        self.Z, self.learns = Z, noise is None
        self.mean = float(Z.weight @ y) / Z.total
        self.y = y - self.mean
        self.variance = float(Z.weight @ self.y**2) / Z.total
        self.noise = max(self.variance, LEAST_NOISE) if noise is None else noise
        self.omega = Z.weight / self.noise
        self.info = np.where(Z.varies, Z.total / self.noise, 0.0)

    def residual(self, rest: np.ndarray) -> np.ndarray:
        """The weighted residual that a further effect would have to explain."""
        return self.omega * (self.y - rest)

    def update(self, effects: Effects) -> float:
        """The bound on the log evidence at the present noise; the noise is then updated."""
        s, f = self.Z.weight, effects.fits[:, :, 0].sum(axis=0)
        # sum_i s_i Z_ij^2 = sum s for every column that varies.
        extra = self.Z.total * effects.second_moments().sum() - float((effects.fits[:, :, 0] ** 2 @ s).sum())
        squares = float(s @ (self.y - f) ** 2) + max(extra, 0.0)
        bound = -0.5 * self.Z.total * np.log(2 * np.pi * self.noise) - squares / (2 * self.noise)
        bound -= float(effects.divergence.sum())
        if self.learns:
            self.noise = max(squares / self.Z.total, LEAST_NOISE)
            self.omega = self.Z.weight / self.noise
            self.info = np.where(self.Z.varies, self.Z.total / self.noise, 0.0)
        effects.noise, effects.intercept = self.noise, np.array([self.mean])
        return bound


class BoundedTarget:
    """Two classes under the bound of Jaakkola and Jordan, which is that of Polya-Gamma variables."""

    def __init__(self, Z: StandardColumns, y: np.ndarray):
        self.Z, self.kappa = Z, Z.weight * (y - 0.5)
        self.variance = 1.0
        rate = float(Z.weight @ y) / Z.total
        self.b = float(np.log(rate / (1 - rate)))
        self._weigh(np.full(Z.n, abs(self.b)))

    def _weigh(self, xi: np.ndarray) -> None:
        xi = np.maximum(xi, 1e-6)
        self.omega = self.Z.weight * np.tanh(xi / 2) / (2 * xi)
        self.info = self.Z.squares(self.omega[:, None])[:, 0]

    def residual(self, rest: np.ndarray) -> np.ndarray:
        """The weighted residual that a further effect would have to explain."""
        return self.kappa - self.omega * (self.b + rest)

    def update(self, effects: Effects) -> float:
        """The bound on the log evidence; intercept and variational parameters are updated first."""
        fits = effects.fits[:, :, 0]
        f = fits.sum(axis=0)
        self.b = float(self.kappa.sum() - self.omega @ f) / float(self.omega.sum())
        f = self.b + f
        second = effects.second_moments()
        held = np.flatnonzero(second > HELD * max(second.max(initial=0.0), 1e-300))
        xi = np.sqrt(np.maximum(f**2 - (fits**2).sum(axis=0) + self.Z.row_squares(held, second[held]), 0.0))
        self._weigh(xi)
        effects.intercept = np.array([self.b])
        loss = self.Z.weight @ np.logaddexp(xi / 2, -xi / 2)
        return float(self.kappa @ f - loss - effects.divergence.sum())


def ascend(target: Any, effects: Effects, prior: np.ndarray, learn: bool, tol: float, max_iter: int) -> Effects:
    """Iterative Bayesian stepwise selection: one effect after the other, until the bound rises by less than tol."""
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    bounds = effects.bounds
    if not prior.any():
        return effects.emptied(prior, target.update)
    while effects.n_iter < max_iter:
        empty_seen = False
        for effect in range(len(effects.fits)):
            if learn and empty_seen and not effects.fits[effect].any():  # the same residual: the same answer
                effects.drop(effect, prior)
            else:
                empty_seen = _improve(target, effects, effect, (prior, log_prior), learn)
        bounds.append(target.update(effects))
        effects.n_iter += 1
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tol:
            effects.converged = True
            break
    return effects


def _improve(target, effects: Effects, effect: int, priors, learn: bool) -> bool:
    """Update one effect given the others; whether it is switched off."""
    prior, log_prior = priors
    rest = effects.fits[:, :, 0].sum(axis=0) - effects.fits[effect, :, 0]
    slope = target.Z.pull(target.residual(rest)[:, None])
    evidence = FeatureEvidence(slope, target.info[:, None])
    if learn:
        now = effects.prior_variance[effect]
        effects.prior_variance[effect] = best_variance(evidence, log_prior, now, effects.n_iter == 0 or now == 0)
    if effects.prior_variance[effect] == 0:
        effects.drop(effect, prior)
        return True
    found = effect_of(evidence, effects.prior_variance[effect], log_prior)
    effects.inclusion[effect], effects.mean[effect], effects.variance[effect] = found[:3]
    moments = found.mean * slope - 0.5 * (found.mean**2 + found.variance) * evidence.info
    effects.divergence[effect] = float(found.inclusion @ moments[:, 0]) - found.log_factor
    effects.fits[effect] = target.Z.scores(found.inclusion[:, None] * found.mean)
    return False
