"""Least squares with a Laplace prior: at a known noise by a certified solver or by EM, and with the noise learned.

With the strength in units of the noise, ``lam |w| / sigma``, and ``sigma^2 = |y - F|^2 / S``, weights and noise
together minimise the convex ``|y - F|^2 / (2 sigma) + S sigma / 2 + lam |w|`` (the scaled lasso of Sun and Zhang 2012);
with the strength in absolute units each step raises the joint posterior of Figueiredo (2003). All of that holds for any
norm in place of ``|w|``, such as those of groups, and for k targets of one noise, whose samples count k times. A ridge
in units of the noise, ``l2 |w|^2 / (2 sigma^2)``, is convex with sigma as the residuals are, and counts as they do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import Status
from ...likelihoods import Gaussian
from ...objective.mixture import MixturePosterior
from ...objective.posterior import Posterior
from ...objective.sample import Sample
from ...priors import ElasticNet, Laplace, laplace_mixture
from ..l1.newton import newton
from ..l1.warm_path import null_point
from ..smooth import settle, solve_semidefinite
from ..solution import History, Solution, Step
from .expectation_maximisation import revived, reweighted
from .ridge_start import Ridge, Start

ROUNDS = 200
LEAST = 1e-8  # of the target's variance: below, the lasso interpolates and is hard to solve
FARTHER = np.log(10.0)  # of log noise in one step: far below the optimum, rounding leaves no certificate
REVIVALS, FINEST = 100, 1e-13
SPENT = 0.75  # a noise that still halves when this share of the degrees of freedom is spent goes to 0


class Standardised:
    """The problem in units of the targets' deviation from their means, one unit for all targets.

    Parameters
    ----------
    sample : Sample
        With targets Y (n, k).
    prior : ElasticNet
        With units of the columns its strength is in these and in units of the noise, else absolute.
    """

    def __init__(self, sample: Sample, prior: ElasticNet):
        self.sample, self.prior, design, s = sample, prior, sample.design, sample.weight
        Y, size = sample.Y, s.sum() * sample.k
        self.center = s @ Y / s.sum() * design.intercept
        self.variance = float((s @ (Y - self.center) ** 2).sum() / size)
        if not self.variance > 1e-28 * float(self.center @ self.center) / sample.k:
            self.variance = 0.0  # of constants, only rounding
        self.unit = np.sqrt(self.variance) or 1.0
        self.Y = np.asfortranarray((Y - self.center) / self.unit) if self.variance else np.zeros(Y.shape, order="F")

    def pose(self, noise: float) -> Posterior:
        """The objective at a noise."""
        scale, d = self.prior.scale, self.sample.design.d
        prior = self.prior.with_scale(np.full(d, self.unit) if scale is None else scale / np.sqrt(noise))
        return Posterior(self.sample.design, self.Y, Gaussian(noise), prior, self.sample.weight)

    def largest_strength(self, noise: float | None) -> float:
        """The strength from which on every weight under an L1 term or a norm is 0; with None at the learned noise."""
        if not self.variance:
            return 0.0
        known = 1.0 if noise is None else noise / self.unit**2
        point = null_point(self.pose(known))
        if noise is None:
            known = _mean_square(self.pose(1.0), point.W, point.F, self.prior.scale is not None)
        return self.pose(known).largest_strength(null_point(self.pose(known))) if known > 0 else 0.0


def laplace(
    sample: Sample,
    prior: ElasticNet,
    noise: float | None,
    solver: Callable[..., Solution],
    tol: float,
    max_iter: int,
) -> Solution:
    """Regression with a Laplace prior, alone or of groups; with None the noise, one for all targets, is learned.

    ``extra["gamma"]`` has for each kept column and target the variance of a normal prior that has the same slope and
    lies below: 1 / (l1 / |w| + l2 + tau / ||W_g||), in the units of the data; infinite without a penalty.
    """
    problem, design = Standardised(sample, prior), sample.design
    unit, variance = problem.unit, problem.variance
    if noise is None and variance > 0:
        solution = lasso(problem.pose, solver, tol, max_iter, 1.0, convex=prior.scale is not None)
        objective = problem.pose(solution.extra["noise"])
    else:
        objective = problem.pose(1.0 if noise is None else noise / unit**2)
        solution = solver(objective, objective.start(), tol, max_iter)
    kept = np.flatnonzero(solution.weights[: design.d].any(axis=1))
    gamma = unit**2 * _variances(objective, solution.weights)[kept]
    W = unit * solution.weights
    if design.intercept:
        W[-1] += problem.center
    known = objective.likelihood.noise * unit**2 if noise or variance else 0.0
    return solution._replace(weights=W, extra={"noise": known, "gamma": gamma})


def _variances(objective: Posterior, W: np.ndarray) -> np.ndarray:
    """The variances of the normal priors that touch the prior at each weight (d, k) that is not 0; else 0."""
    d = objective.design.d
    W, l1 = W[:d], objective.l1[:d]
    slope = np.divide(l1, np.abs(W), out=np.zeros_like(W), where=W != 0) + objective.l2[:d]
    if objective.blocks is not None:
        slope += objective.blocks.precision(W)[:, None]
    with np.errstate(divide="ignore"):
        return np.where(W != 0, 1 / slope, 0.0)


def _mean_square(objective: Posterior, W: np.ndarray, F: np.ndarray, convex: bool) -> float:
    """The noise that these weights ask for: the mean square of the residuals, a ridge in its units with them."""
    square = float((objective.s @ (F - objective.Y) ** 2).sum())
    if convex and objective.ridged:
        square += objective.likelihood.noise * float((objective.l2 * W * W).sum())
    return square / (objective.s.sum() * objective.k)


def lasso(
    pose: Callable[[float], Posterior],
    solver: Callable[..., Solution],
    tol: float,
    max_iter: int,
    first: float,
    convex: bool = True,
) -> Solution:
    """Alternate between the weights, solved to a relative duality gap of tol, and the noise, until it moves no more.

    Parameters
    ----------
    pose : function
        From the noise to the objective.
    first : float
        The noise to begin with, from above: the target's variance.
    convex : bool
        Whether noise and weights have one optimum together, so that steps of the noise may be lengthened.
    """
    noise, best, objective, missed, fine, collapsed = first, first, pose(first), np.inf, 1e-2, False
    W, value, n_iter = objective.start(), 0.0, 0
    size = objective.s.sum() * objective.k
    history: list[Step] = []
    moves: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        if moves:
            noise = max(float(np.exp(_secant(moves))), LEAST * first) if convex else best
            objective = pose(noise)
            fine = max(tol, min(1e-2, _resolving(missed, value, size)))
        solution = solver(objective, W, fine, max_iter)
        W, value, n_iter = solution.weights, solution.objective, n_iter + solution.n_iter
        history += solution.history
        best = max(_mean_square(objective, W, solution.scores, convex), LEAST * first)
        missed = abs(best / noise - 1.0)
        if (missed <= tol and fine <= tol) or solution.status is not Status.CONVERGED:
            break
        if best < noise / 2 and np.count_nonzero(W[: objective.design.d]) > SPENT * size:
            collapsed = True
            solution = solver(objective, W, tol, max_iter)
            break
        moves.append((np.log(noise), np.log(best / noise)))
    status = solution.status if missed <= tol else Status.MAX_ITER
    if collapsed or best <= LEAST * first:
        status = Status.COLLAPSED
    violation = max(solution.violation, missed)
    extra = {"noise": noise}
    return solution._replace(status=status, violation=violation, n_iter=n_iter, history=history, extra=extra)


def _resolving(missed: float, value: float, total: float) -> float:
    """A relative gap that leaves a third of the noise's change unsure: weights for a noise to come need not be exact.

    Scores of a gap g of the objective are within sqrt(2 noise g value) of the best, the residual is about
    sqrt(noise total): the mean square is known to a part 2 sqrt(2 g value / total).
    """
    return 0.01 * missed**2 * total / max(value, total)


def _secant(moves: list[tuple[float, float]]) -> float:
    """The next log noise: a plain step, lengthened as the last two suggest, but no farther than a factor of 10."""
    at, move = moves[-1]
    if len(moves) > 1 and moves[-2][0] != at:
        before, earlier = moves[-2]
        rate = 1.0 + (move - earlier) / (at - before)  # how much of a change of the noise survives a round
        if rate > 0:
            longer = move * rate / max(1.0 - rate, 0.01)  # a noise that falls at a constant rate goes to 0
            return at + move + float(np.clip(longer, -FARTHER, FARTHER))
    return at + move


def universal_strength(total: float, columns: int) -> float:
    """sqrt(2 S log d): the largest of d standardised columns' products with pure noise of variance 1 is about this."""
    return float(np.sqrt(2 * total * np.log(max(columns, 2))))


