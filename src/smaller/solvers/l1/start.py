"""Where a fit begins: at weights of zero, or, where offsets are large, near the optimum.

Rows with large offsets are certain of their class: there the likelihood has no curvature, and Newton's steps no length.
The same problem with offsets and scores divided by a large number has curvature everywhere; from its optimum the
divisor goes down to 1, and the optimum changes little each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...likelihoods import Multinomial
from ...objective.posterior import Posterior
from ..smooth import settle
from ..solution import Solution
from .newton import first_ask, newton

GUESS = 1e-3  # relative duality gap of the optimum of a few rows: they determine the weights no better
FAR = 30.0  # offsets above this make a row certain of its class
NEAR = 10.0  # the largest offset in the first problem, after division
SHORTER = 2.0  # factor from one divisor to the next
ROUGHLY, FEW = 1e-2, 12  # accuracy and iterations of the problems on the way
MOST_SWEEPS = 100_000  # on the way: a few hundred are common, and where they do not suffice a start is not worth more
NEARBY = 1.0  # nats for each sample: a start this near to the optimum needs no better one
NATS = 0.03  # accuracy of those problems in nats for each sample, so that the next one starts near its optimum


def begin(objective: Posterior) -> np.ndarray:
    """Weights to begin with."""
    if objective.remote:
        return _guessed(objective)
    if objective.offset is None:
        return objective.start()
    swept = 0

    def solve(problem: Posterior, W: np.ndarray, tol: float) -> tuple[np.ndarray, bool]:
        nonlocal swept
        solution = newton(problem, W, tol, FEW)
        swept += solution.extra.get("sweeps", 0)
        return solution.weights, swept > MOST_SWEEPS

    return _approached(objective, solve)


def null_start(objective: Posterior) -> np.ndarray:
    """Weights to begin with where those under a penalty are to stay at 0."""
    return _approached(objective, lambda problem, W, tol: (settle(problem, W, tol).W, False))


def _guessed(objective: Any) -> np.ndarray:
    """The optimum of the rows drawn to the client, to an accuracy that suits a start; never above the null model."""
    drawn = objective.drawn
    if drawn is None:
        return objective.start()
    sample = Posterior(drawn.design, drawn.Y, drawn.likelihood, objective.prior, drawn.s, drawn.offset)
    W = newton(sample, begin(sample), GUESS, 20).weights
    return warm(objective, W) if W[: objective.design.d].any() else objective.start()


def warm(objective: Any, W: np.ndarray) -> np.ndarray:
    """Weights of an earlier fit, or those of a fresh start where they are better."""
    if not objective.remote:
        fresh = begin(objective)
        return W if objective.value(W) <= objective.value(fresh) else fresh
    # The solver begins with the point that is evaluated here.
    point = objective.known(W) or objective.evaluate(objective.centred(W), first_ask(objective, W))
    return W if point.value <= objective.null_value() else objective.start()


def nearer(objective: Posterior, W: np.ndarray, F: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Weights, with their scores where these are known: W, the optimum of a similar problem, or :func:`begin`'s.

    Where offsets are large the optimum of another strength may lie as far away as any weights. Where rows lie elsewhere
    weights of zero are replaced by the optimum of a few rows, unless they are near the optimum.
    """
    if objective.remote:
        point = objective.known(W)
        empty = not W[: objective.design.d].any()
        return (begin(objective) if empty and (point is None or point.violation > 1.0) else W), None
    if not is_far(objective):
        return W, F
    point = objective.at(W, F)
    if point.gap * abs(point.value) <= NEARBY * objective.total:
        return W, F
    V = begin(objective)
    return (V, None) if objective.value(V) < point.value else (W, F)


def newton_from(
    objective: Posterior,
    W: np.ndarray,
    tol: float,
    max_iter: int,
    screen: float = 1.0,
    F: np.ndarray | None = None,
    exact: bool = False,
) -> Solution:
    """:func:`newton` from the optimum W of a similar problem, or from a better start."""
    W, F = nearer(objective, W, F)
    return newton(objective, W, tol, max_iter, screen, F, exact)


def is_far(objective: Posterior) -> bool:
    """Whether offsets make rows certain of their class."""
    certain = objective.offset is not None and isinstance(objective.likelihood, Multinomial)
    return certain and objective.farthest() > FAR


def _approached(
    objective: Posterior, solve: Callable[[Posterior, np.ndarray, float], tuple[np.ndarray, bool]]
) -> np.ndarray:
    """The weights at the end of that way; `solve` has those of one problem on it, and whether it is too long."""
    W = objective.start()
    if not is_far(objective):
        return W
    far = objective.farthest()
    divisor = far / NEAR
    while divisor > 1.0:
        V, too_long = solve(objective.tempered(divisor), W / divisor, min(ROUGHLY, NATS * divisor / far))
        W = divisor * V
        if too_long:
            return min((W, objective.start()), key=objective.value)
        divisor /= SHORTER
    return W
