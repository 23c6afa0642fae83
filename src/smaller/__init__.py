"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

from .multinomial import RMLR, SMLR
from .relevance import RVMRegressor
from .tuning import SMLRCV, Path, path

__version__ = "0.1.0"

__all__ = ["RMLR", "SMLR", "SMLRCV", "Path", "RVMRegressor", "__version__", "path"]
