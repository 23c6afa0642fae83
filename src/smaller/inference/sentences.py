"""Words that the sentences of all selectors share."""

from __future__ import annotations

import numpy as np

NOTHING = "An empty list is not evidence that no feature matters."
NAMED = 8  # features of a credible set that are named


def list_of(selected: np.ndarray, p: int, noun: str = "feature") -> str:
    """How a sentence about a list of features begins."""
    return f"Of these {len(selected)} {noun}s (of {p})" if len(selected) != 1 else f"Of this 1 {noun} (of {p})"


def chance_in_words(share: float) -> str:
    """A probability below 1, which no rounding makes certain."""
    return f"{share:.0%}" if share < 0.995 else "over 99%"


def set_in_words(features: np.ndarray, share: float, purity: float, names=None) -> str:
    """One credible set: its features, the probability that one of them matters, and their least correlation."""
    told = [str(j) if names is None else str(names[j]) for j in features[:NAMED]]
    if len(features) == 1:
        return f"{'Feature ' if names is None else ''}{told[0]} matters ({chance_in_words(share)})."
    more = f", and {len(features) - NAMED} more" if len(features) > NAMED else ""
    sure = f"({chance_in_words(share)}; correlated by {purity:.2f} or more)"
    return f"One of these {len(features)} features matters: {', '.join(told)}{more} {sure}."
