"""The greatest evidence of columns alone or in groups, at a given noise: starts in bulk, Newton, and a check of all.

EM from equal variances, a few lassos whose weights are the slopes of the evidence, Newton's method on the groups that
are left, and then every group is looked at: those that would gain enter, until all together promise next to nothing.
Where samples are few, several starts are followed and the best kept; with many samples, or a matrix known by products
alone, EM is stochastic and its covariance is never formed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from ...errors import Status
from ...objective.evidence import Evidence
from ..solution import Solution, Step
from .bulk_lasso import AFTER, FROM_NOTHING, after_lassos
from .covariance_free import STEPS as STEPS_OF_RULES
from .covariance_free import exact_at_hand, mackay_rule, ridge_rule, strongest
from .grouped import GroupedEvidence, GroupFit, promises, with_groups
from .sequential import in_data_units, solution
from .variance_newton import newton_on_variances

LASSO_SAMPLES = 4000  # with more, lassos of thousands of columns take longer than they save
CARELESS, FEW_STEPS = 1e-2, 8  # slope and steps of Newton's method in the first two rounds
UNSETTLED = 1.0  # nats that are promised, while which steps of large models stay careless
EFFORT = 1e12  # cubes of the model's columns over all steps: a few minutes, in which models of 4000 columns are reached
STEPS = 40  # of Newton's method in a round
BETWEEN = 2  # from one exchange of groups to the next, while more than the tolerance is promised
SETTLED = 0.1  # of the last violation: a round goes no further before all groups are looked at again
ENTER = 16  # groups that may enter at a time, or a quarter of those in the model
CAUTIOUS, SHRINKS = 0.3, 20  # of its best variance alone, what a group enters with, and how often that is repeated
NEAR, NEAREST = 0.5, 64  # q2 over k z of groups that may enter before all are looked at again, and how many at least
TOLD_APART = 10  # targets with which groups are told apart so well that one start is enough
EXCHANGES = 50  # rounds in which groups near the model enter it, and others leave
DISTANCE = 1e-9  # by how much q2 must exceed k z for a group to count as one that would gain


def best_evidence(evidence: Evidence, noise: float, tol: float, max_iter: int, effort: float = np.inf) -> Solution:
    """The best model over the starts, certified over all columns; `max_iter` rounds of Newton and check at most.

    `effort` limits the work of Newton's method: cubes of the model's columns, over all its steps.
    """
    began = time.perf_counter()
    problem = GroupedEvidence(evidence)
    best: GroupFit | None = None
    history: list[Step] = []
    for start in _starts(problem, noise):
        found, steps = newton_and_check(start, tol, max_iter, began, effort)
        history += steps
        if best is None or found.log_evidence > best.log_evidence:
            best = found
    assert best is not None
    if is_large(problem):
        return solution_by_products(best, history, tol)
    return solution(evidence, best.fit(), 0.0, history, tol, True)


def after_em(evidence: Evidence, noise: float, steps: int) -> Solution:
    """The model after a number of EM steps from equal variances, on the columns that these leave."""
    began = time.perf_counter()
    fit = strongest(GroupedEvidence(evidence), noise, steps, exact=True)
    history = [Step(-fit.log_evidence, np.nan, np.nan, len(fit.columns), time.perf_counter() - began)]
    found = solution(evidence, fit.fit(), 0.0, history, 0.0, False)
    history[-1] = history[-1]._replace(violation=found.violation)
    return found._replace(status=Status.STOPPED, n_iter=steps)


def _starts(problem: GroupedEvidence, noise: float) -> Iterator[GroupFit]:
    nothing = GroupFit(problem, np.empty(0, dtype=int), np.empty(0), noise)
    if not len(problem) or problem.evidence.yy == 0:
        yield nothing
        return
    single = problem.k == 1 and len(problem) == len(problem.column)
    if not exact_at_hand(problem):
        first = strongest(problem, noise)
        yield after_lassos(first, AFTER) if single and len(problem.evidence.s) < LASSO_SAMPLES else first
        return
    yield strongest(problem, noise, rule=mackay_rule)
    if problem.k >= TOLD_APART and len(problem) < len(problem.column):
        return  # groups that many targets share: ends of other starts differ in one problem of sixty
    first = strongest(problem, noise)
    yield first
    if single:
        yield strongest(problem, noise, 2 * STEPS_OF_RULES, annealed=True)
        yield after_lassos(strongest(problem, noise, 2 * STEPS_OF_RULES), AFTER)
        yield after_lassos(nothing, FROM_NOTHING)
    else:
        yield strongest(problem, noise, 2 * STEPS_OF_RULES)
        yield strongest(problem, noise, 2 * STEPS_OF_RULES, ridge_rule, annealed=True)


def is_large(problem: GroupedEvidence) -> bool:
    """Whether arrays of the samples by the model's columns are to be avoided, as those of all columns are."""
    return len(problem.evidence.s) >= LASSO_SAMPLES


