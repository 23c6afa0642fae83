"""Decisions with class probabilities: shifted priors, unequal costs, and a reject option.

Meta-estimators for any classifier with ``predict_proba``, over plain functions of a probability matrix. They compose in
the order shift, cost, reject:

>>> from sklearn.datasets import load_breast_cancer
>>> from smaller import SMLR
>>> from smaller.decision import CostSensitive, PriorShift, Rejecting
>>> data = load_breast_cancer()
>>> X, y = data.data, data.target_names[data.target]
>>> classifier = SMLR(standardize=True)
>>> priors = {"malignant": 0.05, "benign": 0.95}  # of those screened; in the sample, 0.37 and 0.63
>>> cost = {("malignant", "benign"): 20}  # of a missed tumour; a false alarm costs 1
>>> model = Rejecting(CostSensitive(PriorShift(classifier, priors=priors), cost=cost), rate=0.1).fit(X, y)
>>> print(f"of people screened, {1 - model.coverage_:.0%} are examined again")
of people screened, 10% are examined again
"""

from .class_frequencies import PriorEstimate, ShiftTest, estimate_priors, shift_priors, shift_test
from .cost_sensitive import CostSensitive
from .costs import decide, expected_cost, incurred_cost
from .prior_shift import PriorShift
from .rejecting import Rejecting
from .rejection import RiskCoverage, Threshold, reject, risk_coverage, threshold_for_error, threshold_for_rate
from .wrapper import adapt

__all__ = [
    "CostSensitive",
    "PriorEstimate",
    "PriorShift",
    "Rejecting",
    "RiskCoverage",
    "ShiftTest",
    "Threshold",
    "adapt",
    "decide",
    "estimate_priors",
    "expected_cost",
    "incurred_cost",
    "reject",
    "risk_coverage",
    "shift_priors",
    "shift_test",
    "threshold_for_error",
    "threshold_for_rate",
]
