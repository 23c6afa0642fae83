"""The objective: likelihood x prior on a design, callable at any point, with its own certificate.

F(W) = sum_i s_i loss(Phi_i W + offset_i, Y_i) + sum_jl [ l1_jl |W_jl| + l2_jl W_jl^2 / 2 ] + sum_g tau_g ||W_g||,
summed, in nats, is that of convex priors; :class:`MixturePosterior` that of scale mixtures, on weights that survive.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from ..design import Design, Moments, host
from ..likelihoods import Gaussian, Multinomial
from ..priors import ElasticNet, RowGroups
from .certificate import FREE_TOLERANCE, NEGLIGIBLE, optimality, relative_gap
from .curvature import hessian
from .memory_rows import MemoryRows
from .point import Fit, Point, Verdict
from .sample import Sample

__all__ = ["Fit", "Point", "Posterior", "Verdict"]


class Posterior(MemoryRows):
    """Negative log posterior of Type I models: a convex likelihood with a convex prior, separable but for its groups.

    Parameters
    ----------
    design : Design
    Y : ndarray of shape (n, k)
        Targets; class-major (Fortran order) in memory.
    likelihood, prior
        From :mod:`smaller.likelihoods` and :mod:`smaller.priors`.
    sample_weight : ndarray of shape (n,), optional
    offset : ndarray of shape (n, k), optional
        Added to the scores.
    """

    def __init__(
        self,
        design: Design,
        Y: np.ndarray,
        likelihood: Multinomial | Gaussian,
        prior: ElasticNet,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
    ):
        s = np.ones(design.n) if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        offset = None if offset is None else np.asfortranarray(offset, dtype=np.float64)
        self._set(Sample(design, np.asfortranarray(Y, dtype=np.float64), s, offset), likelihood, prior)

    @classmethod
    def of(cls, sample: Sample, likelihood: Multinomial | Gaussian, prior: ElasticNet) -> Posterior:
        """The objective of a sample, whose arrays are taken as they are."""
        objective = object.__new__(cls)
        objective._set(sample, likelihood, prior)
        return objective

    def _set(self, sample: Sample, likelihood: Multinomial | Gaussian, prior: ElasticNet) -> None:
        self.sample, self.likelihood, self.prior = sample, likelihood, prior
        self.design, self.Y, self.s, self.offset = sample.design, sample.Y, sample.weight, sample.offset
        self.total, self.k, self.passes = sample.total, sample.k, 0
        self.shape = self.design.d + int(self.design.intercept), self.k  # of W
        self.l1, self.l2 = prior.strengths(self.design.d, self.k, int(self.design.intercept))
        self.blocks: RowGroups | None = prior.blocks(self.design.d, self.k)

    def with_prior(self, prior: ElasticNet) -> Any:
        """The same sample under another prior."""
        return self.of(self.sample, self.likelihood, prior)

    def with_strength(self, lam: float) -> Any:
        """The same sample under a prior of this strength."""
        return self if lam == self.prior.l1 else self.with_prior(self.prior.with_strength(lam))

    @cached_property
    def free(self) -> np.ndarray:
        """Which weights carry no penalty at all, (m, k)."""
        return (self.l1 == 0) & (self.l2 == 0) & self.ungrouped[:, None]

    @cached_property
    def ungrouped(self) -> np.ndarray:
        """Which rows of W are in no group under a norm, (m,)."""
        out = np.ones(self.shape[0], dtype=bool)
        if self.blocks is not None:
            out[self.blocks.rows] = False
        return out

    @cached_property
    def free_places(self) -> np.ndarray:
        """The places in W, row by row, of weights without a penalty."""
        return np.flatnonzero(self.free)

    @cached_property
    def ridged(self) -> bool:
        """Whether any weight has a quadratic penalty."""
        return bool(self.l2.any())

    @cached_property
    def scale(self) -> np.ndarray:
        """What a KKT residual is measured against: l1, or else sum_i s_i |x_ij| / sqrt(noise), a large gradient.

        In a group it is the strength of its norm and its largest l1.
        """
        d = self.design.d
        if self.kinked[:d].all():
            scale = self.l1.copy()
            scale[d:] = self.total / np.sqrt(self.likelihood.noise)
        else:
            scale = np.where(self.l1 > 0, self.l1, self.moments.mass[:, None] / np.sqrt(self.likelihood.noise))
        if self.blocks is not None:
            scale[self.blocks.rows] = self.blocks.scale()[self.blocks.rows, None]
        return np.where(scale > 0, scale, 1.0)

    @property
    def sparse(self) -> bool:
        """Whether the prior can make a weight exactly 0."""
        return self.blocks is not None or bool(self.l1.any())

    @cached_property
    def kinked(self) -> np.ndarray:
        """Which weights have a penalty that makes zeros, (m, k)."""
        return (self.l1 > 0) | ~self.ungrouped[:, None]

    def together(self, mask: np.ndarray) -> np.ndarray:
        """The mask (m, k) with all weights of each group that has one in it."""
        return mask if self.blocks is None else self.blocks.together(mask)

    @property
    def leaders(self) -> np.ndarray | None:
        """Mask (d,) of the first column in each set of columns that are equal up to a factor; None: all columns."""
        factor = self.prior.factor
        if self.prior.l2 or self.blocks is not None or (factor is not None and factor.ndim > 1):
            return None
        return self.design.leaders(factor, self.prior.scale)

    @property
    def samples(self) -> Any:
        """Targets, weights and offset as compiled kernels take them."""
        noise = self.likelihood.noise
        return _core.Samples(
            Y=self.Y, s=self.s if noise == 1 else self.s / noise, offset=self.offset, family=self.likelihood.family,
            intercept=self.design.intercept, measure=float(self.total / np.sqrt(noise)),
            negligible=float(NEGLIGIBLE * self.total),
        )  # fmt: skip

    @property
    def penalties(self) -> Any:
        """L1, ridge and groups as the compiled solver takes them."""
        leaders, blocks = self.leaders, self.blocks
        groups = None if blocks is None else _core.Groups(
            start=blocks.starts.astype(np.int64), column=blocks.order.astype(np.int64), of=blocks.labels,
            tau=blocks.tau, unit=np.ascontiguousarray(blocks.unit, dtype=np.float64),
        )  # fmt: skip
        return _core.Penalty(
            l1=self.l1, l2=self.l2 if self.ridged else None, scale=self.scale,
            leads=None if leaders is None else leaders.view(np.uint8), groups=groups,
        )  # fmt: skip

    @property
    def moments(self) -> Moments:
        """Weighted moments of the columns of the design."""
        return self.sample.moments

    def start(self) -> np.ndarray:
        """Weights of zero, with intercepts that take out the mean of the offset."""
        W = np.zeros(self.shape)
        if self.design.intercept and self.offset is not None:
            W[-1] = -self.weighted(self.offset) / self.total
        return W

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Phi W + offset."""
        F = self.design.scores(W)
        return F if self.offset is None else F + self.offset

    def largest(self, F: np.ndarray) -> float:
        """The largest of these scores, in absolute value."""
        return float(self.xp.max(abs(F)))

    def penalty(self, W: np.ndarray) -> float:
        """The prior's part of the objective."""
        rows = W.any(axis=1) & self.ungrouped
        V, l1, l2 = W[rows], self.l1[rows], self.l2[rows]
        alone = float((l1 * np.abs(V)).sum() + (l2 * V * V).sum() / 2)
        return alone if self.blocks is None else alone + self.blocks.penalty(W)

    def kinked_change(self, W: np.ndarray, moved: np.ndarray) -> float:
        """By how much the part of the penalty that is not smooth changes; few digits cancel in the sum."""
        change = np.abs(moved) - np.abs(W)
        moving = change != 0  # columns that are left out have an infinite l1
        alone = float((self.l1[moving] * change[moving]).sum())
        return alone if self.blocks is None else alone + self.blocks.change(W, moved)

    def pressing(self, G: np.ndarray) -> np.ndarray:
        """|gradient| / l1, of a group its dual norm: from 1 on a weight of 0 leaves it. 0 where nothing makes zeros."""
        pressing = np.abs(G) / np.where(self.l1 > 0, self.l1, np.inf)
        if self.blocks is not None:
            pressing[self.blocks.rows] = self.blocks.dual_norms(G)[self.blocks.rows, None]
        leaders = self.leaders
        return pressing if leaders is None else np.where(np.append(leaders, True)[: len(G), None], pressing, 0.0)

    def value(self, W: np.ndarray, F: np.ndarray | None = None) -> float:
        """The objective; F are the scores of W where they are known."""
        F = self.scores(W) if F is None else F
        return self.likelihood.fit(F, self.Y, self.s)[-1] + self.penalty(W)

    def gradient(self, W: np.ndarray) -> np.ndarray:
        """The gradient of the smooth part: Phi^T diag(s) (P - Y) + l2 W."""
        return self.at(W).G

    def violation(self, W: np.ndarray) -> float:
        """The largest KKT residual relative to its scale: 0 at an optimum."""
        return self.at(W).violation

    def gap(self, W: np.ndarray) -> float:
        """Relative duality gap: a bound on (F(W) - minimum) / F(W)."""
        return self.at(W).gap

    def at(self, W: np.ndarray, F: np.ndarray | None = None, exact: float = FREE_TOLERANCE) -> Point:
        """Scores, gradient, value and certificate at W, for one pass over the design (two if the scores are not given).

        Scores that were given must not be written to afterwards. A reported certificate needs scores computed here.
        `exact` is the residual up to which weights without a penalty count as fitted.
        """
        fresh = F is None
        fit = self._fit(self.scores(W) if F is None else F)
        verdict = optimality(self, W, fit.G)
        value = fit.loss + verdict.penalty
        smooth = fit.G + self.l2 * W if self.ridged else fit.G
        gap = relative_gap(self, W, value, fit, verdict, exact)
        return Point(W, fit.F, fit.P, smooth, verdict.residuals, value, gap, fresh)

    def _fit(self, F: np.ndarray) -> Fit:
        P, U, loss = self.likelihood.fit(F, self.Y, self.s)
        G = self.known_gradient(F)
        if G is None:
            G = self._pull(U)
            self.remember(F, G)
        return Fit(F, P, U, G, loss)

    def remember(self, F: np.ndarray, G: np.ndarray) -> None:
        """Keep the gradient of the loss at the last scores: along a path the prior changes there."""
        self.sample.last[:] = [(F, G)]

    def known_gradient(self, F: np.ndarray) -> np.ndarray | None:
        """The gradient of the loss at the last scores, if F are these scores."""
        last = self.sample.last
        return last[0][1] if last and last[0][0] is F else None

    def _pull(self, U: np.ndarray) -> np.ndarray:
        """Phi^T diag(s) U; what rounding left in a fitted intercept is not multiplied by the means of the columns."""
        R = self.s[:, None] * U
        if not self.design.intercept:
            return self.design.pull(R)
        total = self.weighted(U)
        if self._is_fitted(total):
            R = R - self.s[:, None] * self.put(total / self.total)
        G = self.design.pull(R)
        G[-1] = total
        return G

    def _is_fitted(self, tilt: np.ndarray) -> bool:
        """Whether this gradient in the intercepts is as good as 0."""
        return bool(np.abs(tilt).max() <= FREE_TOLERANCE * self.total / np.sqrt(self.likelihood.noise))

    def slopes(self, G: np.ndarray) -> np.ndarray:
        """The gradient in the columns as they are, from that of a point: with fitted intercepts, of centred columns."""
        if not self.design.intercept or not self._is_fitted(G[-1]):
            return G
        return np.vstack([G[:-1] + np.outer(self.moments.mean[: self.design.d], G[-1]), G[-1:]])

    def free_violation(self, residuals: np.ndarray) -> float:
        """The largest KKT residual of a weight without a penalty."""
        return float(residuals.ravel()[self.free_places].max(initial=0.0))

    def mean_curvature(self, P: np.ndarray) -> np.ndarray | float:
        """The mean second derivative of a row's loss in each score, (k,), or the same for all."""
        return (self.weighted(P * (1 - P)) if P.shape else 1.0) / self.total

    def largest_curvature(self, rows: np.ndarray) -> np.ndarray:
        """What the second derivative of the loss in a weight of these rows never exceeds: sum s x^2, or a quarter."""
        only_intercept = len(rows) == 1 and rows[0] == self.design.d
        second = np.array([self.total]) if only_intercept else self.moments.second(self.total)[rows]
        return second / (4.0 if isinstance(self.likelihood, Multinomial) else self.likelihood.noise)

    def tempered(self, factor: float) -> Posterior:
        """The problem whose weights are W / factor where offset and scores are divided by it: the same for factor 1.

        Its loss is ``factor log sum exp(F / factor)``, as smooth as small offsets make it, and within ``factor log m``
        of the original for each sample; the L1 term is what it was.
        """
        sample = replace(self.sample, offset=None if self.offset is None else self.offset / factor)
        return self.of(sample, self.likelihood, self.prior.with_ridge(factor * self.prior.l2))

    def farthest(self) -> float:
        """The largest offset, less what the intercepts of :meth:`start` take out."""
        if self.offset is None:
            return 0.0
        b = self.start()[-1] if self.design.intercept else np.zeros(self.k)
        return float(np.abs(host(self.offset) + b).max(initial=0.0))

    def largest_strength(self, point: Point) -> float:
        """lam_max: the strength from which on every penalised weight is 0, seen from the null model's point."""
        unit = self.with_strength(1.0)
        mass = self.moments.mass[:, None]
        G = np.where(np.abs(point.G) > 1e-13 * mass, point.G, 0.0)  # the rest is rounding
        related = (unit.l1 > 0) & self.ungrouped[:, None]
        alone = float((np.abs(G[related]) / unit.l1[related]).max(initial=0.0))
        return alone if unit.blocks is None else max(alone, float(unit.blocks.dual_norms(G).max()))

    def hessian(self, P: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Second derivatives in W[rows], class-major: (k len(rows), k len(rows))."""
        r, k = len(rows), self.k
        if r == 1 and rows[0] == self.design.d and isinstance(self.likelihood, Multinomial):
            H = -host(P.T @ (self.s[:, None] * P))  # the intercepts alone
            H.flat[:: k + 1] += self.weighted(P)
            return H
        active = np.zeros(self.shape, dtype=bool)
        active[rows] = True
        return self.hessian_on(P, active)

    def curvature_on(self, W: np.ndarray, F: np.ndarray, active: np.ndarray) -> tuple[float, np.ndarray]:
        """The negative log-likelihood at W, whose scores are F, and the Hessian in the weights of a mask (m, k)."""
        P, _, loss = self.likelihood.fit(F, self.Y, self.s)
        return loss, self.hessian_on(P, active)

    def hessian_on(self, P: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Second derivatives in the weights of a mask (m, k), class by class."""
        H = hessian(self.design, self.likelihood, P, self.s, active)
        H.flat[:: len(H) + 1] += self.l2.T[active.T]
        return H