def solution_by_products(fit: GroupFit, history: list[Step], tol: float) -> Solution:
    """The model as a solution, with the certificate of the last check of all columns, which was of this model."""
    evidence, last = fit.problem.evidence, history[-1]
    final = fit.lean()
    status = Status.CONVERGED if last.violation <= tol else Status.SLOPING
    weights, scores = in_data_units(evidence, final.rows, final.mean), np.empty((0, evidence.k))
    known = -fit.log_evidence, np.nan, last.violation, len(history), history
    return Solution(weights, scores, status, *known, {"fit": final})


def newton_and_check(
    fit: GroupFit, tol: float, max_iter: int, began: float, effort: float = np.inf
) -> tuple[GroupFit, list[Step]]:
    """Newton on the groups of the model, and all others looked at, in turn, until these promise less than tol."""
    history: list[Step] = []
    near = np.empty(0, dtype=int)
    for i in range(max_iter):
        # Of a large model, whose steps are long, the variances are not settled while many columns are to enter.
        early = i == 0 or (is_large(fit.problem) and history[-1].violation > UNSETTLED)
        before = fit.log_evidence
        if early:
            fit = newton_on_variances(_entered(fit, near)[0], CARELESS, FEW_STEPS, bold=i > 0)
        else:
            fit = settled(fit, near, max(tol, SETTLED * history[-1].violation), effort)
        z, q2 = fit.slopes()
        outside = np.setdiff1d(np.arange(len(fit.problem)), fit.groups, assume_unique=True)
        promised = float(promises(fit.problem, outside, z[outside], q2[outside]).sum())
        slope = float(np.abs(0.5 * fit.gamma * (fit.problem.k * z - q2)[fit.groups]).max(initial=0.0))
        violation = max(promised, slope)
        history.append(Step(-fit.log_evidence, violation, np.nan, len(fit.columns), time.perf_counter() - began))
        if violation <= (tol if early else 0.5 * tol) or fit.problem.work > effort:
            break
        if not early and fit.log_evidence - before <= 0.01 * tol:
            break
        near = _nearest(fit, outside, q2[outside] / (fit.problem.k * z[outside]))
    return fit, history


def _nearest(fit: GroupFit, outside: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """The groups outside that gain, or are next to gain, sorted; at most a share of those in the model."""
    share = 4 if is_large(fit.problem) else 2
    order = np.argsort(-ratio, kind="stable")[: max(NEAREST, len(fit.groups) // share)]
    return np.sort(outside[order[ratio[order] > NEAR]])


def settled(fit: GroupFit, near: np.ndarray, tol: float, effort: float = np.inf) -> GroupFit:
    """A maximum over the groups of the model and those near it, which enter and leave without a look at all others."""
    problem = fit.problem
    for _ in range(EXCHANGES):
        outside = np.setdiff1d(near, fit.groups, assume_unique=True)
        grown, promised = _entered(fit, outside)
        fit = newton_on_variances(grown, 0.1 * max(tol, promised), BETWEEN if promised > tol else STEPS)
        near = np.union1d(near, np.setdiff1d(grown.groups, fit.groups, assume_unique=True))
        if promised <= 0.1 * tol or problem.work > effort:
            break
    return fit


def _entered(fit: GroupFit, outside: np.ndarray) -> tuple[GroupFit, float]:
    """With those of the groups outside that promise most, and what all promise.

    Many at once may overshoot, so variances shrink until nothing is lost.
    """
    if not len(outside):
        return fit, 0.0
    problem = fit.problem
    z, q2 = fit.slopes_of(outside)
    ratio, gain = q2 / (problem.k * z), promises(problem, outside, z, q2)
    new = np.flatnonzero((gain > 0) & (ratio > 1 + DISTANCE))
    new = new[np.argsort(-ratio[new], kind="stable")[: max(ENTER, len(fit.groups) // 4)]]
    gamma = CAUTIOUS * (ratio[new] - 1) * problem.size[outside[new]] / z[new]
    for _ in range(SHRINKS if len(new) else 0):
        found = with_groups(fit, outside[new], gamma)
        if found.log_evidence >= fit.log_evidence:
            return found, float(gain.sum())
        gamma = CAUTIOUS * gamma
    return fit, 0.0
