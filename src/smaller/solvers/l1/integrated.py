"""The L1 problem with its strength integrated out (Cawley, Talbot & Girolami 2006).

With a Jeffreys prior on the strength the criterion is, their eq. (4),

    M(W) = E_D(W) + N log S(W),   S = sum_jl c_jl |W_jl|,   N = number of non-zero penalised weights,

which is stationary where W is the optimum of the L1 problem of strength ``lam = N / S`` (eq. 5). It is not convex, so
the start is part of the answer. Both algorithms begin at the L1 optimum of a given strength and end with the ordinary
certificate of the L1 problem at the strength that they found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ... import progress
from ...errors import Status
from ...likelihoods import Multinomial
from ...objective.posterior import Point, Posterior
from ..smooth import confirm, settle
from ..solution import History, Solution
from ..symmetric_weights import canonical, lowered
from .start import newton_from

STEEPEST = 0.9  # slopes of log(N / S) in log(lam) above this are too near 1 to be extrapolated
TRUSTED = 0.3  # changes of log(lam) above this are not extrapolated
ROUGH = 1e-2  # accuracy of the first L1 fits
FIT_PASSES = 50  # passes over the data that a rough L1 fit may take
PASSES_PER_FIT = 5  # passes that the fits may take on average, so that a user can foresee the work
UNSURE = 3.0  # error of log(N / S) in a fit of a given gap, in units of the gap's square root
SETTLED = 1e-10  # rounding does not let log(lam) settle better than this
EXACTLY = partial(newton_from, exact=True)  # so that the result depends on the path of strengths by rounding only
LOST = 1e-290  # the mean curvature of a row below which numbers lose their digits
LEAST_CURVATURE = 1e-6  # of a row, relative to its residual, in the steps of the paper's algorithm
# Ends of an L1 fit after which other strengths do no better: rounding, separated classes, too many passes.
HOPELESS = (Status.STALLED, Status.SEPARABLE, Status.MAX_ITER)
FARTHEST = 230.0  # longest step of log(lam): a strength a hundred powers of ten away comes of rounding errors
JUMP_WIDTH = 1e-6  # interval of log(lam) within which a change of sign counts as a jump


class Size(NamedTuple):
    """How many weights under the prior are not 0, and the weighted sum of their absolute values."""

    N: int
    S: float


def size(objective: Posterior, W: np.ndarray) -> Size:
    """N and S of canonical weights.

    Under groups the shift that all classes share is fixed by the norms, so that a row of W counts one weight less than
    there are classes in a symmetric softmax.
    """
    if objective.blocks is None:
        active = (W != 0) & (objective.l1 > 0)
        factor = objective.l1[active] / objective.prior.l1
        return Size(int(active.sum()), float((factor * np.abs(W[active])).sum()))
    active, most = (W != 0) & ~objective.free, objective.k - _is_symmetric(objective)
    return Size(int(np.minimum(active.sum(axis=1), most).sum()), objective.penalty(W) / objective.prior.l1)


def _is_symmetric(objective: Posterior) -> bool:
    return isinstance(objective.likelihood, Multinomial) and not objective.likelihood.reference


def represented(objective: Posterior, solution: Solution) -> Solution:
    """The solution with as few non-zero weights as shifts of a row allow, which change no score."""
    W, gain = _representative(objective, solution.weights)
    value, gap = map(float, lowered(solution.objective, solution.gap, gain))
    return solution._replace(weights=W, objective=value, gap=gap)


def representative(objective: Posterior, W: np.ndarray) -> np.ndarray:
    """The weights with as few non-zeros as shifts of a row allow."""
    return _representative(objective, W)[0]


def _representative(objective: Posterior, W: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights with as few non-zeros as shifts of a row allow, and by how much these lowered the penalty."""
    if not _is_symmetric(objective):
        return W, 0.0
    d, W = objective.design.d, W.copy()
    kept = np.unique(np.flatnonzero(W != 0) // objective.k)  # rows of zeros stay as they are
    kept = kept[objective.ungrouped[kept]]  # and those whose shift the norm of a group fixes
    W[kept], gains = canonical(W[kept], objective.l1[kept], objective.l2[kept], int(np.count_nonzero(kept < d)))
    return W, float(gains.sum())


# -- The fixed point


class Visit(NamedTuple):
    """One L1 fit of the search: its strength, its tolerance, and log(N / S) - log(lam) of its weights."""

    lam: float
    accuracy: float
    solution: Solution
    N: int
    change: float


def fixed_point(
    objective: Posterior,
    W: np.ndarray,
    tol: float,
    max_iter: int,
    lam: float,
    solve: Callable[..., Solution] = EXACTLY,
) -> Solution:
    """Solve the L1 problem, set lam to N / S, and again, until neither changes; secant steps speed up the end.

    Between a strength that asks for a greater one and a greater one that asks for a smaller the next is taken halfway
    if need be. If these close in on a jump of N (a weight that appears there asks for more than its absence), there
    is no fixed point: the side of the smaller M is kept. There are at most max_iter fits, which together read the data
    at most ``FIT_PASSES + PASSES_PER_FIT * max_iter`` times; the last one is always asked for tol.
    ``extra["lams"]`` are the strengths tried.
    """
    search, settled = _Search(), max(tol, SETTLED)
    visits: list[Visit] = []
    previous, scores, accuracy = lam, None, max(tol, ROUGH)
    passes = FIT_PASSES + PASSES_PER_FIT * max_iter
    while True:
        last = len(visits) + 1 >= max_iter or passes <= FIT_PASSES
        accuracy = tol if last else accuracy
        screen = 2.0 - previous / lam if previous > lam else 1.0
        problem = objective.with_strength(lam)
        allowed = passes if last else passes - FIT_PASSES  # FIT_PASSES are reserved for the last fit
        allowed = allowed if accuracy == tol else min(allowed, FIT_PASSES)
        solution = represented(problem, solve(problem, W, accuracy, allowed, screen, scores))
        W, scores, passes = solution.weights, solution.scores, passes - solution.n_iter
        N, S = size(problem, W)
        change = float(np.log(N) - np.log(S) - np.log(lam)) if N else 0.0
        visits.append(Visit(lam, accuracy, solution, N, change))
        progress.tell(f"L1 fit {len(visits)} at strength {lam:.4g}: {N} weights")
        rests = abs(change) <= settled or search.closed()
        rough = accuracy > tol and not (N == 0 and solution.gap <= tol)
        done = last or (rests and not rough) or abs(change) > FARTHEST
        if done or solution.status in HOPELESS:
            break
        sure = accuracy == tol or abs(change) > UNSURE * np.sqrt(accuracy)
        step = 0.0 if rests else search.step(np.log(lam), change, np.sign(W), sure)
        finer = tol if rests or search.narrow() else min(accuracy if sure else 0.1 * accuracy, change**2)
        if finer <= tol < accuracy:
            search.forget()
        previous, lam, accuracy = lam, lam * float(np.exp(step)), max(finer, tol)
    return _outcome(objective, visits, tol, settled, search.closed())


class _Search:
    """Steps of x = log(lam) towards f(x) = log(N / S) - x = 0."""

    def __init__(self) -> None:
        self.below, self.above = -np.inf, np.inf  # f > 0 at the first, f < 0 at the second
        self.rough = -np.inf, np.inf  # bounds found by rough fits, to be checked by exact ones
        self.last: tuple[float, float, np.ndarray] | None = None  # x, f(x) and the signs of the weights there

    def closed(self) -> bool:
        """Whether a jump has been enclosed where a root should be."""
        return self.above - self.below <= JUMP_WIDTH

    def narrow(self) -> bool:
        """Whether the interval is so narrow that fits must be exact."""
        return self.above - self.below <= 100 * JUMP_WIDTH

    def forget(self) -> None:
        """Drop the bounds that rough fits found; a step beyond one of them first goes there, for an exact fit."""
        self.rough = self.below, self.above
        self.below, self.above = -np.inf, np.inf

    def step(self, x: float, f: float, signs: np.ndarray, sure: bool = True) -> float:
        """The next change of x: f itself, its secant where the slope allows one, or half of the interval."""
        if sure and f > 0:
            self.below, self.above = x, self.above if self.above > x else np.inf
        elif sure:
            self.above, self.below = x, self.below if self.below < x else -np.inf
        step = self._to_rough_bound(x, self._secant(x, f, signs))
        self.last = x, f, signs
        halfway = (self.below + self.above) / 2 - x
        # The half step is used only where the interval is finite and the step would leave it.
        return step if self.below < x + step < self.above or not np.isfinite(halfway) else halfway

    def _to_rough_bound(self, x: float, step: float) -> float:
        """The step, or the way to the bound of the rough fits that it would pass; each is looked at once."""
        below, above = self.rough
        if x < above < x + step:
            self.rough = below, np.inf
            return above - x
        if x + step < below < x:
            self.rough = -np.inf, above
            return below - x
        return step

    def _secant(self, x: float, f: float, signs: np.ndarray) -> float:
        """f itself is the plain step; where the support stays the same the slope of the curve is known as well."""
        if self.last is None or x == self.last[0] or abs(f) > TRUSTED or not np.array_equal(signs, self.last[2]):
            return f
        past, before, _ = self.last
        slope = 1.0 + (f - before) / (x - past)
        return f / (1.0 - slope) if slope < STEEPEST else f


def _outcome(objective: Posterior, visits: list[Visit], tol: float, settled: float, jump: bool) -> Solution:
    """The last strength, or the better of the two sides of a jump, with what was seen on the way."""
    kept = visits[-1]
    status = kept.solution.status
    if kept.N and not abs(kept.change) <= settled and status not in HOPELESS:
        status = Status.WANDERING
        if jump:
            exact = [visit for visit in reversed(visits) if visit.accuracy == tol and visit.N]
            sides = [next((visit for visit in exact if (visit.change > 0) == up), kept) for up in (True, False)]
            # A group shrinks to 0 continuously, and M of two supports cannot be compared: the side without it is kept.
            grouped = objective.blocks is not None
            kept = (
                sides[1] if grouped else min(sides, key=lambda visit: criterion(objective, visit.lam, visit.solution))
            )
            status = Status.JUMP if kept.solution.gap <= tol else kept.solution.status
    history = [step for visit in visits for step in visit.solution.history]
    extra = {"lam": kept.lam, "lams": [visit.lam for visit in visits]}
    return kept.solution._replace(status=status, n_iter=len(visits), history=history, extra=extra)


def criterion(objective: Posterior, lam: float, solution: Solution) -> float:
    """M, eq. (4), at the L1 optimum of strength lam; infinite for the empty model, which has none."""
    N, S = size(objective, solution.weights)
    return solution.objective - lam * S + N * np.log(S) if N else np.inf


# -- The paper's own algorithm


def steepest(objective: Posterior, W: np.ndarray, tol: float, max_iter: int, lam: float) -> Solution:
    """Newton steps on one weight at a time, the one with the steepest effective gradient (section 2.2 of the paper).

    A step that would turn a sign stops at 0; lam is N / S after every step; the active weights move until they rest,
    then the steepest of all is let in. Unlike the paper's, the step is that of the regularised loss and is halved until
    that loss falls, and intercepts follow every step. It starts at the L1 optimum of the strength given.
    """
    W = EXACTLY(objective.with_strength(lam), W, tol, 200).weights
    F, rest = None, tol
    history, status, criteria = History(objective), Status.WANDERING, []
    for _ in range(max_iter + 1):
        W = representative(objective, W)
        N, S = size(objective, W)
        lam = N / S if N else lam
        problem = objective.with_strength(lam)
        point = settle(problem, W, tol, F)
        criteria.append(point.value - lam * S + N * float(np.log(S)) if N else np.inf)
        if not N:  # no strength follows from no weights: it is one at which they vanish
            lam = max(lam, objective.largest_strength(point))
            problem = objective.with_strength(lam)
            point = settle(problem, point.W, tol, point.F)
            status = Status.STALLED
        if point.gap <= tol or not N:
            break
        if not np.isfinite(point.gap):  # the free weights have no reachable optimum, so that there is no certificate
            status = Status.STALLED
            break
        at = _steepest_weight(problem, point, rest)
        if at is None:
            rest *= 0.1
            continue
        W, F = _single_step(problem, point, *at)
    point = confirm(problem, point, tol)
    history.note(point)
    history.objective = problem
    return history.solution(point, tol, len(criteria) - 1, status, lam=lam, criteria=criteria)


def _steepest_weight(problem: Posterior, point: Point, rest: float) -> tuple[int, int] | None:
    """Row and class of the penalised weight that is furthest from its optimum: an active one unless they all rest."""
    residuals = np.where(problem.l1 > 0, point.residuals, 0.0)
    active = np.where(point.W != 0, residuals, 0.0)
    steepness = active if active.max() > rest else residuals
    row, klass = np.unravel_index(int(steepness.argmax()), steepness.shape)
    return (int(row), int(klass)) if steepness[row, klass] > rest else None


def _single_step(problem: Posterior, point: Point, row: int, klass: int) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step on one weight, its intercept following; halved until the regularised loss falls."""
    d, l1, old, G = problem.design.d, problem.l1[row, klass], point.W[row, klass], point.G[row, klass]
    slope = G + l1 * np.sign(old) if old else np.sign(G) * (abs(G) - l1)
    # Misclassified rows of extreme scores have no curvature, and a Newton step without it would be far too long.
    wrong = LEAST_CURVATURE * problem.s * np.abs(point.P[:, klass] - problem.Y[:, klass])
    omega = np.maximum(problem.likelihood.curvature(point.P, problem.s, klass, klass), wrong)
    K = problem.design.gram(omega, np.array([row, d] if problem.design.intercept else [row]))
    follow = -K[0, 1] / K[1, 1] if len(K) > 1 and K[1, 1] > LOST * problem.total else 0.0
    curvature = K[0, 0] + follow * K[0, -1] if len(K) > 1 else K[0, 0]
    curvature = max(curvature, LEAST_CURVATURE * K[0, 0])
    # A step that turns the sign stops at 0; with next to no curvature it would have no length that is a number.
    turns = slope * old > 0 and abs(slope) >= curvature * abs(old)
    full = old if turns or not curvature > 0 else slope / curvature
    D = np.zeros_like(point.W)
    for length in 0.5 ** np.arange(40):
        new = old - length * full
        D[row, klass] = -old if np.sign(old) * new < 0 else new - old
        if len(K) > 1:
            D[d, klass] = follow * D[row, klass]
        W, F = point.W + D, point.F + problem.design.scores(D)
        if problem.value(W, F) <= point.value + 1e-13 * abs(point.value):  # rounding hides the last small gains
            break
    return W, F


MARGINAL: dict[str, tuple[Callable[..., Solution], int]] = {
    "fixed-point": (fixed_point, 200),
    "component-wise": (steepest, 20_000),
}
