"""Iterations over the variances gamma of all columns: Type II by EM, MacKay, reweighted L2 and L1.

Type II minimises k log|Sigma_y| + tr Y^T Sigma_y^-1 Y + k sum_j f(gamma_j) + k n f(noise) (Wipf & Wu 2012, eqs. 5 and
16); f belongs to the prior. Each step needs mu = Gamma Phi^T Sigma_y^-1 Y and z_j = phi_j^T Sigma_y^-1 phi_j.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, qr, solve_triangular

from ...design import Design, as_design
from ...errors import Status
from ...likelihoods import Gaussian
from ...objective.evidence import Evidence, Fit, Weighing, cholesky, inverse
from ...objective.posterior import Posterior
from ...priors import Jeffreys, Laplace, increases, log_prior, prior_rate, prior_slope
from ..l1.newton import newton
from ..solution import Solution, Step
from ..type1.row_lasso import RowLasso
from .sequential import FLOOR, addition_gain, solution

NEAR = 0.1  # slopes below this are those of an optimum in sight
IRRELEVANT = 1e-3  # a column whose data determine it less than this may be deleted where that raises the evidence
FASTER = 1.5  # factor of the over-relaxation while the objective falls (Salakhutdinov & Roweis 2003)
ZERO = 1e-9  # weights of Type I smaller than this, relative to the largest, are on their way to 0
LONGEST = 5.0  # step in the logarithm of a variance
STEADY = 1e9  # sum of the variances, over the noise, up to which products of columns leave slopes seven digits
WINDOW = 50  # steps without gain after which nothing more is expected
OUT = 1e-8  # where the slope of f at 0 is taken, or at this part of the largest variance
EXACT, ROUNDS = 1e-11, 30  # relative duality gap of the lassos, and rounds of one of several targets
NEWTON_STEPS = 20  # of one lasso: more only where rounding leaves no certificate, and the next one goes on from there
ENTER = 16  # columns that may be let in again at a time, or a quarter of those in the model
CAUTIOUS, SHRINKS = 0.3, 20  # of its best variance alone, what a column is let in with, and how often that is repeated

Wanted = tuple[np.ndarray, np.ndarray]  # columns that are left out and should not be, and variances to begin with


class State(NamedTuple):
    """Where an iteration stands: variances of the columns that are left, and what follows from them."""

    rows: np.ndarray
    gamma: np.ndarray
    noise: float
    mean: np.ndarray  # (r, k)
    determined: np.ndarray  # gamma_j z_j, between 0 and 1
    misfit: float
    log_evidence: float

    @property
    def square(self) -> np.ndarray:
        """Mean square of each column's weights over the outputs."""
        return (self.mean**2).mean(axis=1)


