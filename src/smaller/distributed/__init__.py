"""Fits on Dask collections: the rows stay where they are, only sums over blocks of them come to the client.

A pass is one sum over all blocks. What the client holds is of the size of the weights, or of the square of their number
where the Hessian is summed; what a worker holds is one block at a time.
"""

from __future__ import annotations

from .lazy import is_frame, is_lazy
from .objective import SummedPosterior
from .posing import LazySample, pose
from .predicting import by_blocks, fraction_correct
from .solving import DISTRIBUTED, newton, null_of, solver_of

__all__ = [
    "DISTRIBUTED",
    "LazySample",
    "SummedPosterior",
    "by_blocks",
    "fraction_correct",
    "is_frame",
    "is_lazy",
    "newton",
    "null_of",
    "pose",
    "solver_of",
]
