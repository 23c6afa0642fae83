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
from typing import Any, NamedTuple

import numpy as np

from ...design import OperatorDesign
from ...objective.evidence import Evidence
from ...priors import is_laplace
from ..solution import Step
from ..type2.sequential import FLOOR
from ..type2.unit_problem import ZERO
from .unit_columns import FormedColumns, OperatorColumns, UnitColumns

EXACT = 1e-16  # mean square of the residual, relative to that of the targets, below which a lasso interpolates
ROUNDING = 1e-28  # mean square below which a residual is nothing but rounding
WINDOW = 100  # ridge regressions without gain after which nothing more is expected


class Point(NamedTuple):
    """The objective at some weights, with its certificate."""

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
        """The number that must fall below tol: the gap where there is one, else the violation."""
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
        by_products = isinstance(evidence.columns.design, OperatorDesign)
        self.columns: UnitColumns = OperatorColumns(evidence) if by_products else FormedColumns(evidence, prior)
        self.T, self.k = self.columns.targets, evidence.k
        self.prior, self.lam, self.n = prior, lam, degrees(evidence)
        self.laplace = is_laplace(prior)
        self.lasso = self.laplace and self.k == 1
        self.floor = EXACT if self.lasso else FLOOR  # of the residual's mean square
        # The largest weight that a column alone would have: a measure that does not shrink with the weights.
        self.largest = float(self._norms(self.columns.pull_all(self.T)).max(initial=0.0))
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
        """The mean square of a residual."""
        return float((U * U).sum()) / (self.k * self.n)

    def interpolates(self, point: Point) -> bool:
        """Whether lam is learned and held at its floor, for the columns fit the targets."""
        return self.lam is None and self.mean_square(point.U) <= self.floor

    def at(self, X: np.ndarray, dual: np.ndarray | None = None) -> Point:
        """All that is known at X, from a fresh residual; `dual` is a further point at which a gap may be read."""
        rows = np.flatnonzero(X.any(axis=1))
        U = self.T - self.columns.push(X)
        P = self.columns.pull_all(U)
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
            points.append((dual, self.columns.pull_all(dual)))
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
        """The ridge regression with these variances; 0 outside rows, (d, k)."""
        X = np.zeros((len(self.columns.rows), self.k))
        X[rows] = self.columns.ridge(rows, gamma, lam)
        return X

    def start(self) -> np.ndarray:
        """A ridge regression: equal variances that together explain the targets, and a tenth of these as noise."""
        d = len(self.columns.rows)
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
