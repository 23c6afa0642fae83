"""Conjugate gradients on Newton's equations of smooth weights: products with the Hessian, and two preconditioners."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg

from ..likelihoods import Multinomial
from ..objective.posterior import Point, Posterior

FORCING = 0.1  # Newton's equations are solved to this fraction of their right-hand side, the better the nearer
LONGEST = 500  # products with the Hessian for one step
EIGEN = 10  # a decomposition of d x d costs about this many d^3 operations
WIDEST = 2000  # columns up to which their Gram matrix is decomposed
LEAST = 1e-6  # ridge of columns without any, and curvature of classes shifted together, relative to the mean curvature


class Conditioning:
    """Directions of Newton's method for one objective, from products with the Hessian alone.

    The preconditioner is the Hessian's diagonal until the products have cost as much as a Gram matrix of the columns
    and its decomposition. From then on it is C (x) K + l2, with K the Gram matrix of the centred columns and C the mean
    curvature of the classes: that is the Hessian, if all samples had the same class probabilities.
    """

    def __init__(self, objective: Posterior):
        self.objective, self.spent = objective, 0.0
        n, d = objective.design.n, objective.design.d
        self.able = objective.design.centred and d <= WIDEST
        self.price = n * d**2 + EIGEN * d**3

    def direction(self, point: Point, rows: np.ndarray, smooth_weights: np.ndarray, G: np.ndarray) -> np.ndarray:
        """Newton's step of some rows of W, of their smooth weights alone, for the gradient G."""
        objective, shape = self.objective, smooth_weights.shape
        whole = self.able and self.spent > self.price and len(rows) == objective.shape[0]
        solve = self._by_columns(point) if whole else self._by_weights(point, rows)

        def product(v: np.ndarray) -> np.ndarray:
            self.spent += 4.0 * objective.design.n * v.size
            V = np.zeros(objective.shape)
            V[rows] = np.where(smooth_weights, v.reshape(shape), 0.0)
            curved = objective.likelihood.curve(point.P, objective.s, objective.design.scores(V))
            pulled = objective.design.pull(curved, rows) + objective.l2[rows] * V[rows]
            return np.where(smooth_weights, pulled, 0.0).ravel()

        def precondition(v: np.ndarray) -> np.ndarray:
            return np.where(smooth_weights, solve(np.where(smooth_weights, v.reshape(shape), 0.0)), 0.0).ravel()

        size = smooth_weights.size
        H, M = (LinearOperator((size, size), matvec=each, dtype=np.float64) for each in (product, precondition))
        forcing = min(FORCING, np.sqrt(point.residuals[rows].max()))
        return cg(H, -G.ravel(), rtol=forcing, maxiter=LONGEST, M=M)[0].reshape(shape)

    def _by_weights(self, point: Point, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Division by the Hessian's diagonal."""
        objective = self.objective
        second = objective.moments.second(objective.total)[rows]
        diagonal = np.outer(second, np.maximum(objective.mean_curvature(point.P), 1e-12)) + objective.l2[rows]
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        return lambda V: V / diagonal

    @cached_property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The root of a ridge, (d, 1), and eigenvectors and values of the Gram matrix of centred columns over it."""
        objective, d = self.objective, self.objective.design.d
        every = np.arange(d)
        K = objective.design.spread(objective.s, self.means, every)
        ridge = objective.l2[:d].mean(axis=1)
        root = np.sqrt(np.maximum(ridge, LEAST * np.maximum(np.diag(K), np.finfo(float).tiny)))[:, None]
        values, vectors = eigh(K / (root * root.T), check_finite=False)
        return root, vectors, np.maximum(values, 0.0)

    @cached_property
    def means(self) -> np.ndarray:
        """What is subtracted from the columns: with an intercept their means, else 0."""
        design = self.objective.design
        return self.objective.moments.mean[: design.d] if design.intercept else np.zeros(design.d)

    def _by_columns(self, point: Point) -> Callable[[np.ndarray], np.ndarray]:
        """Multiplication by (C (x) K + l2)^-1, K of centred columns, whose intercepts stand apart."""
        objective, d = self.objective, self.objective.design.d
        root, vectors, values = self.columns
        curvature, turn = np.linalg.eigh(self._mean_curvature(point))
        curvature = np.maximum(curvature, LEAST * curvature.max(initial=0.0) + np.finfo(float).tiny)
        weight = 1.0 / (np.outer(values, curvature) + 1.0)

        def solve(V: np.ndarray) -> np.ndarray:
            ends = V[d:]
            inner = V[:d] - np.outer(self.means, ends) if len(ends) else V
            found = vectors @ (weight * (vectors.T @ ((inner / root) @ turn))) @ turn.T / root
            if not len(ends):
                return found
            shifts = (ends @ turn) / (objective.total * curvature) @ turn.T
            return np.vstack([found, shifts - self.means @ found])

        return solve

    def _mean_curvature(self, point: Point) -> np.ndarray:
        """The mean second derivatives of a row's loss in its scores, (k, k)."""
        objective = self.objective
        if isinstance(objective.likelihood, Multinomial):
            return objective.hessian(point.P, np.array([objective.design.d])) / objective.total
        return np.eye(objective.k) / objective.likelihood.noise
