"""Type I estimation: the weights under a prior, with the trade-off given or learned (Wipf & Wu 2012, section 2).

Minimised is half of ::

    |Y - Phi X|^2 / lam + k sum_j h(x_j^2)                       with a given lam (eq. 4),
    k n h(|Y - Phi X|^2 / (k n)) + k sum_j h(x_j^2)              with a learned one (eq. 15),

x_j^2 the mean square of the weights of column j over the k targets, lam = 1 / h'(|Y - Phi X|^2 / (k n)) where it is
learned. Columns have length 1 and the targets a mean square of 1, so that every floor here is relative.

A Laplace prior makes this the lasso or, with lam learned, the square-root lasso: convex, with a duality gap. Other
priors go to a stationary point by ridge regressions with variances gamma_j = 1 / h'(x_j^2).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq, qr

from ...design import as_design
from ...errors import Status
from ...likelihoods import Gaussian
from ...objective.evidence import RIDGES, Evidence, Fit
from ...objective.posterior import Posterior
from ...priors import InUnits, Laplace, degree, is_laplace
from ..l1.newton import newton
from ..solution import Solution, Step
from ..type2.fixed_point import ZERO, UnitProblem
from ..type2.sequential import FLOOR, in_data_units, solution
from .row_lasso import RowLasso

EXACT = 1e-16  # mean square of the residual, relative to that of the targets, below which a lasso interpolates
ROUNDING = 1e-28  # mean square below which a residual is nothing but rounding
GOAL, INNER = 1e-12, 1e-10  # relative duality gaps: of a lasso that is done early, and of the lasso at one lam
FINEST = 1e-15  # the gap of a lasso of several targets, whose certificate at another lam needs more than its own
SMALLEST = 1e-12  # lam at which the lasso core is still used
NEWTON_STEPS = 50  # of one lasso
ATTEMPTS = 5  # at a closed form, without columns of the wrong sign
PATIENCE = 10  # lassos in a row without a smaller gap, after which rounding leaves nothing to gain
WINDOW = 100  # ridge regressions without gain after which nothing more is expected
FARTHEST = 1e250  # a given lam, in units of the targets, is between this and its reciprocal
UNITS = 1e100  # of the targets, which a prior with a unit of its own can bear


class Point(NamedTuple):
    """What is known at some weights."""

    X: np.ndarray  # weights of unit columns, (d, k)
    U: np.ndarray  # residual, (n, k)
    lam: float
    size: np.ndarray  # root mean square of each row of X, (d,)
    pull: np.ndarray  # of each row of Phi^T U, (d,)
    residuals: np.ndarray  # of the optimality conditions, relative to the largest |phi_j^T y|, (d,)
    value: float
    violation: float
    gap: float  # relative duality gap; nan for priors other than Laplace

    @property
    def missed(self) -> float:
        """What must fall below tol: the gap where there is one."""
        return self.violation if np.isnan(self.gap) else self.gap


class TypeOne:
    """The objective on unit columns and targets of mean square 1.

    Parameters
    ----------
    evidence : Evidence
        Its columns and targets.
    prior
        With h and its derivative.
    lam : float or None
        The trade-off, None to learn it.
    """

    def __init__(self, evidence: Evidence, prior: Any, lam: float | None):
        self.problem = UnitProblem(evidence, prior)
        self.Phi, self.T, self.k = self.problem.Phi, self.problem.T, evidence.k
        self.prior, self.lam, self.n = prior, lam, degrees(evidence)
        self.laplace = is_laplace(prior)
        self.lasso = self.laplace and self.k == 1
        self.floor = EXACT if self.lasso else FLOOR  # of the residual's mean square
        # The largest weight that a column alone would have: a measure that does not shrink with the weights.
        self.largest = float(self._norms(self.Phi.T @ self.T).max(initial=0.0))
        self.least = ZERO * self.largest  # weights at or below this count as 0

    def _norms(self, X: np.ndarray) -> np.ndarray:
        """Root mean square of each row."""
        return np.sqrt((X * X).mean(axis=1))

    def slope(self, size: np.ndarray) -> np.ndarray:
        """h'(x^2), of weights at the floor or above."""
        return self.prior.slope(np.maximum(size, self.least) ** 2)

    def barrier(self, lam: float) -> float:
        """The least |phi_j^T u| that moves a weight of 0: where the prior's slope is infinite there, that at the floor.

        Rounded up by a part in 10^12, so that a column at the edge of a lasso counts as satisfied.
        """
        if not self.least:
            return np.inf
        return lam * self.least * float(self.slope(np.zeros(1))[0]) * (1 + 1e-12)

    def mean_square(self, U: np.ndarray) -> float:
        """Of a residual."""
        return float((U * U).sum()) / (self.k * self.n)

    def interpolates(self, point: Point) -> bool:
        """Whether lam is learned and held at its floor, for the columns fit the targets."""
        return self.lam is None and self.mean_square(point.U) <= self.floor

    def at(self, X: np.ndarray, dual: np.ndarray | None = None) -> Point:
        """All that is known at X, from a fresh residual; `dual` is a further point at which a gap may be read."""
        rows = np.flatnonzero(X.any(axis=1))
        U = self.T - (self.Phi[:, rows] @ X[rows] if 4 * len(rows) < len(X) else self.Phi @ X)
        P = self.Phi.T @ U
        size, pull, square = self._norms(X), self._norms(P), self.mean_square(U)
        lam = float(1 / self.prior.slope(np.array([max(square, self.floor)]))[0]) if self.lam is None else self.lam
        residuals = np.maximum(pull - self.barrier(lam), 0.0)
        if len(rows):
            residuals[rows] = self._norms(P[rows] - lam * self.prior.slope(size[rows] ** 2)[:, None] * X[rows])
        residuals /= self.largest or 1.0
        penalty = self.k * float(self.prior.h(size[rows] ** 2).sum())
        if self.lam is None:
            value = 0.5 * (penalty + self.k * self.n * float(self.prior.h(np.array([max(square, ROUNDING)]))[0]))
        else:
            value = 0.5 * (penalty + self.k * self.n * square / lam)
        violation, gap = float(residuals.max(initial=0.0)), np.nan
        if self.laplace:
            value = 0.5 * (penalty + self.k * self.n * np.sqrt(square)) if self.lam is None else value
            violation, gap = self._certificate(X, U, P, value, dual)
        return Point(X, U, lam, size, pull, residuals, value, violation, gap)

    def _certificate(self, X, U, P, value: float, dual: np.ndarray | None) -> tuple[float, float]:
        """Largest violation relative to the penalty, and relative duality gap, of the (square-root) lasso.

        The dual is max tr(Y^T D) - lam |D|^2 / 2, |phi_j^T D| <= b = sqrt(k) / 2 for all columns; with lam learned, max
        tr(Y^T D) and |D| <= b sqrt(n) as well.
        """
        b = 0.5 * np.sqrt(self.k)
        length = float(np.sqrt((U * U).sum()))
        factor = 1 / self.lam if self.lam is not None else b * np.sqrt(self.n) / length if length > 0 else 0.0
        points = [(factor * U, factor * P)]
        if dual is not None:
            points.append((dual, self.Phi.T @ dual))
        found = [(self._dual(D, pulled, b), pulled) for D, pulled in points]
        best, pulled = max(found, key=lambda pair: pair[0])
        size = np.sqrt((X * X).sum(axis=1))
        reached = np.sqrt((pulled * pulled).sum(axis=1))
        missed = np.maximum(reached - b, 0.0)
        kept = size > 0
        missed[kept] = np.sqrt(((pulled[kept] - b * X[kept] / size[kept, None]) ** 2).sum(axis=1))
        gap = max(0.0, value - best) / value if value > 0 else 0.0
        return float(missed.max(initial=0.0)) / b, float(gap)

    def _dual(self, D: np.ndarray, pulled: np.ndarray, b: float) -> float:
        """The dual's value at D, shrunk until it is feasible."""
        highest = float(np.sqrt((pulled * pulled).sum(axis=1)).max(initial=0.0))
        length = float(np.sqrt((D * D).sum()))
        rho = min(1.0, b / highest if highest > 0 else 1.0)
        if self.lam is None:
            rho = min(rho, b * np.sqrt(self.n) / length if length > 0 else 1.0)
            return rho * float((self.T * D).sum())
        return rho * float((self.T * D).sum()) - 0.5 * self.lam * (rho * length) ** 2

    def ridge(self, rows: np.ndarray, gamma: np.ndarray, lam: float) -> np.ndarray:
        """Gamma Phi^T (lam I + Phi Gamma Phi^T)^-1 Y by the smaller of the two systems; 0 outside rows, (d, k)."""
        X = np.zeros((self.Phi.shape[1], self.k))
        root = np.sqrt(gamma)[:, None]
        if len(rows) <= len(self.Phi):
            G, C = self.problem.products(rows)
            H = root * G * root.T
            H.flat[:: len(rows) + 1] += lam
            X[rows] = root * _solve(H, root * C)
        else:
            Phi = self.Phi[:, rows] if len(rows) < len(X) else self.Phi
            S = (Phi * gamma) @ Phi.T
            S.flat[:: len(S) + 1] += lam
            X[rows] = gamma[:, None] * (Phi.T @ _solve(S, self.T))
        return X

    def start(self) -> np.ndarray:
        """A ridge regression: equal variances that together explain the targets, and a tenth of these as noise."""
        d = self.Phi.shape[1]
        z = np.full(d, self.n / max(1.0, min(d, self.n)))
        return self.ridge(np.arange(d), 1 / self.prior.slope(z), 0.1 if self.lam is None else self.lam)

    def step(self, point: Point) -> np.ndarray:
        """The ridge regression with the variances of the weights.

        Left out are weights of 0 that are to stay there; columns that violate that come in, at the floor.
        """
        alive = np.flatnonzero((point.size > self.least) | (point.pull > self.barrier(point.lam)))
        return self.ridge(alive, 1 / self.slope(point.size[alive]), point.lam)

    def without_vanishing(self, point: Point, tol: float) -> Point | None:
        """The point with small weights on their way to 0 set to 0, where that and nothing else is left to do."""
        vanishing = (point.size > 0) & (point.size <= np.sqrt(tol) * self.largest)
        vanishing &= (point.residuals > tol) & (point.pull <= self.barrier(point.lam))
        others = point.residuals[~vanishing].max(initial=0.0)
        if not vanishing.any() or (others > tol and point.missed > tol):
            return None
        found = self.at(np.where(vanishing[:, None], 0.0, point.X))
        return found if found.missed <= tol else None


