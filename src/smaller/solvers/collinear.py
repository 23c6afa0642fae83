"""Columns without a penalty that are nearly sums of each other, as a feature and its double in single precision are.

Along the direction in which they differ, weights may be millions before a score changes by one. The products of these
columns, of which Newton's method is made, do not know that direction: its curvature drowns in their rounding. In an
orthonormal basis of the columns all directions are alike.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..design.dense import DenseDesign
from ..errors import Status
from ..likelihoods import Multinomial
from ..objective.certificate import EPSILON, FREE_TOLERANCE, size_of_terms
from ..objective.posterior import Posterior
from ..priors import ElasticNet
from .smooth import smooth
from .solution import Solution

INDEPENDENT = 1e-5  # columns whose correlations have no eigenvalue below this are far from collinear
RANK = 1e-13  # of the largest column: what is left of one, beside the others, is rounding
STEPS = 50
LARGEST = 10_000_000  # numbers in a copy of the columns


def untangled(objective: Posterior, solution: Solution, tol: float) -> Solution:
    """The same solution; where columns without a penalty are nearly collinear, with these fitted in such a basis.

    The gap of weights that are not penalised takes them to move as columns that have little to do with each other do:
    there, and only there, the certificate of the other solvers is not enough.
    """
    rows = nearly_collinear(objective)
    return solution if rows is None else fitted(objective, rows, solution, tol)


def fitted(objective: Posterior, rows: np.ndarray, solution: Solution, tol: float) -> Solution:
    """The same solution with these columns, which have no penalty, fitted in an orthonormal basis of them."""
    if solution.status is Status.SEPARABLE:
        return solution
    design, W, F = objective.design, solution.weights.copy(), solution.scores
    F = objective.scores(W) if F is None else F
    mean = objective.moments.mean[rows] if design.intercept else np.zeros(len(rows))
    B, R, kept = _basis(design.take(rows) - mean, objective.s)
    rows, mean = rows[kept], mean[kept]
    V = np.vstack([R @ W[rows], mean @ W[rows] + W[-1]] if design.intercept else [R @ W[rows]])
    basis = DenseDesign(B, design.intercept)
    free = Posterior(basis, objective.Y, objective.likelihood, ElasticNet(0.0), objective.s, F - basis.scores(V))
    found = smooth(free, V, tol, STEPS)
    W[rows] = solve_triangular(R, found.weights[: len(rows)])
    if design.intercept:
        W[-1] = found.weights[-1] - mean @ W[rows]
    # The residuals that large weights leave, which are rounded themselves.
    exact = max(FREE_TOLERANCE, EPSILON * float(size_of_terms(objective, W).max()))
    point = objective.at(W, exact=exact)
    gap = float(point.gap + free.at(found.weights, point.F, exact).gap)
    missed = Status.STALLED if solution.status is Status.CONVERGED else solution.status
    status = Status.CONVERGED if gap <= tol else missed
    if point.value > solution.objective * (1 + tol):  # weights so large that their scores have no digits
        return solution._replace(status=Status.STALLED)
    certified = solution._replace(objective=point.value, gap=gap, violation=point.violation, status=status)
    return certified._replace(weights=W, scores=point.F)


def nearly_collinear(objective: Posterior) -> np.ndarray | None:
    """The columns without a penalty in any class, if they are nearly collinear, and few enough to be copied."""
    design = objective.design
    rows = np.flatnonzero(objective.free[: design.d].all(axis=1))
    copied = design.in_memory and design.n * len(rows) <= LARGEST
    if len(rows) < 2 or not copied or not isinstance(objective.likelihood, Multinomial):
        return None
    mean = objective.moments.mean[rows] if design.intercept else np.zeros(len(rows))
    products = design.spread(objective.s, mean, rows)
    unit = np.sqrt(np.maximum(np.diag(products), np.finfo(float).tiny))
    least = np.linalg.eigvalsh(products / np.outer(unit, unit))[0]
    return rows if least < INDEPENDENT else None


def _basis(C: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """B, R and columns with C[:, columns] = B R and B^T diag(s) B = sum(s); columns that add nothing are not kept."""
    root = np.sqrt(s / s.sum())[:, None]
    unit = np.sqrt(((root * C) ** 2).sum(axis=0))
    varied = np.flatnonzero(unit > 0)
    R, kept = qr(root * C[:, varied] / unit[varied], mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > RANK * size[0]).sum()) if len(size) else 0
    kept = varied[kept[:rank]]
    R = R[:rank, :rank] * unit[kept]
    return np.ascontiguousarray(solve_triangular(R, C[:, kept].T, trans="T").T), R, kept
