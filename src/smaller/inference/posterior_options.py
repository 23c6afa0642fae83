"""The options of sample_posterior, refused where they are of the wrong kind or would not be used."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from .._sklearn import Interval, validate_parameter_constraints
from ..errors import choose

LEAST_DRAWS = 4  # of a chain, whose halves are compared
POSITIVE = Interval(Real, 0, None, closed="right")  # infinity too: a horseshoe without a slab
NUMBERS = {
    "draws": [Interval(Integral, LEAST_DRAWS, None, closed="left")],
    "chains": [Interval(Integral, 1, None, closed="left")],
    "warmup": [Interval(Integral, 0, None, closed="left"), None],
    "max_sweeps": [Interval(Integral, 1, None, closed="left"), None],
    "n_relevant": [POSITIVE, None],
    "global_scale": [POSITIVE, None],
    "slab": [POSITIVE],
}


def check_options(**given: Any) -> None:
    """Numbers in their ranges, names that are known, and nothing that another option makes void."""
    validate_parameter_constraints(NUMBERS, {name: given[name] for name in NUMBERS}, caller_name="sample_posterior")
    choose("method", given["method"], [None, "gibbs", "laplace"])  # type: ignore[list-item]
    choose("prior", given["prior"], [None, "horseshoe"])  # type: ignore[list-item]
    choose("rate", given["rate"], ["fixed", "learn"])
    if given["max_sweeps"] is not None and given["max_sweeps"] < given["draws"]:
        raise ValueError(
            f"max_sweeps must be at least draws={given['draws']}, since a sweep gives one draw; got "
            f"{given['max_sweeps']}."
        )
    horseshoe, learned = given["prior"] == "horseshoe", given["rate"] == "learn"
    if horseshoe and learned:
        raise ValueError("rate='learn' is for a model's own prior; the horseshoe always learns its scales.")
    for name in ("n_relevant", "global_scale"):
        if given[name] is not None and not horseshoe:
            raise ValueError(f"{name} is an option of the horseshoe prior; leave it out, or give prior='horseshoe'.")
    if given["n_relevant"] is not None and given["global_scale"] is not None:
        raise ValueError("n_relevant and global_scale both set the scale of the horseshoe; give one of them.")
    if given["rate_prior"] is not None:
        _check_rate_prior(given["rate_prior"], learned)


def _check_rate_prior(pair: Any, learned: bool) -> None:
    if not learned:
        raise ValueError("rate_prior is the prior of a strength that is drawn; give rate='learn', or leave it out.")
    numbers = np.asarray(pair, dtype=object).ravel()
    if numbers.shape != (2,) or not all(isinstance(each, Real) and np.isfinite(float(each)) for each in numbers):
        raise ValueError(f"rate_prior must be two numbers, the shape and the rate of a gamma prior; got {pair!r}.")


def refuse_laplace(model: Any, mode_has_curvature: bool) -> None:
    """Say why there is no normal approximation at a mode."""
    if mode_has_curvature:
        raise ValueError(
            f"method='laplace' is not implemented for {type(model).__name__}; leave method out, and the draws are of "
            "the posterior itself."
        )
    raise ValueError(
        "method='laplace' is refused: at a weight of exactly 0 the log posterior of an L1 prior has a kink and no "
        "curvature, so that a standard error there is 0 or undefined, and those of the other weights are "
        "conditional on these zeros. Use the draws of method='gibbs', or smaller.inference.debiased."
    )
