"""The noise learned where there are four columns to a sample: 50 draws over three kinds of dictionary."""

import time

import numpy as np

from smaller import TypeIIRegressor

from .problems import KINDS, drawn

DRAWS, TARGETS, DECIBELS = 50, (1, 20), (0, 10, 20, 30)


def tasks():
    """A key and a function for each fit; draw i has dictionary i modulo 3."""
    for seed in range(DRAWS):
        for targets in TARGETS:
            for decibels in DECIBELS:
                yield f"{targets} {decibels} {KINDS[seed % 3]} {seed}", (learned, targets, decibels, seed)


def learned(targets: int, decibels: int, seed: int) -> dict:
    """The learned variance of the noise over the true one."""
    data = drawn(KINDS[seed % 3], decibels, seed, targets=targets)
    began = time.process_time()
    model = TypeIIRegressor(fit_intercept=False).fit(data.Phi, data.Y if targets > 1 else data.Y[:, 0])
    return {"ratio": model.noise_ / data.noise, "seconds": time.process_time() - began}


def summary(found: dict) -> list[str]:
    """Median, 10th and 90th percentile, of all draws and of each kind."""
    lines = ["| targets | dB | draws | median | 10 to 90 % | " + " | ".join(KINDS) + " |", "|" + "---|" * 8]
    for targets in TARGETS:
        for decibels in DECIBELS:
            each = [
                (key.split()[2], row["ratio"]) for key, row in found.items()
                if key.startswith(f"{targets} {decibels} ")
            ]  # fmt: skip
            if not each:
                continue
            ratios = np.array([ratio for _, ratio in each])
            low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9))
            kinds = [f"{np.median([r for kind, r in each if kind == name] or [np.nan]):.2f}" for name in KINDS]
            cells = f"{targets} | {decibels} | {len(each)} | {middle:.2f} | {low:.2f} to {high:.2f}"
            lines.append(f"| {cells} | {' | '.join(kinds)} |")
    return lines
