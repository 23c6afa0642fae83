"""The evidence of columns in groups that share a variance: exact on some groups, with the slope of every group.

L(gamma) = k log|S| + tr Y^T S^-1 Y, S = noise I + sum_g gamma_g Phi_g Phi_g^T, has the slope k z_g - q2_g in gamma_g,
z_g = tr Phi_g^T S^-1 Phi_g, q2_g = |Phi_g^T S^-1 Y|^2. At a minimum it is 0 for groups in the model and
not negative for all others. Nothing here is as large as all columns by those of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dtrtri

from ...design.operator import OperatorDesign, blocks
from ...objective.evidence import Evidence, Fit, cholesky
from .sequential import addition_gain

AT_ONCE = 128  # products of all columns of a matrix that are formed at a time


class GroupedEvidence:
    """The columns of an evidence, group after group, and their products, each of which is formed once."""

    def __init__(self, evidence: Evidence):
        columns = evidence.columns
        present = np.flatnonzero(np.isfinite(columns.unit))
        label = present if columns.groups is None else columns.groups[present]
        order = np.argsort(label, kind="stable")
        self.evidence, self.columns, self.k = evidence, columns, evidence.k
        self.column = present[order]
        self.names, self.begin, self.size = np.unique(label[order], return_index=True, return_counts=True)
        self.square = columns.square[self.column]
        self._in_order = np.array_equal(self.column, np.arange(columns.d))
        self._place = np.full(columns.d, -1)  # of a column among those whose products are known
        self._known, self._G = np.empty(0, dtype=int), np.empty((0, 0))
        self.work = 0.0  # cubes of the columns of the models so far

    def __len__(self) -> int:
        return len(self.names)

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Sums over the columns of each group, of values (d,) of the columns, group after group."""
        return np.add.reduceat(values, self.begin) if len(self.begin) else values

    def places(self, groups: np.ndarray) -> np.ndarray:
        """Positions in `column` of the columns of some groups, group after group."""
        size = self.size[groups]
        return np.repeat(self.begin[groups] - np.cumsum(size) + size, size) + np.arange(size.sum())

    def gram(self, columns: np.ndarray) -> np.ndarray:
        """Products of some columns with each other."""
        return self.products(columns, columns)

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Products of some columns with others; those that were computed before are kept."""
        for columns in (left, right):
            self._form(columns[self._place[columns] < 0])
        return self._G.take(self._place[left], axis=0).take(self._place[right], axis=1)

    def _form(self, new: np.ndarray) -> None:
        """The products of columns that are not known yet."""
        if len(new):
            known = self._known
            cross = self._cross(known, new) if len(known) else np.empty((0, len(new)))
            self._G = np.block([[self._G, cross], [cross.T, self._cross(new, new)]])
            self._place[new] = np.arange(len(known), len(known) + len(new))
            self._known = np.append(known, new)

    def _cross(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        by, to = np.argsort(left), np.argsort(right)
        K = np.empty((len(left), len(right)))
        K[np.ix_(by, to)] = self.columns.products(left[by], right[to])
        return K

    def pull(self, R: np.ndarray) -> np.ndarray:
        """All columns' products with R (n, r), which is weighted by the samples, group after group."""
        return self.adjoint(self.evidence.s[:, None] * R if self.evidence.weighted else R)

    def adjoint(self, R: np.ndarray) -> np.ndarray:
        """All columns' products with R (n, r), group after group."""
        G = self.columns.pull(R)
        return G if self._in_order else G[self.column]

    def parts(self, count: int) -> Iterator[slice]:
        """Slices of so many vectors that are multiplied by all columns at a time."""
        if isinstance(self.columns.design, OperatorDesign):
            return blocks(count, max(self.columns.design.shape))
        return (slice(first, min(first + AT_ONCE, count)) for first in range(0, count, AT_ONCE))

    def push(self, W: np.ndarray) -> np.ndarray:
        """All columns, group after group, times W."""
        return self.columns.push(self.column, W)


