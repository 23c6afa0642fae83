"""The command explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import replacing
from ..data.tables.writing_csv import write_csv
from ..errors import ModelFileError
from ..report import explain
from ..report.explanations import row_facts
from . import models
from .option_checks import check_place
from .terminal import grid, say

SHOWN = 5  # rows that are explained where none is named


def explain_rows(
    model: Path,
    data: Path,
    row: list[int] | None,
    output: Path | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Say why rows are predicted as they are: what every column adds to the score."""
    check_place(output, model, data)
    fitted = models.load_fitted(model)
    means = fitted.training.get("means")
    if means is None:
        raise ModelFileError(f"{model} was fitted by a version that kept no means of the columns; fit again.")
    X = models.read(data, columns=fitted.columns, **reading).X
    wanted = [number - 1 for number in row] if row else list(range(min(SHOWN, X.shape[0])))
    beyond = [number + 1 for number in wanted if not 0 <= number < X.shape[0]]
    if beyond:
        raise ValueError(f"--row must be from 1 to {X.shape[0]}, the rows of {data.name}; got {beyond[0]}.")
    for number in wanted:
        _show(fitted, fitted.inputs(X[[number]]), number + 1, means)
    if output is not None:
        _write(fitted, X, means, output)
    elif not row and X.shape[0] > SHOWN:
        say(f"... and {X.shape[0] - SHOWN} more rows; name them with --row, or write all with -o FILE.csv.")


def _show(fitted: models.Fitted, x, number: int, means: np.ndarray) -> None:
    inner, names = fitted.model, np.asarray(fitted.columns.inputs, dtype=object)
    labels = [str(label) for label in getattr(inner, "classes_", [])]
    facts = row_facts(inner, x, names, labels, means, {})
    predicted = str(inner.predict(x)[0]) if fitted.classifies else f"{inner.predict(x)[0]:.5g}"
    say(f"Row {number}: predicted {predicted}{_sure(fitted, x)}.")
    if not facts["rows"]:
        say("No column was kept, so that every row has the same prediction.")
        return
    why = facts["rows"][0]
    towards = f"towards {why['towards']} (below 0: {why['against']})" if labels else "added"
    rows = [
        [facts["names"][j], f"{value:.4g}", f"{added:+.3g}"]
        for j, value, added in zip(why["columns"], why["values"], why["added"], strict=True)
    ]
    rows += [[f"{why['others']} others", "", f"{why['rest']:+.3g}"]] if why["others"] else []
    start = "the intercept" if hasattr(inner, "relevance_vectors_") else "all values at their means"
    grid(["", "value", towards], [*rows, [start, "", f"{why['base']:+.3g}"], ["sum", "", f"{why['score']:+.3g}"]])
    say()


def _sure(fitted: models.Fitted, x) -> str:
    if not fitted.classifies:
        return ""
    return f", with a probability of {fitted.model.predict_proba(x)[0].max():.3f}"


def _write(fitted: models.Fitted, X, means: np.ndarray, output: Path) -> None:
    """One line for each row of the table, class and column."""
    import pandas as pd

    labels = [str(label) for label in getattr(fitted.model, "classes_", [])]
    parts = []
    for number, why in enumerate(explain(fitted.model, fitted.inputs(X), means, fitted.columns.inputs), 1):
        for k, added in enumerate(why.contributions):
            towards = {"class": labels[1] if len(why.contributions) == 1 else labels[k]} if labels else {}
            parts.append(
                pd.DataFrame({"row": number, **towards, "column": why.names, "value": why.values, "added": added})
            )
    with replacing(output) as beside:
        write_csv(pd.concat(parts, ignore_index=True), beside)
    say(f"What every column adds to the scores of {X.shape[0]} rows: {output}")
