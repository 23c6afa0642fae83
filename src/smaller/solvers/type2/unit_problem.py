"""Columns of length 1 and targets of mean square 1: what every iteration over variances, or weights, works on."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, qr, solve_triangular

from ...design import Design, as_design
from ...likelihoods import Gaussian
from ...objective.evidence import Evidence, Fit, Weighing, cholesky, inverse
from ...objective.posterior import Posterior
from ...priors import Jeffreys, Laplace, increases, log_prior, prior_slope
from ..l1.newton import newton
from ..type1.row_lasso import RowLasso

ZERO = 1e-9  # weights of Type I smaller than this, relative to the largest, are on their way to 0
STEADY = 1e9  # sum of the variances, over the noise, up to which products of columns leave slopes seven digits
NEWTON_STEPS = 20  # of one lasso: more only where rounding leaves no certificate, and the next one goes on from there
ROUNDS = 30  # of one lasso of several targets


class State(NamedTuple):
    """Where an iteration stands: variances of the columns that are left, and what follows from them."""

    rows: np.ndarray
    gamma: np.ndarray
    noise: float
    mean: np.ndarray  # (r, k)
    determined: np.ndarray  # gamma_j z_j, between 0 and 1
    misfit: float
    log_evidence: float

    @property
    def square(self) -> np.ndarray:
        """Mean square of each column's weights over the outputs."""
        return (self.mean**2).mean(axis=1)


