"""Our figures with their confidence intervals, and what the comparison of a row with the paper's comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import Report

PAPER = json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))
ROWS = {row["key"]: row for table in PAPER["tables"] for row in table["rows"]}
RUNS = 20  # behind a figure that the paper gives without an interval
CLOSE = 1.5  # points


def interval(values: list[float]) -> list[float]:
    """The mean and its 95 % confidence interval."""
    mean = float(np.mean(values))
    half = 1.96 * float(np.std(values, ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return [round(mean, 2), round(mean - half, 2), round(mean + half, 2)]


def compare(values: list[float], published: float, within: float | None) -> tuple[str, float]:
    """One word, and by how much ours is higher.

    Reproduced: the difference is within the 95 % interval of both together (where the paper gives none, as if it had 20
    runs that vary as ours do). Close: within 1.5 points.
    """
    mean, _, high = interval(values)
    ours = high - mean
    theirs = ours * np.sqrt(len(values) / RUNS) if within is None else within
    gap = mean - published
    if abs(gap) <= np.hypot(ours, theirs):
        return "reproduced", gap
    return ("close" if abs(gap) <= CLOSE else "differs"), gap


def verdict(row: dict[str, Any], figures: dict[str, list[float]]) -> str | None:
    """The word of a row: the worst of its columns, and how many of them have which."""
    found = {
        column: compare(values, row[column], row.get("within", {}).get(column))
        for column, values in figures.items()
        if column in row
    }
    if not found:
        return None
    if max(map(len, figures.values())) == 1:
        return "one split: too few to judge"
    words = [word for word, _ in found.values()]
    worst = max(words, key=["reproduced", "close", "differs"].index)
    if worst != "differs":
        return worst if len(set(words)) == 1 else f"close ({words.count('reproduced')} of {len(words)} reproduced)"
    gap = max((gap for word, gap in found.values() if word == "differs"), key=abs)
    count = f", in {words.count('differs')} of {len(words)} figures" if len(words) > 1 else ""
    return f"differs (by {gap:+.1f}{count})"


def add(report: Report, key: str, figures: dict[str, list[float]], **more: float) -> None:
    """Note means, intervals and the verdict of a row."""
    report.add(key, **{column: interval(values) for column, values in figures.items()}, **more)
    report.add(key, runs=max(len(values) for values in figures.values()))
    if said := verdict(ROWS[key], figures):
        report.add(key, verdict=said)
