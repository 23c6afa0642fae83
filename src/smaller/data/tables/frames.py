"""Readers of files with columns, in portions: functions of (path, columns, columns read as text, decimal mark)."""

from __future__ import annotations

import codecs
import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from .columns import Reading, is_figure, is_number, listed
from .source import Source, below_each_other
from .writing_csv import as_read, unescaped

PORTION, WIDE_PORTION = 20_000, 5_000  # rows that are in memory at a time beside the array; of wide tables fewer
LAST_LINE = 1 << 20  # bytes in which the last line of a text file is looked for
PIECE = 1 << 16  # bytes of each column of a Parquet file that are read at a time
WHOLE, PORTIONS = 2**25, 8  # bytes and portions of a row group of Parquet that is decoded at once: four times as fast
PORTION_VALUES = 600_000  # a portion has more values than this only where WIDE_PORTION rows have
EXCEL = 'Files of Excel need openpyxl; install it with: pip install "smaller[excel]"'


class Written(NamedTuple):
    """How a file is written, where the file itself does not say it."""

    na: Sequence[str] = ()  # texts and numbers that mean a missing value, in any column
    encoding: str | None = None  # of a text file; UTF-8 by default
    sheet: str | None = None  # of a workbook with several


def ending_of(path: Path) -> str:
    """The ending of a file's name that gives its format, without .gz."""
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


def portions(source: Source, wanted: Reading) -> Callable[..., Iterator]:
    """A function of (columns, columns read as text, decimal mark) that reads the files anew, in portions."""
    return below_each_other(source, [_portions_of(path, wanted) for path in source.paths])


def _portions_of(path: Path, wanted: Reading) -> Callable[..., Iterator]:
    """As `portions`, of one file, which is read in the encoding of the model's training file where it is not UTF-8."""
    ending, na, encoding = ending_of(path), list(wanted.na), wanted.encoding
    if wanted.columns is not None:
        na += wanted.columns.na
        if encoding is None and wanted.columns.encoding and FRAMES[ending] is csv and not is_utf8(path):
            encoding = wanted.columns.encoding
    return partial(FRAMES[ending], path, written=Written(na, encoding, wanted.sheet))


