"""Normal approximations of models that keep some columns by their evidence or under a Jeffreys prior.

Given the columns kept and the variances found, the weights are normal about the fitted ones, exactly for numbers and by
Laplace's approximation for classes. Columns that were not kept have no draw but 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ..design import host
from ..models.adaptive import LaplaceRegressor
from ..models.base import Given
from ..models.jeffreys import JeffreysClassifier
from ..models.regression import RegressionModel
from ..models.rvm import RVMClassifier
from ..models.type1 import TypeIRegressor
from ..models.type2_classifier import TypeIIClassifier
from .fitted_problem import fitted_problem


class NormalDraws(NamedTuple):
    """Draws (count, rows, columns), intercepts (count, rows), and the link of the scores."""

    coef: np.ndarray
    intercept: np.ndarray
    link: str = "softmax"


def conditional_draws(model, given: Given, count: int, rng: np.random.Generator) -> NormalDraws | None:
    """Draws of the normal approximation of models that have only that; None of the others."""
    if isinstance(model, LaplaceRegressor):
        return None
    if isinstance(model, RVMClassifier):
        return _machine(model, count, rng)
    if isinstance(model, TypeIIClassifier):
        return _type_two(model, given, count, rng)
    if isinstance(model, JeffreysClassifier):
        return _about_means(model, count, rng)._replace(link="probit")
    if isinstance(model, RegressionModel):
        _refuse_regression(model)
        return _about_means(model, count, rng)
    return None


def column_deviations(model, given: Given) -> np.ndarray:
    """Standard deviations of the columns, 1 of constants and of those that are known by products only."""
    if isinstance(given.X, LinearOperator):
        return np.ones(_coef(model).shape[1])
    return np.asarray(host(fitted_problem(model, given).sample.scale), dtype=float)


def _refuse_regression(model) -> None:
    if isinstance(model, TypeIRegressor) and model.prior == "laplace":
        raise ValueError(
            "TypeIRegressor(prior='laplace') is refused: its weights are the mode under an L1 prior, which has a kink "
            "and no curvature at 0, so that a normal approximation there says nothing. Fit LaplaceRegressor, whose "
            "posterior can be drawn from."
        )
    if np.iscomplexobj(model.coef_):
        raise ValueError("Complex weights have no draws; give the real and imaginary parts as columns of a real model.")


def _coef(model) -> np.ndarray:
    coef = host(model.coef_)
    return np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef, dtype=np.float64))


def _normal(rng: np.random.Generator, covariance: np.ndarray, count: int) -> np.ndarray:
    """Draws of N(0, covariance), which may be singular: (count, size); exactly 0 where the variance is.

    They are drawn by the correlations: the variances may differ by more orders of magnitude than a number has digits.
    """
    own = np.flatnonzero(np.diag(covariance) > 0)
    deviation = np.sqrt(np.diag(covariance)[own])
    values, vectors = np.linalg.eigh(covariance[np.ix_(own, own)] / deviation[:, None] / deviation)
    drawn = np.zeros((count, len(covariance)))
    normal = rng.standard_normal((count, len(own)))
    drawn[:, own] = (normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T) * deviation
    return drawn


def _assembled(model, moves: np.ndarray, levels: np.ndarray, centre: np.ndarray) -> NormalDraws:
    """The model's weights moved by (count, rows, kept); intercepts at the centre of the columns by (count, rows)."""
    coef = _coef(model)
    W = np.tile(coef, (len(moves), 1, 1))
    W[:, :, model.support_] += moves
    b = np.atleast_1d(host(model.intercept_)) + levels - np.einsum("crk,rk->cr", moves, centre)
    return NormalDraws(W, b)


