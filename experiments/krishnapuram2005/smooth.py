"""General-purpose optimisers on the smoothed SMLR objective, as Section 5 of the paper describes them.

|w| is replaced by sqrt(w^2 + 1e-10); the weights are those of the reference parametrisation, without intercept.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

SMOOTHING = 1e-10


class Trace(NamedTuple):
    """How far an optimiser came: seconds to the target (None if never), its best objective, and seconds in all."""

    seconds_to_target: float | None
    objective: float
    seconds: float


class _TimeIsUpError(Exception):
    pass


def objective(W, H, Y, lam: float, smoothing: float = 0.0) -> float:
    """sum_i [logsumexp(F_i) - F_i,y_i] + lam sum sqrt(W^2 + smoothing), F = [H W, 0] (paper, eqs. 2 and 3).

    H is (n, d), W is (d, m - 1) and Y is (n, m), the one-hot labels with the reference class last.
    """
    F = _scores(W, H)
    return float((logsumexp(F, axis=1) - (F * Y).sum(axis=1)).sum() + lam * np.sqrt(W**2 + smoothing).sum())


def gradient(W, H, Y, lam: float, smoothing: float) -> np.ndarray:
    """Derivative of the objective in W, (d, m - 1)."""
    residual = softmax(_scores(W, H), axis=1) - Y
    return H.T @ residual[:, :-1] + lam * W / np.sqrt(W**2 + smoothing)


def _scores(W, H) -> np.ndarray:
    return np.column_stack([H @ W, np.zeros(len(H))])


def optimise(method: str, H, Y, lam: float, target: float, limit: float) -> Trace:
    """Run scipy's method ("CG", "BFGS") from 0 until it stops or ``limit`` seconds are over."""
    shape = (H.shape[1], Y.shape[1] - 1)
    start, reached, best = time.perf_counter(), None, np.inf

    def watch(w):
        nonlocal reached, best
        seconds = time.perf_counter() - start
        best = min(best, objective(w.reshape(shape), H, Y, lam))
        if reached is None and best <= target:
            reached = seconds
        if reached is not None or seconds > limit:
            raise _TimeIsUpError

    def value(w):
        return objective(w.reshape(shape), H, Y, lam, SMOOTHING)

    def slope(w):
        return gradient(w.reshape(shape), H, Y, lam, SMOOTHING).ravel()

    try:
        options = {"maxiter": 10**7, "gtol": 1e-9}
        minimize(value, np.zeros(np.prod(shape)), jac=slope, method=method, callback=watch, options=options)
    except _TimeIsUpError:
        pass
    return Trace(reached, best, time.perf_counter() - start)
