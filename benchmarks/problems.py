"""Seeded synthetic problems, float64, no intercept; each with its own number of classes and, as NAME_bin, with two."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import scipy.sparse as sp

RATIOS = (0.1, 0.01)  # lam / lam_max

# The best objectives known before any run, at each of RATIOS. A run may only lower them.
KNOWN = {
    "dense": (1968.048592861, 1131.647265813),
    "wide": (49.129999384, 8.735260015),
    "sparse": (6805.253097125, 1267.158306128),
    "dense_bin": (938.433298711, 664.590376612),
    "wide_bin": (26.430248797, 4.554413715),
    "sparse_bin": (2001.123717960, 391.432606277),
}


@dataclass
class Problem:
    """Minimise  sum_i [logsumexp_k F_ik - F_{i, y_i}] + lam ||W||_1,  F = X W  (two classes: F = [0, X w])."""

    name: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray
    n_classes: int
    Y: np.ndarray = field(init=False, repr=False)
    lam_max: float = field(init=False)

    def __post_init__(self):
        self.Y = np.eye(self.n_classes)[self.y]
        self.lam_max = float(np.abs(self.X.T @ (self.Y - 1 / self.n_classes)).max())

    @property
    def binary(self):
        return self.n_classes == 2

    @property
    def sparse(self):
        return sp.issparse(self.X)


def dense(rng):
    """2000 x 200, neighbours correlated 0.5; 5 classes, 20 features matter."""
    noise = rng.standard_normal((2000, 200))
    X = noise.copy()
    for j in range(1, X.shape[1]):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * noise[:, j]
    return X, 5, 20, 1.0


def wide(rng):
    """100 x 7000, like gene expression: 30 hidden factors and noise, standardised; 3 classes, 30 features matter."""
    factors = rng.standard_normal((100, 30))
    loadings = rng.standard_normal((30, 7000)) / np.sqrt(30)
    X = 0.7 * factors @ loadings + 0.7 * rng.standard_normal((100, 7000))
    return (X - X.mean(axis=0)) / X.std(axis=0), 3, 30, 1.0


def sparse(rng):
    """5000 x 20 000, 0.5 % non-zero and positive, like text; 8 classes, 2000 features matter."""
    return sparse_design(), 8, 2000, 2.0


@cache
def sparse_design():
    """Ten seconds to draw, and the same for both numbers of classes."""
    return sp.random(
        5000,
        20_000,
        density=0.005,
        format="csr",
        random_state=np.random.RandomState(13),
        data_rvs=lambda size: np.abs(np.random.RandomState(14).standard_normal(size)),
    )


DESIGNS = {"dense": (dense, 11), "wide": (wide, 12), "sparse": (sparse, 13)}  # maker, seed
NAMES = tuple(KNOWN)


def generate(name):
    """The problem of that name: a design, a sparse true W, labels drawn from its softmax."""
    make, seed = DESIGNS[name.removesuffix("_bin")]
    rng = np.random.default_rng(seed)
    X, n_classes, n_active, scale = make(rng)
    if name.endswith("_bin"):
        n_classes = 2
    active = rng.choice(X.shape[1], n_active, replace=False)
    W = np.zeros((X.shape[1], n_classes))
    W[active] = scale * rng.standard_normal((n_active, n_classes)) * (rng.random((n_active, n_classes)) < 0.6)
    return Problem(name, X, draw_labels(np.asarray(X @ W), rng), n_classes)


def draw_labels(F, rng):
    """One class per row, with probabilities softmax(F)."""
    P = np.exp(F - F.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1).astype(np.int64)
