"""The columns of Type I estimation, of length 1: in memory, or by products with an operator alone."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ...design import Design, OperatorDesign, as_design
from ...objective.evidence import Evidence
from ..type2.grouped import GroupedEvidence
from ..type2.unit_problem import UnitProblem
from .reweighted_ridge import ridge, solve

ACCURACY, MOST = 1e-12, 2000  # relative residual of conjugate gradients, and their steps


class UnitColumns(Protocol):
    """What a solver may ask of the columns; `rows` are positions among those that are not constant."""

    rows: np.ndarray  # numbers of these in the evidence
    targets: np.ndarray  # (n, k)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some columns, (n, r)."""

    def push(self, X: np.ndarray) -> np.ndarray:
        """Phi X, (n, k)."""

    def pull_all(self, U: np.ndarray) -> np.ndarray:
        """Phi^T U of all columns."""

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Phi^T Phi and Phi^T y of some columns."""

    def ridge(self, rows: np.ndarray, gamma: np.ndarray, noise: float) -> np.ndarray:
        """Weights of some columns with these variances, (r, k)."""

    def design(self) -> Design:
        """The columns for the solver of the lasso."""


class FormedColumns:
    """Columns in memory."""

    def __init__(self, evidence: Evidence, prior):
        self.problem = UnitProblem(evidence, prior)
        self.rows, self.targets, self.Phi = self.problem.rows, self.problem.T, self.problem.Phi

    def take(self, rows: np.ndarray) -> np.ndarray:
        """A copy of some, or all as they are."""
        return self.Phi[:, rows] if len(rows) < self.Phi.shape[1] else self.Phi

    def push(self, X: np.ndarray) -> np.ndarray:
        """Phi X, of the rows that are not 0 where these are few."""
        rows = np.flatnonzero(X.any(axis=1))
        return self.Phi[:, rows] @ X[rows] if 4 * len(rows) < len(X) else self.Phi @ X

    def pull_all(self, U: np.ndarray) -> np.ndarray:
        """Phi^T U."""
        return self.Phi.T @ U

    def pull(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Phi^T V of some columns."""
        return self.take(rows).T @ V

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of all columns are kept where these are fewer than samples."""
        return self.problem.products(rows)

    def outer(self, rows: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Phi Gamma Phi^T of some columns."""
        Phi = self.take(rows)
        return (Phi * gamma) @ Phi.T

    def ridge(self, rows: np.ndarray, gamma: np.ndarray, noise: float) -> np.ndarray:
        """By the smaller of the two systems."""
        return ridge(self, rows, gamma, noise)

    def design(self) -> Design:
        """The matrix in the compiled solvers' order."""
        return as_design(np.asfortranarray(self.Phi))


class OperatorColumns:
    """Columns known by products; only those are formed whose products with each other are asked for."""

    def __init__(self, evidence: Evidence):
        self.evidence, self.known = evidence, GroupedEvidence(evidence)
        self.rows, self.targets = np.sort(self.known.column), evidence.root * evidence.Z

    def take(self, rows: np.ndarray) -> np.ndarray:
        """By as many products."""
        return self.evidence.take(self.rows[rows])

    def push(self, X: np.ndarray) -> np.ndarray:
        """By a product for each target."""
        kept = np.flatnonzero(X.any(axis=1))
        return self.evidence.root * self.evidence.columns.push(self.rows[kept], X[kept])

    def pull_all(self, U: np.ndarray) -> np.ndarray:
        """By a transposed product for each target."""
        return self.evidence.columns.pull(self.evidence.root * U)[self.rows]

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of columns with each other are formed once."""
        columns = self.rows[rows]
        return self.known.gram(columns), self.evidence.pull_targets()[columns]

    def ridge(self, rows: np.ndarray, gamma: np.ndarray, noise: float) -> np.ndarray:
        """From the products of the columns where these are fewer than samples, else by conjugate gradients."""
        if len(rows) <= len(self.targets):
            root = np.sqrt(gamma)[:, None]
            G, C = self.products(rows)
            H = root * G * root.T
            H.flat[:: len(H) + 1] += noise
            return root * solve(H, root * C)
        variance = np.zeros((len(self.rows), 1))
        variance[rows, 0] = gamma
        return (variance * self.pull_all(self._whitened(variance, noise)))[rows]

    def _whitened(self, variance: np.ndarray, noise: float) -> np.ndarray:
        """(noise I + Phi Gamma Phi^T)^-1 y by conjugate gradients."""
        V, residual = np.zeros_like(self.targets), self.targets.copy()
        direction, now = residual, (residual * residual).sum(axis=0)
        enough = ACCURACY**2 * now
        for _ in range(MOST):
            if (now <= enough).all():
                break
            along = noise * direction + self.push(variance * self.pull_all(direction))
            length = now / np.maximum((direction * along).sum(axis=0), np.finfo(float).tiny)
            V, residual = V + length * direction, residual - length * along
            new = (residual * residual).sum(axis=0)
            direction, now = residual + new / np.maximum(now, np.finfo(float).tiny) * direction, new
        return V

    def design(self) -> Design:
        """An operator of columns of length 1."""
        return OperatorDesign(UnitOperator(self))


class UnitOperator(LinearOperator):
    """Products with columns of length 1, for designs."""

    def __init__(self, columns: OperatorColumns):
        super().__init__(np.dtype(np.float64), (len(columns.targets), len(columns.rows)))
        self.columns = columns

    def _matmat(self, V):
        return self.columns.push(V)

    def _matvec(self, v):
        return self._matmat(v.reshape(-1, 1))[:, 0]

    def _rmatmat(self, U):
        return self.columns.pull_all(U)

    def _rmatvec(self, u):
        return self._rmatmat(u.reshape(-1, 1))[:, 0]
