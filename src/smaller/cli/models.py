"""Model files of the command line: a model, and how a table becomes its inputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from .. import persist
from ..data.tables import Columns, Table, read_table
from ..data.tables.dates import from_notes
from ..errors import FitInterrupted, ModelFileError, choose
from ..report.paths import worth_a_path
from ..report.seen import training_marks
from ..tuning.ranking import CLASSIFICATION, Settings, model_for
from ..tuning.training_path import training_path
from .terminal import say, working
from .training_rows import RowsInBlocks, RowsInMemory

TrainingRows = RowsInMemory | RowsInBlocks
SPARSE_BELOW = 0.1  # of the weights: fewer are saved as a sparse matrix


class Fitted(NamedTuple):
    """A model with what is needed to apply it to a file."""

    model: Any
    columns: Columns
    scaling: dict[str, np.ndarray] | None  # mean and scale of the inputs, for kernels
    training: dict[str, Any]

    @property
    def classifies(self) -> bool:
        """Whether the model predicts classes; otherwise it predicts numbers."""
        return is_classifier(self.model)

    def inputs(self, X) -> Any:
        """X in the units of the model."""
        return X if self.scaling is None else (X - self.scaling["mean"]) / self.scaling["scale"]

    def save(self, path: Path) -> None:
        """Write the model file."""
        notes = {"columns": self.columns.as_notes(), "scaling": self.scaling, "training": self.training}
        persist.save(self.model, path, notes)


def load_fitted(path: Path) -> Fitted:
    """Read a model file that the command wrote, or one that smaller.save wrote of a plain model."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    model, notes = persist.load_with_notes(path)
    if notes is None:
        raise ModelFileError(
            f"{path} was written by smaller.save from Python, without a description of the table's columns; load it in "
            "Python with smaller.load, or fit with smaller fit."
        )
    try:
        fitted = Fitted(model, Columns(**notes["columns"]), notes["scaling"], notes["training"])
        _check(fitted)
    except Exception as error:  # notes may contain any plain values
        raise ModelFileError(
            f"{path} has notes that the command cannot use ({error}); fit again with smaller fit."
        ) from None
    return fitted


def _check(fitted: Fitted) -> None:
    """Refuse notes that do not fit the model."""
    inputs, p = fitted.columns.inputs, fitted.model.n_features_in_
    texts = [fitted.columns.names, *fitted.columns.categories.values()]
    if len(inputs) != p or not all(isinstance(text, str) for part in texts for text in part):
        raise ValueError(f"its columns are not the {p} inputs of the model")
    if not all(isinstance(text, str) for part in fitted.columns.missing.values() for text in part):
        raise ValueError("a text for missing values is not text")
    if not all(isinstance(value, (str, float)) for value in fitted.columns.fill.values()):
        raise ValueError("values to impute are neither numbers nor text")
    for dates in fitted.columns.dates.values():
        from_notes(dates)
    if fitted.scaling is not None and not all(fitted.scaling[name].shape == (p,) for name in ("mean", "scale")):
        raise ValueError("its scaling does not fit its columns")
    means = fitted.training.get("means")
    if means is not None and np.shape(means) != np.shape(fitted.model.support_):
        raise ValueError("its means do not fit the columns kept")
    if np.asarray(fitted.training.get("marks", np.zeros(0))).dtype.kind != "f":
        raise ValueError("its marks of the training rows are no numbers")
    if fitted.classifies and len(np.asarray(fitted.training["priors"], dtype=float)) != len(fitted.model.classes_):
        raise ValueError("its priors do not fit its classes")


def read(path: Path, what: str = "Reading", **wanted: Any) -> Table:
    """A table, with progress."""
    with working(f"{what} {path.name}") as tick:
        table = read_table(path, progress=tick, **wanted)
    if table.dropped:
        say(f"{table.dropped} of {table.dropped + len(table.y)} rows have no target and were left out.")
    return table


