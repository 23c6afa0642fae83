"""Weights without the bias of an L1 penalty: one step from the sparse fit, along directions of nodewise lassos."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, t

from ..design import as_design
from ..likelihoods import Gaussian
from ..models.base import problem_of
from ..objective.posterior import Posterior
from ..priors import Laplace
from ..progress import tell
from ..solvers import SOLVERS

TOLERANCE = 1e-8  # relative duality gap of each nodewise lasso
REPORTED = 50  # progress is told after so many lassos
ROUNDING = float(np.finfo(float).eps)  # of the largest curvature: less than this is not seen beside it
NOTHING_LEFT = (
    "The offset decides the class of nearly every sample by itself, so that nothing is left to estimate; give a "
    "smaller offset."
)


class Curvature(NamedTuple):
    """The negative log-likelihood near some weights: of d columns and k scores, the intercepts fitted."""

    weights: np.ndarray  # (d, k)
    pull: np.ndarray  # minus the gradient, (d, k)
    hessian: np.ndarray  # (d, k, d, k)


class Estimates(NamedTuple):
    """Estimates of the weights, and the covariance of the k estimates of each column."""

    weights: np.ndarray  # (d, k)
    covariance: np.ndarray  # (d, k, k)
    free: float = np.inf  # degrees of freedom of the noise in the covariance; infinite where the noise is known

    def wald(self) -> np.ndarray:
        """p-values of the tests that all k weights of a column are 0, (d,): Student's t, or chi-squared for k > 1."""
        k = self.weights.shape[1]
        if k > 1:
            solved = np.linalg.solve(self.covariance, self.weights[:, :, None])[:, :, 0]
            return chi2.sf((self.weights * solved).sum(axis=1), k)
        with np.errstate(divide="ignore", invalid="ignore"):  # without noise a weight of 0 has the variance 0
            ratio = np.abs(self.weights[:, 0]) / np.sqrt(self.covariance[:, 0, 0])
        return 2 * t.sf(np.nan_to_num(ratio, nan=0.0, posinf=np.inf), self.free)

    def reach(self, level: float) -> np.ndarray:
        """Half the lengths of the intervals of each weight, (d, k)."""
        error = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        return float(t.ppf((1 + level) / 2, self.free)) * error


def curvature_at(model, sample, weights: np.ndarray, intercept: np.ndarray) -> Curvature:
    """Gradient and Hessian of the loss of a model at given weights, the intercepts projected out.

    Parameters
    ----------
    model : SMLR with the reference parametrisation, or LaplaceRegressor with a given noise
        Its likelihood counts, and whether it has an intercept; its prior does not.
    sample : tuple of X, y and a dict of what else fit takes
    weights, intercept : ndarray of shape (d, k), ndarray of shape (k,)
    """
    X, y, extra = sample
    objective = problem_of(model, X, y, **extra).objective
    W = np.vstack([weights, intercept]) if objective.design.intercept else weights
    F = objective.scores(W)
    P, U, _ = objective.likelihood.fit(F, objective.Y, objective.s)
    G = objective.design.pull(objective.s[:, None] * U)
    H = objective.with_prior(Laplace(0.0)).hessian_on(P, np.ones(W.shape, dtype=bool))
    (d, k), m = weights.shape, len(W)
    H = H.reshape(k, m, k, m).transpose(1, 0, 3, 2)  # column-major, as the weights of a feature belong together
    pull, H = (-G[:d], H[:d, :, :d]) if m == d else _without_intercept(-G, H)
    return Curvature(weights, pull, H)


def _without_intercept(pull: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is left of gradient and Hessian where the intercepts, the last row, follow the other weights."""
    m, k = pull.shape
    d = m - 1
    cross = H[:d, :, d].reshape(d * k, k)
    share = np.linalg.solve(H[d, :, d], cross.T).T
    rest = H[:d, :, :d].reshape(d * k, d * k) - share @ cross.T
    return pull[:d] - (share @ pull[d]).reshape(d, k), rest.reshape(d, k, d, k)


def maximum_likelihood(at: Curvature) -> Estimates:
    """The estimates where the weights are those of maximum likelihood: the covariance is the inverse Hessian."""
    d, k = at.weights.shape
    inverse = np.linalg.inv(at.hessian.reshape(d * k, d * k)).reshape(d, k, d, k)
    return Estimates(at.weights, inverse[np.arange(d), :, np.arange(d)])


def one_step(at: Curvature, penalty: float) -> Estimates:
    """The de-sparsified estimates (Zhang & Zhang 2014; van de Geer et al. 2014) ::

        b_j = beta_j + z_j^T r / z_j^T D_j,    cov(b_j, b_l) = z_j^T z_l / (z_j^T D_j  z_l^T D_l),

    with D the columns weighted by the square root of the curvature, r the residuals divided by it, and z_j what the
    lasso of D_j on all other columns leaves, at the strength ``penalty |D_j| sqrt(2 log(d k))``. All of it is in the
    Hessian ``D^T D`` and the gradient ``-D^T r``. As the penalty goes to 0 this is one Newton step.
    """
    d, k = at.weights.shape
    H = at.hessian.reshape(d * k, d * k)
    M = nodewise(H, penalty)
    MH = M @ H
    size = np.diagonal(MH)
    step = (M @ at.pull.ravel()) / size
    rows = (M / size[:, None]).reshape(d, k, d * k)
    covariance = np.einsum("jau,jbu->jab", (MH / size[:, None]).reshape(d, k, d * k), rows)
    return Estimates(at.weights + step.reshape(d, k), (covariance + covariance.transpose(0, 2, 1)) / 2)


def nodewise(H: np.ndarray, penalty: float) -> np.ndarray:
    """Rows e_j - gamma_j, gamma_j the lasso of column j of D on the others, where ``D^T D = H``: (P, P).

    ``gamma_j = argmin |D_j - D gamma|^2 / 2 + penalty |D_j| sqrt(2 log P) |gamma|_1``, ``gamma_jj = 0``.
    """
    size, P = np.diagonal(H), len(H)
    if not (size > ROUNDING * size.max(initial=0.0)).all():
        raise ValueError(NOTHING_LEFT)
    values, vectors = np.linalg.eigh(H)
    D = np.asfortranarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)
    design, (solve, iterations), M = as_design(D), SOLVERS["newton"], np.eye(P)
    for j in range(P):
        lam = penalty * np.sqrt(2 * size[j] * np.log(max(P, 2)))
        factor = np.ones(P)
        factor[j] = 2 * size[j] / lam  # a penalty above |D_j|^2 keeps the weight of D_j itself at 0
        objective = Posterior(design, D[:, [j]], Gaussian(1.0), Laplace(lam, factor))
        M[j] -= solve(objective, objective.start(), TOLERANCE, iterations).weights[:, 0]
        if (j + 1) % REPORTED == 0:
            tell(f"debiasing: {j + 1} of {P} weights done")
    return M
