"""Coverage of the error bars: how often the true weight lies within two posterior deviations of the mean."""

import numpy as np

from smaller import TypeIIRegressor

from .problems import KINDS, drawn

DRAWS, DECIBELS = 50, (10, 20, 30)
SHAPES = {"tall": (100, 50), "wide": (50, 200)}
WIDTH = 1.959963984540054  # deviations that hold 95 % of a normal distribution


def tasks():
    """A key and a function for each fit; draw i has the dictionary i modulo 3."""
    for seed in range(DRAWS):
        for shape in SHAPES:
            for known in (True, False):
                for decibels in DECIBELS:
                    key = f"{shape} {'given' if known else 'learned'} {decibels} {KINDS[seed % 3]} {seed}"
                    yield key, (covered, shape, known, decibels, seed)


def covered(shape: str, known: bool, decibels: int, seed: int) -> dict:
    """Kept weights within their interval, of true columns and of others, and how many of either there are."""
    n, p = SHAPES[shape]
    data = drawn(KINDS[seed % 3], decibels, seed, n=n, p=p)
    model = TypeIIRegressor(noise=data.noise if known else "learn", fit_intercept=False).fit(data.Phi, data.Y[:, 0])
    deviation = np.sqrt(model.covariance_.diagonal())
    inside = np.abs(model.coef_ - data.X[:, 0])[model.support_] <= WIDTH * deviation
    true = data.X[model.support_, 0] != 0
    mean, std = model.predict(data.Phi, return_std=True)
    clean = np.abs(mean - data.Phi @ data.X[:, 0]) <= WIDTH * np.sqrt(np.maximum(std**2 - model.noise_, 0.0))
    return {
        "true": int(true.sum()), "true inside": int(inside[true].sum()), "others": int((~true).sum()),
        "others inside": int(inside[~true].sum()), "signal inside": float(clean.mean()),
    }  # fmt: skip


def summary(found: dict) -> list[str]:
    """Shares inside the intervals that should hold 95 %."""
    lines = ["| shape | noise | dB | true columns kept | of these inside | others inside | signal inside |"]
    lines.append("|" + "---|" * 7)
    for shape in SHAPES:
        for noise in ("given", "learned"):
            for decibels in DECIBELS:
                rows = [row for key, row in found.items() if key.startswith(f"{shape} {noise} {decibels} ")]
                if not rows:
                    continue
                sums = {name: sum(row[name] for row in rows) for name in rows[0]}
                cells = [
                    f"{sums['true'] / (5 * len(rows)):.1%}", f"{sums['true inside'] / max(sums['true'], 1):.1%}",
                    f"{sums['others inside'] / max(sums['others'], 1):.1%}", f"{sums['signal inside'] / len(rows):.1%}",
                ]  # fmt: skip
                lines.append(f"| {shape} | {noise} | {decibels} | {' | '.join(cells)} |")
    return lines