MARKS = {"space": " ", "none": "none", ",": ",", ".": ".", "'": "'", " ": " "}


def how_to_read(reading: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as fields of `Reading`; refused where a mark is unknown."""
    if reading.get("decimal") is not None:
        choose("--decimal", reading["decimal"], (".", ","))
    if reading.get("thousands") is not None:
        choose("--thousands", reading["thousands"], MARKS)
    several = ("categorical", "numeric", "ignore", "na")
    lists: dict[str, Any] = {name: reading[name] or () for name in several if name in reading}
    marks = {"thousands": MARKS[reading["thousands"]]} if reading.get("thousands") is not None else {}
    return {**reading, **lists, **marks}


def read_to_fit(path: Path, target: str, reading: dict[str, Any]) -> Table:
    """The table to fit, in memory; prints how columns were read, where that is not obvious."""
    table = read(path, target=target, **how_to_read(reading))
    for sentence in table.columns.told():
        say(sentence)
    return table


def chosen_model(rows: TrainingRows, name: str | None, task: str | None, settings: Settings) -> tuple[Any, str]:
    """The model for these rows, and the task."""
    task = task or rows.task()
    rows.check(task)
    model = model_for(task, name, settings)
    rows.check_model(model)
    return model, task


def fit_model(
    rows: TrainingRows, name: str | None, task: str | None, settings: Settings, source: str, begun: Any = None
) -> Fitted:
    """Choose a model for the rows and fit it; `begun` is an unfinished model that is continued."""
    model, task = chosen_model(rows, name, task, settings) if begun is None else (begun, CLASSIFICATION)
    X, y, (n, p) = rows.inputs, rows.target(task), rows.shape
    scaling = _scaling(X) if settings.basis not in ("linear", "quadratic") and settings.standardize else None
    training: dict[str, Any] = {"samples": n, "source": source, "target": rows.columns.target}
    if task == CLASSIFICATION:
        counts = rows.class_counts().astype(np.float64)
        if settings.class_weight is not None:
            counts[:] = 1.0  # with balanced weights the model learns from classes of equal frequency
        training["priors"] = (counts / counts.sum()).tolist()
    fitted = Fitted(model, rows.columns, scaling, training)
    with working(f"Fitting {type(model).__name__} on {n} x {p} values"), unfinished_kept(fitted):
        model.fit(fitted.inputs(X), y)
        if worth_a_path(model, X) and not hasattr(model, "path_"):
            with quiet():
                model.path_ = training_path(model, X, y)
    if begun is not None:
        model.set_params(warm_start=False)
    with working("Measuring the model"):
        training["means"] = rows.means(model, fitted.inputs)
        training["marks"] = training_marks(fitted.inputs(rows.sample().X))
    if hasattr(model, "sparsify") and np.count_nonzero(model.coef_) < SPARSE_BELOW * model.coef_.size:
        model.sparsify()
    return fitted


@contextmanager
def unfinished_kept(fitted: Fitted) -> Iterator[None]:
    """An interrupted fit comes with all that a model file needs: `unfinished` of the exception."""
    try:
        yield
    except (KeyboardInterrupt, FitInterrupted) as error:
        reached = getattr(error, "model", None)
        if reached is not None and "warm_start" in reached.get_params(deep=False):
            error.unfinished = fitted._replace(model=reached)  # type: ignore[union-attr]
        raise


def _scaling(X) -> dict[str, np.ndarray]:
    """Mean and standard deviation of the inputs: the values of a kernel depend on the units."""
    if sparse.issparse(X):
        raise ValueError("A kernel on a sparse table cannot be standardised; use --no-standardize.")
    spread = X.std(axis=0)
    return {"mean": X.mean(axis=0), "scale": np.where(spread > 0, spread, 1.0)}


def quiet() -> warnings.catch_warnings:
    """A context without warnings, which would repeat the facts."""
    return warnings.catch_warnings(action="ignore")
