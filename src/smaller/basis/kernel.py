"""Kernels between the inputs and centres: computed, or given as a matrix."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import (
    euclidean_distances,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from .. import _core
from ..design import as_design, follow, host, on_device
from ..design.tensors import columns_of, kernel_values, room, rows_of
from ..errors import choose
from .centers import checked_centers, chosen_rows, distinct_rows


def _linear(X, centers, gamma, degree, coef0):
    return _in_double(linear_kernel, X, centers)


def _poly(X, centers, gamma, degree, coef0):
    return _in_double(
        lambda rows, others: polynomial_kernel(rows, others, degree=degree, gamma=gamma, coef0=coef0), X, centers
    )


ROWS_AT_ONCE = 1024  # of inputs in single precision, whose products are summed in double precision


def _in_double(kernel, X, centers):
    """Values of a kernel summed in double precision, rounded to X's.

    Sums in single precision depend on how many centres there are: a prediction, which asks for those of the support
    alone, would see other columns than the fit.
    """
    if X.dtype == np.float64:
        return kernel(X, centers)
    K = np.empty((X.shape[0], centers.shape[0]), dtype=X.dtype)
    wide = centers.astype(np.float64)
    with np.errstate(over="ignore"):  # an infinite value is refused where the columns are checked
        for first in range(0, len(K), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            K[rows] = kernel(X[rows].astype(np.float64), wide)
    return K


FEW_INPUTS = 16  # up to this many, squared differences are summed directly; with more, a product is faster


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


def _laplacian(X, centers, gamma, degree, coef0):
    return laplacian_kernel(X, centers, gamma=gamma).astype(X.dtype, copy=False)


KERNELS: dict[str, Callable] = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "linear": _linear,
    "poly": _poly,
}


class Kernel(BaseEstimator):
    """Phi_ij = K(x_i, c_j), the centres c_j being the distinct training rows, or some of them.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "linear", "poly"} or callable
        exp(-gamma |x - c|^2), exp(-gamma sum_j |x_j - c_j|), x.c, (gamma x.c + coef0)^degree, or a function of two
        matrices that returns the matrix of their kernel values. It need not be positive definite.
    gamma : "scale" or float
        "scale" is 1 / (sum of the variances of the inputs), for "laplacian" 1 / (sum of their standard deviations):
        1 / p for standardised inputs.
    degree, coef0 : float
        Of the polynomial kernel.
    centers : None, "auto", int or matrix
        The candidates for centres. None is all distinct rows of positive weight; an integer, so many of these, and
        "auto" 2500, where there are more. They are spread over all: the row farthest from the mean, and then each time
        the row farthest from those before it, so that neither the order of the rows nor their weights matter. A
        matrix with one column for each input contains the centres themselves.

    Attributes
    ----------
    centers_ : ndarray or sparse array
        The centres, sorted by value.
    center_index_ : ndarray
        Their positions among the training rows, or in the matrix given.
    n_distinct_ : int
        The number of distinct rows that the centres were chosen from.
    gamma_ : float
    """

    def __init__(self, kernel="rbf", gamma="scale", degree=3, coef0=1.0, centers=None):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.centers = centers

    def fit(self, X, sample_weight: np.ndarray) -> Kernel:
        """Find the centres and the width."""
        # Centres are sorted by value, so that their order does not depend on the order of the rows.
        centers = self._checked(X)
        if centers is None or isinstance(centers, str | int):
            self.n_distinct_, self.center_index_ = chosen_rows(X, np.flatnonzero(sample_weight > 0), centers)
            self.centers_ = rows_of(X, self.center_index_)
        else:
            self._take(centers)
        return self._measured(lambda: spreads(X, sample_weight))

    def _fit_elsewhere(self, like, measure: Callable[[], tuple[np.ndarray, float]]) -> Kernel:
        """Fit to rows that lie elsewhere: `like` is a matrix of their kind without rows; the centres must be given.

        `measure` has what :func:`spreads` has, and is called only where the width is found from the data.
        """
        centers = self._checked(like)
        if centers is None or isinstance(centers, str | int):
            raise ValueError(
                "A Kernel basis on a Dask collection needs its centres as a matrix, since choosing them takes all rows "
                "in one place: Kernel(centers=<matrix>), such as Kernel(centers=500).fit(rows, weights).centers_ of a "
                f"sample of rows in memory; got centers={self.centers!r}."
            )
        self._take(centers)
        return self._measured(measure)

    def _checked(self, X) -> Any:
        """The parameter `centers`, checked with the other parameters."""
        if not callable(self.kernel):
            choose("Kernel: kernel", self.kernel, KERNELS)
        if self.gamma != "scale" and not (isinstance(self.gamma, Real) and 0 < float(self.gamma) < math.inf):
            raise ValueError(f"Kernel: gamma must be 'scale' or a positive number; got {self.gamma!r}.")
        return checked_centers(self.centers, X)

    def _take(self, centers) -> None:
        """The centres given, of equal ones the first."""
        self.center_index_ = distinct_rows(centers)
        self.n_distinct_ = len(self.center_index_)
        self.centers_ = centers[self.center_index_]

    def _measured(self, measure: Callable[[], tuple[np.ndarray, float]]) -> Kernel:
        """Find the width from the spreads of the inputs."""
        scale = _inverse_deviation if self.kernel == "laplacian" else _inverse_variance
        self.gamma_ = scale(*measure()) if self.gamma == "scale" else float(self.gamma)
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
        """Check that the matrix is square, and find the distinct columns."""
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


def _distinct_columns(K: np.ndarray) -> np.ndarray:
    """Position of the first of each set of columns that are equal up to rounding: those of repeated samples."""
    K = K.astype(np.float64, copy=False)
    # Equal columns are adjacent when sorted by their products with a fixed vector.
    order = np.argsort(np.cos(np.arange(len(K))) @ K, kind="stable")
    step = np.abs(np.diff(K[:, order], axis=1)).max(axis=0, initial=0.0)
    new = np.concatenate([[True], step > 1e-12 * np.abs(K).max(initial=0.0)])
    groups = np.cumsum(new) - 1
    first = np.full(groups[-1] + 1, len(K))
    np.minimum.at(first, groups, order)
    return first


def spreads(X, sample_weight: np.ndarray) -> tuple[np.ndarray, float]:
    """sum s (x - mean)^2 of each input, and sum s."""
    return as_design(X).moments(sample_weight).spread, sample_weight.sum()


def _inverse_variance(spread: np.ndarray, total: float) -> float:
    variance = float(spread.sum()) / total
    return 1.0 / variance if variance > np.finfo(float).tiny else 1.0


def _inverse_deviation(spread: np.ndarray, total: float) -> float:
    variances = np.asarray(spread) / total
    deviation = float(np.sqrt(np.maximum(variances, 0.0)).sum())
    return 1.0 / deviation if deviation > np.finfo(float).tiny else 1.0


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
