"""What every paper's experiment shares: collect results, compare them with the published figures, write both down.

A paper's folder holds

- ``paper.json``: the citation; tables of rows with a ``key``, a ``label``, ``where`` in the paper they stand, and
  the published figures themselves under the names listed in ``columns``; ``not_yet``, what we cannot run yet. A row may
  name under ``further`` the keys of more figures of ours: ``{"own choice": key}`` fills "errors, own choice";
- ``run.py``: ``PARTS``, a table of functions ``(report, quick)`` that load data, fit models and put what they find into
  the report;
- ``ours.json``: what the last full run of each part found, with seed, versions and seconds; never edited by hand;
- ``verdicts.json``: why rows differ, and what the paper says in words alone (see ``experiments/verdicts.py``);
- ``README.md``: the comparison between the two, drawn between two markers, and the words around it.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from smaller.datasets import DatasetNotFoundError

SEED = 0
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


@dataclass
class Report:
    """What a run found. Every method also prints, so that a long run can be followed."""

    seed: int = SEED
    results: dict[str, dict[str, Any]] = field(default_factory=dict)  # key of the paper's row -> our figures
    data: dict[str, dict[str, Any]] = field(default_factory=dict)  # data set -> source and checksum
    skipped: dict[str, str] = field(default_factory=dict)  # what did not run -> why
    checks: list[dict[str, Any]] = field(default_factory=list)

    def add(self, key: str, **figures: Any) -> None:
        """Keep our figures for a row: numbers, [mean, least, greatest] over repeats, or a ``verdict`` in words."""
        self.results.setdefault(key, {}).update(figures)
        print(f"  {key}: " + ", ".join(f"{name} {show(value)}" for name, value in figures.items()), flush=True)

    def check(self, claim: str, holds: bool) -> None:
        """Keep whether a claim holds; one that does not makes the run fail."""
        self.checks.append({"claim": claim, "holds": bool(holds)})
        print(f"  {'holds' if holds else 'FAILS'}: {claim}", flush=True)

    def skip(self, what: str, why: str) -> None:
        """Name what did not run."""
        if what not in self.skipped:
            print(f"  SKIPPED {what}: {why}", flush=True)
        self.skipped[what] = why

    def load(self, name: str, loader: Callable[[], Any]) -> Any:
        """Load a data set and note where it came from, or note that it is missing and return None."""
        try:
            bunch = loader()
        except DatasetNotFoundError as error:
            self.skip(name, str(error).replace("\n  -", "").replace("\n", " "))
            return None
        self.data[name] = {"source": Path(bunch.source).name, "sha256": bunch.sha256}
        return bunch


@contextmanager
def stopwatch():
    """``with stopwatch() as seconds: ...``, then ``seconds()`` is how long the block took."""
    start = time.perf_counter()
    end = None
    yield lambda: (end or time.perf_counter()) - start
    end = time.perf_counter()


def versions() -> dict[str, str]:
    """Versions of what computed the figures."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "smaller")}
    return {"python": platform.python_version(), **packages}


def show(value: Any) -> str:
    """Give a figure as text: a number, or mean (least to greatest)."""
    if isinstance(value, list):
        mean, least, greatest = value
        return show(mean) if least == greatest else f"{show(mean)} ({show(least)} to {show(greatest)})"
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else str(value)


def figures(row: dict, results: dict) -> dict[str, Any]:
    """Our figures for a row, with those found further under other keys."""
    found = dict(results.get(row["key"], {}))
    for name, key in row.get("further", {}).items():
        found |= {f"{column}, {name}": value for column, value in results.get(key, {}).items()}
    return found


def keys(row: dict) -> list[str]:
    """Under which keys our figures for a row are kept."""
    return [row["key"], *row.get("further", {}).values()]


def comparison(paper: dict, ours: dict) -> str:
    """Draw the published figures and ours side by side, as Markdown."""
    parts = [_table(table, ours["results"]) for table in paper["tables"]]
    if skipped := {**paper.get("not_yet", {}), **ours["skipped"]}:
        parts.append("Not run:\n\n" + "\n".join(f"- {what}: {why}" for what, why in skipped.items()))
    parts.append("Checks:\n\n" + "\n".join(f"- {_verdict(check)}: {check['claim']}" for check in ours["checks"]))
    parts.append(f"Seed {ours['seed']}.\n\n" + "\n".join(f"- {_ran(*part)}" for part in ours["parts"].items()))
    return "\n\n".join(parts)


