"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

from . import bounds, decision
from .adaptive import JeffreysClassifier, JeffreysRegressor, LaplaceRegressor
from .comparison import EvidenceSearch
from .dualspace import TypeIIClassifier, TypeIIRegressor, TypeIRegressor
from .marginal import SBMLR
from .multinomial import RMLR, SMLR
from .recovery import SparseSolution, maximally_sparse
from .relevance import RVMClassifier, RVMRegressor
from .tuning import SMLRCV, Path, path

__version__ = "0.1.0"

__all__ = [
    "RMLR",
    "SBMLR",
    "SMLR",
    "SMLRCV",
    "EvidenceSearch",
    "JeffreysClassifier",
    "JeffreysRegressor",
    "LaplaceRegressor",
    "Path",
    "RVMClassifier",
    "RVMRegressor",
    "SparseSolution",
    "TypeIIClassifier",
    "TypeIIRegressor",
    "TypeIRegressor",
    "__version__",
    "bounds",
    "decision",
    "maximally_sparse",
    "path",
]
