"""The commands fit and report."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..data.tables.source import source_of
from ..report import Report
from ..report import facts as facts_of
from ..tuning.ranking import CLASSIFICATION, REGRESSION, Settings, target_for
from . import models, options
from .facts_in_brief import show
from .groups_option import groups_of
from .memory import memory_budget
from .models import how_to_read
from .option_checks import check_class_weight, check_place, check_task
from .posterior_draws import draw, load_draws, place_of, refuse_groups
from .predicting import refuse_for_numbers
from .reading_rows import FitOptions, read_rows
from .terminal import say, working
from .training_rows import RowsInBlocks
from .unfinished import begun_model, how_to_continue, interrupted

TARGET = "y"


def fit_table(
    data: list[Path],
    target: str | None,
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
    memory: str | None,
    resume: Path | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Fit a model to a table and save it."""
    check_task(task)
    check_class_weight(class_weight)
    source, limit = source_of(data), memory_budget(memory)
    check_place(output, *source.paths)
    if posterior:
        refuse_groups(groups)
        check_place(place_of(output), *source.paths, output)
    begun = None if resume is None else begun_model(resume, {"--model": model, "--lam": lam, "--groups": groups})
    with interrupted(output, source), ExitStack() as stack:
        wanted = how_to_continue(begun, reading) if begun else {"target": target or TARGET, **how_to_read(reading)}
        rows = read_rows(source, wanted, FitOptions(task, basis, limit, output), stack)
        settings = Settings(lam, basis, standardize, class_weight, scoring, groups_of(groups, rows.columns, basis))
        if posterior and isinstance(rows, RowsInBlocks):
            raise ValueError("--posterior needs the table in memory; leave it out, or give more memory with --memory.")
        fitted = models.fit_model(rows, model, task, settings, source.name, begun and begun.model)
        fitted.save(output)
        sample = rows.sample()
    say(f"{type(fitted.model).__name__} on {rows.shape[0]} samples of {source.name}:")
    if len(sample.y) < rows.shape[0]:
        say(f"The errors below are those of {len(sample.y)} of these samples, drawn at random.")
    show(gathered(fitted, sample.X, sample.y, source.name, brief=True))
    if posterior:
        draw(fitted, sample.X, sample.y, seed, output)
        say(
            f"\nThe draws: {place_of(output)}. Next:  smaller report {output} {source.paths[0]} --posterior "
            f"{place_of(output)}"
        )
    new = "NEW" + Path(source.paths[0].name.lower().removesuffix(".gz")).suffix
    say(f"\nThe model: {output}. Next:  smaller predict {output} {new} -o OUT.csv")


def gathered(fitted: models.Fitted, X, y, source: str, brief: bool = False, **more: Any) -> dict[str, Any]:
    y = target_for(CLASSIFICATION if fitted.classifies else REGRESSION, y)
    with working("Computing the facts"):
        names = fitted.columns.inputs
        return facts_of(
            fitted.model, fitted.inputs(X), y, names=names, source=source, training=fitted.training,
            with_path=not brief, **more,
        )  # fmt: skip


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
            refuse_for_numbers(["--threshold"])
        asked = options.parse_threshold(threshold, fitted.model.classes_)
    found = Report(gathered(fitted, table.X, table.y, data.name, threshold=asked, posterior=draws, date=date))
    with working("Writing the page"):
        found.save(output)
    show(found.facts)
    say(f"\nThe report: {output}")