class UnitProblem:
    """Columns of length 1 and targets of mean square 1, with the state of a model at any variances of its weights."""

    def __init__(self, evidence: Evidence, prior: Any):
        self.evidence, self.prior = evidence, prior
        self.free = not isinstance(prior, Jeffreys)  # whether f is not 0
        self.sparse = not self.free or increases(prior)  # whether variances may become 0
        self.rows = np.flatnonzero(np.isfinite(evidence.columns.unit))
        self.Phi = evidence.take(self.rows)
        self.T = evidence.root * evidence.Z

    def state(self, rows: np.ndarray, gamma: np.ndarray, noise: float) -> State:
        """By the smaller of the two systems; `rows` are positions in `self.rows`."""
        evidence, tall = self.evidence, self.tall
        Phi = self.Phi if tall else self.Phi[:, rows]
        root = np.sqrt(gamma)
        if float(gamma.sum()) > STEADY * noise:  # columns have length 1
            logdet, scaled, determined = self._from_columns(rows, root, noise)
        elif len(rows) <= len(Phi):
            G, C = self.products(rows)
            H = G * np.outer(root, root) / noise
            H.flat[:: len(rows) + 1] += 1.0
            inner, logdet = inverse(H, evidence.columns.design)
            scaled = inner @ (root[:, None] * C) / noise
            determined = 1 - np.diag(inner)
        else:
            S = (Phi * gamma) @ Phi.T / noise
            S.flat[:: len(S) + 1] += 1.0
            L = cholesky(S)
            logdet = 2 * np.log(np.diag(L)).sum()
            scaled = root[:, None] * (Phi.T @ cho_solve((L, True), self.T)) / noise
            determined = gamma * (solve_triangular(L, Phi, lower=True) ** 2).sum(axis=0) / noise
        mean = root[:, None] * scaled
        weights = mean
        if tall:
            weights = np.zeros((Phi.shape[1], evidence.k))
            weights[rows] = mean
        misfit = float(((self.T - Phi @ weights) ** 2).sum())
        quadratic = misfit / noise + float((scaled**2).sum())
        value = evidence._constant(noise) - 0.5 * (evidence.k * logdet + quadratic)
        return State(rows, gamma, noise, mean, np.clip(determined, 0.0, 1.0), misfit, value)

    def _from_columns(self, rows: np.ndarray, root: np.ndarray, noise: float):
        """Log determinant, means over deviations, and how determined these are, where products lose too much."""
        deviation = np.sqrt(noise)
        B, T = self.Phi[:, rows] * (root / deviation), self.T / deviation
        if len(rows) <= len(B):
            exact = Weighing(B)
            return exact.logdet, exact.mean(T), np.minimum(exact.least(B), 1.0)
        # B^T (B B^T + I)^-1 T, R^T R = B B^T + I
        R = qr(np.vstack([B.T, np.eye(len(B))]), mode="r", check_finite=False)[0][: len(B)]
        V = solve_triangular(R, B, trans="T", check_finite=False)
        logdet = 2 * float(np.log(np.abs(R.diagonal())).sum())
        return logdet, V.T @ solve_triangular(R, T, trans="T", check_finite=False), (V**2).sum(axis=0)

    def fit(self, state: State) -> Fit:
        """The same model as a Fit of the evidence, its covariance by the smaller of the two systems."""
        rows, evidence = self.rows[state.rows], self.evidence
        if not len(rows):
            return evidence.empty(state.noise)
        G, C = (np.asfortranarray(each) for each in self.products(state.rows))
        if len(rows) <= len(self.Phi):
            fit = evidence.fit(rows, 1 / state.gamma, state.noise, G, C)
        else:
            B = self.Phi[:, state.rows] * np.sqrt(state.gamma / state.noise)
            V = solve_triangular(cholesky(np.eye(len(B)) + B @ B.T), B, lower=True)
            covariance = (np.eye(len(rows)) - V.T @ V) * np.sqrt(np.outer(state.gamma, state.gamma))
            fit = Fit(rows, 1 / state.gamma, state.noise, state.mean, covariance, 0.0, 0.0, G)
        return fit._replace(mean=state.mean, misfit=state.misfit, log_evidence=state.log_evidence)

    @property
    def tall(self) -> bool:
        """Whether the products of all columns are worth keeping."""
        return self.Phi.shape[1] <= len(self.Phi)

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Phi^T Phi and Phi^T y of some columns: without a copy of these, where those of all are known."""
        if not self.tall:
            Phi = self.Phi[:, rows]
            return self.evidence.columns.design.square(Phi), Phi.T @ self.T
        G, C = self._all_products
        return G[np.ix_(rows, rows)], C[rows]

    @cached_property
    def _all_products(self) -> tuple[np.ndarray, np.ndarray]:
        return self.evidence.columns.design.square(self.Phi), self.Phi.T @ self.T

    def lasso(self, weight: np.ndarray, noise: float, x: np.ndarray, tol: float) -> np.ndarray:
        """min |Y - Phi X|^2 / (2 noise) + sum_j sqrt(k) w_j |x_j|, |x_j| the norm of a row; `x` is where to begin."""
        if self.evidence.k == 1 and len(weight):
            objective = Posterior(self._design, self.T, Gaussian(noise), Laplace(1.0, weight))
            return newton(objective, x, tol, NEWTON_STEPS).weights
        penalty = np.sqrt(self.evidence.k) * noise * weight
        return RowLasso(self.Phi, self.T, penalty).solve(x, tol, ROUNDS)[0]

    @cached_property
    def _design(self) -> Design:
        return as_design(np.asfortranarray(self.Phi))

    def sharpness(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """z_j = phi_j^T Sigma_y^-1 phi_j and the mean over the outputs of (phi_j^T Sigma_y^-1 y)^2, all columns.

        z_j is the least of |phi_j - B m|^2 / noise + |m|^2 over m, B the columns of the model times the roots of their
        variances: a sum, of which rounding leaves a relative error only.
        """
        B, Phi = (each / np.sqrt(state.noise) for each in (self.Phi[:, state.rows] * np.sqrt(state.gamma), self.Phi))
        if float(state.gamma.sum()) > STEADY * state.noise:
            z = Weighing(B).least(Phi)
        else:
            H = B.T @ B
            H.flat[:: len(H) + 1] += 1.0
            M = inverse(H)[0] @ (B.T @ Phi)
            z = ((Phi - B @ M) ** 2).sum(axis=0) + (M**2).sum(axis=0)
        Q = self.Phi.T @ (self.T - self.Phi[:, state.rows] @ state.mean) / state.noise
        return z, (Q**2).mean(axis=1)

    def objective(self, state: State, learn: bool) -> float:
        """Minus the log evidence, and the prior of the variances; in nats."""
        if not self.free:
            return -state.log_evidence
        total = log_prior(self.prior, state.gamma).sum()
        if learn:
            total += self.evidence.total * log_prior(self.prior, np.array([state.noise]))[0]
        return -state.log_evidence + 0.5 * self.evidence.k * float(total)

    def slopes(self, state: State, floor: float) -> np.ndarray:
        """The gradient of the objective in log gamma, and last in log noise where it is learned."""
        k, total = self.evidence.k, self.evidence.total
        g = state.determined - state.square / state.gamma
        h = total - state.determined.sum() - state.misfit / (k * state.noise)
        if self.free:
            g = g + prior_slope(self.prior, state.gamma)
            h = h + total * float(prior_slope(self.prior, np.array([state.noise]))[0])
        held = floor == 0 or (state.noise <= floor * (1 + 1e-12) and h >= 0)
        return 0.5 * k * np.append(g, 0.0 if held else h)


def lassoed(problem: UnitProblem, weight: np.ndarray, noise: float, x: np.ndarray) -> State:
    """The variances gamma_j = |x_j| / w_j of a weighted lasso's solution."""
    size = np.sqrt((x**2).mean(axis=1))
    kept = np.flatnonzero(size)
    return problem.state(kept, size[kept] / weight[kept], noise)
