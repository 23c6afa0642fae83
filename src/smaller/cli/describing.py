"""The command describe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.tables import ColumnReport, describe_table
from .models import how_to_read
from .terminal import grid, say, working


def describe(
    data: Path,
    target: str | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Show what every column of a table is read as, and what to do where it cannot be read."""
    with working(f"Reading {data.name}") as tick:
        columns = describe_table(data, target=target, progress=tick, **how_to_read(reading))
    rows = [[c.name, c.read_as, c.missing, _distinct(c), c.values, c.remark] for c in columns]
    grid(
        ["column", "read as", "missing", "different", "values", "what was done, or what to do"],
        rows,
        texts=(0, 1, 4, 5),
    )
    say(_summary(columns))


def _distinct(column: ColumnReport) -> str:
    return f"> {column.distinct}" if column.more else str(column.distinct)


def _summary(columns: list[ColumnReport]) -> str:
    problems = sum(column.read_as == "problem" for column in columns)
    missing = [column.name for column in columns if column.missing and column.inputs]
    inputs = sum(column.inputs for column in columns)
    one = problems == 1
    parts = [
        f"{len(columns)} columns become {inputs} input{'' if inputs == 1 else 's'}.",
        f"{problems} {'column needs an option' if one else 'columns need an option'} before a model can be fitted."
        if problems
        else "",
        "Values are missing: fit with --impute, or leave these columns out." if missing else "",
    ]
    return " ".join(filter(None, parts))
