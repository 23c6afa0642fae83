"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

from .adaptive import JeffreysClassifier, JeffreysRegressor, LaplaceRegressor
from .multinomial import RMLR, SMLR
from .tuning import SMLRCV, Path, path

__version__ = "0.1.0"

__all__ = [
    "RMLR",
    "SMLR",
    "SMLRCV",
    "JeffreysClassifier",
    "JeffreysRegressor",
    "LaplaceRegressor",
    "Path",
    "__version__",
    "path",
]
