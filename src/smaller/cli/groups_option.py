"""The option --groups: each feature, or groups of columns from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..data.tables import Columns

FEATURES = "features"
SHOWN = 3  # names in a message


def groups_of(given: str | None, columns: Columns, basis: str = "linear") -> str | np.ndarray | None:
    """What the parameter groups of a model is to be: None, "features", or the label of each input.

    With "features" all inputs that one column of the table becomes, such as the codes of a category, are a group. A
    file has two columns: a column of the table (or one of its inputs) and its group; what it does not name is a group
    of its own.
    """
    if given is None:
        return None
    of_column = {name: columns.inputs_of(name) for name in columns.names}
    if given == FEATURES:
        if basis != "linear" or all(len(inputs) == 1 for inputs in of_column.values()):
            return FEATURES
        return _labels(columns, {}, of_column)
    if basis != "linear":
        raise ValueError("--groups with a file labels the columns of the table; use it with --basis linear.")
    return _labels(columns, _read(Path(given), [*columns.names, *columns.inputs]), of_column)


def _labels(columns: Columns, known: dict[str, str], of_column: dict[str, list[str]]) -> np.ndarray:
    """Of each input its own group, or that of its column, which else is its own."""
    found = {
        name: known.get(name, known.get(column, column)) for column, inputs in of_column.items() for name in inputs
    }
    return np.array([found[name] for name in columns.inputs])


def _read(path: Path, names: list[str]) -> dict[str, str]:
    """The group of each name in a file; a first line without a known name is its heading."""
    import pandas as pd

    if not path.is_file():
        raise ValueError(f"--groups must be 'features' or a file of columns and their groups; there is no file {path}.")
    mark = "\t" if path.suffix.lower() in (".tsv", ".txt") else ","
    rows = pd.read_csv(path, header=None, dtype=str, sep=mark, keep_default_na=False).to_numpy()
    if rows.shape[1] != 2:
        raise ValueError(f"{path} must have two columns, a name and its group; it has {rows.shape[1]}.")
    if len(rows) and rows[0, 0] not in names:
        rows = rows[1:]
    unknown = [name for name in rows[:, 0] if name not in names]
    if unknown:
        raise ValueError(f"{path} names columns that the table does not have: {_some(unknown)}.")
    groups: dict[str, str] = {}
    for name, group in rows:
        if groups.setdefault(name, group) != group:
            raise ValueError(
                f"{path} puts {name} into two groups, {groups[name]} and {group}; a column can be in one. Repeat the "
                "column in the table, under another name, for each of its groups."
            )
    return groups


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
