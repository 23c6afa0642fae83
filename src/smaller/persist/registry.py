"""The classes that a model file may contain, and the limits of its sizes."""

from __future__ import annotations

import re
from typing import Any

from scipy import sparse
from sklearn import model_selection
from sklearn.frozen import FrozenEstimator

from .. import basis
from ..data.tables import Columns, TableTransformer
from ..decision import CostSensitive, PriorEstimate, PriorShift, Rejecting, RiskCoverage, ShiftTest
from ..decision.held_out import HeldOut
from ..inference import PosteriorSample
from ..models.adaptive import LaplaceRegressor
from ..models.jcfo import JCFO
from ..models.jeffreys import JeffreysClassifier, JeffreysRegressor
from ..models.kernel_machines import JFSCL, LRVM
from ..models.multinomial import RMLR, SMLR
from ..models.rvm import RVMClassifier, RVMRegressor
from ..models.sbmlr import SBMLR
from ..models.type1 import TypeIRegressor
from ..models.type2 import TypeIIRegressor
from ..models.type2_classifier import TypeIIClassifier
from ..priors import Jeffreys, Power, Student
from ..solvers.blasso import BoostedPath
from ..solvers.solution import Step
from ..tuning.cross_validation import SMLRCV
from ..tuning.evidence_search import EvidenceSearch
from ..tuning.laplace_cross_validation import LaplaceRegressorCV
from ..tuning.path import Path
from .feature_rules import SELECTORS
from .preparations import PRIVATE

FORMAT, VERSION = "smaller model", 1
LARGEST_HEADER = 1 << 28  # bytes
DIMENSIONS, LONGEST = 8, 1 << 40  # of an array; a dimension of 0 would hide the size of another
NUMBERS_AND_TEXT = "biufUS"  # kinds of NumPy's types
FITTED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")
MEMBER = re.compile(r"[0-9]{1,9}\.npy")

# Classes that a file may contain. A new model is entered here.


def _by_name(*classes: type) -> dict[str, Any]:
    return {cls.__name__: cls for cls in classes}


ESTIMATORS = _by_name(
    *(SMLR, SMLRCV, RMLR, SBMLR, EvidenceSearch),
    *(LaplaceRegressor, LaplaceRegressorCV, JeffreysRegressor, JeffreysClassifier, RVMRegressor, RVMClassifier),
    *(TypeIRegressor, TypeIIRegressor, TypeIIClassifier),
    *(LRVM, JFSCL, JCFO),
    *SELECTORS,
    *(PriorShift, CostSensitive, Rejecting, FrozenEstimator),
    *(basis.Linear, basis.Polynomial, basis.Kernel, basis.Precomputed),
    *(basis.Standardized, basis.GatedKernel),
    *(TableTransformer, *PRIVATE),
)
RECORDS = _by_name(Step, Path, BoostedPath, RiskCoverage, HeldOut, PriorEstimate, ShiftTest, Columns, PosteriorSample)
PRIORS = _by_name(Power, Jeffreys, Student)  # their attributes are the arguments of their constructors
SPLITTERS = _by_name(
    *(model_selection.KFold, model_selection.StratifiedKFold, model_selection.LeaveOneOut),
    *(model_selection.ShuffleSplit, model_selection.StratifiedShuffleSplit),
)
SPARSE = _by_name(sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
