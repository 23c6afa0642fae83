"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

from .multinomial import RMLR, SMLR
from .relevance import RVMClassifier, RVMRegressor
from .tuning import SMLRCV, Path, path

__version__ = "0.1.0"

__all__ = ["RMLR", "SMLR", "SMLRCV", "Path", "RVMClassifier", "RVMRegressor", "__version__", "path"]
