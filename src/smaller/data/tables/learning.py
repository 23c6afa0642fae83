"""The first passes over a file with columns: which of them are numbers, categories, dates or running numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .columns import Columns, Reading, is_number, listed
from .kinds import ABSENT, COMMA, COMMA_OR_THOUSANDS, DATE, DOTTED, TEXT, THOUSANDS, WRITTEN_AS_NUMBER, Texts

CATEGORIES = 200  # more different texts than this are not taken as categories
FEW = 20  # so many categories are always allowed; in fewer rows no column counts as row numbers
NUMBERS = 0.95  # with at least this share of numbers, a column counts as numbers
ROW_NAME = re.compile(
    r"(?i:(?:.*[\W_])?(?:id|ids|idx|index|nr|no|number|key|row|rowid|record|serial|uid))|.*[a-z](?:Id|ID)"
)
CATEGORICAL, BY_COMMA = "text, taken as categories", "numbers with a decimal comma"


def learn(path: Path, wanted: Reading, frames: Callable) -> tuple[Columns, int]:
    """How the columns of a file become inputs, and how many rows it has.

    Raises
    ------
    ValueError
        With a sentence for each column that cannot be an input as it is, and what to do.
    """
    text, spans, rows, names = set(), _Spans(), 0, []
    for frame in frames(path):
        names, rows = list(frame.columns), rows + len(frame)
        text |= {name for name in names if not is_number(frame[name])}
        spans.add(frame)
        wanted.progress(rows)
    if not rows:
        raise ValueError(f"{path} has no rows.")
    _check_names(path, names, wanted)
    used = [name for name in names if name != wanted.target and name not in wanted.ignore]
    row_names = _row_names(path, [name for name in used if name not in text], spans, rows, wanted, frames)
    used = [name for name in used if name not in row_names]
    if not used:
        others = (
            f" but numbers of rows, {listed(list(row_names))}; --numeric takes one as an input" if row_names else ""
        )
        raise ValueError(f"{path} has no column beside the target {wanted.target!r}{others}.")
    asked = [name for name in [*used, wanted.target] if name in text or name in wanted.categorical]
    commas = _with_commas(path, [name for name in asked if name not in wanted.categorical], wanted, frames)
    texts = _count_texts(path, [name for name in asked if name not in commas], frames)
    return _judged(texts, commas, used, row_names, rows, wanted), rows


def _check_names(path: Path, names: list[str], wanted: Reading) -> None:
    target = [wanted.target] if wanted.target else []
    asked = [*target, *wanted.categorical, *wanted.numeric, *wanted.ignore]
    missing = [name for name in asked if name not in names]
    if missing:
        bare = ". Its first line must have the names of the columns" if all(map(_is_figure, names)) else ""
        raise ValueError(f"{path} has no column {listed(missing)}; its columns are {listed(names)}{bare}.")
    twice = [name for name in wanted.categorical if name in wanted.numeric]
    if twice:
        raise ValueError(f"A column is either --categorical or --numeric; both were given for {listed(twice)}.")


def _is_figure(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Spans:
    """The least and the greatest value of each column of whole numbers."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, int]] = {}
        self.others: set[str] = set()

    def add(self, frame) -> None:
        """Update the spans with a portion of the table."""
        for name, dtype in frame.dtypes.items():
            if name in self.others:
                continue
            if getattr(dtype, "kind", "O") not in "iu":
                self.others.add(name)
                self.found.pop(name, None)
                continue
            values = frame[name].to_numpy()
            low, high = self.found.get(name, (values[0], values[0]))
            self.found[name] = min(low, values.min()), max(high, values.max())


def _row_names(path: Path, names: list[str], spans: _Spans, rows: int, wanted: Reading, frames: Callable) -> dict:
    """Columns that number the rows, each with a remark: whole numbers, all different.

    The numbers are consecutive, in any order, or the name of the column is that of an identifier.
    """
    asked = [*wanted.numeric, *wanted.categorical]
    likely = []
    for name in names:
        low, high = spans.found.get(name, (0, 0))
        length = int(high) - int(low) + 1
        if rows >= FEW and name not in asked and (length == rows or (length > rows and ROW_NAME.fullmatch(str(name)))):
            likely.append(name)
    if not likely:
        return {}
    parts = [frame[likely] for frame in frames(path, likely)]
    found = {}
    for name in likely:
        if len(np.unique(np.concatenate([part[name].to_numpy() for part in parts]))) == rows:
            low, high = spans.found[name]
            found[name] = (
                f"left out, as it numbers the rows ({low} to {high}, a different one in every row); if it is a "
                f"measurement, take it with --numeric {name!r}"
            )
    return found


def _with_commas(path: Path, names: list[str], wanted: Reading, frames: Callable) -> list[str]:
    """The columns that have numbers with a decimal comma and nothing else.

    The first portion decides whether the file has decimal commas at all.
    """
    if not names or wanted.decimal == ".":
        return []
    if wanted.decimal is None:
        look = {name: Texts() for name in names}
        first = next(iter(frames(path, names, names)))
        for name, texts in look.items():
            texts.add(first[name])
        if not any(texts.rows[COMMA] for texts in look.values()):
            return []
    left = set(names)
    for frame in frames(path, names, (), ","):
        left = {name for name in left if is_number(frame[name])}
        if not left:
            break
    return [name for name in names if name in left]


def _count_texts(path: Path, names: list[str], frames: Callable) -> dict[str, Texts]:
    texts = {name: Texts() for name in names}
    if not names:
        return texts
    for frame in frames(path, names, names):
        for name in names:
            texts[name].add(frame[name])
    return texts


