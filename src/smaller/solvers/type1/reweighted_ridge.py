"""The one iteration of priors that are mixtures of normals: ridge regressions with the variances of the last weights.

A weight w has the variance ``gamma = 1 / h'(w^2)`` under its prior; the next weights are those of the ridge regression
with these variances, ``w = Gamma Phi^T (noise I + Phi Gamma Phi^T)^-1 y``. The objective falls with every step (EM for
Figueiredo 2003, the bound of Wipf & Wu 2012).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from ...objective.evidence import RIDGES


class Columns(Protocol):
    """Columns Phi and targets y of a ridge regression, by the products that it needs."""

    @property
    def targets(self) -> np.ndarray:
        """y, (n, k)."""

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Phi^T Phi and Phi^T y of some columns, (r, r) and (r, k)."""

    def outer(self, rows: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Phi Gamma Phi^T of some columns, (n, n)."""

    def pull(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Phi^T V of some columns, (r, k)."""


class Run(Protocol):
    """A fit under way."""

    def is_done(self, tol: float) -> bool:
        """Whether the weights are stationary."""

    def step(self) -> None:
        """The next ridge regression, and whatever speeds it up."""

    def is_stalled(self) -> bool:
        """Whether no further step is expected to help."""


def reweight(run: Run, tol: float, max_iter: int) -> int:
    """Steps until the weights are stationary or nothing more is gained; how many."""
    for n_steps in range(max_iter):
        if run.is_done(tol):
            return n_steps
        run.step()
        if run.is_stalled():
            return n_steps + 1
    return max_iter


def ridge(columns: Columns, rows: np.ndarray, gamma: np.ndarray, noise: float) -> np.ndarray:
    """Weights of some columns with these variances, (r, k), by the smaller of the two systems."""
    if len(rows) <= len(columns.targets):
        root = np.sqrt(gamma)[:, None]
        G, C = columns.products(rows)
        H = root * G * root.T
        H.flat[:: len(H) + 1] += noise
        return root * solve(H, root * C)
    S = columns.outer(rows, gamma)
    S.flat[:: len(S) + 1] += noise
    return gamma[:, None] * columns.pull(rows, solve(S, columns.targets))


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B of a positive definite matrix, by Cholesky; by least squares where rounding leaves it indefinite."""
    if not len(A):
        return B
    for added in RIDGES:
        try:
            return cho_solve(cho_factor(A + added * np.diag(A.diagonal()) if added else A, check_finite=False), B)
        except LinAlgError:
            continue
    return lstsq(A, B)[0]
