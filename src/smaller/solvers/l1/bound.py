"""Block bound optimisation: eqs. (7), (10) and (12)-(13) of Krishnapuram et al. (2005), with adaptive over-relaxation.

The Hessian never exceeds ``M (x) K`` with ``M = 1/2 (I - 1 1^T / m)`` and ``K = Phi^T diag(s) Phi``; |w| is bounded by
the parabola that touches it at the current weight. Both bounds together have a closed-form minimum. Without L1 the
Kronecker structure leaves two d x d inverses, formed once; with it, a system over the weights not yet zero.
A free intercept is eliminated by centring the columns.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import pinvh

from ...likelihoods import Multinomial
from ...objective.posterior import Point, Posterior
from ..smooth import confirm, settle, solve_semidefinite
from ..solution import History, Solution
from .anderson import ROUNDING, Extrapolation

NEGLIGIBLE = 1e-10  # a weight this small beside the largest is on its way to zero
RELAXATION = 1.1  # Salakhutdinov & Roweis (2003)
STEPS_PER_CHECK = 20
LARGEST_SYSTEM = 8000


def bound(objective: Posterior, W: np.ndarray, tol: float, max_iter: int) -> Solution:
    """Minimise to a relative duality gap of tol; the objective never rises."""
    if not isinstance(objective.likelihood, Multinomial):
        raise ValueError("solver='bound' needs a multinomial likelihood; use solver='newton'.")
    history, extrapolation = History(objective), Extrapolation(objective)
    surrogate = (_Sparse if objective.l1.any() else _Smooth)(objective)
    point = settle(objective, W, tol)
    history.note(point)
    values, relaxation = [point.value], 1.0
    if point.gap <= tol:
        return history.solution(point, tol, 0, objectives=values)
    W, F, value = surrogate.start(point)
    for iteration in range(1, max_iter + 1):
        D = surrogate.step(W, F) if iteration % 2 else surrogate.face_step(W, F)
        E = objective.design.scores(D)
        moved = W + relaxation * D, F + relaxation * E
        proposed = objective.value(*moved)
        if relaxation > 1.0 and not proposed < value - ROUNDING * abs(value):
            relaxation, moved = 1.0, (W + D, F + E)  # the bound's minimum lowers the objective
            proposed = objective.value(*moved)
        else:
            relaxation *= RELAXATION
        if proposed <= value + ROUNDING * abs(value):
            W, F, value = extrapolation.improve(*surrogate.drop(*moved, proposed))
        values.append(value)
        if iteration % STEPS_PER_CHECK == 0 or iteration == max_iter:
            point = settle(objective, W, tol, F)
            history.note(point)
            if point.gap <= tol:
                point = confirm(objective, point, tol)
                if point.gap <= tol:
                    break
            W, F, value = surrogate.revive(point)
    return history.solution(point, tol, iteration, objectives=values)


class _Surrogate:
    """The constant curvature and what does not depend on the prior."""

    def __init__(self, objective: Posterior):
        self.objective, design, k = objective, objective.design, objective.k
        if design.d > LARGEST_SYSTEM:
            raise ValueError(
                f"solver='bound' forms a matrix of all columns by all columns and takes at most {LARGEST_SYSTEM}; "
                f"got {design.d}. Use solver='newton'."
            )
        self.rows = np.arange(design.d)
        self.total = objective.s.sum()
        classes = k + objective.likelihood.reference  # type: ignore[union-attr]
        self.M = (np.eye(k) - 1.0 / classes) / 2
        self.mean = design.moments(objective.s).mean[self.rows] * design.intercept
        self.K = design.gram(objective.s, self.rows) - self.total * np.outer(self.mean, self.mean)

    def gradient(self, W: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of the loss in the weights of the centred columns, and in the intercepts."""
        o = self.objective
        _, U, _ = o.likelihood.fit(F, o.Y, o.s)
        R = o.s[:, None] * U
        Gb = R.sum(axis=0) * o.design.intercept
        return o.design.pull(R, self.rows) - np.outer(self.mean, Gb), Gb

    def complete(self, D: np.ndarray, Gb: np.ndarray) -> np.ndarray:
        """A step of the weights with the step of the intercepts that goes with it."""
        if not self.objective.design.intercept:
            return D
        return np.vstack([D, -np.linalg.pinv(self.M * self.total) @ Gb - self.mean @ D])

    def start(self, point: Point) -> tuple[np.ndarray, np.ndarray, float]:
        return point.W, point.F, point.value

    def drop(self, W: np.ndarray, F: np.ndarray, value: float) -> tuple[np.ndarray, np.ndarray, float]:
        return W, F, value

    def revive(self, point: Point) -> tuple[np.ndarray, np.ndarray, float]:
        return point.W, point.F, point.value

    def step(self, W: np.ndarray, F: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def face_step(self, W: np.ndarray, F: np.ndarray) -> np.ndarray:
        return self.step(W, F)


class _Smooth(_Surrogate):
    """Maximum likelihood (7) and ridge (10): M has two eigenvalues, so two inverses serve every step."""

    def __init__(self, objective: Posterior):
        super().__init__(objective)
        l2 = objective.l2[self.rows]
        if (l2 == l2[:, :1]).all():
            curvature, self.V = np.linalg.eigh(self.M)
        else:  # penalties that differ between classes do not share eigenvectors with M; 1/2 bounds it
            curvature, self.V = np.full(objective.k, 0.5), np.eye(objective.k)
        inverses: dict[tuple, np.ndarray] = {}
        self.inverses = []
        for value, column in zip(np.round(curvature, 14), l2.T, strict=True):
            key = (value, column.tobytes())
            if key not in inverses:
                inverses[key] = pinvh(value * self.K + np.diag(column))
            self.inverses.append(inverses[key])

    def step(self, W: np.ndarray, F: np.ndarray) -> np.ndarray:
        G, Gb = self.gradient(W, F)
        G = (G + self.objective.l2[self.rows] * W[self.rows]) @ self.V
        D = np.column_stack([inverse @ -g for inverse, g in zip(self.inverses, G.T, strict=True)])
        return self.complete(D @ self.V.T, Gb)


class _Sparse(_Surrogate):
    """The Laplace prior, eq. (13): w <- U (U B U + I)^-1 U (B w - g) on the non-zero weights, U^2 = |w| / l1."""

    def step(self, W: np.ndarray, F: np.ndarray) -> np.ndarray:
        """The step of eq. (13)."""
        G, Gb = self.gradient(W, F)
        feature, klass, w, l1, A = self._system(W)
        U = np.where(l1 > 0, np.sqrt(np.abs(w) / np.where(l1 > 0, l1, 1.0)), 1.0)
        target = A @ w - G[feature, klass] - self.objective.l2[feature, klass] * w
        solved = U * solve_semidefinite(U[:, None] * A * U + np.diag((l1 > 0).astype(float)), U * target)
        return self._spread(W, feature, klass, solved - w, Gb)

    def face_step(self, W: np.ndarray, F: np.ndarray) -> np.ndarray:
        """The bound (7) with the L1 term as it is while signs last, cut where the first weight reaches zero.

        (13) alone grows and shrinks weights near zero ever more slowly.
        """
        G, Gb = self.gradient(W, F)
        feature, klass, w, l1, A = self._system(W)
        D = solve_semidefinite(A, -G[feature, klass] - self.objective.l2[feature, klass] * w - l1 * np.sign(w))
        crossing = (w * (w + D) < 0) & (l1 > 0)
        length = np.min(np.abs(w[crossing] / D[crossing]), initial=1.0)
        return self._spread(W, feature, klass, length * D, Gb)

    def _system(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights that can move, their l1, and the curvature of the bound between them."""
        V, l1 = W[self.rows], self.objective.l1[self.rows]
        feature, klass = np.nonzero((V != 0) | (l1 == 0))
        if len(feature) > LARGEST_SYSTEM:
            raise ValueError(
                f"solver='bound' solves a system over all non-zero weights, at most {LARGEST_SYSTEM}; "
                f"got {len(feature)}. Use solver='newton'."
            )
        A = self.M[np.ix_(klass, klass)] * self.K[np.ix_(feature, feature)]
        return feature, klass, V[feature, klass], l1[feature, klass], A + np.diag(self.objective.l2[feature, klass])

    def _spread(
        self, W: np.ndarray, feature: np.ndarray, klass: np.ndarray, change: np.ndarray, Gb: np.ndarray
    ) -> np.ndarray:
        D = np.zeros((len(self.rows), W.shape[1]))
        D[feature, klass] = change
        return self.complete(D, Gb)

    def start(self, point: Point) -> tuple[np.ndarray, np.ndarray, float]:
        """Zeros are absorbing, so every weight that must move is given a first value."""
        return self.revive(point)

    def drop(self, W: np.ndarray, F: np.ndarray, value: float) -> tuple[np.ndarray, np.ndarray, float]:
        V = W[self.rows]
        small = (V != 0) & (np.abs(V) < NEGLIGIBLE * np.abs(V).max(initial=0.0)) & (self.objective.l1[self.rows] > 0)
        if not small.any():
            return W, F, value
        W = W.copy()
        W[self.rows] = np.where(small, 0.0, V)
        F = self.objective.scores(W)
        return W, F, self.objective.value(W, F)

    def revive(self, point: Point) -> tuple[np.ndarray, np.ndarray, float]:
        """Component-wise steps (15) for the zeros that violate the conditions, averaged so that the objective falls."""
        o = self.objective
        curvature = np.diag(self.K)[:, None] / 4 + o.l2[self.rows]
        G, V, l1 = point.G[self.rows], point.W[self.rows], o.l1[self.rows]
        push = np.where((V == 0) & (curvature > 0), np.maximum(np.abs(G) - l1, 0.0), 0.0)
        count = np.count_nonzero(push)
        if count == 0:
            return point.W, point.F, point.value
        W = point.W.copy()
        W[self.rows] -= np.sign(G) * push / np.where(curvature > 0, curvature, 1.0) / count
        if o.design.intercept:
            W[-1] -= self.mean @ (W[self.rows] - point.W[self.rows])
        F = o.scores(W)
        return W, F, o.value(W, F)
