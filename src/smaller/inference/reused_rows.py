"""Whether the rows that assess features are those that selected them."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..errors import SameRowsWarning, warn

SAME = 1e-9  # relative: marks that differ by less are those of the same row
CHANCE = 3.0  # standard errors above the share that repeated values explain
_KEPT: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()  # of the selectors fitted in this process


def mark_direction(d: int) -> np.ndarray:
    """What rows of d columns are multiplied with for their marks."""
    return np.random.default_rng(0).standard_normal(d)


def row_marks(X) -> np.ndarray:
    """A number for each row that rows with other values do not share, (n,)."""
    return np.asarray(X @ mark_direction(X.shape[1]), dtype=np.float64).ravel()


def share_seen(marks: np.ndarray, new: np.ndarray) -> float:
    """The share of the rows with the marks `new` that are among those with `marks`; 0 where chance explains it.

    Where values repeat, as categories do, fresh rows are equal to known ones, about as often as these to each other.
    """
    order = np.sort(marks)
    seen, twins = float(_near(order, new).mean()), _twins(order)
    noise = np.sqrt(twins * (1 - twins) * (1 / len(new) + 1 / len(order)))
    return seen if seen > twins + CHANCE * noise else 0.0


def _near(order: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Whether each number is among the sorted ones."""
    place = np.clip(np.searchsorted(order, new), 1, max(len(order) - 1, 1))
    distance = np.minimum(np.abs(new - order[place - 1]), np.abs(new - order[np.minimum(place, len(order) - 1)]))
    return distance <= SAME * (np.abs(new) + SAME)


def _twins(order: np.ndarray) -> float:
    """The share of the sorted numbers that are there twice or more."""
    same = np.diff(order) <= SAME * (np.abs(order[1:]) + SAME)
    return float((np.append(same, False) | np.append(False, same)).mean())


def warn_of_same_rows(selector, X) -> None:
    """Warn where rows assess what they, or some of them, selected. Selectors of other packages always count so."""
    marks = getattr(selector, "row_marks_", None)
    _warn_of(selector, 1.0 if marks is None else share_seen(marks, row_marks(X)))


def remember_kept(selector, X) -> None:
    """Keep marks of the samples reduced to the columns that a selector has just kept, as its ``transform`` gives."""
    _KEPT.pop(selector, None)  # the order is that of the fits
    if 0 < len(selector.support_) < X.shape[1]:
        _KEPT[selector] = row_marks(X[:, selector.support_])


def share_used(selector, X) -> float:
    """The share of the rows of X, with all columns or with those kept, that a fitted selector used."""
    marks = selector.row_marks_ if X.shape[1] == selector.n_features_in_ else _KEPT.get(selector)
    return 0.0 if marks is None else share_seen(marks, row_marks(X))


def warn_of_kept_columns(new: np.ndarray, d: int) -> None:
    """Warn where rows of d columns, known by their marks, are those that a selector of this process reduced to d.

    The last selector that kept d columns counts: after selections on other rows these columns are taken to be its own.
    """
    of_size = [(selector, marks) for selector, marks in _KEPT.items() if len(selector.support_) == d]
    if of_size:
        selector, marks = of_size[-1]
        _warn_of(selector, share_seen(marks, new))


def _warn_of(selector, seen: float) -> None:
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
