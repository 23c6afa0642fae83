"""Kinds of texts in a column: numbers, numbers with a decimal comma, missing values, dates, or text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np

# Texts that mean a missing value, in lower case; pandas recognises some of them itself.
MISSING = frozenset(
    [
        *("", "?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*"),
        *(
            "na",
            "n/a",
            "n.a.",
            "n.a",
            "n. a.",
            "#n/a",
            "#na",
            "<na>",
            "nan",
            "null",
            "nil",
            "none",
            "n/d",
            "n.d.",
            "nd",
        ),
        *("missing", "unknown", "not available", "not applicable", "k.a.", "k. a."),
        *("#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"),
    ]
)
NUMBER, DOTTED = "number", "number with a decimal point"
COMMA, COMMA_OR_THOUSANDS, THOUSANDS = "decimal comma", "comma before three digits", "thousands separators"
DATE, ABSENT, TEXT = "date", "missing", "text"
WRITTEN_AS_NUMBER = (NUMBER, DOTTED, COMMA, COMMA_OR_THOUSANDS, THOUSANDS)

_DAY, _MONTH, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:1[5-9]|2\d)\d\d"
_NAME = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m)?(?: ?(?:z|utc|[+-]\d\d:?\d\d))?"
_DATES = (
    rf"{_YEAR}-{_MONTH}(?:-{_DAY})?|{_YEAR}([/.]){_MONTH}\1{_DAY}",
    rf"{_DAY}([-/.]){_MONTH}\2(?:{_YEAR}|\d\d)|{_MONTH}([-/.]){_DAY}\3(?:{_YEAR}|\d\d)",
    rf"{_DAY}[ .-]+{_NAME}[ ,-]*(?:{_YEAR}|\d\d)|{_NAME} {_DAY},? {_YEAR}|{_NAME}[ -]{_YEAR}",
)
DATES = rf"(?:(?:{'|'.join(_DATES)})(?:[t ]+{_TIME})?|{_TIME})"

_UNIT = re.compile(r"(?:([$£¥€]) ?)?[+-]?\d[\d.,']*(?: ?([%‰°$£¥€]|[^\W\d_]{1,8}(?:/[^\W\d_]{1,8})?))?")

TEXTS_KEPT = 2_000  # different texts of a column that are counted


def kinds_of(texts) -> np.ndarray:
    """The kind of each text; `texts` is a pandas Series of text."""
    import pandas as pd

    plain = _plain(texts)
    kinds = np.full(len(plain), TEXT, dtype=object)
    is_number = pd.to_numeric(plain, errors="coerce").notna().to_numpy()
    kinds[is_number] = NUMBER
    kinds[is_number & plain.str.contains(".", regex=False).to_numpy(dtype=bool)] = DOTTED
    places, rest = np.flatnonzero(~is_number), plain[~is_number].str.lower()
    for kind, matches in TESTS.items():
        found = matches(rest).to_numpy(dtype=bool)
        kinds[places[found]] = kind
        places, rest = places[~found], rest[~found]
    return kinds


def _plain(texts):
    """The texts without spaces at the ends, and with the minus sign of typesetters as that of programs."""
    return texts.str.strip().str.replace("\N{MINUS SIGN}", "-", regex=False)


def unit_of(text: str) -> str:
    """The unit of a number such as "12 kg", "5 %" or "$ 3.50"; empty for other texts."""
    found = _UNIT.fullmatch(text.strip())
    return (found[1] or found[2] or "") if found else ""


def _matching(pattern: str) -> Callable:
    return lambda texts: texts.str.fullmatch(pattern)


# Tried in this order: the first pattern that matches gives the kind.
TESTS: dict[str, Callable] = {
    ABSENT: lambda texts: texts.isin(MISSING),
    COMMA_OR_THOUSANDS: _matching(r"[+-]?[1-9]\d{0,2},\d{3}"),
    COMMA: _matching(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"),
    THOUSANDS: _matching(
        r"[+-]?\d{1,3}(?:(?:,\d{3})+(?:\.\d*)?|(?:\.\d{3})+(?:,\d*)?|(?:[ '\u00a0\u202f]\d{3})+(?:[.,]\d*)?)"
    ),
    DATE: _matching(DATES),
}


class Texts:
    """The texts of one column, counted; and how many rows are of which kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # of the first TEXTS_KEPT different texts
        self.rows: Counter[str] = Counter()
        self.kinds: dict[str, str] = {}
        self.more = False  # whether there are texts that are not counted

    def add(self, column) -> None:
        """Count a portion of the column, a Series of text."""
        found = column.dropna().astype(str).value_counts()
        known = found.index.isin(list(self.kinds))
        for text, count in found[known].items():
            self.counts[text] += count
            self.rows[self.kinds[text]] += count
        self._add_new(found[~known])

    def _add_new(self, found) -> None:
        if not len(found):
            return
        kinds, counts = kinds_of(found.index.to_series()), found.to_numpy()
        for kind in np.unique(kinds):
            self.rows[kind] += int(counts[kinds == kind].sum())
        # Texts that are no numbers come first, since messages quote them.
        order = np.argsort(np.isin(kinds, WRITTEN_AS_NUMBER), kind="stable")
        room = order[: max(TEXTS_KEPT - len(self.kinds), 0)]
        self.more |= len(room) < len(order)
        for text, kind, count in zip(found.index[room], kinds[room], counts[room].tolist(), strict=True):
            self.kinds[text], self.counts[text] = kind, count

    def unit(self, share: float) -> str:
        """The unit that this share of the values has at least, all of them numbers; empty without one."""
        units: Counter[str] = Counter()
        for text in self.of(TEXT):
            units[unit_of(text)] += self.counts[text]
        del units[""]
        most, rows = units.most_common(1)[0] if units else ("", 0)
        return most if rows >= share * self.present else ""

    def of(self, *kinds: str) -> list[str]:
        """The texts of these kinds, the most frequent first."""
        return [text for text, _ in self.counts.most_common() if self.kinds[text] in kinds]

    def alike(self) -> str:
        """Two texts that differ only in case or in spaces at their ends, in quotes; empty without such texts."""
        plain: dict[str, str] = {}
        for text in self.counts:
            other = plain.setdefault(text.strip().casefold(), text)
            if other != text:
                return f"{other!r} and {text!r}"
        return ""

    def number(self, *kinds: str) -> int:
        """How many rows have texts of these kinds."""
        return sum(self.rows[kind] for kind in kinds)

    @property
    def most_frequent(self) -> str:
        """The most frequent text."""
        return self.counts.most_common(1)[0][0]

    @property
    def present(self) -> int:
        """Rows that have a value."""
        return sum(self.rows.values()) - self.rows[ABSENT]


