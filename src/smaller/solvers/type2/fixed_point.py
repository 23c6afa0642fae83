"""Iterations over the variances gamma of all columns: Type II by EM, MacKay, reweighted L2 and L1.

Type II minimises k log|Sigma_y| + tr Y^T Sigma_y^-1 Y + k sum_j f(gamma_j) + k n f(noise) (Wipf & Wu 2012, eqs. 5 and
16); f belongs to the prior. Each step needs mu = Gamma Phi^T Sigma_y^-1 Y and z_j = phi_j^T Sigma_y^-1 phi_j.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import Status
from ...objective.evidence import Evidence
from ...priors import Jeffreys, increases, prior_rate, prior_slope
from ..solution import Solution, Step
from .sequential import FLOOR, addition_gain, solution
from .unit_problem import State, UnitProblem, lassoed

NEAR = 0.1  # slopes below this are those of an optimum in sight
IRRELEVANT = 1e-3  # a column whose data determine it less than this may be deleted where that raises the evidence
FASTER = 1.5  # factor of the over-relaxation while the objective falls (Salakhutdinov & Roweis 2003)
LONGEST = 5.0  # step in the logarithm of a variance
WINDOW = 50  # steps without gain after which nothing more is expected
OUT = 1e-8  # where the slope of f at 0 is taken, or at this part of the largest variance
EXACT = 1e-11  # relative duality gap of the lassos
ENTER = 16  # columns that may be let in again at a time, or a quarter of those in the model
CAUTIOUS, SHRINKS = 0.3, 20  # of its best variance alone, what a column is let in with, and how often that is repeated

Wanted = tuple[np.ndarray, np.ndarray]  # columns that are left out and should not be, and variances to begin with


# The rules: new variances of the columns from the state.


def em(problem: UnitProblem, state: State) -> np.ndarray:
    """gamma = 1 / h'(mu^2 + Sigma_jj): mu^2 + Sigma_jj for f = 0."""
    return 1 / problem.prior.slope(state.square + state.gamma * (1 - state.determined))


def mackay(problem: UnitProblem, state: State) -> np.ndarray:
    """gamma = mu^2 / (1 - Sigma_jj / gamma + gamma f'(gamma)): with f = 0, the original relevance vector machine's.

    A decreasing f may leave nothing to divide by: such a column takes EM's step, which has the same fixed points.
    """
    if not problem.free:
        return state.square / np.maximum(state.determined, 1e-300)
    wanted = state.determined + prior_slope(problem.prior, state.gamma)
    return np.where(wanted > 0, state.square / np.where(wanted > 0, wanted, 1.0), em(problem, state))


def reweighted_l2(problem: UnitProblem, state: State) -> np.ndarray:
    """The least mu^2 / gamma + z gamma + f(gamma), z held: |mu| / sqrt(z) for f = 0."""
    z = state.determined / state.gamma
    if not problem.free:
        return np.sqrt(state.square / np.maximum(z, 1e-300))
    low, high = np.log(state.gamma) - 30, np.log(state.gamma) + 30
    for _ in range(60):
        middle = np.exp((low + high) / 2)
        rising = z * middle + prior_slope(problem.prior, middle) > state.square / middle
        low, high = np.where(rising, low, np.log(middle)), np.where(rising, np.log(middle), high)
    return np.exp((low + high) / 2)


RULES: dict[str, Callable[[UnitProblem, State], np.ndarray]] = {
    "em": em,
    "mackay": mackay,
    "reweighted-l2": reweighted_l2,
}


def check_prior(prior: Any, algorithm: str) -> None:
    """Refuse an algorithm that a prior of the variances, f, rules out; f = 0 suits all."""
    if isinstance(prior, Jeffreys) or algorithm in RULES:
        return
    if algorithm == "fast":
        raise ValueError(
            "algorithm='fast' needs prior='jeffreys', under which the variance of greatest evidence of each column has "
            f"a closed form; got {prior!r}. Take 'em', 'mackay' or 'reweighted-l2'."
        )
    if not increases(prior):
        raise ValueError(
            f"algorithm='reweighted-l1' needs a prior whose f(gamma) increases and is concave, such as 'jeffreys'; got "
            f"{prior!r}, with which no weight becomes 0 and the penalty has no bound that is linear in |x|. Take 'em', "
            "'mackay' or 'reweighted-l2'."
        )


