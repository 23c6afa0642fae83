"""Iteratively reweighted ridge: EM for scale mixtures of normals (Figueiredo 2003).

The E-step gives each surviving weight the variance ``gamma = 1 / h'(w^2)`` of its prior (and, for a probit, each
sample its expected latent score); the M-step is a ridge regression with these variances,
``w <- U (noise I + U K U)^-1 U Phi^T y``, ``U = diag(gamma)^(1/2)``, ``K = Phi^T Phi`` on centred columns, or its twin
in the samples where these are fewer. The posterior never falls. EM decides which weights survive; where it has settled,
in a region in which the objective is convex, Newton steps on the survivors take over its slow tail.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, lstsq

from ...design import Design
from ...errors import Status
from ...objective.mixture import MixturePosterior
from ..solution import Solution, Step
from .reweighted_ridge import reweight, ridge
from .ridge_start import Start

# Weights whose scores are below this, relative to the target and for each sample, are pruned: at any noise above its
# floor they would shrink to zero quadratically under Jeffreys' prior, where |w| |x| |y| < noise.
NO_RETURN = 1e-12
SETTLED = 0.5  # violation from which on Newton is tried
QUIET = 20  # steps without pruning after which Newton is tried as well
REACH = 0.3  # largest relative change of a weight in a Newton step under a prior with negative curvature
ROUNDING = 1e-13
LENGTHS = (1.0, 0.5, 0.1)  # of an M-step
LARGEST = 2000  # unknowns up to which a failed system is solved again by orthogonal transformations
PATIENCE = 30  # steps without gain after which nothing more is expected
POLISHED = 1e-11
FLAT = 1e10  # variance of a weight without a penalty, times its curvature: as good as infinite


def reweighted(objective: MixturePosterior, start: Start, tol: float, max_iter: int) -> Solution:
    """Raise the posterior from a start until the violation is at most tol.

    The objective in the history counts a pruned weight at the value it had last, so that it never rises; that of the
    solution is over the survivors.
    """
    run = _Run(objective, start)
    iteration = reweight(run, tol, max_iter)
    point = run.point
    rested = run.settled or (run.is_stalled() and point.violation <= max(tol, run.rounding()))
    status = Status.CONVERGED if rested else Status.UNSETTLED
    if objective.learn and point.noise <= objective.floor:
        status = Status.COLLAPSED
    W = np.zeros((objective.design.shape[1], 1))
    W[point.rows, 0] = point.w
    if objective.design.intercept:
        W[-1] = point.b
    extra = {"noise": point.noise, "rows": point.rows, "b": point.b, "gamma": point.gamma}
    if not objective.gaussian:
        extra["omega"] = objective.likelihood.curvature(point.P, objective.s, 0, 0)
    return Solution(
        W, point.F[:, None], status, point.value, point.violation, point.violation, iteration, run.steps, extra
    )


class _Run:
    """One fit under way: the point, the Gram matrix of its survivors, and what happened so far."""

    def __init__(self, objective: MixturePosterior, start: Start):
        self.objective, self.began = objective, time.perf_counter()
        self.steps: list[Step] = []
        self.carried = 0.0  # penalties of the pruned weights when they were pruned
        self.gram: np.ndarray | None = None
        self.patience, self.quiet, self.stuck, self.settled = SETTLED, 0, False, False
        self.root = np.sqrt(objective.s)
        self.point = objective.at(start.rows, start.w, start.b)
        self.note()

    def note(self) -> None:
        """Add a row to the history."""
        p, seconds = self.point, time.perf_counter() - self.began
        self.steps.append(Step(p.value + self.carried, p.violation, np.nan, len(p.rows), seconds))

    def step(self) -> None:
        """An EM step, then a Newton step where EM has settled: little violation, or no weight pruned for a while."""
        count, before = len(self.point.rows), self.point
        w, b = self.expected_ridge()
        # The M-step cannot fail to lower the objective, unless its system is too ill-conditioned to be solved well.
        self.stuck = not (
            any(self.attempt(before.w + t * (w - before.w), before.b + t * (b - before.b), True) for t in LENGTHS)
            or (count <= LARGEST and self.attempt(*self.careful_ridge(), True))
        )
        self.quiet = self.quiet + 1 if len(self.point.rows) == count else 0
        if (self.point.violation <= self.patience or self.quiet >= QUIET) and not self.newton():
            self.patience, self.quiet = self.point.violation / 2, 0
        self.note()

    def is_done(self, tol: float) -> bool:
        """Whether the point is stationary and no saddle; it is then polished."""
        self.settled = self.point.violation <= tol and not self.leave_saddle()
        if self.settled:
            self.polish()
        return self.settled

    def is_stalled(self) -> bool:
        """Whether a step failed, or many steps together gained no more than rounding."""
        if self.stuck or len(self.steps) <= PATIENCE:
            return self.stuck
        now, then = self.steps[-1], self.steps[-1 - PATIENCE]
        return then.objective - now.objective <= ROUNDING * max(1.0, abs(now.objective))

    def move(self, w: np.ndarray, b: float) -> None:
        """Go to new weights of the same columns, without those that are zero for good."""
        o, rows = self.objective, self.point.rows
        keep = np.abs(w) * o.norm[rows] > NO_RETURN / o.total * o.size
        if not keep.all():
            h, _ = o.prior.at(w[~keep], rows[~keep])
            self.carried += float(np.maximum(h, np.log(np.finfo(float).tiny)).sum()) / 2
            b += float(o.mean[rows[~keep]] @ w[~keep])
            self.gram = None if self.gram is None else self.gram[np.ix_(keep, keep)]
            rows, w = rows[keep], w[keep]
        self.point = o.at(rows, w, b)

    def expected_ridge(self) -> tuple[np.ndarray, float]:
        """The M-step: weights and intercept."""
        self.aim()
        w = ridge(self, self.point.rows, self.point.gamma, self.noise())[:, 0]
        return w, self.center - float(self.objective.mean[self.point.rows] @ w)

    def aim(self) -> None:
        """Set what the M-step is to reproduce, and its mean where there is an intercept."""
        o = self.objective
        target = o.target(self.point)
        self.center = float(o.s @ target) / o.total * o.design.intercept
        self.target = target - self.center

    def noise(self) -> float:
        """The variance in the M-step; that of a probit is the bound of its curvature."""
        return self.point.noise if self.objective.gaussian else 1.0 / self.objective.likelihood.bound

    @property
    def targets(self) -> np.ndarray:
        """The targets of the centred columns, (n, 1), weighted by the roots of s as all products here are."""
        return (self.root * self.target)[:, None]

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Phi^T Phi and Phi^T y of the survivors."""
        return self.spread(), self.objective.design.pull((self.objective.s * self.target)[:, None], rows)

    def outer(self, rows: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Phi Gamma Phi^T of some columns."""
        return self.objective.design.outer(self.root, self.objective.mean[rows], gamma, rows)

    def pull(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Phi^T V of some columns."""
        return self.objective.design.pull(self.root[:, None] * V, rows)

    def careful_ridge(self) -> tuple[np.ndarray, float]:
        """The M-step by orthogonal transformations of the columns, for ill-conditioned systems."""
        o, p = self.objective, self.point
        U, k = np.sqrt(p.gamma), len(p.rows)
        W = np.zeros((o.design.shape[1], k))
        W[p.rows, np.arange(k)] = U
        if o.design.intercept:
            W[-1] = -o.mean[p.rows] * U
        A = np.vstack([self.root[:, None] * o.design.scores(W), np.sqrt(self.noise()) * np.eye(k)])
        w = U * lstsq(A, np.append(self.targets, np.zeros(k)), check_finite=False)[0]
        return w, self.center - float(o.mean[p.rows] @ w)

    def rounding(self) -> float:
        """A violation that may be nothing but rounding: the gradient is a sum of residuals over their variance."""
        noise = self.point.noise if self.objective.gaussian else 1.0
        return float(10 * np.finfo(float).eps * self.objective.size**2 / noise)

    def spread(self) -> np.ndarray:
        """K of the survivors: formed once, then cut down as weights are pruned."""
        o, rows = self.objective, self.point.rows
        if self.gram is None:
            self.gram = o.design.spread(o.s, o.mean[rows], rows)
        return self.gram

    def curvature(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The Hessian of the loss in units of U, on centred columns (without the intercept); their centre and total."""
        o, p = self.objective, self.point
        U = np.sqrt(p.gamma)
        if o.gaussian:
            return U[:, None] * self.spread() * (U / p.noise), o.mean[p.rows], o.total / p.noise
        omega = o.likelihood.curvature(p.P, o.s, 0, 0)
        total = max(float(omega.sum()), np.finfo(float).tiny)
        center = o.design.pull(omega[:, None], p.rows)[:, 0] / total * o.design.intercept
        return U[:, None] * o.design.spread(omega, center, p.rows) * U, center, total

    def bent(self, A: np.ndarray) -> np.ndarray:
        """The Hessian in units of U: the prior adds its bend, a learned noise -2/S v v^T, v = U pull."""
        o, p = self.objective, self.point
        A = A + np.diag(o.prior.bend_at(p.w, p.rows))
        if o.learn and p.noise > o.floor:
            v = np.sqrt(p.gamma) * p.pull
            A -= 2.0 / o.total * np.outer(v, v)
        return A

    def newton(self) -> bool:
        """A Newton step on the survivors where the objective is convex; returns whether one was taken.

        Where it is not, the slow part of a probit's EM are the latent scores: with the loss's own curvature and the
        prior's bound in place of its bend (which makes A + I of A + bend) the step is longer and still goes down.
        """
        o, p = self.objective, self.point
        if len(p.rows) > o.design.n or (o.gaussian and not len(p.rows)):
            return False
        A, center, total = self.curvature()
        slope = p.pull - p.w / p.gamma + (o.mean[p.rows] - center) * p.tilt
        if self.advance(self.bent(A), slope, center, total):
            return True
        return not o.gaussian and self.advance(A + np.eye(len(A)), slope, center, total, cut=True)

    def advance(self, A: np.ndarray, slope: np.ndarray, center: np.ndarray, total: float, cut: bool = False) -> bool:
        """Go to the minimum of a quadratic model if it is one, near, and lower; `cut` shortens a step too long."""
        o, p = self.objective, self.point
        U = np.sqrt(p.gamma)
        try:
            D = U * _cholesky_solve(A, U * slope)
        except LinAlgError:
            return False
        relative = D / p.w
        reach, length = float(np.abs(relative).max(initial=0.0)), 1.0
        if not o.prior.bend_at(p.w, p.rows).any():
            # Under a Laplace prior the model is exact until the first weight reaches zero and is pruned.
            length = 1.0 / max(1.0, float((-relative).max(initial=0.0)))
        elif reach > REACH:
            if not cut:
                return False
            length = REACH / reach
        w = np.where(-relative * length >= 1.0, 0.0, p.w + length * D)
        b = p.b + length * (p.tilt / total - float(center @ D)) * o.design.intercept
        return self.attempt(w, b)

    def attempt(self, w: np.ndarray, b: float, lenient: bool = False) -> bool:
        """Move, and stay only where the objective is lower, or the same up to rounding with a smaller violation.

        With `lenient`, as in EM, the violation may rise while the objective stays level.
        """
        before, gram, carried = self.point, self.gram, self.carried
        self.move(w, b)
        gain = before.value + carried - self.point.value - self.carried
        rounding = ROUNDING * max(1.0, abs(before.value))
        if gain > rounding or (gain >= -rounding and (lenient or self.point.violation < before.violation)):
            return True
        self.point, self.gram, self.carried = before, gram, carried
        return False

    def polish(self) -> None:
        """A few more Newton steps, which cost little, so that the result does not depend on the start."""
        for _ in range(5):
            before = self.point.violation
            if before <= POLISHED or not self.newton():
                break
            self.note()
            if self.point.violation > 0.5 * before:
                break

    def leave_saddle(self) -> bool:
        """Where EM came to rest on a saddle, as it does between equal columns, step off it downhill."""
        o, p = self.objective, self.point
        if not 1 < len(p.rows) <= o.design.n or not o.prior.bend_at(p.w, p.rows).any():
            return False
        value, vector = eigh(self.bent(self.curvature()[0]), subset_by_index=[0, 0], check_finite=False)
        if value[0] >= -1e-6:
            return False
        v = vector[:, 0]
        v *= np.sign(v[np.argmax(np.abs(v) > 0.5 * np.abs(v).max())])  # the first of the weights concerned grows
        return self.attempt(p.w * (1 + REACH * v), p.b - float(o.mean[p.rows] @ (REACH * v * p.w)))


def revived(objective: MixturePosterior, w: np.ndarray, G: np.ndarray, l1: np.ndarray, b: float) -> Start:
    """The survivors, and zeros that violate their condition with a first value: one step each, averaged.

    Parameters
    ----------
    w, G, l1 : ndarray of shape (d,)
        Weights of all columns, the gradient of the loss in them, and the strengths of their Laplace priors.
    """
    w = w.copy()
    push = np.where((w == 0) & (objective.norm > 0), np.maximum(np.abs(G) - l1, 0.0), 0.0)
    moved = np.flatnonzero(push)
    curvature = objective.likelihood.bound * objective.norm[moved] ** 2
    w[moved] = -np.sign(G[moved]) * push[moved] / curvature / max(1, len(moved))
    rows = np.flatnonzero(w)
    return Start(rows, w[rows], b - float(objective.mean[moved] @ w[moved]))


def _cholesky_solve(A: np.ndarray, g: np.ndarray) -> np.ndarray:
    """A^-1 g; older releases of SciPy refuse systems without unknowns."""
    return cho_solve(cho_factor(A, check_finite=False), g, check_finite=False) if len(g) else g


def _inverse_above_one(A: np.ndarray) -> np.ndarray:
    """A^-1 of a matrix whose eigenvalues are at least 1, also where rounding has put some of them below 0."""
    try:
        return _cholesky_solve(A, np.eye(len(A)))
    except LinAlgError:
        values, vectors = eigh(A)
        return (vectors / np.maximum(values, 1.0)) @ vectors.T


class Spread(NamedTuple):
    """Covariance of the kept weights given the data and the variances, about the weighted mean of the columns.

    A score varies by ``(phi - center)^T covariance (phi - center) + level``; level is the intercept's share.
    """

    covariance: np.ndarray
    center: np.ndarray
    level: float


def spread(design: Design, omega: np.ndarray, gamma: np.ndarray, rows: np.ndarray) -> Spread:
    """U (I + U K U)^-1 U, K = Phi^T diag(omega) Phi on omega-centred columns: the inverse of K + diag(gamma)^-1."""
    total = max(float(omega.sum()), np.finfo(float).tiny)  # offsets of a million may leave no curvature at all
    center = design.pull(omega[:, None], rows)[:, 0] / total * design.intercept
    A = design.spread(omega, center, rows)
    U = np.sqrt(np.where(np.isinf(gamma), FLAT / np.maximum(np.diag(A), FLAT * np.finfo(float).tiny), gamma))
    A = U[:, None] * A * U
    A.flat[:: len(A) + 1] += 1.0
    covariance = U[:, None] * _inverse_above_one(A) * U
    return Spread((covariance + covariance.T) / 2, center, 1.0 / total if design.intercept else 0.0)