def as_numbers(column, comma: bool = False, missing: frozenset[str] = frozenset(), thousands: str = "") -> np.ndarray:
    """A column of numbers that may be written as text; texts for a missing value become NaN.

    Raises
    ------
    ValueError
        With the first text that is neither; `missing` has further texts that mean a missing value.
    """
    import pandas as pd

    is_text = isinstance(column.dtype, pd.StringDtype)  # every value of an object column is converted to text
    texts = (column if is_text else column.astype(object).where(column.isna(), column.astype(str))).pipe(_plain)
    plain = _without_thousands(texts, thousands) if thousands else texts
    numbers = pd.to_numeric(plain.str.replace(",", ".", regex=False) if comma else plain, errors="coerce")
    unread = texts[numbers.isna() & column.notna()]
    odd = unread[~(unread.str.lower().isin(MISSING) | unread.isin(missing))]
    if len(odd):
        raise ValueError(odd.iloc[0])
    return numbers.to_numpy(dtype=np.float64)


def _without_thousands(texts, mark: str):
    """The texts without the mark between thousands; a text in which it stands elsewhere is left as it is."""
    spaces = "[ \u00a0\u202f]" if mark == " " else re.escape(mark)
    grouped = texts.str.fullmatch(rf"[+-]?\d{{1,3}}(?:{spaces}\d{{3}})+(?:[.,]\d*)?(?:[eE][+-]?\d+)?").astype(bool)
    return texts.where(~grouped, texts.str.replace(rf"{spaces}(?=\d{{3}})", "", regex=True)).mask(
        ~grouped & texts.str.contains(spaces).astype(bool), "?"
    )


def mark_of_thousands(text: str) -> str:
    """The mark between thousands of a number such as 1,234,567; every kind of space counts as a space."""
    mark = re.sub(r"^[+-]?\d+", "", text.strip())[:1]
    return " " if mark in "\u00a0\u202f" else mark


DOTTED_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")  # 1.234 may be a thousand or a decimal number
