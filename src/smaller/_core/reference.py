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

MAX_SWEEPS = 1000
SETTLED = 1e-12  # an intercept this good is left for _settle_intercepts
ROUNDING = 1e-13  # sweeps cannot settle a model better than this
FARTHEST = 1e6  # in one step, an intercept


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


def newton(*arguments):
    """Newton steps on the working set until its KKT residual, relative to `scale`, is at most `target`.

    ``newton(*columns, target, max_steps, forcing, feature, klass, w, b, F, Y, s, l1, l2, scale, family, intercept)``;
    returns steps, sweeps, violation, objective and whether rounding stopped it.
    """
    *columns, target, max_steps, forcing, feature, klass, w, b, F, Y, s, l1, l2, scale, family, intercept = arguments
    X = Columns(columns)
    P, U = np.empty_like(F), np.empty_like(F)

    def penalty(w):
        return float((l1 * np.abs(w) + l2 * w * w / 2).sum())

    objective = means(F, Y, s, family, P, U) + penalty(w)
    steps = sweeps = 0
    stalled = False
    while True:
        R = s[:, None] * U
        left = R.sum(axis=0)
        if intercept:
            # What is left in a nearly fitted intercept must not be multiplied by the means of the columns.
            nearly = np.abs(left) <= SETTLED * s.sum()
            R -= np.outer(s, np.where(nearly, left, 0.0) / s.sum())
            left = np.where(nearly, 0.0, left)
        g = np.array([X.dot(j, R[:, at]) for j, at in zip(feature, klass, strict=True)]) + l2 * w
        violation = max(float((kkt(w, g, l1) / scale).max(initial=0.0)), np.abs(left).max() / s.sum() * intercept)
        if violation <= target or steps >= max_steps or stalled:
            if intercept:
                _settle_intercepts(b, F, Y, s, family, P, U)
                objective = means(F, Y, s, family, P, U) + penalty(w)
            return steps, sweeps, violation, objective, stalled
        D, db, swept = _model_minimum(
            X, feature, klass, w, P, R, s, l1, l2, scale, family, intercept, max(forcing * violation, ROUNDING)
        )
        sweeps += swept
        E = np.zeros_like(F) + db
        for i in np.flatnonzero(D):
            X.add(feature[i], 0.0, D[i], E[:, klass[i]])
        slope = float((E * R).sum()) + penalty(w + D) - penalty(w)
        length, stalled = 1.0, True
        while length > 1e-8:
            value = means(F + length * E, Y, s, family, P, U) + penalty(w + length * D)
            if value <= objective + 1e-4 * length * slope + 1e-15 * (abs(objective) + float(s @ np.abs(F).sum(axis=1))):
                objective, stalled = value, False
                w += length * D
                b += length * db
                F += length * E
                break
            length /= 2
        else:
            means(F, Y, s, family, P, U)
        steps += 1


def _settle_intercepts(b, F, Y, s, family, P, U):
    """Newton steps on the intercepts alone, to rounding: a certificate can be read only where they are exact."""
    last, loss = 1.0, means(F, Y, s, family, P, U)
    while True:
        gradient = s @ U
        worst = np.abs(gradient).max() / s.sum()
        if worst <= 1e-14 or not worst < 0.5 * last:
            return
        last = worst
        H = np.diag(s.sum() * np.ones(len(b))) if family == GAUSSIAN else np.diag(s @ P) - (P.T * s) @ P
        # Equal shifts of all classes change nothing: their curvature may be anything positive.
        H += np.trace(H) / len(b) ** 2 if family == SYMMETRIC else 0.0
        change = -np.linalg.solve(H + (1e-14 * np.trace(H) + 1e-300) * np.eye(len(b)), gradient)
        # Where every row is certain the curvature says nothing, and its step would lose the digits of the scores.
        if not np.abs(change).max() <= FARTHEST:
            return
        value = means(F + change, Y, s, family, P, U)
        if not value <= loss + 1e-12 * abs(loss):  # too far from the optimum for Newton's step
            return
        b += change
        F += change
        loss = value


def _model_minimum(X, feature, klass, w, P, R, s, l1, l2, scale, family, intercept, tolerance):
    """Coordinate sweeps on the quadratic model: all coordinates, then the non-zero ones until they rest, and again."""
    k = P.shape[1]
    Q = s[:, None] * (np.ones_like(P) if family == GAUSSIAN else P * (1 - P))
    total = Q.sum(axis=0)
    coupled = family != GAUSSIAN
    center = np.zeros(len(w))
    if intercept:
        center = np.array(
            [X.dot(j, Q[:, at]) / total[at] if total[at] > 0 else 0.0 for j, at in zip(feature, klass, strict=True)]
        )
    h = np.array([X.spread(j, c, Q[:, at]) for j, at, c in zip(feature, klass, center, strict=True)]) + l2
    first = np.searchsorted(klass, np.arange(k + 1))
    D, db, E = np.zeros_like(w), np.zeros(k), np.zeros_like(P)
    every, sweeps = True, 0
    while sweeps < MAX_SWEEPS:
        moved = 0.0
        for at in range(k):
            t = (P * E).sum(axis=1) if coupled else 0.0
            v = R[:, at] + s * (P[:, at] * (E[:, at] - t) if coupled else E[:, at])
            if intercept and total[at] > 0:
                slope = v.sum()
                move = -slope / total[at]
                v += move * Q[:, at]
                E[:, at] += move
                db[at] += move
                moved = max(moved, abs(slope) / s.sum())
            for i in range(first[at], first[at + 1]):
                now = w[i] + D[i]
                if not every and now == 0.0:
                    continue
                slope = X.dot(feature[i], v) + l2[i] * now
                move = _minimiser(now, slope, h[i], l1[i]) - now
                if move != 0.0:
                    X.add(feature[i], center[i], move, v, Q[:, at])
                    X.add(feature[i], center[i], move, E[:, at])
                    D[i] += move
                    db[at] -= center[i] * move
                    moved = max(moved, abs(move) * h[i] / scale[i])
        sweeps += 1
        if moved <= tolerance and every:
            break
        every = moved <= tolerance
    return D, db, sweeps


def settle_intercepts(samples, b, F, target):
    """Intercepts, and scores with them, at their optimum: to a gradient of `target` and then, nearly, to rounding."""
    empty = np.empty((len(F), 0))
    none = np.empty(0, dtype=np.int64)
    numbers = np.empty(0)
    newton(
        empty, target, 50, 1e-3, none, none, numbers, b, F, samples.Y, samples.s, *[numbers] * 3, samples.family, True
    )


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
