"""How well numbers are predicted: squared error, density of the truth, and how often intervals hold it."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import KFold

LEVEL = 0.9  # level of the intervals whose coverage is reported


class Mean(RegressorMixin, BaseEstimator):
    """What predicts the mean of the targets, and their standard deviation, whatever the inputs are."""

    def fit(self, X, y) -> Mean:
        """Note both."""
        self.mean_, self.deviation_ = float(np.mean(y)), float(np.std(y))
        return self

    def predict(self, X, return_std: bool = False) -> Any:
        """The same for every sample."""
        mean = np.full(X.shape[0], self.mean_)
        return (mean, np.full(X.shape[0], self.deviation_)) if return_std else mean


class Numbers:
    """A target of numbers: predictions are means and standard deviations, (n, 2), NaN where a model has none."""

    loss = "log density loss"
    nothing = "the mean"
    losses_by_name = {
        "log-density": lambda predicted, y: float(density_losses(y, *predicted.T).mean()),
        "rmse": lambda predicted, y: float(np.sqrt(np.mean((y - predicted[:, 0]) ** 2))),
        "absolute-error": lambda predicted, y: float(np.abs(y - predicted[:, 0]).mean()),
    }
    formats = {"RMSE": "{:.4g}", "R²": "{:.3f}", "log density loss": "{:.3f}", "90 % intervals hold": "{:.1%}"}

    def __init__(self, y: np.ndarray):
        self.target = y

    def splits(self, folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds of random samples."""
        n = len(self.target)
        if min(folds, n) < 2:
            raise ValueError(f"Cross-validation needs two samples at least; the table has {n}.")
        return list(KFold(min(folds, n), shuffle=True, random_state=0).split(np.zeros(n)))

    def predict(self, model, X) -> np.ndarray:
        """Means and standard deviations."""
        return np.column_stack(mean_and_deviation(model, X))

    def figures(self, predicted: np.ndarray, y: np.ndarray) -> dict[str, float]:
        """The columns of the printed table."""
        mean, deviation = predicted.T
        square = float(np.mean((y - mean) ** 2))
        spread = float(np.var(y))
        return {
            "RMSE": square**0.5,
            "R²": 1.0 - square / spread if spread > 0 else np.nan,
            "log density loss": self.losses_by_name["log-density"](predicted, y),
            "90 % intervals hold": coverage(y, mean, deviation, LEVEL) if np.isfinite(deviation).all() else np.nan,
        }


def mean_and_deviation(model, X, outside: str = "warn") -> tuple[np.ndarray, np.ndarray]:
    """Predictions with their standard deviations; NaN where a model has none."""
    last = model[-1] if hasattr(model, "steps") else model
    last = getattr(last, "best_estimator_", last)
    if "return_std" in signature(last.predict).parameters:
        known = {"outside": outside} if "outside" in signature(last.predict).parameters else {}
        return model.predict(X, return_std=True, **known)
    mean = model.predict(X)
    return mean, np.full(len(mean), np.nan)


def density_losses(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """-log N(y; mean, deviation^2), (n,)."""
    with np.errstate(divide="ignore", invalid="ignore"):  # targets without noise have intervals of width 0
        return 0.5 * np.log(2 * np.pi * deviation**2) + 0.5 * ((y - mean) / deviation) ** 2


def coverage(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray, level: float) -> float:
    """The fraction of targets inside the central intervals that should hold a fraction `level`."""
    return float((np.abs(y - mean) <= ndtri(0.5 + level / 2) * deviation).mean())
