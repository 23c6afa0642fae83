"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

from . import bounds, decision, inference
from ._version import __version__
from .export import to_c, to_onnx
from .models.adaptive import JeffreysClassifier, JeffreysRegressor, LaplaceRegressor
from .models.jcfo import JCFO
from .models.kernel_machines import JFSCL, LRVM
from .models.multinomial import RMLR, SMLR
from .models.rvm import RVMClassifier, RVMRegressor
from .models.sbmlr import SBMLR
from .models.sparsest import SparseSolution, maximally_sparse
from .models.type12 import TypeIIClassifier, TypeIIRegressor, TypeIRegressor
from .persist import load, save
from .report import report
from .tuning.cross_validation import SMLRCV
from .tuning.evidence_search import EvidenceSearch
from .tuning.kernel_width import tune_width
from .tuning.path import Path, path
from .tuning.training_path import laplace_path, training_path

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
    "inference",
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
