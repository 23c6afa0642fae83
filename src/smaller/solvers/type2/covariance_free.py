"""EM over the variances of all groups of columns, exactly or, for many samples, by products with columns alone.

The covariance of the weights is never formed: probes u ~ N(0, S^-1), S the covariance of the targets, give
z_j = phi_j^T S^-1 phi_j as the mean of (phi_j^T u)^2, which is positive and has the same relative error for every
column. Means and probes solve one system by preconditioned conjugate gradients, all right-hand sides at once (after Lin
et al. 2022, who estimate the diagonal of the covariance instead, which may come out negative).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ...objective.evidence import cholesky
from .grouped import GroupedEvidence, GroupFit

STEPS = 30  # from equal variances; many more lead to poorer maxima as often as to better ones
ROUGH = 10, 1e-2  # probes, each z having a relative error of sqrt(2 / probes), and accuracy of conjugate gradients
FINE = 20, 1e-3  # the same where the result of EM itself is asked for
MOST = 200  # steps of the conjugate gradients
WORK = 10**8  # products of a sample, a sample and a column up to which z is exact: more take seconds
FLOOR = 1e-14  # of the largest variance
SPARSE = 1e-4, 0.6  # part of the largest variance that a start's variances have at least, and columns to a sample
WHOLE = 1e-12, 1.0  # the same where the result of EM itself is asked for
ANNEALED = 100.0  # times the noise, from which it falls over the first half of the steps


class Moments(NamedTuple):
    """At some variances: of each group, |mu_g|^2 averaged over the targets, and the sum of z_j."""

    square: np.ndarray
    z: np.ndarray


def em_rule(problem: GroupedEvidence, gamma: np.ndarray, at: Moments) -> np.ndarray:
    """The mean over a group of mu_j^2 + Sigma_jj."""
    return at.square / problem.size + np.maximum(gamma - gamma**2 * at.z / problem.size, 0.0)


def mackay_rule(problem: GroupedEvidence, gamma: np.ndarray, at: Moments) -> np.ndarray:
    """|mu_g|^2 over how far the data determine the group."""
    return at.square / np.maximum(gamma * at.z, 1e-300)


def ridge_rule(problem: GroupedEvidence, gamma: np.ndarray, at: Moments) -> np.ndarray:
    """|mu_g| / sqrt(z_g), the least of the bound |mu_g|^2 / gamma + z_g gamma."""
    return np.sqrt(at.square / np.maximum(at.z, 1e-300))


Rule = Callable[[GroupedEvidence, np.ndarray, Moments], np.ndarray]


def exact_at_hand(problem: GroupedEvidence) -> bool:
    """Whether all columns, and the covariance of the targets, are formed at little cost."""
    n = len(problem.evidence.s)
    return n * n * len(problem.column) <= WORK


def strongest(
    problem: GroupedEvidence,
    noise: float,
    steps: int = STEPS,
    rule: Rule = em_rule,
    annealed: bool = False,
    exact: bool = False,
) -> GroupFit:
    """The model of the groups with the largest variances after some steps of a rule from equal variances.

    `exact` is for a model that is the result, not a start: z is estimated better, and more groups are kept.
    """
    evidence = problem.evidence
    first = evidence.yy / evidence.k / max(float(problem.square.sum()), np.finfo(float).tiny)
    gamma = np.full(len(problem), max(first, np.finfo(float).tiny))
    moments = Exact(problem) if exact_at_hand(problem) else Probed(problem, *(FINE if exact else ROUGH))
    for i in range(steps):
        left = max(0.0, 1 - 2 * i / steps) if annealed else 0.0
        gamma = rule(problem, gamma, moments(gamma, noise * ANNEALED**left))
        gamma = np.maximum(gamma, FLOOR * gamma.max(initial=0.0))
    faint, filled = WHOLE if exact else SPARSE
    order = np.argsort(-gamma, kind="stable")
    room = np.cumsum(problem.size[order]) <= max(filled * evidence.total, problem.size.max(initial=1))
    groups = np.sort(order[room & (gamma[order] > faint * gamma.max(initial=0.0))])
    return GroupFit(problem, groups, gamma[groups], noise)


class Exact:
    """Means and z of all groups by a factor of the targets' covariance, (n, n)."""

    def __init__(self, problem: GroupedEvidence):
        self.problem = problem
        self.Phi = problem.evidence.take(problem.column)
        self.Y = problem.evidence.root * problem.evidence.Z

    def __call__(self, gamma: np.ndarray, noise: float) -> Moments:
        """At these variances of the groups."""
        problem = self.problem
        each = np.repeat(gamma, problem.size)
        B = self.Phi * np.sqrt(each)
        S = B @ B.T  # of one array with itself NumPy computes one half only
        S.flat[:: len(S) + 1] += noise
        L = cholesky(S)
        white, V = (solve_triangular(L, values, lower=True, check_finite=False) for values in (self.Y, self.Phi))
        mean = each[:, None] * (V.T @ white)
        z = np.einsum("ij,ij->j", V, V)
        return Moments(problem.totals((mean**2).mean(axis=1)), problem.totals(z))


