"""Weights of maximum likelihood without their first-order bias, for classes; least squares for numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..errors import ConvergenceWarning, warn
from ..models.adaptive import LaplaceRegressor
from ..models.base import problem_of
from ..models.multinomial import SMLR
from .first_features import Sample
from .one_step import NOTHING_LEFT, Estimates, curvature_at

TOLERANCE = 1e-14  # nats: half the squared distance to the optimum, in standard errors
STEPS, HALVINGS = 100, 30
BLOCK = 64  # columns that are multiplied with the covariance at a time
TURNED = 0.5  # of the slope at the start of a step: its turned slope at the end may be so large
UNDECIDED = 1e-12  # curvature for each sample: with less, rounding errors are larger than what the samples say
DECREASE, ROUNDING = 1e-4, 1e-13  # of the objective: the share of what a step promises, and what rounding may add


class Point(NamedTuple):
    """Some weights with Firth's objective there; k score columns, m = d + intercept rows of weights."""

    weights: np.ndarray  # (m, k)
    value: float
    pull: np.ndarray  # minus the gradient, (m, k)
    inverse: np.ndarray  # of the Hessian of the loss, (k, m, k, m)

    def step(self) -> np.ndarray:
        """The inverse Hessian times the pull, (m, k)."""
        return np.einsum("ajbl,lb->ja", self.inverse, self.pull)


def bias_reduced(sample: Sample, fit_intercept: bool) -> Estimates:
    """The weights W (of contrasts with the last class; of two classes, log odds of the second) that minimise ::

        -log p(Y | W) - log|H(W)| / 2,     H the Hessian of the first term,

    and the covariance H^-1 there. The second term, the logarithm of Jeffreys' prior, takes away the bias of order 1 / n
    of maximum likelihood (Firth 1993), which pulls weights away from 0.
    """
    X, y, extra = sample
    model = SMLR(0.0, parametrization="reference", fit_intercept=fit_intercept)
    objective = problem_of(model, X, y, **extra).objective
    try:
        point = _evaluated(objective, objective.start())
    except np.linalg.LinAlgError:
        raise ValueError(NOTHING_LEFT) from None
    for _ in range(STEPS):
        step = point.step()
        promised = float((step * point.pull).sum())
        if promised <= TOLERANCE:
            break
        point = _searched(objective, point, step, promised)
    else:
        warn(
            f"debiased: the estimates are about {np.sqrt(promised):.1g} standard errors away from their optimum after "
            f"{STEPS} steps; leave out columns that nearly separate the classes.",
            ConvergenceWarning,
        )
    d = X.shape[1]
    return Estimates(point.weights[:d], np.einsum("ajbj->jab", point.inverse[:, :d, :, :d]))


def _evaluated(objective: Any, W: np.ndarray) -> Point:
    (m, k), s = W.shape, objective.s[:, None]
    P, U, loss = objective.likelihood.fit(objective.scores(W), objective.Y, objective.s)
    H = objective.hessian_on(P, np.ones(W.shape, dtype=bool))
    if not np.diagonal(H).min() > UNDECIDED * objective.total:
        raise np.linalg.LinAlgError("All probabilities are 0 or 1.")
    factor = cho_factor(H, lower=True)
    inverse = cho_solve(factor, np.eye(m * k)).reshape(k, m, k, m)
    value = loss - float(np.log(np.diagonal(factor[0])).sum())
    pull = objective.design.pull(s * (0.5 * _third_derivatives(P, _score_covariances(objective.design, inverse)) - U))
    return Point(W, value, pull, inverse)


def _searched(objective: Any, point: Point, step: np.ndarray, promised: float) -> Point:
    """A point along the step that is low enough, and not far beyond the lowest (there the slope has turned).

    Where few samples carry most of the weight, full steps would jump to and fro over the optimum for ever.
    """
    size = 1.0
    for _ in range(HALVINGS):
        try:
            found = _evaluated(objective, point.weights + size * step)
        except np.linalg.LinAlgError:  # probabilities of 0 and 1 leave no curvature
            size /= 2
            continue
        beyond = -float((step * found.pull).sum()) / promised
        allowed = point.value - DECREASE * size * promised + ROUNDING * abs(point.value)
        if found.value <= allowed and beyond <= TURNED:
            return found
        size *= max(1 / (1 + beyond), 0.1) if beyond > 0 else 0.5
    return point


def _score_covariances(design: Any, inverse: np.ndarray) -> np.ndarray:
    """The covariance of the k scores of each sample, ``(x_i kron I)^T H^-1 (x_i kron I)``: (n, k, k)."""
    k, m = inverse.shape[:2]
    S = np.zeros((design.n, k, k))
    for first in range(0, m, BLOCK):
        columns = np.arange(first, min(first + BLOCK, m))
        inner = design.take(columns[columns < design.d])
        part = np.hstack([inner, np.ones((design.n, len(columns) - inner.shape[1]))])
        for a in range(k):
            for b in range(a + 1):
                S[:, a, b] += np.einsum("ij,ij->i", design.scores(inverse[a][:, b, columns]), part)
                S[:, b, a] = S[:, a, b]
    return S


def _third_derivatives(P: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Third derivatives of a sample's loss in its scores, applied to S: (n, k) ::

    P_a (q_a - sum_c P_c q_c),     q_c = (e_c - P)^T S (e_c - P),     c over all classes, e_c = 0 for the last.
    """
    SP = np.einsum("iab,ib->ia", S, P)
    last = np.einsum("ia,ia->i", P, SP)
    q = np.einsum("iaa->ia", S) - 2 * SP + last[:, None]
    mean = (P * q).sum(axis=1) + (1 - P.sum(axis=1)) * last
    return P * (q - mean[:, None])


def least_squares(sample: Sample, fit_intercept: bool) -> Estimates:
    """Weights of least squares, their variances and the degrees of freedom of the noise."""
    X, y, extra = sample
    d = X.shape[1]
    model = LaplaceRegressor(1.0, noise=1.0, fit_intercept=fit_intercept, standardize=False)
    at = curvature_at(model, sample, np.zeros((d, 1)), np.zeros(1))
    inverse = np.linalg.inv(at.hessian[:, 0, :, 0])
    weights = inverse @ at.pull[:, 0]
    free = float(np.sum(extra.get("sample_weight", np.ones(len(y))))) - d - int(fit_intercept)
    noise = noise_of(sample, weights, free, fit_intercept)
    return Estimates(weights[:, None], noise * np.diagonal(inverse)[:, None, None], free)


def noise_of(sample: Sample, weights: np.ndarray, free: float, fit_intercept: bool) -> float:
    """The variance of the noise: the sum of squared residuals over its degrees of freedom."""
    X, y, extra = sample
    weight = extra.get("sample_weight", np.ones(len(y)))
    residual = y - (extra["offset"].reshape(-1) if "offset" in extra else 0.0) - X @ weights
    residual = residual - (weight @ residual / weight.sum() if fit_intercept else 0.0)
    return float(weight @ residual**2) / free
