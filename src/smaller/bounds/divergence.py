"""Divergences: between two Bernoulli distributions with its inverse, and between two Laplace distributions."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

ROUNDING = 4.0 * np.finfo(float).eps


def binary_kl(q, p):
    """kl(q || p) = q ln(q/p) + (1-q) ln((1-q)/(1-p)), in nats; infinite where p excludes what q allows."""
    q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
    return rel_entr(q, p) + rel_entr(1.0 - q, 1.0 - p)


def kl_inverse(q: float, budget: float) -> float:
    """sup { p >= q : kl(q || p) <= budget }, by bisection, rounded up."""
    low, high = float(q), 1.0
    budget = budget * (1.0 + ROUNDING) + ROUNDING  # rounding of kl must not make a bound too small
    if binary_kl(q, high) <= budget:
        return high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if binary_kl(q, middle) <= budget else (low, middle)
    return high


def laplace_kl(mean, rate, prior) -> np.ndarray:
    """KL( Laplace(mean, rate) || Laplace(0, prior) ) of each weight (Krishnapuram et al. 2005, eq. 23).

    ln(rate/prior) - 1 + (prior/rate) exp(-rate |mean|) + prior |mean|; a rate is an inverse scale.
    """
    size = np.abs(mean)
    ratio = np.asarray(rate) / prior
    return np.maximum(np.log(ratio) - 1.0 + np.exp(-rate * size) / ratio + prior * size, 0.0)


def least_kl_rates(mean, prior) -> np.ndarray:
    """The rates that minimise the divergence (eq. 24): the root of rate = prior exp(-rate |mean|)(1 + rate |mean|).

    In x = ln(rate |mean|) the equation is x + e^x - ln(1 + e^x) = ln(prior |mean|), increasing and convex, so that
    Newton's method descends to the root from any point above it.
    """
    prior = np.asarray(prior, dtype=float)
    total = prior * np.abs(mean)
    with np.errstate(divide="ignore"):
        target = np.log(total)
    # Above the root: rate <= prior always, and rate |mean| <= ln(2 prior |mean|) wherever it is at least 1.
    x = np.minimum(target, np.log(np.maximum(1.0, np.log(np.maximum(2.0 * total, 1.0)))))
    for _ in range(60):
        v = np.exp(x)
        excess = np.where(total > 0, x + v - np.log1p(v) - np.where(total > 0, target, 0.0), 0.0)
        x = np.where(total > 0, x - excess / (1.0 + v * v / (1.0 + v)), x)
        if np.all(np.abs(excess) <= 1e-15 * (1.0 + np.abs(np.where(total > 0, target, 0.0)))):
            break
    v = np.exp(x)
    return prior * np.exp(-v) * (1.0 + v)
