"""The design matrix Phi as an object with a few products, which are the same for every kind of storage."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from .computed import LazyDesign
from .dense import DenseDesign
from .device import AcceleratedDesign
from .namespace import follow, host, namespace, on_device, precision
from .operator import OperatorDesign, is_operator
from .protocol import Design, Moments
from .sparse import SparseDesign

__all__ = [
    "AcceleratedDesign",
    "DenseDesign",
    "Design",
    "LazyDesign",
    "Moments",
    "OperatorDesign",
    "SparseDesign",
    "as_design",
    "follow",
    "host",
    "is_operator",
    "namespace",
    "on_device",
    "precision",
]


def as_design(Phi, intercept: bool = False) -> Design:
    """The design of a matrix, dense, sparse, an operator or on a device, with a column of ones for an intercept."""
    if isinstance(Phi, np.ndarray):
        return DenseDesign(Phi, intercept)
    if is_operator(Phi):
        return OperatorDesign(Phi, intercept)
    if on_device(Phi):
        return AcceleratedDesign(Phi, intercept)
    return SparseDesign(Phi, intercept) if issparse(Phi) else DenseDesign(Phi, intercept)
