"""What the comparison with a paper comes to, row by row: the page of results of the documentation.

Everything is made from ``paper.json`` and ``ours.json``. An error is judged by the 95 % interval of ours (Clopper and
Pearson's, from the number of test samples), or by the range over repeats where that is what ours has; other figures by
whether they are within a tenth of each other.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from experiments.harness import figures, show

NEAR = 0.1  # figures within a tenth of each other count as the same
OWN = {"reproduced": "agrees", "close": "agrees", "differs": "differs"}  # what a run itself may say of a row
CLAIMS = {"more than 1": 1.0, "orders of magnitude": 100.0}  # what a paper says in words, as the least it can mean


@dataclass(frozen=True)
class Kind:
    """What to say of a figure: the same, ours lower, ours higher; and whether lower (-1) or neither (0) is better."""

    same: str
    lower: str
    higher: str
    better: int = 0


ERROR = Kind("same error", "fewer errors", "more errors", better=-1)
KEPT = Kind("as sparse", "sparser", "less sparse")
OTHER = Kind("same", "lower", "higher")
KINDS = {
    "errors": ERROR,
    "error": ERROR,
    "cross-entropy": Kind("same log-loss", "lower log-loss", "higher log-loss", better=-1),
    "kept": KEPT,
    "kernels": KEPT,
    "sparsity": Kind("as sparse", "less sparse", "sparser"),
    "ratio": Kind("same gain in time", "smaller gain in time", "greater gain in time"),
}


def trials(row: dict, ours: dict) -> int | None:
    """How many test samples an error was counted on, where that is known."""
    if "trials" in row:
        return row["trials"]
    if stated := re.search(r"out of (\d+)", row["where"]):
        return int(stated[1])
    if ours.get("wrong") and ours.get("error"):
        return round(ours["wrong"] / ours["error"])
    return None


def interval(column: str, row: dict, ours: dict) -> tuple[float, float] | None:
    """Between what the truth of our figure lies, in the unit of the figure; None where nothing is known of it."""
    value, n = ours[column], trials(row, ours)
    if KINDS.get(column) is ERROR and n:
        mean = value[0] if isinstance(value, list) else value
        count = mean if column == "errors" else mean * n
        limits = binomtest(round(count), n).proportion_ci(method="exact")
        unit = n if column == "errors" else 1
        return limits.low * unit, limits.high * unit
    return (value[1], value[2]) if isinstance(value, list) and value[2] - value[1] > 1e-9 * abs(value[0]) else None


def compare(column: str, row: dict, ours: dict) -> int | None:
    """-1, 0 or 1 as our figure is lower than the paper's, the same, or higher; None where one of the two is missing."""
    paper, value = row.get(column), ours.get(column)
    if paper is None or value is None or isinstance(paper, str):
        return None
    mean = value[0] if isinstance(value, list) else value
    limits = interval(column, row, ours)
    if limits and KINDS.get(column) is not KEPT:
        return 0 if limits[0] <= paper <= limits[1] else (-1 if mean < paper else 1)
    near = abs(mean - paper) <= max(NEAR * abs(paper), 1.0 if KINDS.get(column) is KEPT else 0.0)
    return 0 if near else (-1 if mean < paper else 1)


def claim(paper: str, ours: Any) -> tuple[str, str]:
    """Whether what a paper says in words holds of our figure."""
    number = float(re.search(r"[\d.]+", str(ours))[0])  # type: ignore[index]
    return ("agrees", "holds") if number > CLAIMS[paper] else ("worse", "does not hold")


def verdict(columns: list[str], row: dict, ours: dict) -> tuple[str, str]:
    """One word (agrees, better, worse, differs, or nothing) and what it rests on; the experiment's own goes first."""
    if said := ours.get("verdict"):
        return OWN.get(said.split()[0], ""), said
    for column in columns:
        if isinstance(row.get(column), str) and column in ours:
            return claim(row[column], ours[column])
    judged = [
        (KINDS.get(c, OTHER), compare(c, row, ours)) for c in columns if not (c == "wrong" and "error" in columns)
    ]
    known = [(kind, sign) for kind, sign in judged if sign is not None]
    if not known:
        return "", "not run" if not ours else "no figure in the paper"
    reasons = ", ".join((kind.same, kind.higher, kind.lower)[sign] for kind, sign in known)
    kind, sign = known[0]
    if sign == 0:
        return "agrees", reasons
    return ("better" if sign == kind.better else "worse") if kind.better else "differs", reasons


def table(table: dict, results: dict) -> tuple[str, Counter]:
    """One table, paper / ours in each cell where the paper has figures, and how many rows got which word."""
    columns, words = table["columns"], Counter()
    compared = {column for row in table["rows"] for column in columns if column in row}
    heads = [f"{column}: paper / ours" if column in compared else column for column in columns]
    lines = [["", *(["verdict"] if compared else []), *heads]]
    lines.append(["---"] * len(lines[0]))
    for row in table["rows"]:
        ours = figures(row, results)
        cells = [(f"{show(row.get(c, '–'))} / " if c in compared else "") + _ours(c, row, ours) for c in columns]
        if compared:
            word, reasons = verdict(columns, row, ours)
            words[word] += bool(word)
            cells.insert(0, f"**{word}**: {reasons}" if word else reasons)
        lines.append([row["label"], *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines), words


def _ours(column: str, row: dict, ours: dict) -> str:
    """Our figure, and its interval."""
    if column not in ours:
        return "–"
    value, limits = ours[column], interval(column, row, ours)
    mean = value[0] if isinstance(value, list) else value
    if not limits:
        return show(mean)
    return f"{show(mean)} ({_short(limits[0])}–{_short(limits[1])})"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def in_words(words: Counter) -> str:
    """How many rows agree, are better and worse, as a sentence."""
    parts = [f"{word} {words[word]}" for word in ("agrees", "better", "worse", "differs") if words[word]]
    return f"Rows with a published figure: {words.total()}; {', '.join(parts)}." if parts else ""


def paper(folder: Path) -> tuple[str, str, Counter]:
    """Citation, all tables as Markdown, and the words of all rows, of one paper."""
    published, ours = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("paper", "ours"))
    parts, total = [], Counter()
    for one in published["tables"]:
        text, words = table(one, ours["results"])
        total += words
        parts.append("\n\n".join(filter(None, [f"### {one['title']}", in_words(words), text])))
    left_out = {**published.get("not_yet", {}), **ours["skipped"]}
    if left_out:
        parts.append("Left out:\n\n" + "\n".join(f"- {what}: {why}" for what, why in left_out.items()))
    parts.append(_checks(ours["checks"]))
    return published["citation"], "\n\n".join(parts), total


def _checks(checks: list[dict]) -> str:
    failed = [check["claim"] for check in checks if not check["holds"]]
    said = f"The run itself checked {len(checks)} claims; "
    return said + ("all hold." if not failed else "these do not hold:\n\n" + "\n".join(f"- {c}" for c in failed))


def overview(folders: list[Path]) -> str:
    """All papers in one table."""
    lines = [
        "| paper | agree | better | worse | differ | without a published figure |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for folder in folders:
        citation, _, words = paper(folder)
        tables = json.loads((folder / "paper.json").read_text(encoding="utf-8"))["tables"]
        rest = sum(len(one["rows"]) for one in tables) - words.total()
        authors, title, *_ = citation.split(": ", 1)
        counts = " | ".join(str(words[word]) for word in ("agrees", "better", "worse", "differs"))
        lines.append(f"| {authors}: *{title.split('. ')[0]}* | {counts} | {rest} |")
    return "\n".join(lines)
