"""Laplace's approximation of the evidence log p(D): a Gaussian around the mode whose precision is the Hessian.

Directions without any effect on the likelihood (equal shifts of all classes) are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, eigh, eigvalsh
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from ..design import host
from ..errors import Status
from ..likelihoods import Multinomial
from ..objective.posterior import Posterior
from . import Solution
from .l1.newton import HESSIAN, newton
from .l1.start import nearer
from .smooth import smooth, solve_semidefinite

LOG_2PI = float(np.log(2 * np.pi))
RANGE = (1e-10, 1e4)  # of the ridge, relative to the curvature of the data
STEP = 2 * np.log(10)  # of the search for its logarithm, narrower than a maximum of the evidence is wide
FEW = 30  # Newton steps from the optimum of another strength, before another start is tried
LARGEST = 6000  # unknowns up to which a determinant is computed


def marginal_evidence(objective: Posterior, W: np.ndarray, F: np.ndarray, whole: bool = False) -> float:
    """log p(D) of SBMLR: strength integrated out, weights by Laplace's method (Cawley et al. 2006, section 2.1.2).

    E_D + N log S - log Gamma(N) + N log 2 - sum log c + 1/2 log|A| - r/2 log 2 pi is its negative, with N, S and the
    penalty factors c of the non-zero weights, and A, of rank r, the Hessian of E_D in them and the free weights. The
    paper leaves the prior out of A; ``whole`` takes ``A - lam^2 / N c c^T``, the Hessian of all of M. Free columns have
    a flat prior, so that only models with the same ones can be compared. Without any weight this is their evidence.
    """
    active = np.where(objective.l1 > 0, W != 0, True)
    loss, A = objective.curvature_on(W, F, active)
    log_volume, rank = log_determinant(A, _shifts(objective, active))
    value = loss + (log_volume - rank * LOG_2PI) / 2
    factor = (objective.l1 / objective.prior.l1).T[active.T]
    N = int(np.count_nonzero(factor))
    if N == 0:
        return -value
    c = factor * np.sign(W.T[active.T])
    S = float((factor * np.abs(W.T[active.T])).sum())
    value += N * np.log(2 * S) - gammaln(N) - float(np.log(factor[factor > 0]).sum())
    if whole:
        left = 1.0 - N / S**2 * float(c @ solve_semidefinite(A, c))
        value += np.log(left) / 2 if left > 0 else np.inf
    return -float(value)


def ridge_evidence(objective: Posterior, W: np.ndarray, F: np.ndarray) -> float:
    """log p(D) of a normal prior: -[F(W) - 1/2 sum log l2 + 1/2 log|H|], with a broad prior on the free weights.

    A flat one would favour weak priors without limit where the classes are separable, since the intercepts that
    separate them spread with the weights. A free weight is as broad as the scores: of variance (1 + v) / mean(x^2), v
    the prior variance of the scores; only its density at the mode counts.
    """
    every = np.ones(objective.shape, dtype=bool)
    shifts = _shifts(objective, every)
    penalised = objective.l2 > 0
    log_prior = float(np.log(objective.l2[penalised]).sum())
    d = objective.design.d
    if _by_samples(objective):
        P, _, loss = objective.likelihood.fit(F, objective.Y, objective.s)
        log_volume = log_prior + _through_samples(objective, P)
    else:
        least = objective.l2[penalised].min(initial=np.inf)
        loss, H = objective.curvature_on(W, F, every)
        log_volume, _ = log_determinant(H, shifts, least if penalised[:d].all() else 0.0)
    spread = _log_spread(objective, len(shifts))
    return -float(loss + objective.penalty(W) + (log_volume - log_prior + spread) / 2)


def _log_spread(objective: Posterior, shifts: int) -> float:
    """Sum of the log variances of the free weights; each row that can shift has one class less."""
    moments, total = objective.design.moments(objective.s), objective.total
    penalised = objective.l2 > 0
    precision = np.where(penalised, objective.l2, np.inf)
    variance = float((moments.spread[:, None] / total / precision).sum()) / objective.k
    rows = np.flatnonzero(~penalised.all(axis=1))
    mean_square = np.maximum(moments.second(total)[rows] / total, np.finfo(float).tiny)
    freedom = np.count_nonzero(~penalised[rows], axis=1) - (1 if shifts else 0)
    return float((freedom * np.log((1.0 + variance) / mean_square)).sum())


def most_evident_ridge(objective: Posterior, W: np.ndarray, tol: float, max_iter: int) -> Solution:
    """The ridge fit whose strength maximises its evidence (MacKay 1992), searched over log(lam).

    ``extra`` has the strength and the evidence; the strength stays within RANGE of the curvature of the data.
    """
    unknowns = objective.k * (objective.design.n if _by_samples(objective) else objective.design.d)
    largest = HESSIAN if objective.remote else LARGEST
    if unknowns > largest:
        raise ValueError(
            f"The evidence needs the determinant of {unknowns} unknowns, more than {largest}; choose lam by "
            "cross-validation (GridSearchCV), or a basis with fewer columns."
        )
    second = objective.design.moments(objective.s).second(objective.total)[: objective.design.d]
    unit = objective.prior.with_ridge(1.0).strengths(objective.design.d, objective.k)[1]
    row, klass = np.nonzero((second[:, None] > 0) & (unit > 0))
    # Where every column is 0 or without a penalty, the evidence is the same at every strength.
    natural = float(np.median(second[row] / unit[row, klass])) / 4 if len(row) else 1.0
    found: dict[float, Solution] = {}

    def fit(x: float) -> Solution:
        nearest = min(found, key=lambda y: abs(y - x), default=None)
        problem = objective.with_prior(objective.prior.with_ridge(float(np.exp(x))))
        solution = _ridge_fit(problem, W if nearest is None else found[nearest].weights, min(tol, 1e-10), max_iter)
        evidence = ridge_evidence(problem, solution.weights, solution.scores)
        found[x] = solution._replace(n_iter=len(found) + 1, extra={"lam": float(np.exp(x)), "evidence": evidence})
        return found[x]

    def cost(x: float) -> float:
        return -fit(x).extra["evidence"]

    best = _least(cost, *(np.log(natural) + np.log(RANGE)))
    # Further digits of the strength would depend on the order of the samples: the evidence is flat here.
    return fit(float(np.log(float(f"{np.exp(best):.3g}"))))


def _ridge_fit(problem: Posterior, W: np.ndarray, tol: float, max_iter: int) -> Solution:
    """From the optimum W of another strength, or, where large offsets make that no good start, from a better one."""
    if problem.remote:
        return newton(problem, W, tol, max_iter)
    solution = smooth(problem, W, tol, min(FEW, max_iter))
    if solution.status is not Status.MAX_ITER or max_iter <= FEW:
        return solution
    start, _ = nearer(problem, solution.weights, solution.scores)
    return smooth(problem, start, tol, max_iter - FEW)


def _least(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a cost of log(lam) is least; a ridge that leaves nothing is a local minimum, so coarse steps come first."""
    steps = np.linspace(high, low, 1 + round((high - low) / STEP))
    place = int(np.argmin([cost(float(x)) for x in steps]))
    bounds = steps[min(place + 1, len(steps) - 1)], steps[max(place - 1, 0)]
    return float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x)


