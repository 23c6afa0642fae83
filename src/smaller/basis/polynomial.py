"""The polynomial basis: products of inputs."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import PolynomialFeatures

from ..design import follow, on_device
from ..design.tensors import columns_of
from .kernel import _refuse_if_too_large


class Polynomial(BaseEstimator):
    """All products of up to ``degree`` inputs (``"quadratic"`` is degree 2); a constant is left to the intercept.

    Parameters
    ----------
    degree : int
    interaction_only : bool
        Leave out powers of a single input.
    """

    def __init__(self, degree=2, interaction_only=False):
        self.degree = degree
        self.interaction_only = interaction_only

    def fit(self, X, sample_weight: np.ndarray) -> Polynomial:
        """Enumerate the products."""
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"Polynomial: degree must be an integer of at least 1; got {self.degree!r}.")
        n, p = X.shape
        # An upper bound: the number of multisets of the inputs and the constant.
        count = math.comb(p + self.degree, self.degree) - 1
        # A sparse matrix of products needs little memory; the weights, at least one row, are dense.
        rows = 1 if sparse.issparse(X) else n
        _refuse_if_too_large(rows, count, X, f"a polynomial basis of degree {self.degree}")
        self.n_inputs_ = p
        self.n_columns_ = self._products().n_output_features_
        return self

    def transform(self, X, columns: np.ndarray | None = None):
        """The products, or some of them."""
        if on_device(X):
            return self._products_on_device(X, columns)
        Phi = self._products().transform(X)
        return Phi if columns is None else Phi[:, columns]

    def _products_on_device(self, X, columns: np.ndarray | None):
        """Products computed one factor at a time; a missing factor counts as 1."""
        powers = self._products().powers_
        powers = powers if columns is None else powers[columns]
        factors = [np.repeat(np.arange(len(row)), row) for row in powers]
        Phi: Any = 1.0
        for place in range(self.degree):
            there = np.array([len(each) > place for each in factors])
            which = np.array([each[place] if len(each) > place else 0 for each in factors], dtype=np.int64)
            missing = follow(np.where(there, 0.0, 1.0), X)
            Phi = Phi * (columns_of(X, which) * (1.0 - missing) + missing)
        return Phi

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """Names such as "x0 x1" and "x0^2"."""
        return self._products().get_feature_names_out(inputs)

    def _products(self) -> Any:
        """scikit-learn's transformer, made anew: the products depend on the number of inputs alone."""
        products = PolynomialFeatures(self.degree, interaction_only=self.interaction_only, include_bias=False)
        return products.fit(np.zeros((1, self.n_inputs_)))
