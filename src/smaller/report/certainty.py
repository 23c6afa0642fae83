"""How sure each weight is: intervals and probabilities from the posterior, and credible sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inference import PosteriorSample
from .kept_weights import label_of

LISTED = 60  # weights shown
LEVEL, EPS = 0.95, 0.1


def posterior_facts(sample: PosteriorSample, columns: list[str], labels: list[str]) -> dict[str, Any]:
    """What the draws say of each weight, the largest first, per unit and per standard deviation of the column.

    Weights that are 0 in every draw, of features that were not selected or of the reference class, have no row.
    """
    mean, (low, high) = sample.mean(), sample.interval(LEVEL)
    parts = {"mean": mean, "error": sample.monte_carlo_error(), "lower": low, "upper": high}
    numbers = {**parts, "sign": sample.probability_of_sign()}
    if sample.classes is not None:  # for numbers a size has the unit of the target
        numbers["above"] = sample.probability_above(EPS)
    numbers |= {f"standard_{name}": parts[name] * sample.scale for name in ("mean", "lower", "upper")}
    numbers |= {"model": sample.mode, "standard_model": sample.mode * sample.scale}
    drawn = moved(sample)
    order = np.argsort(-np.abs(numbers["standard_mean"]).ravel(), kind="stable")
    places = order[drawn.ravel()[order]][:LISTED]
    rows, positions = np.unravel_index(places, mean.shape)
    return {
        "plain": plain(sample, low, high),
        "sentence": sample.sentence(),
        "converged": sample.converged,
        "conditional": bool(sample.settings.get("conditional")),
        "level": LEVEL,
        "eps": EPS if "above" in numbers else None,
        "weights": [
            {
                "name": columns[j],
                "class": label_of(k, len(mean), labels),
                **{name: float(values[k, j]) for name, values in numbers.items()},
            }
            for k, j in zip(rows.tolist(), positions.tolist(), strict=True)
        ],
        "weights_number": int(drawn.sum()),
    }


def moved(sample: PosteriorSample) -> np.ndarray:
    """Which weights are not the same in all draws."""
    return np.ptp(sample.coef, axis=(0, 1)) > 0


def plain(sample: PosteriorSample, low: np.ndarray, high: np.ndarray) -> list[str]:
    """Sentences without technical terms."""
    drawn = moved(sample)
    zero, open_ended = (sample.mode == 0) & drawn, (low < 0) & (high > 0)
    told = [_settled(sample, low, high, drawn)]
    if zero.any():
        told.append(
            f"The model leaves out {int(zero.sum())} of them, with a weight of exactly 0. That is a choice made for "
            f"simplicity: for {int((zero & open_ended).sum())} of these the data allow positive and negative values."
        )
    if sample.settings.get("conditional"):
        told.append("What the model left out has no interval, and the intervals shown are too short.")
    if not sample.converged:
        told.append("The intervals are rough: the random draws behind them do not agree well enough with each other.")
    return told


def _settled(sample: PosteriorSample, low: np.ndarray, high: np.ndarray, drawn: np.ndarray) -> str:
    """For how many weights the sign is sure.

    What is added to a column's weights of all classes changes no probability. With a softmax of several classes the
    weights are therefore compared with their mean over the classes.
    """
    several = len(low) > 1 and sample.classes is not None and sample.settings.get("link", "softmax") == "softmax"
    if several:
        (low, high), drawn = sample.interval(LEVEL, centred=True), np.tile(drawn.any(axis=0), (len(drawn), 1))
    sure, total = int((((low > 0) | (high < 0)) & drawn).sum()), int(drawn.sum())
    what, less = "the prediction" if sample.classes is None else "a probability", ""
    if several:
        less = ", less their mean over the classes,"
    return (
        f"For {sure} of {total} weights the data settle whether they raise or lower {what}: their {LEVEL:.0%} "
        f"interval{less} is on one side of 0. For the others both are possible."
    )


def check_posterior(sample: Any, inner: Any) -> None:
    """Refuse draws of another model."""
    if not isinstance(sample, PosteriorSample):
        raise ValueError(f"posterior must be a PosteriorSample of sample_posterior; got {type(sample).__name__}.")
    columns = inner.coef_.shape[-1]
    if len(sample.names) != columns:
        raise ValueError(
            f"posterior has {len(sample.names)} columns, but the model has {columns}; draw from the posterior of this "
            "model."
        )
    classes = getattr(inner, "classes_", None)
    same = classes is None and sample.classes is None
    if not same and not np.array_equal(np.asarray(classes), np.asarray(sample.classes)):
        raise ValueError("posterior has other classes than the model; draw from the posterior of this model.")


def add_posterior_columns(kept: dict[str, Any], columns: list[str], labels: list[str], sample: PosteriorSample) -> None:
    """Beside the weights of a report: intervals in units of the data, and the probability of the sign."""
    (low, high), sign = sample.interval(LEVEL), sample.probability_of_sign()
    place = {name: j for j, name in enumerate(columns)}
    rows = {label_of(k, len(low), labels): k for k in range(len(low))}
    for row in kept["weights"]:
        k, j = rows[row["class"]], place[row["name"]]
        row["posterior"] = [float(low[k, j]), float(high[k, j])]
        row["sign"] = float(sign[k, j])
    kept["columns"] += [
        {"key": "posterior", "title": f"{LEVEL:.0%} posterior interval, per unit"},
        {"key": "sign", "title": "probability of the sign"},
    ]


def sets_facts(model: Any, names: np.ndarray) -> dict[str, Any]:
    """The credible sets of a fitted model by the names of their features, and what they mean."""
    if not hasattr(model, "sets_"):
        raise ValueError(
            f"sets must be a fitted CredibleSetsClassifier or CredibleSetsRegressor; got {type(model).__name__}."
        )
    if len(model.inclusion_) != len(names):
        raise ValueError(
            f"sets has {len(model.inclusion_)} features, but the model has {len(names)}; fit both on the same columns."
        )
    found = zip(model.sets_, model.set_probability_, model.purity_, strict=True)
    return {
        "sentence": model.sentence(names),
        "sets": [
            {
                "features": [{"name": str(names[j]), "inclusion": float(model.inclusion_[j])} for j in features],
                "probability": float(share),
                "purity": float(purity),
            }
            for features, share, purity in found
        ],
    }
