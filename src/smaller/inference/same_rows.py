"""Whether the rows that assess features are those that selected them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..errors import SameRowsWarning, warn


def row_marks(X) -> np.ndarray:
    """A number for each row that rows with other values do not share, (n,)."""
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    return np.asarray(X @ direction, dtype=np.float64).ravel()


def share_seen(marks: np.ndarray, X) -> float:
    """The share of the rows of X that are among those with these marks."""
    new = row_marks(X)
    order = np.sort(marks)
    place = np.clip(np.searchsorted(order, new), 1, max(len(order) - 1, 1))
    near = np.minimum(np.abs(new - order[place - 1]), np.abs(new - order[np.minimum(place, len(order) - 1)]))
    return float(np.mean(near <= 1e-9 * (np.abs(new) + 1e-9)))


def warn_of_same_rows(selector, X) -> None:
    """Warn where rows assess what they, or some of them, selected. Selectors of other packages always count so."""
    marks = getattr(selector, "row_marks_", None)
    seen = 1.0 if marks is None else share_seen(marks, X)
    if seen > 0:
        warn(
            f"{seen:.0%} of these samples were used by {type(selector).__name__} to select the features that they now "
            "assess: errors, intervals and p-values look better than they are. Select on some samples and assess on "
            "others.",
            SameRowsWarning,
        )


def through_pipeline(model, X, y) -> tuple[Any, Any, Any]:
    """The last step of a fitted pipeline with the inputs and names that reach it; anything else as it is."""
    names = getattr(X, "columns", None)
    if not isinstance(model, Pipeline):
        return model, X, names
    check_is_fitted(model)
    for _, step in model.steps[:-1]:
        if step in (None, "passthrough"):
            continue
        if hasattr(step, "get_support"):
            warn_of_same_rows(step, X if hasattr(X, "shape") else np.asarray(X))
        names = None if names is None else step.get_feature_names_out(names)
        X = step.transform(X)
    return model.steps[-1][1], X, names
