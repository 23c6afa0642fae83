"""Solvers: an objective in, a Solution out; one algorithm, one file, all reaching the same certified optimum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import bound, componentwise, newton
from .begin import begin
from .lasso import em, screened_noise, universal_strength
from .path import null_point, solve_path
from .reweighted import Spread, reweighted, spread
from .ridge import Ridge, Start, stretched
from .scalings import scalings
from .solution import Solution, Step, Trail

# Each with the iterations it may take by default, as it counts them.
SOLVERS: dict[str, tuple[Callable[..., Solution], int]] = {
    "auto": (newton.newton, 200),
    "newton": (newton.newton, 200),
    "component-wise": (componentwise.componentwise, 100_000),
    "component-wise-greedy": (partial(componentwise.componentwise, greedy=True), 20_000),
    "bound": (bound.bound, 50_000),
    "accelerated": (newton.newton, 200),  # what "auto" does where X lies on a device
}

__all__ = [
    "SOLVERS",
    "Ridge",
    "Solution",
    "Spread",
    "Start",
    "Step",
    "Trail",
    "begin",
    "em",
    "null_point",
    "reweighted",
    "scalings",
    "screened_noise",
    "solve_path",
    "spread",
    "stretched",
    "universal_strength",
]
