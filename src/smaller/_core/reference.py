"""The kernels in NumPy: the specification of the compiled ones, their fallback, and their test.

Columns come as one Fortran-ordered matrix or as the three arrays of a CSC matrix; coordinates are (feature, klass)
pairs sorted by class; scores F, targets Y and means P are (n, k). w, b, F and P are written in place. `family` is 0 for
a multinomial with a column for each class, 1 where one further class has score 0 and no column, 2 for Gaussian columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from .reference_evidence import climb, logistic, sequential  # noqa: F401

SYMMETRIC, REFERENCE, GAUSSIAN = range(3)
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


class Moves(NamedTuple):
    """Moves of single weights by +-step; the intercept takes `center` out of a column that moves."""

    column: Any
    klass: Any
    center: Any
    step: float


class State(NamedTuple):
    """Means P and their complements Q = 1 - P, targets Y, all (n, k), and sample weights s."""

    P: Any
    Q: Any
    Y: Any
    s: Any
    family: int


class _Columns:
    """Dense or sparse columns behind the same three operations."""

    def __init__(self, arrays):
        self.arrays = arrays

    def __getitem__(self, j):
        """Rows and values of column j."""
        if len(self.arrays) == 1:
            return slice(None), self.arrays[0][:, j].astype(np.float64)
        values, rows, starts = self.arrays
        part = slice(starts[j], starts[j + 1])
        return rows[part], values[part].astype(np.float64)

    def dot(self, j, v):
        """x_j . v."""
        rows, x = self[j]
        return float(x @ v[rows])

    def spread(self, j, c, q):
        """sum q (x_j - c)^2."""
        rows, x = self[j]
        return float(q[rows] @ (x - c) ** 2 + c * c * (q.sum() - q[rows].sum()))

    def add(self, j, c, d, f, q=None):
        """f += d (x_j - c), weighted by q."""
        rows, x = self[j]
        f[rows] += d * x if q is None else d * x * q[rows]
        if c:
            f -= d * c if q is None else d * c * q


def means(F, Y, s, family, P, U):
    """Fitted means of the scores, into P, residuals P - Y, into U, and the negative log-likelihood.

    Indicators Y are 0 or 1; the residual of the own class is the sum of the other probabilities, without cancellation.
    """
    if family == GAUSSIAN:
        P[:] = F
        U[:] = F - Y
        return float(s @ (U**2).sum(axis=1)) / 2
    top = F.max(axis=1, initial=0.0 if family == REFERENCE else -np.inf)
    P[:] = np.exp(F - top[:, None])
    total = P.sum(axis=1) + (np.exp(-top) if family == REFERENCE else 0.0)
    P /= total[:, None]
    others = ((1 - Y) * P).sum(axis=1) + (np.exp(-top) / total if family == REFERENCE else 0.0)
    U[:] = (1 - Y) * P - Y * others[:, None]
    return float(s @ (np.log(total) + top - (Y * F).sum(axis=1)))


def negentropy(U, Y, s, shrink, family):
    """sum_i s_i sum_c Q_ic log Q_ic of the probabilities Q = Y + shrink U."""
    Q = np.clip(Y + shrink * U, 0.0, 1.0)
    total = xlogy(Q, Q).sum(axis=1)
    if family == REFERENCE:
        rest = np.clip(1.0 - Q.sum(axis=1), 0.0, 1.0)
        total += xlogy(rest, rest)
    return float(s @ total)


def judge(W, G, l1, l2, scale, residuals):
    """KKT residuals relative to the scale, into `residuals`; the penalty, and the shrinkages that make G feasible.

    These are the largest rho <= 1 with rho |G| <= l1 wherever there is a penalty, and where l2 is 0.
    """
    residuals[:] = _kkt(W, G + l2 * W, l1) / scale
    over = (np.abs(G) > l1) & ((l1 > 0) | (l2 > 0))
    ratio = np.divide(l1, np.abs(G), where=over, out=np.ones_like(G))
    penalty = float((l1 * np.abs(W) + l2 * W * W / 2).sum())
    return penalty, float(ratio.min(initial=1.0)), float(ratio[l2 == 0].min(initial=1.0))


def pull(X, R, G):
    """X^T R, into G."""
    G[:] = X.T @ R


def _soft(z, threshold):
    return np.sign(z) * max(abs(z) - threshold, 0.0)


def _minimiser(w, slope, curvature, l1):
    """Where slope d + curvature d^2 / 2 + l1 |w + d| is least, as w + d; without curvature 0, or no end."""
    if curvature > 0:
        return _soft(w - slope / curvature, l1 / curvature)
    return 0.0 if l1 > 0 and abs(slope) <= l1 else w


def _kkt(w, g, l1):
    return np.where(w != 0, np.abs(g + l1 * np.sign(w)), np.maximum(np.abs(g) - l1, 0.0))


def newton(*arguments):
    """Newton steps on the working set until its KKT residual, relative to `scale`, is at most `target`.

    ``newton(*columns, target, max_steps, forcing, feature, klass, w, b, F, Y, s, l1, l2, scale, family, intercept)``;
    returns steps, sweeps, violation, objective and whether rounding stopped it.
    """
    *columns, target, max_steps, forcing, feature, klass, w, b, F, Y, s, l1, l2, scale, family, intercept = arguments
    X = _Columns(columns)
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
        violation = max(float((_kkt(w, g, l1) / scale).max(initial=0.0)), np.abs(left).max() / s.sum() * intercept)
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

    ``componentwise(*columns, samples, set, b, F, bound, center, visit, greedy)``. Coordinates with ``visit`` 0 are
    passed over; with ``greedy``, as many updates as there are coordinates, each of the one whose bound promises the
    largest decrease (section 6.4).
    """
    *columns, samples, working, b, F, bound, center, visit, greedy = arguments
    feature, klass, w, l1, l2, scale = working
    Y, s, _, family, intercept, *_ = samples
    X = _Columns(columns)
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
                    worst = max(worst, float(_kkt(w[i], slope, l1[i])) / scale[i])
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
            worst = max(worst, float(_kkt(w[i], slope, l1[i])) / scale[i])
            if change != 0.0:
                move(i, change)
                v = residual(at)
    return worst