def _judged(
    texts: dict[str, Texts], commas: list[str], used: list[str], remarks: dict[str, str], rows: int, wanted: Reading
) -> Columns:
    """The columns of the table by the kinds of their texts; `commas` are known to have a decimal comma."""
    by_comma = wanted.decimal == "," or bool(commas) or any(found.rows[COMMA] for found in texts.values())
    numbers = {name: found for name, found in texts.items() if _has_numbers(name, found, wanted)}
    categories = {name: found for name, found in texts.items() if name not in numbers and name != wanted.target}
    problems = [
        *(_about_numbers(name, found, by_comma, wanted) for name, found in numbers.items()),
        *(_about_dates(name, found) for name, found in texts.items() if name not in wanted.categorical),
        _about_free_text(categories, rows),
    ]
    if any(problems):
        raise ValueError(" ".join(filter(None, problems)))
    if wanted.target in numbers and (missing := numbers[wanted.target].of(ABSENT)):
        raise ValueError(
            f"The target {wanted.target!r} is missing in {numbers[wanted.target].rows[ABSENT]} of {rows} rows, where "
            f"it is {listed(missing, 3)}; remove these rows, or use --categorical {wanted.target!r} if that is a class."
        )
    return Columns(
        used,
        {name: sorted(found.counts) for name, found in categories.items()},
        _most_frequent(categories) if wanted.impute else {},
        wanted.target,
        commas=[*commas, *(name for name, found in numbers.items() if found.number(COMMA, COMMA_OR_THOUSANDS))],
        missing={name: odd for name, found in numbers.items() if (odd := found.of(TEXT, DATE))},
        remarks={
            **remarks,
            **dict.fromkeys(commas, BY_COMMA),
            **{name: _as_categories(found) for name, found in categories.items()},
            **{name: _as_numbers(found) for name, found in numbers.items()},
        },
    )


def _has_numbers(name: str, texts: Texts, wanted: Reading) -> bool:
    if name in wanted.categorical:
        return False
    numbers = texts.number(*WRITTEN_AS_NUMBER)
    return name in wanted.numeric or numbers >= NUMBERS * max(texts.present, 1)


def _about_numbers(name: str, texts: Texts, by_comma: bool, wanted: Reading) -> str:
    """Why a column of numbers cannot be read, with the remedy; empty where it can."""
    commas = (COMMA, COMMA_OR_THOUSANDS)
    separated = (*commas, THOUSANDS) if wanted.decimal == "." else (THOUSANDS,)
    if texts.number(*separated):
        return f"Column {name!r} has thousands separators, as in {listed(texts.of(*separated), 2)}; remove them."
    if texts.number(*commas) and texts.rows[DOTTED]:
        return f"Column {name!r} has two decimal marks, as in {texts.of(*commas)[0]!r} and {texts.of(DOTTED)[0]!r}."
    if texts.number(*commas) and not by_comma:
        return (
            f"Column {name!r} has numbers such as {texts.of(*commas)[0]!r}, with a decimal comma or a thousands "
            "separator; use --decimal , if it is the decimal mark, otherwise remove it."
        )
    odd = texts.number(TEXT, DATE)
    if name in wanted.numeric:
        readable = texts.number(*WRITTEN_AS_NUMBER) and not texts.more
        return "" if readable else f"Column {name!r} has too few numbers for --numeric; leave the option out."
    if odd:
        return (
            f"Column {name!r} has numbers but for {listed(texts.of(TEXT, DATE), 3)} ({odd} of {texts.present} values). "
            f"Use --numeric {name!r} to count them as missing, --categorical {name!r} to take every value as a "
            f"category, or --ignore {name!r}."
        )
    return ""


def _about_dates(name: str, texts: Texts) -> str:
    if texts.rows[DATE] < NUMBERS * max(texts.present, 1):
        return ""
    return (
        f"Column {name!r} has dates or times, such as {texts.of(DATE)[0]!r}. Put numbers in their place, such as the "
        f"year, the month, or the days since the first one; leave it out with --ignore {name!r}; or use --categorical "
        f"{name!r} to take every date as a category."
    )


def _about_free_text(categories: dict[str, Texts], rows: int) -> str:
    limit = min(CATEGORIES, max(rows // 2, FEW))
    many = {name: texts for name, texts in categories.items() if len(texts.counts) > limit}
    if not many:
        return ""
    shown = ", ".join(f"{name!r} ({_different(texts, rows)})" for name, texts in list(many.items())[:6])
    return (
        f"Columns of text are taken as categories, and these have too many: {shown}. Leave them out with --ignore, or "
        "turn them into numbers."
    )


def _different(texts: Texts, rows: int) -> str:
    odd = texts.of(TEXT, DATE, ABSENT)
    if odd and 2 * len(odd) < len(texts.counts):
        return f"numbers but for {listed(odd, 3)}"
    return f"{'more than ' if texts.more else ''}{len(texts.counts)} different texts in {rows} rows"


def _most_frequent(categories: dict[str, Texts]) -> dict[str, str]:
    return {name: texts.counts.most_common(1)[0][0] for name, texts in categories.items() if texts.counts}


def _as_categories(texts: Texts) -> str:
    numbers = texts.number(*WRITTEN_AS_NUMBER)
    share = f", though {numbers / texts.present:.0%} of the values are numbers" if 2 * numbers > texts.present else ""
    return CATEGORICAL + share


def _as_numbers(texts: Texts) -> str:
    numbers = BY_COMMA if texts.number(COMMA, COMMA_OR_THOUSANDS) else "numbers"
    absent = texts.of(ABSENT, TEXT, DATE)
    count = texts.number(ABSENT, TEXT, DATE)
    in_rows = f"in {count} row{'s' if count > 1 else ''}"
    missing = f"; {listed(absent, 3)} ({in_rows}) {'count' if len(absent) > 1 else 'counts'} as missing"
    return f"{numbers}{missing if absent else ''}"
