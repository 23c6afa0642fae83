"""Bases: what turns the inputs X into the design Phi that the weights belong to.

A basis is a scikit-learn style object (``get_params``, ``clone``, ``basis__gamma`` in a grid search) with
``fit(X, sample_weight)`` and ``transform(X, columns)``; only the columns a model kept are computed for a prediction.
A weight is a repetition: centres are the distinct rows of positive weight, widths are weighted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import PolynomialFeatures

from . import _core
from .design import as_design, follow, host, on_device
from .device import all_finite, columns_of, kernel_values, room, rows_of
from .errors import choose


def finite_columns(basis, X, columns: np.ndarray | None = None):
    """Columns of a fitted basis for checked inputs, or some of them; refused where one is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        Phi = basis.transform(X) if columns is None else basis.transform(X, columns)
    # The inputs themselves were checked already, without a temporary of their size.
    if not isinstance(basis, Linear) and not all_finite(Phi):
        name = type(basis).__name__
        raise ValueError(f"The {name} basis returned NaN or infinity for X; scale X, or change its parameters.")
    return Phi


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


class Polynomial(BaseEstimator):
    """All products of up to ``degree`` inputs (``"quadratic"`` is degree 2); the constant is the intercept's business.

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
        # Products are at most as many as multisets of inputs and the constant.
        count = math.comb(p + self.degree, self.degree) - 1
        # A sparse matrix of them needs little, but each still has a weight.
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
        """Each product factor by factor; a factor that is not there is taken as 1."""
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
        """They follow from the number of inputs, so nothing else of them is kept."""
        products = PolynomialFeatures(self.degree, interaction_only=self.interaction_only, include_bias=False)
        return products.fit(np.zeros((1, self.n_inputs_)))


def _poly(X, centers, gamma, degree, coef0):
    return polynomial_kernel(X, centers, degree=degree, gamma=gamma, coef0=coef0)


FEW_INPUTS = 16  # whose squared differences are summed as they are; beyond, a matrix product is quicker


def _rbf(X, centers, gamma, degree, coef0):
    if sparse.issparse(X) or sparse.issparse(centers) or not (X.dtype == centers.dtype == np.float64):
        return rbf_kernel(X, centers, gamma=gamma)
    if X.shape[1] <= FEW_INPUTS:
        D = np.empty((X.shape[0], centers.shape[0]))
        _core.distances(np.ascontiguousarray(X), np.ascontiguousarray(centers.T), D)
    else:  # about the centres' mean: |x|^2 - 2 x.c + |c|^2 of inputs far from 0 would lose their differences
        middle = centers.mean(axis=0)
        D = euclidean_distances(X - middle, centers - middle, squared=True)
    _core.decay(D, float(gamma))
    return D


KERNELS: dict[str, Callable] = {
    "rbf": _rbf,
    "linear": lambda X, centers, gamma, degree, coef0: linear_kernel(X, centers),
    "poly": _poly,
}


class Kernel(BaseEstimator):
    """Phi_ij = K(x_i, c_j), the centres c_j being the distinct training rows.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly"} or callable
        exp(-gamma |x - c|^2), x.c, (gamma x.c + coef0)^degree, or a function of two matrices that returns the matrix of
        their kernel values. It need not be positive definite.
    gamma : "scale" or float
        "scale" is 1 / (sum of the variances of the inputs): 1 / p for standardised inputs.
    degree, coef0 : float
        Of the polynomial kernel.
    """

    def __init__(self, kernel="rbf", gamma="scale", degree=3, coef0=1.0):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def fit(self, X, sample_weight: np.ndarray) -> Kernel:
        """Find the centres and the width."""
        if not callable(self.kernel):
            choose("Kernel: kernel", self.kernel, KERNELS)
        if self.gamma != "scale" and not (isinstance(self.gamma, Real) and 0 < float(self.gamma) < math.inf):
            raise ValueError(f"Kernel: gamma must be 'scale' or a positive number; got {self.gamma!r}.")
        # In the order of their values, so that it does not depend on the order of the rows.
        positive = np.flatnonzero(sample_weight > 0)
        self.center_index_ = positive[_distinct_rows(host(X if len(positive) == X.shape[0] else rows_of(X, positive)))]
        self.centers_ = rows_of(X, self.center_index_)
        self.gamma_ = _inverse_variance(X, sample_weight) if self.gamma == "scale" else float(self.gamma)
        self.n_columns_ = len(self.center_index_)
        return self

    def transform(self, X, columns: np.ndarray | None = None):
        """Kernel values between X and the centres, or some of them."""
        if columns is None:
            _refuse_if_too_large(X.shape[0], self.n_columns_, X, "a kernel basis")
        centers = self.centers_ if columns is None else rows_of(self.centers_, columns)
        if centers.shape[0] == 0:
            return X[:, :0] if on_device(X) else np.empty((X.shape[0], 0), dtype=X.dtype)
        centers = follow(centers, X) if on_device(X) or on_device(centers) else centers
        if callable(self.kernel):
            Phi = self.kernel(X, centers)
            Phi = follow(Phi, X) if on_device(X) else np.asarray(Phi, dtype=X.dtype)
            if Phi.shape != (X.shape[0], centers.shape[0]):
                raise ValueError(
                    f"The kernel function must return a matrix of shape {(X.shape[0], centers.shape[0])} here; "
                    f"got {Phi.shape}."
                )
            return Phi
        if on_device(X):
            return kernel_values(self.kernel, X, centers, self.gamma_, self.degree, self.coef0)
        return KERNELS[self.kernel](X, centers, self.gamma_, self.degree, self.coef0)

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """One name for each centre."""
        return np.array([f"center{i}" for i in self.center_index_], dtype=object)


class Precomputed(BaseEstimator):
    """X is the matrix of kernel values with the training samples: (n, n) in fit, (rows, n) in predict."""

    def fit(self, X, sample_weight: np.ndarray) -> Precomputed:
        """Check that the matrix is square and find the columns that are not repetitions."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be square in fit, one row and one column for each training sample; "
                f"got shape {X.shape}. In predict it has one column for each training sample."
            )
        positive = np.flatnonzero(sample_weight > 0)
        self.center_index_ = np.sort(positive[_distinct_columns(np.asarray(host(X))[np.ix_(positive, positive)])])
        self.n_columns_ = len(self.center_index_)
        return self

    def transform(self, X, columns: np.ndarray | None = None):
        """The columns of the distinct training samples."""
        return columns_of(X, self.center_index_ if columns is None else self.center_index_[columns])

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """Names of the columns kept."""
        return inputs[self.center_index_]


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
        self.basis_ = as_basis(self.basis).fit(self._inputs(X), sample_weight)
        self.n_columns_ = self.basis_.n_columns_
        if hasattr(self.basis_, "center_index_"):
            self.center_index_ = self.basis_.center_index_
            self.centers_ = X[self.center_index_]
        return self

    def transform(self, X, columns: np.ndarray | None = None):
        """The columns of the basis, or some of them."""
        return self.basis_.transform(self._inputs(X), columns)

    def names(self, inputs: np.ndarray) -> np.ndarray:
        """As the basis has them."""
        return self.basis_.names(inputs)

    def _inputs(self, X):
        if sparse.issparse(X):
            return type(X)(X.multiply(1 / self.scale_.astype(X.dtype)))
        return (X - self.mean_.astype(X.dtype)) / self.scale_.astype(X.dtype)