def universal_group_strength(total: float, sizes: np.ndarray, factors: np.ndarray, targets: int) -> float:
    """sqrt(S) max_g (sqrt(|g| k) + sqrt(2 log G)) / c_g: the same of G groups of uncorrelated columns, k targets."""
    lengths = np.sqrt(sizes * targets) + np.sqrt(2 * np.log(max(len(sizes), 2)))
    return float(np.sqrt(total) * (lengths / factors).max())


def screened_noise(objective: MixturePosterior, tol: float = 1e-4) -> float:
    """The noise that least squares leaves on the columns of a scaled lasso, where columns outnumber samples.

    The strength is sqrt(S log d): the universal one, over sqrt(2), lets in all columns that matter and a few more, and
    the refit, with its degrees of freedom counted, takes out the bias of the lasso.
    """
    o = objective
    count = int(np.count_nonzero(o.norm))
    first = o.size**2 / o.total
    if not count or first == 0:
        return max(first, o.floor)
    lam = universal_strength(o.total, count) / np.sqrt(2)
    scale = np.where(o.norm > 0, o.norm, 1.0) / np.sqrt(o.total)

    def pose(noise: float) -> Posterior:
        prior = Laplace(lam, scale=scale / np.sqrt(noise))
        return Posterior(o.design, o.Y, Gaussian(noise), prior, o.s, o.offset[:, None])

    solution = lasso(pose, newton, tol, 200, first)
    rows = np.flatnonzero(solution.weights[: o.design.d, 0])
    left = o.total - len(rows) - o.design.intercept
    if left < 1:
        return max(float(solution.extra["noise"]), o.floor)
    target = o.target(None)
    target = target - o.s @ target / o.total * o.design.intercept
    pull = o.design.pull((o.s * target)[:, None], rows)[:, 0]
    fitted = pull @ solve_semidefinite(o.design.spread(o.s, o.mean[rows], rows), pull)
    return max(float(o.size**2 - fitted) / left, o.floor)


