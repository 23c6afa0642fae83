"""How the columns of a table become inputs, and the target becomes labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .kinds import as_numbers


@dataclass(frozen=True)
class Columns:
    """How the columns of a table become inputs.

    Attributes
    ----------
    names : list of str
        Columns of the table that are used, in the order of the inputs.
    categories : dict
        The texts of each column of text. Two of them become one input, more of them one input each.
    fill : dict
        The value that replaces a missing one: a number, or a text.
    target : str or None
    commas : list of str
        Columns whose numbers have a decimal comma.
    missing : dict
        For columns of numbers, further texts that mean a missing value.
    remarks : dict
        What a column was read as, in words, where its values do not show it; also of columns that were left out.
    """

    names: list[str]
    categories: dict[str, list[str]] = field(default_factory=dict)
    fill: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    commas: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)

    def texts(self, name: str) -> list[str]:
        """The texts of a column that have an input of their own."""
        every = self.categories[name]
        return every[1:] if len(every) == 2 else every

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, such as "age" and "colour=red"."""
        found: list[str] = []
        for name in self.names:
            found += [f"{name}={text}" for text in self.texts(name)] if name in self.categories else [name]
        return found

    def numbers(self, column) -> np.ndarray:
        """A column as numbers, with NaN for missing values; any other text raises a ValueError with that text."""
        if is_number(column):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return as_numbers(column, column.name in self.commas, frozenset(self.missing.get(column.name, ())))

    def told(self, names: Sequence[str] | None = None) -> list[str]:
        """The remarks as sentences, one for all columns with the same remark."""
        alike: dict[str, list[str]] = {}
        for name, remark in self.remarks.items():
            if names is None or name in names:
                alike.setdefault(remark, []).append(name)
        return [f"Column{'s' if len(named) > 1 else ''} {listed(named)}: {remark}." for remark, named in alike.items()]

    def as_notes(self) -> dict[str, Any]:
        """Plain values to keep beside a model."""
        return asdict(self)


class Table(NamedTuple):
    """Inputs, and the target if one was named."""

    X: Any
    y: Any  # (n,), or None
    columns: Columns


class Reading(NamedTuple):
    """How a file is to be read."""

    target: str | None = None
    columns: Columns | None = None  # those of a fitted model, if there is one
    categorical: Sequence[str] = ()  # codes: numbers that stand for categories
    ignore: Sequence[str] = ()
    impute: bool = False
    progress: Callable[[int], None] = lambda rows: None
    numeric: Sequence[str] = ()  # columns read as numbers; other texts count as missing
    decimal: str | None = None  # the decimal mark, if given


def is_number(column) -> bool:
    """Whether a column has numbers; booleans count as categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column)


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names in quotes, at most `limit` of them."""
    shown = ", ".join(repr(str(name)) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def labels(parts: list[np.ndarray], name: str | None) -> np.ndarray:
    """The target: whole numbers as integers, other numbers as they are, everything else as text."""
    import pandas as pd

    values = pd.concat([pd.Series(part) for part in parts], ignore_index=True)
    if missing := int(values.isna().sum()):
        raise ValueError(f"The target {name!r} is missing in {missing} of {len(values)} rows; remove these rows.")
    if not is_number(values):
        return values.astype(str).to_numpy(dtype=str)
    numbers = values.to_numpy()
    whole = numbers.dtype.kind in "iu" or bool((numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all())
    return numbers.astype(np.int64) if whole else numbers.astype(np.float64)
