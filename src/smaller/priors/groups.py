"""Priors on groups of columns: the weights of a group, across all classes or targets, are zero together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.reference_norms import conjugate, dual_norm, lengths, residuals
from .l1 import ElasticNet


class Groups(ElasticNet):
    """lam [ (1 - share) sum_g c_g ||W_g||_2 + share sum c |w| ] + l2 / 2 sum c w^2, W_g the rows of group g.

    The group lasso for ``l1_share=0``, the sparse-group lasso above. Weights are those of the columns divided by
    ``scale``, also inside the norm of a group.

    Parameters
    ----------
    lam : float
    labels : array-like of shape (d,)
        The group of each column, from 0; -1 for a column that belongs to none.
    group_factor : array-like
        c_g of each group, 0 or more.
    l1_share : float, default=0.0
        Of the penalty, at least 0 and below 1.
    l2, factor, scale
        As in :class:`ElasticNet`; the factors are those of the L1 and the ridge term.
    """

    def __init__(
        self,
        lam: float,
        labels: ArrayLike,
        group_factor: ArrayLike,
        l1_share: float = 0.0,
        l2: float = 0.0,
        factor: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ):
        super().__init__(lam, l2, factor, scale)
        self.labels, self.group_factor = np.asarray(labels, dtype=np.int64), np.asarray(group_factor, dtype=float)
        self.l1_share = l1_share

    def strengths(self, d: int, k: int, free_rows: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """l1 and l2 of every weight; the norms of groups come on top."""
        return ElasticNet(self.l1 * self.l1_share, self.l2, self.factor, self.scale).strengths(d, k, free_rows)

    def blocks(self, d: int, k: int) -> RowGroups | None:
        """The groups under a norm, with its strengths; None where no norm has any."""
        tau = self.l1 * (1.0 - self.l1_share) * self.group_factor
        unit = np.ones(d) if self.scale is None else self.scale
        found = RowGroups(self.labels, tau, unit, *self.strengths(d, k))
        return found if len(found.rows) else None


class Part(NamedTuple):
    """Groups of equally many columns, with their weights in the units of the prior, (groups, columns times k)."""

    rows: np.ndarray  # of W, (groups, columns)
    tau: np.ndarray
    unit: np.ndarray  # (groups, columns, 1)
    a: np.ndarray
    q: np.ndarray

    def weights(self, W: np.ndarray) -> np.ndarray:
        """The weights of each group, (groups, columns times k)."""
        return (W[self.rows] * self.unit).reshape(len(self.rows), -1)

    def gradients(self, G: np.ndarray) -> np.ndarray:
        """The gradient in the weights of each group, (groups, columns times k)."""
        return (G[self.rows] / self.unit).reshape(len(self.rows), -1)


class Judged(NamedTuple):
    """What the groups add to a certificate."""

    penalty: float
    shrink: float  # the largest rho <= 1 at which rho G is feasible
    unridged: float  # the same where there is no ridge


class RowGroups:
    """Groups of rows of W under norms of strength tau, beside the L1 and ridge terms of their weights."""

    def __init__(self, labels: np.ndarray, tau: np.ndarray, unit: np.ndarray, l1: np.ndarray, l2: np.ndarray):
        normed = np.append(tau > 0, False)[labels]  # the last is that of label -1
        self.rows = np.flatnonzero(normed)  # of W, under any norm
        self.unit, self.l1, self.l2 = unit, l1, l2
        # Groups by number, those without a norm left out; their columns one group after another.
        kept, numbers = np.unique(labels[self.rows], return_inverse=True)
        self.tau, self.labels = tau[kept], np.full(len(labels), -1, dtype=np.int64)
        self.labels[self.rows] = numbers
        self.order = self.rows[np.argsort(numbers, kind="stable")]
        self.starts = np.append(0, np.cumsum(np.bincount(numbers, minlength=len(kept))))

    @cached_property
    def parts(self) -> list[Part]:
        """The groups by their number of columns."""
        return list(self._parts())

    def _parts(self) -> Iterator[Part]:
        counts = np.diff(self.starts)
        for size in np.unique(counts):
            found = np.flatnonzero(counts == size)
            rows = self.order[self.starts[found][:, None] + np.arange(size)]
            unit = self.unit[rows][:, :, None]
            a, q = ((each[rows] / unit**p).reshape(len(rows), -1) for each, p in ((self.l1, 1), (self.l2, 2)))
            yield Part(rows, self.tau[found], unit, a, q)

    def on(self, rows: np.ndarray) -> RowGroups:
        """The groups of some rows of W, of which they have all rows or none; rows below the columns are in none."""
        at, empty = np.minimum(rows, len(self.labels)), np.zeros((1, self.l1.shape[1]))
        l1, l2 = (np.vstack([each, empty])[at] for each in (self.l1, self.l2))
        return RowGroups(np.append(self.labels, -1)[at], self.tau, np.append(self.unit, 1.0)[at], l1, l2)

    def together(self, mask: np.ndarray) -> np.ndarray:
        """The mask (m, k) with all weights of each group that has one in it."""
        d, met, out = len(self.labels), np.zeros(len(self.tau) + 1, dtype=bool), mask.copy()
        met[self.labels[mask[:d].any(axis=1)]] = True
        met[-1] = False  # rows in no group
        out[:d] |= met[self.labels][:, None]
        return out

    def isotropic(self, unit: np.ndarray) -> np.ndarray:
        """Units (m, k) of weights, raised so that the norm of a group is a multiple of the length in these units."""
        out = unit.copy()
        for part in self.parts:
            out[part.rows] = (unit[part.rows] / part.unit).max(axis=(1, 2), keepdims=True) * part.unit
        return out

    def scale(self) -> np.ndarray:
        """What the KKT residual of a row is measured against, tau + the largest a of its group; 0 of other rows."""
        out = np.zeros(len(self.labels))
        for part in self.parts:
            out[part.rows] = (part.tau + part.a.max(axis=1))[:, None]
        return out

    def penalty(self, W: np.ndarray) -> float:
        """The whole penalty of the rows in groups."""
        total = 0.0
        for part in self.parts:
            V = part.weights(W)
            total += float(part.tau @ lengths(V) + (part.a * np.abs(V)).sum() + (part.q * V * V).sum() / 2)
        return total

    def change(self, W: np.ndarray, moved: np.ndarray) -> float:
        """By how much the norms change; few digits cancel in the sum."""
        total = 0.0
        for part in self.parts:
            V, U = part.weights(W), part.weights(moved)
            both = lengths(V) + lengths(U)
            total += float(part.tau @ (((U - V) * (U + V)).sum(axis=1) / np.where(both > 0, both, 1.0)))
        return total

    def precision(self, W: np.ndarray) -> np.ndarray:
        """tau u^2 / ||W_g|| of each row, the curvature of the parabola that touches the norm at W; 0 beside groups."""
        out = np.zeros(len(self.labels))
        for part in self.parts:
            length = lengths(part.weights(W))
            with np.errstate(divide="ignore"):
                out[part.rows] = (part.tau / length)[:, None] * part.unit[:, :, 0] ** 2
        return out

    def judge(self, W: np.ndarray, G: np.ndarray, out: np.ndarray) -> Judged:
        """Relative KKT residuals of the groups into the rows of ``out``; G is the gradient of the loss."""
        for part in self.parts:
            V, Z = part.weights(W), part.gradients(G)
            found = residuals(V, -(Z + part.q * V), part.a, part.tau) / (part.tau + part.a.max(axis=1))
            out[part.rows] = found[:, None, None]
        worst, unridged = (max(1.0, self.largest_dual_norm(G, every)) for every in (True, False))
        return Judged(self.penalty(W), 1.0 / worst, 1.0 / unridged)

    def largest_dual_norm(self, G: np.ndarray, every: bool = True) -> float:
        """The largest dual norm of all groups, or of those without a ridge."""
        largest = 0.0
        for part in self.parts:
            there = np.ones(len(part.tau), dtype=bool) if every else ~part.q.any(axis=1)
            found = dual_norm(part.gradients(G)[there], part.a[there], part.tau[there])
            largest = max(largest, float(found.max(initial=0.0)))
        return largest

    def excess(self, G: np.ndarray, shrink: float) -> float:
        """The conjugate of the penalty at the shrunk gradient, where a ridge makes it finite."""
        total = 0.0
        for part in self.parts:
            there = part.q.any(axis=1)
            Z = shrink * part.gradients(G)[there]
            total += float(conjugate(Z, part.a[there], part.q[there], part.tau[there]).sum())
        return total

    def dual_norms(self, G: np.ndarray) -> np.ndarray:
        """The dual norm of the group of each row; 0 of rows in no group."""
        out = np.zeros(len(self.labels))
        for part in self.parts:
            out[part.rows] = dual_norm(part.gradients(G), part.a, part.tau)[:, None]
        return out