def type_two(
    evidence: Evidence, noise: float | None, tol: float, max_iter: int, rule: str = "mackay", prior: Any = None
) -> Solution:
    """Iterate a rule from all columns to stationarity; steps are lengthened while the objective falls."""
    began = time.perf_counter()
    history: list[Step] = []
    problem = UnitProblem(evidence, Jeffreys() if prior is None else prior)
    floor = FLOOR * evidence.variance if noise is None else 0.0
    state, length = _start(problem, noise), 1.0
    for _ in range(max_iter):
        violation, wanted = _violation(problem, state, floor, tol)
        value = problem.objective(state, floor > 0)
        history.append(Step(value, violation, np.nan, len(state.rows), time.perf_counter() - began))
        if violation <= tol or idle(history):
            break
        if wanted is not None:
            state, length = _readmitted(problem, state, floor > 0, *wanted), 1.0
            continue
        # Long steps too early would lead to another optimum than the rule's own.
        state, length = _advance(problem, state, rule, floor, length if violation < NEAR else 1.0)
        if problem.sparse:
            state = _prune(problem, state, floor > 0)
    return _ended(problem, state, floor, history, tol)


def idle(history: list[Step]) -> bool:
    """Whether the last steps gained nothing in the objective but rounding, and no column left."""
    if len(history) <= WINDOW:
        return False
    then, now = history[-1 - WINDOW], history[-1]
    rounding = WINDOW * np.finfo(float).eps * abs(now.objective)
    return bool(now.support >= then.support and then.objective - now.objective <= rounding)