def degrees(evidence: Evidence) -> float:
    """The n of the objective: the sum of the sample weights, less one for an intercept, and 1 at least."""
    return max(evidence.total, 1.0)


def _solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B of a positive definite matrix, by Cholesky; by least squares where rounding leaves it indefinite."""
    if not len(A):
        return B
    for ridge in RIDGES:
        try:
            return cho_solve(cho_factor(A + ridge * np.diag(A.diagonal()) if ridge else A, check_finite=False), B)
        except LinAlgError:
            continue
    return lstsq(A, B)[0]


class Notes:
    """The history of a fit."""

    def __init__(self) -> None:
        self.began, self.steps = time.perf_counter(), list[Step]()
        self.point: Point | None = None  # of the last row

    def add(self, point: Point) -> None:
        """One row."""
        self.point = point
        seconds = time.perf_counter() - self.began
        self.steps.append(Step(point.value, point.violation, point.gap, int(np.count_nonzero(point.size)), seconds))

    def idle(self) -> bool:
        """Whether the last steps gained nothing in the objective but rounding, and little in the violation."""
        if len(self.steps) <= WINDOW:
            return False
        then, now = self.steps[-1 - WINDOW], self.steps[-1]
        gained = then.objective - now.objective > 1e-13 * abs(now.objective) or now.support < then.support
        return not gained and now.violation > 0.9 * then.violation


def reweighted_ridge(objective: TypeOne, tol: float, max_iter: int, notes: Notes) -> tuple[Point, Status, int]:
    """Ridge regressions with gamma_j = 1 / h'(x_j^2), until the weights are stationary over all columns.

    The objective falls with every step. Columns at 0 are looked at in each, and come back where they violate the
    optimality conditions.
    """
    point, n_iter = objective.at(objective.start()), 0
    while n_iter < max_iter:
        n_iter += 1
        notes.add(point)
        simpler = objective.without_vanishing(point, tol)
        if simpler is not None:
            point = simpler
            notes.add(point)
        if point.missed <= tol or (objective.interpolates(point) and point.residuals.max() <= tol) or notes.idle():
            break
        point = objective.at(objective.step(point))
    if objective.interpolates(point):
        return point, Status.INTERPOLATES, n_iter
    return point, Status.CONVERGED if point.missed <= tol else Status.UNSETTLED, n_iter


def certified_lasso(objective: TypeOne, tol: float, max_iter: int, notes: Notes) -> tuple[Point, Status, int]:
    """The lasso or the square-root lasso, to a relative duality gap of tol, and further where it can.

    With lam learned, the lasso at lam = 2 |u| / sqrt(n) and this lam in turn: weights and lam together are a convex
    problem. For one target, on the right support with the right signs, either has a closed form, which is tried each
    time.
    """
    point, n_iter, idle = objective.at(np.zeros((objective.Phi.shape[1], objective.k))), 1, 0
    solve = _one_target(objective) if objective.lasso else _several_targets(objective)
    trail: list[tuple[float, float]] = []  # logarithms of lam, of the last lassos and of their residuals
    notes.add(point)
    while point.gap > min(tol, GOAL) and n_iter <= max_iter and idle < PATIENCE:
        if not objective.lasso and objective.interpolates(point):
            break
        lam = point.lam if objective.lasso else _ahead(trail, point.lam)
        weights, steps = solve(point.X, max(lam / 2, SMALLEST), min(NEWTON_STEPS, max_iter))
        n_iter += max(1, steps)
        tried = [objective.at(weights), *(_closed_form(objective, weights) if objective.lasso else [])]
        best = min(tried, key=lambda each: each.gap)
        trail = [*trail[-1:], (float(np.log(lam)), float(np.log(best.lam)))] if best.value < point.value else []
        idle = 0 if best.gap < 0.99 * point.gap else idle + 1
        # The objective of the square-root lasso falls with every lasso, its gap need not.
        if best.gap < point.gap or (best.value <= point.value and point.gap > tol):
            point = best
            notes.add(point)
        if idle and (objective.lam is not None or point.gap <= tol):
            break
    n_iter = min(n_iter, max_iter)
    square = objective.mean_square(point.U)
    if objective.lam is None and square <= (EXACT if point.gap <= tol else FLOOR):
        return point, Status.INTERPOLATES, n_iter
    missed = Status.MAX_ITER if n_iter >= max_iter else Status.STALLED
    return point, Status.CONVERGED if point.gap <= tol else missed, n_iter


def _ahead(trail: list[tuple[float, float]], plain: float) -> float:
    """The lam to which the last two lead, by the secant rule, where plain steps are slow; else the plain one."""
    if len(trail) < 2:
        return plain
    (x, reached), (y, now) = trail
    rate = (now - reached) / (y - x) if y != x else 0.0
    return float(np.exp(y + np.clip((now - y) / (1 - rate), -1.0, 1.0))) if 0.5 < rate < 1 else plain


def _one_target(objective: TypeOne) -> Callable:
    """The lasso with |y - Phi x|^2 / 2 + sigma sum |x_j|, from some weights: new ones, and the steps taken."""
    design = as_design(np.asfortranarray(objective.Phi))

    def solve(X: np.ndarray, sigma: float, steps: int) -> tuple[np.ndarray, int]:
        found = newton(Posterior(design, objective.T, Gaussian(sigma), Laplace(1.0)), X, INNER, steps)
        return found.weights, found.n_iter

    return solve


def _several_targets(objective: TypeOne) -> Callable:
    """The same with rows of weights: sigma sqrt(k) sum |x_j|."""
    ones = np.sqrt(objective.k) * np.ones(objective.Phi.shape[1])

    def solve(X: np.ndarray, sigma: float, steps: int) -> tuple[np.ndarray, int]:
        return RowLasso(objective.Phi, objective.T, sigma * ones).solve(X, FINEST, steps)

    return solve


def _closed_form(objective: TypeOne, X: np.ndarray) -> list[Point]:
    """The best weights on the support of these with their signs, without columns that would change sign, if any."""
    rows = np.flatnonzero(X)
    for _ in range(ATTEMPTS):
        rows = rows[_independent(objective.Phi[:, rows] * np.abs(X[rows, 0]))]
        if not len(rows):
            break
        found, dual = _solved_on(objective, rows, np.sign(X[rows]))
        if found is None:
            break
        if dual is not None:  # weights that vanish with lam are 0 but for rounding
            found[np.abs(found) <= 1e-10 * np.abs(found).max()] = 0.0
        wrong = (np.sign(found[:, 0]) != np.sign(X[rows, 0])) & (found[:, 0] != 0)
        if not wrong.any():
            moved = np.zeros_like(X)
            moved[rows] = found
            return [objective.at(moved, dual)]
        rows = rows[~wrong]
    return []


def _independent(B: np.ndarray) -> np.ndarray:
    """Columns of which none is, up to rounding, a combination of others; the longest first, in their order."""
    if not B.shape[1]:
        return np.arange(0)
    norms = np.sqrt((B * B).sum(axis=0))
    R, order = qr(B, mode="r", pivoting=True)
    depth = np.abs(np.diag(R)) / norms[order[: min(B.shape)]]
    return np.sort(order[: min(B.shape)][depth > 1e-8])


def _solved_on(objective: TypeOne, rows: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The weights of independent columns, the signs S given, and a dual point where they fit the targets exactly.

    With G the columns' products, x = G^-1 (Phi^T y - sigma S), sigma = lam / 2. Where lam is learned, sigma = |u| /
    sqrt(n), u = r + sigma v, r what least squares leaves and v = Phi G^-1 S, so that sigma^2 (n - |v|^2) = |r|^2.
    """
    G, C = objective.problem.products(rows)
    least, tilt = np.split(_solve(G, np.hstack([C, signs])), 2, axis=1)
    if objective.lam is not None:
        return least - objective.lam / 2 * tilt, None
    Phi = objective.Phi[:, rows]
    r, v = objective.T - Phi @ least, Phi @ tilt
    square, left = float((r * r).sum()), objective.n - float((v * v).sum())
    if left <= 0:
        return None, None
    if square <= EXACT * objective.n:
        return least, 0.5 * v
    return least - np.sqrt(square / left) * tilt, None


