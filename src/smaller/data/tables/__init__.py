"""Tables in files as the inputs of models: CSV, Excel, Parquet and Feather by columns, NPZ and LIBSVM as matrices.

A file with columns is read twice in portions: once to find the kinds of its columns, once to fill an array of the
final size. How columns became inputs (:class:`Columns`) is kept with a model, so that new files
are read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .columns import Columns, Reading, Table
from .description import ColumnReport, describe_table
from .frames import FRAMES, ending_of, portions
from .last_pass import read_columns
from .matrices import libsvm, npz
from .transformer import TableTransformer


def read_table(path, **wanted: Any) -> Table:
    """Read a file; the ending of its name gives its format.

    Parameters
    ----------
    path : str or path
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
    path = Path(path)
    ending = ending_of(path)
    if ending not in READERS:
        known = ", ".join(f".{name}" for name in READERS)
        raise ValueError(f"{path} has an unknown ending; known are {known}, the first two also with .gz.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    return READERS[ending](path, Reading(**wanted))


def _by_columns(path: Path, wanted: Reading) -> Table:
    return read_columns(path, wanted, portions(path, wanted))


READERS: dict[str, Callable[[Path, Reading], Table]] = {
    **dict.fromkeys(FRAMES, _by_columns),
    "npz": npz,
    "svm": libsvm,
    "libsvm": libsvm,
    "svmlight": libsvm,
}

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
