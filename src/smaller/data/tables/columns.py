"""How the columns of a table become inputs, and the target becomes labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .dates import Dates
from .text_kinds import MISSING, as_numbers

OTHER = "(other)"  # the input of all texts that have none of their own


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
    thousands : dict
        The mark between thousands, for columns of numbers that have one.
    dates : dict
        For columns of dates: the format, the parts that become inputs, and the first date.
    others : list of str
        Columns of text whose rare texts share one input; texts that are new to the model belong to it too.
    na : list of str
        Texts and numbers that mean a missing value in any column.
    encoding : str or None
        The encoding of the training file, tried for new files that are not in UTF-8.
    """

    names: list[str]
    categories: dict[str, list[str]] = field(default_factory=dict)
    fill: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    commas: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    thousands: dict[str, str] = field(default_factory=dict)
    dates: dict[str, dict] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    na: list[str] = field(default_factory=list)
    encoding: str | None = None

    def texts(self, name: str) -> list[str]:
        """The texts of a column that have an input of their own."""
        every = self.categories[name]
        return every[1:] if len(every) == 2 and name not in self.others else every

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, such as "age", "colour=red" and "visit: year"."""
        return [name for column in self.names for name in self.inputs_of(column)]

    def inputs_of(self, name: str) -> list[str]:
        """The inputs that one column becomes."""
        if name in self.dates:
            return [f"{name}: {part}" for part in self.dates[name]["parts"]]
        if name in self.categories:
            rest = [OTHER] if name in self.others else []
            return [f"{name}={text}" for text in [*self.texts(name), *rest]]
        return [name]

    @property
    def as_text(self) -> list[str]:
        """The columns that are read as text, whatever they look like."""
        return [*self.categories, *self.thousands, *self.dates]

    def numbers(self, column) -> np.ndarray:
        """A column as numbers, with NaN for missing values; any other text raises a ValueError with that text."""
        if is_number(column):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        name = column.name
        words = frozenset(self.missing.get(name, ()))
        return as_numbers(column, name in self.commas, words, self.thousands.get(name, ""))

    def values(self, column) -> np.ndarray:
        """The inputs of a column that has no categories, (n, inputs)."""
        if column.name in self.dates:
            return Dates(**self.dates[column.name]).values(without_words(column, self.missing.get(column.name, ())))
        return self.numbers(column)[:, None]

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
    dropped: int = 0  # rows without a target that were left out


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
    thousands: str | None = None  # the mark between thousands, if given; "none" for no such mark
    na: Sequence[str] = ()  # texts and numbers that mean a missing value in any column
    day_first: bool | None = None  # whether dates such as 3/4/2024 begin with the day, if given
    encoding: str | None = None  # of a text file; by default UTF-8, or that of the columns
    sheet: str | None = None  # of a workbook with several
    drop_missing_target: bool = False  # whether rows without a target are left out


def is_figure(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_number(column) -> bool:
    """Whether a column, or one of this dtype, has numbers; booleans count as categories."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column)


def without_words(column, words: Sequence[str]):
    """A column of text with NaN for the texts that mean a missing value."""
    return column.mask(column.str.strip().str.lower().isin(MISSING) | column.isin(list(words)))


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names in quotes, at most `limit` of them."""
    shown = ", ".join(repr(str(name)) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def labels(parts: list[np.ndarray], name: str | None) -> np.ndarray:
    """The target: whole numbers as integers, other numbers as they are, everything else as text."""
    import pandas as pd

    values = pd.concat([pd.Series(part) for part in parts], ignore_index=True)
    if missing := int(values.isna().sum()):
        raise ValueError(
            f"The target {name!r} is missing in {missing} of {len(values)} rows; leave them out with "
            "--drop-missing-target."
        )
    if not is_number(values):
        return values.astype(str).to_numpy(dtype=str)
    numbers = values.to_numpy()
    whole = numbers.dtype.kind in "iu" or bool((numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all())
    return numbers.astype(np.int64) if whole else numbers.astype(np.float64)
