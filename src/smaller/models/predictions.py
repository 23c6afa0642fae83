"""Predictions wherever the inputs lie: Dask collections block by block, tensors on their device, arrays in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from .._sklearn import check_feature_names, check_n_features
from ..design import namespace, on_device, tensors
from ..rows.dask.collections import is_frame, is_lazy
from ..rows.dask.predicted_blocks import by_blocks, fraction_correct


def blockwise(columns: Callable[[Any], int | None], dtype: Callable[[Any], Any] = lambda model: np.float64):
    """A method of a fitted model that also takes a Dask collection, whose blocks are predicted when they are computed.

    Parameters
    ----------
    columns, dtype : functions of the model
        Number of columns of the result, None for one value of each row; and its type.
    """

    def decorate(method):
        @wraps(method)
        def wrapper(self, X, *args, **kwargs):
            if not is_lazy(X):
                return method(self, X, *args, **kwargs)
            check_is_fitted(self)
            _refuse_offset(*args, **kwargs)
            note_inputs(self, X, reset=False)
            return by_blocks(partial(_call, self, method.__name__), X, columns(self), dtype(self))

        return wrapper

    return decorate


def note_inputs(model, X, reset: bool = True) -> None:
    """Number and names of the inputs of a Dask collection: kept by the model, or compared with those kept."""
    seen = X._meta if is_frame(X) else np.empty((0, int(X.shape[1])))
    check_feature_names(model, seen, reset=reset)
    check_n_features(model, seen, reset=reset)


def dask_score(model, X, y, sample_weight, offset) -> float:
    """The weighted fraction of rows whose class is predicted."""
    check_is_fitted(model)
    _refuse_offset(offset)
    note_inputs(model, X, reset=False)
    return fraction_correct(partial(_call, model, "predict"), X, y, sample_weight)


def _refuse_offset(offset=None) -> None:
    if offset is not None:
        raise ValueError("offset is not taken with Dask input here; add it to decision_function(X) instead.")


def _call(model, method: str, X):
    return getattr(model, method)(X)


def log_probabilities(F) -> Any:
    """Logarithms of the class probabilities, (n, m), from log odds (n,) or scores (n, m)."""
    if on_device(F):
        return tensors.device_log_probabilities(F)
    return np.column_stack([log_expit(-F), log_expit(F)]) if F.ndim == 1 else log_softmax(F, axis=1)


def class_probabilities(F) -> Any:
    """Class probabilities, (n, m), from log odds (n,) or scores (n, m)."""
    if on_device(F):
        return namespace(F).exp(tensors.device_log_probabilities(F))
    return np.column_stack([expit(-F), expit(F)]) if F.ndim == 1 else softmax(F, axis=1)


def most_probable(F, classes: np.ndarray) -> Any:
    """The class of each row, from log odds (n,) or scores (n, m)."""
    if on_device(F):
        return tensors.device_most_probable(F, classes)
    return classes[(F > 0).astype(int) if F.ndim == 1 else F.argmax(axis=1)]