HALF_OPEN_WIDTH = 2.0  # gamma of a gated kernel times the inputs' variance; half-open gates make a quarter of it


class GatedKernel(BaseEstimator):
    """Phi_ic = exp(-gamma sum_j gates_j^2 (x_ij - c_cj)^2 / scale_j^2), the centres being the distinct training rows.

    A model that learns the gates sets ``gates_`` (p,); until then they are half open. An input whose gate is 0 has no
    say at all.

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
        self.center_index_ = positive[_distinct_rows(X[positive])]
        self.centers_ = X[self.center_index_]
        self.n_columns_ = len(self.center_index_)
        _refuse_if_too_large(3 * len(X), self.n_columns_, X, "a gated kernel")
        p = X.shape[1]
        units = standard_units(X, sample_weight) if self.standardize else (np.zeros(p), np.ones(p))
        self.mean_: np.ndarray = units[0]
        self.scale_: np.ndarray = units[1]
        variance = _inverse_variance(self.inputs(X), sample_weight)
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
        """The kernel between inputs and centres in its own units, with other gates."""
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


BASES: dict[str, Callable] = {
    "linear": Linear,
    "quadratic": Polynomial,
    "rbf": Kernel,
    "poly": lambda: Kernel("poly"),
    "precomputed": Precomputed,
}


def as_basis(basis):
    """A fresh basis object from a shorthand or from an object, which is left as it is."""
    if isinstance(basis, str):
        choose("basis", basis, BASES)
        return BASES[basis]()
    if not (hasattr(basis, "fit") and hasattr(basis, "transform") and hasattr(basis, "names")):
        raise ValueError(
            f"basis must be one of {', '.join(map(repr, BASES))} or a basis object such as Kernel('rbf', gamma=0.5); "
            f"got {basis!r}."
        )
    return copy(basis)  # its fit sets everything that it found before


def _distinct_rows(X) -> np.ndarray:
    """Positions of the first of each set of equal rows, the rows sorted."""
    if not sparse.issparse(X):
        X = X[:, 0] if X.shape[1] == 1 else np.ascontiguousarray(X)
        return np.unique(X, axis=0, return_index=True)[1]
    rows = sparse.csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    first: dict[tuple, int] = {}
    for i, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        # Compares as the dense rows do: an early negative entry makes a row small, an early positive one large.
        entries = zip(rows.indices[start:end].tolist(), rows.data[start:end].tolist(), strict=True)
        key = (*((0, j, x) if x < 0 else (2, -j, x) for j, x in entries), (1,))
        first.setdefault(key, i)
    return np.array([first[key] for key in sorted(first)], dtype=np.intp)


def _distinct_columns(K: np.ndarray) -> np.ndarray:
    """Positions of one of each set of columns that are equal up to rounding, as those of repeated samples are."""
    K = K.astype(np.float64, copy=False)
    # Equal columns lie side by side when sorted by their products with a fixed vector.
    order = np.argsort(np.cos(np.arange(len(K))) @ K, kind="stable")
    step = np.abs(np.diff(K[:, order], axis=1)).max(axis=0, initial=0.0)
    new = np.concatenate([[True], step > 1e-12 * np.abs(K).max(initial=0.0)])
    groups = np.cumsum(new) - 1
    first = np.full(groups[-1] + 1, len(K))
    np.minimum.at(first, groups, order)
    return first


def _inverse_variance(X, sample_weight: np.ndarray) -> float:
    variance = float(as_design(X).moments(sample_weight).spread.sum()) / sample_weight.sum()
    return 1.0 / variance if variance > np.finfo(float).tiny else 1.0


def _refuse_if_too_large(rows: int, columns: int, X, what: str) -> None:
    needed = rows * columns * getattr(X.dtype, "itemsize", 8)
    memory = room(X) if on_device(X) else None
    if memory is None:
        if not hasattr(os, "sysconf"):
            return
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        raise MemoryError(
            f"{what} would need a matrix of {rows} x {columns} ({needed >> 30} GiB), more than this machine's "
            f"{memory >> 30} GiB; use fewer samples, fewer inputs, or basis='linear'."
        )
