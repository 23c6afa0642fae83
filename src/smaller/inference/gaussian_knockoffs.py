"""Gaussian knockoffs: copies of the columns that know the law of X and nothing of y."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigvalsh
from scipy.linalg.blas import dger
from sklearn.covariance import ledoit_wolf

from ..errors import choose

SWEEPS, MOVED = 100, 1e-9  # of the coordinates, and the step below which they have settled
SINGULAR = 1e-10  # smallest eigenvalue of a correlation matrix that has an inverse


def equicorrelated(C: np.ndarray) -> np.ndarray:
    """s = min(1, 2 lambda_min(C)), the same for every column."""
    return np.full(len(C), min(1.0, 2 * float(eigvalsh(C, subset_by_index=[0, 0])[0])))


def minimum_variance(C: np.ndarray) -> np.ndarray:
    """The s that minimises ``tr (2C - S)^-1 + sum_j 1 / s_j``, S = diag(s) (Spector & Janson 2022, MVR).

    Exact coordinate steps: with ``A = (2C - S)^-1``, ``c = A_jj`` and ``d = |A_j|_2`` ::

        delta = (1 - d s_j) / (d + c),     s_j += delta,     A += A_j A_j^T delta / (1 - delta c).

    The problem is convex, and every step stays feasible.
    """
    s = np.full(len(C), min(1.0, float(eigvalsh(C, subset_by_index=[0, 0])[0])))
    for _ in range(SWEEPS):
        A = np.asfortranarray(np.linalg.inv(2 * C - np.diag(s)))
        moved = 0.0
        for j in range(len(s)):
            a = A[:, j].copy()
            size = np.sqrt(a @ a)
            delta = (1 - size * s[j]) / (size + a[j])
            A = dger(delta / (1 - delta * a[j]), a, a, a=A, overwrite_a=True)
            s[j] += delta
            moved = max(moved, abs(delta))
        if moved < MOVED:
            break
    return s


CONSTRUCTIONS = {"mvr": minimum_variance, "equicorrelated": equicorrelated}


class GaussianKnockoffs:
    """Draws knockoffs of rows X ~ N(mean, covariance) (Candes et al. 2018).

    ``Xk = X - (X - mean) Sigma^-1 S + E``, ``E ~ N(0, 2S - S Sigma^-1 S)``, S = diag(s_j Sigma_jj), row by row.
    """

    def __init__(self, mean: np.ndarray, covariance: np.ndarray, construction: str):
        choose("construction", construction, CONSTRUCTIONS)
        self.mean, self.scale = mean, np.sqrt(np.diag(covariance))
        C = covariance / np.outer(self.scale, self.scale)
        smallest = float(eigvalsh(C, subset_by_index=[0, 0])[0])
        if not smallest > SINGULAR:
            raise ValueError(
                f"covariance must be positive definite, but the smallest eigenvalue of its correlations is "
                f"{smallest:.1e}; add to its diagonal, or leave out columns that are sums of others."
            )
        self.s = CONSTRUCTIONS[construction](C)
        self.pull = cho_solve(cho_factor(C), np.diag(self.s))
        values, vectors = np.linalg.eigh(2 * np.diag(self.s) - self.s[:, None] * self.pull)
        # The symmetric root: equal eigenvalues, whose vectors are arbitrary, leave no trace in the draws.
        self.root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        Z = (X - self.mean) / self.scale
        copies = Z - Z @ self.pull + rng.standard_normal(X.shape) @ self.root
        return self.mean + copies * self.scale


def estimated_law(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and a covariance that has an inverse even for p > n: Ledoit & Wolf's (2004), on standardised columns."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    C, _ = ledoit_wolf((X - mean) / scale, assume_centered=True)
    return mean, C * np.outer(scale, scale)
