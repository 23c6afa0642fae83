"""The objective of kernels that scale their inputs: weights and scalings together (Krishnapuram et al. 2004).

The kernel sees the inputs through ``D_ij = sum_k theta_k d_k(x_i, c_j)``, theta >= 0: squared differences for the
radial kernel ``exp(-D)``, products for the linear one, ``D``, and the polynomial one, ``(coef0 + D)^degree``. An input
with ``theta_k = 0`` is not seen at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from ..basis import Kernel
from ..design import as_design
from ..likelihoods import Probit
from ..priors import laplace_mixture
from .mixture import MixturePosterior, Survivors

BLOCK_BYTES = 2**24


def _radial(X, C, kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
    D = _row_sums(X * X)[:, None] + _row_sums(C * C) - 2 * _products(X, C)
    K = np.exp(-np.maximum(D, 0.0))
    return K, -K


def _linear(X, C, kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
    D = _products(X, C)
    return D, np.ones_like(D)


def _polynomial(X, C, kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
    D = kernel.coef0 + _products(X, C)
    return D**kernel.degree, kernel.degree * D ** (kernel.degree - 1)


# K and dK/dD, from inputs and centres that are multiplied by the roots of the scalings.
KERNELS: dict[str, Callable] = {"rbf": _radial, "linear": _linear, "poly": _polynomial}


def scaled_kernel(kernel: Kernel, X, centers, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kernel values between X and the centres, (n, m), and their derivatives in D; only scaled inputs are touched."""
    kept = np.flatnonzero(theta)
    root = np.sqrt(theta[kept])
    return KERNELS[kernel.kernel](times(X[:, kept], root), times(centers[:, kept], root), kernel)


def times(X, factor: np.ndarray):
    """X with its columns multiplied, in double precision."""
    return sparse.csr_array(X) @ sparse.diags_array(factor) if sparse.issparse(X) else X * factor


def _products(X, C) -> np.ndarray:
    D = X @ C.T
    return D.toarray() if sparse.issparse(D) else D


def _row_sums(X) -> np.ndarray:
    return np.asarray(X.sum(axis=1)).ravel()


class ScaledPoint(NamedTuple):
    """The objective at some weights and scalings."""

    theta: np.ndarray  # scalings, (p,)
    weights: Survivors  # the posterior of the weights at these scalings
    idle: np.ndarray  # gradient of the loss in the weights of all columns, centred, (d,)
    value: float
    violation: float  # the largest of the conditions' relative residuals


class Slopes(NamedTuple):
    """The loss with its gradients: in the weights of some columns, in the intercept, in the scalings."""

    loss: float
    w: np.ndarray
    b: float
    theta: np.ndarray


class ScaledPosterior:
    """Negative log posterior of weights and scalings of one probit classifier, both with Laplace priors.

    - sum_i s_i log Phi(t_i F_i) + lam sum_j |w_j| + lam_theta sum_k theta_k, F = K_theta w + b + offset, theta >= 0.

    Parameters
    ----------
    kernel : Kernel
        "rbf", "linear" or "poly"; its width does not count.
    X, centers : ndarray or sparse array of shape (n, p) and (d, p)
    y : ndarray of shape (n,)
        Whether a sample is of the class.
    lam, lam_theta : float
        Strengths of the priors.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        centers: Any,
        y: np.ndarray,
        sample_weight: np.ndarray,
        offset: np.ndarray | None,
        lam: float,
        lam_theta: float,
        intercept: bool = True,
    ):
        self.kernel, self.lam, self.lam_theta = kernel, lam, lam_theta
        self.y, self.s, self.offset, self.intercept = y, sample_weight, offset, intercept
        # A dense copy that is small, or no larger than the matrix of kernel values, saves much time.
        if sparse.issparse(X) and (X.shape[1] <= centers.shape[0] or 8 * X.shape[0] * X.shape[1] <= BLOCK_BYTES):
            X, centers = X.toarray(), centers.toarray()
        self.X, self.centers = X.astype(np.float64), centers.astype(np.float64)
        self.squares = None
        if kernel.kernel == "rbf":
            if not sparse.issparse(X):  # centred, so that squares of differences lose no digits
                center = self.X.mean(axis=0)
                self.X, self.centers = self.X - center, self.centers - center
            self.squares = self.X**2, self.centers**2

    def pose(self, theta: np.ndarray) -> MixturePosterior:
        """The posterior of the weights alone, at these scalings."""
        design = as_design(scaled_kernel(self.kernel, self.X, self.centers, theta)[0], self.intercept)
        return MixturePosterior(design, self.y, Probit(), laplace_mixture(self.lam), self.s, self.offset)

    def slopes(self, theta: np.ndarray, rows: np.ndarray, w: np.ndarray, b: float) -> Slopes:
        """The loss at weights of some columns, and its gradients."""
        K, derivative = scaled_kernel(self.kernel, self.X, self.centers[rows], theta)
        F = K @ w + b + (0.0 if self.offset is None else self.offset)
        likelihood, Y = Probit(), self.y[:, None]
        _, U, loss = likelihood.fit(F[:, None], Y, self.s)
        R = self.s * U[:, 0]
        M = R[:, None] * derivative * w
        return Slopes(loss, K.T @ R, float(R.sum()) * self.intercept, self._contract(M, rows))

    def _contract(self, M: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """sum_ij M_ij d_k(x_i, c_j) for every input k, a block of inputs at a time."""
        n, p = self.X.shape
        C, total = self.centers[rows], np.zeros(p)
        for part in gen_batches(p, max(1, BLOCK_BYTES // (8 * n))):
            X, MC = self.X[:, part], M @ C[:, part]
            total[part] = X.multiply(MC).sum(axis=0) if sparse.issparse(X) else np.einsum("ik,ik->k", X, MC)
        if self.squares is None:
            return total
        X2, C2 = self.squares
        return M.sum(axis=1) @ X2 + M.sum(axis=0) @ C2[rows] - 2 * total

    def at(self, theta: np.ndarray, rows: np.ndarray, w: np.ndarray, b: float) -> ScaledPoint:
        """Value, gradients and violation, from one pass over the kernel matrix; rows are the weights that are not 0."""
        mixed = self.pose(theta)
        point = mixed.at(rows, w, b)
        centred = self.s * (point.residual + point.tilt / mixed.total)
        idle = np.where(mixed.norm > 0, mixed.design.pull(centred[:, None])[: mixed.design.d, 0], 0.0)
        still = np.abs(np.delete(idle, rows)).max(initial=0.0) / self.lam - 1.0
        balance = self.slopes(theta, rows, w, b).theta / self.lam_theta + 1.0
        missed = np.where(theta > 0, np.abs(balance), -balance).max(initial=0.0)
        value = point.value + self.lam_theta * float(theta.sum())
        return ScaledPoint(theta, point, idle, value, max(point.violation, still, float(missed)))
