"""Artificial data of the papers, with known weights; every draw is reproducible from its seed."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

__all__ = ["make_gaussians", "make_sinc", "make_sparse_linear", "make_tibshirani"]


def make_sinc(n_samples: int = 100, *, noise: float = 0.1, random_state=None) -> Bunch:
    """sin(x) / x on [-10, 10] with normal noise: the standard example of kernel regression (Tipping 2000).

    Parameters
    ----------
    n_samples : int, default=100
        Equally spaced points.
    noise : float, default=0.1
        Standard deviation.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        ``data`` of shape (n_samples, 1), ``target``, and ``truth``, the target without noise.

    Examples
    --------
    >>> from smaller.synthetic import make_sinc
    >>> make_sinc(5, noise=0.0).target.round(2).tolist()
    [-0.05, -0.19, 1.0, -0.19, -0.05]
    """
    rng = check_random_state(random_state)
    x = np.linspace(-10.0, 10.0, n_samples)
    truth = np.sinc(x / np.pi)
    return Bunch(data=x[:, None], target=truth + noise * rng.standard_normal(n_samples), truth=truth)


def make_gaussians(n_samples: int = 200, n_features: int = 2, *, distance: float = 2.0, random_state=None) -> Bunch:
    """Two classes with identity covariance and means +-(1, 1, 0, ..., 0) distance / sqrt(8): only two inputs matter.

    The best possible error is Phi(-distance / 2), 15.87 % for a distance of 2, for every number of inputs (Figueiredo
    2003, section 4.2; Lapedriza et al. 2008, section 4.2).

    Parameters
    ----------
    n_samples : int, default=200
        Half of them of each class.
    n_features : int, default=2
    distance : float, default=2.0
        Between the means.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        ``data`` and ``target`` (0 and 1).

    Examples
    --------
    >>> from smaller.synthetic import make_gaussians
    >>> make_gaussians(6, 3, random_state=0).target.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2, the two that matter; got {n_features}.")
    rng = check_random_state(random_state)
    target = (np.arange(n_samples) >= n_samples // 2).astype(np.int64)
    mean = np.zeros(n_features)
    mean[:2] = distance / np.sqrt(8.0)
    return Bunch(data=rng.standard_normal((n_samples, n_features)) + np.outer(2 * target - 1, mean), target=target)


# Of Tibshirani (1996), section 7: weights, standard deviation of the noise, samples; the columns' correlation is
# 0.5^|i - j|, in the last one 0.5 throughout.
DESIGNS: dict[int, tuple[np.ndarray, float, int]] = {
    1: (np.array([3, 1.5, 0, 0, 2, 0, 0, 0]), 3.0, 20),
    2: (np.full(8, 0.85), 3.0, 20),
    3: (np.array([5.0, 0, 0, 0, 0, 0, 0, 0]), 2.0, 20),
    4: (np.repeat([0.0, 2.0, 0.0, 2.0], 10), 15.0, 100),
}


def make_tibshirani(design: int = 1, *, random_state=None) -> Bunch:
    """One draw of a linear model of Tibshirani (1996), section 7: few weights, many small ones, one, or groups.

    Parameters
    ----------
    design : {1, 2, 3, 4}, default=1
        Which of the four examples.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        ``data``, ``target``, ``coef`` (the true weights) and ``covariance`` of the columns: the modelling error of
        weights w is ``(w - coef) @ covariance @ (w - coef)``.

    Examples
    --------
    >>> from smaller.synthetic import make_tibshirani
    >>> make_tibshirani(4, random_state=0).data.shape
    (100, 40)
    """
    if design not in DESIGNS:
        raise ValueError(f"design must be one of {', '.join(map(str, DESIGNS))}; got {design!r}.")
    coef, noise, n = DESIGNS[design]
    return _draw(coef, noise, n, 0.5 if design == 4 else None, random_state)


def make_sparse_linear(n_samples: int, coef, *, noise: float = 1.0, random_state=None) -> Bunch:
    """A linear model of given weights on columns with correlations 0.5^|i - j| and variance 1.

    Parameters
    ----------
    n_samples : int
    coef : array-like of shape (n_features,)
    noise : float, default=1.0
        Standard deviation.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        As of :func:`make_tibshirani`.

    Examples
    --------
    >>> from smaller.synthetic import make_sparse_linear
    >>> make_sparse_linear(50, [3, 0, 0], random_state=0).data.shape
    (50, 3)
    """
    return _draw(np.asarray(coef, dtype=float), noise, n_samples, None, random_state)


def _draw(coef: np.ndarray, noise: float, n: int, common: float | None, random_state) -> Bunch:
    """Normal columns; `common` is the correlation of every pair, None for 0.5^|i - j|."""
    rng, d = check_random_state(random_state), len(coef)
    if common is None:
        covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    else:  # x_ij = z_ij + z_i has variance 2
        covariance = 2 * (np.full((d, d), common) + (1 - common) * np.eye(d))
    X = rng.standard_normal((n, d)) @ np.linalg.cholesky(covariance).T
    return Bunch(data=X, target=X @ coef + noise * rng.standard_normal(n), coef=coef, covariance=covariance)
