"""The basis that a name stands for, and its columns checked."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np

from ..design.tensors import all_finite
from ..errors import choose
from .kernel import Kernel, Precomputed
from .linear import Linear
from .polynomial import Polynomial


def finite_columns(basis, X, columns: np.ndarray | None = None):
    """Columns of a fitted basis for checked inputs, or some of them; refused where one is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        Phi = basis.transform(X) if columns is None else basis.transform(X, columns)
    # The inputs themselves were checked already, without a temporary of their size.
    if not isinstance(basis, Linear) and not all_finite(Phi):
        name = type(basis).__name__
        raise ValueError(f"The {name} basis returned NaN or infinity for X; scale X, or change its parameters.")
    return Phi


BASES: dict[str, Callable] = {
    "linear": Linear,
    "quadratic": Polynomial,
    "rbf": Kernel,
    "poly": lambda: Kernel("poly"),
    "precomputed": Precomputed,
}


def as_basis(basis):
    """A fresh basis object from a shorthand or from an object, which is left as it is."""
    if isinstance(basis, str):
        if basis not in BASES:
            choose("basis", basis, BASES)
        return BASES[basis]()
    if not (hasattr(basis, "fit") and hasattr(basis, "transform") and hasattr(basis, "names")):
        raise ValueError(
            f"basis must be one of {', '.join(map(repr, BASES))} or a basis object such as Kernel('rbf', gamma=0.5); "
            f"got {basis!r}."
        )
    return copy(basis)  # its fit sets everything that it found before
