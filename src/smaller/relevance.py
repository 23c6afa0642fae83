"""Relevance vector machines: regression and classification whose weights have variances of their own."""

from __future__ import annotations

from typing import ClassVar

from sklearn.utils._param_validation import StrOptions

from .evidence import Evidence
from .regression import VarianceModel
from .solvers import Solution
from .solvers.evidence import fast
from .solvers.variances import type_two


class RVMRegressor(VarianceModel):
    """Relevance vector machine for regression: every basis function has a variance of its own, most of which become 0.

    The targets are N(b + Phi w, noise), the weights w_j ~ N(0, gamma_j); gamma and the noise maximise the evidence ::

        log p(y | gamma, noise) = log N(y; b, noise I + Phi Gamma Phi^T),   b integrated out under a flat prior,

    (Tipping 2001). Nothing is to be tuned but the kernel's width, for which ``evidence_`` can be compared.

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="rbf"
        What the weights belong to; see :mod:`smaller.basis`. A kernel matrix too large to keep is computed as needed.
    algorithm : {"fast", "original"}, default="fast"
        The sequential algorithm of Tipping & Faul (2003), with exchanges and a second start, or the re-estimation of
        all precisions at once of Tipping (2001), whose every step takes d^3.
    noise : "learn" or float, default="learn"
        Variance of the noise.
    fit_intercept : bool, default=True
        The intercept has a flat prior and is integrated out.
    tol : float, default=1e-3
        The fit is done when no addition, deletion, re-estimation or exchange of a column gains so many nats, and the
        slope of the log evidence in every log variance is below it.
    max_iter : int, default=None
        Rounds of the fast algorithm (1000), or iterations of the original (10 000).

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
        Posterior means; several targets share their variances.
    intercept_ : float or ndarray of shape (n_targets,)
    support_ : ndarray
        Columns of the basis with a positive variance.
    relevance_vectors_ : ndarray or sparse array
        On a kernel basis, their centres.
    gamma_ : ndarray of shape (n_columns,)
        Variances, 0 where a column was switched off.
    covariance_ : ndarray of shape (n_support, n_support)
        Posterior covariance of the weights of the support.
    noise_ : float
    evidence_ : float
        Log evidence, in nats, with all constants; the flat prior of the intercept has density 1.
    violation_ : float
        Largest slope of the log evidence in a log variance.
    n_iter_, objective_, status_, history_
        ``objective_`` is minus the log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import RVMRegressor
    >>> from smaller.basis import Kernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, (100, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(100)
    >>> model = RVMRegressor(basis=Kernel("rbf", gamma=0.1)).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> print(len(model.relevance_vectors_), "relevance vectors, noise", round(model.noise_**0.5, 2))
    4 relevance vectors, noise 0.1
    """

    _lazy = True
    _parameter_constraints: ClassVar[dict] = {
        **VarianceModel._parameter_constraints,
        "algorithm": [StrOptions({"fast", "original"})],
    }

    def __init__(self, basis="rbf", *, algorithm="fast", noise="learn", fit_intercept=True, tol=1e-3, max_iter=None):
        self.basis = basis
        self.algorithm = algorithm
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _maximise(self, evidence: Evidence) -> Solution:
        if self.algorithm == "fast":
            return fast(evidence, self._noise(), self.tol, self.max_iter or 1000)
        return type_two(evidence, self._noise(), self.tol, self.max_iter or 10_000, "mackay")
