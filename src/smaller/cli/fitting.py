"""The commands fit, predict and report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import decision
from ..atomic import replacing
from ..data.tables import FRAMES, Reading
from ..data.tables.formulas import write_csv
from ..data.tables.frames import ending_of, portions
from ..errors import choose
from ..report import Report
from ..report import facts as facts_of
from ..tuning.ranking import (
    CLASSIFICATION,
    REGRESSION,
    Settings,
    mean_and_deviation,
    target_for,
)
from . import models, options
from .checks import check_class_weight, check_place, check_task
from .facts import show
from .grouping import groups_of
from .posterior import draw, load_draws, place_of, refuse_groups
from .streaming import answer_lines, check_stream
from .terminal import complain, say, working


def fit_table(
    data: Path,
    target: str,
    output: Path,
    model: str | None,
    lam: float | None,
    basis: str,
    task: str | None,
    standardize: bool,
    class_weight: str | None,
    scoring: str | None,
    groups: str | None,
    posterior: bool,
    seed: int,
    *,
    reading: dict[str, Any],
) -> None:
    """Fit a model to a table and save it."""
    check_task(task)
    check_class_weight(class_weight)
    check_place(output, data)
    if posterior:
        refuse_groups(groups)
        check_place(place_of(output), data, output)
    table = models.read_to_fit(data, target, reading)
    settings = Settings(lam, basis, standardize, class_weight, scoring, groups_of(groups, table.columns, basis))
    fitted = models.fit_model(table, model, task, settings, data.name)
    fitted.save(output)
    say(f"{type(fitted.model).__name__} on {table.X.shape[0]} samples of {data.name}:")
    show(gathered(fitted, table.X, table.y, data.name, brief=True))
    if posterior:
        draw(fitted, table.X, table.y, seed, output)
        say(f"\nThe draws: {place_of(output)}. Next:  smaller report {output} {data} --posterior {place_of(output)}")
    new = "NEW" + Path(data.name.lower().removesuffix(".gz")).suffix
    say(f"\nThe model: {output}. Next:  smaller predict {output} {new} -o OUT.csv")


def gathered(fitted: models.Fitted, X, y, source: str, brief: bool = False, **more: Any) -> dict[str, Any]:
    y = target_for(CLASSIFICATION if fitted.classifies else REGRESSION, y)
    with working("Computing the facts"):
        names = fitted.columns.inputs
        return facts_of(
            fitted.model, fitted.inputs(X), y, names=names, source=source, training=fitted.training,
            with_path=not brief, **more,
        )  # fmt: skip


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
    choose("--outside", outside, OUTSIDE)
    if not fitted.classifies:
        _refuse_for_numbers(named)
    elif outside != OUTSIDE[0]:
        raise ValueError("--outside is for models of numbers, and this model predicts classes; leave it out.")
    if threshold is not None and len(named) > 1:
        raise ValueError(
            f"--threshold is a rule of decision of its own; leave out {', '.join(set(named) - {'--threshold'})}."
        )

    def decide(P: np.ndarray) -> np.ndarray:
        classes = fitted.model.classes_
        if threshold is not None:
            return options.above(P, classes, *options.parse_threshold(threshold, classes))
        table_of_costs = None if costs is None else options.parse_costs(costs, classes)
        return decision.decide(P, cost=table_of_costs, reject_cost=reject_cost, threshold=reject, classes=classes)

    if stream:
        check_stream(data, output, keep, prior_shift)
        rejecting = _rejects(reject, reject_cost)
        answer_lines(fitted, lambda X: _answers(fitted, X, {}, decide, rejecting, outside=outside))
        return
    table = models.read(data, columns=fitted.columns, **reading)
    kept = columns_as_given(data, keep or [], "--keep", Reading(columns=fitted.columns, **reading))
    with working("Predicting"):
        answers = _answers(fitted, table.X, kept, decide, _rejects(reject, reject_cost), prior_shift, outside)
    _write(answers, output)


def _rejects(reject: float | None, reject_cost: float | None) -> bool:
    return reject is not None or reject_cost is not None


def _answers(
    fitted, X, kept: dict, decide: Callable, rejecting: bool, prior_shift: str | None = None, outside: str = "warn"
) -> Any:
    """The table of predictions."""
    if not fitted.classifies:
        return _numbers(kept, fitted, X, outside)
    P = fitted.model.predict_proba(fitted.inputs(X))
    P = P if prior_shift is None else _shifted(P, fitted, prior_shift)
    return _frame(kept, decide(P), P, fitted.model.classes_, rejecting)


def _refuse_for_numbers(options_given: list[str]) -> None:
    if options_given:
        raise ValueError(
            f"{', '.join(options_given)}: only for classifiers, and this model predicts numbers; leave them out."
        )


def _numbers(kept: dict, fitted: models.Fitted, X, outside: str) -> Any:
    """Predicted numbers, with their standard deviations where the model has them."""
    import pandas as pd

    mean, deviation = mean_and_deviation(fitted.model, fitted.inputs(X), outside)
    known = {} if np.isnan(deviation).any() else {"standard deviation": deviation}
    return pd.DataFrame({**kept, "prediction": mean, **known})


def _shifted(P: np.ndarray, fitted: models.Fitted, text: str) -> np.ndarray:
    classes, training = fitted.model.classes_, fitted.training["priors"]
    found: Any
    if text == "estimate":
        found = decision.estimate_priors(P, training).priors
        listed = ", ".join(f"{label} {share:.3g}" for label, share in zip(classes.tolist(), found, strict=True))
        complain(f"the class frequencies of these rows are estimated as {listed}.", "note")
    else:
        found = options.parse_priors(text, classes)
    return decision.shift_priors(P, found, training, classes=classes)


def columns_as_given(data: Path, names: list[str], asked: str, reading: Reading) -> dict[str, np.ndarray]:
    """Some columns of a file as they are; `asked` is the option that names them."""
    if names and ending_of(data) not in FRAMES:
        raise ValueError(f"{asked} needs a file with named columns, and {data.name} is a matrix.")
    try:
        parts = list(portions(data, reading)(names, names)) if names else []
    except ValueError as error:
        raise ValueError(f"{asked}: {error}") from None
    return {name: np.concatenate([part[name].to_numpy() for part in parts]) for name in names}


def _frame(kept: dict, decided: np.ndarray, P: np.ndarray, classes: np.ndarray, rejecting: bool) -> Any:
    import pandas as pd

    columns: dict[str, Any] = {**kept, "prediction": decided, "confidence": P.max(axis=1)}
    if rejecting:
        columns["rejected"] = ~np.isin(decided, classes)
    columns.update({f"probability of {label}": P[:, k] for k, label in enumerate(classes.tolist())})
    return pd.DataFrame(columns)


def _write(frame, output: Path | None) -> None:
    """Write the table to a file, whole or not at all, or to the terminal."""
    if output is None:
        say((write_csv(frame) or "").rstrip("\n"))
        return
    with replacing(output) as beside:
        if output.suffix.lower() == ".parquet":
            frame.to_parquet(beside, index=False)
        else:
            packed = "gzip" if output.suffix.lower() == ".gz" else None
            write_csv(frame, beside, packed)
    rejected = f", {int(frame['rejected'].sum())} of them rejected" if "rejected" in frame else ""
    say(f"{len(frame)} rows predicted{rejected}: {output}")


def write_report(
    model: Path,
    data: Path,
    target: str | None,
    output: Path,
    threshold: str | None,
    posterior: Path | None,
    date: str | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Write a page about a model on labelled data: its weights, its errors, and its certificate."""
    check_place(output, model, data)
    fitted = models.load_fitted(model)
    table = models.read(data, columns=fitted.columns, target=target or fitted.columns.target, **reading)
    asked, draws = None, load_draws(posterior)
    if threshold is not None:
        if not fitted.classifies:
            _refuse_for_numbers(["--threshold"])
        asked = options.parse_threshold(threshold, fitted.model.classes_)
    found = Report(gathered(fitted, table.X, table.y, data.name, threshold=asked, posterior=draws, date=date))
    with working("Writing the page"):
        found.save(output)
    show(found.facts)
    say(f"\nThe report: {output}")
