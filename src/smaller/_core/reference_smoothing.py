"""Newton steps on a quadratic model with smoothed norms of blocks, in NumPy: a twin of the compiled ones.

With each norm ||x|| replaced by sqrt(||x||^2 + e^2) the model is smooth everywhere, and e goes down by decades. The
steps are primal-dual ones (Chan, Golub & Mulet 1999): z = x / sqrt(||x||^2 + e^2) is a variable of its own.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

MOST_STEPS, HALVINGS = 15, 30
FULL = 0.2  # of a step: e goes down after steps at least as long
NEAR_ZERO = 3.0  # times e: blocks that are shorter end at 0
RIDGES = 1e-11 * 1e3 ** np.arange(3)  # keep the factor of collinear columns positive definite

Term = tuple[np.ndarray, float]  # places of weights, strength of their norm


def smoothed(H: np.ndarray, slope: np.ndarray, x: np.ndarray, terms: list[Term], most: float, least: float):
    """Weights near the minimum of slope.(y - x) + (y - x) H (y - x) / 2 + sum strength ||y_term||; x if none is lower.

    e goes from `most` to `least` times the longest term.
    """
    longest = max((float(np.linalg.norm(x[at])) for at, _ in terms), default=0.0)
    e, y, g = most * longest, x.copy(), slope.copy()
    if not e > 0:
        return x
    duals = [x[at] / _length(x[at], e) for at, _ in terms]
    for _ in range(MOST_STEPS):
        step, fall = _step(H, g, y, terms, duals, e)
        part = _part(H, g, y, step, fall, terms, e)
        if not part:
            break
        duals = [_turned(z, y[at], step[at], part, e) for z, (at, _) in zip(duals, terms, strict=True)]
        y, g = y + part * step, g + part * (H @ step)
        if part >= FULL and e <= least * longest:
            break
        e *= 0.1 if part >= FULL else 1.0
    for at, _ in terms:
        if np.linalg.norm(y[at]) <= NEAR_ZERO * e:
            y[at] = 0.0
    change = slope @ (y - x) + (y - x) @ H @ (y - x) / 2
    change += sum(tau * (np.linalg.norm(y[at]) - np.linalg.norm(x[at])) for at, tau in terms)
    return y if change < 0 else x


def _length(x: np.ndarray, e: float) -> float:
    return float(np.sqrt(x @ x + e * e))


def _step(H, g, y, terms, duals, e) -> tuple[np.ndarray, float]:
    """Newton's step with the dual vectors in the Hessian, and how fast the smoothed model falls along it."""
    pull, A = g.copy(), H.copy()
    for (at, tau), z in zip(terms, duals, strict=True):
        x, N = y[at], _length(y[at], e)
        pull[at] += tau / N * x
        A[np.ix_(at, at)] += tau / N * (np.eye(len(at)) - (np.outer(z, x) + np.outer(x, z)) / (2 * N))
    for ridge in RIDGES:
        try:
            factor = cho_factor(A + ridge * np.diag(np.diag(A)), lower=True)
        except LinAlgError:
            continue
        step = -cho_solve(factor, pull)
        return step, float(pull @ step)
    return np.zeros(len(y)), 0.0


def _part(H, g, y, step, fall, terms, e) -> float:
    """Which part of the step is taken, 0 where none lowers the smoothed model."""
    tilt, bend = float(g @ step), float(step @ H @ step) / 2
    for part in 0.5 ** np.arange(HALVINGS):
        norms = 0.0
        for at, tau in terms:  # from differences of their squares
            x, move = y[at], part * step[at]
            norms += tau * float(move @ (2 * x + move)) / (_length(x, e) + _length(x + move, e))
        if part * (tilt + part * bend) + norms <= 1e-4 * part * fall < 0:
            return float(part)
    return 0.0


def _turned(z, x, step, part, e) -> np.ndarray:
    """A dual vector follows its own linear equations, and stays in the unit ball."""
    N = _length(x, e)
    z = z + part * ((step - z * (x @ step) / N + x) / N - z)
    return z / max(1.0, float(np.linalg.norm(z)))