def _through_samples(objective: Posterior, P: np.ndarray) -> float:
    """log|H| - sum log l2 by an n k x n k determinant: |A_bb| |I + L^T C L|, L L^T = Phi diag(1/l2) Phi^T by classes.

    C is the curvature in the scores, less what the intercepts take up: C - C B (B^T C B)^-1 B^T C.
    """
    n, d, k = objective.design.n, objective.design.d, objective.k
    blocks = np.zeros((k, n, k, n))
    for left in range(k):
        for right in range(k):
            blocks[left, range(n), right, range(n)] = host(objective.likelihood.curvature(P, objective.s, left, right))
    border, C = blocks.sum(axis=3).reshape(n * k, k), blocks.reshape(n * k, n * k)  # the first is C B
    total = 0.0
    if objective.design.intercept:
        free = objective.free
        A = objective.hessian_on(P, free)
        total, _ = log_determinant(A, _shifts(objective, free))
        C -= border @ np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ border.T
    for klass in range(k):
        if klass == 0 or (objective.l2[:d, klass] != objective.l2[:d, klass - 1]).any():
            gamma = 1.0 / objective.l2[:d, klass]
            values, vectors = eigh(objective.design.outer(np.ones(n), np.zeros(d), gamma, np.arange(d)))
            L = vectors * np.sqrt(np.maximum(values, 0.0))
        block = slice(klass * n, (klass + 1) * n)
        C[:, block] = C[:, block] @ L
        C[block] = L.T @ C[block]
    C.flat[:: len(C) + 1] += 1.0
    return total + log_determinant(C, [], 1.0)[0]


def _by_samples(objective: Posterior) -> bool:
    """Whether the determinant is smaller in the samples than in the columns."""
    fewer = objective.design.n < objective.design.d and not objective.remote
    return fewer and bool((objective.l2[: objective.design.d] > 0).all())


def _shifts(objective: Posterior, active: np.ndarray) -> list[np.ndarray]:
    """Where the weights of each free row stand in the Hessian, if equal shifts of all classes change nothing."""
    if not isinstance(objective.likelihood, Multinomial) or objective.likelihood.reference:
        return []
    position = np.cumsum(active.T.ravel()).reshape(active.T.shape).T - 1
    return [position[row] for row in np.flatnonzero(objective.free.all(axis=1) & active.all(axis=1))]


def log_determinant(A: np.ndarray, shifts: list[np.ndarray], least: float = 0.0) -> tuple[float, int]:
    """log of the product of the non-zero eigenvalues, and their number; each shift is a known null vector.

    Where all but the shifts are known to be at least ``least``, none is taken for 0.

    Adding t 1 1^T along a null vector of k ones multiplies the product by t k.
    """
    A = A.copy()
    extra = 0.0
    for where in shifts:
        t = max(float(np.diag(A)[where].mean()), np.finfo(float).tiny) / len(where)
        A[np.ix_(where, where)] += t
        extra += np.log(t * len(where))
    # A diagonal entry that rounding has made smaller than its row allows must not blow the others up.
    largest = np.maximum(A.max(axis=1, initial=0.0), -A.min(axis=1, initial=0.0))
    unit = np.sqrt(np.maximum(np.diag(A), np.maximum(np.finfo(float).eps * largest, np.finfo(float).tiny)))
    A /= unit  # in place: with thousands of weights a matrix is half a gigabyte
    A /= unit[:, None]
    try:
        pivots = np.diag(cho_factor(A)[0]) if len(A) else np.ones(0)
        if pivots.min(initial=1.0) > 1e-7:
            return float(2 * np.log(unit * pivots).sum() - extra), len(A) - len(shifts)
    except LinAlgError:
        pass
    A *= unit
    A *= unit[:, None]
    values = eigvalsh(A)
    rounding = len(A) * np.finfo(float).eps * values[-1]
    values = np.maximum(values, least) if least > 0 else values[values > rounding]
    return float(np.log(values).sum() - extra), len(values) - len(shifts)
