"""One effect on an unknown feature: Bayes factors, inclusion weights, and the best prior variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

WIDEST = 40.0  # largest logarithm of prior variance times information that is tried
FIRST_GRID = np.arange(-8.0, WIDEST, 2.0)
LARGEST = 15.0  # logarithm of the largest prior variance: where every sample is certain, no variance is large enough
WORTHWHILE = 0.1  # log Bayes factor at which an effect that was switched off is used
NEAR = 0.7  # the logarithm of the variance is looked for within this of its last value, first


class FeatureEvidence(NamedTuple):
    """What the data say about every feature alone: slopes and information of the log-likelihood, both (d, k).

    The log-likelihood of the weight b of feature j is ``offset_j + sum_r [slope_jr b_r - info_jr b_r^2 / 2]``, relative
    to b = 0. The coordinates r are those in which the information is diagonal.
    """

    slope: np.ndarray
    info: np.ndarray
    offset: np.ndarray | float = 0.0

    def log_factors(self, variance: float) -> np.ndarray:
        """log Bayes factors of b ~ N(0, variance I) against b = 0, (d,)."""
        grown = 1.0 + variance * self.info
        gain = variance * self.slope**2 / grown - np.log(grown)
        return self.offset + 0.5 * gain.sum(axis=1)


class Effect(NamedTuple):
    """Inclusion weights (d,), conditional means and variances (d, k), and the log Bayes factor of the effect."""

    inclusion: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    log_factor: float


def log_sum(values: np.ndarray) -> float:
    """log sum exp of a vector with at least one finite entry; SciPy's takes longer than all the rest here."""
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))


def effect_of(evidence: FeatureEvidence, variance: float, log_prior: np.ndarray) -> Effect:
    """The posterior of one effect (Wang et al. 2020, section 3.1)."""
    odds = log_prior + evidence.log_factors(variance)
    total = log_sum(odds)
    spread = variance / (1.0 + variance * evidence.info)
    share = np.exp(odds - odds.max())
    return Effect(share / share.sum(), spread * evidence.slope, spread, total)


def best_variance(evidence: FeatureEvidence, log_prior: np.ndarray, now: float, new: bool) -> float:
    """The prior variance of the greatest log Bayes factor of the effect; 0 where that factor is too small.

    A new effect must be worthwhile, one that is in use have a positive factor. Near `now`, the variance of an effect
    in use, the maximum is looked for first.
    """
    unit = -np.log(np.median(evidence.info[evidence.info > 0])) if (evidence.info > 0).any() else 0.0

    def loss(log_variance: float) -> float:
        return -log_sum(log_prior + evidence.log_factors(np.exp(log_variance)))

    found = None if new else _minimum_near(loss, np.log(now))
    if found is None:
        grid = np.minimum(unit + FIRST_GRID, LARGEST)
        centre = grid[np.argmin([loss(t) for t in grid])]
        bounds = (centre - 2, min(centre + 2, LARGEST))
        found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    best, value = float(np.exp(found.x)), found.fun
    if not new and loss(np.log(now)) < value:
        best, value = now, loss(np.log(now))
    return best if value < (-WORTHWHILE if new else 0.0) else 0.0


def _minimum_near(loss, centre: float):
    """A minimum in the inside of an interval about the centre; None where it lies at an end."""
    low, high = centre - NEAR, min(centre + NEAR, LARGEST)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-4})
    inside = low + 0.01 < found.x < high - 0.01
    return found if inside else None
