"""How well classes are predicted: error, log-loss, calibration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .class_measures import average_precision, balanced_error, roc_area

BINS = 10  # of the calibration error
LEAST = np.finfo(float).tiny


def log_losses(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """-log of the probability of the truth, (n,)."""
    return -np.log(np.maximum(P[np.arange(len(P)), codes], LEAST))


def mean_over_classes(measure: Callable[[np.ndarray, np.ndarray], float | None], P: np.ndarray, codes) -> float:
    """A measure of one class against the others, averaged; of two classes, that of the rarer one."""
    counts = np.bincount(codes, minlength=P.shape[1])
    classes = [int(np.argmin(counts))] if len(counts) == 2 else range(len(counts))
    found = [measure(P[:, k], codes == k) for k in classes]
    return float(np.mean([value for value in found if value is not None] or [np.nan]))


def calibration_error(P: np.ndarray, codes: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: |mean confidence - fraction right| in bins of equal width, averaged by their size."""
    return float(sum(row["share"] * abs(row["confidence"] - row["right"]) for row in calibration(P, codes, bins)))


def calibration(P: np.ndarray, codes: np.ndarray, bins: int = BINS) -> list[dict[str, float]]:
    """The confidence and the fraction right of the samples in each bin that has any."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == codes
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    rows = [place == b for b in range(bins)]
    return [
        {
            "confidence": float(confidence[row].mean()),
            "right": float(right[row].mean()),
            "count": int(row.sum()),
            "share": float(row.mean()),
        }
        for row in rows
        if row.any()
    ]


# The columns of the printed table: functions of probabilities and codes, and their formats.
MEASURES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], float], str]] = {
    "error": (lambda P, codes: float((P.argmax(axis=1) != codes).mean()), "{:.1%}"),
    "balanced error": (lambda P, codes: balanced_error(codes, P.argmax(axis=1), P.shape[1])[0], "{:.1%}"),
    "AUC": (partial(mean_over_classes, roc_area), "{:.3f}"),
    "average precision": (partial(mean_over_classes, average_precision), "{:.3f}"),
    "log-loss": (lambda P, codes: float(log_losses(P, codes).mean()), "{:.3f}"),
    "calibration error": (calibration_error, "{:.3f}"),
}


class Classes:
    """A target of classes: folds with all of them, predictions that are probabilities (n, m)."""

    loss = "log-loss"
    nothing = "class frequencies"
    formats = {name: form for name, (_, form) in MEASURES.items()}
    # What models may be compared by, of which less is better.
    losses_by_name = {
        "log-loss": MEASURES["log-loss"][0],
        "error": MEASURES["error"][0],
        "balanced-error": MEASURES["balanced error"][0],
        "auc": lambda P, codes: 1.0 - mean_over_classes(roc_area, P, codes),
        "average-precision": lambda P, codes: 1.0 - mean_over_classes(average_precision, P, codes),
    }

    def __init__(self, y: np.ndarray):
        self.classes, self.target, self.counts = np.unique(y, return_inverse=True, return_counts=True)

    def splits(self, folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Stratified folds, no more than the rarest class has samples."""
        fewest = int(self.counts.min())
        if min(folds, fewest) < 2:
            rare = self.classes[self.counts.argmin()]
            raise ValueError(f"Class {rare} has only {fewest} sample, and cross-validation needs two of each class.")
        plan = StratifiedKFold(min(folds, fewest), shuffle=True, random_state=0)
        return list(plan.split(np.zeros(len(self.target)), self.target))

    def predict(self, model, X) -> np.ndarray:
        """Probabilities of all classes."""
        P = np.zeros((X.shape[0], len(self.classes)))
        P[:, model.classes_] = model.predict_proba(X)
        return P

    def figures(self, P: np.ndarray, codes: np.ndarray) -> dict[str, float]:
        """The columns of the printed table."""
        return {name: measure(P, codes) for name, (measure, _) in MEASURES.items()}
