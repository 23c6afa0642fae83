"""The linear basis: the inputs themselves."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ..design.tensors import columns_of


class Linear(BaseEstimator):
    """Phi = X: one column for each input."""

    def fit(self, X, sample_weight: np.ndarray) -> Linear:
        """Note the number of columns."""
        self.n_columns_ = X.shape[1]
        return self

    def transform(self, X, columns: np.ndarray | None = None):
        """X, or some of its columns."""
        return X if columns is None else columns_of(X, columns)

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """Names of the columns, from those of the inputs."""
        return inputs
