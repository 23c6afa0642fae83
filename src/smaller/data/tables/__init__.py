"""Tables in files as the inputs of models: CSV, Excel, Parquet and Feather by columns, NPZ and LIBSVM as matrices.

A file with columns is read twice in portions: once to find the kinds of its columns, once to fill an array of the
final size. How columns became inputs (:class:`Columns`) is kept with a model, so that new files
are read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .columns import Columns, Reading, Table
from .description import ColumnReport, describe_table
from .frames import FRAMES, ending_of, floating, portions
from .last_pass import Learned, begin_columns
from .matrices import MATRICES
from .source import source_of
from .transformer import TableTransformer


def read_table(path, **wanted: Any) -> Table:
    """Read a file, or several; the ending of a name gives the format.

    Parameters
    ----------
    path : str or path, or a list of them
        A file; or files with the same columns, one below the other, also by a pattern such as ``visits/*.parquet``.
    **wanted
        The fields of :class:`Reading`.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smaller.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("size,colour,kind\\n1.5,red,a\\n2.5,blue,b\\n3.0,green,b\\n")
    ...     table = read_table(file, target="kind")
    >>> table.columns.inputs, table.y.tolist()
    (['size', 'colour=blue', 'colour=green', 'colour=red'], ['a', 'b', 'b'])
    """
    begun = begin_table(path, **wanted)
    return begun if isinstance(begun, Table) else begun.table()


def begin_table(path, **wanted: Any) -> Table | Learned:
    """The columns of files before their values are read; of a matrix, which is read at once, the table itself."""
    source, reading = source_of(path), Reading(**wanted)
    for each in source.paths:
        if ending_of(each) not in READERS:
            known = ", ".join(f".{name}" for name in READERS)
            raise ValueError(f"{each} has an unknown ending; known are {known}, the first two also with .gz.")
    matrices = [each for each in source.paths if ending_of(each) not in FRAMES]
    if matrices and len(source.paths) > 1:
        raise ValueError(f"{matrices[0]} is a matrix, which is read alone; give one file, or files with columns.")
    if matrices:
        return MATRICES[ending_of(matrices[0])](matrices[0], reading)
    floats = set() if reading.na or reading.columns else floating(source)
    return begin_columns(source, reading, portions(source, reading), floats)


READERS: dict[str, Callable] = {**FRAMES, **MATRICES}  # by the endings of names

__all__ = [
    "FRAMES",
    "READERS",
    "ColumnReport",
    "Columns",
    "Reading",
    "Table",
    "TableTransformer",
    "describe_table",
    "read_table",
]
