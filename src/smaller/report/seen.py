"""Whether the samples of a report are those that the model was fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inference.reused_rows import row_marks, share_seen

MARKS = 5_000  # training rows by which others are recognised
LEAST = 0.1  # a smaller share is not reported: rows of few digits can be equal by chance


def training_marks(X) -> np.ndarray:
    """Marks of the training rows, of many a random part, by which a report recognises them."""
    marks = row_marks(X)
    return marks if len(marks) <= MARKS else np.random.default_rng(0).choice(marks, MARKS, replace=False)


def share_of_training(training: dict[str, Any], X) -> float:
    """The share of the rows of X that the model was fitted on, by the marks among the facts about its training."""
    marks = training.pop("marks", None)
    if marks is None:
        return 0.0
    several = max(1.0, training.get("samples", 0) / max(len(marks), 1))  # only a part of the rows is marked
    share = min(1.0, several * share_seen(np.asarray(marks, dtype=np.float64), row_marks(X)))
    return share if share >= LEAST else 0.0
