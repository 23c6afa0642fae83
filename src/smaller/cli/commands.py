"""The commands."""

from __future__ import annotations

from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import __version__, bounds, datasets, decision
from ..atomic import replacing
from ..errors import choose
from ..ranking import (
    CLASSIFICATION,
    MODELS,
    REGRESSION,
    Settings,
    advice,
    as_classes,
    candidates,
    cross_validated,
    model_for,
    task_of,
)
from ..report import Report
from ..report import facts as facts_of
from ..tables import FRAMES, Columns, Table
from ..tuning import path as strength_path
from . import models, options
from .arguments import (
    Categorical,
    DataFile,
    Ignore,
    Impute,
    ModelFile,
    SameTarget,
    Standardize,
    Target,
    Task,
    option,
)
from .terminal import complain, grid, say, show, working

app = typer.Typer(
    help="Sparse Bayesian models from the command line: fit a table, predict another, see why.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        say(f"smaller {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Say the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Sparse Bayesian models from the command line: fit a table, predict another, see why."""


@app.command()
def fit(
    data: DataFile,
    target: Target = "y",
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file.")] = Path("my.model"),
    model: Annotated[str | None, option(f"One of {', '.join(MODELS)}; by default the first.")] = None,
    lam: Annotated[float | None, option("Strength of the prior, for smlr and rmlr.")] = None,
    basis: Annotated[str, typer.Option(help="linear, quadratic, rbf or poly.")] = "linear",
    task: Task = None,
    standardize: Standardize = True,
    categorical: Categorical = None,
    ignore: Ignore = None,
    impute: Impute = False,
) -> None:
    """Fit a model to a table and save it."""
    _check_task(task)
    _check_place(output, data)
    table = models.read(data, target=target, categorical=categorical or (), ignore=ignore or (), impute=impute)
    fitted = models.fit(table, model, task, Settings(lam, basis, standardize), data.name)
    fitted.save(output)
    say(f"{type(fitted.model).__name__} on {table.X.shape[0]} samples of {data.name}:")
    if fitted.classifies:
        show(_facts(fitted, table.X, as_classes(table.y), data.name, brief=True))
    else:
        residual = table.y - fitted.model.predict(fitted.inputs(table.X))
        say(f"On these samples, which it was fitted on, it misses by {np.sqrt(np.mean(residual**2)):.4g} (RMS).")
    say(f"\nThe model: {output}. Next:  smaller predict {output} NEW.csv -o OUT.csv")


def _check_place(output: Path | None, *inputs: Path) -> None:
    """Refuse, before the work starts, to write where that cannot be or would destroy what is read."""
    if output is None:
        return
    if not output.parent.is_dir():
        raise ValueError(f"There is no folder {output.parent} to write {output.name} to; make it first.")
    if output.is_dir() or any(output.resolve() == file.resolve() for file in inputs):
        raise ValueError(f"{output} is a folder, or a file that is read; name another file to write to.")


def _check_task(task: str | None) -> None:
    if task is not None:
        choose("--task", task, (CLASSIFICATION, REGRESSION))


def _facts(fitted: models.Fitted, X, y, source: str, brief: bool = False) -> dict[str, Any]:
    with working("Gathering the facts"):
        names = fitted.columns.inputs
        return facts_of(
            fitted.model, fitted.inputs(X), y, names=names, source=source, training=fitted.training, with_path=not brief
        )


@app.command()
def predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[Path | None, option("CSV or Parquet; else the terminal.", "--output", "-o")] = None,
    reject: Annotated[float | None, option("Least confidence: less sure samples are rejected.")] = None,
    costs: Annotated[str | None, option("true:decided=cost,... or a CSV file; 1 for every other error.")] = None,
    reject_cost: Annotated[float | None, option("Cost of a rejection: rejects where that is cheaper.")] = None,
    prior_shift: Annotated[str | None, option("class=frequency,... of the new data, or 'estimate'.")] = None,
    keep: Annotated[list[str] | None, option("A column of the data to repeat in the output.")] = None,
) -> None:
    """Predict the rows of a table: the decision, the probability of each class, and what was rejected."""
    _check_place(output, model, data)
    fitted = models.load(model)
    table = models.read(data, columns=fitted.columns)
    kept = _kept_columns(data, keep or [])
    if not fitted.classifies:
        given = {"--reject": reject, "--costs": costs, "--reject-cost": reject_cost, "--prior-shift": prior_shift}
        _refuse_for_numbers([name for name, value in given.items() if value is not None])
        _write(_numbers(kept, fitted, table.X), output)
        return
    with working("Predicting"):
        P = fitted.model.predict_proba(fitted.inputs(table.X))
    classes = fitted.model.classes_
    P = P if prior_shift is None else _shifted(P, fitted, prior_shift)
    table_of_costs = None if costs is None else options.costs(costs, classes)
    decided = decision.decide(P, cost=table_of_costs, reject_cost=reject_cost, threshold=reject, classes=classes)
    _write(_frame(kept, decided, P, classes, reject is not None or reject_cost is not None), output)


def _refuse_for_numbers(options_given: list[str]) -> None:
    if options_given:
        raise ValueError(f"{', '.join(options_given)}: for models of classes, and this model predicts numbers.")


def _numbers(kept: dict, fitted: models.Fitted, X) -> Any:
    """Predicted numbers, with their standard deviations where the model knows them."""
    import pandas as pd

    predict, X = fitted.model.predict, fitted.inputs(X)
    if "return_std" not in signature(predict).parameters:
        return pd.DataFrame({**kept, "prediction": predict(X)})
    mean, deviation = predict(X, return_std=True)
    return pd.DataFrame({**kept, "prediction": mean, "standard deviation": deviation})


def _shifted(P: np.ndarray, fitted: models.Fitted, text: str) -> np.ndarray:
    classes, training = fitted.model.classes_, fitted.training["priors"]
    found: Any
    if text == "estimate":
        found = decision.estimate_priors(P, training).priors
        told = ", ".join(f"{label} {share:.3g}" for label, share in zip(classes.tolist(), found, strict=True))
        complain(f"the priors of these rows are estimated as {told}.", "note")
    else:
        found = options.priors(text, classes)
    return decision.shift_priors(P, found, training, classes=classes)


def _kept_columns(data: Path, names: list[str]) -> dict[str, np.ndarray]:
    ending = data.name.lower().removesuffix(".gz").rpartition(".")[2]
    if names and ending not in FRAMES:
        raise ValueError(f"--keep needs a file with columns, and {data.name} has a matrix.")
    try:
        parts = list(FRAMES[ending](data, names, names)) if names else []
    except ValueError as error:
        raise ValueError(f"--keep: {error}") from None
    return {name: np.concatenate([part[name].to_numpy() for part in parts]) for name in names}


def _frame(kept: dict, decided: np.ndarray, P: np.ndarray, classes: np.ndarray, rejecting: bool) -> Any:
    import pandas as pd

    columns: dict[str, Any] = {**kept, "prediction": decided, "confidence": P.max(axis=1)}
    if rejecting:
        columns["rejected"] = ~np.isin(decided, classes)
    columns.update({f"probability of {label}": P[:, k] for k, label in enumerate(classes.tolist())})
    return pd.DataFrame(columns)


def _write(frame, output: Path | None) -> None:
    """The whole table, or nothing."""
    if output is None:
        say(frame.to_csv(index=False).rstrip("\n"))
        return
    with replacing(output) as beside:
        if output.suffix.lower() == ".parquet":
            frame.to_parquet(beside, index=False)
        else:
            packed = "gzip" if output.suffix.lower() == ".gz" else None
            frame.to_csv(beside, index=False, compression=packed)
    rejected = f", {int(frame['rejected'].sum())} of them rejected" if "rejected" in frame else ""
    say(f"{len(frame)} rows predicted{rejected}: {output}")


@app.command()
def report(
    model: ModelFile,
    data: DataFile,
    target: SameTarget = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page (.html), or its facts (.json).")] = Path(
        "report.html"
    ),
) -> None:
    """Write a page about a model on labelled data: what it kept, its errors, and how sure one can be."""
    _check_place(output, model, data)
    fitted = models.load(model)
    table = models.read(data, columns=fitted.columns, target=target or fitted.columns.target)
    found = Report(_facts(fitted, table.X, as_classes(table.y), data.name))
    with working("Writing the page"):
        found.save(output)
    show(found.facts)
    say(f"\nThe report: {output}")


@app.command()
def compare(
    data: DataFile,
    target: Target = "y",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the data, each held out once.")] = 5,
    jobs: Annotated[int, typer.Option(help="Fits side by side; -1 for all processors.")] = -1,
    standardize: Standardize = True,
    categorical: Categorical = None,
    ignore: Ignore = None,
    impute: Impute = False,
    task: Task = None,
) -> None:
    """Cross-validate every suitable model and advise."""
    _check_task(task)
    table = models.read(data, target=target, categorical=categorical or (), ignore=ignore or (), impute=impute)
    model_for(task or task_of(table.y), None, Settings())
    tried = candidates(table.X, standardize)
    with working(f"Comparing {len(tried)} models", total=folds * len(tried)) as tick, models.quiet():
        scores = cross_validated(tried, table.X, as_classes(table.y), folds, jobs, tick)
    rows = [
        [s.name, f"{s.error:.1%}", f"{s.log_loss:.3f} ± {s.log_loss_error:.3f}", f"{s.calibration:.3f}",
         f"{s.kept:.1f} {s.what}" if s.what else "-", f"{s.seconds:.2f}"]
        for s in scores
    ]  # fmt: skip
    grid(["model", "error", "log-loss", "calibration error", "kept", "seconds"], rows)
    say(advice(scores))


@app.command()
def path(
    data: DataFile,
    target: Target = "y",
    strengths: Annotated[int, typer.Option(min=1, help="How many strengths.")] = 20,
    output: Annotated[Path | None, option("All weights as CSV.", "--output", "-o")] = None,
    standardize: Standardize = True,
    categorical: Categorical = None,
    ignore: Ignore = None,
    impute: Impute = False,
) -> None:
    """Show which columns enter as the prior weakens."""
    _check_place(output, data)
    table = models.read(data, target=target, categorical=categorical or (), ignore=ignore or (), impute=impute)
    model_for(task_of(table.y), None, Settings())
    with working(f"Following {strengths} strengths"):
        found = strength_path(table.X, as_classes(table.y), strengths, standardize=standardize)
    names, before, rows = np.array(table.columns.inputs, dtype=object), np.array([], dtype=int), []
    for lam, coef, kept, gap in zip(found.lams, found.sparse_coefs, found.n_kept, found.dual_gaps, strict=True):
        now = np.unique(coef.nonzero()[1])
        new = names[np.setdiff1d(now, before)]
        entered = ", ".join(new[:4]) + (f" and {len(new) - 4} more" if len(new) > 4 else "")
        rows.append([f"{lam:.4g}", kept, f"{gap:.0e}", entered])
        before = now
    grid(["lam", "kept", "gap", "enter here"], rows, texts=(3,))
    if output is not None:
        _write_weights(found, names, output)


def _write_weights(found, names: np.ndarray, output: Path) -> None:
    import pandas as pd

    labels = found.classes if found.sparse_coefs[0].shape[0] > 1 else found.classes[1:]
    parts = [
        pd.DataFrame({"lam": lam, "class": labels[rows], "column": names[places], "weight": coef[rows, places]})
        for lam, coef in zip(found.lams, found.coefs, strict=True)
        for rows, places in [np.nonzero(coef)]
    ]
    with replacing(output) as beside:
        pd.concat(parts).to_csv(beside, index=False)
    say(f"The weights that are not 0: {output}")


KINDS: dict[str, Any] = {"test-set": bounds.test_set, "pac-bayes": bounds.pac_bayes, "rademacher": bounds.rademacher}


@app.command()
def bound(
    model: ModelFile,
    data: DataFile,
    target: SameTarget = None,
    kind: Annotated[
        str, typer.Option(help=f"One of {', '.join(KINDS)}; the last two are for the training data.")
    ] = "test-set",
    delta: Annotated[float, typer.Option(help="Probability with which the bound may fail.")] = 0.05,
    prior: Annotated[float | None, option("Rate of a Laplace prior fixed without the data.")] = None,
    intercept_prior: Annotated[float | None, option("The same for the intercept.")] = None,
) -> None:
    """Say what the true error is at most, and under which assumptions."""
    choose("--kind", kind, KINDS)
    fitted = models.load(model)
    table = models.read(data, columns=fitted.columns, target=target or fitted.columns.target)
    declared = {"prior": prior, "intercept_prior": intercept_prior}
    with working("Computing the bound"):
        found = KINDS[kind](
            fitted.model, fitted.inputs(table.X), as_classes(table.y), delta=delta,
            **{} if kind == "test-set" else {name: rate for name, rate in declared.items() if rate is not None},
        )  # fmt: skip
    say(str(found))


@app.command(name="datasets")
def list_datasets(
    name: Annotated[str | None, typer.Argument(help="One to write as CSV.", show_default=False)] = None,
    output: Annotated[Path | None, option("NAME.csv by default.", "--output", "-o")] = None,
) -> None:
    """List the data sets of the papers, or write one as CSV to try the commands on."""
    known = datasets.available()
    if name is None:
        grid(["name", "where"], [[key, where or "not here"] for key, where in known.items()], texts=(0, 1))
        return
    choose("name", name, known)
    _write_dataset(getattr(datasets, f"load_{name}")(), output or Path(f"{name}.csv"))


def _write_dataset(bunch, output: Path) -> None:
    import pandas as pd
    from scipy import sparse

    y = bunch.target if bunch.target_names is None else bunch.target_names[bunch.target]
    if sparse.issparse(bunch.data):
        raise ValueError("This set is a sparse matrix, which CSV is not for; use it from Python.")
    frame = pd.DataFrame(bunch.data, columns=list(bunch.feature_names))
    with replacing(output) as beside:
        frame.assign(y=y).to_csv(beside, index=False)
    say(f"{len(frame)} rows, {frame.shape[1]} columns and the target y: {output}")


@app.command()
def demo(folder: Annotated[Path, typer.Argument(help="Where the report goes.")] = Path("demo-report")) -> None:
    """Fit a sparse model to scikit-learn's breast cancer data and leave a report."""
    from sklearn.model_selection import train_test_split

    bunch = datasets.load_breast_cancer()
    labels = bunch.target_names[bunch.target]
    X, X_test, y, y_test = train_test_split(bunch.data, labels, test_size=0.3, stratify=labels, random_state=0)
    columns = Columns([str(name) for name in bunch.feature_names], target="y")
    fitted = models.fit(Table(X, y, columns), None, None, Settings(), "breast cancer, training part")
    found = Report(_facts(fitted, X_test, y_test, "breast cancer, test part"))
    say("Breast cancer, a sparse model on samples that it has not seen:")
    show(found.facts)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / ("index.html" if find_spec("vl_convert") and find_spec("jinja2") else "facts.json")
    found.save(page)
    say(f"\nThe report: {page}")
