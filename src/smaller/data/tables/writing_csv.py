"""Text in CSV files that a spreadsheet would take for a formula (CSV injection): how it is written, and read back.

A cell that begins with one of ``= + - @``, a tab or the end of a line is written with an apostrophe before it, which
makes it text in a spreadsheet. Numbers stay as they are, negative ones too. Reading removes the apostrophe, so that a
table that this package wrote is read back as it was; a cell that had such an apostrophe is written with one more.
"""

from __future__ import annotations

import re
from typing import Any

from .columns import is_number

FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four are = + - @ in full width
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def escaped(text: Any) -> Any:
    """A text that no spreadsheet takes for a formula; values that are no text are returned unchanged."""
    if isinstance(text, str) and FORMULA.match(text) and not NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def unescaped(text: Any) -> Any:
    """The inverse of `escaped`."""
    return text[1:] if isinstance(text, str) and text.startswith("'") and FORMULA.match(text) else text


def write_csv(frame, target=None, compression: str | None = None, header: bool = True) -> str | None:
    """Write a data frame to a file, with formulas escaped; without a file, return the text."""
    return _changed(frame, escaped).to_csv(target, index=False, compression=compression, header=header)


def as_read(frame):
    """A data frame that was read from CSV, with its names and texts unescaped."""
    return _changed(frame, unescaped, _with_apostrophes)


def _changed(frame, change, is_concerned=None):
    """The frame with names and texts changed, those of all columns that are no numbers, or only of some of these."""
    frame = frame.copy(deep=False)
    for name in frame.columns:
        if not is_number(frame[name]) and (is_concerned is None or is_concerned(frame[name])):
            frame[name] = frame[name].map(change, na_action="ignore")
    return frame.rename(columns=change)


def _with_apostrophes(column) -> bool:
    """Whether some text begins with an apostrophe: asking this is many times faster than a call for each text."""
    from pandas.api.types import is_bool_dtype

    return not is_bool_dtype(column) and bool(column.str.startswith("'", na=False).any())
