"""The evidence of columns in groups that share a variance: exact on some groups, with the slope of every group.

L(gamma) = k log|S| + tr Y^T S^-1 Y, S = noise I + sum_g gamma_g Phi_g Phi_g^T, has the slope k z_g - q2_g in gamma_g,
z_g = tr Phi_g^T S^-1 Phi_g, q2_g = |Phi_g^T S^-1 Y|^2. At a minimum it is 0 for groups in the model and
not negative for all others. Nothing here is as large as all columns by those of the model.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri

from ...objective.evidence import Evidence, Fit, cholesky
from .sequential import addition_gain

AT_ONCE = 128  # products of all columns that are formed at a time
DETERMINED = 0.3  # a group whose weights the data determine so far is moved in the logarithm of its variance
GONE = 1e-3  # of its variance: a group whose step leaves no more than this is dropped
SHIFTS = 0.01, 3.0  # the first multiple of the bound's curvature that makes the Hessian positive, and its growth
HALVINGS = 6  # of a step that raises L, before the Hessian is shifted further
LARGEST_SHIFT = 1e4  # at which a step is that of the reweighting rule, and small


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
        """Products of some columns with each other; products that were computed before are kept."""
        new = columns[self._place[columns] < 0]
        if len(new):
            known = self._known
            cross = self._cross(known, new) if len(known) else np.empty((0, len(new)))
            self._G = np.block([[self._G, cross], [cross.T, self._cross(new, new)]])
            self._place[new] = np.arange(len(known), len(known) + len(new))
            self._known = np.append(known, new)
        at = self._place[columns]
        return self._G[np.ix_(at, at)]

    def _cross(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        by, to = np.argsort(left), np.argsort(right)
        K = np.empty((len(left), len(right)))
        K[np.ix_(by, to)] = self.columns.products(left[by], right[to])
        return K

    def pull(self, R: np.ndarray) -> np.ndarray:
        """All columns' products with R (n, r), which is weighted by the samples, group after group."""
        return self.columns.pull(self.evidence.s[:, None] * R)[self.column]

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
        H = self.G * self.root  # products of thousands of columns are large: no further copies of their size
        H *= self.root[:, None] / noise
        H.flat[:: len(H) + 1] += 1.0
        self.factor = cholesky(H) if len(H) else H
        problem.work += float(len(self.columns)) ** 3
        evidence = problem.evidence
        logdet = 2 * float(np.log(self.factor.diagonal()).sum())
        self.misfit = max(evidence.yy - float((self.mean * (2 * self.C - self.G @ self.mean)).sum()), 0.0)
        quadratic = self.misfit / noise + float((self.scaled**2).sum())
        self.log_evidence = evidence._constant(noise) - 0.5 * (problem.k * logdet + quadratic)

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
        for first in range(0, len(self.columns), AT_ONCE):
            part = np.zeros((len(self.columns), min(AT_ONCE, len(self.columns) - first)))
            part[np.arange(first, first + part.shape[1]), np.arange(part.shape[1])] = 1.0
            V = self.root[:, None] * solve_triangular(self.factor, part, lower=True, trans=1) / np.sqrt(noise)
            left -= np.square(problem.pull(problem.columns.push(self.columns, V))).sum(axis=1)
        z = np.maximum(left, 1e-12 * problem.square) / noise
        residual = problem.evidence.Z - problem.columns.push(self.columns, self.mean)
        Q = problem.pull(residual) / noise
        return problem.totals(z), problem.totals((Q**2).sum(axis=1))

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


def newton_on_variances(fit: GroupFit, tol: float, steps: int) -> GroupFit:
    """Newton's method on the variances of the model's groups; no step raises L, and groups at 0 are dropped.

    The variable is log gamma where the data determine the group's weights, else gamma itself, which may reach 0: a
    group on its way out would take for ever in log gamma.
    """
    for _ in range(steps):
        if not len(fit.groups):
            break
        slope, hessian, bound, strong = _derivatives(fit)
        if np.abs(slope).max() < 2 * tol:
            break
        found, shift = None, 1e-10
        while found is None and shift < LARGEST_SHIFT:
            step, shift = _solved(hessian, bound, slope, shift)
            found = _searched(fit, step, slope, strong)
            shift = max(SHIFTS[1] ** 2 * shift, SHIFTS[0])
        if found is None:
            break
        fit = found
    return fit


