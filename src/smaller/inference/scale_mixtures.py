"""Priors as scale mixtures of normals, for Gibbs sampling: the precisions of the weights given the weights.

Weights w (d, k) are those of standardised columns, divided by the standard deviation of the noise in regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

LEAST, MOST = 1e-12, 1e18  # precisions
FREE = 1e-4  # precision of a weight without a penalty: a standard deviation of 100 for each deviation of its column


def inverse_gaussian(rng: np.random.Generator, mean: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Inverse Gaussian variables, stable for means far above the shape, where NumPy's `wald` returns zeros."""
    y = rng.standard_normal(mean.shape) ** 2
    r = shape / mean
    small = 2 * shape / (2 * r + y + np.sqrt(y * (y + 4 * r)))
    return np.where(rng.random(mean.shape) * (1 + small / mean) <= 1, small, mean * (mean / small))


class LaplaceScales:
    """Rates lam u_jl, and a ridge l2_jl beside them; lam is learned where it has a Gamma(a, b) prior."""

    moves = True  # the prior without its scales is known, so that weights may be scaled and shifted

    def __init__(self, lam: float, unit: np.ndarray, ridge: np.ndarray, learned: tuple[float, float] | None):
        self.lam, self.unit, self.ridge, self.learned = lam, unit, ridge, learned
        self.free = (unit == 0) & (ridge == 0)
        self.count = int((unit > 0).sum())
        self.normal = ridge + FREE * self.free  # precisions of the normal part of the prior
        self.bare = not self.normal.any()

    def update(self, rng: np.random.Generator, w: np.ndarray, noise: float = 1.0) -> np.ndarray:
        """The strength given the weights, the scales integrated out; then the precisions given both."""
        self.learn(rng, w)
        rate = self.lam * self.unit
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            drawn = inverse_gaussian(rng, rate / np.maximum(np.abs(w), 1e-150), rate**2)
        if self.bare:
            return np.minimum(np.maximum(drawn, LEAST), MOST)
        precision = np.where(self.unit > 0, np.clip(drawn, LEAST, MOST), 0.0) + self.ridge
        return np.where(self.free, FREE, precision)

    def log_density(self, w: np.ndarray) -> float:
        """log p(w) up to a constant, the scales and a learned strength integrated out."""
        size = np.vdot(self.unit, np.abs(w))
        square = 0.0 if self.bare else np.vdot(self.normal, w**2)
        if self.learned is None:
            return float(-self.lam * size - 0.5 * square)
        a, b = self.learned
        return float(-(a + self.count) * np.log(b + size) - 0.5 * square)

    def density(self, level: float | None) -> Any:
        """The log density as trajectories take it; with a row of intercepts of this precision below the weights."""
        shape, rate = (0.0, 0.0) if self.learned is None else (self.learned[0] + self.count, self.learned[1])
        return _density(self.unit, self.normal, level, power=1, lam=float(self.lam), shape=shape, rate=rate)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Precisions of normal distributions about as wide as the prior near w."""
        rate = self._rate(w) * self.unit
        return rate / np.maximum(np.abs(w), 1 / np.maximum(rate, 1e-150)) + self.normal

    def learn(self, rng: np.random.Generator, w: np.ndarray) -> None:
        """Draw a learned strength given the weights; the last one belongs to weights that have been scaled since."""
        if self.learned is not None:
            a, b = self.learned
            self.lam = rng.standard_gamma(a + self.count) / (b + (self.unit * np.abs(w)).sum())

    def _rate(self, w: np.ndarray) -> float:
        """The strength, or the expected one given the weights."""
        if self.learned is None:
            return self.lam
        a, b = self.learned
        return float((a + self.count) / (b + (self.unit * np.abs(w)).sum()))

    def shift(self, rng: np.random.Generator, w: np.ndarray) -> np.ndarray | None:
        """A draw of t_j given that w_j. + t_j predicts the same: of density exp(-sum_l rate_jl |w_jl + t|), (d,)."""
        if self.ridge.any() or (self.unit == 0).any():
            return None
        self.learn(rng, w)
        return piecewise_exponential(rng, -w, self.lam * self.unit)


class NormalScales:
    """Precisions lam u_jl; lam is learned where it has a Gamma(a, b) prior."""

    moves = True

    def __init__(self, lam: float, unit: np.ndarray, learned: tuple[float, float] | None):
        self.lam, self.unit, self.learned = lam, unit, learned
        self.count = int((unit > 0).sum())

    def update(self, rng: np.random.Generator, w: np.ndarray, noise: float = 1.0) -> np.ndarray:
        """The strength given the weights; the precisions."""
        self.learn(rng, w)
        return np.where(self.unit > 0, self.lam * self.unit, FREE)

    def log_density(self, w: np.ndarray) -> float:
        """log p(w) up to a constant, at the present strength or with a learned one integrated out."""
        free, square = FREE * (w[self.unit == 0] ** 2).sum(), (self.unit * w**2).sum()
        if self.learned is None:
            return float(-0.5 * (self.lam * square + free))
        a, b = self.learned
        return float(-(a + self.count / 2) * np.log(b + square / 2) - 0.5 * free)

    def density(self, level: float | None) -> Any:
        """The log density as trajectories take it; with a row of intercepts of this precision below the weights."""
        shape, rate = (0.0, 0.0) if self.learned is None else (self.learned[0] + self.count / 2, self.learned[1])
        free = np.where(self.unit > 0, 0.0, FREE)
        return _density(self.unit, free, level, power=2, lam=float(self.lam), shape=shape, rate=rate)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Precisions, at the expected strength where it is learned."""
        lam = self.lam
        if self.learned is not None:
            a, b = self.learned
            lam = (a + self.count / 2) / (b + (self.unit * w**2).sum() / 2)
        return np.where(self.unit > 0, lam * self.unit, FREE)

    def shift(self, rng: np.random.Generator, w: np.ndarray) -> np.ndarray | None:
        """A draw of t_j given that w_j. + t_j predicts the same, (d,)."""
        self.learn(rng, w)
        precision = np.where(self.unit > 0, self.lam * self.unit, FREE)
        total = precision.sum(axis=1)
        return rng.standard_normal(len(w)) / np.sqrt(total) - (precision * w).sum(axis=1) / total

    def learn(self, rng: np.random.Generator, w: np.ndarray) -> None:
        """Draw a learned strength given the weights; the last one belongs to weights that have been scaled since."""
        if self.learned is not None:
            a, b = self.learned
            self.lam = rng.standard_gamma(a + self.count / 2) / (b + (self.unit * w**2).sum() / 2)


