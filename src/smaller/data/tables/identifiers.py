"""Columns that identify the rows: whole numbers or texts that are different in every row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

FEW = 20  # in fewer rows no column counts as an identifier
ROW_NAME = re.compile(
    r"(?i:(?:.*[\W_])?(?:id|ids|idx|index|nr|no|number|key|row|rowid|record|serial|uid))|.*[a-z](?:Id|ID)"
)

COMPACT_DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
LIKE_DATES = "numbers; if they are dates such as 20240131, write them as 2024-01-31"
LIKE_CODES = (
    "numbers, some written with zeros in front; if they name things, as postal codes do, use --categorical {!r}"
)


class Spans:
    """The least and the greatest value of each column of whole numbers, and whether a portion has a number twice."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, int]] = {}
        self.others: set[str] = set()
        self.repeated: set[str] = set()

    def add(self, frame) -> None:
        """Update the spans with a portion of the table."""
        for name, dtype in frame.dtypes.items():
            if name in self.others:
                continue
            gaps = not isinstance(dtype, np.dtype) and frame[name].isna().any()  # whole numbers of pandas may have them
            if getattr(dtype, "kind", "O") not in "iu" or gaps or not len(frame):
                self.others.add(name)
                self.found.pop(name, None)
                continue
            values = frame[name].to_numpy()
            low, high = self.found.get(name, (values[0], values[0]))
            self.found[name] = min(low, values.min()), max(high, values.max())
            if name not in self.repeated and len(np.unique(values)) < len(values):
                self.repeated.add(name)


class DistinctTexts:
    """Whether the texts of a column are different in every row: 8 bytes for each row, until a text comes twice."""

    def __init__(self) -> None:
        self.hashes: list[np.ndarray] | None = []

    def add(self, column) -> None:
        """Take a portion of the column into account."""
        from pandas.util import hash_pandas_object

        if self.hashes is None:
            return
        hashes = hash_pandas_object(column, index=False).to_numpy()
        known = column.notna().all() and len(np.unique(hashes)) == len(hashes)
        self.hashes = [*self.hashes, hashes] if known else None

    def hold(self) -> bool:
        """Whether every row has a text of its own."""
        return self.hashes is not None and len(np.unique(np.concatenate(self.hashes))) == sum(map(len, self.hashes))


def like_dates(spans: Spans) -> list[str]:
    """The columns of whole numbers whose ends are dates without separators, such as 20240131."""
    return [name for name, ends in spans.found.items() if all(COMPACT_DATE.fullmatch(str(end)) for end in ends)]


def like_codes(names: Sequence[str], frames: Callable) -> list[str]:
    """The columns of which the first portion has numbers written with zeros in front, such as 01067."""
    if not names:
        return []
    first = next(iter(frames(names, names)))
    return [name for name in names if first[name].astype(str).str.strip().str.fullmatch(r"0\d+").any()]


def distinct_numbers(names: Sequence[str], spans: Spans, rows: int, frames: Callable) -> dict[str, bool]:
    """The columns of whole numbers that are different in every row, and whether they number the rows.

    They number the rows where they are consecutive, in any order, or where the name of the column is that of an
    identifier.
    """
    sizes = {name: int(high) - int(low) + 1 for name, (low, high) in spans.found.items() if name in names}
    likely = [name for name, size in sizes.items() if size >= rows >= FEW and name not in spans.repeated]
    if not likely:
        return {}
    parts = [frame[likely] for frame in frames(likely)]
    distinct = [
        name for name in likely if len(np.unique(np.concatenate([part[name].to_numpy() for part in parts]))) == rows
    ]
    return {name: sizes[name] == rows or bool(ROW_NAME.fullmatch(str(name))) for name in distinct}


def about_numbers_of_rows(name: str, spans: Spans, are_names: bool) -> str:
    """The remark on a column of whole numbers that are different in every row."""
    low, high = spans.found[name]
    if are_names:
        return (
            f"left out, as it numbers the rows ({low} to {high}, a different one in every row); if it is a "
            f"measurement, take it with --numeric {name!r}"
        )
    return (
        f"numbers, a different whole number in every row; if they identify the rows, leave it out with --ignore "
        f"{name!r}, and if they are measurements, --numeric {name!r} says so"
    )
