"""Estimates of all weights of a sample in units of the data: by likelihood, or by one step from a sparse fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ..errors import EmptyModelWarning
from ..models.adaptive import LaplaceRegressor
from ..models.multinomial import SMLR
from ..models.targets import coef_of
from .bias_reduced import bias_reduced, least_squares, noise_of
from .checked_input import Rows
from .first_features import Sample
from .knockoff_statistics import tuned
from .one_step import Estimates, curvature_at, one_step

ROUNDING = 1e-13  # relative to the targets: smaller residuals are rounding errors
BLOCK = 2**22  # numbers that are multiplied with the correlations at a time
SINGULAR = 1e-10  # smallest eigenvalue of the columns' correlations at which their weights are determined


def total(rows: Rows) -> float:
    """The number of samples, a sample of weight 2 counted twice."""
    return float(rows.extra["sample_weight"].sum()) if "sample_weight" in rows.extra else float(len(rows.y))


def determined(rows: Rows) -> bool:
    """Whether no column is a sum of multiples of others and of the intercept, so that every weight has one value."""
    return bool(np.linalg.eigvalsh(_correlations(rows)[2])[0] > SINGULAR)


def largest_leverage(rows: Rows) -> float:
    """The largest leverage of a sample in least squares: its share of its own fitted value; weight 2 counts as two."""
    Z, mean, C = _correlations(rows)
    root, step = np.linalg.inv(np.linalg.cholesky(C)).T, max(BLOCK // Z.shape[1], 1)
    blocks = (Z[first : first + step] @ root - mean @ root for first in range(0, Z.shape[0], step))
    farthest = max(float((block**2).sum(axis=1).max()) for block in blocks)
    return (farthest + float(rows.estimator.fit_intercept)) / total(rows)


def _correlations(rows: Rows) -> tuple[Any, np.ndarray, np.ndarray]:
    """Columns of variance 1, what is left of their means (0 without an intercept), and their correlations."""
    Z, _, extra = standardised_rows(rows)[0]
    weight = extra.get("sample_weight", np.ones(len(rows.y))) / total(rows)
    gram = Z.T @ (Z.multiply(weight[:, None]) if sparse.issparse(Z) else Z * weight[:, None])
    gram = gram.toarray() if sparse.issparse(gram) else gram
    mean = weight @ Z if rows.estimator.fit_intercept else np.zeros(Z.shape[1])
    return Z, mean, gram - np.outer(mean, mean)


def likelihood_estimates(rows: Rows, classes: np.ndarray) -> Estimates:
    """Least squares for numbers; for classes, of which the reference is the last, maximum likelihood less its bias."""
    sample, _, scale = standardised_rows(rows)
    if not len(classes):
        found = least_squares(sample, rows.estimator.fit_intercept)
        _refuse_noiseless(sample, noise_of(sample, found.weights[:, 0], found.free, rows.estimator.fit_intercept))
    else:
        sample = _contrasts(sample, classes)
        _refuse_separable(rows, sample)
        found = bias_reduced(sample, rows.estimator.fit_intercept)
    return _in_units(found, scale)


def one_step_estimates(model, rows: Rows, classes: np.ndarray, penalty: float) -> Estimates:
    """One step from the model's fit along the directions of nodewise lassos."""
    sample, mean, scale = standardised_rows(rows)
    fitted = _fitted(model, rows)
    coef, intercept = coef_of(fitted), np.atleast_1d(fitted.intercept_)
    coef, intercept = coef * scale, intercept + coef @ mean
    if not len(classes):
        return _in_units(_step_for_numbers(rows, sample, coef, intercept, penalty), scale)
    if len(coef) == 1:  # log odds of the second class
        coef, intercept = np.vstack([-coef / 2, coef / 2]), np.append(-intercept / 2, intercept / 2)
    places, k = np.searchsorted(np.unique(rows.y), classes), len(classes) - 1
    W, b = coef[places], intercept[places]
    model = SMLR(0.0, parametrization="reference", fit_intercept=rows.estimator.fit_intercept)
    at = curvature_at(model, _contrasts(sample, classes), (W[:k] - W[k]).T, b[:k] - b[k])
    return _in_units(one_step(at, penalty), scale)


