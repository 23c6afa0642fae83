"""Bases: what turns the inputs X into the design Phi that the weights belong to.

A basis is a scikit-learn style object (``get_params``, ``clone``, ``basis__gamma`` in a grid search) with
``fit(X, sample_weight)`` and ``transform(X, columns)``; only the columns a model kept are computed for a prediction.
A weight is a repetition: centres are the distinct rows of positive weight, widths are weighted.
"""

from .choice import BASES, as_basis, finite_columns
from .gated import GatedKernel, Standardized, standard_units
from .kernel import KERNELS, Kernel, Precomputed
from .linear import Linear
from .polynomial import Polynomial

__all__ = [
    "BASES",
    "KERNELS",
    "GatedKernel",
    "Kernel",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Standardized",
    "as_basis",
    "finite_columns",
    "standard_units",
]
