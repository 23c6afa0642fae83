"""Simulated inverse problems: dictionaries of three kinds, leadfields, and undersampled cosines."""

from typing import NamedTuple

import numpy as np
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator

KINDS = ("independent", "correlated", "smooth")
RHO = 0.9  # correlation of neighbours in the second kind


class Drawn(NamedTuple):
    """A problem Y = Phi X + noise of a known variance."""

    Phi: np.ndarray
    Y: np.ndarray
    X: np.ndarray
    noise: float


def dictionary(kind: str, n: int, p: int, rng) -> np.ndarray:
    """Columns of length 1: independent normal numbers, correlated with their neighbours, or smooth bumps."""
    if kind == "smooth":
        at, center, width = np.linspace(0, 1, n)[:, None], 1.1 * rng.random(p) - 0.05, 0.03 + 0.05 * rng.random(p)
        Phi = 1 / (1 + ((at - center) / width) ** 2)
    else:
        Phi = rng.standard_normal((n, p))
        for j in range(1, p if kind == "correlated" else 0):
            Phi[:, j] = RHO * Phi[:, j - 1] + np.sqrt(1 - RHO**2) * Phi[:, j]
    return Phi / np.linalg.norm(Phi, axis=0)


def drawn(kind: str, decibels: float, seed: int, n: int = 50, p: int = 200, k: int = 5, targets: int = 1) -> Drawn:
    """k rows of weights, of size 1 to 2 and random sign, or for several targets normal; noise at a signal-to-noise."""
    rng = np.random.default_rng([25, seed, n, p, k, targets, KINDS.index(kind)])
    Phi, X = dictionary(kind, n, p, rng), np.zeros((p, targets))
    signs = rng.choice([-1.0, 1.0], (k, 1)) * (1 + rng.random((k, 1)))
    X[rng.choice(p, k, replace=False)] = rng.standard_normal((k, targets)) if targets > 1 else signs
    clean = Phi @ X
    noise = float((clean**2).mean()) / 10 ** (decibels / 10)
    return Drawn(Phi, clean + np.sqrt(noise) * rng.standard_normal(clean.shape), X, noise)


def leadfield(seed: int, decibels: float, places: int = 500, sensors: int = 60, times: int = 20) -> Drawn:
    """Dipoles in a ball of homogeneous tissue, three directions to a place; four places active."""
    rng = np.random.default_rng([25, seed, 7])
    at = rng.standard_normal((places, 3))
    at *= (0.85 * rng.random(places) ** (1 / 3) / np.linalg.norm(at, axis=1))[:, None]
    seen = rng.standard_normal((sensors, 3))
    seen /= np.linalg.norm(seen, axis=1)[:, None]
    apart = seen[:, None] - at[None]
    G = (apart / np.linalg.norm(apart, axis=2, keepdims=True) ** 3).reshape(sensors, 3 * places)
    G -= G.mean(axis=0)
    G /= np.linalg.norm(G, axis=0).mean()
    X = np.zeros((places, 3, times))
    waves = np.sin(np.linspace(0, 6, times) * (1 + 0.7 * np.arange(4)[:, None]))
    X[rng.choice(places, 4, replace=False)] = rng.standard_normal((4, 3, 1)) * waves[:, None]
    clean = G @ X.reshape(3 * places, times)
    noise = float((clean**2).mean()) / 10 ** (decibels / 10)
    return Drawn(G, clean + np.sqrt(noise) * rng.standard_normal(clean.shape), X.reshape(3 * places, times), noise)


def cosines(rows: np.ndarray, p: int) -> LinearOperator:
    """Some rows of the inverse discrete cosine transform, as products."""

    def forward(v):
        return idct(v, norm="ortho", axis=0)[rows]

    def adjoint(u):
        full = np.zeros((p, *u.shape[1:]))
        full[rows] = u
        return dct(full, norm="ortho", axis=0)

    products = {"matvec": forward, "rmatvec": adjoint, "matmat": forward, "rmatmat": adjoint}
    return LinearOperator((len(rows), p), dtype=float, **products)


def undersampled(seed: int, p: int, n: int, k: int, noise: float) -> tuple[LinearOperator, np.ndarray, np.ndarray]:
    """n of p cosine coefficients of a vector with k normal non-zeros: the operator, y and the vector."""
    rng = np.random.default_rng([25, seed, p])
    Phi = cosines(np.sort(rng.choice(p, n, replace=False)), p)
    x = np.zeros(p)
    x[rng.choice(p, k, replace=False)] = rng.standard_normal(k)
    return Phi, Phi.matvec(x) + np.sqrt(noise) * rng.standard_normal(n), x


def log_evidence(Phi: np.ndarray, Y: np.ndarray, gamma: np.ndarray, noise: float) -> float:
    """log p(Y) at variances gamma of the weights, by the covariance of Y itself."""
    Y = Y.reshape(len(Y), -1)
    S = noise * np.eye(len(Phi)) + (Phi * gamma) @ Phi.T
    quadratic = float((Y * np.linalg.solve(S, Y)).sum())
    return -0.5 * (Y.shape[1] * (np.linalg.slogdet(S)[1] + len(Y) * np.log(2 * np.pi)) + quadratic)
