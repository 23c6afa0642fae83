"""Polya-Gamma variables: by the package polyagamma where it is installed, else by a truncated series."""

from __future__ import annotations

import numpy as np

from .scale_mixtures import inverse_gaussian

try:
    from polyagamma import random_polyagamma
except ImportError:  # the extra "posterior" is not installed
    random_polyagamma = None

TERMS = 200
MANY = 50  # a Polya-Gamma variable of a larger integer shape is drawn by the saddlepoint method
FAR = 25.0  # beyond this tilt all terms of the density but the first are below 1e-10 times the shape


def mean_of(shape: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """E PG(h, c) = h tanh(c/2) / (2c), h/4 at c = 0."""
    c = np.maximum(np.abs(tilt), 1e-8)
    return shape * np.tanh(c / 2) / (2 * c)


def polya_gamma(rng: np.random.Generator, shape: np.ndarray | float, tilt: np.ndarray) -> np.ndarray:
    """PG(shape, tilt), exact for integer shapes, and for any shape where the tilt is large.

    A shape that is one number must be 1. At large tilts the methods of the package go wrong: from 30 on the mean by the
    saddlepoint is 2.75 times what it should be, and at 1e15 no draw ever ends.
    """
    far = np.abs(tilt) > FAR
    if not far.any():
        return near(rng, shape, tilt)
    shape = np.broadcast_to(shape, tilt.shape)
    drawn = np.empty(len(tilt))
    drawn[far] = first_term(rng, shape[far], tilt[far])
    drawn[~far] = near(rng, shape[~far], tilt[~far])
    return drawn


def first_term(rng: np.random.Generator, shape: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """The first term of the alternating series of the density (Polson, Scott & Windle 2013) is inverse Gaussian."""
    return inverse_gaussian(rng, shape / (2 * np.abs(tilt)), shape**2 / 4)


def near(rng: np.random.Generator, shape: np.ndarray | float, tilt: np.ndarray) -> np.ndarray:
    """The same at small tilts: PG(a + b, c) is PG(a, c) plus an independent PG(b, c).

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
