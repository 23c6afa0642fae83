"""The command predict: a table is read, predicted and written in portions, so that memory does not grow with it."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .. import decision
from ..atomic import replacing
from ..data.tables.applied import Applied
from ..data.tables.writing_csv import write_csv
from ..errors import OutsideWarning, choose
from ..tuning.ranking import mean_and_deviation
from . import models, options
from .option_checks import check_place
from .streaming import answer_lines, check_stream
from .terminal import complain, say, working

OUTSIDE = ("warn", "widen", "error")  # what is done about rows far from all training rows


def predict(
    model: Path,
    data: Path,
    output: Path | None,
    reject: float | None,
    costs: str | None,
    reject_cost: float | None,
    prior_shift: str | None,
    keep: list[str] | None,
    threshold: str | None,
    outside: str,
    stream: bool,
    *,
    reading: dict[str, Any],
) -> None:
    """Predict the rows of a table: the decision, the probability of each class, and rejections."""
    check_place(output, model, data)
    fitted = models.load_fitted(model)
    given = {"--reject": reject, "--costs": costs, "--reject-cost": reject_cost, "--prior-shift": prior_shift}
    given |= {"--threshold": threshold}
    named = [name for name, value in given.items() if value is not None]
    _check_options(fitted, named, outside)

    def decide(P: np.ndarray) -> np.ndarray:
        classes = fitted.model.classes_
        if threshold is not None:
            return options.above(P, classes, *options.parse_threshold(threshold, classes))
        table_of_costs = None if costs is None else options.parse_costs(costs, classes)
        return decision.decide(P, cost=table_of_costs, reject_cost=reject_cost, threshold=reject, classes=classes)

    rejecting = reject is not None or reject_cost is not None
    if stream:
        check_stream(data, output, keep, prior_shift)
        answer_lines(fitted, lambda X: _answers(fitted, X, {}, decide, rejecting, outside=outside))
        return
    table = Applied(data, fitted.columns, keep or [], **reading)
    priors = None if prior_shift is None else _priors(fitted, table, prior_shift)
    with _one_note():
        _write((_answers(fitted, X, kept, decide, rejecting, priors, outside) for X, kept in table), output)


def _check_options(fitted: models.Fitted, named: list[str], outside: str) -> None:
    choose("--outside", outside, OUTSIDE)
    if not fitted.classifies:
        refuse_for_numbers(named)
    elif outside != OUTSIDE[0]:
        raise ValueError("--outside is for models of numbers, and this model predicts classes; leave it out.")
    if "--threshold" in named and len(named) > 1:
        raise ValueError(
            f"--threshold is a rule of decision of its own; leave out {', '.join(set(named) - {'--threshold'})}."
        )


def refuse_for_numbers(options_given: list[str]) -> None:
    """Refuse options for classes where a model predicts numbers."""
    if options_given:
        raise ValueError(
            f"{', '.join(options_given)}: only for classifiers, and this model predicts numbers; leave them out."
        )


# -- answers


def _answers(
    fitted, X, kept: dict, decide: Callable, rejecting: bool, priors: Any = None, outside: str = "warn"
) -> Any:
    """The table of predictions."""
    if not fitted.classifies:
        return _numbers(kept, fitted, X, outside)
    P, classes = _probabilities(fitted, X), fitted.model.classes_
    if priors is not None:
        P = decision.shift_priors(P, priors, fitted.training["priors"], classes=classes)
    return _frame(kept, decide(P), P, classes, rejecting)


def _probabilities(fitted: models.Fitted, X) -> np.ndarray:
    return fitted.model.predict_proba(fitted.inputs(X))


def _numbers(kept: dict, fitted: models.Fitted, X, outside: str) -> Any:
    """Predicted numbers, with their standard deviations where the model has them."""
    import pandas as pd

    mean, deviation = mean_and_deviation(fitted.model, fitted.inputs(X), outside)
    known = {} if np.isnan(deviation).any() else {"standard deviation": deviation}
    return pd.DataFrame({**kept, "prediction": mean, **known})


def _priors(fitted: models.Fitted, table: Applied, text: str) -> Any:
    """The class frequencies of the rows: as given, or estimated from the probabilities of all of them."""
    classes, training = fitted.model.classes_, fitted.training["priors"]
    if text != "estimate":
        return options.parse_priors(text, classes)
    with working("Estimating the class frequencies"):
        P = np.concatenate([_probabilities(fitted, X) for X, _ in table])
    found = decision.estimate_priors(P, training).priors
    listed = ", ".join(f"{label} {share:.3g}" for label, share in zip(classes.tolist(), found, strict=True))
    complain(f"the class frequencies of these rows are estimated as {listed}.", "note")
    return found


def _frame(kept: dict, decided: np.ndarray, P: np.ndarray, classes: np.ndarray, rejecting: bool) -> Any:
    import pandas as pd

    columns: dict[str, Any] = {**kept, "prediction": decided, "confidence": P.max(axis=1)}
    if rejecting:
        columns["rejected"] = ~np.isin(decided, classes)
    columns.update({f"probability of {label}": P[:, k] for k, label in enumerate(classes.tolist())})
    return pd.DataFrame(columns)


@contextmanager
def _one_note() -> Iterator[None]:
    """Warnings of rows far from the training rows, of which every portion has its own, as one."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", OutsideWarning)
        yield
    far = [str(note.message) for note in notes if issubclass(note.category, OutsideWarning)]
    more = f" (and so in {len(far) - 1} more portions of the table)" if len(far) > 1 else ""
    for note in notes:
        if not issubclass(note.category, OutsideWarning):
            warnings.warn_explicit(note.message, note.category, note.filename, note.lineno)
    if far:
        complain(far[0] + more, "note")


# -- writing them


def _write(frames: Iterable, output: Path | None) -> None:
    """Write the answers to a file, whole or not at all, or to the terminal."""
    if output is None:
        for number, frame in enumerate(frames):
            say((write_csv(frame, header=not number) or "").rstrip("\n"))
        return
    rows, rejected, among = 0, 0, ""
    with working("Predicting") as tick, replacing(output) as beside, ExitStack() as stack:
        write = None
        for frame in frames:
            write = write or stack.enter_context(_writer(output, beside, frame))
            write(frame)
            rows += len(frame)
            if "rejected" in frame:
                rejected += int(frame["rejected"].sum())
                among = f", {rejected} of them rejected"
            tick(rows)
    say(f"{rows} rows predicted{among}: {output}")


@contextmanager
def _writer(output: Path, beside: Path, first: Any) -> Iterator[Callable[[Any], None]]:
    """A function that adds a portion to the file `beside`, in the format that the name of `output` says."""
    if output.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        fields = pa.Schema.from_pandas(first, preserve_index=False)
        kinds = [pa.string() if pa.types.is_null(field.type) else field.type for field in fields]
        schema = pa.schema([field.with_type(kind) for field, kind in zip(fields, kinds, strict=True)], fields.metadata)
        with pq.ParquetWriter(beside, schema) as file:
            yield lambda frame: file.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
        return
    opened = gzip.open if output.suffix.lower() == ".gz" else open
    with opened(beside, "wt", encoding="utf-8", newline="") as stream:
        empty = True

        def write(frame: Any) -> None:
            nonlocal empty
            write_csv(frame, stream, header=empty)
            empty = False

        yield write