def _about_means(model, count: int, rng: np.random.Generator) -> NormalDraws:
    """One covariance for all rows of weights, or one for each; levels of scores are independent of the weights."""
    rows, kept = len(_coef(model)), len(model.support_)
    covariance = np.broadcast_to(np.asarray(host(model.covariance_), dtype=float), (rows, kept, kept))
    centre = np.broadcast_to(np.asarray(host(model.center_), dtype=float), (rows, kept))
    level = np.sqrt(np.broadcast_to(np.asarray(model.center_variance_, dtype=float), (rows,)))
    moves = np.stack([_normal(rng, each, count) for each in covariance], axis=1)
    return _assembled(model, moves, rng.standard_normal((count, rows)) * level, centre)


def _machine(model: RVMClassifier, count: int, rng: np.random.Generator) -> NormalDraws:
    """All weights and intercepts of a softmax together, or those of each machine."""
    joint, rows, kept = host(model.joint_covariance_), len(_coef(model)), len(model.support_)
    link = "one-versus-rest" if model.multiclass == "ovr" and rows > 1 else "softmax"
    moves, levels = np.zeros((count, rows, kept)), np.zeros((count, rows))
    if joint.ndim == 2:
        (column, owner), drawn = model._weights(), _normal(rng, joint, count)
        moves[:, owner, column] = drawn[:, : len(owner)]
        levels += drawn[:, len(owner) :] if drawn.shape[1] > len(owner) else 0.0
    else:
        for row in range(rows):
            drawn = _normal(rng, joint[row], count)
            moves[:, row] = drawn[:, :kept]
            levels[:, row] = drawn[:, kept] if drawn.shape[1] > kept else 0.0
    centre = np.broadcast_to(np.asarray(host(model.center_), dtype=float), (rows, kept))
    return _assembled(model, moves, levels, centre)._replace(link=link)


def _type_two(model: TypeIIClassifier, given: Given, count: int, rng: np.random.Generator) -> NormalDraws:
    """(Phi^T S (diag P - P P^T) Phi + diag(1 / gamma))^-1 over the kept weights and the intercepts, at the weights."""
    problem: Any = fitted_problem(model, given)
    sample, rows, kept = problem.sample, len(_coef(model)), len(model.support_)
    Phi = np.asarray(host(sample.design.take(model.support_)), dtype=float)
    s = np.asarray(sample.weight, dtype=float)
    centre = s @ Phi / s.sum() if model.fit_intercept else np.zeros(kept)
    Z = np.column_stack([Phi - centre, np.ones(len(s))]) if model.fit_intercept else Phi
    F = Phi @ _coef(model)[:, model.support_].T + host(model.intercept_)
    P = problem.likelihood.fit(np.asfortranarray(F if sample.offset is None else F + sample.offset), sample.Y, s)[0]
    gamma = np.atleast_2d(model.gamma_)[:, model.support_]
    precision = np.column_stack([1 / np.where(gamma > 0, gamma, np.inf), np.zeros((rows, Z.shape[1] - kept))])
    H = np.zeros((rows, Z.shape[1], rows, Z.shape[1]))
    for left in range(rows):
        for right in range(rows):
            H[left, :, right] = (Z * problem.likelihood.curvature(P, s, left, right)[:, None]).T @ Z
        H[left, range(Z.shape[1]), left, range(Z.shape[1])] += precision[left]
    free = np.column_stack([gamma > 0, np.ones((rows, Z.shape[1] - kept), dtype=bool)]).ravel()
    found = np.zeros((count, free.size))
    found[:, free] = _normal(rng, _inverse(H.reshape(free.size, free.size)[np.ix_(free, free)]), count)
    drawn = found.reshape(count, rows, Z.shape[1])
    levels = drawn[:, :, kept] if model.fit_intercept else np.zeros((count, rows))
    return _assembled(model, drawn[:, :, :kept], levels, np.broadcast_to(centre, (rows, kept)))


def _inverse(H: np.ndarray) -> np.ndarray:
    """The inverse, in units in which the diagonal is 1; 0 along what changes no probability."""
    scale = 1 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    return np.linalg.pinv(H * np.outer(scale, scale), rcond=1e-12, hermitian=True) * np.outer(scale, scale)
