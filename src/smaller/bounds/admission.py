"""Which models have a bound: the posterior of a model that has one, and the reason why another has none.

A PAC-Bayes bound holds for every posterior at once, so the weights may depend on the sample in any way. The prior
and the columns must not depend on the sample. Models that break this rule, or have a weight without a prior, are
refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ..basis import Linear, Polynomial
from ..models.multinomial import RMLR, SparseMultinomialModel
from ..models.targets import coef_of, penalty_factors
from .gibbs_risk import LaplacePosterior

FIXED_BASES = (Linear, Polynomial)  # functions of an input alone


class Case(NamedTuple):
    """The posterior and the sample that a bound is computed from."""

    posterior: LaplacePosterior
    Phi: Any  # (n, d), with a column of ones where the intercept has a prior
    codes: np.ndarray  # (n,) positions of the labels among the classes
    m: int  # classes
    prior: str  # in words

    @property
    def n(self) -> int:
        """How many samples."""
        return len(self.codes)


def admit(model, X, y, prior: float | None = None, intercept_prior: float | None = None) -> Case:
    """Check model and sample, and choose the posterior of least divergence from the prior."""
    refuse_model(model, prior, intercept_prior)
    codes = label_positions(model, y)
    X = validate_data(model, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)
    if X.shape[0] != len(codes):
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(codes)}; they must describe the same samples.")
    Phi = model.basis_.transform(X)
    refuse_standardised(X)
    mean, rate, words = _weights(model, prior)
    if model.fit_intercept:
        ones = np.ones((Phi.shape[0], 1), dtype=Phi.dtype)
        Phi = sparse.hstack([Phi, ones], format="csr") if sparse.issparse(Phi) else np.hstack([Phi, ones])
        mean = np.vstack([mean, model.intercept_[: mean.shape[1]]])
        rate = np.vstack([rate, np.full((1, mean.shape[1]), float(_rate("intercept_prior", intercept_prior)))])
        words += f" and rate {intercept_prior:.3g} on the intercept"
    if sparse.issparse(Phi):
        Phi = sparse.csr_array(Phi)
    m = len(model.classes_)
    return Case(LaplacePosterior.nearest(mean, rate, 1 < mean.shape[1] < m), Phi, codes, m, words)


def _weights(model, prior: float | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Centres and prior rates, (d, k), and the prior in words."""
    coef = coef_of(model)
    if len(coef) > 2 and getattr(model, "parametrization", "") == "reference":
        coef = coef[:-1]
    mean = np.ascontiguousarray(coef.T, dtype=np.float64)
    if prior is not None:
        rate = np.full(mean.shape, _rate("prior", prior))
        return mean, rate, f"a Laplace density of rate {prior:.3g} on each of {mean.size} weights"
    factor = penalty_factors(model.penalty_factor, *mean.shape)
    rate = np.full(mean.shape, float(model.lam))
    words = f"a Laplace density of rate lam={model.lam:.3g} on each of {mean.size} weights"
    if factor is None:
        return mean, rate, words
    return mean, rate * factor.reshape(len(mean), -1), words + ", times its penalty factor,"


def _rate(name: str, value) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < float(value) < np.inf):
        raise ValueError(f"{name} must be a positive number, the rate of a Laplace density; got {value!r}.")
    return float(value)


def label_positions(model, y) -> np.ndarray:
    """The position of each label among the model's classes."""
    y = column_or_1d(y)
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(
            f"y has labels that are not classes of the model: {unknown[:5].tolist()}; its classes are "
            f"{model.classes_.tolist()}."
        )
    return np.searchsorted(model.classes_, y)


# -- refusals, each with its reason


