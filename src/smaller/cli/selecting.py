"""The command select: which features, with what error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..atomic import replacing
from ..data.tables import Table
from ..data.tables.applied import column_as_text
from ..data.tables.writing_csv import write_csv
from ..errors import choose
from ..inference import (
    CredibleSetsClassifier,
    CredibleSetsRegressor,
    Knockoffs,
    StabilitySelection,
    WeightTable,
    debiased,
)
from ..inference.false_bounds import BOUNDS
from ..models.adaptive import LaplaceRegressor
from ..models.multinomial import SMLR
from ..tuning.ranking import CLASSIFICATION, target_for, task_of
from . import models
from .arguments import OPENING
from .groups_option import groups_of
from .option_checks import check_place, check_task
from .terminal import grid, say, working

LISTED = 30  # features shown
USUAL_BOUND, USUAL_RATE = "unimodal", 0.1
OTHER_ROWS = (
    "On these rows a model of the features selected looks better than it is: measure its errors, and test its weights, "
    "on other rows."
)

Listed = tuple[dict, np.ndarray, list[str]]  # columns of the list, a number for its order, and lines to say


def select_features(
    data: Path,
    target: str,
    max_false: float | None,
    selected: int | None,
    threshold: float | None,
    bound: str | None,
    method: str,
    fdr: float | None,
    group: str | None,
    seed: int,
    jobs: int,
    output: Path | None,
    task: str | None,
    groups: str | None,
    *,
    reading: dict[str, Any],
) -> None:
    """Select features with a bound on how many of them are false."""
    check_task(task)
    choose("--method", method, METHODS)
    _refuse_of_others(method, {"--max-false": max_false, "--selected": selected, "--threshold": threshold,
                               "--bound": bound, "--fdr": fdr})  # fmt: skip
    choose("--bound", bound or USUAL_BOUND, BOUNDS)
    check_place(output, data)
    if group is not None and method != "stability":
        raise ValueError(f"--group is for --method stability; {method} needs rows that are independent of each other.")
    if groups is not None and method != "stability":
        raise ValueError(f"--groups is for --method stability; {method} looks at each column by itself.")
    if group is not None:
        reading = {**reading, "ignore": [*(reading["ignore"] or []), group]}
    table = models.read_to_fit(data, target, reading)
    task = task or task_of(table.y)
    y = target_for(task, table.y)
    together = _groups(data, group, table, reading) if group else None
    labels = groups_of(groups, table.columns)
    numbers = {**_two_of_three(max_false, selected, threshold), "bound": bound or USUAL_BOUND}
    asked = Asked(numbers, USUAL_RATE if fdr is None else fdr, together, {"random_state": seed, "n_jobs": jobs}, labels)
    with working(f"Selecting among {table.X.shape[1]} features"):
        found = METHODS[method](task, table, y, asked)
    _show(found)
    say(OTHER_ROWS)
    if output is not None:
        _write(found, output)


class Asked(NamedTuple):
    """What the options ask of the methods."""

    numbers: dict[str, Any]  # of stability selection
    fdr: float
    groups: np.ndarray | None
    draws: dict[str, Any]  # how random draws are made
    labels: Any = None  # of the columns: groups that are the features


def _refuse_of_others(method: str, given: dict[str, Any]) -> None:
    """Refuse numbers that the method does not take: a promise that is not kept must not be asked for in vain."""
    for name, value in given.items():
        of = "knockoffs" if name == "--fdr" else "stability"
        if value is not None and method != of:
            raise ValueError(f"{name} is for --method {of}; leave it out, or give --method {of} instead of {method}.")


def _two_of_three(max_false: float | None, selected: int | None, threshold: float | None) -> dict[str, Any]:
    """The numbers of stability selection; where both others are given, every bound is accepted but a given one."""
    usual = 1.0 if selected is None or threshold is None else None
    return {
        "max_false": usual if max_false is None else max_false,
        "n_selected": selected,
        "threshold": threshold,
    }


def _groups(data: Path, group: str, table: Table, reading: dict[str, Any]) -> np.ndarray:
    """The labels of the column that says which rows belong together."""
    opening = {name: reading[name] for name in OPENING}
    labels = column_as_text(data, group, "--group", **opening)
    if len(labels) != table.X.shape[0]:
        raise ValueError(
            f"--group: {data.name} has {len(labels)} rows, of which {table.X.shape[0]} have a target; remove the "
            "others from the file first."
        )
    return np.asarray(labels).astype(str)


def _usual(task: str, labels: Any = None) -> Any:
    return SMLR(standardize=True, groups=labels) if task == CLASSIFICATION else LaplaceRegressor(groups=labels)


def _tested(task: str, y: np.ndarray) -> Any:
    """None, the usual model for such targets, but for numbers that look like labels."""
    return None if task == CLASSIFICATION or type_of_target(y) == "continuous" else LaplaceRegressor()


def _by_stability(task: str, table: Table, y, asked: Asked) -> Listed:
    selector = StabilitySelection(_usual(task, asked.labels), **asked.numbers, **asked.draws)
    with models.quiet():
        return _listed(selector.fit(table.X, y, groups=asked.groups), "frequency", selector.frequencies_, table)


def _by_knockoffs(task: str, table: Table, y, asked: Asked) -> Listed:
    selector = Knockoffs(_tested(task, y), fdr=asked.fdr, **asked.draws)
    with models.quiet():
        return _listed(selector.fit(table.X, y), "e-value", selector.e_values_, table)


def _by_tests(task: str, table: Table, y, asked: Asked, p_values: str = "auto") -> Listed:
    found = debiased(_tested(task, y), table.X, y, p_values=p_values, **asked.draws)
    chosen = np.isin(np.arange(len(found.names)), found.significant())
    columns: dict[str, Any] = {"feature": table.columns.inputs, "p_value": found.p_value, "p_holm": found.p_holm}
    columns |= _interval_columns(found)
    lines = found.sentences()
    if found.lower is not None:
        lines.append(_meaning(found, task))
    return {**columns, "selected": chosen}, found.p_value, lines


def _meaning(found: WeightTable, task: str) -> str:
    """What the ends of the intervals are of."""
    of = f" of {found.contrasts[0]}" if len(found.contrasts) == 1 else ""
    what = f"log odds{of} change" if task == CLASSIFICATION else "target changes"
    return f"From lower to upper: {found.level:.0%} interval of how the {what} for one unit more of a feature."


def _by_sets(task: str, table: Table, y, asked: Asked) -> Listed:
    """Credible sets: the number of the set that a feature is in, and its inclusion probability."""
    model = CredibleSetsClassifier() if task == CLASSIFICATION else CredibleSetsRegressor()
    with models.quiet():
        model.fit(table.X, y)
    number = np.zeros(len(model.inclusion_), dtype=int)
    for place, features in reversed(list(enumerate(model.sets_, 1))):
        number[features] = place
    told = {"set": np.array([str(each or "") for each in number]), "inclusion": model.inclusion_}
    columns = {"feature": table.columns.inputs, **told, "selected": model.get_support()}
    return columns, -model.inclusion_, [model.sentence(table.columns.inputs)]


METHODS: dict[str, Callable[..., Listed]] = {
    "stability": _by_stability,
    "knockoffs": _by_knockoffs,
    "tests": _by_tests,
    "splits": partial(_by_tests, p_values="multi-split"),
    "sets": _by_sets,
}


def _interval_columns(found: WeightTable) -> dict[str, Any]:
    """Lower and upper ends of the intervals of each contrast, where there are intervals."""
    if found.lower is None or found.upper is None:
        return {}
    ends = {"lower": found.lower, "upper": found.upper}
    several = len(found.contrasts) > 1
    return {
        f"{end}, {label}" if several else end: values[c]
        for c, label in enumerate(found.contrasts)
        for end, values in ends.items()
    }


def _listed(selector, word: str, values: np.ndarray, table: Table) -> Listed:
    """The columns of the list, the order to show it in, and what to say: the result, and what is behind it."""
    columns = {"feature": table.columns.inputs, word: values, "selected": selector.get_support()}
    short = selector.sentence(short=True)
    return columns, -np.nan_to_num(values, nan=-1.0), [short, selector.sentence().removeprefix(short).strip()]


def _show(found: Listed) -> None:
    columns, rank, lines = found
    chosen = columns["selected"]
    order = np.lexsort((np.arange(len(rank)), rank, ~chosen))[: max(LISTED, int(chosen.sum()))]
    order = order[chosen[order] | (rank[order] != 0)]  # a feature that no half-sample selected is not worth a line
    texts = [name for name in columns if name != "selected"]
    rows = [[*(_cell(columns[name][j]) for name in texts), "selected" if chosen[j] else ""] for j in order]
    if rows:
        grid([*texts, ""], rows)
    for line in lines:
        say(line)


def _cell(value) -> str:
    return str(value) if isinstance(value, str) else f"{value:.3g}"


def _write(found: Listed, output: Path) -> None:
    import pandas as pd

    with replacing(output) as beside:
        write_csv(pd.DataFrame(found[0]), beside)
    say(f"All features: {output}")