def _violation(problem: UnitProblem, state: State, floor: float, tol: float) -> tuple[float, Wanted | None]:
    """The largest slope in the model; where that is at most tol, also what columns outside promise, and which do."""
    inside = float(np.abs(problem.slopes(state, floor)).max(initial=0.0))
    if inside > tol or not problem.sparse:
        return inside, None
    z, q2 = problem.sharpness(state)
    z = z + _rates(problem, state)
    gain = addition_gain(z, q2, problem.evidence.k)
    gain[state.rows] = 0.0
    total = float(gain.sum())
    if total <= tol:
        return max(inside, total), None
    best = np.argsort(-gain, kind="stable")[: max(ENTER, len(state.rows) // 4)]
    best = np.sort(best[gain[best] > 0])
    return total, (best, CAUTIOUS * (q2[best] / z[best] - 1) / z[best])


def _readmitted(problem: UnitProblem, state: State, learn: bool, rows: np.ndarray, gamma: np.ndarray) -> State:
    """With columns that were left out; many at once may overshoot, so their variances shrink until nothing is lost."""
    every = np.append(state.rows, rows)
    order, now = np.argsort(every), problem.objective(state, learn)
    for _ in range(SHRINKS):
        found = problem.state(every[order], np.append(state.gamma, gamma)[order], state.noise)
        if problem.objective(found, learn) <= now:
            break
        gamma = CAUTIOUS * gamma
    return found


def _ended(problem: UnitProblem, state: State, floor: float, history: list, tol: float) -> Solution:
    """The solution in the units of the data; a prior of the variances counts in its objective and its status."""
    final = solution(problem.evidence, problem.fit(state), floor, history, tol, True)
    if not problem.free:
        return final
    value = problem.objective(state._replace(log_evidence=final.extra["fit"].log_evidence), floor > 0)
    return _judged(final, _violation(problem, state, floor, tol)[0], tol, value)


def _judged(final: Solution, violation: float, tol: float, objective: float) -> Solution:
    """The end of an iteration by its own objective, which is not the evidence alone."""
    status = final.status
    if status is not Status.INTERPOLATES:
        status = Status.CONVERGED if violation <= tol else Status.SLOPING
    return final._replace(violation=violation, status=status, objective=objective)


def _start(problem: UnitProblem, noise: float | None) -> State:
    """Equal variances that together explain the targets; a tenth of them is noise."""
    evidence, d = problem.evidence, len(problem.rows)
    size = max(evidence.yy / evidence.k, np.finfo(float).tiny)
    first = 0.1 * max(evidence.variance, np.finfo(float).tiny) if noise is None else noise
    gamma = np.full(d, size / max(1, min(d, evidence.total)))
    if problem.free:
        gamma = 1 / problem.prior.slope(gamma)
    return problem.state(np.arange(d), gamma, first)


def _advance(problem: UnitProblem, state: State, rule: str, floor: float, length: float) -> tuple[State, float]:
    """A longer step than the rule's if the objective falls with it, else the rule's, else EM's, which is safe."""
    new = RULES[rule](problem, state)
    noise = max(floor, _noise(problem, state, rule)) if floor > 0 else state.noise
    now = problem.objective(state, floor > 0)
    alive = (new > 1e-14 * new.max(initial=0.0)) | (not problem.sparse)
    step = np.log(np.maximum(new, np.finfo(float).tiny) / state.gamma)
    if not alive.all():  # the rule itself switches columns off
        state = problem.state(state.rows[alive], state.gamma[alive], state.noise)
        step = step[alive]
    for stretch in [length, 1.0] if length > 1 else [1.0]:
        shift = np.clip(stretch * step, -LONGEST * stretch, LONGEST * stretch).clip(-50, 50)
        longer = max(floor, state.noise * float(np.clip((noise / state.noise) ** stretch, 1e-3, 1e3)))
        found = problem.state(state.rows, state.gamma * np.exp(shift), longer if floor > 0 else state.noise)
        if problem.objective(found, floor > 0) <= now:
            return found, FASTER * length if stretch == length else 1.0
    gamma = em(problem, state)
    noise = max(floor, _noise(problem, state, "em")) if floor > 0 else state.noise
    return problem.state(state.rows, gamma, noise), 1.0


def _noise(problem: UnitProblem, state: State, rule: str) -> float:
    """1 / h'(E), E the expected squared residual of a sample; MacKay's instead counts what the data leave free."""
    k, total, used = problem.evidence.k, problem.evidence.total, float(state.determined.sum())
    if rule == "mackay" and total - used > 1e-3 * total:
        return state.misfit / (k * (total - used))
    expected = (state.misfit + state.noise * k * used) / (k * total)
    return float(1 / problem.prior.slope(np.array([expected]))[0])


def _prune(problem: UnitProblem, state: State, learn: bool) -> State:
    """Without the columns that the objective would rather lose, q^2 <= s + f'(0), once data hardly determine them."""
    variance = state.gamma * (1 - state.determined)
    rate = _rates(problem, state)[state.rows]
    # q^2 = (mean / variance)^2 and s = determined / variance, both times the variance's square
    out = (state.square <= variance * (state.determined + rate * variance)) & (state.determined < IRRELEVANT)
    if not out.any():
        return state
    fewer = problem.state(state.rows[~out], state.gamma[~out], state.noise)
    return fewer if problem.objective(fewer, learn) <= problem.objective(state, learn) else state


def reweighted_l1(evidence: Evidence, noise: float | None, tol: float, max_iter: int, prior: Any = None) -> Solution:
    """x = argmin |y - Phi x|^2 / (2 noise) + sum_j sqrt(z_j) |x_j|, then gamma_j = |x_j| / sqrt(z_j), in turn.

    The weights of the first lasso are all equal (Wipf & Wu 2012, eq. 19). Of several outputs, rows are penalised by
    their norm. An f that is concave and increases is bounded by its tangent, which adds f'(gamma_j) to z_j.
    """
    began = time.perf_counter()
    history: list[Step] = []
    problem = UnitProblem(evidence, Jeffreys() if prior is None else prior)
    floor = FLOOR * evidence.variance if noise is None else 0.0
    state = _start(problem, noise)
    every = np.arange(len(problem.rows))
    weight = np.full(len(every), np.sqrt(np.median(state.determined / state.gamma))) if len(every) else np.empty(0)
    x = np.zeros((len(every), evidence.k))
    for _ in range(max_iter):
        x = problem.lasso(weight, state.noise, x, EXACT)
        state = lassoed(problem, weight, state.noise, x)
        if noise is None:
            rule = "em" if problem.free else "mackay"
            state = problem.state(state.rows, state.gamma, max(floor, _noise(problem, state, rule)))
        violation, _ = _violation(problem, state, floor, tol)
        value = problem.objective(state, noise is None)
        history.append(Step(value, violation, np.nan, len(state.rows), time.perf_counter() - began))
        if violation <= tol or idle(history):
            break
        weight = np.sqrt(problem.sharpness(state)[0] + _rates(problem, state))
    return _ended(problem, state, floor, history, tol)


def _rates(problem: UnitProblem, state: State) -> np.ndarray:
    """f'(gamma_j) of all columns; those that are out are taken just above 0."""
    if not problem.free:
        return np.zeros(len(problem.rows))
    gamma = np.full(len(problem.rows), OUT * state.gamma.max(initial=1.0))
    gamma[state.rows] = np.maximum(state.gamma, gamma[0])
    return prior_rate(problem.prior, gamma)