def type_one(evidence: Evidence, prior: Any, lam: float | None, tol: float, max_iter: int) -> Solution:
    """Solve with targets in units of their root mean square; tell in those of the data.

    Among the solution's extras are `fit`, still in units of the targets, these units, the trade-off `lambda`, and
    whether the problem was `convex`.
    """
    if evidence.yy == 0:
        return _constant(evidence, prior, lam, tol)
    unit = float(np.sqrt(evidence.yy / (evidence.k * degrees(evidence))))
    scaled, power = evidence.scaled(unit), degree(prior)
    inner = prior if lam is None or power is not None else InUnits(prior, _bearable(prior, unit))
    size = unit ** (2.0 - (power or 0.0))  # the unit of lam
    objective = TypeOne(scaled, inner, None if lam is None else _comparable(lam, size, unit))
    notes, solver = Notes(), certified_lasso if objective.laplace else reweighted_ridge
    point, status, n_iter = solver(objective, tol, max_iter, notes)
    if notes.point is not point:
        notes.add(point)
    fit = _surrogate(scaled, objective, point)
    told = [step._replace(objective=_in_units(step, evidence, power, lam is None, unit)) for step in notes.steps]
    last = told[-1]
    final = solution(scaled, fit, 0.0, told, tol, True)
    found = point.lam * size if lam is None else lam
    extra = {**final.extra, "unit": unit, "lambda": found, "convex": objective.laplace}
    # The weights are those that the objective was judged at; the normal posterior's mean is them up to rounding only.
    kept = np.flatnonzero(point.size)
    weights = in_data_units(scaled, objective.problem.rows[kept], point.X[kept])
    return final._replace(
        weights=weights * unit, objective=last.objective, violation=point.violation, gap=point.gap, status=status,
        n_iter=n_iter, extra=extra,
    )  # fmt: skip


