"""The kernels in NumPy: the specification of the compiled ones, their fallback, and their test.

This module has the twins of the L1 solvers, and the names of all others: sums, the sequential algorithm, moves, and the
fallbacks of the searches for evidence. Columns come as one Fortran-ordered matrix or as the three arrays of a CSC
matrix; coordinates are (feature, klass) pairs sorted by class; scores F, targets Y and means P are (n, k). w, b, F and
P are written in place. `family` is that of reference_sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .fallback_evidence import BinaryData, ModeRule, Starts, climb, logistic  # noqa: F401
from .reference_blocks import block_quadratic  # noqa: F401
from .reference_moves import Gates, Moves, State, gate_moves, regate, weight_moves  # noqa: F401
from .reference_sequential import GaussianData, SearchRule, sequential  # noqa: F401
from .reference_sums import (  # noqa: F401
    GAUSSIAN,
    REFERENCE,
    SYMMETRIC,
    Columns,
    decay,
    distances,
    judge,
    kkt,
    means,
    negentropy,
    pull,
    squares,
)
from .reference_trajectories import Density, trajectories  # noqa: F401

MAX_SWEEPS = 1000
FARTHEST = 1e6  # largest change of an intercept in one step
MOST_HALVINGS = 40


class Samples(NamedTuple):
    """Targets Y (n, k), weights s and offset of the samples of a problem.

    `measure` is what the gradient of an intercept is measured against; a duality gap is relative to the objective or to
    `negligible`, whichever is larger.
    """

    Y: Any
    s: Any
    offset: Any
    family: int
    intercept: bool
    measure: float
    negligible: float


class WorkingSet(NamedTuple):
    """Coordinates (feature, klass), sorted by class, with weights, strengths and the scale of their KKT residuals."""

    feature: Any
    klass: Any
    w: Any
    l1: Any
    l2: Any
    scale: Any


class Sweep(NamedTuple):
    """Curvature of the bound, and the mean that is taken out of the column, for each coordinate of a working set.

    Coordinates with `visit` 0 are passed over; with `greedy`, as many updates as there are coordinates, each of the one
    whose bound promises the largest decrease (section 6.4).
    """

    bound: Any
    center: Any
    visit: Any
    greedy: bool


def _soft(z, threshold):
    return np.sign(z) * max(abs(z) - threshold, 0.0)


def _minimiser(w, slope, curvature, l1):
    """Where slope d + curvature d^2 / 2 + l1 |w + d| is least, as w + d; without curvature 0, or no end."""
    if curvature > 0:
        return _soft(w - slope / curvature, l1 / curvature)
    return 0.0 if l1 > 0 and abs(slope) <= l1 else w


def settle_intercepts(samples, b, F, target):
    """Intercepts, and scores with them, at their optimum: Newton steps, halved until the loss falls, to rounding.

    They end where the gradient is at most `target` and no longer halves.
    """
    Y, s, _, family, *_ = samples
    P, U = np.empty_like(F), np.empty_like(F)
    last, loss = np.inf, means(F, Y, s, family, P, U)
    for _ in range(MAX_SWEEPS):
        gradient = s @ U
        worst = np.abs(gradient).max() / s.sum()
        if worst <= 1e-14 or (worst <= target and not worst < 0.5 * last):
            return
        last = worst
        H = np.diag(s.sum() * np.ones(len(b))) if family == GAUSSIAN else np.diag(s @ P) - (P.T * s) @ P
        # Equal shifts of all classes change nothing: their curvature may be anything positive.
        H += np.trace(H) / len(b) ** 2 if family == SYMMETRIC else 0.0
        change = -np.linalg.solve(H + (1e-14 * np.trace(H) + 1e-300) * np.eye(len(b)), gradient)
        # Where all rows are certain of their class there is no curvature, and a step would be too long for the scores.
        change *= min(1.0, FARTHEST / max(np.abs(change).max(), 1e-300))
        for _ in range(MOST_HALVINGS):
            value = means(F + change, Y, s, family, P, U)
            if value <= loss + 1e-12 * abs(loss):
                break
            change /= 2
        else:
            return
        b += change
        F += change
        loss = value


def quadratic(H, slope, w, l1, scale, d, tolerance):
    """The d that minimises g.d + d H d / 2 + sum l1 |w + d|, by coordinate sweeps; how many.

    ``slope`` is g at d = 0 and becomes the gradient of the smooth part at d; both are written in place. Sweeps end
    where no coordinate moves the gradient by more than the tolerance times its `scale`.
    """
    curvature = np.diag(H).copy()
    for sweep in range(20 * MAX_SWEEPS):
        moved = 0.0
        for i in range(len(w)):
            now = w[i] + d[i]
            move = _minimiser(now, slope[i], curvature[i], l1[i]) - now
            if move != 0.0:
                d[i] += move
                slope += move * H[i]
                moved = max(moved, abs(move) * curvature[i] / scale[i])
        if moved <= tolerance:
            return sweep
    return sweep


def componentwise(*arguments):
    """One sweep of bound updates, eqs. (15) and (16) of Krishnapuram et al. (2005); the largest KKT residual met.

    ``componentwise(*columns, samples, set, sweep, b, F)``.
    """
    *columns, samples, working, (bound, center, visit, greedy), b, F = arguments
    feature, klass, w, l1, l2, scale = working
    Y, s, _, family, intercept, *_ = samples
    X = Columns(columns)
    P, U = np.empty_like(F), np.empty_like(F)
    worst = 0.0

    def residual(at):
        means(F, Y, s, family, P, U)
        return s * U[:, at]

    def move_intercept(at):
        slope = residual(at).sum()
        b[at] -= 4 * slope / s.sum()
        F[:, at] -= 4 * slope / s.sum()
        return abs(slope) / s.sum()

    def proposal(i, v):
        slope = X.dot(feature[i], v) - center[i] * v.sum() + l2[i] * w[i]
        return slope, _minimiser(w[i], slope, bound[i] + l2[i], l1[i]) - w[i]

    def move(i, change):
        w[i] += change
        b[klass[i]] -= center[i] * change
        X.add(feature[i], center[i], change, F[:, klass[i]])

    if greedy:
        for update in range(len(visit)):
            if intercept:
                worst = max([worst] + [move_intercept(at) for at in range(F.shape[1])])
            V = np.column_stack([residual(at) for at in range(F.shape[1])])
            best, best_gain, best_change = -1, 0.0, 0.0
            for i in range(len(w)):
                slope, change = proposal(i, V[:, klass[i]])
                if update == 0:
                    worst = max(worst, float(kkt(w[i], slope, l1[i])) / scale[i])
                gain = -change * (slope + 0.5 * (bound[i] + l2[i]) * change) - l1[i] * (abs(w[i] + change) - abs(w[i]))
                if gain > best_gain:
                    best, best_gain, best_change = i, gain, change
            if best < 0:
                break
            move(best, best_change)
        return worst
    for at in range(F.shape[1]):
        if intercept:
            worst = max(worst, move_intercept(at))
        v = residual(at)
        for i in np.flatnonzero((klass == at) & (visit != 0)).tolist():
            slope, change = proposal(i, v)
            worst = max(worst, float(kkt(w[i], slope, l1[i])) / scale[i])
            if change != 0.0:
                move(i, change)
                v = residual(at)
    return worst