class GroupFit:
    """The posterior at variances gamma of some groups, their numbers sorted; in the units of the evidence."""

    def __init__(
        self, problem: GroupedEvidence, groups: np.ndarray, gamma: np.ndarray, noise: float, G: np.ndarray | None = None
    ):
        self.problem, self.groups, self.gamma, self.noise = problem, groups, gamma, noise
        self.size = problem.size[groups]
        self.columns = problem.column[problem.places(groups)]
        self.G = problem.gram(self.columns) if G is None else G
        self.C = problem.evidence.pull_targets()[self.columns]
        self.root = np.sqrt(np.repeat(gamma, self.size))
        self.factor = self._factor()
        problem.work += float(len(self.columns)) ** 3
        evidence = problem.evidence
        logdet = 2 * float(np.log(self.factor.diagonal()).sum())
        self.misfit = max(evidence.yy - float((self.mean * (2 * self.C - self.G @ self.mean)).sum()), 0.0)
        quadratic = self.misfit / noise + float((self.scaled**2).sum())
        self.log_evidence = evidence._constant(noise) - 0.5 * (problem.k * logdet + quadratic)

    def _precision(self) -> np.ndarray:
        """I + R G R / noise, in the order of LAPACK."""
        H = self.G * self.root
        H *= self.root[:, None] / self.noise
        H.flat[:: len(H) + 1] += 1.0
        return H.T  # the same numbers

    def _factor(self) -> np.ndarray:
        """Its lower factor; products of thousands of columns are large, so no copies of their size are made."""
        if not len(self.columns):
            return np.empty((0, 0))
        factor, failed = dpotrf(self._precision(), lower=1, overwrite_a=1)
        return cholesky(self._precision()) if failed else factor

    @cached_property
    def scaled(self) -> np.ndarray:
        """Means of the weights in units of their prior's deviations."""
        if not len(self.columns):
            return self.C
        return cho_solve((self.factor, True), self.root[:, None] * self.C) / self.noise

    @property
    def mean(self) -> np.ndarray:
        """Means of the weights, (r, k)."""
        return self.root[:, None] * self.scaled

    def by_group(self, values: np.ndarray) -> np.ndarray:
        """Sums over the columns of each group of this fit."""
        begin = np.cumsum(self.size) - self.size
        return np.add.reduceat(values, begin) if len(begin) else values

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """z_g and q2_g of every group, in the model or not, by as many transposed products as the model has columns."""
        problem, noise = self.problem, self.noise
        left = problem.square.copy()
        half = dtrtri(self.factor, lower=1)[0] / np.sqrt(noise) if len(self.columns) else self.factor
        for part in problem.parts(len(self.columns)):
            V = self.root[:, None] * half[part].T
            G = problem.pull(problem.columns.push(self.columns, V))
            left -= np.einsum("ij,ij->i", G, G)
        z = np.maximum(left, 1e-12 * problem.square) / noise
        residual = problem.evidence.Z - problem.columns.push(self.columns, self.mean)
        Q = problem.pull(residual) / noise
        return problem.totals(z), problem.totals((Q**2).sum(axis=1))

    def slopes_of(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z_g and q2_g of some groups outside the model, by products of their columns with those of the model."""
        problem, noise = self.problem, self.noise
        columns = problem.column[problem.places(groups)]
        B, square = problem.products(self.columns, columns), problem.square[problem.places(groups)]
        left, Q = square.copy(), problem.evidence.pull_targets()[columns] / noise
        if len(self.columns):
            Q -= B.T @ self.mean / noise
            B *= self.root[:, None]
            U = solve_triangular(self.factor, B, lower=True, overwrite_b=True, check_finite=False)
            left -= np.einsum("ij,ij->j", U, U) / noise
        z, begin = np.maximum(left, 1e-12 * square) / noise, np.cumsum(problem.size[groups]) - problem.size[groups]
        return np.add.reduceat(z, begin), np.add.reduceat((Q**2).sum(axis=1), begin)

    def lean(self) -> Fit:
        """The same model as a Fit from the factor that is known, without arrays of the samples by the columns."""
        evidence = self.problem.evidence
        if not len(self.columns):
            return evidence.empty(self.noise)
        half, _ = dpotri(self.factor, lower=1)  # above its diagonal are the zeros of the factor
        covariance = half + half.T
        del half
        covariance.flat[:: len(covariance) + 1] *= 0.5
        covariance *= self.root
        covariance *= self.root[:, None]
        order = np.argsort(self.columns)
        if (np.diff(order) != 1).any():
            covariance = covariance[np.ix_(order, order)]
        alpha, known = np.repeat(1 / self.gamma, self.size)[order], (self.log_evidence, self.misfit)
        return Fit(self.columns[order], alpha, self.noise, self.mean[order], covariance, *known, np.empty((0, 0)))

    def fit(self) -> Fit:
        """The same model as a Fit, as other searches return it: columns in order, with their covariance."""
        evidence = self.problem.evidence
        if not len(self.columns):
            return evidence.empty(self.noise)
        order = np.argsort(self.columns)
        alpha = np.repeat(1 / self.gamma, self.size)[order]
        G = self.G[np.ix_(order, order)]
        return evidence.fit(self.columns[order], alpha, self.noise, G, self.C[order])


def with_groups(fit: GroupFit, groups: np.ndarray, gamma: np.ndarray) -> GroupFit:
    """With groups that were left out, at these variances."""
    every = np.append(fit.groups, groups)
    order = np.argsort(every)
    return GroupFit(fit.problem, every[order], np.append(fit.gamma, gamma)[order], fit.noise)


def promises(problem: GroupedEvidence, groups: np.ndarray, z: np.ndarray, q2: np.ndarray) -> np.ndarray:
    """The gain of each of some groups, alone, in nats: exact for one column, else as if all its columns were alike."""
    return addition_gain(z, q2 / problem.k, problem.k) * problem.size[groups]
