"""The models on offer for a table, and how they compare on samples that they have not seen."""

from .class_scores import calibration, calibration_error
from .number_scores import coverage, density_losses, mean_and_deviation
from .offers import (
    CLASSIFICATION,
    MODELS,
    NAMES,
    REGRESSION,
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
    "TARGETS",
    "Offer",
    "Score",
    "Settings",
    "advice",
    "as_classes",
    "best_of",
    "calibration",
    "calibration_error",
    "candidates",
    "coverage",
    "cross_validated",
    "density_losses",
    "mean_and_deviation",
    "model_for",
    "target_for",
    "task_of",
    "what_is_kept",
]
