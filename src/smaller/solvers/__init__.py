"""Solvers: an objective in, a Solution out; one algorithm, one file, all reaching the same certified optimum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..errors import choose
from ..objective.posterior import Posterior
from .l1 import bound, componentwise, newton
from .l1.start import begin
from .l1.warm_path import null_point, solve_path
from .solution import Solution, Trail

# Each with the iterations it may take by default, as it counts them.
SOLVERS: dict[str, tuple[Callable[..., Solution], int]] = {
    "auto": (newton.newton, 200),
    "newton": (newton.newton, 200),
    "component-wise": (componentwise.componentwise, 100_000),
    "component-wise-greedy": (partial(componentwise.componentwise, greedy=True), 20_000),
    "bound": (bound.bound, 50_000),
    "accelerated": (newton.newton, 200),  # what "auto" does where X lies on a device
}

# Those for rows that lie elsewhere, with the passes over the rows that each may take by default.
IN_PASSES: dict[str, tuple[Callable[..., Solution], int]] = {
    "auto": (newton.newton, 200),
    "newton": (newton.newton, 200),
    "bound": (newton.quasi_newton, 500),
}


def solver_for(objective: Posterior, name: str) -> tuple[Callable[..., Solution], int]:
    """The solver of this name for rows in memory or elsewhere, and the iterations that it may take."""
    if not objective.remote:
        return SOLVERS[name]
    choose("With Dask input, solver", name, IN_PASSES)
    return IN_PASSES[name]


__all__ = ["SOLVERS", "Solution", "Trail", "begin", "null_point", "solve_path", "solver_for"]
