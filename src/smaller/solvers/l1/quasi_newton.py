"""Proximal quasi-Newton steps: the curvature of a few rows on the client, corrected by the gradients of all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve

from ...rows.dask.summed_posterior import SummedPoint, SummedPosterior
from .line_search import Steps
from .proximal import ProximalGradient, Shrinking

MEMORY = 12
PRESSING = 0.7  # weights with |gradient| / l1 above this take part in a step
FORCING = 0.03  # the model of a step is minimised to this fraction of the violation
LONGEST = 1000  # gradient steps on a model
EVERYWHERE = 0.02  # share of the mean curvature that is added to that of the drawn rows, for columns they lack


class QuasiNewton(Steps):
    """B = B0 - [B0 S, Y] M^-1 [B0 S, Y]^T (Byrd, Nocedal & Schnabel 1994), B0 = tau (H_drawn + theta C (x) K) + l2.

    H_drawn is the Hessian of the rows that were drawn for a first guess, weighted to stand for all; it is never formed.
    C (k, k), the sum of s (diag P - P P^T) over all rows, is the curvature of the classes if it were the same
    everywhere, and K the Gram matrix of the centred columns over their number, or only its diagonal; where no rows were
    drawn they stand alone, theta = 1. S are steps and Y the differences of gradients over them. All in columns of unit
    length.
    """

    falling = 0.9

    def __init__(self, objective: SummedPosterior, gram: bool):
        super().__init__(objective)
        self.unit = np.append(objective.design.unit, 1.0)[: objective.shape[0], None]
        self.K: np.ndarray | None = None
        if gram:
            unit = objective.design.unit
            self.K = objective.gram() / np.outer(unit, unit) / objective.total
        self.theta = EVERYWHERE if objective.drawn is not None else 1.0
        self.steps: list[np.ndarray] = []
        self.changes: list[np.ndarray] = []

    def learn(self, point: SummedPoint, moved: SummedPoint) -> bool:
        """Remember how the gradient of the likelihood changed, over trial steps that failed as well."""
        D = moved.W - point.W
        S, Y = D * self.unit, (moved.G - point.G - self.objective.l2 * D) / self.unit
        if not float((S * Y).sum()) > 1e-10 * float(np.linalg.norm(S) * np.linalg.norm(Y)):
            return False
        self.steps, self.changes = [*self.steps, S][-MEMORY:], [*self.changes, Y][-MEMORY:]
        return True

    def proposal(self, point: SummedPoint) -> np.ndarray:
        """The minimum of the model over the rows of weights that are not zero, or whose gradient is nearly l1."""
        o: Any = self.objective
        pressing = (point.W != 0) | ~o.kinked | (o.pressing(point.G) >= PRESSING)
        rows = np.flatnonzero(o.together(pressing).any(axis=1))
        groups = None if o.blocks is None else o.blocks.on(rows)
        unit, l1, l2 = self.unit[rows], o.l1[rows] / self.unit[rows], o.l2[rows] / self.unit[rows] ** 2
        scale, aim = o.scale[rows] / unit, FORCING * point.violation
        base, tau = self._base(point, rows)
        correct = self._correction(base, rows)

        def product(D: np.ndarray) -> np.ndarray:
            return base(D) + l2 * D - correct(D)

        curvature = np.maximum(np.diag(point.sums.curvature), np.finfo(float).tiny)
        root = np.sqrt(tau * curvature * np.ones_like(l1) + l2)  # coordinates in which the model's diagonal is 1
        g, W = point.G[rows] / unit, point.W[rows] * unit
        root = root if groups is None else groups.isotropic(root * unit) / unit
        shrink = Shrinking(l1 / root, groups, root * unit)
        model = ProximalGradient(lambda x: (g + product(x / root - W)) / root, shrink, scale / root)
        least, *_ = model.run(root * W, aim, LONGEST)
        target = point.W.copy()
        target[rows] = least / root / unit
        return target

    def _base(self, point: SummedPoint, rows: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
        """B0 without l2 as a function, and its tau: the least with which it does not fall short of any step seen."""
        columns, C = rows[rows < self.objective.design.d], point.sums.curvature
        r, unit = len(columns), self.unit[rows]
        C = self.theta * (C + 1e-6 * np.trace(C) / len(C) * np.eye(len(C)))  # shifts of all classes have none
        drawn = self.objective.drawn
        curved = None if drawn is None else drawn.curvature(point.W, columns)
        K = None if self.K is None else self.K[np.ix_(columns, columns)]

        def plain(D: np.ndarray) -> np.ndarray:
            E = D @ C
            if K is not None:
                E[:r] = K @ E[:r]
            return E if curved is None else E + curved(D / unit) / unit

        pairs = [(S[rows], Y[rows]) for S, Y in zip(self.steps, self.changes, strict=True)]
        tau = max((float((Y * S).sum() / (S * plain(S)).sum()) for S, Y in pairs if S.any()), default=1.0)
        return (lambda D: tau * plain(D)), tau

    def _correction(self, base: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> Callable:
        """The part of B0 that the pairs of steps and gradients take away, as a function."""
        pairs = [(S[rows], Y[rows]) for S, Y in zip(self.steps, self.changes, strict=True)]
        pairs = [(S, Y) for S, Y in pairs if (S * Y).sum() > 1e-10 * np.linalg.norm(S) * np.linalg.norm(Y)]
        if not pairs:
            return np.zeros_like
        n = len(pairs)
        S, Y = (np.reshape(each, (n, -1)) for each in zip(*pairs, strict=True))
        BS = np.reshape([base(D) for D, _ in pairs], (n, -1))
        SBS, SY = S @ BS.T, S @ Y.T
        L = np.tril(SY, -1)
        M = np.block([[(SBS + SBS.T) / 2, L], [L.T, -np.diag(np.diag(SY))]])
        Q = np.concatenate([BS, Y])
        try:
            inverse = solve(M, np.eye(2 * n), assume_a="sym")
        except LinAlgError:
            self.steps, self.changes = self.steps[-1:], self.changes[-1:]
            return self._correction(base, rows)
        return lambda D: (Q.T @ (inverse @ (Q @ D.ravel()))).reshape(D.shape)
