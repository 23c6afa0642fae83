"""The facts of a report in brief, on the terminal."""

from __future__ import annotations

from typing import Any

from ..tuning.ranking import REGRESSION
from .terminal import grid, say

LISTED = 12  # groups that are named


def show(facts: dict[str, Any], limit: int = 15) -> None:
    """The facts of a report, in brief."""
    _show_kept(facts["kept"], limit)
    say(_numbers(facts["quality"]) if facts["task"] == REGRESSION else _classes(facts["quality"]))
    if facts["task"] != REGRESSION:
        _show_classes(facts)
    if facts["task"] == REGRESSION:
        found = facts["model"]["found"]
        evidence = f"; log evidence {found['evidence']:.2f} nats" if "evidence" in found else ""
        say(f"Noise: a standard deviation of {facts['noise']['deviation']:.4g}{evidence}.")
    if facts["data"]["note"]:
        say(facts["data"]["note"])
    proof = facts["certificate"]
    gap = "" if proof["gap"] is None else f"relative duality gap {proof['gap']:.1e}, "
    violation = "" if proof["violation"] is None else f"violation {proof['violation']:.1e} "
    say(f"Certificate: {gap}{violation}({proof['ended'] or proof['status']}).")


def _show_kept(kept: dict[str, Any], limit: int) -> None:
    say(f"Kept {kept['number']} of {kept['of']} {kept['what']}.")
    if kept["groups"] and kept["groups"]["number"]:
        number, of = kept["groups"]["number"], kept["groups"]["of"]
        listed = ", ".join(row["group"] for row in kept["groups"]["groups"][:LISTED])
        say(
            f"They are in {number} of {of} groups: {listed}{f' and {number - LISTED} more' if number > LISTED else ''}."
        )
    if not kept["weights"]:
        return
    classes = any(row["favours"] for row in kept["weights"])
    shown = {"favours": [r["favours"] for r in kept["weights"]]} if classes else {}
    if kept["standardised"]:
        shown["per std. deviation"] = [f"{r['standard']:+.3g}" for r in kept["weights"]]
    shown["per unit" if kept["standardised"] else "weight"] = [f"{r['weight']:+.3g}" for r in kept["weights"]]
    names = [r["name"] for r in kept["weights"]]
    grid(["", *shown], [list(row) for row in zip(names, *shown.values(), strict=True)][:limit])
    if kept["weights_number"] > limit:
        say(f"... and {kept['weights_number'] - limit} more weights; smaller report shows them.")


MEASURES = {
    "sensitivity": "found (sensitivity)",
    "specificity": "others ruled out (specificity)",
    "precision": "right when said (precision)",
    "auc": "AUC",
    "average_precision": "average precision",
}


def _show_classes(facts: dict[str, Any], limit: int = 12) -> None:
    """The measures of every class, with their 95 % intervals."""
    quality = facts["quality"]
    low, high = quality["balanced_interval"]
    say(f"Balanced error, the mean over the classes: {quality['balanced_error']:.1%} ({low:.1%} to {high:.1%}).")
    labels = facts["data"]["classes"]
    rows = [
        [label, one["samples"], *(_with_interval(one[key], one[f"{key}_interval"]) for key in MEASURES)]
        for label, one in zip(labels, quality["classes"], strict=True)
    ]
    grid(["class", "samples", *MEASURES.values()], rows[:limit])
    if len(rows) > limit:
        say(f"... and {len(rows) - limit} more classes; smaller report shows them.")


def _with_interval(value: float | None, interval: list[float] | None) -> str:
    if value is None or interval is None:
        return "-"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"


def _classes(quality: dict[str, Any]) -> str:
    low, high = quality["interval"]
    return (
        f"{quality['wrong']} of {quality['tested']} wrong ({quality['error']:.1%}, 95 % interval {low:.1%} to "
        f"{high:.1%}; the most frequent class for every sample: {quality['baseline']:.1%}), log-loss "
        f"{quality['log_loss']:.3f}, calibration error {quality['calibration_error']:.3f}."
    )


def _numbers(quality: dict[str, Any]) -> str:
    share = "" if quality["r2"] is None else f", R² {quality['r2']:.3f}"
    return (
        f"RMS error {quality['rmse']:.4g} on {quality['tested']} samples (the mean for every sample: "
        f"{quality['baseline']:.4g}{share}); the 90 % intervals contain {quality['inside']:.1%} of the targets."
    )