class Probed:
    """Means and z of all groups by products alone: warm means from one call to the next, and fresh probes for z."""

    def __init__(self, problem: GroupedEvidence, probes: int, accuracy: float):
        self.problem, self.rng, self.probes, self.accuracy = problem, np.random.default_rng(0), probes, accuracy
        self.Y = problem.evidence.root * problem.evidence.Z
        self.mean = np.zeros((len(problem.column), problem.k))

    def forward(self, V: np.ndarray) -> np.ndarray:
        """Phi V, times the square roots of the sample weights."""
        scores = self.problem.push(V)
        return self.problem.evidence.root * scores if self.problem.evidence.weighted else scores

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Phi^T U of the columns times the square roots of the sample weights."""
        evidence = self.problem.evidence
        return self.problem.adjoint(evidence.root * U if evidence.weighted else U)

    def __call__(self, gamma: np.ndarray, noise: float) -> Moments:
        """At these variances of the groups."""
        problem, rng, k = self.problem, self.rng, self.problem.k
        n, d = len(self.Y), len(problem.column)
        root = np.sqrt(np.repeat(gamma, problem.size))[:, None]
        W = self.forward(root * rng.standard_normal((d, self.probes)))
        W = np.hstack([self.Y, W + np.sqrt(noise) * rng.standard_normal((n, self.probes))])
        start = np.zeros((d, k + self.probes))
        start[:, :k] = self.mean / root
        V = self._solved(root, W, noise, start)
        self.mean = root * V[:, :k]
        U = (W[:, k:] - self.forward(root * V[:, k:])) / noise  # S^-1 w of the probes
        z = np.square(self.adjoint(U)).mean(axis=1)
        return Moments(problem.totals((self.mean**2).mean(axis=1)), problem.totals(z))

    def _solved(self, root: np.ndarray, W: np.ndarray, noise: float, V: np.ndarray) -> np.ndarray:
        """(I + R Phi^T Phi R / noise) V = R Phi^T W / noise by conjugate gradients, preconditioned by the diagonal."""

        def times(V):
            return V + root * self.adjoint(self.forward(root * V)) / noise

        right = root * self.adjoint(W) / noise
        scale = 1 / (1 + root**2 * self.problem.square[:, None] / noise)
        residual = right - times(V) if V.any() else right.copy()
        direction = scale * residual
        size, now = (right * scale * right).sum(axis=0), (residual * direction).sum(axis=0)
        for _ in range(MOST):
            if (now <= self.accuracy**2 * size).all():
                break
            along = times(direction)
            length = now / np.maximum((direction * along).sum(axis=0), 1e-300)
            V, residual = V + length * direction, residual - length * along
            new = (residual * scale * residual).sum(axis=0)
            direction = scale * residual + new / np.maximum(now, 1e-300) * direction
            now = new
        return V
