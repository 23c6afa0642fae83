"""Weighted lassos whose weights are the slopes of the evidence: columns enter in bulk, in balance.

The tangent of log|S| at gamma bounds the evidence by a lasso with the weights sqrt(z_j); its solution x has the
variances gamma_j = |x_j| / sqrt(z_j), at which the next tangent is taken (Wipf & Wu 2012, section 3). For one target
and columns that are no groups; others start from reweighted ridge regressions, which have the same fixed points.
"""

from __future__ import annotations

import numpy as np

from ..l1.quadratic import quadratic_minimum
from .grouped import GroupedEvidence, GroupFit

AFTER, FROM_NOTHING = 6, 30  # lassos after a rule, and from no variances at all
ENOUGH = 0.25  # nats that a lasso must gain for another
COARSE = 1e-3  # excess of a gradient over its weight that is let pass
PASSES = 30  # over all columns in one lasso
ENTER = 100  # columns that may enter a working set, or as many as it has


def after_lassos(fit: GroupFit, rounds: int) -> GroupFit:
    """The model after lassos, while they gain; from the columns and means of `fit`."""
    problem, weight = fit.problem, np.sqrt(fit.slopes()[0])
    X = np.zeros((len(problem.column), 1))
    X[fit.groups] = fit.mean
    best: GroupFit | None = None
    for _ in range(rounds):
        X = working_set_lasso(problem, weight, fit.noise, X)
        kept = np.flatnonzero(X)
        fit = GroupFit(problem, kept, np.abs(X[kept, 0]) / weight[kept], fit.noise)
        if best is not None and fit.log_evidence < best.log_evidence + ENOUGH:
            break
        best, weight = fit, np.sqrt(fit.slopes()[0])
    return fit if best is None or fit.log_evidence > best.log_evidence else best


def working_set_lasso(problem: GroupedEvidence, weight: np.ndarray, noise: float, X: np.ndarray) -> np.ndarray:
    """min |y - Phi x|^2 / (2 noise) + sum_j w_j |x_j|, on working sets that grow by what violates most."""
    limit, X = noise * weight, X.copy()
    chosen = np.flatnonzero(X)
    for i in range(PASSES):
        G = problem.pull(problem.evidence.Z - problem.push(X))
        excess = np.abs(G[:, 0]) / limit - 1
        excess[chosen] = -1.0
        new = np.flatnonzero(excess > (10 * COARSE if i else 0.0))
        if i and not len(new):
            break
        room = max(ENTER, len(chosen))
        chosen = np.union1d(chosen, new[np.argsort(-excess[new], kind="stable")[:room]])
        if not len(chosen):
            break
        columns, x = problem.column[chosen], X[chosen, 0]
        G = problem.gram(columns)
        slope = G @ x - problem.evidence.pull_targets()[columns, 0]
        X[chosen, 0] = quadratic_minimum(G, slope, x, limit[chosen], limit[chosen], COARSE)
        chosen = chosen[X[chosen, 0] != 0]
    return X
