"""The arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..tuning.ranking import CLASSIFICATION, REGRESSION


def option(help: str, *flags: str, **more: Any) -> Any:
    """An option whose help states its default."""
    return typer.Option(*flags, help=help, show_default=False, **more)


DATA = "A file: .csv or .tsv (also .gz), .parquet, .feather, .npz, .svm or .libsvm."
DataFile = Annotated[Path, typer.Argument(help=DATA, show_default=False)]
ModelFile = Annotated[Path, typer.Argument(help="A file that smaller fit wrote.", show_default=False)]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
SameTarget = Annotated[
    str | None, option("The column with the true values; by default the target of fit.", "--target", "-t")
]
Ignore = Annotated[list[str] | None, option("A column to leave out; may be repeated.")]
Categorical = Annotated[list[str] | None, option("A column of codes: each value is a category; may be repeated.")]
Numeric = Annotated[
    list[str] | None,
    option("A column of numbers: other texts count as missing, and row numbers are kept; may be repeated."),
]
Decimal = Annotated[str | None, option("The decimal mark, '.' or ','; by default found in the table.")]
Impute = Annotated[bool, typer.Option("--impute", help="For missing values, the median or the most frequent text.")]
Standardize = Annotated[bool, typer.Option(help="Measure the prior in standard deviations; weights stay per unit.")]
Task = Annotated[str | None, option(f"{CLASSIFICATION} or {REGRESSION}; by default found from the target.")]
Output = Annotated[Path | None, option("A file for the result; by default the terminal.", "--output", "-o")]
