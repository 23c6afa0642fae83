"""The certificate of convex problems: how near the optimum some weights are at least, computed from these weights.

`objective` is a :class:`~smaller.objective.posterior.Posterior`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..likelihoods import Multinomial
from .point import Fit, Verdict

# Free columns count as fitted exactly when their gradient, relative to its largest possible value, is below this.
FREE_TOLERANCE = 1e-9
# So much of the objective at most may what is left of these gradients change: the estimate of it is to first order, for
# moves that no penalised weight cancels.
FREE_SHARE = 1e-3

EPSILON = 1e-15  # rounding error of a sum of products, relative to the lengths of its factors
# Nats for each sample: a gap is relative to the objective, or to this where the objective is as good as 0.
NEGLIGIBLE = 1e-12


def optimality(objective: Any, W: np.ndarray, G: np.ndarray) -> Verdict:
    """The KKT residuals at W, its penalty and what makes G, the gradient of the loss, feasible for the dual.

    A residual is the distance of -(G + l2 W) to the subdifferential of l1 |W|; rho G is feasible if rho |G| <= l1.
    All weights of a group have the residual of the group.
    """
    W, G, residuals = np.ascontiguousarray(W), np.ascontiguousarray(G), np.empty(objective.shape)
    if objective.blocks is None:
        penalty, shrink, unridged = _core.judge(W, G, objective.l1, objective.l2, objective.scale, residuals)
    else:
        rows = np.flatnonzero(objective.ungrouped)
        alone = np.empty((len(rows), objective.k))
        arrays = (W[rows], G[rows], objective.l1[rows], objective.l2[rows], objective.scale[rows])
        both = _core.judge(*arrays, alone), objective.blocks.judge(W, G, residuals)
        residuals[rows] = alone
        penalty, (shrink, unridged) = both[0][0] + both[1][0], np.minimum(both[0][1:], both[1][1:]).tolist()
    return Verdict(residuals, penalty, (shrink, unridged) if objective.ridged else (shrink,))


def relative_gap(
    objective: Any, W: np.ndarray, value: float, fit: Fit, verdict: Verdict, exact: float = FREE_TOLERANCE
) -> float:
    """The relative duality gap; infinite where the free weights are not fitted exactly, up to a residual of `exact`."""
    if objective.free_violation(verdict.residuals) > exact:
        return np.inf
    known = _known_part(objective, W, fit)
    dual = max(_dual(objective, fit.U, fit.G, shrink, known) for shrink in verdict.shrinkages)
    swing = _swing(objective, fit.F)
    slack, size = _free_slack(objective, fit.G, swing), max(abs(value), NEGLIGIBLE * objective.total)
    if slack > FREE_SHARE * size:
        return np.inf
    return float((max(0.0, value - dual) + slack + _rounding(objective, W, fit, swing)) / size)


def _swing(objective: Any, F: np.ndarray) -> np.ndarray:
    """How far each score may still move, (n, k): by about one, or as far as it is from the mean of its class."""
    return objective.likelihood.noise**0.5 + abs(F - objective.put(objective.weighted(F) / objective.total))


def _free_slack(objective: Any, G: np.ndarray, swing: np.ndarray) -> float:
    """By how much the free weights may lower the objective: their gradients, for moves that change scores so far."""
    if not len(objective.free_places):
        return 0.0
    far = np.sqrt(objective.weighted(swing * swing) / objective.total)  # the root mean square over the rows
    far = np.broadcast_to(far, objective.shape).ravel()[objective.free_places]
    unit = objective.total / np.sqrt(objective.likelihood.noise) / objective.scale.ravel()[objective.free_places]
    return float(np.abs(G.ravel()[objective.free_places]) @ (unit * far))


def _known_part(objective: Any, W: np.ndarray, fit: Fit) -> float:
    """sum s U.offset, as sum s U.F - G.W over the penalised weights.

    The dual so holds the free weights where they are: what little is left of their gradient would else be
    multiplied by weights that may be large.
    """
    return float(objective.weighted(fit.U * fit.F).sum()) - float((fit.G * W)[~objective.free].sum())


def _rounding(objective: Any, W: np.ndarray, fit: Fit, swing: np.ndarray) -> float:
    """The part of the gap that rounding may hide.

    The gradient of the loss in a score is known up to the rounding of the residual, and of the terms of the score
    times its curvature; the gap, up to the products of these errors, which do not depend on each other, with the
    moves of the scores.
    """
    return EPSILON * _length_of_errors(objective, fit, size_of_terms(objective, W), swing)


def size_of_terms(objective: Any, W: np.ndarray) -> np.ndarray:
    """The root of the mean sum of the squared terms of a row's score, (k,)."""
    return np.sqrt(np.square(W).T @ objective.moments.second(objective.total) / objective.total)


def _length_of_errors(objective: Any, fit: Fit, terms: np.ndarray, swing: np.ndarray) -> float:
    """The length of s (|U| + curvature * (terms + |offset|)) * swing over all rows and classes."""
    curved = fit.P * (1 - fit.P) if isinstance(objective.likelihood, Multinomial) else 1.0 / objective.likelihood.noise
    size = objective.put(terms) if objective.offset is None else objective.put(terms) + abs(objective.offset)
    errors = objective.s[:, None] * (abs(fit.U) + curved * size) * swing
    return float(objective.xp.sum(errors * errors)) ** 0.5


def _dual(objective: Any, U: np.ndarray, G: np.ndarray, shrink: float, known: float) -> float:
    """-sum s f*(rho U) + rho known - sum (rho |G| - l1)_+^2 / (2 l2): the dual at the shrunk residuals.

    Of a group the last term is the conjugate of its norm, L1 and ridge terms together.
    """
    dual = -objective.likelihood.conjugate(U, objective.Y, objective.s, shrink) + shrink * known
    if objective.ridged:
        quadratic = (objective.l2 > 0) & objective.ungrouped[:, None]
        excess = np.maximum(shrink * np.abs(G[quadratic]) - objective.l1[quadratic], 0.0)
        dual -= float((excess**2 / (2 * objective.l2[quadratic])).sum())
        dual -= 0.0 if objective.blocks is None else objective.blocks.excess(G, shrink)
    return dual