def _bearable(prior: Any, unit: float) -> float:
    """The unit of targets under a prior that has one too."""
    if not 1 / UNITS < unit < UNITS:
        raise ValueError(
            f"prior={prior!r} has a unit of its own, which targets of size {unit:.1e} are too far from; divide y by "
            "its standard deviation, or learn the noise."
        )
    return unit


def _comparable(lam: float, size: float, unit: float) -> float:
    """A given lam in units of the targets."""
    found = lam / size if size > 0 else np.inf
    if not 1 / FARTHEST < found < FARTHEST:
        raise ValueError(
            f"noise={lam!r} and targets of size {unit:.1e} are too far apart to be compared; give noise in the units "
            "of y, or noise='learn'."
        )
    return found


def _in_units(step: Step, evidence: Evidence, power: float | None, learned: bool, unit: float) -> float:
    """The objective in the units of the data; that of a prior with a unit of its own stays in those of the targets."""
    if power is None:
        return step.objective
    if power > 0:
        return step.objective * unit**power
    counted = step.support + (degrees(evidence) if learned else 0.0)
    return step.objective + evidence.k * counted * float(np.log(unit))


def _surrogate(evidence: Evidence, objective: TypeOne, point: Point) -> Fit:
    """The normal posterior whose mean the weights are, with the noise as a variance.

    (lam, gamma) and (c lam, c gamma) have the same mean. The c is taken at which the noise is |u|^2 / (n - degrees of
    freedom): the columns kept for a lasso of one target, else sum_j gamma_j z_j.
    """
    kept = np.flatnonzero(point.size)
    rows, k = objective.problem.rows[kept], objective.k
    ratio = 1 / (point.lam * objective.prior.slope(point.size[kept] ** 2))  # gamma / lam
    products = evidence.products(evidence.take(rows))
    used = len(rows) if objective.lasso else float(evidence.fit(rows, 1 / ratio, 1.0, *products).determined.sum())
    misfit = float((point.U * point.U).sum())
    least = objective.floor if objective.lam is None else ROUNDING
    noise = max(misfit / (k * max(objective.n - used, 1.0)), least)
    if not len(rows):
        return evidence.empty(noise)
    fit = evidence.fit(rows, 1 / (ratio * noise), noise, *products)
    return fit._replace(mean=point.X[kept], misfit=misfit)


def _constant(evidence: Evidence, prior: Any, lam: float | None, tol: float) -> Solution:
    """Targets that are all equal: no column, and no noise."""
    fit = evidence.empty(float(np.finfo(float).tiny))
    note = Step(0.0, 0.0, 0.0 if is_laplace(prior) else np.nan, 0, 0.0)
    final = solution(evidence, fit, 0.0, [note], tol, True)
    extra = {"fit": fit._replace(noise=0.0), "unit": 1.0, "lambda": lam or 0.0, "convex": is_laplace(prior)}
    return final._replace(objective=0.0, violation=0.0, gap=note.gap, status=Status.CONVERGED, extra=extra)
