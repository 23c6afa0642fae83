"""A table in blocks of rows, each of which is read when it is needed: row groups of Parquet files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import Columns, is_number
from .frames import ending_of, parquet_file, rows_of_portion, with_text
from .last_pass import Gaps, Learned, close_gaps, fill_rows, gaps_of, mark_of, with_target
from .source import Source, State, refuse_changed, state_of, watched

MOST_LABELS = 10_000  # different labels of a target that are counted


class TablePart(NamedTuple):
    """Some row groups of a Parquet file."""

    path: Path
    state: State
    groups: tuple[int, ...]
    rows: int


class Preparation(NamedTuple):
    """How the rows of a part become inputs and labels."""

    columns: Columns
    target: str
    drop: bool  # rows without a target
    na: list[str]
    kind: str = ""  # of the labels: "i" for whole numbers, "f" for other numbers, "U" for text

    @property
    def plain(self) -> bool:
        """Whether values are taken as they are in the file."""
        known = self.columns
        special = (known.categories, known.dates, known.commas, known.missing, known.thousands, self.na, self.drop)
        return not any(special)


def parts_in_place(source: Source, most_rows: int) -> list[TablePart] | None:
    """The row groups of Parquet files, small ones together; None where the files have to be written anew."""
    if any(ending_of(path) != "parquet" for path in source.paths):
        return None
    parts: list[TablePart] = []
    for path, state in zip(source.paths, source.states, strict=True):
        with parquet_file(path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        if max(sizes, default=0) > most_rows:
            return None
        parts += [TablePart(path, state, tuple(run), sum(sizes[i] for i in run)) for run in _runs(sizes, most_rows)]
    return parts


def _runs(sizes: list[int], most: int) -> list[list[int]]:
    """Neighbours that have at most so many rows together."""
    runs: list[list[int]] = []
    rows = most + 1
    for i, size in enumerate(sizes):
        rows += size
        if rows > most:
            runs, rows = [*runs, []], size
        runs[-1].append(i)
    return runs


def parts_written(found: Learned, folder: Path, most_rows: int) -> list[TablePart]:
    """The columns that are used, written to new Parquet files of so many rows at most, in one pass over the table."""
    import pandas as pd

    wanted = [*found.columns.names, *([found.wanted.target] if found.wanted.target else [])]
    parts: list[TablePart] = []
    waiting: list[Any] = []
    rows = 0

    def write() -> None:
        path = folder / f"{len(parts)}.parquet"
        pd.concat(waiting, ignore_index=True).to_parquet(path, index=False, row_group_size=most_rows)
        parts.append(TablePart(path, state_of(path), (0,), sum(map(len, waiting))))
        waiting.clear()

    for frame in found.frames(wanted, found.columns.as_text, mark_of(found.columns)):
        frame = with_text(frame, [name for name in frame if frame[name].dtype == object], ())  # Excel mixes types
        for start in range(0, len(frame), most_rows):
            piece = frame.iloc[start : start + most_rows]
            if waiting and (sum(map(len, waiting)) + len(piece) > most_rows or _differ(waiting[0], piece)):
                write()
            waiting.append(piece)
        rows += len(frame)
        found.wanted.progress(rows)
    if waiting:
        write()
    return parts


def _differ(one, other) -> bool:
    """Whether two portions have columns of different types, so that a common file would change the values."""
    return bool((one.dtypes != other.dtypes).any())


def _frames(part: TablePart, how: Preparation, names: list[str]) -> Iterator:
    """The rows of a part in portions."""
    refuse_changed(part.path, part.state)
    # Numbers take as much memory as the inputs that they become, and are read at once; text may take much more.
    together = rows_of_portion(len(names)) if how.columns.as_text else max(part.rows, 1)
    with parquet_file(part.path) as file:
        for batch in file.iter_batches(together, row_groups=list(part.groups), columns=names):
            frame = batch.to_pandas()
            frame = frame if list(frame.columns) == names else frame[names]
            yield with_text(frame, how.columns.as_text, how.na)


def _batches(part: TablePart, names: list[str]) -> Iterator:
    """The rows of a part as Arrow has them, all at once."""
    refuse_changed(part.path, part.state)
    with parquet_file(part.path, _metadata(part.path, part.state)) as file:
        yield file.read_row_groups(list(part.groups), columns=names, use_threads=False).select(names)


@lru_cache(maxsize=8)
def _metadata(path: Path, state: State) -> Any:
    """What the end of a file says of its columns; each block would read it anew, in every pass."""
    with parquet_file(path) as file:
        return file.metadata


def _watched(part: TablePart, frames: Iterator) -> Iterator:
    """Rows of a part, refused with a sentence where the file is not what it was."""
    import pyarrow as pa

    try:
        yield from watched(part.path, part.state, frames)
    except pa.ArrowException as error:
        refuse_changed(part.path, part.state)
        raise ValueError(f"{part.path} cannot be read: {error}.") from None


def _portions(part: TablePart, how: Preparation, names: list[str]) -> Iterator:
    """The rows of a part as frames."""
    return _watched(part, _frames(part, how, names))


def inputs_of(part: TablePart, how: Preparation) -> tuple[np.ndarray, Counter[str]]:
    """The inputs of a part, missing values NaN, and how many texts are new to the model."""
    # By columns (Fortran order), as they come from the file.
    X, unseen, start = np.empty((part.rows, len(how.columns.inputs)), order="F"), Counter[str](), 0
    if how.plain and _fill_numbers(X, part, how.columns.names):
        return X, unseen
    names = [*how.columns.names, *([how.target] if how.drop else [])]
    for frame in _portions(part, how, names):
        frame, _ = with_target(frame, how.columns, how.target if how.drop else None, how.drop)
        fill_rows(X[start : start + len(frame)], frame, how.columns, unseen)
        start += len(frame)
    return X[:start], unseen


def _fill_numbers(X: np.ndarray, part: TablePart, names: list[str]) -> bool:
    """Write columns of numbers into X without a frame between; whether the part has nothing else."""
    import pyarrow as pa

    for table in _watched(part, _batches(part, names)):
        if not all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in table.schema.types):
            return False
        for j, name in enumerate(names):
            X[:, j] = table[name].to_numpy()
    return True


def load_inputs(part: TablePart, how: Preparation) -> np.ndarray:
    """The inputs of a part, with the values to impute where some are missing."""
    X, _ = inputs_of(part, how)
    close_gaps(X, how.columns)
    return X


def _targets(part: TablePart, how: Preparation) -> Iterator[Any]:
    for frame in _portions(part, how, [how.target]):
        yield with_target(frame, how.columns, how.target, how.drop)[1]


def load_labels(part: TablePart, how: Preparation, classes: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The labels of a part; `classes` makes classes of them."""
    coded = _coded_texts(part, how) if how.kind == "U" and how.plain else None
    if coded is not None:
        texts, codes = coded
        return classes(texts)[codes]
    return classes(np.concatenate([_of_kind(values, how.kind) for values in _targets(part, how)]))


