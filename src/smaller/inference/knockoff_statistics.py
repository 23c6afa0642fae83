"""Statistics that compare each column with its knockoff: large and positive where the column itself matters."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone, is_classifier

from ..models.targets import coef_of
from ..tuning.cross_validation import SMLRCV
from ..tuning.laplace_cross_validation import LaplaceRegressorCV
from .first_features import Sample, entered, follower, has_path, is_unrelated

POINTS = 250  # strengths of the path whose entries are compared
LASSO_STRENGTHS = np.geomspace(1.0, 0.1, 8)  # times the universal one, for cross-validation


def standardised(columns: np.ndarray) -> np.ndarray:
    scale = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(scale > 0, scale, 1.0)


def weight_difference(estimator, sample: Sample) -> np.ndarray:
    """``W_j = |beta_j|_2 - |beta_kj|_2`` of the weights of each column and of its knockoff over the classes."""
    X, y, extra = sample
    model = clone(estimator).fit(X, y, **extra)
    model = getattr(model, "best_estimator_", model)
    coef = coef_of(model) if hasattr(model, "coef_") else np.empty((1, 0))
    if coef.shape[1] != X.shape[1]:
        raise ValueError(
            f"statistic='weight' needs a weight for each column in coef_, but {type(estimator).__name__} has none; use "
            "a linear model, such as SMLRCV."
        )
    size = np.sqrt((coef**2).sum(axis=0))
    return size[: len(size) // 2] - size[len(size) // 2 :]


def entry_difference(estimator, sample: Sample, lams=POINTS) -> np.ndarray:
    """``W_j = max(Z_j, Z_kj) sign(Z_j - Z_kj)``, Z the largest strength at which a column has a non-zero weight."""
    if not has_path(estimator):
        raise ValueError(
            f"statistic='entry' needs a model with a path (SMLR, SMLRCV, SBMLR, LaplaceRegressor); got "
            f"{type(estimator).__name__}. Use statistic='weight', or one of these models."
        )
    d = sample[0].shape[1]
    if is_unrelated(estimator, sample):
        return np.zeros(d // 2)
    Z = entered(follower(estimator, sample)(lams), np.ones(d, dtype=bool))
    own, copy = Z[: d // 2], Z[d // 2 :]
    return np.maximum(own, copy) * np.sign(own - copy)


STATISTICS = {"weight": weight_difference, "entry": entry_difference}


def tuned(estimator, n: int, d: int):
    """The usual estimator with its strength chosen by cross-validation on the columns and their knockoffs."""
    if is_classifier(estimator):
        return SMLRCV(standardize=True)
    return LaplaceRegressorCV(np.sqrt(2 * n * np.log(max(d, 2))) * LASSO_STRENGTHS)
