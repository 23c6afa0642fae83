"""The last pass over a file with columns: values are written into an array of the final size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .columns import Columns, Reading, Table, labels, listed
from .first_passes import learn


class Learned(NamedTuple):
    """A table whose columns are known, and whose values are not yet read."""

    source: Any  # for messages
    wanted: Reading
    frames: Callable
    columns: Columns
    rows: int

    @property
    def bytes(self) -> int:
        """The size of the inputs as an array."""
        return 8 * self.rows * len(self.columns.inputs)

    def table(self) -> Table:
        """The values."""
        return _fill(self.wanted, self.frames, self.columns, self.rows)


def begin_columns(source: Any, wanted: Reading, frames: Callable, floats: Collection[str] = ()) -> Learned:
    """The columns, those of a fitted model or as found in the file; `source` is for messages, `floats` for `learn`."""
    if wanted.columns is None:
        return Learned(source, wanted, frames, *learn(source, wanted, frames, floats))
    refuse_missing_columns(source, wanted.columns, wanted.target, list(next(iter(frames())).columns))
    rows = sum(len(frame) for frame in frames(wanted.columns.names[:1]))
    return Learned(source, wanted, frames, wanted.columns, rows)


def read_columns(source: Any, wanted: Reading, frames: Callable) -> Table:
    """The inputs, read by the columns of a fitted model, or as found in the file; `source` is for messages."""
    return begin_columns(source, wanted, frames).table()


def refuse_missing_columns(source: Any, columns: Columns, target: str | None, names: list[str]) -> None:
    """Refuse a table in which a column that the model needs is missing."""
    missing = [name for name in [*columns.names, *([target] if target else [])] if name not in names]
    if missing:
        raise ValueError(f"{source} lacks columns that the model needs: {listed(missing)}; it has {listed(names)}.")


def mark_of(columns: Columns) -> str:
    """The decimal mark of a text file."""
    return "," if columns.commas else "."


def _fill(wanted: Reading, frames: Callable, columns: Columns, rows: int) -> Table:
    """Values written into an array of the final size; missing values are NaN until they are counted."""
    target = [wanted.target] if wanted.target else []
    # By columns (Fortran order), which solvers read without a copy.
    X, found, unseen, start = np.empty((rows, len(columns.inputs)), order="F"), [], Counter[str](), 0
    for frame in frames([*columns.names, *target], columns.as_text, mark_of(columns)):
        frame, y = with_target(frame, columns, wanted.target, wanted.drop_missing_target)
        stop = start + len(frame)
        fill_rows(X[start:stop], frame, columns, unseen)
        found += [y] if target else []
        wanted.progress(start := stop)
    if start < rows:
        X = np.asfortranarray(X[:start])
    refuse_no_rows(len(X), wanted.target)
    gaps = gaps_of(X, columns, unseen)
    refuse_gaps(gaps, columns, wanted.impute)
    columns = imputing(columns, lambda at, name: _median(X[:, at], name)) if wanted.impute else columns
    close_gaps(X, columns)
    return Table(X, labels(found, wanted.target) if target else None, columns, rows - start)


def with_target(frame, columns: Columns, target: str | None, drop: bool) -> tuple[Any, Any]:
    """A portion and its target; `drop` leaves out the rows without a target."""
    if not target:
        return frame, None
    y = _target(frame[target], columns)
    if not drop:
        return frame, y
    known = ~_is_missing(y)
    return frame[known], y[known]


def refuse_no_rows(rows: int, target: str | None) -> None:
    """Refuse a table in which no row has a target."""
    if not rows:
        raise ValueError(f"No row has a target {target!r}; at least two rows must have one.")


def _is_missing(values: np.ndarray) -> np.ndarray:
    import pandas as pd

    return pd.isna(values)


def fill_rows(X: np.ndarray, frame, columns: Columns, unseen: Counter) -> None:
    """Write the inputs of a portion into some rows of X, NaN where a value is missing."""
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


# -- missing values


class Gaps(NamedTuple):
    """How many values are missing or infinite in each column of the table, and how many texts are new to the model."""

    rows: int
    missing: Counter[str]
    infinite: Counter[str]
    unseen: Counter[str]

    def __add__(self, other: Gaps) -> Gaps:  # type: ignore[override]
        """The gaps of both parts of a table."""
        missing, infinite = self.missing + other.missing, self.infinite + other.infinite
        return Gaps(self.rows + other.rows, missing, infinite, self.unseen + other.unseen)


def _places(columns: Columns) -> dict[str, slice]:
    """The inputs of each column of the table."""
    places, at = {}, 0
    for name in columns.names:
        places[name] = slice(at, at + len(columns.inputs_of(name)))
        at = places[name].stop
    return places


def gaps_of(X: np.ndarray, columns: Columns, unseen: Counter[str]) -> Gaps:
    """The gaps of rows of inputs."""
    missing, infinite = Counter[str](), Counter[str]()
    with np.errstate(over="ignore", invalid="ignore"):
        places = {} if np.isfinite(X.sum()) else _places(columns)  # one look at all columns: most tables have no gaps
    for name, place in places.items():
        if place.stop > place.start:
            missing[name] = int(np.isnan(X[:, place.start]).sum())
            infinite[name] = int(np.isinf(X[:, place]).sum())
    return Gaps(len(X), +missing, +infinite, unseen)


def refuse_gaps(gaps: Gaps, columns: Columns, impute: bool) -> None:
    """Refuse infinite values, and missing values where there are none to impute."""
    if gaps.infinite:
        shown = ", ".join(f"{name!r} {gaps.infinite[name]}" for name in columns.names if name in gaps.infinite)
        raise ValueError(
            f"Values are infinite, of {gaps.rows} rows: {shown}. Remove these rows, or --ignore the columns."
        )
    if gaps.missing and not (impute or columns.fill):
        missing = {name: gaps.missing[name] for name in columns.names if name in gaps.missing}
        raise ValueError(_about_missing(missing, gaps.unseen, gaps.rows, columns))


def to_impute(columns: Columns) -> dict[str, int]:
    """The inputs that need a median, and their columns in X."""
    return {
        source: place.start + i
        for name, place in _places(columns).items()
        if name not in columns.categories
        for i, source in enumerate(columns.inputs_of(name))
        if source not in columns.fill
    }


def imputing(columns: Columns, median: Callable[[int, str], float]) -> Columns:
    """The columns with a value to impute for every input; `median` is a function of a column of X and its name."""
    found = {name: median(at, name) for name, at in to_impute(columns).items()}
    return replace(columns, fill={**columns.fill, **found})


def close_gaps(X: np.ndarray, columns: Columns) -> None:
    """Replace missing values by those to impute, where there are any."""
    if not columns.fill:
        return
    for name, place in _places(columns).items():
        if place.stop > place.start:
            gap = np.isnan(X[:, place.start])
            if gap.any():
                X[gap, place] = _values(columns.fill, name, columns)


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
