"""Covering arrays: few rows of options in which every allowed pair of values occurs."""

from itertools import combinations

import numpy as np

TRIES = 4  # candidate rows from which each new row is chosen
PATIENCE = 40  # attempts to complete a row around a pair before the pair counts as refused by the rules


def covering_rows(factors, allowed, seed=0):
    """Rows (dictionaries) in which every pair of values that an allowed row can hold occurs, by greedy search.

    Parameters
    ----------
    factors : dict of str to sequence
    allowed : function
        Whether a complete row can be fitted.
    """
    rng, sizes = np.random.default_rng(seed), [len(values) for values in factors.values()]

    def named(row):
        return {name: values[at] for (name, values), at in zip(factors.items(), row, strict=True)}

    missing = {
        (a, i, b, j) for a, b in combinations(range(len(sizes)), 2) for i in range(sizes[a]) for j in range(sizes[b])
    }
    rows = []
    while missing:
        pair = min(missing)
        tried = [_row_around(pair, sizes, missing, rng) for _ in range(TRIES)]
        tried = [row for row in tried if allowed(named(row))] or _insist(
            pair, sizes, rng, lambda row: allowed(named(row))
        )
        if not tried:
            missing.discard(pair)  # the rules refuse this pair
            continue
        best = max(tried, key=lambda row: len(_pairs_of(row) & missing))
        missing -= _pairs_of(best)
        rows.append(named(best))
    return rows


def random_row(factors, allowed, rng):
    """One allowed row, every value drawn at random."""
    while True:
        row = {name: values[rng.integers(len(values))] for name, values in factors.items()}
        if allowed(row):
            return row


def _row_around(pair, sizes, missing, rng):
    """A row (a value's position for each factor) with the pair in it; the other values meet most missing pairs."""
    a, i, b, j = pair
    row = {a: i, b: j}
    for factor in rng.permutation(len(sizes)).tolist():
        if factor in row:
            continue
        gains = [
            sum(_ordered(factor, value, *other) in missing for other in row.items()) for value in range(sizes[factor])
        ]
        best = [value for value, gain in enumerate(gains) if gain == max(gains)]
        row[factor] = best[rng.integers(len(best))]
    return [row[factor] for factor in range(len(sizes))]


def _insist(pair, sizes, rng, allowed):
    """The first allowed row around a pair among many random ones, or none."""
    a, i, b, j = pair
    for _ in range(PATIENCE):
        row = [int(rng.integers(size)) for size in sizes]
        row[a], row[b] = i, j
        if allowed(row):
            return [row]
    return []


def _ordered(a, i, b, j):
    return (a, i, b, j) if a < b else (b, j, a, i)


def _pairs_of(row):
    return {(a, row[a], b, row[b]) for a, b in combinations(range(len(row)), 2)}
