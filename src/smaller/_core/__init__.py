"""The loops in which a fit spends its time: compiled (C++) where the build had a compiler, else their NumPy twins.

Both modules have the same functions, with the same arguments and results; `reference` is the specification.
The first arguments of a solver kernel are the columns: one Fortran-ordered matrix, or the three arrays of a CSC matrix.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import CompiledCoreWarning, warn
from . import reference

KERNELS = (
    *("means", "negentropy", "judge", "pull", "newton", "componentwise", "squares", "distances", "decay"),
    *("sequential", "climb", "logistic", "weight_moves", "gate_moves", "regate"),
)

WITHOUT_TWIN = ("rounds",)  # Python has them in the solvers, for every kind of problem

_impl: Any
try:
    _impl = import_module(".compiled", __name__)
    COMPILED = True
except ImportError:
    _impl = reference
    COMPILED = False

means, negentropy, judge, pull, newton, componentwise, squares, distances, decay = (
    getattr(_impl, name) for name in KERNELS[:9]
)
sequential, climb, logistic, weight_moves, gate_moves, regate = (getattr(_impl, name) for name in KERNELS[9:])
rounds = getattr(_impl, "rounds", None)

_told = COMPILED


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
