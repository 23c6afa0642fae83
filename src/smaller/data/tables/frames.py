"""Readers of files with columns, in portions: functions of (path, columns, columns read as text, decimal mark)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .columns import listed
from .formulas import as_read, unescaped

PORTION = 5_000  # rows that are in memory at a time beside the array


def csv(path: Path, names: Sequence[str] | None = None, text: Sequence[str] = (), decimal: str = ".") -> Iterator:
    import pandas as pd

    try:
        separator = _separator(path)
        first = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, encoding="utf-8-sig")
        written = {unescaped(name): name for name in first.iloc[0].dropna()}
        _refuse_twice(path, [unescaped(name) for name in first.iloc[0].dropna()])
        with pd.read_csv(
            path, sep=separator, usecols=None if names is None else [written.get(name, name) for name in names],
            dtype={written.get(name, name): str for name in text}, chunksize=PORTION, encoding="utf-8-sig",
            low_memory=False, decimal=decimal,
        ) as portions:  # fmt: skip
            yield from map(as_read, portions)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty; its first line must have the names of the columns.") from None
    except pd.errors.ParserError as error:
        raise ValueError(
            f"{path} is not a table: {str(error).removeprefix('Error tokenizing data. ').strip()}."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8; save it as CSV in UTF-8.") from None


def _refuse_twice(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has several columns named {listed(twice)}; give each a name of its own.")


def _separator(path: Path) -> str:
    """The separator: comma, semicolon or tab, whichever is most frequent in the first line."""
    import gzip

    with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else open(path, "rb") as stream:
        line = stream.readline(1 << 20)
    return max(",;\t", key=lambda mark: line.count(mark.encode()))


def arrow(batches: Callable) -> Callable:
    def frames(
        path: Path, names: Sequence[str] | None = None, text: Sequence[str] = (), decimal: str = "."
    ) -> Iterator:
        import pyarrow as pa

        try:
            for batch in batches(path):
                _refuse_twice(path, batch.schema.names)
                chosen = batch if names is None else batch.select(list(names))
                frame = chosen.to_pandas()
                for name in text:
                    frame[name] = frame[name].astype(object).where(frame[name].isna(), frame[name].astype(str))
                yield frame
        except pa.ArrowException as error:
            raise ValueError(f"{path} cannot be read: {error}.") from None

    return frames


def parquet_batches(path: Path) -> Iterator:
    import pyarrow.parquet

    yield from pyarrow.parquet.ParquetFile(path).iter_batches(PORTION)


def feather_batches(path: Path) -> Iterator:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            for start in range(0, batch.num_rows, PORTION):
                yield batch.slice(start, PORTION)


FRAMES: dict[str, Callable] = {
    "csv": csv,
    "tsv": csv,
    "parquet": arrow(parquet_batches),
    "feather": arrow(feather_batches),
}
