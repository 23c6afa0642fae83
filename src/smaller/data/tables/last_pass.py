"""The last pass over a file with columns: values are written into an array of the final size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import Columns, Reading, Table, labels, listed
from .first_passes import learn


def read_columns(path: Any, wanted: Reading, frames: Callable) -> Table:
    """The inputs, read by the columns of a fitted model, or as found in the file; `path` is for messages."""
    if wanted.columns is None:
        columns, rows = learn(path, wanted, frames)
    else:
        columns, rows = wanted.columns, _count_rows(path, wanted.columns, wanted.target, frames)
    return _fill(wanted, frames, columns, rows)


def _count_rows(path: Any, columns: Columns, target: str | None, frames: Callable) -> int:
    """The number of rows; refused where a column that the model needs is missing."""
    names = list(next(iter(frames())).columns)
    missing = [name for name in [*columns.names, *([target] if target else [])] if name not in names]
    if missing:
        raise ValueError(f"{path} lacks columns that the model needs: {listed(missing)}; it has {listed(names)}.")
    return sum(len(frame) for frame in frames(columns.names[:1]))


def _fill(wanted: Reading, frames: Callable, columns: Columns, rows: int) -> Table:
    """Values written into an array of the final size; missing values are NaN until they are counted."""
    target = [wanted.target] if wanted.target else []
    # By columns (Fortran order), which solvers read without a copy.
    X, found, unseen, start = np.empty((rows, len(columns.inputs)), order="F"), [], Counter[str](), 0
    mark = "," if columns.commas else "."
    for frame in frames([*columns.names, *target], columns.as_text, mark):
        y = [_target(frame[name], columns) for name in target]
        if y and wanted.drop_missing_target:
            known = ~_is_missing(y[0])
            frame, y = frame[known], [y[0][known]]
        stop = start + len(frame)
        _fill_rows(X[start:stop], frame, columns, unseen)
        found += y
        wanted.progress(start := stop)
    if start < rows:
        X = np.asfortranarray(X[:start])
    if not len(X):
        raise ValueError(f"No row has a target {wanted.target!r}; at least two rows must have one.")
    columns = _impute(X, columns, wanted, unseen)
    return Table(X, labels(found, wanted.target) if target else None, columns, rows - start)


def _is_missing(values: np.ndarray) -> np.ndarray:
    import pandas as pd

    return pd.isna(values)


def _fill_rows(X: np.ndarray, frame, columns: Columns, unseen: Counter) -> None:
    if not columns.categories and not columns.dates:
        X[:] = _numbers(frame[columns.names], columns)
        return
    at = 0
    for name in columns.names:
        block = X[:, at : at + len(columns.inputs_of(name))]
        at += block.shape[1]
        if name in columns.categories:
            _fill_categories(block, frame[name], columns, unseen)
        elif name in columns.dates:
            block[:] = _read(frame[name], columns)
        else:
            block[:] = _numbers(frame[[name]], columns)


def _fill_categories(block: np.ndarray, values, columns: Columns, unseen: Counter) -> None:
    name, texts = values.name, columns.texts(values.name)
    present, known = values.notna().to_numpy(), values.isin(columns.categories[values.name]).to_numpy()
    block[:, : len(texts)] = values.to_numpy()[:, None] == np.array(texts, object)
    if name in columns.others:
        block[:, -1] = ~known
        known = present
    unseen.update({name: int((~known & present).sum())})
    block[~known] = np.nan


def _target(column, columns: Columns) -> np.ndarray:
    name = column.name
    written_as_text = name in columns.commas or name in columns.missing or name in columns.thousands
    return columns.numbers(column) if written_as_text else column.to_numpy()


def _read(column, columns: Columns) -> np.ndarray:
    """The inputs of a column of numbers or dates; refused where it has other texts than in training."""
    try:
        return columns.values(column)
    except ValueError as error:
        what = "dates" if column.name in columns.dates else "numbers"
        raise ValueError(
            f"Columns that were {what} when the model was fitted have text now: {column.name!r} (such as "
            f"{str(error)!r})."
        ) from None


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
        places[name] = slice(at, at + len(columns.inputs_of(name)))
        at = places[name].stop
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
        if wanted.impute and name not in columns.categories and columns.inputs_of(name)[0] not in fill:
            for at, source in zip(range(place.start, place.stop), columns.inputs_of(name), strict=True):
                fill[source] = _median(X[:, at], name)
        if name in missing:
            X[np.isnan(X[:, place.start]), place] = _values(fill, name, columns)
    return replace(columns, fill=fill)


def _median(column: np.ndarray, name: str) -> float:
    known = column[~np.isnan(column)]
    if not len(known):
        raise ValueError(f"Column {name!r} has no value at all; leave it out with --ignore.")
    return float(np.median(known))


def _values(fill: dict[str, Any], name: str, columns: Columns) -> list[float]:
    """What the inputs of a column are where its value is missing."""
    if name not in columns.categories:
        return [fill[source] for source in columns.inputs_of(name)]
    values = [float(text == fill[name]) for text in columns.texts(name)]
    return [*values, float(fill[name] not in columns.categories[name])] if name in columns.others else values


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
