"""From scores of draws to class probabilities: the links of the models that are sampled."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr, softmax


def _both(p: np.ndarray) -> np.ndarray:
    """Probabilities of two classes, from that of the second."""
    return np.concatenate([1 - p, p], axis=-1)


def _softmax(F: np.ndarray) -> np.ndarray:
    return _both(expit(F)) if F.shape[-1] == 1 else softmax(F, axis=-1)


def _probit(F: np.ndarray) -> np.ndarray:
    return _both(ndtr(F)) if F.shape[-1] == 1 else softmax(log_ndtr(F), axis=-1)


def _one_versus_rest(F: np.ndarray) -> np.ndarray:
    """Probabilities of each class against the rest, divided by their sum."""
    return softmax(log_expit(F), axis=-1)


# Functions of scores (..., rows) with one row for two classes; values (..., classes).
LINKS = {"softmax": _softmax, "probit": _probit, "one-versus-rest": _one_versus_rest}
