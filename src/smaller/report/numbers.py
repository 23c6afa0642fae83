"""The facts about a regressor: errors, intervals, noise, and the samples in the charts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from ..tuning.ranking import coverage, density_losses, exact_interval, mean_and_deviation

LEVELS = np.linspace(0.01, 0.99, 99)  # of intervals
POINTS = 1_500  # samples in the charts
STEPS = 200  # points of the curve of the samples with the smallest deviations


def number_facts(model, inner, X, y: np.ndarray, priors, brief: bool = False, *, known: bool = False) -> dict[str, Any]:
    """The facts about predicted numbers; `known` says that these are the training samples."""
    if np.ndim(inner.intercept_):
        raise ValueError("A report is about one target, and the model has several; fit one model for each.")
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{type(inner).__name__} predicts numbers, and the target has text such as {str(y[0])!r}.")
    y = y.astype(np.float64)
    mean, deviation = mean_and_deviation(model, X)
    seen = known or regressor_was_fitted_on(inner, X, y)
    spread = {"mean": y.mean(), "deviation": y.std(), "least": y.min(), "greatest": y.max()}
    return {
        "data": {"target": {key: float(value) for key, value in spread.items()}, "training_sample": seen},
        "quality": _quality(y, mean, deviation),
        "coverage": _coverage(y, mean, deviation),
        "surest": _surest(y, mean, deviation),
        "noise": _noise(inner, deviation),
        "samples": _samples(y, mean, deviation),
        "told": {
            "truth": lambda i: float(y[i]),
            "predicted": lambda i: float(mean[i]),
            "deviation": lambda i: float(deviation[i]),
        },
    }


def regressor_was_fitted_on(inner, X, y: np.ndarray) -> bool:
    """Whether these are the training samples: they have the column means that the model kept.

    With a free intercept the residuals of the training samples have mean 0 as well. The training samples of a model
    without an intercept, or with sample weights, are not recognised.
    """
    if not inner.fit_intercept:
        return False
    Phi = inner.basis_.transform(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64), inner.support_)
    center = np.asarray(Phi.mean(axis=0)).ravel()
    size = float(max(Phi.max(), -Phi.min())) if Phi.shape[1] else 0.0
    del Phi  # which may be as large as X
    miss = abs(float(np.mean(y - inner.predict(X))))
    return bool((np.abs(center - inner.center_) <= 1e-9 * size).all() and miss <= 1e-5 * y.std())


def _quality(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> dict[str, Any]:
    n, residual, spread = len(y), y - mean, float(y.std())
    inside = coverage(y, mean, deviation, 0.9)
    rmse = float(np.sqrt(np.mean(residual**2)))
    return {
        "tested": n,
        "rmse": rmse,
        "mean_absolute_error": float(np.abs(residual).mean()),
        "r2": 1.0 - (rmse / spread) ** 2 if spread > 0 else None,
        "baseline": spread,
        "density_loss": _finite(density_losses(y, mean, deviation).mean()),
        "baseline_density_loss": _finite(density_losses(y, y.mean(), np.full(n, spread)).mean()),
        "inside": inside,
        "inside_interval": list(exact_interval(round(inside * n), n)),
        "coverage_error": float(np.mean([abs(coverage(y, mean, deviation, level) - level) for level in LEVELS])),
        "worst": float(np.abs(residual).max()),
    }


def _finite(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def _coverage(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> list[dict[str, float]]:
    """For each level of the intervals: the fraction of targets inside, and the mean width."""
    return [
        {
            "level": round(float(level), 2),
            "inside": coverage(y, mean, deviation, level),
            "width": float(2 * ndtri(0.5 + level / 2) * deviation.mean()),
        }
        for level in LEVELS
    ]


def _surest(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> list[dict[str, float]]:
    """The error of the samples with the least standard deviations, a growing share of them."""
    order = np.argsort(deviation, kind="stable")
    rmse = np.sqrt(np.cumsum((y - mean)[order] ** 2) / np.arange(1, len(y) + 1))
    at = np.unique(np.linspace(0, len(y) - 1, STEPS).round().astype(int))
    return [
        {
            "accepted": int(i + 1),
            "share": float((i + 1) / len(y)),
            "rmse": float(rmse[i]),
            "deviation": float(deviation[order[i]]),
        }
        for i in at
    ]


def _noise(inner, deviation: np.ndarray) -> dict[str, Any]:
    variance = float(inner.noise_)
    total = float((deviation**2).mean())
    return {"deviation": variance**0.5, "share": variance / total if total > 0 else None}


def _samples(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> dict[str, Any]:
    """Samples for the charts; of many, a random part (``whole`` is then False)."""
    n = len(y)
    rows = np.arange(n) if n <= POINTS else np.sort(np.random.default_rng(0).choice(n, POINTS, replace=False))
    columns = {"observed": y, "predicted": mean, "deviation": deviation}
    return {**{key: value[rows].tolist() for key, value in columns.items()}, "of": n, "whole": len(rows) == n}