class HorseshoeScales:
    """w ~ N(0, tau^2 lam^2) with half-Cauchy lam and tau ~ C+(0, tau0), and a slab exp(-w^2 / (2 c^2)) beside it.

    The inverse-gamma variables of Makalic & Schmidt (2016); the slab is not normalised (Nishimura & Suchard 2022), so
    that their conditionals stay exact. `unit` is 0 for weights without a penalty.
    """

    moves = False
    lam = np.nan

    def __init__(self, unit: np.ndarray, tau0: float, slab: float):
        self.unit, self.tau0, self.slab = unit, tau0, slab
        self.local, self.nu = np.ones(unit.shape), np.ones(unit.shape)
        self.tau, self.xi = tau0**2, 1.0

    def update(self, rng: np.random.Generator, w: np.ndarray, noise: float = 1.0) -> np.ndarray:
        """Local and global scales given the weights; the precisions, in units of 1 / noise."""
        there = self.unit > 0
        z = np.where(there, w**2 / 2, 0.0)
        self.local = np.clip((1 / self.nu + z / self.tau) / rng.standard_exponential(w.shape), 1e-20, 1e20)
        self.nu = (1 + 1 / self.local) / rng.standard_exponential(w.shape)
        rate = 1 / self.xi + (z / self.local).sum()
        self.tau = float(np.clip(rate / rng.standard_gamma((there.sum() + 1) / 2), 1e-20, 1e20))
        self.xi = float((1 / self.tau0**2 + 1 / self.tau) / rng.standard_exponential())
        return np.where(there, np.minimum(1 / (self.tau * self.local), MOST) + noise / self.slab**2, FREE)

    def slab_precision(self, noise: float) -> Any:
        """The part of the precisions, in units of 1 / noise, that does not scale with the noise."""
        return np.where(self.unit > 0, noise / self.slab**2, 0.0)


def _density(unit: np.ndarray, normal: np.ndarray, level: float | None, **kind: Any) -> Any:
    if level is not None:
        unit, normal = (
            np.vstack([each, np.full(each.shape[1], last)]) for each, last in ((unit, 0.0), (normal, level))
        )
    return _core.Density(unit=np.asfortranarray(unit), normal=np.asfortranarray(normal), **kind)


def piecewise_exponential(rng: np.random.Generator, knots: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Exact draws of densities exp(-sum_l rates_jl |t - knots_jl|), one for each row: (d,)."""
    d, m = knots.shape
    order = np.argsort(knots, axis=1)
    a, r = np.take_along_axis(knots, order, axis=1), np.take_along_axis(rates, order, axis=1)
    total = r.sum(axis=1, keepdims=True)
    slope = total - 2 * np.column_stack([np.zeros(d), np.cumsum(r, axis=1)])  # left of the first knot ... right of all
    slope[:, -1] = -total[:, 0]
    height = -(r[:, None, :] * np.abs(a[:, :, None] - a[:, None, :])).sum(axis=2)  # log-density at the knots
    gap, inner = np.diff(a, axis=1), slope[:, 1:-1]
    z = inner * gap
    flat = np.abs(z) < 1e-9
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # log of the integral of exp(inner x) over the gap, from its higher end
        high = np.maximum(height[:, :-1], height[:, 1:])
        steep = np.log(-np.expm1(-np.abs(z))) - np.log(np.abs(inner))
        middle = high + np.where(flat, np.log(gap), steep)
        ends = height[:, :1] - np.log(slope[:, :1]), height[:, -1:] - np.log(-slope[:, -1:])
        mass = np.concatenate([ends[0], middle, ends[1]], axis=1)
        i = np.argmax(np.where(np.isnan(mass), -np.inf, mass) + rng.gumbel(size=mass.shape), axis=1)
    u, rows = rng.random(d), np.arange(d)
    j = np.clip(i - 1, 0, m - 2)
    zi, gi, si = z[rows, j], gap[rows, j], np.where(np.abs(inner[rows, j]) > 0, inner[rows, j], 1.0)
    # Inverse of the distribution function from the lower end (rising) or from the higher one (falling).
    part = np.log1p(u * np.expm1(-np.abs(zi))) / -np.abs(si)
    part = np.where(np.abs(zi) < 1e-9, u * gi, np.where(zi > 0, gi - part, part))
    left, right = a[:, 0] + np.log(u) / slope[:, 0], a[:, -1] + np.log(u) / slope[:, -1]
    return np.where(i == 0, left, np.where(i == m, right, a[rows, j] + part))
