"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

__version__ = "0.1.0"

from . import bounds, decision
from .comparison import EvidenceSearch
from .marginal import SBMLR
from .multinomial import RMLR, SMLR
from .persist import load, save
from .report import report
from .tuning import SMLRCV, Path, path

__all__ = [
    "RMLR",
    "SBMLR",
    "SMLR",
    "SMLRCV",
    "EvidenceSearch",
    "Path",
    "__version__",
    "bounds",
    "decision",
    "load",
    "path",
    "report",
    "save",
]
