"""The design matrix Phi, known to solvers through a few operations and never asked what it holds."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from .base import Design, Moments
from .computed import LazyDesign
from .dense import DenseDesign
from .device import AcceleratedDesign
from .namespace import follow, host, namespace, on_device, precision
from .sparse import SparseDesign

__all__ = [
    "AcceleratedDesign",
    "DenseDesign",
    "Design",
    "LazyDesign",
    "Moments",
    "SparseDesign",
    "as_design",
    "follow",
    "host",
    "namespace",
    "on_device",
    "precision",
]


def as_design(Phi, intercept: bool = False) -> Design:
    """The design of a matrix, dense, sparse or on a device, with a column of ones when there is an intercept."""
    if isinstance(Phi, np.ndarray):
        return DenseDesign(Phi, intercept)
    if on_device(Phi):
        return AcceleratedDesign(Phi, intercept)
    return SparseDesign(Phi, intercept) if issparse(Phi) else DenseDesign(Phi, intercept)