class UnitProblem:
    """Columns of length 1 and targets of mean square 1, with the state of a model at any variances of its weights."""

    def __init__(self, evidence: Evidence, prior: Any):
        self.evidence, self.prior = evidence, prior
        self.free = not isinstance(prior, Jeffreys)  # whether f is not 0
        self.sparse = not self.free or increases(prior)  # whether variances may become 0
        self.rows = np.flatnonzero(np.isfinite(evidence.columns.unit))
        self.Phi = evidence.take(self.rows)
        self.T = evidence.root * evidence.Z

    def state(self, rows: np.ndarray, gamma: np.ndarray, noise: float) -> State:
        """By the smaller of the two systems; `rows` are positions in `self.rows`."""
        evidence, tall = self.evidence, self.tall
        Phi = self.Phi if tall else self.Phi[:, rows]
        root = np.sqrt(gamma)
        if float(gamma.sum()) > STEADY * noise:  # columns have length 1
            logdet, scaled, determined = self._from_columns(rows, root, noise)
        elif len(rows) <= len(Phi):
            G, C = self.products(rows)
            H = G * np.outer(root, root) / noise
            H.flat[:: len(rows) + 1] += 1.0
            inner, logdet = inverse(H, evidence.columns.design)
            scaled = inner @ (root[:, None] * C) / noise
            determined = 1 - np.diag(inner)
        else:
            S = (Phi * gamma) @ Phi.T / noise
            S.flat[:: len(S) + 1] += 1.0
            L = cholesky(S)
            logdet = 2 * np.log(np.diag(L)).sum()
            scaled = root[:, None] * (Phi.T @ cho_solve((L, True), self.T)) / noise
            determined = gamma * (solve_triangular(L, Phi, lower=True) ** 2).sum(axis=0) / noise
        mean = root[:, None] * scaled
        weights = mean
        if tall:
            weights = np.zeros((Phi.shape[1], evidence.k))
            weights[rows] = mean
        misfit = float(((self.T - Phi @ weights) ** 2).sum())
        quadratic = misfit / noise + float((scaled**2).sum())
        value = evidence._constant(noise) - 0.5 * (evidence.k * logdet + quadratic)
        return State(rows, gamma, noise, mean, np.clip(determined, 0.0, 1.0), misfit, value)

    def _from_columns(self, rows: np.ndarray, root: np.ndarray, noise: float):
        """Log determinant, means over deviations, and how determined these are, where products lose too much."""
        deviation = np.sqrt(noise)
        B, T = self.Phi[:, rows] * (root / deviation), self.T / deviation
        if len(rows) <= len(B):
            exact = Weighing(B)
            return exact.logdet, exact.mean(T), np.minimum(exact.least(B), 1.0)
        # B^T (B B^T + I)^-1 T, R^T R = B B^T + I
        R = qr(np.vstack([B.T, np.eye(len(B))]), mode="r", check_finite=False)[0][: len(B)]
        V = solve_triangular(R, B, trans="T", check_finite=False)
        logdet = 2 * float(np.log(np.abs(R.diagonal())).sum())
        return logdet, V.T @ solve_triangular(R, T, trans="T", check_finite=False), (V**2).sum(axis=0)

    def fit(self, state: State) -> Fit:
        """The same model as the evidence knows it: its covariance by the smaller of the two systems too."""
        rows, evidence = self.rows[state.rows], self.evidence
        if not len(rows):
            return evidence.empty(state.noise)
        G, C = (np.asfortranarray(each) for each in self.products(state.rows))
        if len(rows) <= len(self.Phi):
            fit = evidence.fit(rows, 1 / state.gamma, state.noise, G, C)
        else:
            B = self.Phi[:, state.rows] * np.sqrt(state.gamma / state.noise)
            V = solve_triangular(cholesky(np.eye(len(B)) + B @ B.T), B, lower=True)
            covariance = (np.eye(len(rows)) - V.T @ V) * np.sqrt(np.outer(state.gamma, state.gamma))
            fit = Fit(rows, 1 / state.gamma, state.noise, state.mean, covariance, 0.0, 0.0, G)
        return fit._replace(mean=state.mean, misfit=state.misfit, log_evidence=state.log_evidence)

    @property
    def tall(self) -> bool:
        """Whether the products of all columns are worth keeping."""
        return self.Phi.shape[1] <= len(self.Phi)

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Phi^T Phi and Phi^T y of some columns: without a copy of these, where those of all are known."""
        if not self.tall:
            Phi = self.Phi[:, rows]
            return self.evidence.columns.design.square(Phi), Phi.T @ self.T
        G, C = self._all_products
        return G[np.ix_(rows, rows)], C[rows]

    @cached_property
    def _all_products(self) -> tuple[np.ndarray, np.ndarray]:
        return self.evidence.columns.design.square(self.Phi), self.Phi.T @ self.T

    def lasso(self, weight: np.ndarray, noise: float, x: np.ndarray, tol: float) -> np.ndarray:
        """min |Y - Phi X|^2 / (2 noise) + sum_j sqrt(k) w_j |x_j|, |x_j| the norm of a row; `x` is where to begin."""
        if self.evidence.k == 1 and len(weight):
            objective = Posterior(self._design, self.T, Gaussian(noise), Laplace(1.0, weight))
            return newton(objective, x, tol, NEWTON_STEPS).weights
        penalty = np.sqrt(self.evidence.k) * noise * weight
        return RowLasso(self.Phi, self.T, penalty).solve(x, tol, ROUNDS)[0]

    @cached_property
    def _design(self) -> Design:
        return as_design(np.asfortranarray(self.Phi))

    def sharpness(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """z_j = phi_j^T Sigma_y^-1 phi_j and the mean over the outputs of (phi_j^T Sigma_y^-1 y)^2, all columns.

        z_j is the least of |phi_j - B m|^2 / noise + |m|^2 over m, B the columns of the model times the roots of their
        variances: a sum, of which rounding leaves a relative error only.
        """
        B, Phi = (each / np.sqrt(state.noise) for each in (self.Phi[:, state.rows] * np.sqrt(state.gamma), self.Phi))
        if float(state.gamma.sum()) > STEADY * state.noise:
            z = Weighing(B).least(Phi)
        else:
            H = B.T @ B
            H.flat[:: len(H) + 1] += 1.0
            M = inverse(H)[0] @ (B.T @ Phi)
            z = ((Phi - B @ M) ** 2).sum(axis=0) + (M**2).sum(axis=0)
        Q = self.Phi.T @ (self.T - self.Phi[:, state.rows] @ state.mean) / state.noise
        return z, (Q**2).mean(axis=1)

    def objective(self, state: State, learn: bool) -> float:
        """Minus the log evidence, and the prior of the variances; in nats."""
        if not self.free:
            return -state.log_evidence
        total = log_prior(self.prior, state.gamma).sum()
        if learn:
            total += self.evidence.total * log_prior(self.prior, np.array([state.noise]))[0]
        return -state.log_evidence + 0.5 * self.evidence.k * float(total)

    def slopes(self, state: State, floor: float) -> np.ndarray:
        """Of the objective in log gamma, and last in log noise where it is learned."""
        k, total = self.evidence.k, self.evidence.total
        g = state.determined - state.square / state.gamma
        h = total - state.determined.sum() - state.misfit / (k * state.noise)
        if self.free:
            g = g + prior_slope(self.prior, state.gamma)
            h = h + total * float(prior_slope(self.prior, np.array([state.noise]))[0])
        held = floor == 0 or (state.noise <= floor * (1 + 1e-12) and h >= 0)
        return 0.5 * k * np.append(g, 0.0 if held else h)


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
    """Told in the units of the data; a model with a prior of the variances is judged by its own objective."""
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


def lassoed(problem: UnitProblem, weight: np.ndarray, noise: float, x: np.ndarray) -> State:
    """The variances gamma_j = |x_j| / w_j of a weighted lasso's solution."""
    size = np.sqrt((x**2).mean(axis=1))
    kept = np.flatnonzero(size)
    return problem.state(kept, size[kept] / weight[kept], noise)


def _rates(problem: UnitProblem, state: State) -> np.ndarray:
    """f'(gamma_j) of all columns; those that are out are taken just above 0."""
    if not problem.free:
        return np.zeros(len(problem.rows))
    gamma = np.full(len(problem.rows), OUT * state.gamma.max(initial=1.0))
    gamma[state.rows] = np.maximum(state.gamma, gamma[0])
    return prior_rate(problem.prior, gamma)


def _nothing(state: State) -> State:
    none = np.empty(0)
    return state._replace(rows=none.astype(int), gamma=none, mean=state.mean[:0], determined=none)
