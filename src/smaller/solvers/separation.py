"""Does a maximum of the likelihood exist? Not where unpenalised columns separate the classes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from ..design import host
from ..likelihoods import Multinomial
from ..objective.posterior import Posterior

# Where no probability is below this, the weights have not diverged, and the linear program is not solved.
SUSPICIOUS = 1e-7
LARGEST_PROGRAM = 5_000_000


def separates(objective: Posterior, P: np.ndarray, known: dict[str, float] | None = None) -> bool:
    """Whether some direction of the free weights never lowers, and somewhere raises, a sample's own class.

    Asked only when the probability of a class that is not a sample's own is suspiciously near 0; answered by the linear
    program of Albert & Anderson (1984), maximise the summed margins with each in [0, 1]. Where that is too large to
    solve, only a fit that already puts every sample in its own class counts. The optimum of the program is the same
    whatever the probabilities and the strengths: `known` keeps it from one question to the next.
    """
    if not isinstance(objective.likelihood, Multinomial) or not objective.free[: objective.design.d].any():
        return False
    Y, P = host(objective.Y), host(P)
    own = (Y * P).sum(axis=1)
    least = np.where(Y > 0, 1.0, P).min(initial=1.0)
    if objective.likelihood.reference:
        last, rest = Y.sum(axis=1) == 0, 1 - P.sum(axis=1)
        own += last * rest
        least = min(least, np.where(last, 1.0, rest).min(initial=1.0))
    if least > SUSPICIOUS:
        return False
    rows = np.flatnonzero(objective.free.any(axis=1))
    n, k = Y.shape
    if n * k * len(rows) * k > LARGEST_PROGRAM:
        return bool((own > 0.5).all())
    known = {} if known is None else known
    if "margin" not in known:
        known["margin"] = _best_margin(objective, rows)
    return known["margin"] > 1e-6


def _best_margin(objective: Posterior, rows: np.ndarray) -> float:
    """The optimum of the program over directions of the free weights, columns scaled to their largest entry."""
    k = objective.k
    unit = np.zeros((objective.shape[0], len(rows)))
    unit[rows, np.arange(len(rows))] = 1.0
    A, Y = host(objective.design.scores(unit)), host(objective.Y)
    A = A / np.maximum(np.abs(A).max(axis=0), np.finfo(float).tiny)
    labels = np.where(Y.any(axis=1), Y.argmax(axis=1), k)
    classes = k + objective.likelihood.reference  # type: ignore[union-attr]
    free = objective.free[rows].T.ravel()
    constraints = []
    for other in range(classes):
        chosen = np.flatnonzero(labels != other)
        M = np.zeros((len(chosen), k + 1, len(rows)))
        M[np.arange(len(chosen)), labels[chosen]] += A[chosen]
        M[np.arange(len(chosen)), other] -= A[chosen]
        constraints.append(M[:, :k].reshape(len(chosen), -1))
    M = np.concatenate(constraints)[:, free]
    bounds = [(-1, 1)] * M.shape[1]
    result = linprog(
        -M.sum(axis=0), A_ub=np.vstack([-M, M]), b_ub=np.r_[np.zeros(len(M)), np.ones(len(M))], bounds=bounds
    )
    return -result.fun if result.success else 0.0