def rows_of_portion(columns: int) -> int:
    """How many rows of so many columns are read at a time: a portion costs time for each column, and memory."""
    return min(PORTION, max(PORTION_VALUES // max(columns, 1), WIDE_PORTION))


def csv(
    path: Path,
    names: Sequence[str] | None = None,
    text: Sequence[str] = (),
    decimal: str = ".",
    written: Written = Written(),  # noqa: B008  (a tuple never changes)
) -> Iterator:
    import pandas as pd

    encoding = _known_encoding(written.encoding)
    common: dict[str, Any] = {"encoding": encoding, "sep": _separator(path, encoding)}
    try:
        first = pd.read_csv(path, header=None, nrows=1, dtype=str, **common)
        spelt = {unescaped(name): name for name in first.iloc[0].dropna()}
        _refuse_twice(path, [unescaped(name) for name in first.iloc[0].dropna()])
        rows = rows_of_portion(len(spelt) if names is None else len(names))
        _refuse_cut(path, encoding, common["sep"], first.shape[1])
        with pd.read_csv(
            path, usecols=None if names is None else [spelt.get(name, name) for name in names],
            dtype={spelt.get(name, name): str for name in text}, chunksize=rows, low_memory=False, decimal=decimal,
            na_values=list(written.na) or None, **common,
        ) as portions:  # fmt: skip
            yield from map(as_read, portions)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty; its first line must have the names of the columns.") from None
    except pd.errors.ParserError as error:
        found = str(error).removeprefix("Error tokenizing data. ").removeprefix("C error: ").strip()
        raise ValueError(f"{path} is not a table: {found}.") from None
    except UnicodeError:
        raise ValueError(_about_encoding(path, written.encoding)) from None


def _known_encoding(name: str | None) -> str:
    """The codec of this name; UTF-8, with or without a byte order mark, where none is given."""
    try:
        known = codecs.lookup(name or "utf-8").name
    except LookupError:
        raise ValueError(f"--encoding must be known, such as utf-8, cp1252 or utf-16; got {name!r}.") from None
    return "utf-8-sig" if known == "utf-8" else known


def is_utf8(path: Path) -> bool:
    """Whether all bytes of a text file are valid in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _opened(path) as stream:
            while part := stream.read(1 << 20):
                decoder.decode(part)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except EOFError:  # a packed file that ends early is refused where it is read
        return True
    return True


def _about_encoding(path: Path, asked: str | None) -> str:
    """Why a file cannot be decoded, with the first such line in the encoding of Windows."""
    if asked is not None:
        return f"{path} is not text in {asked}; give its encoding with --encoding, such as utf-8 or cp1252."
    with _opened(path) as stream:
        if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return f"{path} is not text in UTF-8 but in UTF-16; read it with --encoding utf-16."
        stream.seek(0)
        number, line = next((i, line) for i, line in enumerate(stream, 1) if not _is_valid(line))
    shown = line.decode("cp1252", errors="replace").strip()[:60]
    return (
        f"{path} is not text in UTF-8. With --encoding cp1252, the encoding of Windows in Western Europe, line "
        f"{number} begins {shown!r}: use this option if that is right, otherwise save the table as CSV in UTF-8."
    )


def _is_valid(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _opened(path: Path):
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else open(path, "rb")


def _refuse_twice(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has several columns named {listed(twice)}; give each a name of its own.")


def _separator(path: Path, encoding: str) -> str:
    """The separator: comma, semicolon, tab or bar, whichever is most frequent in the first line."""
    with _opened(path) as stream:
        line = stream.read(1 << 20).decode(encoding, errors="replace").partition("\n")[0]
    return max(",;\t|", key=line.count)


def _refuse_cut(path: Path, encoding: str, separator: str, columns: int) -> None:
    """Refuse a file that ends within its last line, which pandas would fill with missing values."""
    if path.name.lower().endswith(".gz"):  # such a file says itself where it ends
        return
    with open(path, "rb") as stream:
        stream.seek(max(path.stat().st_size - LAST_LINE, 0))
        tail = stream.read().decode(encoding, errors="replace")
    last = tail.rpartition("\n")[2]
    values = last.count(separator) + 1
    if "\n" in tail and last and '"' not in last and values < columns:
        raise ValueError(
            f"{path} ends early: its last line has {values} value{'s' if values > 1 else ''} and no end of a line, and "
            f"the first names {columns} columns. Copy or write it again, or complete this line."
        )


def arrow(batches: Callable) -> Callable:
    def frames(
        path: Path,
        names: Sequence[str] | None = None,
        text: Sequence[str] = (),
        decimal: str = ".",
        written: Written = Written(),  # noqa: B008
    ) -> Iterator:
        import pyarrow as pa

        try:
            for batch in batches(path, None if names is None else list(names)):
                yield with_text(batch.to_pandas(), text, written.na)
        except pa.ArrowException as error:
            raise ValueError(f"{path} cannot be read: {error}.") from None

    return frames


def with_text(frame, text: Sequence[str], na: Sequence[str]):
    """A frame with some columns as text, and NaN for the texts and numbers that mean a missing value."""
    if not (na or text):  # most tables of numbers: going through their columns would take longer than reading them
        return frame
    frame = frame.copy(deep=False)
    for name in frame.columns if na else [name for name in text if name in frame.columns]:
        column = frame[name]
        if na:
            column = column.mask(_is_among(column, na))
        if name in text:
            column = column.astype(object).where(column.isna(), column.astype(str))
        frame[name] = column
    return frame


def _is_among(column, na: Sequence[str]):
    if is_number(column):
        figures = [float(word) for word in na if is_figure(word)]
        return column.isin(figures)
    return column.astype(str).str.strip().isin(list(na))


def parquet_batches(path: Path, names: list[str] | None) -> Iterator:
    with parquet_file(path) as file:
        known = file.metadata
        _refuse_twice(path, file.schema_arrow.names)
        rows = rows_of_portion(known.num_columns if names is None else len(names))
        about = [known.row_group(group) for group in range(known.num_row_groups)]
        small = all(rows <= each.num_rows <= PORTIONS * rows and each.total_byte_size <= WHOLE for each in about)
        whole = (batch for group in range(len(about)) for batch in file.read_row_group(group, names).to_batches(rows))
        for batch in whole if small else file.iter_batches(rows, columns=names):
            # A column that is asked for by its name comes with those whose names go on after a dot.
            yield batch if names is None else batch.select(names)


def parquet_file(path: Path, metadata: Any = None):
    """A Parquet file that is read in small pieces, so that memory does not grow with its row groups."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path, metadata=metadata, buffer_size=PIECE, pre_buffer=False)


def floating(source: Source) -> set[str]:
    """The columns with floating-point numbers in every file, as Parquet files say themselves; of other files none."""
    import pyarrow as pa

    if any(ending_of(path) != "parquet" for path in source.paths):
        return set()
    try:
        schemas = [_schema(path) for path in source.paths]
    except pa.ArrowException:  # refused with a sentence where the file is read
        return set()
    if any(set(schema.names) != set(schemas[0].names) for schema in schemas):  # refused there too
        return set()
    return set.intersection(*({each.name for each in schema if pa.types.is_floating(each.type)} for schema in schemas))


def _schema(path: Path) -> Any:
    with parquet_file(path) as file:
        return file.schema_arrow


def feather_batches(path: Path, names: list[str] | None) -> Iterator:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            _refuse_twice(path, batch.schema.names)
            batch = batch if names is None else batch.select(names)
            rows = rows_of_portion(batch.num_columns)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def excel(
    path: Path,
    names: Sequence[str] | None = None,
    text: Sequence[str] = (),
    decimal: str = ".",
    written: Written = Written(),  # noqa: B008
) -> Iterator:
    state = path.stat()
    sheet = _sheet(path, written.sheet, state.st_mtime_ns, state.st_size)
    yield from in_portions(sheet, names, text, written.na)


def in_portions(frame, names: Sequence[str] | None, text: Sequence[str], na: Sequence[str]) -> Iterator:
    """A frame in memory, as the readers of files give theirs."""
    chosen = frame if names is None else frame[list(names)]
    rows = rows_of_portion(chosen.shape[1])
    for start in range(0, max(len(chosen), 1), rows):
        yield with_text(chosen.iloc[start : start + rows].reset_index(drop=True), text, na)


@lru_cache(maxsize=1)
def _sheet(path: Path, name: str | None, *state: int) -> Any:
    """A sheet of a workbook as a frame; kept, as a file is read several times. `state` tells a changed file apart."""
    import pandas as pd

    try:
        sheets = pd.read_excel(path, sheet_name=None, engine="openpyxl")
    except ImportError:
        raise ImportError(EXCEL) from None
    except Exception as error:
        raise ValueError(f"{path} cannot be read as a workbook of Excel ({error}); save it as CSV.") from None
    filled = {title: frame for title, frame in sheets.items() if len(frame)}
    if name is not None and name not in sheets:
        raise ValueError(f"{path} has no sheet {name!r}; its sheets are {listed(list(sheets))}.")
    if name is None and len(filled) != 1:
        number = f"{len(filled)} sheets with rows" if filled else "no sheet with rows"
        raise ValueError(f"{path} has {number}: {listed(list(filled or sheets))}. Name one with --sheet.")
    frame = sheets[next(iter(filled)) if name is None else name]
    return frame.rename(columns=str)


FRAMES: dict[str, Callable] = {
    "csv": csv,
    "tsv": csv,
    "parquet": arrow(parquet_batches),
    "feather": arrow(feather_batches),
    "xlsx": excel,
}
