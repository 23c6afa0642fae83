"""Models to start the search for the greatest evidence from, where columns abound and one at a time misleads.

With many columns to a sample the evidence has many maxima, and a search that adds the best column first often ends in
a poor one. From variances of all columns at once, and from lassos, whose columns enter in bulk, it ends higher; no
start is the best always.
"""

from __future__ import annotations

import numpy as np

from ...objective.evidence import Evidence
from ...priors import Jeffreys
from .fixed_point import RULES
from .sequential import Start
from .unit_problem import State, UnitProblem, lassoed

WORK = 10**8  # products of a sample, a sample and a column: more than these take seconds
STEPS = 30  # of a rule, from equal variances; many more lead to poorer maxima as often as to better ones
FAINT = 1e-4  # variances that are a smaller part of the largest are left out of a start
FILLED = 0.6  # of the samples, the most columns in a start
AFTER, FROM_NOTHING = 6, 30  # lassos after a rule, and from no variances at all
COARSE = 1e-3  # relative duality gap of these lassos
ENOUGH = 0.25  # nats that a lasso must gain for another


def abound(evidence: Evidence) -> bool:
    """Whether there are more columns than half the samples, and few enough for starts from all of them at once."""
    n, d = evidence.columns.design.n, int(np.isfinite(evidence.columns.unit).sum())
    return 2 * d > n and n * n * d <= WORK


def several(evidence: Evidence, noise: float) -> list[Start]:
    """From equal variances by 30 steps of MacKay's rule, by 30 of EM and a few lassos; and by lassos from none."""
    problem = UnitProblem(evidence, Jeffreys())
    nothing = problem.state(np.empty(0, dtype=int), np.empty(0), noise)
    models = [
        _strongest(problem, "mackay", noise),
        _after_lassos(problem, _strongest(problem, "em", noise), AFTER),
        _after_lassos(problem, nothing, FROM_NOTHING),
    ]
    return [(problem.rows[model.rows], 1 / model.gamma, noise) for model in models if len(model.rows)]


def _strongest(problem: UnitProblem, rule: str, noise: float) -> State:
    """The columns with the largest variances after some steps of a rule on all."""
    evidence, d = problem.evidence, len(problem.rows)
    every, gamma = np.arange(d), np.full(d, max(evidence.yy, np.finfo(float).tiny) / (evidence.k * max(d, 1)))
    for _ in range(STEPS):
        gamma = RULES[rule](problem, problem.state(every, gamma, noise))
        gamma = np.maximum(gamma, 1e-14 * gamma.max(initial=0.0))
    most = min(int((gamma > FAINT * gamma.max(initial=0.0)).sum()), max(1, int(FILLED * evidence.total)))
    rows = np.sort(np.argsort(-gamma, kind="stable")[:most])
    return problem.state(rows, gamma[rows], noise)


def _after_lassos(problem: UnitProblem, state: State, rounds: int) -> State:
    """After lassos whose weights are those of the evidence's tangent, w_j = sqrt(z_j), while they gain."""
    x = np.zeros((len(problem.rows), problem.evidence.k))
    x[state.rows] = state.mean
    before = -np.inf
    for _ in range(rounds):
        weight = np.sqrt(problem.sharpness(state)[0])
        x = problem.lasso(weight, state.noise, x, COARSE)
        state = lassoed(problem, weight, state.noise, x)
        if state.log_evidence < before + ENOUGH:
            break
        before = state.log_evidence
    return state
