"""Models of class labels: targets, scores, probabilities and labels, of rows in memory, on a device or in Dask."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_ndtr, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from .._sklearn import StrOptions
from ..design import host
from ..likelihoods import one_hot
from ..rows.dask.collections import is_lazy
from .base import Estimator, Targets
from .predictions import blockwise, class_probabilities, dask_score, log_probabilities, most_probable
from .targets import centred_offset, class_weights, encode, with_offset


class ClassificationModel(ClassifierMixin, Estimator):
    """Models with scores: log odds of the second of two classes, or one score for each class of a softmax."""

    classes_: np.ndarray
    class_weight: Any
    _without_columns = "the class frequencies"
    _parameter_constraints: ClassVar[dict] = {
        **Estimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _encode(self, y, weight: np.ndarray, offset: np.ndarray | None) -> Targets:
        """Indicators of the classes, weights multiplied by those of the classes, the offset of each score."""
        classes, codes = encode(y)
        m = len(classes)
        k = self._score_columns(m)
        if self.class_weight is not None:
            weight = weight * class_weights(self.class_weight, classes, codes, weight)
        offset = None if offset is None else centred_offset(offset, m, k)
        return Targets(one_hot(codes, m, k), weight, offset, classes)

    def _score_columns(self, m: int) -> int:
        """Columns of scores of so many classes: two share one."""
        return 1 if m == 2 else m

    @blockwise(lambda model: None if len(model.intercept_) == 1 else len(model.intercept_))
    def decision_function(self, X, offset=None) -> np.ndarray:
        """Scores: log odds of the second class, (n_samples,), or one column for each class."""
        F = with_offset(self._scores(X), offset)
        return F[:, 0] if F.shape[1] == 1 else F

    @blockwise(lambda model: None, lambda model: model.classes_.dtype)
    def predict(self, X, offset=None) -> np.ndarray:
        """The most probable class of each sample."""
        return most_probable(self.decision_function(X, offset), self.classes_)

    @blockwise(lambda model: len(model.classes_))
    def predict_proba(self, X, offset=None) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes)."""
        return class_probabilities(self.decision_function(X, offset))

    @blockwise(lambda model: len(model.classes_))
    def predict_log_proba(self, X, offset=None) -> np.ndarray:
        """Logarithms of the class probabilities, finite where the probabilities round to 0."""
        return log_probabilities(self.decision_function(X, offset))

    def score(self, X, y, sample_weight=None, offset=None) -> float:
        """The fraction of samples whose class is predicted."""
        if is_lazy(X):
            return dask_score(self, X, y, sample_weight, offset)
        return float(accuracy_score(host(y), host(self.predict(X, offset)), sample_weight=host(sample_weight)))


class ProbitModel(ClassificationModel):
    """Models whose score has the probability Phi(score), Phi the normal distribution function.

    More than two classes are one against the rest each, their probabilities divided by their sum.
    """

    _without_columns = "the same for every sample"

    def predict_log_proba(self, X, offset=None) -> np.ndarray:
        """Logarithms of the class probabilities, finite where the probabilities round to 0."""
        F = self.decision_function(X, offset)
        if F.ndim == 1:
            return np.column_stack([log_ndtr(-F), log_ndtr(F)])
        log = log_ndtr(F)
        return log - logsumexp(log, axis=1, keepdims=True)

    def predict_proba(self, X, offset=None) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X, offset))
