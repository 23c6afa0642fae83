"""What --posterior adds to fit and report: draws from the posterior of the weights, beside the model file."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import persist
from ..inference import PosteriorSample, sample_posterior
from ..report.certainty import posterior_facts
from ..tuning.ranking import CLASSIFICATION, REGRESSION, target_for
from .models import Fitted, quiet
from .terminal import Stopped, grid, say, working

ENDING = ".draws"
SHOWN = 15  # weights in the terminal


def place_of(output: Path) -> Path:
    """The file of the draws beside a model file."""
    return output.with_name(output.stem + ENDING)


def refuse_groups(groups: str | None) -> None:
    """Say before the fit that there are no draws under a prior of groups."""
    if groups is not None:
        raise ValueError("--posterior does not go with --groups, whose posterior is not implemented.")


def draw(fitted: Fitted, X, y, seed: int, output: Path) -> None:
    """Draw from the posterior of a fitted model, print what the draws say, and save them."""
    target = target_for(CLASSIFICATION if fitted.classifies else REGRESSION, y)
    try:
        with working("Drawing from the posterior"), quiet():  # what the warnings say is in the sentence
            sample = sample_posterior(fitted.model, fitted.inputs(X), target, random_state=seed)
    except KeyboardInterrupt:
        raise Stopped(f"Interrupted before there were draws; the model is in {output}.", 128 + signal.SIGINT) from None
    names = fitted.model.basis_.names(np.asarray(fitted.columns.inputs, dtype=object))
    sample = replace(sample, names=[str(name) for name in names])
    persist.save(sample, place_of(output))
    labels = [str(label) for label in getattr(fitted.model, "classes_", [])]
    show_posterior(posterior_facts(sample, sample.names, labels))


def load_draws(path: Path | None) -> PosteriorSample | None:
    """The draws of a file that fit --posterior, or smaller.save, wrote."""
    if path is None:
        return None
    found = persist.load(path)
    if not isinstance(found, PosteriorSample):
        raise ValueError(f"{path} has no draws from a posterior; smaller fit --posterior writes such files.")
    return found


def show_posterior(found: dict[str, Any]) -> None:
    """Intervals and probabilities of the greatest weights, and what they assume."""
    several = len({row["class"] for row in found["weights"]}) > 1
    parts = {"sign": "sign"} if found["eps"] is None else {"sign": "sign", "above": f"|w| > {found['eps']}"}
    headings = ["", *(["class"] if several else []), "mean", "from", "to", *parts.values()]
    rows = [
        [row["name"], *([row["class"]] if several else []), *(f"{row[f'standard_{end}']:+.3g}" for end in ENDS)]
        + [f"{row[part]:.3f}" for part in parts]
        for row in found["weights"][:SHOWN]
    ]
    say(f"\nPosterior of the weights per standard deviation: means, {found['level']:.0%} intervals, signs.")
    grid(headings, rows, texts=(0, 1) if several else (0,))
    if found["weights_number"] > SHOWN:
        say(f"... and {found['weights_number'] - SHOWN} more weights; smaller report --posterior shows them.")
    for sentence in found["plain"]:
        say(sentence)
    say(found["sentence"])


ENDS = ("mean", "lower", "upper")
