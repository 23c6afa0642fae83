"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

__version__ = "0.2.0.dev0"

from . import bounds, decision
from .adaptive import JeffreysClassifier, JeffreysRegressor, LaplaceRegressor
from .comparison import EvidenceSearch
from .dualspace import TypeIIClassifier, TypeIIRegressor, TypeIRegressor
from .export import to_c, to_onnx
from .gated import JFSCL, LRVM
from .jcfo import JCFO
from .marginal import SBMLR
from .multinomial import RMLR, SMLR
from .persist import load, save
from .recovery import SparseSolution, maximally_sparse
from .relevance import RVMClassifier, RVMRegressor
from .report import report
from .strengths import laplace_path, training_path
from .tuning import SMLRCV, Path, path
from .widths import tune_width

__all__ = [
    "JCFO",
    "JFSCL",
    "LRVM",
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
    "laplace_path",
    "load",
    "maximally_sparse",
    "path",
    "report",
    "save",
    "to_c",
    "to_onnx",
    "training_path",
    "tune_width",
]
