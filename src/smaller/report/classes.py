"""The facts about a classifier: errors, calibration, what rejection gains, and the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from .. import bounds, decision
from ..likelihoods import Probit, one_hot
from ..models.adaptive import JeffreysClassifier
from ..models.base import raw_scores
from ..models.multinomial import MultinomialModel
from ..tuning.ranking import calibration, calibration_error
from .intervals import exact_interval

POINTS = 200  # of the risk-coverage curve
NUMBERS = 60_000  # probabilities that travel with the page


def facts(model, inner, X, y: np.ndarray, priors) -> dict[str, Any]:
    """What a report says of predicted classes."""
    P = np.asarray(model.predict_proba(X))
    codes = bounds.admission.label_positions(inner, y)
    seen, test = _test_set(inner, X, y)
    seen = seen or was_fitted_on(inner, X, codes)
    counts = np.bincount(codes, minlength=len(inner.classes_))
    return {
        "data": {
            "classes": [str(label) for label in inner.classes_],
            "counts": counts.tolist(),
            "priors": np.asarray(counts / counts.sum() if priors is None else priors, dtype=float).tolist(),
            "training_sample": seen,
        },
        "quality": _quality(P, codes),
        "calibration": calibration(P, codes),
        "risk_coverage": _risk_coverage(P, codes),
        "samples": _samples(P, codes),
        "bound": test if not seen else _training_bound(inner, X, y),
    }


def _quality(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    n, m = P.shape
    decided = P.argmax(axis=1)
    wrong = int((decided != codes).sum())
    table = np.zeros((m, m), dtype=int)
    np.add.at(table, (codes, decided), 1)
    chance = P[np.arange(n), codes]
    return {
        "wrong": wrong,
        "tested": n,
        "error": wrong / n,
        "interval": list(exact_interval(wrong, n)),
        "baseline": float(1.0 - np.bincount(codes).max() / n),
        "log_loss": float(-np.log(np.maximum(chance, np.finfo(float).tiny)).mean()),
        "calibration_error": calibration_error(P, codes),
        "confusion": table.tolist(),
    }


def _risk_coverage(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    curve = decision.risk_coverage(P, codes)
    at = np.unique(np.linspace(0, len(curve.coverage) - 1, POINTS).astype(int))
    parts = {name: getattr(curve, name)[at].tolist() for name in ("threshold", "coverage", "risk")}
    return {**parts, "area": curve.area}


def _samples(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Probabilities for the controls of the page; of many samples, a random part that says so."""
    n, m = P.shape
    limit = max(NUMBERS // m, 100)
    rows = np.arange(n) if n <= limit else np.sort(np.random.default_rng(0).choice(n, limit, replace=False))
    return {
        "P": np.round(P[rows], 5).tolist(),
        "decided": P[rows].argmax(axis=1).tolist(),  # rounded probabilities may be equal where the exact ones differ
        "codes": codes[rows].tolist(),
        "of": n,
        "whole": len(rows) == n,
    }


def _test_set(inner, X, y) -> tuple[bool, dict[str, Any]]:
    """Whether the model was fitted on these samples, and the bound if not."""
    try:
        return False, _said(bounds.test_set(inner, X, y))
    except ValueError as error:
        return "fitted on this very sample" in str(error), {"reason": str(error)}


def was_fitted_on(inner, X, codes: np.ndarray) -> bool:
    """Whether these are the training samples of a model that the bound cannot tell it of.

    A free intercept leaves residuals that sum to 0. Models without one, or with weights, are not recognised.
    """
    if isinstance(inner, MultinomialModel) or not inner.fit_intercept or not len(inner.support_):
        return False
    F, m = raw_scores(inner, X), len(inner.classes_)
    Y = one_hot(codes, m, F.shape[1])
    if isinstance(inner, JeffreysClassifier):
        _, residual, _ = Probit().fit(F, Y, np.ones(len(F)))
    else:
        apart = m == 2 or getattr(inner, "multiclass", "") == "ovr"
        residual = (expit(F) if apart else softmax(F, axis=1)) - Y
    return bool((np.abs(residual.sum(axis=0)) <= 1e-5 * np.abs(residual).sum(axis=0)).all())


def _training_bound(inner, X, y) -> dict[str, Any]:
    try:
        return _said(bounds.pac_bayes(inner, X, y))
    except ValueError as error:
        return {"reason": str(error)}


def _said(bound: bounds.Bound) -> dict[str, Any]:
    return {
        "bound": bound.bound,
        "sentence": bound.sentence,
        "assumptions": list(bound.assumptions),
        "trivial": bound.trivial,
    }