def standardised_rows(rows: Rows) -> tuple[Sample, np.ndarray, np.ndarray]:
    """The sample with columns of variance 1, and the means (0 for sparse X) and deviations taken out of them."""
    X, weight = rows.X, rows.extra.get("sample_weight", np.ones(len(rows.y)))
    weight = weight / weight.sum()
    mean = weight @ X if rows.estimator.fit_intercept else np.zeros(X.shape[1])
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        scale = np.sqrt(weight @ X.multiply(X) - mean**2)
        Z: Any = sparse.csr_array(X * (1 / scale))
        return (Z, rows.y, rows.extra), np.zeros(len(mean)), scale
    scale = np.sqrt(weight @ np.square(X - mean))
    return ((np.asarray(X, dtype=np.float64) - mean) / scale, rows.y, rows.extra), mean, scale


def _in_units(found: Estimates, scale: np.ndarray) -> Estimates:
    """Estimates for columns of variance 1 as estimates for the columns of the data."""
    return Estimates(found.weights / scale[:, None], found.covariance / (scale**2)[:, None, None], found.free)


def _contrasts(sample: Sample, classes: np.ndarray) -> Sample:
    """The sample with codes of the classes and offsets in their order: contrasts are then with the last of them."""
    X, y, extra = sample
    known = np.unique(y)
    places = np.searchsorted(known, classes)
    codes = np.argsort(places)[np.searchsorted(known, y)]
    if len(classes) == 2:
        codes = 1 - codes  # the objective has log odds of the second class, and the reference is the last of `classes`
        places = places[::-1]
    if "offset" in extra and np.ndim(extra["offset"]) == 2:
        extra = {**extra, "offset": extra["offset"][:, places]}
    elif "offset" in extra and places[0] == 1:
        extra = {**extra, "offset": -extra["offset"]}
    return X, codes, extra


def _fitted(model, rows: Rows) -> Any:
    """The model if it was fitted on all of these columns, else a fit of its copy."""
    if model is not None and hasattr(model, "coef_") and model.coef_.shape[-1] == rows.X.shape[1] == len(rows.unit):
        return model
    chosen = tuned(rows.estimator, *rows.X.shape) if model is None else clone(rows.estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)  # no weight is a fine start
        return chosen.fit(rows.X, rows.y, **rows.extra)


def _step_for_numbers(rows: Rows, sample: Sample, coef: np.ndarray, intercept: np.ndarray, penalty: float) -> Estimates:
    """One step with the noise ``RSS / (n - kept columns - 1)`` (Reid et al. 2016)."""
    X, y, extra = sample
    weight = extra.get("sample_weight", np.ones(len(y)))
    known = y - np.reshape(extra["offset"], -1) if "offset" in extra else y
    residual = known - X @ coef[0] - intercept[0]
    free = weight.sum() - np.count_nonzero(coef) - int(rows.estimator.fit_intercept)
    noise = float(weight @ residual**2) / max(free, 1.0)
    _refuse_noiseless(sample, noise)
    model = LaplaceRegressor(1.0, noise=1.0, standardize=False, fit_intercept=rows.estimator.fit_intercept)
    found = one_step(curvature_at(model, sample, coef.T, intercept), penalty)
    return found._replace(covariance=noise * found.covariance)


def _refuse_noiseless(sample: Sample, noise: float) -> None:
    size = max(np.square(values).mean() for values in (sample[1], sample[2].get("offset", np.zeros(1))))
    if noise <= ROUNDING**2 * size:
        raise ValueError("The columns fit y exactly: without noise there are no intervals and nothing to test.")


def _refuse_separable(rows: Rows, sample: Sample) -> None:
    X, y, extra = sample
    model = SMLR(0.0, parametrization="reference", fit_intercept=rows.estimator.fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        separable = model.fit(X, y, **extra).status_ == "separable"
    if separable:
        raise ValueError(
            "The columns separate the classes exactly, so that the weights have no finite values and no intervals; "
            "give fewer columns, or p_values='multi-split' (in the command: --method splits), which needs no estimates "
            "of all weights at once."
        )
