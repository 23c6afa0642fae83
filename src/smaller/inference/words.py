"""Words that the sentences of all selectors share."""

from __future__ import annotations

import numpy as np

NOTHING = "An empty list is not evidence that no feature matters."


def list_of(selected: np.ndarray, p: int, noun: str = "feature") -> str:
    """How a sentence about a list of features begins."""
    return f"Of these {len(selected)} {noun}s (of {p})" if len(selected) != 1 else f"Of this 1 {noun} (of {p})"
