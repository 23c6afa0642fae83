"""The plan of a fitted model: the numbers that a prediction needs.

    phi = basis((x - shift) / scale)                           the columns that were kept, (q,)
    f_k = w_k . phi + b_k                                      scores
    v_k = (phi - c_k, 1)^T S_k (phi - c_k, 1)                  their variances, where the model has them

Regression predicts f with a variance of noise + v. Classification divides f by sqrt(1 + moderation v), turns the
result into logarithms of unnormalised probabilities by its link, and takes their softmax. The link "pairwise-softmax"
divides the differences between the scores of two classes instead; v are then their variances, for the pairs (0, 1),
(0, 2), ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..basis import Kernel, Linear, Polynomial, Precomputed
from ..models.adaptive import AdaptiveRegressor
from ..models.jeffreys import JeffreysClassifier
from ..models.multinomial import MultinomialModel
from ..models.regression import VarianceModel
from ..models.rvm import RVMClassifier
from ..models.selector import input_names
from ..models.targets import coef_of
from ..models.type2_classifier import TypeIIClassifier


class Products(NamedTuple):
    """phi_j is a product of inputs; the position after the last input means the factor 1. Linear: degree 1."""

    factors: np.ndarray  # (q, degree) positions of inputs


class Similarities(NamedTuple):
    """phi_j = exp(-gamma |x - c_j|^2), or (gamma x.c_j + coef0)^degree where a degree is given."""

    centers: np.ndarray  # (q, p)
    gamma: float
    degree: float | None = None
    coef0: float = 0.0


class ScoreCovariance(NamedTuple):
    """Covariance of the weights: one matrix for all scores, one for each, or one for each pair of classes."""

    center: np.ndarray  # (b, q)
    covariance: np.ndarray  # (b, q + 1, q + 1), the last row and column the intercept's


# Links from scores to predictions; both writers implement each of them.
IDENTITY, LOGISTIC, SOFTMAX, AGAINST_REST, PROBIT = "identity", "logistic", "softmax", "against-rest", "probit"
PAIRWISE = "pairwise-softmax"


class Plan(NamedTuple):
    """A fitted model as numbers."""

    model: str  # the name of its class
    names: list[str]  # of the inputs
    shift: np.ndarray | None  # (p,)
    scale: np.ndarray | None  # (p,)
    basis: Products | Similarities
    weights: np.ndarray  # (k, q)
    intercept: np.ndarray  # (k,)
    link: str
    spread: ScoreCovariance | None = None
    moderation: float = 0.0
    noise: float | None = None  # of a regression
    classes: np.ndarray | None = None

    @property
    def columns(self) -> int:
        """How many columns were kept."""
        return self.weights.shape[1]

    @property
    def several(self) -> bool:
        """Whether there is more than one score."""
        return len(self.weights) > 1


def plan_of(model, names: Sequence[str] | None = None, scaling: dict[str, np.ndarray] | None = None) -> Plan:
    """The plan of a fitted model of this package, also after a StandardScaler in a pipeline.

    Parameters
    ----------
    model : estimator
    names : sequence of str, optional
        Of the inputs.
    scaling : dict, optional
        "mean" and "scale" by which the inputs become those of the model.
    """
    if isinstance(model, Pipeline):
        return _after_scaler(model, names)
    inner = model.best_estimator_ if hasattr(model, "best_estimator_") else model
    about = next((write for kind, write in KINDS.items() if isinstance(inner, kind)), None)
    if about is None:
        raise ValueError(_unsupported(inner))
    check_is_fitted(inner)
    coef = coef_of(inner)
    known = input_names(inner, names)
    return Plan(
        model=type(inner).__name__,
        names=[str(name) for name in known],
        shift=None if scaling is None else np.asarray(scaling["mean"], dtype=np.float64),
        scale=None if scaling is None else np.asarray(scaling["scale"], dtype=np.float64),
        basis=_basis(inner),
        weights=np.ascontiguousarray(coef[:, inner.support_], dtype=np.float64),
        intercept=np.atleast_1d(np.asarray(inner.intercept_, dtype=np.float64)),
        classes=getattr(inner, "classes_", None),
        **about(inner),
    )


def _after_scaler(pipeline: Pipeline, names) -> Plan:
    *before, (_, model) = pipeline.steps
    if len(before) != 1 or type(before[0][1]) is not StandardScaler:
        steps = ", ".join(type(step).__name__ for _, step in before) or "nothing"
        raise ValueError(
            f"A pipeline is exported with one StandardScaler before its model; this one has {steps} there."
        )
    scaler = before[0][1]
    check_is_fitted(scaler)
    p = scaler.n_features_in_
    names = scaler.get_feature_names_out() if names is None else names
    mean = scaler.mean_ if scaler.with_mean else np.zeros(p)
    return plan_of(model, names, {"mean": mean, "scale": scaler.scale_ if scaler.with_std else np.ones(p)})


def _unsupported(model) -> str:
    name = type(model).__name__
    if hasattr(model, "estimator_") or hasattr(model, "estimator"):
        return (
            f"{name} makes decisions with the probabilities of a model; export the classifier inside, its "
            "estimator_, and make the decisions where the probabilities are used."
        )
    return (
        f"{name} cannot be exported; the models that can are the linear and kernel models of smaller: SMLR, "
        "SMLRCV, RMLR, SBMLR, RVMClassifier, JeffreysClassifier, TypeIIClassifier, and the regressors."
    )


def _basis(model) -> Products | Similarities:
    basis, support = model.basis_, model.support_
    if isinstance(basis, Linear):
        return Products(support[:, None].astype(np.int64))
    if isinstance(basis, Precomputed):
        return Products(basis.center_index_[support][:, None].astype(np.int64))
    if isinstance(basis, Polynomial):
        return _products(basis, support)
    if not isinstance(basis, Kernel) or callable(basis.kernel):
        what = "a kernel function of your own" if isinstance(basis, Kernel) else f"the basis {type(basis).__name__}"
        raise ValueError(f"{what} is Python code, which cannot be exported; use one of the named kernels.")
    if basis.kernel == "laplacian":
        raise ValueError("The kernel 'laplacian' cannot be exported; use 'rbf', 'linear' or 'poly'.")
    centers = basis.centers_[support]
    centers = np.asarray(centers.toarray() if sparse.issparse(centers) else centers, dtype=np.float64)
    if basis.kernel == "rbf":
        return Similarities(centers, float(basis.gamma_))
    if basis.kernel == "linear":
        return Similarities(centers, 1.0, 1.0, 0.0)
    return Similarities(centers, float(basis.gamma_), float(basis.degree), float(basis.coef0))


def _products(basis: Polynomial, support: np.ndarray) -> Products:
    """x0^2 x1 is the factors 0, 0, 1."""
    p, powers = basis.n_inputs_, basis._products().powers_[support]
    factors = np.full((len(support), max(int(powers.sum(axis=1).max(initial=1)), 1)), p, dtype=np.int64)
    for row, power in zip(factors, powers, strict=True):
        used = np.repeat(np.arange(p), power)
        row[: len(used)] = used
    return Products(factors)


# -- link and covariance of each kind of model


def _multinomial(model) -> dict[str, Any]:
    return {"link": LOGISTIC if len(model.intercept_) == 1 else SOFTMAX}


def _relevance(model) -> dict[str, Any]:
    k, q = len(model.intercept_), len(model.support_)
    apart = model.multiclass == "ovr" and k > 1
    found = {"link": LOGISTIC if k == 1 else AGAINST_REST if apart else SOFTMAX}
    if not model.moderate:
        return found
    if model.joint_covariance_.ndim == 2:
        spread = ScoreCovariance(model.center_[None], _pair_covariances(model, k, q))
        return {"link": PAIRWISE, "spread": spread, "moderation": np.pi / 8}
    covariance = np.zeros((k, q + 1, q + 1))
    size = model.joint_covariance_.shape[1]
    covariance[:, :size, :size] = model.joint_covariance_
    spread = ScoreCovariance(model.center_[None], covariance)
    # Files of 0.1 have no covariances between classes: each score of the softmax is divided by itself alone.
    grown = 1.0 if k == 1 or apart else (k / (k - 1)) ** 2
    return {**found, "spread": spread, "moderation": float(np.pi / 8 * grown)}


def _pair_covariances(model, k: int, q: int) -> np.ndarray:
    """Covariance of the differences between the weights of every two classes, (pairs, q + 1, q + 1)."""
    joint = model.joint_covariance_
    column, owner = model._weights()
    if len(joint) > len(column):
        column, owner = np.append(column, np.full(k, q)), np.append(owner, np.arange(k))
    place = np.zeros((len(column), q + 1))
    place[np.arange(len(column)), column] = 1.0
    signs = [(owner == a).astype(float) - (owner == b) for a in range(k) for b in range(a + 1, k)]
    return np.array([(sign[:, None] * place).T @ joint @ (sign[:, None] * place) for sign in signs])


def _jeffreys(model) -> dict[str, Any]:
    spread = ScoreCovariance(model.center_, _with_level(model.covariance_, model.center_variance_))
    return {"link": PROBIT, "spread": spread, "moderation": 1.0}


def _regression(model) -> dict[str, Any]:
    model._check_intervals()
    blocks = (
        model.covariance_ if model.covariance_.ndim == 3 else model.covariance_[None]
    )  # one for each target, or all
    covariance = _with_level(blocks, np.full(len(blocks), model.center_variance_))
    return {"link": IDENTITY, "spread": ScoreCovariance(model.center_[None], covariance), "noise": float(model.noise_)}


def _with_level(blocks: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Covariances with the variance at the centre in the last place."""
    b, q, _ = blocks.shape
    found = np.zeros((b, q + 1, q + 1))
    found[:, :q, :q], found[:, q, q] = blocks, level
    return found


KINDS: dict[Any, Callable[[Any], dict[str, Any]]] = {
    MultinomialModel: _multinomial,
    TypeIIClassifier: _multinomial,
    RVMClassifier: _relevance,
    JeffreysClassifier: _jeffreys,
    VarianceModel: _regression,
    AdaptiveRegressor: _regression,
}
