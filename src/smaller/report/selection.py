"""How far the list of features can be trusted: frequencies and intervals beside the weights, and a plain sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import SameRowsWarning, warn
from ..inference import Knockoffs, StabilitySelection, WeightTable
from ..inference.reused_rows import share_used
from ..models.selector import input_names

LISTED = 30  # features shown, the most frequent first
CONTRASTS = 4  # whose intervals are shown
SEEN = (
    "{share:.0%} of these samples were used to select the features: the errors on this page look better than errors on "
    "new samples."
)


def selection_facts(selection, X, names: np.ndarray) -> dict[str, Any]:
    """The plain sentence about a fitted selector, its assumptions, and the number that each feature reached."""
    share = share_used(selection, X)
    if share > 0:
        warn(SEEN.format(share=share), SameRowsWarning)
    word, values = _reached(selection)
    names = names if len(names) == len(values) else input_names(selection)
    chosen = set(selection.support_.tolist())
    order = np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")
    listed = [j for j in order if values[j] > 0 or j in chosen][: max(LISTED, len(chosen))]
    return {
        "plain": selection.sentence(short=True),
        "sentence": selection.sentence(),
        "number": word,
        "threshold": getattr(selection, "threshold_", None),
        "features": [{"name": str(names[j]), "value": float(values[j]), "selected": bool(j in chosen)} for j in listed],
        "note": SEEN.format(share=share) if share > 0 else "",
    }


def _reached(selection) -> tuple[str, np.ndarray]:
    """What the number of a feature is called, and the numbers of all."""
    if isinstance(selection, StabilitySelection):
        return "frequency", selection.frequencies_
    return "e-value", selection.e_values_


def _of_model(selection, names: np.ndarray) -> tuple[str, np.ndarray]:
    """As :func:`_reached`, for the features of a model fitted on all features, or on those selected."""
    if not isinstance(selection, (StabilitySelection, Knockoffs)) or not hasattr(selection, "support_"):
        raise ValueError(f"selection must be a fitted StabilitySelection or Knockoffs; got {type(selection).__name__}.")
    word, values = _reached(selection)
    if len(names) == len(values):
        return word, values
    if len(names) != len(selection.support_):
        raise ValueError(
            f"selection has {len(values)} features and selected {len(selection.support_)}, but the model has "
            f"{len(names)}; fit the model on the same columns, or on those selected."
        )
    return word, values[selection.support_]


def add_columns(kept: dict[str, Any], names: np.ndarray, selection, intervals: WeightTable | None) -> None:
    """Give the weights of a report what is known of their features; ``columns`` names and titles these numbers."""
    kept["columns"], place = [], {str(name): j for j, name in enumerate(names)}
    if (selection is not None or intervals is not None) and kept["what"] != "features":
        raise ValueError(
            f"selection and intervals are about features, but the model keeps {kept['what']}; give a model with "
            "basis='linear'."
        )
    if selection is not None:
        word, values = _of_model(selection, names)
        kept["columns"].append({"key": word, "title": word})
        for row in kept["weights"]:
            row[word] = _number(values[place[row["name"]]])
    if intervals is not None:
        _add_intervals(kept, place, intervals)


def _add_intervals(kept: dict[str, Any], place: dict[str, int], table: WeightTable) -> None:
    """Intervals of every contrast, in units of the data, and the p-values of all features (Holm)."""
    if len(table.names) != len(place):
        raise ValueError(
            f"intervals has {len(table.names)} features, but the model has {len(place)}; compute both on the same "
            "columns."
        )
    shown = [] if table.lower is None else table.contrasts[:CONTRASTS]
    keys = ["interval", *(f"interval {number}" for number in range(2, len(shown) + 1))][: len(shown)]
    for row in kept["weights"]:
        j = place[row["name"]]
        row["p_holm"], row["interval"] = _number(table.p_holm[j]), None
        for at, key in enumerate(keys):
            row[key] = _interval(table, at, j)
    for key, contrast in zip(keys, shown, strict=True):
        of = "" if contrast == "target" else f" of {contrast}"
        kept["columns"].append({"key": key, "title": f"{table.level:.0%} interval{of}, per unit"})
    title = "p-value (Holm)" if table.method == "debiased" else "p-value (many splits)"
    kept["columns"].append({"key": "p_holm", "title": title})
    kept["tests"] = table.sentence()


def _interval(table: Any, contrast: int, j: int) -> list[float] | None:
    ends = float(table.lower[contrast, j]), float(table.upper[contrast, j])
    return None if np.isnan(ends[0]) else list(ends)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