def _coded_texts(part: TablePart, how: Preparation) -> tuple[np.ndarray, np.ndarray] | None:
    """The different texts of the target, and the position of each row's among them; None where there are others."""
    import pyarrow as pa

    for table in _watched(part, _batches(part, [how.target])):
        column = table[how.target]
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) or column.null_count:
            return None
        coded = column.combine_chunks().dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        return coded.dictionary.to_numpy(zero_copy_only=False).astype(str), coded.indices.to_numpy()
    return None


def _of_kind(values: Any, kind: str) -> np.ndarray:
    if kind == "U":
        return np.asarray(values).astype(str)
    return np.asarray(values, dtype=np.float64 if kind == "f" else np.int64)


# -- what is known of the whole table after a pass over its parts


class Survey(NamedTuple):
    """Gaps of the inputs, the labels, and the least and the greatest value of each input."""

    gaps: Gaps
    labels: Counter[str]  # as text
    kinds: set[str]  # of the labels: "i", "f" or "U" of some portion
    unlabelled: int  # rows without a target
    low: np.ndarray
    high: np.ndarray
    rows: tuple[int, ...]  # of each part, in their order

    @property
    def kind(self) -> str:
        """The kind of the labels, as `labels` finds it for a table in memory."""
        if "U" in self.kinds:
            return "U"
        whole = "f" not in self.kinds or all(float(t).is_integer() and abs(float(t)) < 2**53 for t in self.labels)
        return "i" if whole else "f"

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows have each label."""
        found = Counter[Any]()
        for text, count in self.labels.items():
            found[text if self.kind == "U" else float(text) if self.kind == "f" else int(float(text))] += count
        return found


def _counted_labels(part: TablePart, how: Preparation) -> tuple[Counter[str], set[str], int]:
    """How many rows of a part have each label, the kinds of the labels, and how many rows have none."""
    import pandas as pd

    coded = _coded_texts(part, how) if how.plain else None
    if coded is not None:
        texts, codes = coded
        return Counter(dict(zip(texts.tolist(), np.bincount(codes).tolist(), strict=True))), {"U"}, 0
    counts, kinds, unlabelled = Counter[str](), set[str](), 0
    for values in _targets(part, how):
        column = pd.Series(values)
        present = column.dropna()
        unlabelled += len(column) - len(present)
        kinds.add("U" if not is_number(column) else "i" if present.to_numpy().dtype.kind in "iu" else "f")
        for value, count in present.value_counts().items():
            counts[str(value)] += count
    return counts, kinds, unlabelled


def survey_part(part: TablePart, _y, _weight, _offset, how: Preparation) -> Survey:
    """The survey of one part."""
    X, unseen = inputs_of(part, how)
    counts, kinds, unlabelled = _counted_labels(part, how)
    if len(counts) > MOST_LABELS:
        raise ValueError(
            f"The target {how.target!r} has more than {MOST_LABELS} different values. Models of numbers, and of so "
            "many classes, need the table in memory: give more of it with --memory, or a random part of the rows."
        )
    low, high = np.fmin.reduce(X, axis=0, initial=np.nan), np.fmax.reduce(X, axis=0, initial=np.nan)
    return Survey(gaps_of(X, how.columns, unseen), counts, kinds, unlabelled, low, high, (len(X),))


def join_surveys(found: list[Survey]) -> Survey:
    """The survey of several parts."""
    return reduce(_join_two, found)


def _join_two(a: Survey, b: Survey) -> Survey:
    low, high = np.fmin(a.low, b.low), np.fmax(a.high, b.high)
    labels, unlabelled = a.labels + b.labels, a.unlabelled + b.unlabelled
    return Survey(a.gaps + b.gaps, labels, a.kinds | b.kinds, unlabelled, low, high, a.rows + b.rows)
