"""The commands compare, path and bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import bounds
from ..atomic import replacing
from ..data.tables.writing_csv import write_csv
from ..errors import choose
from ..report.seen import share_of_training
from ..tuning.path import path
from ..tuning.ranking import (
    CLASSIFICATION,
    TARGETS,
    Score,
    advice,
    as_classes,
    best_of,
    candidates,
    cross_validated,
    target_for,
    task_of,
)
from ..tuning.training_path import laplace_path
from . import models
from .groups_option import groups_of
from .option_checks import check_class_weight, check_place, check_task
from .terminal import grid, say, working


def compare(
    data: Path,
    target: str,
    folds: int,
    jobs: int,
    standardize: bool,
    task: str | None,
    class_weight: str | None,
    scoring: str | None,
    groups: str | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Cross-validate every suitable model and recommend one."""
    check_task(task)
    table = models.read_to_fit(data, target, reading)
    task = task or task_of(table.y)
    check_class_weight(class_weight)
    tried = candidates(task, table.X, standardize, class_weight, groups_of(groups, table.columns))
    with working(f"Comparing {len(tried)} models", total=folds * len(tried)) as tick, models.quiet():
        scores = cross_validated(task, tried, table.X, target_for(task, table.y), folds, jobs, tick, scoring)
    _show_scores(task, scores)


def _show_scores(task: str, scores: list[Score]) -> None:
    target, best = TARGETS[task], best_of(scores)
    rows = []
    for s in scores:
        figures = {name: _figure(form, s, name) for name, form in target.formats.items()}
        shown = {**figures, f"{scores[0].measure or target.loss} above the best": _above(s, best)}
        rows.append([s.name, *("-" if "nan" in text else text for text in shown.values()), s.size, f"{s.seconds:.2f}"])
    grid(["model", *shown, "kept", "seconds"], rows)
    say(advice(task, scores))


def _figure(form: str, score: Score, name: str) -> str:
    """A figure of all held-out samples, with its standard error over the folds."""
    error = score.errors.get(name, np.nan)
    return form.format(score.figures[name]) + ("" if np.isnan(error) else f" ± {form.format(error)}")


def _above(score: Score, best: Score) -> str:
    """How far the loss is above the best, with the standard error of the difference."""
    return "best" if score is best else "{:.3f} ± {:.3f}".format(*score.above(best))


def show_path(
    data: Path,
    target: str,
    strengths: int,
    output: Path | None,
    standardize: bool,
    task: str | None,
    groups: str | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Show which columns enter as the prior gets weaker: the path of SMLR, or of LaplaceRegressor for numbers."""
    check_task(task)
    check_place(output, data)
    table = models.read_to_fit(data, target, reading)
    task = task or task_of(table.y)
    follow = path if task == CLASSIFICATION else laplace_path
    with working(f"Computing the path at {strengths} strengths"):
        shared = {"standardize": standardize, "groups": groups_of(groups, table.columns)}
        found = follow(table.X, target_for(task, table.y), strengths, **shared)
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

    several = len(found.classes) > 0 and found.coefs.shape[1] > 1
    labels = found.classes if several else found.classes[1:]
    parts = [
        pd.DataFrame(
            {
                "lam": lam,
                **({"class": labels[rows]} if len(labels) else {}),
                "column": names[places],
                "weight": coef[rows, places],
            }
        )
        for lam, coef in zip(found.lams, found.coefs, strict=True)
        for rows, places in [np.nonzero(coef)]
    ]
    with replacing(output) as beside:
        write_csv(pd.concat(parts, ignore_index=True), beside)
    say(f"The weights that are not 0: {output}")


KINDS: dict[str, Any] = {"test-set": bounds.test_set, "pac-bayes": bounds.pac_bayes, "rademacher": bounds.rademacher}


def show_bound(
    model: Path,
    data: Path,
    target: str | None,
    kind: str,
    delta: float,
    prior: float | None,
    intercept_prior: float | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Show an upper bound of the true error, with its assumptions."""
    choose("--kind", kind, KINDS)
    fitted = models.load_fitted(model)
    if not fitted.classifies:
        raise ValueError(
            "The bounds are for the probability of a wrong class, and this model predicts numbers; smaller report "
            "shows how often its intervals contain the true values."
        )
    table = models.read(data, columns=fitted.columns, target=target or fitted.columns.target, **reading)
    declared = {"prior": prior, "intercept_prior": intercept_prior}
    with working("Computing the bound"):
        found = KINDS[kind](
            fitted.model, fitted.inputs(table.X), as_classes(table.y), delta=delta,
            **{} if kind == "test-set" else {name: rate for name, rate in declared.items() if rate is not None},
        )  # fmt: skip
    if kind == "test-set" and share_of_training(dict(fitted.training), fitted.inputs(table.X)) > 0:
        raise ValueError(
            f"{model} was fitted on rows of {data}, on which its error is too low; take rows that were held out, or "
            "(for SMLR) --kind pac-bayes."
        )
    say(str(found))
