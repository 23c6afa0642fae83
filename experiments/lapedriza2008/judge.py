"""Our figures with their confidence intervals, and what the comparison of a row with the paper's comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from experiments.harness import Report

PAPER = json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))
ROWS = {row["key"]: row for table in PAPER["tables"] for row in table["rows"]}
RUNS = 20  # behind a figure that the paper gives without an interval
CLOSE = 1.5  # points
ENOUGH = 5  # runs


def interval(values: list[float]) -> list[float]:
    """The mean and its 95 % confidence interval (Student's)."""
    n, mean = len(values), float(np.mean(values))
    half = quantile(n) * float(np.std(values, ddof=1)) / np.sqrt(n) if n > 1 else 0.0
    return [round(mean, 2), round(mean - half, 2), round(mean + half, 2)]


def quantile(n: int) -> float:
    """How many standard errors the interval of a mean of n reaches."""
    return float(t.ppf(0.975, n - 1))


def compare(ours: list[float], n: int, published: float, within: float | None) -> tuple[str, float]:
    """One word for a mean of n with its interval, and by how much it is above the published one.

    Reproduced: the difference is within the 95 % intervals of both together (where the paper gives none, as if it had
    20 runs that vary as ours do). Close: within 1.5 points.
    """
    mean, _, high = ours
    half = high - mean
    theirs = half / quantile(n) * np.sqrt(n / RUNS) * quantile(RUNS) if within is None else within
    gap = mean - published
    if abs(gap) <= np.hypot(half, theirs):
        return "reproduced", gap
    return ("close" if abs(gap) <= CLOSE else "differs"), gap


def verdict(row: dict[str, Any], figures: dict[str, list[float]], n: int) -> str | None:
    """The word of a row of means with intervals: the worst of its columns, and how many of them have which."""
    published = {column: row[column] for column in figures if column in row}
    if not published:
        return None
    if n < ENOUGH:
        return f"too few to judge ({n})"
    within = row.get("within", {})
    found = [compare(figures[column], n, value, within.get(column)) for column, value in published.items()]
    words = [word for word, _ in found]
    worst = max(words, key=["reproduced", "close", "differs"].index)
    if worst != "differs":
        return worst if len(set(words)) == 1 else f"close ({words.count('reproduced')} of {len(words)} reproduced)"
    gap = max((gap for word, gap in found if word == "differs"), key=abs)
    count = f", in {words.count('differs')} of {len(words)} figures" if len(words) > 1 else ""
    return f"differs (by {gap:+.1f}{count})"


def add(report: Report, key: str, figures: dict[str, list[float]], **more: float) -> None:
    """Note means, intervals and the verdict of a row."""
    n = max(len(values) for values in figures.values())
    means = {column: interval(values) for column, values in figures.items()}
    report.add(key, **means, **more, runs=n)
    if said := verdict(ROWS[key], means, n):
        report.add(key, verdict=said)
