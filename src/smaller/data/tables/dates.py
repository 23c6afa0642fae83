"""Columns of dates and times as numbers: year, month, weekday, hour, and the days since a first date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ISO = "ISO8601"  # pandas' name for 2024-01-31, 2024-01-31T10:30 and their like
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DAY_FIRST = [f"%d{mark}%m{mark}{year}" for mark in "./-" for year in ("%Y", "%y")]
MONTH_FIRST = [f"%m{mark}%d{mark}{year}" for mark in "./-" for year in ("%Y", "%y")]
OTHERS = [
    *("%Y/%m/%d", "%Y.%m.%d", "%Y-%m", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%d. %B %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%b %Y", "%B %Y", "%b-%Y"),
]
CLOCKS = ["%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"]


class Dates(NamedTuple):
    """How a column of dates becomes inputs; kept with a model as a plain dict."""

    format: str
    parts: list[str]
    first: str  # the date that elapsed days are counted from

    def values(self, texts) -> np.ndarray:
        """One column for each part, (n, parts); NaN for missing dates, and ValueError with a text that is no date."""
        when = parsed(texts, self.format)
        odd = texts[when.isna() & texts.notna()]
        if len(odd):
            raise ValueError(odd.iloc[0])
        return np.column_stack([_part(when, part, self.first) for part in self.parts])


def parsed(texts, form: str):
    """Dates, NaT where a text does not have this format."""
    import pandas as pd

    when = pd.to_datetime(texts.str.strip(), format=form, errors="coerce", utc=True)
    return when.dt.tz_localize(None)


def _part(when, part: str, first: str) -> np.ndarray:
    return PARTS[part](when, first).to_numpy(dtype=np.float64, na_value=np.nan)


def _elapsed(when, first: str):
    import pandas as pd

    return (when - pd.Timestamp(first)) / pd.Timedelta(days=1)


ELAPSED = "days since the first"
PARTS: dict[str, Callable] = {
    "year": lambda when, first: when.dt.year,
    "month": lambda when, first: when.dt.month,
    "weekday": lambda when, first: when.dt.day_of_week + 1,  # Monday is 1
    "hour": lambda when, first: when.dt.hour + when.dt.minute / 60 + when.dt.second / 3600,
    ELAPSED: _elapsed,
}


def learn_dates(texts: list[str], day_first: bool | None) -> Dates | str:
    """How these texts are read as dates, or a sentence about why they are not."""
    import pandas as pd

    series = pd.Series(texts, dtype=object)
    clock = _fitting(series, CLOCKS)
    if clock:
        return Dates(clock[0], ["hour"], "1900-01-01")
    orders = [ISO, *_with_times(OTHERS)], _with_times(DAY_FIRST), _with_times(MONTH_FIRST)
    plain, by_day, by_month = (_fitting(series, forms) for forms in orders)
    if plain:
        return _dates(series, plain[0])
    if by_day and by_month and day_first is None:
        return f"could have the day or the month first, as in {texts[0]!r}; say which with --day-first or --month-first"
    chosen = (by_day if day_first is not False else []) or (by_month if day_first is not True else [])
    if not chosen:
        return f"are not all written in one known way, such as {texts[0]!r} and {texts[-1]!r}"
    return _dates(series, chosen[0])


def _with_times(forms: list[str]) -> list[str]:
    return [form + time for time in TIMES for form in forms]


def _fitting(series, forms: list[str]) -> list[str]:
    """The formats that every text has; the first texts rule most of them out."""
    likely = [form for form in forms if not parsed(series[:3], form).isna().any()]
    return [form for form in likely if not parsed(series, form).isna().any()]


def _dates(series, form: str) -> Dates:
    """The parts that differ between dates: those of one year have no input for the year."""
    when = parsed(series, form)
    first = when.min().normalize()
    differ = [part for part in PARTS if len(np.unique(_part(when, part, str(first)))) > 1]
    return Dates(form, differ, str(first.date()))


def from_notes(notes: Any) -> Dates:
    """The dates of a model file; refused where they are not what `learn_dates` gives."""
    found = Dates(**notes)
    if not isinstance(found.format, str) or not set(found.parts) <= set(PARTS):
        raise ValueError("a column of dates has unknown parts")
    return found