def _derivatives(fit: GroupFit) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Slope and Hessian of L in log gamma, the curvature of its convex bound, and which groups move in log gamma."""
    k, gamma, noise = fit.problem.k, fit.gamma, fit.noise
    K = _seen(fit)
    Q = (fit.C - fit.G @ fit.mean) / noise
    z = np.maximum(fit.by_group(K.diagonal()), 1e-12 * fit.size / noise)  # rounding may leave less than nothing
    q2 = fit.by_group((Q**2).sum(axis=1))
    slope, strong = gamma * (k * z - q2), gamma * z > DETERMINED * fit.size
    hessian = Q @ (2 * Q.T)
    hessian -= k * K
    hessian *= K
    begin = np.cumsum(fit.size) - fit.size
    if len(begin) < len(hessian):
        hessian = np.add.reduceat(np.add.reduceat(hessian, begin, axis=0), begin, axis=1)
    hessian *= gamma
    hessian *= gamma[:, None]
    hessian.flat[:: len(gamma) + 1] += np.where(strong, slope, 0.0)
    bound = gamma * (q2 + k * z)
    # A variance that is all but 0 has no curvature; with none at all no multiple would make the Hessian positive.
    return slope, hessian, np.maximum(bound, np.finfo(float).eps * bound.max(initial=0.0)), strong


def _seen(fit: GroupFit) -> np.ndarray:
    """Phi^T S^-1 Phi of the columns of the model, (G - U^T U / noise) / noise, formed in place."""
    U = solve_triangular(fit.factor, fit.root[:, None] * fit.G, lower=True, overwrite_b=True, check_finite=False)
    K = U.T @ U
    K /= -fit.noise
    K += fit.G
    K /= fit.noise
    return K


def _solved(H: np.ndarray, bound: np.ndarray, slope: np.ndarray, shift: float) -> tuple[np.ndarray, float]:
    """-(H + e diag(bound))^-1 slope and e, the smallest from `shift` on that makes this positive definite.

    `bound` is the curvature of the convex bound that reweighting minimises: a large e is a small step of that rule.
    """
    while True:
        shifted = H.copy(order="F")
        shifted.flat[:: len(H) + 1] += shift * bound
        try:
            return -cho_solve(cho_factor(shifted, overwrite_a=True), slope), shift
        except LinAlgError:
            shift = max(SHIFTS[1] * shift, SHIFTS[0])


def _searched(fit: GroupFit, step: np.ndarray, slope: np.ndarray, strong: np.ndarray) -> GroupFit | None:
    """The model after a step, or half of it, and so on, until L falls; None where only rounding would fall."""
    length = 1.0
    fall = min(0.0, float(slope @ np.clip(step, -1, 3)))
    for _ in range(HALVINGS):
        moved = np.where(strong, np.exp(np.clip(length * step, -3, 3)), np.clip(1 + length * step, 0, 20))
        kept = strong | (moved > GONE)
        G = fit.G if kept.all() else None
        found = GroupFit(fit.problem, fit.groups[kept], (fit.gamma * moved)[kept], fit.noise, G)
        rounding = 1e-13 * abs(fit.log_evidence)
        if found.log_evidence >= fit.log_evidence - 0.5 * 1e-4 * length * fall - rounding:
            return found
        length /= 2
    return None


def promises(fit: GroupFit, z: np.ndarray, q2: np.ndarray) -> np.ndarray:
    """The gain of each group outside, alone, in nats: exact for one column, else as if all its columns were alike."""
    problem = fit.problem
    gain = addition_gain(z, q2 / problem.k, problem.k) * problem.size
    gain[fit.groups] = 0.0
    return gain
