"""Draws of N(Q^-1 r, Q^-1), Q = A^T diag(omega) A + diag(precision), r = A^T kappa, for three shapes of A.

A draw is not independent of the present weights w but lies on the other side of the mean (Adler 1981's overrelaxation):
mean - OVER (w - mean) + sqrt(1 - OVER^2) N(0, Q^-1), which leaves the distribution as it is. Gibbs draws given the
scales of the prior follow the weights that these scales were drawn from, and moving to the other side makes up for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse.linalg import LinearOperator, cg

LARGE = 4000  # rows and columns from which on conjugate gradients take over
ACCURACY = 1e-6  # of conjugate gradients, relative to the random part of the right-hand side
ROUNDING = 1e-14  # relative to the whole of it
# At 0.4 the effective sample sizes of means and of tails both grow; at 0.7 those of means grow further, of tails fall.
OVER = 0.4
FRESH = float(np.sqrt(1 - OVER**2))


def by_cholesky(rng: np.random.Generator, Q: np.ndarray, r: np.ndarray, w: np.ndarray) -> np.ndarray:
    """A draw of N(Q^-1 r, Q^-1) by the Cholesky factor of Q, whose upper half is read."""
    U, info = dpotrf(Q, lower=0, clean=0)
    if info:  # rounding: a precision of 1e18 beside one of 1e-12
        U, info = dpotrf(Q + np.diag(1e-10 * np.diag(Q)), lower=0, clean=0)
    half = (1 + OVER) * dtrtrs(U, r, lower=0, trans=1)[0]
    return dtrtrs(U, half + FRESH * rng.standard_normal(len(r)), lower=0)[0] - OVER * w


def by_columns(rng, A: np.ndarray, omega: np.ndarray, kappa: np.ndarray, precision: np.ndarray, w: np.ndarray):
    """Few columns: O(n d^2)."""
    Q = dsyrk(1.0, (A * np.sqrt(omega)[:, None]).T, lower=0)
    Q.flat[:: len(Q) + 1] += precision
    return by_cholesky(rng, Q, kappa @ A, w)


def by_rows(rng, A: np.ndarray, omega: np.ndarray, kappa: np.ndarray, precision: np.ndarray, w: np.ndarray):
    """More columns than rows: O(n^2 d) (Bhattacharya, Chakraborty & Mallick 2016); every precision is positive."""
    root, deviation = np.sqrt(omega), 1 / np.sqrt(precision)
    B = A * deviation  # (n, d)
    u = FRESH * rng.standard_normal(len(precision))
    v = root * (B @ u) + FRESH * rng.standard_normal(len(omega))
    M = dsyrk(1.0, B, lower=0) * np.outer(root, root)
    M.flat[:: len(M) + 1] += 1.0
    x = dpotrs(dpotrf(M, lower=0, clean=0)[0], (1 + OVER) * kappa / root - v, lower=0)[0]
    return deviation * (u + (root * x) @ B) - OVER * w


def by_products(rng, A: Any, omega: np.ndarray, kappa: np.ndarray, precision: np.ndarray, w: np.ndarray):
    """Many rows and columns: conjugate gradients on products with A (Nishimura & Suchard 2022)."""
    d = len(precision)
    noise = A.T @ (np.sqrt(omega) * rng.standard_normal(len(omega))) + np.sqrt(precision) * rng.standard_normal(d)
    right = (1 + OVER) * (A.T @ kappa) + FRESH * noise
    # Scaled by the root of a diagonal preconditioner, since precisions differ by many orders of magnitude.
    mass = omega.sum()
    root = 1 / np.sqrt(precision + np.where(precision < mass, mass, 0.0))
    Q = LinearOperator((d, d), lambda v: root * (A.T @ (omega * (A @ (root * v))) + precision * root * v))
    # Draws may differ by little, relative to their mean: a tolerance relative to the mean would keep them at the start.
    enough = max(ACCURACY * np.linalg.norm(root * noise), ROUNDING * np.linalg.norm(root * right))
    start = (1 + OVER) * w / root
    found, _ = cg(Q, root * right, x0=start, rtol=0.0, atol=enough, maxiter=10 * d + 100)
    return root * found - OVER * w


def normal_draw(rng, A: Any, omega: np.ndarray, kappa: np.ndarray, precision: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The cheapest of the three."""
    n, d = A.shape
    if not isinstance(A, np.ndarray) or min(n, d) > LARGE:
        return by_products(rng, A, omega, kappa, precision, w)
    if d <= n or not precision.all():
        return by_columns(rng, A, omega, kappa, precision, w)
    return by_rows(rng, A, omega, kappa, precision, w)