def em(objective: Posterior, W: np.ndarray, tol: float, max_iter: int) -> Solution:
    """Figueiredo's EM for one column of weights under a Laplace prior, to a relative duality gap of tol.

    Zeros are absorbing, so the start is dense, and zeros that violate the optimality conditions get a value again.
    """
    if not isinstance(objective.likelihood, Gaussian) or not objective.l1[: objective.design.d].all():
        raise ValueError("EM needs a Gaussian likelihood and a Laplace prior on every column; use solver='newton'.")
    d, intercept = objective.design.d, objective.design.intercept
    mixed = MixturePosterior(
        objective.design, objective.Y[:, 0], objective.likelihood, laplace_mixture(1.0, objective.l1[:d, 0]),
        objective.s, objective.offset,
    )  # fmt: skip
    rows = np.flatnonzero(W[:d, 0])
    start = Start(rows, W[rows, 0], float(W[-1, 0]) if intercept else 0.0)
    start = start if len(rows) else Ridge(mixed).start(mixed.target(None))
    history, n_iter, fine = History(objective), 0, tol
    steps: list[Step] = []
    gaps: list[float] = []
    for _ in range(REVIVALS):
        solution = reweighted(mixed, start, fine, max_iter - n_iter)
        n_iter, steps = n_iter + solution.n_iter, steps + solution.history
        point = settle(objective, solution.weights, tol)
        gaps.append(point.gap)
        if point.gap <= tol or n_iter >= max_iter or min(gaps[-10:]) > min(gaps):
            break
        W, l1 = point.W[:, 0], objective.l1[:d, 0]
        start = revived(mixed, W[:d], point.G[:d, 0], l1, float(W[-1]) if intercept else 0.0)
        fine = max(fine / 10, FINEST)
    history.note(point)
    # The mixture's posterior counts the noise, which is the same all the time.
    constant = mixed.total / 2 * np.log(mixed.likelihood.noise)
    history.steps = [*(step._replace(objective=step.objective - constant) for step in steps), *history.steps]
    missed = Status.MAX_ITER if n_iter >= max_iter else Status.STALLED
    return history.solution(point, tol, n_iter, missed)
