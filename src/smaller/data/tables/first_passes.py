"""The first passes over a file with columns: which of them are numbers, categories, dates or identifiers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

from .column_kinds import EMPTY, judged
from .columns import Columns, Reading, is_figure, is_number, listed
from .identifiers import (
    FEW,
    LIKE_CODES,
    LIKE_DATES,
    DistinctTexts,
    Spans,
    about_numbers_of_rows,
    distinct_numbers,
    like_codes,
    like_dates,
)
from .text_kinds import COMMA, DOTTED, DOTTED_THOUSANDS, Texts


class Study(NamedTuple):
    """What the columns of a table were found to be."""

    columns: Columns
    rows: int
    problems: dict[str, str]  # for columns that cannot be read as they are: why, and what to do
    names: list[str]  # every column of the table


def learn(path: Any, wanted: Reading, frames: Callable, floats: Collection[str] = ()) -> tuple[Columns, int]:
    """How the columns of a file become inputs, and how many rows it has; `floats` are known to have decimal numbers.

    Raises
    ------
    ValueError
        With a sentence for each column that cannot be an input as it is, and what to do.
    """
    found = study(path, wanted, frames, floats)
    if found.problems:
        raise ValueError(" ".join(found.problems.values()))
    if not found.columns.names:
        others = f" but columns that were left out. {' '.join(found.columns.told())}" if found.columns.remarks else "."
        raise ValueError(f"{path} has no column beside the target {wanted.target!r}{others}")
    return found.columns, found.rows


def study(path: Any, wanted: Reading, frames: Callable, floats: Collection[str] = ()) -> Study:
    """The kinds of all columns, and the problems of those that cannot be read; `path` is for messages."""
    text, spans, rows = set[str](), Spans(), 0
    empty: list[str] = []
    names, left = _left_to_read(frames, floats)
    for frame in frames(left):
        empty = [name for name in (empty if rows else frame.columns) if frame[name].isna().all()]
        names, rows = names or list(frame.columns), rows + len(frame)
        text |= {name for name, kind in frame.dtypes.items() if name not in text and not is_number(kind)}
        spans.add(frame)
        wanted.progress(rows)
    if not rows:
        raise ValueError(f"{path} has no rows.")
    _check_names(path, names, wanted)
    used = [name for name in names if name != wanted.target and name not in wanted.ignore]
    plain = [name for name in used if name not in {*text, *wanted.numeric, *wanted.categorical}]
    numbered = distinct_numbers(plain, spans, rows, frames)
    empty = [name for name in plain if name in empty]
    left_out = [*empty, *(name for name, are_names in numbered.items() if are_names)]
    used = [name for name in used if name not in left_out]
    asked = [name for name in [*used, wanted.target] if name in text or name in wanted.categorical]
    commas = _with_commas([name for name in asked if name not in wanted.categorical], wanted, frames)
    texts, distinct = _count_texts([name for name in asked if name not in commas], frames)
    texts |= _dotted([name for name in plain if name not in spans.found], texts, commas, wanted, frames)
    remarks = {name: about_numbers_of_rows(name, spans, are_names) for name, are_names in numbered.items()}
    remarks |= dict.fromkeys(empty, EMPTY) | {name: LIKE_DATES for name in like_dates(spans) if name in used}
    whole = [name for name in plain if name in used and name in spans.found and name not in remarks]
    remarks |= {name: LIKE_CODES.format(name) for name in like_codes(whole, frames)}
    columns, problems = judged(texts, distinct, commas, used, remarks, rows, wanted)
    return Study(replace(columns, na=list(wanted.na), encoding=wanted.encoding), rows, problems, names)


def _left_to_read(frames: Callable, floats: Collection[str]) -> tuple[list[Any], list[str] | None]:
    """The columns of the first portion, and those of which all portions have to be read (None: of all columns).

    A column of decimal numbers is known once it has a value.
    """
    first = next(iter(frames()), None) if floats else None
    if first is None:
        return [], None
    names = list(first.columns)
    return names, [name for name in names if name not in floats or first[name].isna().all()] or names[:1]


def _check_names(path: Any, names: list[str], wanted: Reading) -> None:
    target = [wanted.target] if wanted.target else []
    asked = [*target, *wanted.categorical, *wanted.numeric, *wanted.ignore]
    missing = [name for name in asked if name not in names]
    if missing:
        no_names = len(names) == 1 or all(map(is_figure, names))
        bare = ". Its first line must have the names of the columns" if no_names else ""
        raise ValueError(f"{path} has no column {listed(missing)}; its columns are {listed(names)}{bare}.")
    twice = [name for name in wanted.categorical if name in wanted.numeric]
    if twice:
        raise ValueError(f"A column is either --categorical or --numeric; both were given for {listed(twice)}.")


def _with_commas(names: list[str], wanted: Reading, frames: Callable) -> list[str]:
    """The columns that have numbers with a decimal comma and nothing else.

    The first portion decides whether the file has decimal commas at all.
    """
    if not names or wanted.decimal == "." or wanted.thousands == ",":
        return []
    if wanted.decimal is None:
        look = {name: Texts() for name in names}
        first = next(iter(frames(names, names)))
        for name, texts in look.items():
            texts.add(first[name])
        if not any(texts.rows[COMMA] for texts in look.values()):
            return []
    left = set(names)
    for frame in frames(names, (), ","):
        left = {name for name in left if is_number(frame[name])}
        if not left:
            break
    return [name for name in names if name in left]


def _count_texts(names: list[str], frames: Callable) -> tuple[dict[str, Texts], list[str]]:
    """The texts of these columns, and the columns that have a different text in every row."""
    texts, distinct, rows = {name: Texts() for name in names}, {name: DistinctTexts() for name in names}, 0
    if not names:
        return texts, []
    for frame in frames(names, names):
        rows += len(frame)
        for name in names:
            texts[name].add(frame[name])
            distinct[name].add(frame[name])
    return texts, [name for name in names if rows >= FEW and distinct[name].hold()]


def _dotted(names: list[str], texts: dict[str, Texts], commas: list[str], wanted: Reading, frames: Callable) -> dict:
    """The texts of decimal numbers such as 1.234, where a dot may be a mark between thousands.

    That is so with --thousands . and where other columns of the table have decimal commas.
    """
    by_comma = wanted.decimal == "," or commas or any(found.rows[COMMA] for found in texts.values())
    if wanted.thousands != "." and (not by_comma or wanted.thousands is not None):
        return {}
    found, _ = _count_texts(names, frames)
    alike = {name: [text for text in seen.of(DOTTED) if text] for name, seen in found.items()}
    return {
        name: found[name]
        for name, dotted in alike.items()
        if dotted and all(DOTTED_THOUSANDS.fullmatch(text.strip()) for text in dotted)
    }
