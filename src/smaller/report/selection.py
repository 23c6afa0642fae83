"""How far the list of features can be trusted: frequencies and intervals beside the weights, and a plain sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import SameRowsWarning, warn
from ..inference import Knockoffs, StabilitySelection, WeightTable
from ..inference.same_rows import share_seen

LISTED = 30  # features shown, the most frequent first
SEEN = (
    "{share:.0%} of these samples were used to select the features: the errors on this page look better than errors on "
    "new samples."
)


def selection_facts(selection, X, names: np.ndarray) -> dict[str, Any]:
    """What a fitted selector says: the plain sentence, its assumptions, and the number that each feature reached."""
    share = share_seen(selection.row_marks_, X) if X.shape[1] == selection.n_features_in_ else 0.0
    if share > 0:
        warn(SEEN.format(share=share), SameRowsWarning)
    word, values = _reached(selection)
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


def _check(selection, names: np.ndarray) -> None:
    if not isinstance(selection, (StabilitySelection, Knockoffs)) or not hasattr(selection, "support_"):
        raise ValueError(f"selection must be a fitted StabilitySelection or Knockoffs; got {type(selection).__name__}.")
    if len(_reached(selection)[1]) != len(names):
        raise ValueError(
            f"selection has {len(_reached(selection)[1])} features, but the model has {len(names)}; fit both on the "
            "same columns."
        )


def add_columns(kept: dict[str, Any], names: np.ndarray, selection, intervals: WeightTable | None) -> None:
    """Give the weights of a report what is known of their features; ``columns`` names and titles these numbers."""
    kept["columns"], place = [], {str(name): j for j, name in enumerate(names)}
    if (selection is not None or intervals is not None) and kept["what"] != "features":
        raise ValueError(
            f"selection and intervals are about features, but the model keeps {kept['what']}; give a model with "
            "basis='linear'."
        )
    if selection is not None:
        _check(selection, names)
        word, values = _reached(selection)
        kept["columns"].append({"key": word, "title": word})
        for row in kept["weights"]:
            row[word] = _number(values[place[row["name"]]])
    if intervals is not None:
        _add_intervals(kept, place, intervals)


def _add_intervals(kept: dict[str, Any], place: dict[str, int], table: WeightTable) -> None:
    """Intervals of a binary or numeric weight, in units of the data, and the p-values of all features (Holm)."""
    if len(table.names) != len(place):
        raise ValueError(
            f"intervals has {len(table.names)} features, but the model has {len(place)}; compute both on the same "
            "columns."
        )
    lower, upper = (None, None) if len(table.contrasts) > 1 else (table.lower, table.upper)
    for row in kept["weights"]:
        j = place[row["name"]]
        row["p_holm"], row["interval"] = _number(table.p_holm[j]), None
        if lower is not None and upper is not None and not np.isnan(lower[0, j]):
            row["interval"] = [float(lower[0, j]), float(upper[0, j])]
    if lower is not None:
        kept["columns"].append({"key": "interval", "title": f"{table.level:.0%} interval, per unit"})
    kept["columns"].append({"key": "p_holm", "title": "p-value (Holm)"})


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
