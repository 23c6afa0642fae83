"""The arguments and options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from ..tuning.ranking import CLASSIFICATION, REGRESSION


def option(help: str, *flags: str, **more: Any) -> Any:
    """An option whose help states its default."""
    return typer.Option(*flags, help=help, show_default=False, **more)


DATA = "A file: .csv or .tsv (also .gz), .xlsx, .parquet, .feather, .npz, .svm or .libsvm."
DataFile = Annotated[Path, typer.Argument(help=DATA, show_default=False)]
ModelFile = Annotated[Path, typer.Argument(help="A file that smaller fit wrote.", show_default=False)]
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
Task = Annotated[str | None, option(f"{CLASSIFICATION} or {REGRESSION}; by default found from the target.")]
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


def reads(options: dict[str, tuple[Any, Any]]) -> Callable[[Callable], Callable]:
    """A decorator that gives a command these options; the command receives their values as `reading`, a dict."""

    def decorate(command: Callable) -> Callable:
        def run(**given: Any) -> Any:
            reading = {name: given.pop(name) for name in options}
            return command(**given, reading=reading)

        own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "reading"]
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in options.items()
        ]
        every = [*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *more]
        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        run.__annotations__ = {one.name: one.annotation for one in every}
        run.__signature__ = Signature(every)  # type: ignore[attr-defined]
        return run

    return decorate
