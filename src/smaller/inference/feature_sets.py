"""Credible sets of features, from the inclusion weights of single effects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .effects import Effects
from .standard_columns import StandardColumns

SAMPLED = 100  # columns of a larger set, drawn at random, that its purity is computed from


class FeatureSets(NamedTuple):
    """Features of each set, its least absolute correlation, its effect, and the probability that it holds."""

    features: list[np.ndarray]
    purity: np.ndarray
    effect: np.ndarray
    probability: np.ndarray


def feature_sets(effects: Effects, Z: StandardColumns, level: float, min_purity: float) -> FeatureSets:
    """For each effect used, the smallest set whose inclusion weights sum to the level, if it is pure enough.

    The most probable features first; sets of the same features are listed once.
    """
    features: list[np.ndarray] = []
    rows = []
    for effect in effects.used:
        weights = effects.inclusion[effect]
        order = np.argsort(-weights, kind="stable")
        size = int(np.searchsorted(np.cumsum(weights[order]), level * (1 - 1e-12))) + 1
        chosen = order[: min(size, len(order))]
        purity = _purity(Z, chosen)
        if purity >= min_purity and not any(np.array_equal(np.sort(chosen), np.sort(other)) for other in features):
            features.append(chosen)
            rows.append((purity, effect, float(weights[chosen].sum())))
    told = np.array(rows).T if rows else np.zeros((3, 0))
    return FeatureSets(features, told[0], told[1].astype(int), np.minimum(told[2], 1.0))


def _purity(Z: StandardColumns, chosen: np.ndarray) -> float:
    """The least absolute correlation between two features of a set."""
    if len(chosen) == 1:
        return 1.0
    if len(chosen) > SAMPLED:
        chosen = np.random.default_rng(0).choice(chosen, SAMPLED, replace=False)
    C = Z.take(chosen)
    return float(np.abs((C * Z.weight[:, None]).T @ C / Z.total).min())
