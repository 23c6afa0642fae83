"""Bases: maps from the inputs X to the design Phi, each column of which has weights.

A basis is a scikit-learn style object (``get_params``, ``clone``, ``basis__gamma`` in a grid search) with
``fit(X, sample_weight)`` and ``transform(X, columns)``; only the columns a model kept are computed for a prediction.
Sample weights count repetitions of a sample: centres are the distinct rows of positive weight, and default widths come
from weighted variances.
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
