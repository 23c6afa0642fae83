"""From scores of draws to class probabilities: the links of the models that are sampled."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr, softmax


def _both(p: np.ndarray) -> np.ndarray:
    """Of two classes, from the probability of the second."""
    return np.concatenate([1 - p, p], axis=-1)


def _shares(p: np.ndarray) -> np.ndarray:
    """Probabilities of each class against the rest, divided by their sum."""
    return p / np.maximum(p.sum(axis=-1, keepdims=True), np.finfo(float).tiny)


def _softmax(F: np.ndarray) -> np.ndarray:
    return _both(expit(F)) if F.shape[-1] == 1 else softmax(F, axis=-1)


def _probit(F: np.ndarray) -> np.ndarray:
    return _both(ndtr(F)) if F.shape[-1] == 1 else _shares(ndtr(F))


# Functions of scores (..., rows) with one row for two classes; values (..., classes).
LINKS = {"softmax": _softmax, "probit": _probit, "one-versus-rest": lambda F: _shares(expit(F))}
