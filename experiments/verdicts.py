"""What the comparison with a paper comes to, row by row: the page of results of the documentation.

Everything is made from ``paper.json``, ``ours.json`` and, where a folder has one, ``verdicts.json``, which holds what
no figure says, each under a row's key or a pattern of keys (the first that fits counts):

- ``because``: why a row differs, as far as is known;
- ``claims``: what the paper says of a row in words alone, and what it is held against (see :func:`held`);
- ``without``: what to say of rows for which the paper has neither, or why they were "not run".

Every row with a published figure or claim is *reproduced*, *close*, or *differs*. An error is judged by the 95 %
interval of ours (Clopper and Pearson's, from the number of test samples), or by the range over repeats where that is
what ours has; other figures by whether they are within a tenth of each other.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from experiments.harness import figures, show

NEAR = 0.1  # figures within a tenth of each other count as the same
CLOSE = 0.25  # and within a quarter as close
FAR = 0.05  # errors within the interval, but further apart than 5 points, are close too: few samples allow much
POINTS = 0.015  # errors outside the interval, but no further apart than 1.5 points of per cent, are close
WORDS = ("reproduced", "close", "differs")  # from the best to the worst
CLAIMS = {"more than 1": 1.0, "orders of magnitude": 100.0}  # what a paper says in words, as the least it can mean
UNJUDGED = ("runs",)  # columns that describe how a figure came about


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


@dataclass(frozen=True)
class Verdict:
    """A word, or none; what it rests on; whether ours is the better or the worse; and why it differs."""

    word: str
    said: str
    side: str = ""
    because: str = ""

    def __str__(self) -> str:
        if not self.word:
            return self.said
        text = f"**{self.word}**" + (f" (ours is {self.side})" if self.side else "")
        text += f": {self.said}" if self.said else ""
        return f"{text}; because {self.because}" if self.because else text


# Figures


def trials(row: dict, ours: dict) -> int | None:
    """How many test samples an error was counted on, where that is known."""
    if "trials" in row:
        return row["trials"]
    if stated := re.search(r"out of (\d+)", row["where"]):
        return int(stated[1])
    if ours.get("wrong") and ours.get("error"):
        return round(ours["wrong"] / ours["error"])
    return None


def _whole(column: str, row: dict, n: int | None) -> float | None:
    """What an error would be if all samples were wrong: their number, or 1, or 100 where a row says per cent."""
    return n if column == "errors" else row.get("per", 1)


def interval(column: str, row: dict, ours: dict) -> tuple[float, float] | None:
    """Between what the truth of our figure lies, in the unit of the figure; None where nothing is known of it."""
    value, n = ours[column], trials(row, ours)
    if KINDS.get(column) is ERROR and n:
        mean = value[0] if isinstance(value, list) else value
        unit = _whole(column, row, n) or 1
        limits = binomtest(round(mean / unit * n), n).proportion_ci(method="exact")
        return limits.low * unit, limits.high * unit
    return (value[1], value[2]) if isinstance(value, list) and value[2] - value[1] > 1e-9 * abs(value[0]) else None


def compare(column: str, row: dict, ours: dict) -> int | None:
    """-1, 0 or 1 as our figure is lower than the paper's, the same, or higher; None where one of the two is missing."""
    paper, value = row.get(column), ours.get(column)
    if paper is None or value is None or isinstance(paper, str) or isinstance(value, str) or column in UNJUDGED:
        return None
    mean = value[0] if isinstance(value, list) else value
    limits = interval(column, row, ours)
    if limits and KINDS.get(column) is not KEPT:
        return 0 if limits[0] <= paper <= limits[1] else (-1 if mean < paper else 1)
    near = abs(mean - paper) <= max(NEAR * abs(paper), 1.0 if KINDS.get(column) is KEPT else 0.0)
    return 0 if near else (-1 if mean < paper else 1)


