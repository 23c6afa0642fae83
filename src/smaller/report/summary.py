"""The first paragraph of a report: what is predicted, from what, how often right, what it beats, what to watch."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..errors import Status
from ..tuning.ranking import CLASSIFICATION

FEW = 100  # rows below which the interval of the error is wide
RARE = 0.2  # share below which a class is rare
MISCALIBRATED = 0.05
JUMP = Status.JUMP.name.lower()  # the fit is at the optimum of its strength, and there is nothing to do


def summary(facts: dict[str, Any]) -> dict[str, list[str]]:
    """Sentences without technical terms: ``says`` what was found, and ``watch`` what to be careful about."""
    says, watch = (_classes if facts["task"] == CLASSIFICATION else _numbers)(facts)
    if facts["data"]["training_sample"]:
        more = "it is wrong more often" if facts["task"] == CLASSIFICATION else "its errors are larger"
        watch.insert(0, f"These are the rows that the model was fitted on. On new rows {more}.")
    elif facts["data"]["seen"]:
        share = f"{100 * facts['data']['seen']:.0f} %"
        watch.insert(0, f"About {share} of these rows are among those that the model was fitted on.")
    if facts["certificate"]["ended"] and facts["certificate"]["status"] != JUMP:
        watch.append(f"The fit is not exact: {facts['certificate']['ended']}.")
    if not facts["kept"]["number"]:
        watch.append("No column was found useful: every row gets the same prediction.")
    return {"says": says, "watch": watch}


def _rows(data: dict[str, Any]) -> str:
    if data["training_sample"]:
        return "rows that it was fitted on"
    return "rows" if data["seen"] else "rows that it has not seen"


def _from(facts: dict[str, Any]) -> str:
    kept = facts["kept"]
    if kept["what"] == "relevance vectors":
        return f"from how similar a row is to {kept['number']} of the {kept['of']} rows it was fitted on"
    groups = f", in {kept['groups']['number']} of {kept['groups']['of']} groups" if kept["groups"] else ""
    return f"from {kept['number']} of {kept['of']} {kept['what']}{groups}"


def _classes(facts: dict[str, Any]) -> tuple[list[str], list[str]]:
    data, quality = facts["data"], facts["quality"]
    n, right, labels = quality["tested"], quality["tested"] - quality["wrong"], data["classes"]
    most = labels[int(np.argmax(data["counts"]))]
    rows = _rows(data)
    several = ", ".join(labels[:4]) + (f" or {len(labels) - 4} more" if len(labels) > 4 else "")
    says = [
        f"The model predicts {_target(facts, several)} {_from(facts)}.",
        f"On {n} {rows} it was right {right} times ({100 * right / n:.1f} %). Always saying {most}, the most frequent "
        f"answer, is right {100 * (1 - quality['baseline']):.1f} % of the time.",
    ]
    low, high = quality["interval"]
    watch = []
    if low <= quality["baseline"] <= high or quality["error"] >= quality["baseline"]:
        watch.append(f"This many rows cannot show that it does better than always saying {most}.")
    if n < FEW:
        watch.append(f"{n} rows are few: it may be wrong on {100 * low:.0f} to {100 * high:.0f} % of new rows.")
    watch += [
        f"Of the {one['samples']} rows of {label}, a rare class, it found {round(one['sensitivity'] * one['samples'])}."
        for label, one in zip(labels, quality["classes"], strict=True)
        if 0 < one["samples"] < RARE * n
    ][:3]
    if quality["calibration_error"] > MISCALIBRATED:
        off = 100 * quality["calibration_error"]
        watch.append(f"Its probabilities are off by {off:.0f} percentage points on average; see Calibration.")
    return says, watch


def _target(facts: dict[str, Any], several: str) -> str:
    name = facts["model"]["training"].get("target")
    return f"{name} ({several})" if name else f"one of {several}"


def _numbers(facts: dict[str, Any]) -> tuple[list[str], list[str]]:
    data, quality = facts["data"], facts["quality"]
    rows = _rows(data)
    name = facts["model"]["training"].get("target") or "a number"
    says = [
        f"The model predicts {name} {_from(facts)}.",
        f"On {quality['tested']} {rows} its typical error is {quality['rmse']:.4g}; that of always saying the mean is "
        f"{quality['baseline']:.4g}.",
        f"It also says how sure it is: {100 * quality['inside']:.0f} % of the true values are in the ranges that "
        "should contain 90 %.",
    ]
    low, high = quality["inside_interval"]
    watch = []
    if quality["rmse"] >= quality["baseline"]:
        watch.append("It does no better than always saying the mean.")
    if not low <= 0.9 <= high:
        watch.append(f"Its ranges are too {'narrow' if high < 0.9 else 'wide'}; see Intervals.")
    if quality["tested"] < FEW:
        watch.append(f"{quality['tested']} rows are few: all of these figures are rough.")
    return says, watch


def fingerprint(X, y) -> str:
    """Sixteen characters that change with any value of the samples."""
    from hashlib import blake2b

    found = blake2b(digest_size=8)
    found.update(str(X.shape).encode())
    parts = [X.tocsr().data, X.tocsr().indices, X.tocsr().indptr] if sparse.issparse(X) else np.asarray(X).T
    for part in parts:
        found.update(np.ascontiguousarray(part).astype(np.float64, copy=False).tobytes())
    labels = np.asarray(y)
    found.update(labels.astype(str).tobytes() if labels.dtype.kind in "OUS" else np.ascontiguousarray(labels).tobytes())
    return found.hexdigest()
