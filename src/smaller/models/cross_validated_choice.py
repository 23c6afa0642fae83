"""Choosing the strength of a prior by cross-validation; models bring the functions that fit and score a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from .._sklearn import Interval, StrOptions
from .base import COUNT, Given

# Constraints of the parameters of models that choose their strength.
CHOICE: dict[str, list] = {
    "lams": [COUNT, "array-like"],
    "eps": [Interval(Real, 0, 1, closed="neither"), None],
    "cv": ["cv_object"],
    "rule": [StrOptions({"min", "1se"})],
    "n_jobs": [Integral, None],
}


def in_folds(
    work: Callable[[np.ndarray, np.ndarray], Any], splits: Iterable[tuple[np.ndarray, np.ndarray]], n_jobs: int | None
) -> list[Any]:
    """The results of a function of training and test rows on every fold, computed in parallel."""
    splits = list(splits)
    if not splits:
        raise ValueError("cv must give at least one fold; got none.")
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(*split) for split in splits))


def refuse_unweighted(rows: Given) -> None:
    """Refuse rows to be scored on that all have weight 0."""
    if rows.sample_weight is not None and not np.any(rows.sample_weight):
        raise ValueError("A fold of cv has only rows of weight 0 to be scored on; give it rows of positive weight.")


def cross_validated_scores(folds: list[np.ndarray]) -> np.ndarray:
    """Scores of every strength (columns) in every fold (rows)."""
    scores = np.array(folds)
    if not np.isfinite(scores).all():
        fold = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise ValueError(
            f"scoring gave a score that is not finite in fold {fold} of cv; use larger folds, or another scorer."
        )
    return scores


def choose_strength(scores: np.ndarray, rule: str) -> int:
    """Position of the best mean score ("min"), or of the strongest prior within one standard error of it ("1se").

    Strengths decrease along the columns and greater scores are better.
    """
    return choose_candidate(scores[:, None], rule)[1]


def choose_candidate(scores: np.ndarray, rule: str) -> tuple[int, int]:
    """The candidate and the position of its strength; scores are (n_folds, n_candidates, n_strengths).

    "1se" takes the strongest prior at which some candidate is within one standard error of the best, and there the best
    candidate. Of equal scores the stronger prior is taken, then the first candidate.
    """
    mean = scores.mean(axis=0)
    best = int(np.argmax(mean.max(axis=0)))
    candidate = _first_best(mean[:, best])
    if rule == "min" or len(scores) < 2:
        return candidate, best
    error = _standard_error(scores[:, candidate, best])
    strongest = int(np.flatnonzero(mean.max(axis=0) >= mean[candidate, best] - error)[0])
    return _first_best(mean[:, strongest]), strongest


def _standard_error(scores: np.ndarray) -> float:
    """Of a mean; in units of the largest, for the squares of mean squared errors may overflow or vanish."""
    unit = float(np.abs(scores).max()) or 1.0
    return float(unit * (scores / unit).std(ddof=1) / np.sqrt(len(scores)))


def _first_best(scores: np.ndarray) -> int:
    """The first of the candidates whose scores are equal to the best, up to the tolerance of their fits."""
    best = scores.max()
    return int(np.flatnonzero(scores >= best - 1e-8 * (1.0 + abs(best)))[0])
