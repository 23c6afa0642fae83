"""Reweighted L1 with weights from the evidence: maximally sparse solutions of y = Phi x, and the logistic Type II.

Weights that grow with phi_j^T (alpha I + Phi |X|^2 Phi^T)^-1 phi_j make a column cheap if it lies in the span of those
in use, so that one of a cluster of nearly equal columns can take over from another (Wipf & Wu 2012, section 4).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.optimize import linprog

from ...design import as_design, is_operator
from ...design.operator import NormedOperator, blocks
from ...likelihoods import Gaussian
from ...objective.posterior import Posterior
from ...objective.weighted_columns import Columns
from ...priors import Laplace
from ..l1.integrated import representative
from ..l1.newton import newton
from ..solution import Solution

ZERO = 1e-8  # coefficients below this fraction of the largest are 0
EXACT = 1e-7  # relative residual of a solution of y = Phi x
FIT_PASSES, PASSES_PER_FIT = 200, 5  # over the data, of one L1 fit at most, and of all on average
LEAST_CHEAPNESS = 1e-13  # of a column of length 1, of which the model's may leave nothing but rounding
AT_ONCE = 1024  # columns of a block
LARGEST_PRODUCT = 1e5  # beside a 1: larger products of columns have lost too many digits for a determinant


class Attempt(NamedTuple):
    """A solution with what it is judged by: the smaller the cost, the better; ties go to the smaller sum of sizes."""

    x: np.ndarray
    cost: float
    size: float


def cheapness(Phi: Any, x: np.ndarray, alpha: float) -> np.ndarray:
    """phi_j^T (alpha I + Phi diag(x^2) Phi^T)^-1 phi_j (eq. 20, before its power q)."""
    kept = np.flatnonzero(x)
    if is_operator(Phi):
        return _cheapness_by_products(Phi, Phi[:, kept] * x[kept], alpha)
    S = (Phi[:, kept] * x[kept] ** 2) @ Phi[:, kept].T
    S.flat[:: len(S) + 1] += alpha
    return np.maximum(np.einsum("ij,ij->j", Phi, cho_solve(cho_factor(S), Phi)), 1e-300)


def _cheapness_by_products(Phi: NormedOperator, B: np.ndarray, alpha: float) -> np.ndarray:
    """The same for columns of length 1: (1 - |C^-1 B^T phi_j|^2) / alpha, C C^T = alpha I + B^T B."""
    left = np.ones(Phi.shape[1])
    V = solve_triangular(np.linalg.cholesky(B.T @ B + alpha * np.eye(B.shape[1])), B.T, lower=True).T
    for part in blocks(V.shape[1], max(Phi.shape)):
        left -= np.square(Phi.rmatmat(V[:, part])).sum(axis=1)
    return np.maximum(left, LEAST_CHEAPNESS) / alpha


def noiseless(Phi: np.ndarray, y: np.ndarray, alpha: float, q: float, max_iter: int) -> list[Attempt]:
    """min sum_j w_j |x_j| subject to y = Phi x, w from the last x (eq. 19); the first is plain L1."""
    weight, attempts = np.ones(Phi.shape[1]), []
    for _ in range(max_iter):
        x = weighted_basis_pursuit(Phi, y, weight)
        if x is None:
            break
        attempts.append(Attempt(x, float(np.count_nonzero(x)), float(np.abs(x).sum())))
        if len(attempts) > 1 and np.array_equal(np.flatnonzero(x), np.flatnonzero(attempts[-2].x)):
            break
        weight = cheapness(Phi, x, alpha * np.abs(x).max(initial=1e-300) ** 2) ** q
        weight = weight / weight.max()
    return attempts


def weighted_basis_pursuit(Phi: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """The linear program min w.(u + v), Phi (u - v) = y, u, v >= 0, by HiGHS' simplex; exact on its support."""
    # Small costs are lost in the solver's tolerance, so each variable is measured in its own cost.
    scaled = Phi / weight
    found = linprog(
        np.ones(2 * len(weight)), A_eq=np.hstack([scaled, -scaled]), b_eq=y, bounds=(0, None), method="highs-ds"
    )
    if found.x is None:
        return None
    x = (found.x[: len(weight)] - found.x[len(weight) :]) / weight
    return refitted(Phi, y, x)


