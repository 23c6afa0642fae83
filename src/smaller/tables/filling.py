"""Two passes over a file with columns: learn what they are, then fill an array of the final size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Columns, Reading, Table, is_number, labels, listed

CATEGORIES = 200  # a column of more different texts is hardly a category
FEW = 20  # texts are not too many, however few the rows


def read_columns(path: Path, wanted: Reading, frames: Callable) -> Table:
    """The inputs, by the columns of a model or by those found."""
    if wanted.columns is None:
        columns, rows = _learn(path, wanted, frames)
    else:
        columns, rows = wanted.columns, None
    return _fill(path, wanted, frames, columns, rows)


def _learn(path: Path, wanted: Reading, frames: Callable) -> tuple[Columns, int]:
    """The first pass: how many rows, which columns are numbers, and the texts of the others."""
    text, rows, names = set(wanted.categorical), 0, []
    for frame in frames(path):
        names, rows = list(frame.columns), rows + len(frame)
        text |= {name for name in names if not is_number(frame[name])}
        wanted.progress(rows)
    if not rows:
        raise ValueError(f"{path} has no rows.")
    _check_names(path, names, wanted)
    used = [name for name in names if name != wanted.target and name not in wanted.ignore]
    if not used:
        raise ValueError(f"{path} has no column beside the target {wanted.target!r}.")
    counts = _count_texts(path, [name for name in used if name in text], frames)
    _refuse_free_text(counts, rows)
    fill = {name: count.most_common(1)[0][0] for name, count in counts.items() if count} if wanted.impute else {}
    return Columns(used, {name: sorted(count) for name, count in counts.items()}, fill, wanted.target), rows


def _check_names(path: Path, names: list[str], wanted: Reading) -> None:
    asked = [*([wanted.target] if wanted.target else []), *wanted.categorical, *wanted.ignore]
    missing = [name for name in asked if name not in names]
    if missing:
        bare = ". Its first line must have the names of the columns" if all(map(_is_figure, names)) else ""
        raise ValueError(f"{path} has no column {listed(missing)}; its columns are {listed(names)}{bare}.")


def _is_figure(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _count_texts(path: Path, names: list[str], frames: Callable) -> dict[str, Counter]:
    counts: dict[str, Counter] = {name: Counter() for name in names}
    if not names:
        return counts
    for frame in frames(path, names, names):
        for name in names:
            counts[name].update(frame[name].dropna().astype(str).value_counts().to_dict())
    return counts


def _refuse_free_text(counts: dict[str, Counter], rows: int) -> None:
    limit = min(CATEGORIES, max(rows // 2, FEW))
    many = [(name, len(count)) for name, count in counts.items() if len(count) > limit]
    if many:
        told = ", ".join(f"{name!r} ({_about(counts[name], rows)})" for name, _ in many[:6])
        raise ValueError(
            f"Columns of text are taken as categories, and these have too many: {told}. Leave them out with --ignore, "
            "or turn them into numbers."
        )


def _about(texts: Counter, rows: int) -> str:
    odd = [text for text in texts if not _is_figure(text)]
    if 2 * len(odd) < len(texts):
        return f"numbers but for {listed(odd, 3)}"
    return f"{len(texts)} different texts in {rows} rows"


def _fill(path: Path, wanted: Reading, frames: Callable, columns: Columns, rows: int | None) -> Table:
    """The second pass: numbers into an array of the final size; missing values are NaN until they are counted."""
    target = [wanted.target] if wanted.target else []
    rows = (
        sum(len(frame) for frame in frames(path, _present(path, columns, target, frames)[:1])) if rows is None else rows
    )
    # Column by column, as solvers want it: in another order they would pack a copy.
    X, found, unseen, start = np.empty((rows, len(columns.inputs)), order="F"), [], Counter[str](), 0
    for frame in frames(path, [*columns.names, *target], list(columns.categories)):
        stop = start + len(frame)
        _fill_rows(X[start:stop], frame, columns, unseen)
        found += [frame[name].to_numpy() for name in target]
        wanted.progress(start := stop)
    columns = _impute(X, columns, wanted, unseen)
    return Table(X, labels(found, wanted.target) if target else None, columns)


def _present(path: Path, columns: Columns, target: list[str], frames: Callable) -> list[str]:
    """All columns that a model needs; refused where one is not there."""
    names = list(next(iter(frames(path))).columns)
    missing = [name for name in [*columns.names, *target] if name not in names]
    if missing:
        raise ValueError(f"{path} lacks columns that the model needs: {listed(missing)}; it has {listed(names)}.")
    return columns.names


def _fill_rows(X: np.ndarray, frame, columns: Columns, unseen: Counter) -> None:
    if not columns.categories:
        X[:] = _numbers(frame[columns.names])
        return
    at = 0
    for name in columns.names:
        if name not in columns.categories:
            X[:, at] = _numbers(frame[[name]])[:, 0]
            at += 1
            continue
        values, texts = frame[name], columns.texts(name)
        known = values.isin(columns.categories[name]).to_numpy()
        unseen.update({name: int((~known & values.notna().to_numpy()).sum())})
        X[:, at : at + len(texts)] = np.where(
            known[:, None], values.to_numpy()[:, None] == np.array(texts, object), np.nan
        )
        at += len(texts)


def _numbers(frame) -> np.ndarray:
    try:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        texts = {name: frame[name][~frame[name].map(_is_figure)] for name in frame if not is_number(frame[name])}
        told = ", ".join(f"{name!r} (such as {str(column.iloc[0])!r})" for name, column in texts.items() if len(column))
        raise ValueError(f"Columns that were numbers when the model was fitted have text now: {told}.") from None


def _impute(X: np.ndarray, columns: Columns, wanted: Reading, unseen: Counter) -> Columns:
    """Count what is missing; put the values to impute in its place, or refuse."""
    places, fill, at = {}, dict(columns.fill), 0
    for name in columns.names:
        width = len(columns.texts(name)) if name in columns.categories else 1
        places[name] = slice(at, at + width)
        at += width
    missing = {
        name: int(np.isnan(X[:, place.start]).sum()) for name, place in places.items() if place.stop > place.start
    }
    missing = {name: count for name, count in missing.items() if count}
    infinite = {name: int(np.isinf(X[:, place]).sum()) for name, place in places.items()}
    if any(infinite.values()):
        told = ", ".join(f"{name!r} {count}" for name, count in infinite.items() if count)
        raise ValueError(f"Values are infinite, of {len(X)} rows: {told}. Remove these rows, or --ignore the columns.")
    if missing and not (wanted.impute or fill):
        raise ValueError(_about_missing(missing, unseen, len(X)))
    for name, place in places.items():
        if wanted.impute and name not in columns.categories and name not in fill:
            fill[name] = _median(X[:, place.start], name)
        if name in missing:
            X[np.isnan(X[:, place.start]), place] = _values(fill[name], name, columns)
    return Columns(columns.names, columns.categories, fill, columns.target)


def _median(column: np.ndarray, name: str) -> float:
    known = column[~np.isnan(column)]
    if not len(known):
        raise ValueError(f"Column {name!r} has no value at all; leave it out with --ignore.")
    return float(np.median(known))


def _values(fill: Any, name: str, columns: Columns) -> Any:
    return [float(text == fill) for text in columns.texts(name)] if name in columns.categories else fill


def _about_missing(missing: dict[str, int], unseen: Counter, rows: int) -> str:
    told = ", ".join(
        f"{name!r} {count}" + (f" ({unseen[name]} of them texts that the model has not seen)" if unseen[name] else "")
        for name, count in list(missing.items())[:12]
    )
    more = f" and {len(missing) - 12} more columns" if len(missing) > 12 else ""
    return (
        f"Values are missing, of {rows} rows: {told}{more}. Fit with --impute to put the median, or the most frequent "
        "text, in their place; leave columns out with --ignore; or remove the rows."
    )
