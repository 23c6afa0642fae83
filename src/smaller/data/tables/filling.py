"""The last pass over a file with columns: values are written into an array of the final size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Columns, Reading, Table, labels, listed
from .learning import learn


def read_columns(path: Path, wanted: Reading, frames: Callable) -> Table:
    """The inputs, read by the columns of a fitted model, or by the columns found in the file."""
    if wanted.columns is None:
        columns, rows = learn(path, wanted, frames)
    else:
        columns, rows = wanted.columns, None
    return _fill(path, wanted, frames, columns, rows)


def _fill(path: Path, wanted: Reading, frames: Callable, columns: Columns, rows: int | None) -> Table:
    """Values written into an array of the final size; missing values are NaN until they are counted."""
    target = [wanted.target] if wanted.target else []
    rows = (
        sum(len(frame) for frame in frames(path, _present(path, columns, target, frames)[:1])) if rows is None else rows
    )
    # By columns (Fortran order), which solvers read without a copy.
    X, found, unseen, start = np.empty((rows, len(columns.inputs)), order="F"), [], Counter[str](), 0
    mark = "," if columns.commas else "."
    for frame in frames(path, [*columns.names, *target], list(columns.categories), mark):
        stop = start + len(frame)
        _fill_rows(X[start:stop], frame, columns, unseen)
        found += [_target(frame[name], columns) for name in target]
        wanted.progress(start := stop)
    columns = _impute(X, columns, wanted, unseen)
    return Table(X, labels(found, wanted.target) if target else None, columns)


def _present(path: Path, columns: Columns, target: list[str], frames: Callable) -> list[str]:
    """The columns that a model needs; refused where one is missing."""
    names = list(next(iter(frames(path))).columns)
    missing = [name for name in [*columns.names, *target] if name not in names]
    if missing:
        raise ValueError(f"{path} lacks columns that the model needs: {listed(missing)}; it has {listed(names)}.")
    return columns.names


def _fill_rows(X: np.ndarray, frame, columns: Columns, unseen: Counter) -> None:
    if not columns.categories:
        X[:] = _numbers(frame[columns.names], columns)
        return
    at = 0
    for name in columns.names:
        if name not in columns.categories:
            X[:, at] = _numbers(frame[[name]], columns)[:, 0]
            at += 1
            continue
        values, texts = frame[name], columns.texts(name)
        known = values.isin(columns.categories[name]).to_numpy()
        unseen.update({name: int((~known & values.notna().to_numpy()).sum())})
        X[:, at : at + len(texts)] = np.where(
            known[:, None], values.to_numpy()[:, None] == np.array(texts, object), np.nan
        )
        at += len(texts)


def _target(column, columns: Columns) -> np.ndarray:
    written_as_text = column.name in columns.commas or column.name in columns.missing
    return columns.numbers(column) if written_as_text else column.to_numpy()


def _numbers(frame, columns: Columns) -> np.ndarray:
    if all(getattr(dtype, "kind", "O") in "iuf" for dtype in frame.dtypes):
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    values, odd = np.empty(frame.shape, order="F"), {}
    for place, name in enumerate(frame):
        try:
            values[:, place] = columns.numbers(frame[name])
        except ValueError as error:
            odd[name] = str(error)
    if odd:
        shown = ", ".join(f"{name!r} (such as {text!r})" for name, text in odd.items())
        raise ValueError(f"Columns that were numbers when the model was fitted have text now: {shown}.")
    return values


def _impute(X: np.ndarray, columns: Columns, wanted: Reading, unseen: Counter) -> Columns:
    """Replace missing values by those to impute; refuse missing values where there are none to impute."""
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
        shown = ", ".join(f"{name!r} {count}" for name, count in infinite.items() if count)
        raise ValueError(f"Values are infinite, of {len(X)} rows: {shown}. Remove these rows, or --ignore the columns.")
    if missing and not (wanted.impute or fill):
        raise ValueError(_about_missing(missing, unseen, len(X), columns))
    for name, place in places.items():
        if wanted.impute and name not in columns.categories and name not in fill:
            fill[name] = _median(X[:, place.start], name)
        if name in missing:
            X[np.isnan(X[:, place.start]), place] = _values(fill[name], name, columns)
    return replace(columns, fill=fill)


def _median(column: np.ndarray, name: str) -> float:
    known = column[~np.isnan(column)]
    if not len(known):
        raise ValueError(f"Column {name!r} has no value at all; leave it out with --ignore.")
    return float(np.median(known))


def _values(fill: Any, name: str, columns: Columns) -> Any:
    return [float(text == fill) for text in columns.texts(name)] if name in columns.categories else fill


def _about_missing(missing: dict[str, int], unseen: Counter, rows: int, columns: Columns) -> str:
    shown = ", ".join(
        f"{name!r} {count}" + (f" ({unseen[name]} of them texts new to the model)" if unseen[name] else "")
        for name, count in list(missing.items())[:12]
    )
    more = f" and {len(missing) - 12} more columns" if len(missing) > 12 else ""
    read = "".join(f" {sentence}" for sentence in columns.told(list(missing)[:12]))
    return (
        f"Values are missing, of {rows} rows: {shown}{more}. Fit with --impute to put the median, or the most frequent "
        f"text, in their place; leave columns out with --ignore; or remove the rows.{read}"
    )
