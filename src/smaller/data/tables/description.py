"""A report on the columns of a table before anything is fitted: what each was read as, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import Reading, is_number
from .first_passes import Study, study
from .frames import FRAMES, ending_of, portions
from .source import source_of

COUNTED = 10_000  # different values of a column that are counted


class ColumnReport(NamedTuple):
    """What one column of a table was read as."""

    name: str
    read_as: str  # "numbers", "categories", "dates", "left out", "target" or "problem"
    inputs: int  # columns of X that it becomes
    missing: int
    distinct: int  # different values
    more: bool  # whether there are more different values than were counted
    values: str  # the range of numbers, or some of the texts
    remark: str  # what was done, or the problem with its remedy


class _Values:
    """Missing and different values of one column."""

    def __init__(self) -> None:
        self.missing, self.seen, self.more = 0, dict[Any, int](), False

    def add(self, column) -> None:
        counts = column.value_counts()
        self.missing += int(column.isna().sum())
        for value, count in counts.items():
            if value in self.seen or len(self.seen) < COUNTED:
                self.seen[value] = self.seen.get(value, 0) + count
            else:
                self.more = True

    def shown(self) -> str:
        if not self.seen:
            return ""
        if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in self.seen):
            low, high = min(self.seen), max(self.seen)
            return f"{low:.6g} to {high:.6g}" if not self.more else "many numbers"
        frequent = sorted(self.seen, key=self.seen.__getitem__, reverse=True)[:3]
        return ", ".join(str(value)[:20] for value in frequent) + (", ..." if len(self.seen) > 3 else "")


def describe_table(path, **wanted: Any) -> list[ColumnReport]:
    """What every column of a file is read as, how many values are missing or different, and what to do about problems.

    Parameters
    ----------
    path : str or path
        A file with named columns.
    **wanted
        The fields of :class:`Reading`, such as ``target`` and ``categorical``.

    Returns
    -------
    list of ColumnReport
        One for each column, in the order of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smaller.tables import describe_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("size;colour;kind\\n1,5;red;a\\n?;blue;b\\n3,0;green;b\\n")
    ...     for column in describe_table(file, target="kind"):
    ...         print(f"{column.name}, {column.read_as}, {column.missing} missing: {column.remark or '-'}")
    size, numbers, 1 missing: numbers with a decimal comma; '?' (in 1 row) counts as missing
    colour, categories, 0 missing: text, taken as categories
    kind, target, 0 missing: -
    """
    path = Path(path)
    if ending_of(path) not in FRAMES:
        raise ValueError(
            f"{path} has no named columns to describe; the endings of those that have are .{', .'.join(FRAMES)}."
        )
    reading = Reading(**wanted)
    frames = portions(source_of(path), reading)
    return described(study(path, reading, frames), reading, frames)


def described(found: Study, wanted: Reading, frames: Callable) -> list[ColumnReport]:
    """The columns of a study, with their missing and different values counted in one more pass."""
    values = {name: _Values() for name in found.names}
    for frame in frames(None, found.columns.as_text, "," if found.columns.commas else "."):
        for name, counted in values.items():
            counted.add(_as_values(frame[name], found))
    return [_report(name, values[name], found, wanted) for name in found.names]


def _as_values(column, found: Study):
    """The column with NaN for its missing values, where the study can read it as numbers."""
    import pandas as pd

    name, columns = column.name, found.columns
    if is_number(column) or name in found.problems or name in [*columns.categories, *columns.dates]:
        return column
    if name in columns.names or name in [*columns.commas, *columns.missing, *columns.thousands]:
        return pd.Series(columns.numbers(column))
    return column


def _report(name: str, values: _Values, found: Study, wanted: Reading) -> ColumnReport:
    columns = found.columns
    kinds = {"problem": found.problems, "target": [wanted.target], "dates": columns.dates,
             "categories": columns.categories, "numbers": columns.names}  # fmt: skip
    read_as = next((kind for kind, names in kinds.items() if name in names), "left out")
    remark = found.problems.get(name, columns.remarks.get(name, "")) or ("--ignore" if name in wanted.ignore else "")
    inputs = len(columns.inputs_of(name)) if name in columns.names else 0
    return ColumnReport(name, read_as, inputs, values.missing, len(values.seen), values.more, values.shown(), remark)
