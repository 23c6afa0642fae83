"""Type I estimation, solved in units of the targets and returned in those of the data (Wipf & Wu 2012, section 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Status
from ...objective.evidence import Evidence, Fit
from ...priors import InUnits, degree, is_laplace
from ..solution import Solution, Step
from ..type2.sequential import in_data_units, solution
from .certified_lasso import certified_lasso
from .reweighted_ridge import reweight
from .unit_objective import ROUNDING, Notes, Point, TypeOne, degrees

FARTHEST = 1e250  # a given lam, in units of the targets, is between this and its reciprocal
UNITS = 1e100  # largest unit of the targets (and inverse of the smallest) under a prior with a unit of its own


class _Ridges:
    """Ridge regressions with gamma_j = 1 / h'(x_j^2), until the weights are stationary over all columns.

    Columns at 0 are looked at in each, and come back where they violate the optimality conditions.
    """

    def __init__(self, objective: TypeOne, notes: Notes):
        self.objective, self.notes = objective, notes
        self.point = objective.at(objective.start())

    def is_done(self, tol: float) -> bool:
        objective, notes = self.objective, self.notes
        notes.add(self.point)
        simpler = objective.without_vanishing(self.point, tol)
        if simpler is not None:
            self.point = simpler
            notes.add(simpler)
        point = self.point
        return point.missed <= tol or (objective.interpolates(point) and point.residuals.max() <= tol) or notes.idle()

    def step(self) -> None:
        self.point = self.objective.at(self.objective.step(self.point))

    def is_stalled(self) -> bool:
        return False


def reweighted_ridge(objective: TypeOne, tol: float, max_iter: int, notes: Notes) -> tuple[Point, Status, int]:
    """A stationary point by reweighted ridge regressions."""
    run = _Ridges(objective, notes)
    n_iter = min(reweight(run, tol, max_iter) + 1, max_iter)
    if objective.interpolates(run.point):
        return run.point, Status.INTERPOLATES, n_iter
    return run.point, Status.CONVERGED if run.point.missed <= tol else Status.UNSETTLED, n_iter


def type_one(evidence: Evidence, prior: Any, lam: float | None, tol: float, max_iter: int) -> Solution:
    """Solve with targets in units of their root mean square; return weights in those of the data.

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
    weights = in_data_units(scaled, objective.columns.rows[kept], point.X[kept])
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
    rows, k = objective.columns.rows[kept], objective.k
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
