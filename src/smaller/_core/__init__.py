"""The loops in which a fit spends its time: compiled (C++) where the build had a compiler, else their NumPy twins.

The environment variable SMALLER_PURE=1 chooses the twins where both are there.

Both modules have the same functions, with the same arguments and results; `reference` is the specification.
The first arguments of a solver kernel are the columns: one Fortran-ordered matrix, or the three arrays of a CSC matrix.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ..errors import CompiledCoreWarning, warn
from . import reference

KERNELS = (
    *("means", "negentropy", "judge", "pull", "newton", "componentwise", "squares", "distances", "decay"),
    *("sequential", "climb", "logistic", "weight_moves", "gate_moves", "regate"),
)

WITHOUT_TWIN = ("rounds",)  # Python has them in the solvers, for every kind of problem

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

means, negentropy, judge, pull, newton, componentwise, squares, distances, decay = (
    getattr(_impl, name) for name in KERNELS[:9]
)
sequential, climb, logistic, weight_moves, gate_moves, regate = (getattr(_impl, name) for name in KERNELS[9:])
rounds = getattr(_impl, "rounds", None)

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
