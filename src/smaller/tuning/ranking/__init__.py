"""The models on offer for a table, and how they compare on samples that they have not seen."""

from .class_measures import balanced_error, class_measures, decision_measures, exact_interval, threshold_curve
from .class_scores import calibration, calibration_error
from .number_scores import coverage, density_losses, mean_and_deviation
from .offers import (
    CLASSIFICATION,
    MODELS,
    NAMES,
    REGRESSION,
    SCORERS,
    Offer,
    Settings,
    as_classes,
    candidates,
    model_for,
    target_for,
    task_of,
)
from .scores import TARGETS, Score, advice, best_of, cross_validated, what_is_kept

__all__ = [
    "CLASSIFICATION",
    "MODELS",
    "NAMES",
    "REGRESSION",
    "SCORERS",
    "TARGETS",
    "Offer",
    "Score",
    "Settings",
    "advice",
    "as_classes",
    "balanced_error",
    "best_of",
    "calibration",
    "calibration_error",
    "candidates",
    "class_measures",
    "coverage",
    "cross_validated",
    "decision_measures",
    "density_losses",
    "exact_interval",
    "mean_and_deviation",
    "model_for",
    "target_for",
    "task_of",
    "threshold_curve",
    "what_is_kept",
]