def refuse_model(model, prior: float | None, intercept_prior: float | None) -> None:
    """Refuse models whose prior or columns depend on the sample, or with a weight without a prior."""
    refuse_kind(model)
    check_is_fitted(model)
    name = type(model).__name__
    if not isinstance(model.basis_, FIXED_BASES):
        raise ValueError(
            f"{name} has the basis {type(model.basis_).__name__}, whose columns may depend on the training set (a "
            "kernel is centred on it), so that the prior would too and the bound would not hold. Use basis='linear', "
            "for instance on kernel values with centres that are no part of the training set."
        )
    if getattr(model, "class_weight", None) is not None:
        raise ValueError(
            f"{name} was fitted with class_weight={model.class_weight!r}: it minimises a weighted error, whereas the "
            "bound is on the plain error rate of independent samples, each counted once. Fit it without class_weight."
        )
    if prior is None:
        _refuse_prior(model, name)
    if model.fit_intercept and intercept_prior is None:
        raise ValueError(
            f"{name} has an intercept without a prior, whose divergence is infinite, so there is no bound. Fit with "
            "fit_intercept=False, or declare intercept_prior, the rate of a Laplace density chosen without the data."
        )
    if not model.fit_intercept and intercept_prior is not None:
        raise ValueError(f"{name} has no intercept, so intercept_prior does not apply; leave it out.")


def refuse_kind(model) -> None:
    """Refuse models without a Laplace prior, and wrappers that choose columns or strengths from the sample."""
    name = type(model).__name__
    if isinstance(model, SparseMultinomialModel):
        return
    if hasattr(model, "steps"):
        raise ValueError(
            f"{name} has steps before its model. Those that learn from the training set (standardisation, selection, "
            "projection) make the columns, and so the prior, depend on it, and the bound does not hold. Transform X by "
            "rules that were fixed without these samples, and pass the fitted SMLR and the X that it saw."
        )
    if hasattr(model, "best_estimator_"):
        raise ValueError(
            f"{name} tuned its model on the training set, and a bound holds only for a prior fixed without it. Use "
            "bounds.choose, which accounts for its grid, or pass best_estimator_ with a prior fixed in advance "
            "(prior=...)."
        )
    if isinstance(model, RMLR):
        raise ValueError("RMLR has a normal prior; these bounds are for the Laplace prior of SMLR. Fit an SMLR.")
    raise ValueError(f"These bounds are for a fitted SMLR; got {name}. bounds.test_set takes any classifier.")


def _refuse_prior(model, name: str) -> None:
    """Refuse the model's own prior if it depends on the sample, or leaves a weight without a penalty."""
    if hasattr(model, "lam_") or not hasattr(model, "lam"):
        raise ValueError(
            f"{name} chose the strength of its prior on the training set, and a bound holds only for a prior fixed "
            "without it. Use bounds.choose, which accounts for its grid, or declare a prior fixed in advance "
            "(prior=...)."
        )
    if model.standardize:
        raise ValueError(
            f"{name} has standardize=True: its prior is in units of the training set's standard deviations, and a "
            "bound holds only for a prior fixed without it. Scale X by constants fixed in advance, or declare a prior "
            "on the weights of X as it is (prior=...)."
        )
    if model.groups is not None:
        raise ValueError(
            f"{name} has groups, whose prior is no Laplace prior of single weights: there is no bound for it. Leave "
            "groups out, or declare a prior fixed in advance (prior=...)."
        )
    factor = model.penalty_factor
    if model.lam == 0 or (factor is not None and not np.all(np.asarray(factor) > 0)):
        what = "lam=0" if model.lam == 0 else "columns with penalty_factor 0"
        raise ValueError(
            f"{name} has {what}: weights without a prior have an infinite divergence, so there is no bound. Give every "
            "weight a penalty, or declare a prior fixed in advance (prior=...)."
        )


def refuse_standardised(X) -> None:
    """Columns that all have mean 0 and standard deviation 1 to rounding were standardised by this very sample."""
    if sparse.issparse(X) or len(X) < 3:
        return
    mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    # Constant columns do not count, nor do balanced columns of -1 and 1, which are codes.
    measured = (spread > 0) & ~np.all(np.abs(X) == 1, axis=0)
    rounding = 1e-6 if X.dtype == np.float32 else 1e-10
    unit = np.minimum(np.abs(spread - 1.0), np.abs(spread * np.sqrt(len(X) / (len(X) - 1)) - 1.0)) <= rounding
    if measured.any() and np.all((unit & (np.abs(mean) <= rounding))[measured]):
        raise ValueError(
            "The columns of X have mean 0 and standard deviation 1 on this very sample: they were standardised by it, "
            "so the prior depends on it and the bound does not hold. Scale X by constants fixed in advance, or by the "
            "statistics of other samples."
        )
