"""Complex data as real ones: [[Re, -Im], [Im, Re]], in which a complex weight is a pair of real ones.

Circular complex weights x ~ CN(0, gamma) and noise CN(0, noise) are real ones of half the variances, the two parts of a
weight with one variance; densities, and so the evidence, are the same numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .._sklearn import check_sample_weight
from ..design import host, is_operator
from ..design.operator import EmbeddedOperator, checked_operator
from ..objective.weighted_columns import Taken
from .base import Given


class Complex(NamedTuple):
    """Complex data as real ones, and the weighted means that were taken out of them, 0 without an intercept."""

    given: Given
    center: np.ndarray  # (p,), of the columns
    mean: np.ndarray  # (k,), of the targets

    @property
    def taken(self) -> Taken:
        """The same for the real columns, of which each complex one is a pair."""
        return Taken(np.tile(np.abs(self.center), 2), np.abs(self.mean), 2)


def embedded(given: Given, intercept: bool) -> Complex:
    """Real columns and targets of twice the rows, centred where there is an intercept."""
    X, y = complex_inputs(given.X), _targets(given.y, given.offset)
    n = X.shape[0]
    if len(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}.")
    s = check_sample_weight(given.sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
    part = s / s.sum() if intercept and s.sum() > 0 else np.zeros(n)
    mean, two = part @ y.reshape(n, -1), np.concatenate([s, s])
    if is_operator(X):
        center = X.rmatvec(part.astype(complex)).conj()
        real: Any = EmbeddedOperator(X, center)
    else:
        center = part @ X
        real = _matrix(X - center)
    Y = y - (mean[0] if y.ndim == 1 else mean)
    return Complex(Given(real, np.concatenate([Y.real, Y.imag]), two), center, mean)


def complex_inputs(X) -> Any:
    """X as an operator, or as a finite matrix of complex numbers."""
    if is_operator(X):
        return checked_operator(X)
    if issparse(X):
        raise ValueError(
            "With complex=True X must be a dense array or a LinearOperator; scipy.sparse.linalg has aslinearoperator."
        )
    X = np.asarray(host(X), dtype=np.complex128)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"Expected 2D array with at least one sample and one feature, got shape {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError("Input X contains NaN or infinity.")
    return X


def _targets(y, offset) -> np.ndarray:
    y = np.asarray(host(y), dtype=np.complex128)
    if y.ndim not in (1, 2):
        raise ValueError(f"y must be a vector or have a column for each target; got shape {y.shape}.")
    if offset is not None:
        y = y - np.asarray(host(offset), dtype=np.complex128).reshape(y.shape)
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    return y


def _matrix(X: np.ndarray) -> np.ndarray:
    return np.block([[X.real, -X.imag], [X.imag, X.real]])


def complex_weights(W: np.ndarray) -> np.ndarray:
    """From real ones, the imaginary parts below: (2 p, k) to (p, k)."""
    p = len(W) // 2
    return W[:p] + 1j * W[p:]


def complex_covariance(covariance: np.ndarray) -> np.ndarray:
    """E (x - mu)(x - mu)^H of circular weights, from that of their parts, the imaginary ones below: (2 r, 2 r)."""
    r = len(covariance) // 2
    return 2 * (covariance[:r, :r] + 1j * covariance[r:, :r])
