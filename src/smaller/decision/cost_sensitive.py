"""CostSensitive: decisions of least expected cost; and the base class of wrappers that may reject."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._sklearn import HasMethods
from . import checks
from .costs import Decisions, least_cost, named, rejecting_costs
from .wrapper import Wrapper


class Rejectable(Wrapper):
    """Wrappers that may reject a sample instead of deciding."""

    reject_label: Any
    reject_label_: Any

    def predict(self, X) -> np.ndarray:
        """The decision for each sample: a class, or ``reject_label_``."""
        check_is_fitted(self)
        codes = self._decisions(self._raw(X)).codes
        return named(codes, self.classes_, self.reject_label_) if self._may_reject() else self.classes_[codes]

    def accepts(self, X) -> np.ndarray:
        """Mask of the samples that are decided rather than rejected."""
        check_is_fitted(self)
        return self._decisions(self._raw(X)).codes >= 0

    def _may_reject(self) -> bool:
        return True


class CostSensitive(Rejectable):
    """A classifier that decides for the least expected cost, or rejects where that costs less.

    Decides for ``argmin_j sum_k P_ik cost_kj``; rejects if ``sum_k P_ik reject_cost_k`` is less. Of equally good
    decisions the first class is taken, and a class rather than rejection. Probabilities are passed on unchanged.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Fitted inside; a fitted one that is to stay as it is comes in a :class:`sklearn.frozen.FrozenEstimator`. It may
        be a :class:`PriorShift`.
    cost : array-like of shape (n_classes, n_classes) or dict, default=None
        ``cost[k, j]`` of deciding for class j when k is true, in the order of ``classes_``. A dict
        ``{(true class, decision): cost}`` names those that differ from 0 (right) and 1 (wrong), which None means.
        Finite and not negative.
    reject_cost : float, array-like of shape (n_classes,) or dict, default=None
        Cost of rejecting a sample, the same for all or by its true class. None never rejects.
    reject_label : label, default="auto"
        What ``predict`` returns for a rejected sample. "auto" is -1 for numbers (one less than the least class if that
        is negative) and "reject" for strings.

    Attributes
    ----------
    estimator_ : classifier
    classes_ : ndarray
    cost_ : ndarray of shape (n_classes, n_classes)
    reject_cost_ : ndarray of shape (n_classes,) or None
    reject_label_ : label or None

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import SMLR
    >>> from smaller.decision import CostSensitive
    >>> data = load_breast_cancer()
    >>> X, y = data.data, data.target_names[data.target]
    >>> model = CostSensitive(SMLR(standardize=True), cost={("malignant", "benign"): 20}, reject_cost=0.5).fit(X, y)
    >>> decided = model.predict(X)
    >>> print({str(label): int((decided == label).sum()) for label in ("benign", "malignant", "reject")})
    {'benign': 290, 'malignant': 208, 'reject': 71}
    """

    _stage = 2
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "cost": ["array-like", Mapping, None],
        "reject_cost": [Real, "array-like", Mapping, None],
        "reject_label": "no_validation",
    }

    def __init__(self, estimator, *, cost=None, reject_cost=None, reject_label="auto"):
        self.estimator = estimator
        self.cost = cost
        self.reject_cost = reject_cost
        self.reject_label = reject_label

    def _settings(self, classes: np.ndarray) -> dict[str, Any]:
        label = None if self.reject_cost is None else checks.reject_label_of(self.reject_label, classes)
        return {
            "cost_": checks.costs(self.cost, classes),
            "reject_cost_": rejecting_costs(self.reject_cost, classes),
            "reject_label_": label,
        }

    def _may_reject(self) -> bool:
        return self.reject_cost_ is not None

    def _decisions(self, P: np.ndarray) -> Decisions:
        return least_cost(self._probabilities(P), self.cost_, self.reject_cost_)
