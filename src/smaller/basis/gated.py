"""Inputs in units of their standard deviations, and kernels with a gate for each input."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..design import as_design
from .centers import checked_centers, distinct_rows
from .choice import as_basis
from .kernel import Kernel, _inverse_variance, _rbf, _refuse_if_too_large, spreads


class Standardized(BaseEstimator):
    """Another basis on inputs in units of their standard deviations, about their means (about 0 where X is sparse).

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly"} or basis object
    """

    def __init__(self, basis="rbf"):
        self.basis = basis

    def fit(self, X, sample_weight: np.ndarray) -> Standardized:
        """Find the units, and fit the basis in them."""
        self.mean_, self.scale_ = standard_units(X, sample_weight)
        basis = as_basis(self.basis)
        given = _given_centers(basis, X)
        if given is not None:
            basis.centers = self._inputs(given)
        self.basis_ = basis.fit(self._inputs(X), sample_weight)
        self.n_columns_ = self.basis_.n_columns_
        if hasattr(self.basis_, "center_index_"):
            self.center_index_ = self.basis_.center_index_
            self.centers_ = (X if given is None else given)[self.center_index_]
        return self

    def transform(self, X, columns: np.ndarray | None = None):
        """The columns of the basis, or some of them."""
        return self.basis_.transform(self._inputs(X), columns)

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """Names of the columns of the basis inside."""
        return self.basis_.names(inputs)

    def _inputs(self, X):
        if sparse.issparse(X):
            return type(X)(X.multiply(1 / self.scale_.astype(X.dtype)))
        return (X - self.mean_.astype(X.dtype)) / self.scale_.astype(X.dtype)


def _given_centers(basis, X):
    """The matrix of centres that a kernel was given, like X; None for other bases and other centres."""
    centers = checked_centers(basis.centers, X) if isinstance(basis, Kernel) else None
    return None if centers is None or isinstance(centers, str | int) else centers


HALF_OPEN_WIDTH = 2.0  # gamma of a gated kernel times the inputs' variance; gates of 1/2 reduce it to a quarter


class GatedKernel(BaseEstimator):
    """Phi_ic = exp(-gamma sum_j gates_j^2 (x_ij - c_cj)^2 / scale_j^2), the centres being the distinct training rows.

    A model that learns the gates sets ``gates_`` (p,); until then they are 1/2. An input whose gate is 0 has no
    effect on the kernel.

    Parameters
    ----------
    gamma : "scale" or float
        "scale" is 2 / (sum of the variances of the inputs), 2 / p where they are standardised.
    standardize : bool
        Measure the inputs in units of their standard deviations.
    """

    def __init__(self, gamma="scale", standardize=True):
        self.gamma = gamma
        self.standardize = standardize

    def fit(self, X, sample_weight: np.ndarray) -> GatedKernel:
        """Find the centres, the units and the width."""
        positive = np.flatnonzero(sample_weight > 0)
        self.center_index_ = positive[distinct_rows(X[positive])]
        self.centers_ = X[self.center_index_]
        self.n_columns_ = len(self.center_index_)
        _refuse_if_too_large(3 * len(X), self.n_columns_, X, "a gated kernel")
        p = X.shape[1]
        units = standard_units(X, sample_weight) if self.standardize else (np.zeros(p), np.ones(p))
        self.mean_: np.ndarray = units[0]
        self.scale_: np.ndarray = units[1]
        variance = _inverse_variance(*spreads(self.inputs(X), sample_weight))
        self.gamma_ = HALF_OPEN_WIDTH * variance if self.gamma == "scale" else float(self.gamma)
        self.gates_ = np.full(p, 0.5)
        return self

    def inputs(self, X) -> np.ndarray:
        """X in the units of the kernel, float64."""
        return (np.asarray(X, dtype=np.float64) - self.mean_) / self.scale_

    def transform(self, X, columns: np.ndarray | None = None):
        """Kernel values between X and the centres, or some of them."""
        centers = self.centers_ if columns is None else self.centers_[columns]
        return self.values(self.inputs(X), self.inputs(centers), self.gates_).astype(X.dtype, copy=False)

    def values(self, Z: np.ndarray, centers: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """Kernel values between inputs and centres, both in the units of the kernel, with the gates given."""
        if not len(centers):
            return np.empty((len(Z), 0))
        open_ = np.flatnonzero(gates)
        if not len(open_):
            return np.ones((len(Z), len(centers)))
        return _rbf(Z[:, open_] * gates[open_], centers[:, open_] * gates[open_], self.gamma_, None, None)

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """One name for each centre."""
        return np.array([f"center{i}" for i in self.center_index_], dtype=object)


def standard_units(X, sample_weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means (0 where X is sparse) and standard deviations, 1 for a constant column."""
    moments, total = as_design(X).moments(sample_weight), sample_weight.sum()
    variance = moments.spread / total
    constant = variance <= 1e-28 * moments.mean**2
    scale = np.where(constant, 1.0, np.sqrt(variance))
    return np.zeros_like(scale) if sparse.issparse(X) else moments.mean, scale