def distances(X, Zt, D):
    """Squared distances of the rows of X (n, p) and the columns of Zt (p, m), into D (n, m)."""
    D[:] = 0.0
    for x, z in zip(X.T, Zt, strict=True):
        D += np.square(x[:, None] - z)


def decay(D, gamma):
    """exp(-gamma d) in the place of each d."""
    D *= -gamma
    np.exp(D, out=D)


def squares(X, omega, center, total):
    """total_j += sum_i omega_i (x_ij - center_j)^2."""
    total += omega @ np.square(X - center)


def weight_moves(*arguments):
    """Changes of the loss when the score of a class moves by +-step times a column, into up and down.

    ``weight_moves(*columns, moves, state, up, down)``. A softmax's loss changes by ``sum s (log(q + p exp(z)) - y z)``,
    z being the change of the score. The intercept takes `center` out of the column, if that is dense.
    """
    *columns, (column, klass, center, step), (P, Q, Y, s, family), up, down = arguments
    X = _Columns(columns)
    for i, (j, at) in enumerate(zip(column, klass, strict=True)):
        rows, x = X[j]
        z = step * (x - center[i] if len(columns) == 1 else x)
        p, q, y, weight = P[rows, at], Q[rows, at], Y[rows, at], s[rows]
        if family == GAUSSIAN:
            slope, curve = weight * (p - y) @ z, weight @ z**2 / 2
            up[i], down[i] = curve + slope, curve - slope
        else:
            up[i], down[i] = weight @ _moved(p, q, y, z), weight @ _moved(p, q, y, -z)


def _moved(p, q, y, z):
    """log(q + p exp(z)) - y z: exp(-|z|) cannot overflow, and a sum that is 0 in rounding has a finite logarithm."""
    e, up = np.exp(-np.abs(z)), z >= 0
    total = np.where(up, p + q * e, q + p * e)
    return np.log(np.maximum(total, np.finfo(float).tiny)) + (np.maximum(z, 0.0) - y * z)


def gate_moves(X, C, K, W, base, input, rate, Y, s, family, intercept, losses):
    """Losses of the scores base + K' W, where K' = K exp(-rate (x - c)^2) for one input at a time, into losses.

    The intercepts follow by one step of Newton's method, with a bound of the curvature where classes meet.
    """
    P, U = np.empty_like(base), np.empty_like(base)
    for i, (j, change) in enumerate(zip(input, rate, strict=True)):
        F = base + K * np.exp(-change * np.square(X[:, j, None] - C[:, j])) @ W
        losses[i] = means(F, Y, s, family, P, U)
        if intercept:
            spread = np.ones_like(P) if family == GAUSSIAN else P * (1 - P) if P.shape[1] == 1 else P
            F -= (s @ U) / np.maximum(s @ spread, np.finfo(float).tiny)
            losses[i] = min(losses[i], means(F, Y, s, family, P, U))


def regate(S, K, x, c, change, gamma):
    """S += change (x - c)^2 and K = exp(-gamma S): squared distances and kernel after a gate has moved, in place."""
    S += change * np.square(x[:, None] - c)
    K[:] = np.exp(-gamma * S)