def is_close(column: str, row: dict, ours: dict, points: float = POINTS) -> bool:
    """Whether figures are close: errors no more than so many points apart, columns kept two, others a quarter."""
    value = ours[column]
    gap = abs((value[0] if isinstance(value, list) else value) - row[column])
    if KINDS.get(column) is ERROR:
        whole = _whole(column, row, trials(row, ours))
        return whole is not None and gap <= points * whole * (1 + 1e-9)
    return gap <= max(CLOSE * abs(row[column]), 2.0 if KINDS.get(column) is KEPT else 0.0)


# Verdicts


def verdict(
    columns: list[str], row: dict, ours: dict, notes: dict | None = None, record: dict | None = None
) -> Verdict:
    """What a row comes to: the experiment's own word, a claim in words, or the figures, of which the first leads.

    `notes` is what verdicts.json holds, `record` what ours.json does.
    """
    notes = notes or {}
    found = _own(row, ours) or _in_words(columns, row, ours) or _by_figures(columns, row, ours)
    if not found.word and ours and (claim := first(notes.get("claims", {}), row["key"])):
        found = held(claim, row["key"], record or {"results": {row["key"]: ours}, "checks": []})
    said = "" if found.word else first(notes.get("without", {}), row["key"]) or ""
    if said and bool(ours) != said.startswith("not run"):
        return Verdict("", said)
    reason = first(notes.get("because", {}), row["key"]) if found.word == "differs" else None
    return Verdict(found.word, found.said, found.side, reason or "")


def first(patterns: dict[str, Any], key: str) -> Any:
    """What stands under the first pattern that fits a key, or None."""
    return next((value for pattern, value in patterns.items() if fnmatchcase(key, pattern)), None)


def _own(row: dict, ours: dict) -> Verdict | None:
    """The verdict that the run itself gave; none where it had too few repeats, but the samples are known."""
    said = ours.get("verdict", "")
    word = next((word for word in WORDS if said.startswith(word)), "")
    if not said or (not word and "trials" in row):
        return None
    gap = re.search(r"by ([+-])", said) if any(column in row for column in ours) else None
    side = ("worse" if gap[1] == "+" else "better") if gap else ""
    return Verdict(word, said.removeprefix(word).strip(" ()") if word else said, side)


def _in_words(columns: list[str], row: dict, ours: dict) -> Verdict | None:
    """A figure that the paper gives in words, such as "orders of magnitude"."""
    for column in columns:
        if isinstance(row.get(column), str) and column in ours:
            number = float(re.search(r"[\d.]+", str(ours[column]))[0])  # type: ignore[index]
            return (
                Verdict("reproduced", "holds") if number > CLAIMS[row[column]] else Verdict("differs", "does not hold")
            )
    return None


def _by_figures(columns: list[str], row: dict, ours: dict) -> Verdict:
    judged = [(c, compare(c, row, ours)) for c in columns if not (c == "wrong" and "error" in columns)]
    known = [(KINDS.get(column, OTHER), column, sign) for column, sign in judged if sign is not None]
    if not known:
        return Verdict("", "not run" if not ours else _without(row))
    said = ", ".join((kind.same, kind.higher, kind.lower)[sign] for kind, _, sign in known)
    kind, column, sign = known[0]
    if sign == 0 and kind is ERROR and trials(row, ours) and not is_close(column, row, ours, FAR):
        return Verdict("close", said.replace(kind.same, "error within chance", 1))
    if sign == 0:
        return Verdict("close" if any(sign for _, _, sign in known) else "reproduced", said)
    side = ("better" if sign == kind.better else "worse") if kind.better else ""
    return Verdict("close" if is_close(column, row, ours) else "differs", said, side)


def _without(row: dict) -> str:
    """What to say of a row that the paper has no figure for."""
    return "ours alone: not in the paper" if row["where"].startswith("not in the paper") else "no published figure"


