"""Polya-Gamma variables: by the package polyagamma where it is installed, else by a truncated series."""

from __future__ import annotations

import numpy as np

try:
    from polyagamma import random_polyagamma
except ImportError:  # the extra "posterior" is not installed
    random_polyagamma = None

TERMS = 200
MANY = 50  # a Polya-Gamma variable of a larger integer shape is drawn by the saddlepoint method


def mean_of(shape: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """E PG(h, c) = h tanh(c/2) / (2c), h/4 at c = 0."""
    c = np.maximum(np.abs(tilt), 1e-8)
    return shape * np.tanh(c / 2) / (2 * c)


def polya_gamma(rng: np.random.Generator, shape: np.ndarray | float, tilt: np.ndarray) -> np.ndarray:
    """PG(shape, tilt), exact for integer shapes: PG(a + b, c) is PG(a, c) plus an independent PG(b, c).

    A shape that is one number must be 1.
    The package's methods for shapes that are not integers are biased (up to 6 % of the mean), so that only its
    Devroye method, and for integers above 50 its saddlepoint method, are used; the fraction is a series.
    """
    if random_polyagamma is None:
        return by_series(rng, np.broadcast_to(shape, tilt.shape), tilt)
    if isinstance(shape, float):
        return random_polyagamma(shape, tilt, method="devroye", random_state=rng)
    whole = np.floor(shape)
    fraction, drawn = shape - whole, np.zeros(len(tilt))
    for method, rows in (("devroye", (whole > 0) & (whole <= MANY)), ("saddle", whole > MANY)):
        if rows.any():
            drawn[rows] = random_polyagamma(whole[rows], tilt[rows], method=method, random_state=rng)
    rows = fraction > 0
    if rows.any():
        drawn[rows] += by_series(rng, fraction[rows], tilt[rows])
    return drawn


def by_series(rng: np.random.Generator, shape: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """200 terms of the sum of gamma variables, and the mean of the others (Polson, Scott & Windle 2013, eq. 2)."""
    terms = (np.arange(1, TERMS + 1) - 0.5) ** 2 + (tilt[:, None] / (2 * np.pi)) ** 2
    drawn = (rng.standard_gamma(shape[:, None], (len(tilt), TERMS)) / terms).sum(axis=1)
    tail = mean_of(shape, tilt) - shape * (1 / terms).sum(axis=1) / (2 * np.pi**2)
    return drawn / (2 * np.pi**2) + np.maximum(tail, 0.0)
