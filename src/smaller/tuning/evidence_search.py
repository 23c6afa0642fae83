"""Comparing models by their evidence: the kernel, its width or the basis chosen without cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._sklearn import HasMethods, fit_context


def _has(method: str):
    def check(search) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method)
        return True

    return available_if(check)


class EvidenceSearch(MetaEstimatorMixin, BaseEstimator):
    """The candidate with the greatest log evidence, each fitted once on all samples.

    Like ``GridSearchCV``, but without held-out samples: the evidence already penalises models that could fit anything.
    Evidences can be compared between models of one class on the same samples. A model that kept no column is chosen
    only where none kept any.

    Parameters
    ----------
    estimator : estimator with ``evidence_`` after its fit
        :class:`SBMLR`, or :class:`RMLR` with ``lam="evidence"``.
    param_grid : dict or list of dicts
        Values to try, as in scikit-learn's ``ParameterGrid``.
    n_jobs : int, default=None
        Candidates fitted at the same time.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_
        The winner.
    evidence_ : float
        Its log evidence.
    evidences_ : ndarray of shape (n_candidates,)
    candidates_ : list of dict
        The parameters of each candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SBMLR, EvidenceSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> search = EvidenceSearch(SBMLR(), {"basis": ["linear", "quadratic", "rbf"]}).fit(X, y)
    >>> search.best_params_
    {'basis': 'rbf'}
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "param_grid": [dict, list],
        "n_jobs": [int, None],
    }

    def __init__(self, estimator, param_grid, *, n_jobs=None):
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit every candidate; further arguments are handed to each fit."""
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError("param_grid has no candidate; give at least one value for each parameter.")
        models = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_fitted)(clone(self.estimator), candidate, X, y, fit_params) for candidate in candidates
        )
        evidences = np.array([_evidence(model) for model in models])
        empty = np.array([not len(getattr(model, "support_", "?")) for model in models])
        self.candidates_, self.evidences_ = candidates, evidences
        self.best_index_ = int(np.argmax(evidences if empty.all() else np.where(empty, -np.inf, evidences)))
        self.best_estimator_, self.best_params_ = models[self.best_index_], candidates[self.best_index_]
        self.evidence_ = float(evidences[self.best_index_])
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags = inner.input_tags
        return tags

    @_has("predict")
    def predict(self, X, **options):
        """Predictions of the winner."""
        return self._best().predict(X, **options)

    @_has("predict_proba")
    def predict_proba(self, X, **options):
        """Class probabilities of the winner."""
        return self._best().predict_proba(X, **options)

    @_has("predict_log_proba")
    def predict_log_proba(self, X, **options):
        """Logarithms of the class probabilities of the winner."""
        return self._best().predict_log_proba(X, **options)

    @_has("decision_function")
    def decision_function(self, X, **options):
        """Scores of the winner."""
        return self._best().decision_function(X, **options)

    @_has("score")
    def score(self, X, y, sample_weight=None) -> float:
        """The winner's own score."""
        return self._best().score(X, y, sample_weight=sample_weight)

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_


def _fitted(model, parameters: dict, X, y, fit_params: dict):
    return model.set_params(**{name: clone(value, safe=False) for name, value in parameters.items()}).fit(
        X, y, **fit_params
    )


def _evidence(model) -> float:
    if not hasattr(model, "evidence_"):
        raise ValueError(
            f"{type(model).__name__} has no evidence_ after its fit; use SBMLR, or RMLR with lam='evidence', or "
            "GridSearchCV for models without evidence."
        )
    return float(model.evidence_)