def held(claim: dict, key: str, record: dict) -> Verdict:
    """Hold what a paper says in words (`says`) against our figures; the word is that of the worst part.

    - ``check``: the claim, or its beginning with a ``*``, of a check of the run;
    - ``column`` and ``against``: the figure is no larger than those of these rows (close: by no more than a tenth), or,
      for claims such as "comparable", than 1 + ``slack`` times these;
    - ``values``: column -> what the figure should be, judged as any other.
    """
    words, results = [], record["results"]
    if "check" in claim:
        holds = [check["holds"] for check in record["checks"] if fnmatchcase(check["claim"], claim["check"])]
        words.append("reproduced" if holds and all(holds) else "differs")
    if "against" in claim:
        figure, least = (
            results[key][claim["column"]],
            min(results[other][claim["column"]] for other in claim["against"]),
        )
        over = figure / least - 1 - claim.get("slack", 0.0) if least else float(figure > 0)
        words.append("reproduced" if over <= 0 else "close" if over <= NEAR else "differs")
    if "values" in claim:
        row = {"key": key, "where": "", **claim["values"]}
        words += [_by_figures([column], row, results[key]).word for column in claim["values"]]
    return Verdict(max(words, key=WORDS.index), f"the paper says: {claim['says']}")


# The page


def table(table: dict, record: dict, notes: dict) -> tuple[str, list[Verdict]]:
    """One table, paper / ours in each cell where the paper has figures, and the verdicts of its rows."""
    columns, results = table["columns"], record["results"]
    compared = {column for row in table["rows"] for column in columns if column in row}
    heads = [f"{column}: paper / ours" if column in compared else column for column in columns]
    lines, verdicts = [["", "verdict", *heads]], []
    lines.append(["---"] * len(lines[0]))
    for row in table["rows"]:
        ours = figures(row, results)
        cells = [(f"{show(row.get(c, '–'))} / " if c in compared else "") + _ours(c, row, ours) for c in columns]
        verdicts.append(verdict(columns, row, ours, notes, record))
        lines.append([row["label"], str(verdicts[-1]), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines), verdicts


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


def in_words(verdicts: list[Verdict]) -> str:
    """How many rows have which verdict, as a sentence."""
    words, sides = count(verdicts)
    parts = [f"{word} {words[word]}" for word in WORDS if words[word]]
    beside = ", ".join(f"ours is {side} in {sides[side]}" for side in ("better", "worse") if sides[side])
    if not parts:
        return "No row has a published figure or claim."
    return f"Rows with a published figure or claim: {words.total()}; {', '.join(parts)}{f' ({beside})' * bool(beside)}."


def count(verdicts: list[Verdict]) -> tuple[Counter, Counter]:
    """How many rows have which word, and how many which side."""
    judged = [verdict for verdict in verdicts if verdict.word]
    return Counter(verdict.word for verdict in judged), Counter(verdict.side for verdict in judged if verdict.side)


def read(folder: Path) -> tuple[dict, dict, dict]:
    """paper.json, ours.json and verdicts.json of a folder; the last may be missing."""
    names = ("paper", "ours", "verdicts")
    files = [folder / f"{name}.json" for name in names]
    published, ours, notes = (json.loads(f.read_text(encoding="utf-8")) if f.exists() else {} for f in files)
    return published, ours, notes


def paper(folder: Path) -> tuple[str, str, list[Verdict]]:
    """Citation, all tables as Markdown, and the verdicts of all rows, of one paper."""
    published, ours, notes = read(folder)
    parts: list[str] = []
    total: list[Verdict] = []
    for one in published["tables"]:
        text, verdicts = table(one, ours, notes)
        total += verdicts
        parts.append(f"### {one['title']}\n\n{in_words(verdicts)}\n\n{text}")
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
        "| paper | reproduced | close | differs | ours is better in | worse in | without a published figure or claim |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for folder in folders:
        citation, _, verdicts = paper(folder)
        words, sides = count(verdicts)
        authors, title, *_ = citation.split(": ", 1)
        counts = [*(words[word] for word in WORDS), sides["better"], sides["worse"], len(verdicts) - words.total()]
        lines.append(f"| {authors}: *{title.split('. ')[0]}* | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)
