"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

from .dualspace import TypeIIClassifier, TypeIIRegressor, TypeIRegressor
from .multinomial import RMLR, SMLR
from .recovery import SparseSolution, maximally_sparse
from .relevance import RVMClassifier, RVMRegressor
from .tuning import SMLRCV, Path, path

__version__ = "0.1.0"

__all__ = [
    "RMLR",
    "SMLR",
    "SMLRCV",
    "Path",
    "RVMClassifier",
    "RVMRegressor",
    "SparseSolution",
    "TypeIIClassifier",
    "TypeIIRegressor",
    "TypeIRegressor",
    "__version__",
    "maximally_sparse",
    "path",
]
