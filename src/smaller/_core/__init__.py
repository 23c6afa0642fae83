"""The loops in which a fit spends its time: compiled (C++) where the build had a compiler, else their NumPy twins.

The environment variable SMALLER_PURE=1 chooses the twins where both are there.

Both modules have the same functions, with the same arguments; `reference` is the specification. A kernel and its twin
give the same results, up to rounding. The searches for evidence, `climb` and `logistic`, have a fallback instead of a
twin: another algorithm that ends at a maximum of the evidence as well, but not always at the same one.
The first arguments of a solver kernel are the columns: one Fortran-ordered matrix, or the three arrays of a CSC matrix.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ..errors import CompiledCoreWarning, warn
from . import reference

KERNELS = (
    *("means", "negentropy", "judge", "pull", "squares", "distances", "decay"),
    *("quadratic", "block_quadratic", "settle_intercepts", "componentwise"),
    *("sequential", "weight_moves", "gate_moves", "regate", "trajectories"),
)
FALLBACKS = ("climb", "logistic")
STRUCTS = (  # arguments that belong together
    *("Samples", "WorkingSet", "Sweep"),
    *("GaussianData", "BinaryData", "Starts", "SearchRule", "ModeRule"),
    *("Moves", "State", "Gates", "Density"),
)

# The whole L1 solver; smaller.solvers.l1.newton is the same method in Python, for rows anywhere.
WITHOUT_TWIN = ("minimise", "minimise_by_rows", "Penalty", "Groups", "Rule", "Point")

PURE = os.environ.get("SMALLER_PURE", "0") not in ("", "0")  # the twins by choice, for tests and comparisons


def _implementation() -> Any:
    if PURE:
        return reference
    try:
        return import_module(".compiled", __name__)
    except ImportError:
        return reference


_impl = _implementation()
COMPILED = _impl is not reference


def _names(names: tuple[str, ...]) -> list[Any]:
    return [getattr(_impl, name, None) for name in names]


means, negentropy, judge, pull, squares, distances, decay = _names(KERNELS[:7])
quadratic, block_quadratic, settle_intercepts, componentwise = _names(KERNELS[7:11])
sequential, weight_moves, gate_moves, regate, trajectories = _names(KERNELS[11:])
climb, logistic = _names(FALLBACKS)
Samples, WorkingSet, Sweep = _names(STRUCTS[:3])
GaussianData, BinaryData, Starts, SearchRule, ModeRule = _names(STRUCTS[3:8])
Moves, State, Gates, Density = _names(STRUCTS[8:])
minimise, minimise_by_rows, Penalty, Groups, Rule, Point = _names(WITHOUT_TWIN)  # None without the compiled core

_told = COMPILED or PURE


def tell_if_slow() -> None:
    """Warn, once in a process, that fits run on the NumPy twins."""
    global _told
    if not _told:
        _told = True
        warn(
            "smaller was installed without its compiled core and runs on NumPy, correct but many times slower. "
            "Install a C++ compiler and the Python headers, then reinstall: pip install --force-reinstall smaller.",
            CompiledCoreWarning,
        )
