"""The objective of rows in Dask blocks: value, gradient, Hessian and certificate from one pass over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...design import Design
from ...objective.certificate import FREE_SHARE, FREE_TOLERANCE, NEGLIGIBLE, optimality
from ...objective.posterior import Posterior
from ...objective.sample import Sample
from ...priors import ElasticNet
from .block_moments import Moments as SummedMoments
from .block_moments import add, find_gram
from .block_sums import SHRINKAGES, Sums, evaluate, join
from .drawn import DrawnRows
from .passes import Passes
from .shared_passes import SomeRows

FAR = 100.0  # standard deviations of a column's mean from 0: two of sixteen digits are lost
ROWS_PER_UNKNOWN = 200  # rows in the Hessian of Newton steps for each unknown weight


class Blocks(Design):
    """Columns that stay in blocks on the workers; only their moments are on the client."""

    centred = False

    def __init__(self, passes: Passes | SomeRows, found: SummedMoments, rows: int, intercept: bool):
        super().__init__(rows, len(found.mean), intercept)
        self.passes, self.found = passes, found

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.found.mean, self.found.spread, self.found.mass

    @cached_property
    def center(self) -> np.ndarray:
        """What is subtracted from the columns: with an intercept their means, else 0."""
        return self.found.mean if self.intercept else np.zeros(self.d)

    @cached_property
    def unit(self) -> np.ndarray:
        """Root mean square of the centred columns, 1 where that is 0."""
        second = self.found.spread + (0.0 if self.intercept else self.found.total * self.found.mean**2)
        unit = np.sqrt(second / self.found.total)
        return np.where(unit > 1e-14 * np.abs(self.found.mean), unit, 1.0)

    @cached_property
    def far(self) -> bool:
        """Whether products of the columns as they are would lose more digits than they can spare."""
        return bool((np.abs(self.center) > FAR * self.unit).any())


class SummedPoint(NamedTuple):
    """The objective and its derivatives at one W, whose intercepts are those of centred columns."""

    W: np.ndarray
    G: np.ndarray  # gradient of the smooth part, in the centred columns
    residuals: np.ndarray  # of the KKT conditions, relative to their scale
    value: float
    gap: float
    active: np.ndarray | None  # mask of the weights with a known Hessian, intercepts always among them
    sums: Sums
    fresh: bool = True
    F: Any = None  # scores stay on the workers
    P: Any = None

    @property
    def violation(self) -> float:
        """The largest KKT residual."""
        return float(self.residuals.max(initial=0.0))


class SummedPosterior(Posterior):
    """Negative log posterior of a multinomial likelihood with a convex prior, summed over blocks of rows."""

    design: Blocks
    sample: DaskSample
    remote = True

    def _set(self, sample: DaskSample, likelihood, prior: ElasticNet) -> None:  # type: ignore[override]
        super()._set(sample, likelihood, prior)
        self.task, self.class_weight, self.reached = sample.task, sample.class_weight, sample.reached

    @property
    def passes(self) -> int:
        """How often the data were read."""
        return self.design.passes.count

    @passes.setter
    def passes(self, count: int) -> None:
        """Passes are counted where the blocks are read."""

    # -- Solvers use the intercepts of centred columns; models the intercepts of the columns as they are.

    def centred(self, W: np.ndarray) -> np.ndarray:
        """W with the intercepts that centred columns need for the same scores."""
        return self._shifted(W, 1.0)

    def uncentred(self, W: np.ndarray) -> np.ndarray:
        """W with the intercepts of the columns as they are: the inverse of `centred`."""
        return self._shifted(W, -1.0)

    def _shifted(self, W: np.ndarray, sign: float) -> np.ndarray:
        W = W.copy()
        if self.design.intercept:
            W[-1] += sign * (self.design.center @ W[:-1])
        return W

    def start(self) -> np.ndarray:
        """Weights of zero with the intercepts of the class frequencies."""
        W = np.zeros(self.shape)
        if self.design.intercept:
            logs = np.log(self.class_weight / self.total)
            W[-1] = logs[1:] - logs[0] if self.k == 1 else logs[: self.k] - (logs[-1] if self.task.reference else 0.0)
        return W

    def farthest(self) -> float:
        """0: offsets stay on the workers, and starts for large ones are not looked for."""
        return 0.0

    def null_value(self) -> float:
        """The objective of the class frequencies alone; infinite where an offset or no intercept forbids it."""
        if self.offset is not None or not self.design.intercept:
            return np.inf
        return -float(self.class_weight @ np.log(self.class_weight / self.total))

    def slopes(self, G: np.ndarray) -> np.ndarray:
        """The gradient of a point, as it is."""
        return G

    def free_violation(self, residuals: np.ndarray) -> float:
        """0: the certificate does not need free weights that are fitted exactly before it is read."""
        return 0.0

    def separated(self, point: Any) -> bool:
        """As for large problems in memory, only a fit that puts every sample in its own class counts."""
        free = bool(self.free[: self.design.d].any())
        return free and point.sums.doubt <= 1e-8 and point.sums.least > 0.5

    @property
    def drawn(self) -> DrawnRows | None:
        """The random sample of rows on the client; None if no rows were drawn."""
        return self.sample.drawn

    # -- One pass

    def at(self, W: np.ndarray, F: Any = None) -> SummedPoint:  # type: ignore[override]
        """The point at W (intercepts of centred columns); scores stay on the workers."""
        return self.evaluate(W)

    def evaluate(self, W: np.ndarray, active: np.ndarray | None = None, exact: bool = False) -> SummedPoint:
        """The point at W (intercepts of centred columns), with the Hessian in the active weights (m, k).

        Unless `exact`, the Hessian is that of a part of the rows, ROWS_PER_UNKNOWN for each active weight.
        """
        d = self.design.d
        if active is not None:
            active = active.copy()
            active[d:] = True
        b = W[d] if self.design.intercept else np.zeros(self.k)
        unknowns = 0 if active is None else int(np.count_nonzero(active))
        thin = 1 if exact else max(1, self.design.n // (ROWS_PER_UNKNOWN * max(1, unknowns)))
        about = {"center": self.design.center, "far": self.design.far}
        task = self.task._replace(W=W[:d], b=b, active=active, thin=thin, **about)
        point = self._point(W, self.design.passes.total(evaluate, join, task), active)
        self.reached[:] = [self, point]
        return point

    def _point(self, W: np.ndarray, sums: Sums, active: np.ndarray | None) -> SummedPoint:
        G = np.vstack([sums.gradient, sums.tilt]) if self.design.intercept else sums.gradient
        verdict = optimality(self, W, G)
        value = sums.loss + verdict.penalty
        gap = self._gap(W, value, sums, verdict.residuals)
        return SummedPoint(W, G + self.l2 * W, verdict.residuals, value, gap, active, sums)

    def again(self, point: SummedPoint) -> SummedPoint:
        """The same weights under this prior, without a pass: the sums do not depend on the prior."""
        return self._point(point.W, point.sums, point.active)

    def known(self, W: np.ndarray) -> SummedPoint | None:
        """The last point, where it was at the same weights under whatever prior: a pass that need not be repeated."""
        if not self.reached:
            return None
        last, d, C = self.reached[1], self.design.d, self.centred(W)
        same = np.array_equal(C[:d], last.W[:d]) and np.allclose(C[d:], last.W[d:], rtol=1e-12, atol=1e-12)
        return self.again(last) if same and last.active is not None else None

    def curvature_at(self, point: Any, active: np.ndarray) -> np.ndarray:
        """Second derivatives in the active weights of the point, class by class, of centred columns."""
        return point.sums.hessian + np.diag(self.l2.T[point.active.T])

    def gram(self) -> np.ndarray:
        """C^T diag(s) C of the centred columns, one pass."""
        return self.design.passes.total(find_gram, add, self.task._replace(center=self.design.center))

    # -- The certificate

    def _gap(self, W: np.ndarray, value: float, sums: Sums, residuals: np.ndarray) -> float:
        """Relative duality gap. The dual point moves probability between classes until each has its total weight.

        Q = P M with M a row-stochastic matrix that is the identity but for the intercepts' residuals: then sum s (Q -
        Y) is 0 exactly, Z^T diag(s) Q = (Z^T diag(s) P) M, and, with M >= (1 - eps) I, the entropy of (1 - rho) Y + rho
        Q is at least (1 - rho eps) times that of the mixture of Y and P with rho (1 - eps) / (1 - rho eps). The free
        weights are held where they are; what is left of their gradient counts for moves that change the scores by about
        one, or double a weight.
        """
        d = self.design.d
        if residuals[:d][self.free[:d]].max(initial=0.0) > FREE_TOLERANCE:
            return np.inf
        move, eps = self._transport(sums)
        G = self._moved(sums.gradient, move)
        free = self.free[:d]
        held, left = G[free] @ W[:d][free], np.abs(G[free])
        dual = max(self._dual_at(sums, G, rho, move, eps) + rho * held for rho in self._shrinkages(G))
        slack = left @ (self.total / self.scale[:d][free] + np.abs(W[:d][free]))
        size = max(abs(value), NEGLIGIBLE * self.total)
        return np.inf if slack > FREE_SHARE * size else float(max(0.0, value - dual) + slack) / size

    def _transport(self, sums: Sums) -> tuple[np.ndarray | None, float]:
        """M, (m, m), and the largest fraction that a class gives away."""
        if not self.design.intercept:
            return None, 0.0
        tilt = sums.tilt
        if self.k == 1:
            tilt = np.array([-tilt[0], tilt[0]])
        elif self.task.reference:
            tilt = np.append(tilt, -tilt.sum())
        have = self.class_weight + tilt
        surplus, lack = np.maximum(tilt, 0.0), np.maximum(-tilt, 0.0)
        if not lack.sum() > 0:
            return None, 0.0
        given = surplus / np.maximum(have, np.finfo(float).tiny)
        return np.diag(1.0 - given) + np.outer(given, lack / lack.sum()), float(given.max())

    def _moved(self, G: np.ndarray, move: np.ndarray | None) -> np.ndarray:
        """Z^T diag(s) (P M - Y) in the columns of the objective, from Z^T diag(s) (P - Y)."""
        if move is None:
            return G
        Y = self.sample.class_sums
        if self.k == 1:
            full = np.column_stack([-G[:, 0], G[:, 0]])
            return ((full + Y) @ move - Y)[:, 1:]
        full = np.column_stack([G, -G.sum(axis=1)]) if self.task.reference else G
        return ((full + Y) @ move - Y)[:, : self.k]

    def _shrinkages(self, G: np.ndarray) -> set[float]:
        d = self.design.d
        l1, l2, single = self.l1[:d], self.l2[:d], ~self.free[:d] & self.ungrouped[:d, None]
        tried = set()
        for every in (True, False) if l2.any() else (True,):
            over = (single if every else single & (l2 == 0)) & (np.abs(G) > l1)
            largest = 0.0 if self.blocks is None else self.blocks.largest_dual_norm(G, every)
            tried.add(min(float((l1[over] / np.abs(G[over])).min(initial=1.0)), 1.0 / max(largest, 1.0)))
        return tried

    def _dual_at(self, sums: Sums, G: np.ndarray, rho: float, move: np.ndarray | None, eps: float) -> float:
        d = self.design.d
        inner = rho * (1 - eps) / (1 - rho * eps) if rho * eps < 1 else 0.0
        dual = (1 - rho * eps) * float(np.interp(inner, SHRINKAGES, sums.entropies))
        if self.offset is not None:
            dual += rho * self._offset_term(sums.offsets, move)
        quadratic = (self.l2[:d] > 0) & self.ungrouped[:d, None]
        if self.blocks is not None:
            dual -= self.blocks.excess(G, rho)
        if quadratic.any():
            excess = np.maximum(rho * np.abs(G[quadratic]) - self.l1[:d][quadratic], 0.0)
            dual -= float((excess**2 / (2 * self.l2[:d][quadratic])).sum())
        return dual

    def _offset_term(self, offsets: np.ndarray, move: np.ndarray | None) -> float:
        """sum s (P M - Y).offset; the class without a column has offset 0."""
        move = np.eye(len(self.class_weight)) if move is None else move
        labelled = np.arange(1, 2) if self.k == 1 else np.arange(self.k)
        return float((offsets[:-1] * move[:, labelled]).sum() - offsets[-1].sum())

    # -- Evidence

    def curvature_on(self, W: np.ndarray, F: np.ndarray | None, active: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss at W and the second derivatives in the weights of a mask (m, k), class by class: one pass.

        They are those of centred columns: the determinant is the same, and only the intercepts differ.
        """
        point = self.evaluate(self.centred(W), active, exact=True)
        return point.sums.loss, self.curvature_at(point, active)