def _ran(name: str, part: dict) -> str:
    software = ", ".join(f"{package} {number}" for package, number in part["versions"].items())
    return f"{name}: {part['seconds']:.0f} seconds, {software}"


def _verdict(check: dict) -> str:
    return "holds" if check["holds"] else "**fails**"


def _table(table: dict, results: dict) -> str:
    judged = any("verdict" in results.get(row["key"], {}) for row in table["rows"])
    further = {f", {name}" for row in table["rows"] for name in row.get("further", {})}
    sides = [  # what the paper has no figures for is drawn once
        (column, whose)
        for column in table["columns"]
        for whose in (("ours",) if column.endswith(tuple(further)) else ("paper", "ours"))
    ]
    header = ["", *[f"{column}, {whose}" for column, whose in sides]]
    header += [*(["verdict"] if judged else []), "where in the paper"]
    lines = [header, ["---"] * len(header)]
    for row in table["rows"]:
        ours = figures(row, results)
        cells = [show((row if whose == "paper" else ours).get(column, "–")) for column, whose in sides]
        verdict = [ours.get("verdict", "–")] if judged else []
        lines.append([row["label"], *cells, *verdict, row["where"]])
    return f"### {table['title']}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def insert(document: str, text: str) -> str:
    """Put text between the markers of a document."""
    before, rest = document.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def write(path: Path, text: str) -> None:
    """Write a file in one step, so that an interrupted run leaves the old one."""
    scratch = path.with_name(path.name + ".part")
    scratch.write_text(text, encoding="utf-8")
    os.replace(scratch, path)


Part = Callable[[Report, bool], None]


def carry_out(folder: Path, parts: dict[str, Part], quick: bool, only: list[str] | None = None) -> bool:
    """Run one paper's parts; write its files after full and complete runs; say whether all checks hold."""
    print(f"{folder.name}{' (quick)' if quick else ''}", flush=True)
    recorded = folder / "ours.json"
    reports, skipped = [], {}
    for name in only or parts:
        report = Report()
        with stopwatch() as seconds:
            parts[name](report, quick)
        skipped |= report.skipped
        reports.append((name, report, seconds()))
    # Read only now, so that parts may run side by side.
    ours = json.loads(recorded.read_text(encoding="utf-8")) if only and recorded.exists() else _nothing()
    for found in reports:
        ours = _with(ours, *found)
    paper = json.loads((folder / "paper.json").read_text(encoding="utf-8"))
    print(f"\n{comparison(_rows_run(paper, ours) if quick else paper, ours)}\n", flush=True)
    if quick or skipped:
        why = "a quick run" if quick else f"a run without {', '.join(skipped)}"
        print(f"{folder.name}: ours.json and README.md were left alone by {why}.", flush=True)
    else:
        write(recorded, json.dumps(ours, indent=1, ensure_ascii=False) + "\n")
        readme = folder / "README.md"
        write(readme, insert(readme.read_text(encoding="utf-8"), comparison(paper, ours)))
    return all(check["holds"] for check in ours["checks"])


def _nothing() -> dict[str, Any]:
    return {"seed": SEED, "parts": {}, "data": {}, "results": {}, "checks": [], "skipped": {}}


def _with(ours: dict[str, Any], part: str, report: Report, seconds: float) -> dict[str, Any]:
    """What was known before, with this part's findings in the place of its old ones."""
    again = {check["claim"] for check in report.checks}
    return {
        "seed": report.seed,
        "parts": {**ours["parts"], part: {"seconds": round(seconds, 1), "versions": versions()}},
        "data": {**ours["data"], **report.data},
        "results": {**ours["results"], **report.results},
        "checks": [check for check in ours["checks"] if check["claim"] not in again] + report.checks,
        "skipped": {**ours["skipped"], **report.skipped},
    }


def _rows_run(paper: dict, ours: dict) -> dict:
    """Keep the rows that a quick run has something to say about."""
    run = set(ours["results"])
    tables = [{**table, "rows": [row for row in table["rows"] if run & set(keys(row))]} for table in paper["tables"]]
    return {**paper, "tables": [table for table in tables if table["rows"]]}