def refitted(Phi: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Least squares on the support, where that has fewer columns than samples and fits no worse."""
    x = np.where(np.abs(x) > ZERO * np.abs(x).max(initial=0.0), x, 0.0)
    kept = np.flatnonzero(x)
    if 0 < len(kept) <= len(y):
        better = np.zeros_like(x)
        better[kept] = np.linalg.lstsq(Phi[:, kept], y, rcond=None)[0]
        better = np.where(np.abs(better) > ZERO * np.abs(better).max(initial=0.0), better, 0.0)
        if np.linalg.norm(y - Phi @ better) <= np.linalg.norm(y - Phi @ x) + EXACT * np.linalg.norm(y):
            return better
    return x


def noisy(Phi: np.ndarray, y: np.ndarray, noise: float, alpha: float, q: float, max_iter: int) -> list[Attempt]:
    """min |y - Phi x|^2 / (2 noise) + sum_j w_j |x_j|, the certified lasso, w from the last x; the first is plain L1.

    The weights are c (z_j / z)^q sqrt(z), z the median: for q = 1/2 and c = 1 those of Type II. c = sqrt(2 log m) is
    the size that the largest of m noise coefficients has, which are to be kept out.
    """
    c = np.sqrt(2 * np.log(max(2, Phi.shape[1])))
    design, Y = as_design(Phi if is_operator(Phi) else np.asfortranarray(Phi)), np.asfortranarray(y[:, None])
    weight, X, attempts = np.full(Phi.shape[1], c / np.sqrt(noise)), np.zeros((Phi.shape[1], 1)), []
    before = X
    for _ in range(max_iter):
        X = newton(Posterior(design, Y, Gaussian(noise), Laplace(1.0, weight)), X, 1e-10, 200).weights
        x = refitted(Phi, y, X[:, 0])
        misfit = float(((y - Phi @ x) ** 2).sum()) / noise
        attempts.append(Attempt(x, misfit + 2 * np.log(len(x)) * np.count_nonzero(x), float(np.abs(x).sum())))
        if np.abs(X - before).max() <= 1e-6 * np.abs(X).max():
            break
        before = X
        z = cheapness(Phi, X[:, 0], max(noise, alpha * np.abs(X).max(initial=0.0) ** 2))
        middle = np.median(z)
        weight = c * (z / middle) ** q * np.sqrt(middle)
    return attempts


class TypeTwoStep(NamedTuple):
    """Where the reweighted logistic regression stands."""

    solution: Solution
    prior: Laplace
    gamma: np.ndarray
    value: float
    violation: float  # of the conditions of a minimum, with the penalties that belong to these very variances
    settled: bool


def penalised_logistic(
    objective: Posterior,
    columns: Columns,
    unit: np.ndarray,
    strengths: tuple[float, float, float],
    gamma: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[TypeTwoStep, list[float]]:
    """Minimise psi(x) + a1 sum x^2 / gamma + c log|a2 I + Phi Gamma Phi^T| by the L1 core with penalty factors.

    `strengths` are a1, a2 and c, which is 1 in Theorem 5, and 1/2 with a1 = 1/2 in Theorem 3. Phi (n, d) are the
    columns, weighted, in their units, of which never more than a block is formed; gamma (d, k) is where to start. The
    L1 problems together read the data at most ``FIT_PASSES + PASSES_PER_FIT * max_iter`` times.
    """
    a1, a2, c = strengths
    passes = FIT_PASSES + PASSES_PER_FIT * max_iter
    W, values = objective.start(), []
    # As many samples as the weights count: one of weight 2 is two. Left out of what is compared with the tolerance.
    constant = c * objective.k * columns.total * float(np.log(a2))
    penalty = _tangent(columns, gamma, strengths)
    for _ in range(max_iter):
        prior = Laplace(1.0, penalty * unit[:, None])
        problem = objective.with_prior(prior)
        solution = newton(problem, W, 1e-9, min(FIT_PASSES, passes))
        # Variances belong to the weights that are returned: shifts of rows, which change no probability, come first.
        W, passes = representative(problem, solution.weights), passes - max(solution.n_iter, 1)
        solution = solution._replace(weights=W)
        size = np.abs(W[: len(gamma)]) * unit[:, None]
        gamma = 2 * a1 * size / penalty
        value = objective.likelihood.fit(solution.scores, objective.Y, objective.s)[-1]
        value += a1 * float((size**2 / np.where(gamma > 0, gamma, 1.0)).sum())
        value += c * sum(_log_determinant(columns, column, a2) for column in gamma.T)
        values.append(value)
        penalty = _tangent(columns, gamma, strengths)
        settled = len(values) > 1 and values[-2] - value <= tol * abs(value)
        violation = (
            _violation(objective, penalty, unit, W) if settled or len(values) == max_iter or passes <= 0 else np.inf
        )
        settled = settled and violation <= np.sqrt(tol)
        if settled or passes <= 0:
            break
    values = [value + constant for value in values]
    return TypeTwoStep(solution, prior, gamma, values[-1], violation, settled), values


def _violation(objective: Posterior, penalty: np.ndarray, unit: np.ndarray, W: np.ndarray) -> float:
    return objective.with_prior(Laplace(1.0, penalty * unit[:, None])).violation(W)


def _tangent(columns: Columns, gamma: np.ndarray, strengths: tuple[float, float, float]) -> np.ndarray:
    """2 sqrt(a1 c z_j), (d, k): the strengths of the L1 penalty that bounds the objective's and touches it at gamma."""
    a1, a2, c = strengths
    z = np.column_stack([_sharpness(columns, column, a2) for column in gamma.T])
    return 2 * np.sqrt(a1 * c * z)


class _Reduced(NamedTuple):
    """I + Phi Gamma Phi^T / a2, or its twin by columns where these are fewer, as a Cholesky factor."""

    kept: np.ndarray  # the columns with a variance
    factor: tuple[np.ndarray, bool]
    narrow: bool  # whether it is the twin by columns
    B: np.ndarray | None  # these columns times sqrt(gamma / a2), where their products would lose too many digits

    def log_determinant(self) -> float:
        """log|I + Phi Gamma Phi^T / a2|."""
        return 2 * float(np.log(np.abs(self.factor[0].diagonal())).sum())


def _reduced(columns: Columns, gamma: np.ndarray, a2: float) -> _Reduced:
    kept = np.flatnonzero(gamma)
    narrow = len(kept) <= columns.design.n
    if narrow:
        root = np.sqrt(gamma[kept])
        H = columns.products(kept, kept) * np.outer(root, root) / a2
    else:
        H = columns.outer(gamma[kept], kept) / a2
    H.flat[:: len(H) + 1] += 1.0
    if H.diagonal().max(initial=1.0) <= LARGEST_PRODUCT:
        return _Reduced(kept, cho_factor(H), narrow, None)
    B = np.sqrt(columns.s)[:, None] * columns.take(kept) * np.sqrt(gamma[kept] / a2)
    A = B if narrow else B.T
    R = qr(np.vstack([A, np.eye(A.shape[1])]), mode="r", check_finite=False)[0][: A.shape[1]]
    return _Reduced(kept, (R, False), narrow, B)


def _sharpness(columns: Columns, gamma: np.ndarray, a2: float) -> np.ndarray:
    """phi_j^T (a2 I + Phi Gamma Phi^T)^-1 phi_j, of a block of columns at a time."""
    absent, squares = ~np.isfinite(columns.unit), np.full(columns.d, 1 / a2)
    if not gamma.any():
        return squares
    reduced, z = _reduced(columns, gamma, a2), np.empty(columns.d)
    for first in range(0, columns.d, AT_ONCE):
        block = np.arange(first, min(first + AT_ONCE, columns.d))
        z[block] = _sharpness_of(columns, block, gamma, a2, reduced)
    return np.where(absent, squares, np.maximum(z, 1e-14 * squares))


def _sharpness_of(columns: Columns, block: np.ndarray, gamma: np.ndarray, a2: float, reduced: _Reduced) -> np.ndarray:
    """The same for one block of columns.

    Where products lose digits it is the least |phi - B x|^2 + |x|^2, which errors of x hardly change.
    """
    kept, factor, narrow, B = reduced
    if narrow and B is None:
        T = np.sqrt(gamma[kept])[:, None] * columns.products(kept, block)
        return 1 / a2 - (T * cho_solve(factor, T)).sum(axis=0) / a2**2
    T = np.sqrt(columns.s)[:, None] * columns.take(block)
    if not narrow:
        return (T * cho_solve(factor, T)).sum(axis=0) / a2
    x = cho_solve(factor, B.T @ T)  # type: ignore[union-attr]
    return (np.square(T - B @ x).sum(axis=0) + np.square(x).sum(axis=0)) / a2


def _log_determinant(columns: Columns, gamma: np.ndarray, a2: float) -> float:
    """log|I + Phi Gamma Phi^T / a2|: the rest of log|a2 I + Phi Gamma Phi^T| is constant."""
    return _reduced(columns, gamma, a2).log_determinant() if gamma.any() else 0.0
