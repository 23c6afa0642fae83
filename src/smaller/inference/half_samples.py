"""Complementary pairs: two disjoint halves of the samples, drawn again and again."""

from __future__ import annotations

import numpy as np

LEAST = 4  # samples, or groups of samples, of each class: two for each half
DRAWS = 1000  # before groups of mixed classes are said not to be divisible

Pair = tuple[np.ndarray, np.ndarray]


def complementary_pairs(codes: np.ndarray | None, groups: np.ndarray | None, n: int, n_pairs: int, rng) -> list[Pair]:
    """Pairs of disjoint halves of n rows, as sorted positions.

    `codes` are the positions of the labels among the classes, None in regression. Within each class both halves have
    the same number of rows, an odd one being left out at random; then the halves have the same distribution given the
    class counts and are independent, all that the bounds need. Rows of one group stay together.
    """
    if groups is None:
        strata = np.zeros(n, dtype=int) if codes is None else codes
        _refuse_few(np.bincount(strata), "samples", codes is not None)
        return [_halve(strata, rng) for _ in range(n_pairs)]
    unit, first = _units_of(groups)
    if codes is None or np.array_equal(codes, codes[first][unit]):
        strata = np.zeros(len(first), dtype=int) if codes is None else codes[first]
        _refuse_few(np.bincount(strata), "groups", codes is not None)
        pairs = [_halve(strata, rng) for _ in range(n_pairs)]
    else:
        pairs = [_halve_mixed(unit, codes, rng) for _ in range(n_pairs)]
    return [(np.flatnonzero(np.isin(unit, one)), np.flatnonzero(np.isin(unit, other))) for one, other in pairs]


def _units_of(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The position of each row's group among the groups, and the first row of each group."""
    _, first, unit = np.unique(groups, return_index=True, return_inverse=True)
    return unit.ravel(), first


def _halve(strata: np.ndarray, rng) -> Pair:
    """Two disjoint halves with equally many members of each stratum."""
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    counts = np.bincount(strata)
    counts = counts[counts > 0]
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    half = np.repeat(counts // 2, counts)
    return np.sort(order[place < half]), np.sort(order[(place >= half) & (place < 2 * half)])


def _halve_mixed(unit: np.ndarray, codes: np.ndarray, rng) -> Pair:
    """Halves of groups with samples of several classes; drawn again until both halves have every class."""
    m, units = codes.max() + 1, unit.max() + 1
    _refuse_few(np.array([units]), "groups", False)
    for _ in range(DRAWS):
        pair = _halve(np.zeros(units, dtype=int), rng)
        if all(len(np.unique(codes[np.isin(unit, half)])) == m for half in pair):
            return pair
    raise ValueError(
        f"The {units} groups could not be divided into two halves that both have all {m} classes, although {DRAWS} "
        "divisions were tried; give more groups, or leave out the classes that few groups have."
    )


def _refuse_few(counts: np.ndarray, what: str, by_class: bool) -> None:
    """Refuse strata of fewer than 4 members; `what` the members are, and whether the strata are classes."""
    least = counts.min()
    if least >= LEAST:
        return
    name = "n_samples" if what == "samples" else "n_groups"
    if not by_class:
        raise ValueError(f"Halving needs at least {LEAST} {what}; got {name} = {least}. Give more of them.")
    raise ValueError(
        f"Halving needs at least {LEAST} {what} of each class; a class has {name} = {least}. Leave that class out, or "
        "join it to another; if y has numbers instead of labels, use LaplaceRegressor() as the estimator (in the "
        "command: --task regression)."
    )
