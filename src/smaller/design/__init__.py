"""The design matrix Phi, known to solvers through a few operations and never asked what it holds."""

from __future__ import annotations

from scipy.sparse import issparse

from .columns import Design, Moments
from .dense import DenseDesign
from .lazy import LazyDesign
from .sparse import SparseDesign

__all__ = ["DenseDesign", "Design", "LazyDesign", "Moments", "SparseDesign", "as_design"]


def as_design(Phi, intercept: bool = False) -> Design:
    """The design of a matrix, dense or sparse, with a column of ones when there is an intercept."""
    return SparseDesign(Phi, intercept) if issparse(Phi) else DenseDesign(Phi, intercept)
