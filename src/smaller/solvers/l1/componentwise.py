"""Component-wise bound optimisation: sections 3.5 and 6.4 of Krishnapuram et al. (2005).

Each weight goes to the minimum of a quadratic upper bound, ``W_jl <- soft(W_jl - G_jl / B, l1 / B)`` with the curvature
bound ``B = 1/4 sum_i s_i x_ij^2`` (the paper's ``(1 - 1/m)/2`` for two classes, and tighter for more). Weights at zero
are visited with a probability that decays geometrically; the certificate is read over all weights before the end, and
if it does not hold the schedule starts afresh.
"""

from __future__ import annotations

import numpy as np

from ... import _core
from ...likelihoods import Multinomial
from ...objective.posterior import Posterior
from ..smooth import confirm, settle
from ..solution import History, Solution
from .anderson import Extrapolation

DECAY = 0.9
SWEEPS_PER_CHECK = 20


def componentwise(
    objective: Posterior, W: np.ndarray, tol: float, max_iter: int, seed: int = 0, greedy: bool = False
) -> Solution:
    """Minimise to a relative duality gap of tol; the objective never rises. Iterations are sweeps."""
    if not isinstance(objective.likelihood, Multinomial):
        raise ValueError("solver='component-wise' needs a multinomial likelihood; use solver='newton'.")
    history, extrapolation = History(objective), Extrapolation(objective)
    rng = np.random.default_rng(seed)
    sweep = _Sweep(objective, greedy)
    point = settle(objective, W, tol)
    history.note(point)
    W, F, value = point.W.copy(), point.F.copy(order="F"), point.value
    values, age = [value], 0
    if point.gap <= tol:
        return history.solution(point, tol, 0, objectives=values)
    for iteration in range(1, max_iter + 1):
        visit = (sweep.weights(W) != 0) | (rng.random(sweep.size) < DECAY**age)
        sweep(W, F, visit)
        W, F, value = extrapolation.improve(W, F, objective.value(W, F))
        values.append(value)
        age += 1
        if iteration % SWEEPS_PER_CHECK == 0 or iteration == max_iter:
            point = settle(objective, W, tol, F)
            history.note(point)
            if point.gap <= tol:
                point = confirm(objective, point, tol)
                if point.gap <= tol:
                    break
            W, F, age = point.W.copy(), point.F.copy(order="F"), 0
    return history.solution(point, tol, iteration, objectives=values)


class _Sweep:
    """The constants of a sweep over all weights, and the sweep itself."""

    def __init__(self, objective: Posterior, greedy: bool):
        design, k = objective.design, objective.k
        self.objective, self.greedy = objective, greedy
        self.feature, self.klass = np.tile(np.arange(design.d), k), np.repeat(np.arange(k), design.d)
        self.size = len(self.feature)
        self.columns, where = design.storage(np.arange(design.d))
        self.where = np.tile(where, k).astype(np.int64)
        moments = design.moments(objective.s)
        centred = design.intercept and design.centred
        self.center = (moments.mean if centred else np.zeros_like(moments.mean))[self.feature]
        self.bound = (moments.spread if centred else moments.second(objective.s.sum()))[self.feature] / 4
        at = (self.feature, self.klass)
        self.strengths = {"l1": objective.l1[at], "l2": objective.l2[at], "scale": objective.scale[at]}

    def weights(self, W: np.ndarray) -> np.ndarray:
        return W[self.feature, self.klass]

    def __call__(self, W: np.ndarray, F: np.ndarray, visit: np.ndarray) -> None:
        """Move W and F in place."""
        objective, d = self.objective, self.objective.design.d
        w = self.weights(W)
        b = W[d].copy() if objective.design.intercept else np.zeros(objective.k)
        working = _core.WorkingSet(feature=self.where, klass=self.klass, w=w, **self.strengths)
        sweep = _core.Sweep(bound=self.bound, center=self.center, visit=visit.astype(np.uint8), greedy=self.greedy)
        _core.componentwise(*self.columns, objective.samples, working, sweep, b, F)
        W[self.feature, self.klass] = w
        if objective.design.intercept:
            W[d] = b