@dataclass(frozen=True, eq=False)
class DaskSample(Sample):
    """Training data whose rows stay where they are; `weight` is the sum of their weights, `offset` a mark.

    Attributes
    ----------
    task : Task
        What the workers are told besides the point.
    class_weight : ndarray of shape (m,)
        Total weight of each class.
    """

    posterior: ClassVar[Any] = SummedPosterior
    task: Any = None
    class_weight: Any = None
    reached: list = field(init=False, default_factory=list)  # the last objective and point, to go on from

    def through(self, passes: Any) -> DaskSample:
        """The same rows, gone over by other passes."""
        design: Any = self.design
        other = replace(self, design=Blocks(passes, design.found, design.n, design.intercept))
        other.__dict__["drawn"] = self.drawn  # one copy for all
        return other

    @cached_property
    def k(self) -> int:
        """Columns of scores."""
        return self.task.k

    @cached_property
    def drawn(self) -> DrawnRows | None:
        """The few rows that came to the client when the columns were measured; None if there were too few."""
        design: Any = self.design
        found, m = design.found.drawn, len(self.class_weight)
        return DrawnRows(found, self.total, design.center, design.intercept, m, self.k) if found else None

    @cached_property
    def class_sums(self) -> np.ndarray:
        """Z^T diag(s) Y over all classes, of centred columns."""
        design: Any = self.design
        return design.found.by_class - np.outer(design.center, self.class_weight)
