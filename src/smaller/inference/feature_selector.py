"""What the selectors of features share: their face for scikit-learn, and work that is done in parallel."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.parallel import Parallel
from sklearn.utils.validation import check_is_fitted

from ..models.predictions import note_inputs
from ..progress import tell
from ..rows.dask.collections import columns_of_collection, is_lazy


class FeatureSelector(SelectorMixin, BaseEstimator):
    """Selectors of features: what they say of themselves, and the mask of the features that were selected."""

    _takes_sparse = False
    support_: np.ndarray
    n_features_in_: int

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")

    def transform(self, X):
        """The features that were selected; a Dask collection stays one."""
        if not is_lazy(X):
            return super().transform(X)
        check_is_fitted(self)
        note_inputs(self, X, reset=False)
        return columns_of_collection(X, self.support_)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask


def in_parallel(work: Iterable, n_jobs: int | None, told: str, *ignored: type[Warning]) -> list[Any]:
    """Results of delayed calls in their order, the number done told as {done} in a sentence; some warnings ignored."""
    found: list[Any] = []
    with warnings.catch_warnings():
        for category in ignored:
            warnings.simplefilter("ignore", category)
        for result in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(work):
            found.append(result)
            tell(told.format(done=len(found)))
    return found
