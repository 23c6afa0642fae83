"""The facts about a classifier: errors, calibration, rejection, and the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from .. import bounds, decision
from ..likelihoods import Probit, one_hot
from ..models.base import raw_scores
from ..models.jeffreys import JeffreysClassifier
from ..models.multinomial import MultinomialModel
from ..tuning.ranking import (
    balanced_error,
    calibration,
    calibration_error,
    class_measures,
    decision_measures,
    exact_interval,
    threshold_curve,
)

POINTS = 200  # of the risk-coverage curve
CURVE_POINTS = 600  # of the curves over thresholds of all classes, at most 100 of each
NUMBERS = 20_000  # probabilities that the page contains at most
CURVES = 12  # classes up to which there are curves over thresholds


def class_facts(
    model, inner, X, y: np.ndarray, priors, brief: bool = False, *, known: bool = False,
    threshold: tuple[Any, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The facts about predicted classes.

    `known` says that these are the training samples; `threshold` is a class and its least probability, for the measures
    at it.
    """
    P = np.asarray(model.predict_proba(X))
    codes = bounds.admission.label_positions(inner, y)
    seen, test = (True, {}) if known else _test_set(inner, X, y)
    seen = seen or classifier_was_fitted_on(inner, X, codes)
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
        "threshold": _threshold(P, codes, inner.classes_, threshold),
        "curves": _curves(P, codes) if P.shape[1] <= CURVES and not brief else [],
        "samples": _samples(P, codes),
        "bound": test if not seen else _training_bound(inner, X, y),
        "told": {
            "truth": lambda i: str(y[i]),
            "predicted": lambda i: str(inner.classes_[P[i].argmax()]),
            "confidence": lambda i: round(float(P[i].max()), 4),
        },
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
        **_by_class(P, codes, decided),
    }


def _by_class(P: np.ndarray, codes: np.ndarray, decided: np.ndarray) -> dict[str, Any]:
    """Measures that do not depend on how frequent the classes are, and those of every class."""
    balanced, interval = balanced_error(codes, decided, P.shape[1])
    return {
        "balanced_error": balanced,
        "balanced_interval": interval,
        "classes": [class_measures(P, codes, decided, k) for k in range(P.shape[1])],
    }


def _threshold(P: np.ndarray, codes: np.ndarray, classes: np.ndarray, asked: tuple[Any, float] | None) -> dict:
    """Counts and measures where a class is decided if its probability is at least a threshold.

    By default that is the rarer of two classes, or the rarest of several, and a probability of one half.
    """
    if asked is None:
        k, at = int(np.argmin(np.bincount(codes, minlength=len(classes)))), 0.5
    else:
        k, at = classes.tolist().index(asked[0]), float(asked[1])
    found = _rounded(P)[:, k] >= at
    truth = codes == k
    counts = {
        "hits": int((found & truth).sum()),
        "false_alarms": int((found & ~truth).sum()),
        "misses": int((~found & truth).sum()),
        "passed": int((~found & ~truth).sum()),
    }
    return {"class": k, "at": at, **counts, **decision_measures(truth, found)}


def _curves(P: np.ndarray, codes: np.ndarray) -> list[list[dict[str, float]]]:
    """For each class: recall, precision and false alarms over the thresholds of its probability, some of them."""
    found = []
    for k in range(P.shape[1]):
        curve = threshold_curve(P[:, k], codes == k)
        at = np.unique(
            np.linspace(0, len(curve["recall"]) - 1, min(POINTS // 2, CURVE_POINTS // P.shape[1])).round().astype(int)
        )
        rows = [{key: round(float(values[i]), 5) for key, values in curve.items()} for i in at]
        start = {"threshold": 1.0, "recall": 0.0, "precision": rows[0]["precision"], "false_alarms": 0.0}
        found.append([start, *rows])
    return found


def _rounded(P: np.ndarray) -> np.ndarray:
    """Probabilities with five digits; none crosses one half, where decisions between two classes change."""
    rounded = np.round(P, 5)
    return np.where((P < 0.5) & (rounded >= 0.5), 0.49999, rounded)


def _risk_coverage(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    curve = decision.risk_coverage(P, codes)
    at = np.unique(np.linspace(0, len(curve.coverage) - 1, POINTS).astype(int))
    parts = {name: getattr(curve, name)[at].tolist() for name in ("threshold", "coverage", "risk")}
    return {**parts, "area": curve.area}


def _samples(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Probabilities for the controls of the page; of many samples, a random part (``whole`` is then False)."""
    n, m = P.shape
    limit = max(NUMBERS // m, 100)
    rows = np.arange(n) if n <= limit else np.sort(np.random.default_rng(0).choice(n, limit, replace=False))
    return {
        "P": _rounded(P[rows]).tolist(),
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


def classifier_was_fitted_on(inner, X, codes: np.ndarray) -> bool:
    """Whether these are the training samples, for models that :func:`bounds.test_set` cannot check.

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
