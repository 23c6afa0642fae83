"""The arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def option(help: str, *flags: str, **more: Any) -> Any:
    """An option whose help states its default."""
    return typer.Option(*flags, help=help, show_default=False, **more)


def _there(path: Path) -> Path:
    """Refuse a file that is not there as early as possible; - is standard input."""
    if str(path) != "-" and not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    return path


def given_there(path: Path | None) -> Path | None:
    """As above, of a file that need not be given."""
    return None if path is None else _there(path)


def _all_there(paths: list[Path]) -> list[Path]:
    """Refuse files that are not there as early as possible; a pattern is looked up later."""
    return [path if any(mark in str(path) for mark in "*?[") else _there(path) for path in paths]


DATA = "A file: .csv or .tsv (also .gz), .xlsx, .parquet, .feather, .npz, .svm or .libsvm."
DataFile = Annotated[Path, typer.Argument(help=DATA, show_default=False, callback=_there)]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        help=f"{DATA} Or several with the same columns, also by a pattern such as 'visits/*.parquet'.",
        show_default=False, callback=_all_there,
    ),
]  # fmt: skip
ModelFile = Annotated[Path, typer.Argument(help="A file that smaller fit wrote.", show_default=False, callback=_there)]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
SameTarget = Annotated[
    str | None, option("The column with the true values; by default the target of fit.", "--target", "-t")
]
Standardize = Annotated[bool, typer.Option(help="Measure the prior in standard deviations; weights stay per unit.")]
ClassWeight = Annotated[str | None, option("balanced: every class counts the same, however rare it is.")]
Groups = Annotated[
    str | None,
    option("features (a column is kept for all classes or none), or a file of columns and groups that enter together."),
]
Task = Annotated[str | None, option("classification or regression; by default found from the target.")]
Output = Annotated[Path | None, option("A file for the result; by default the terminal.", "--output", "-o")]


def _names(help: str) -> Any:
    return Annotated[list[str] | None, option(f"{help}; may be repeated.")]


def _text(help: str) -> Any:
    return Annotated[str | None, option(help)]


# How a new file is opened, and how the columns of a table are read before a model is fitted: annotations and defaults.
OPENING: dict[str, tuple[Any, Any]] = {
    "encoding": (_text("The encoding of a text file, such as cp1252; by default UTF-8."), None),
    "sheet": (_text("The sheet of an Excel file; by default the only one with rows."), None),
}
LABELLED: dict[str, tuple[Any, Any]] = {
    **OPENING,
    "drop_missing_target": (
        Annotated[bool, typer.Option("--drop-missing-target", help="Leave out the rows without a target.")],
        False,
    ),
}
READING: dict[str, tuple[Any, Any]] = {
    "categorical": (_names("A column of codes: each value is a category"), None),
    "numeric": (_names("A column of numbers: other texts count as missing, and row numbers are kept"), None),
    "ignore": (_names("A column to leave out"), None),
    "impute": (
        Annotated[bool, typer.Option("--impute", help="For missing values, the median or the most frequent text.")],
        False,
    ),
    "na": (_names("A text or number that means a missing value, in any column, such as -999"), None),
    "decimal": (_text("The decimal mark, '.' or ','; by default found in the table."), None),
    "thousands": (_text("The mark between thousands: ',', '.', 'space', \"'\" or 'none'; by default found."), None),
    "day_first": (
        Annotated[bool | None, option("Which comes first in dates such as 3/4/2024.", "--day-first/--month-first")],
        None,
    ),
    **LABELLED,
}
