"""Probabilities of samples that the classifier was not fitted on, from which thresholds are chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from .._sklearn import check_method_params, safe_split
from ..models.folds import class_folds
from . import checks
from .wrapper import Wrapper, thawed


class HeldOut(NamedTuple):
    """Samples with the raw probabilities of a classifier that was fitted without them."""

    P: np.ndarray  # (n, K)
    codes: np.ndarray  # (n,) positions of their classes
    weight: np.ndarray  # (n,)


def held_out(wrapper, inner, X, y, sample_weight, routed, cv, n_jobs) -> HeldOut:
    """Held-out probabilities by cross-validation of the innermost classifier; of all samples if that is frozen.

    `inner` is the fitted estimator of `wrapper`, `routed` are the arguments with which it was fitted.
    """
    codes = checks.positions(y, inner.classes_)
    weight = checks.sample_weights(sample_weight, len(codes))
    base, fit_params = classifier_within(wrapper.estimator, routed)
    if isinstance(base, FrozenEstimator):
        within = thawed(inner)
        P = within._raw(X) if isinstance(within, Wrapper) else checks.probabilities(within.predict_proba(X))
        return HeldOut(P, codes, weight)
    X, y = indexable(X, y)
    splits = class_folds(cv, X, np.asarray(y), weight)
    folds = Parallel(n_jobs=n_jobs)(
        delayed(_fold)(clone(base), X, y, train, test, fit_params, inner.classes_) for train, test in splits
    )
    rows = np.concatenate([test for _, test in splits])
    return HeldOut(np.concatenate(folds), codes[rows], weight[rows])


def classifier_within(estimator, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The classifier inside the wrappers, and the arguments of its fit; or the first frozen estimator on the way."""
    while isinstance(estimator, Wrapper):
        params = dict(params)
        params = estimator._routed(params.pop("sample_weight", None), params)
        estimator = estimator.estimator
    return estimator, params


def _fold(model, X, y, train, test, params, classes) -> np.ndarray:
    """Probabilities of one fold; a class that its training samples lack has probability 0."""
    X_train, y_train = safe_split(model, X, y, train)
    X_test, _ = safe_split(model, X, y, test, train)
    model.fit(X_train, y_train, **check_method_params(X, params, indices=train))
    P = np.zeros((len(test), len(classes)))
    P[:, checks.positions(model.classes_, classes)] = model.predict_proba(X_test)
    return checks.probabilities(P)
