"""The commands with their arguments and options, in the order in which the help shows them.

What carries a command out is in the module that it names. Names of models, measures and methods are written out in the
help, since a table of them would import the models; tests compare them with the tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .application import app, command
from .arguments import (
    LABELLED,
    OPENING,
    READING,
    ClassWeight,
    DataFile,
    DataFiles,
    Groups,
    ModelFile,
    SameTarget,
    Standardize,
    Target,
    Task,
    given_there,
    option,
)


@command("describe", "describing.describe", READING)
def _describe(
    data: DataFile,
    target: Annotated[str | None, option("The column to predict, if there is one.", "--target", "-t")] = None,
) -> None:
    """Show what every column of a table is read as, and what to do where it cannot be read."""


@command("fit", "fitting.fit_table", READING)
def _fit_table(
    data: DataFiles,
    target: Target = "y",
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file.")] = Path("my.model"),
    model: Annotated[
        str | None, option("One of sbmlr, smlr, rmlr, rvm, jeffreys, laplace; sbmlr, or for numbers rvm, by default.")
    ] = None,
    lam: Annotated[float | None, option("Strength of the prior, for smlr, rmlr and laplace.")] = None,
    basis: Annotated[str, typer.Option(help="linear, quadratic, rbf or poly.")] = "linear",
    task: Task = None,
    standardize: Standardize = True,
    class_weight: ClassWeight = None,
    scoring: Annotated[
        str | None, option("Measure that chooses the strength of smlr: log-loss, error, balanced-error, auc.")
    ] = None,
    groups: Groups = None,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Also draw from the posterior: intervals of every weight.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    memory: Annotated[
        str | None,
        option(
            "Memory of all processes together, as 2GB: larger tables are read in blocks; else 80 % of what is free."
        ),
    ] = None,
    resume: Annotated[
        Path | None, option("An unfinished model to go on from, on the same data.", "--continue", callback=given_there)
    ] = None,
) -> None:
    """Fit a model to a table and save it."""


@command("predict", "predicting.predict", OPENING)
def _predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[Path | None, option("CSV or Parquet; else the terminal.", "--output", "-o")] = None,
    reject: Annotated[float | None, option("Least confidence: samples below it are rejected.")] = None,
    costs: Annotated[str | None, option("true:decided=cost,... or a CSV file; 1 for every other error.")] = None,
    reject_cost: Annotated[float | None, option("Cost of a rejection: rejects where that is cheaper.")] = None,
    prior_shift: Annotated[str | None, option("class=frequency,... of the new data, or 'estimate'.")] = None,
    keep: Annotated[list[str] | None, option("A column of the data to repeat in the output.")] = None,
    threshold: Annotated[
        str | None, option("class=probability: decide that class where it is at least so probable.")
    ] = None,
    outside: Annotated[
        str, typer.Option(help="Rows far from all training rows, in kernel models of numbers: warn, widen or error.")
    ] = "warn",
    stream: Annotated[
        bool, typer.Option("--stream", help="Read CSV lines from standard input (DATA is -), and answer each at once.")
    ] = False,
) -> None:
    """Predict the rows of a table: the decision, the probability of each class, and rejections."""


@command("report", "fitting.write_report", LABELLED)
def _write_report(
    model: ModelFile,
    data: DataFile,
    target: SameTarget = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page (.html), or its facts (.json).")] = Path(
        "report.html"
    ),
    threshold: Annotated[
        str | None, option("class=probability: where the class is decided; the slider of the page starts there.")
    ] = None,
    posterior: Annotated[Path | None, option("Draws that fit --posterior wrote: intervals of the weights.")] = None,
    date: Annotated[str | None, option("A date for the foot of the page.")] = None,
) -> None:
    """Write a page about a model on labelled data: its weights, its errors, and its certificate."""


@command("explain", "explaining.explain_rows", OPENING)
def _explain_rows(
    model: ModelFile,
    data: DataFile,
    row: Annotated[list[int] | None, option("A row to explain, 1 for the first; may be repeated.")] = None,
    output: Annotated[Path | None, option("All contributions to all rows as CSV.", "--output", "-o")] = None,
) -> None:
    """Say why rows are predicted as they are: what every column adds to the score."""


@command("select", "selecting.select_features", READING)
def _select_features(
    data: DataFile,
    target: Target = "y",
    max_false: Annotated[
        float | None, option("False features allowed in expectation, for stability; 1 by default.")
    ] = None,
    selected: Annotated[int | None, option("Features selected on each half, for stability.")] = None,
    threshold: Annotated[float | None, option("Share of the halves that must select a feature, for stability.")] = None,
    bound: Annotated[
        str | None,
        option("For stability: worst-case, unimodal, r-concave, meinshausen-buehlmann; unimodal by default."),
    ] = None,
    method: Annotated[str, typer.Option(help="stability, knockoffs, tests, splits or sets.")] = "stability",
    fdr: Annotated[float | None, option("Share of false features allowed, for knockoffs; 0.1 by default.")] = None,
    group: Annotated[str | None, option("A column of labels: rows of one label stay together, for stability.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random halves, knockoffs or splits.")] = 0,
    jobs: Annotated[int, typer.Option(help="Halves side by side; -1 for all processors.")] = -1,
    output: Annotated[Path | None, option("All features as CSV.", "--output", "-o")] = None,
    task: Task = None,
    groups: Groups = None,
) -> None:
    """Select features with a bound on how many of them are false."""


@command("compare", "studies.compare", READING)
def _compare(
    data: DataFile,
    target: Target = "y",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the data, each held out once.")] = 5,
    jobs: Annotated[int, typer.Option(help="Fits side by side; -1 for all processors.")] = -1,
    standardize: Standardize = True,
    task: Task = None,
    class_weight: ClassWeight = None,
    scoring: Annotated[
        str | None,
        option(
            "The measure that models are compared by: log-loss, error, balanced-error, auc, average-precision, "
            "log-density, rmse, absolute-error."
        ),
    ] = None,
    groups: Groups = None,
) -> None:
    """Cross-validate every suitable model and recommend one."""


@command("path", "studies.show_path", READING)
def _show_path(
    data: DataFile,
    target: Target = "y",
    strengths: Annotated[int, typer.Option(min=1, help="The number of strengths.")] = 20,
    output: Annotated[Path | None, option("All weights as CSV.", "--output", "-o")] = None,
    standardize: Standardize = True,
    task: Task = None,
    groups: Groups = None,
) -> None:
    """Show which columns enter as the prior gets weaker: the path of SMLR, or of LaplaceRegressor for numbers."""


@command("bound", "studies.show_bound", LABELLED)
def _show_bound(
    model: ModelFile,
    data: DataFile,
    target: SameTarget = None,
    kind: Annotated[
        str, typer.Option(help="One of test-set, pac-bayes, rademacher; the last two are for the training data.")
    ] = "test-set",
    delta: Annotated[float, typer.Option(help="Probability with which the bound may fail.")] = 0.05,
    prior: Annotated[float | None, option("Rate of a Laplace prior fixed without the data.")] = None,
    intercept_prior: Annotated[float | None, option("Rate of the Laplace prior of the intercept.")] = None,
) -> None:
    """Show an upper bound of the true error, with its assumptions."""


@command("export", "exporting.export")
def _export(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="A graph (.onnx), or a C header (.h).")] = Path(
        "model.onnx"
    ),
    dtype: Annotated[
        str, typer.Option(help="float64 or float32: the type of the inputs and outputs of a graph.")
    ] = "float64",
    name: Annotated[str | None, option("Prefix of the names in the header; by default the name of the file.")] = None,
) -> None:
    """Write a model for other programs: as an ONNX graph, or as C without dependencies."""


@command("datasets", "samples.list_datasets")
def _list_datasets(
    name: Annotated[str | None, typer.Argument(help="A data set to write as a table.", show_default=False)] = None,
    output: Annotated[
        Path | None, option("NAME.csv, or NAME.npz if it is sparse, by default.", "--output", "-o")
    ] = None,
    part: Annotated[str, typer.Option(help="all, train or test, where the set comes with such parts.")] = "all",
) -> None:
    """List the data sets of the papers, or write one as a table to try the commands on."""


@command("demo", "samples.demo")
def _demo(folder: Annotated[Path, typer.Argument(help="The folder for the reports.")] = Path("demo-report")) -> None:
    """Fit sparse models to two data sets of scikit-learn and leave a report on each."""


__all__ = ["app"]
