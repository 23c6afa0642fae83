"""Predictions line by line, for pipes: CSV lines on standard input, CSV lines on standard output."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..data.tables import Reading
from ..data.tables.frames import in_portions
from ..data.tables.last_pass import read_columns
from ..data.tables.writing_csv import unescaped, write_csv
from .models import Fitted


def check_stream(data: Path, output: Path | None, keep: list[str] | None, prior_shift: str | None) -> None:
    """Refuse options that need the whole table."""
    if str(data) != "-":
        raise ValueError(
            f"--stream reads standard input: give - instead of {data}, as in: smaller predict my.model - --stream"
        )
    given = {"--output": output, "--keep": keep, "--prior-shift": prior_shift}
    named = [name for name, value in given.items() if value]
    if named:
        raise ValueError(
            f"--stream answers line by line on standard output, without {', '.join(named)}; leave them out."
        )


def answer_lines(fitted: Fitted, answers: Callable) -> None:
    """Answer every line as it comes; the first line has the names of the columns."""
    import pandas as pd

    lines = iter(sys.stdin.readline, "")
    header = next(lines, "").removeprefix("\ufeff")
    separator = max(",;\t|", key=header.count)
    names = [unescaped(name) for name in next(csv.reader([header.rstrip("\r\n")], delimiter=separator), [])]
    if not names:
        raise ValueError("Standard input is empty; its first line must have the names of the columns.")
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        cells = next(csv.reader([line.rstrip("\r\n")], delimiter=separator))
        if len(cells) != len(names):
            raise ValueError(f"Line {number} has {len(cells)} values, and the first line names {len(names)} columns.")
        row = pd.DataFrame([[unescaped(cell) or None for cell in cells]], columns=names, dtype=object)
        text = write_csv(answers(_inputs(row, fitted, number))) or ""
        head, _, body = text.partition("\n")
        sys.stdout.write(f"{head}\n{body}" if number == 2 else body)
        sys.stdout.flush()


def _inputs(row, fitted: Fitted, number: int):
    frames = partial(_portions, row, fitted.columns.na)
    try:
        return read_columns("Standard input", Reading(columns=fitted.columns), frames).X
    except ValueError as error:
        raise ValueError(f"Line {number}: {error}") from None


def _portions(row, na: list[str], names=None, text=(), decimal: str = "."):
    return in_portions(row, names, text, na)
