"""What the selectors check first: samples, weights, the estimator, and columns that are copies of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ..basis import Linear
from ..design.operator import refuse_operator
from ..models.adaptive import LaplaceRegressor
from ..models.base import checked_weights
from ..models.multinomial import SMLR
from ..rows.dask.collections import is_lazy
from .distinct_columns import distinct_columns
from .first_features import INPUT_MODELS
from .reused_rows import row_marks

ROW_DATA = ("sample_weight", "offset")  # what fit takes beside X and y, a row for each sample


class Rows(NamedTuple):
    """Checked samples of positive weight, the columns reduced to those that differ."""

    X: Any
    y: np.ndarray
    extra: dict[str, np.ndarray]
    groups: np.ndarray | None
    estimator: Any
    candidates: np.ndarray  # mask of the columns kept: those that may enter
    chosen: np.ndarray  # the columns kept
    unit: np.ndarray  # of each column given, its position among the columns kept; -1 where constant
    given: Any  # X as it was given, with all rows and columns
    marks: np.ndarray  # of each sample given, a number that other samples do not share
    labels: np.ndarray | None = None  # of the columns' groups, where these are the features; `unit` are their positions

    def copies(self) -> list[np.ndarray]:
        """Sets of columns that are copies of each other; none where the features are groups."""
        if self.labels is not None:
            return []
        order = np.argsort(self.unit, kind="stable")
        sets = np.split(order, np.flatnonzero(np.diff(self.unit[order])) + 1)
        return [members for members in sets if len(members) > 1 and self.unit[members[0]] >= 0]


class Features(NamedTuple):
    """The columns kept, and the features that they are: fields of `Rows`."""

    candidates: np.ndarray
    chosen: np.ndarray
    unit: np.ndarray
    labels: np.ndarray | None = None


def checked_rows(selector, X, y, groups, fit_params: dict, **checks) -> Rows:
    """Check everything, leave out rows of weight 0, and bring the columns down to those that differ."""
    usual = {
        "accept_sparse": "csr",
        "dtype": [np.float64, np.float32],
        "ensure_min_features": 2,
        "ensure_min_samples": 4,
    }
    refuse_operator(X, type(selector).__name__)
    if is_lazy(X):
        raise ValueError(
            f"{type(selector).__name__} takes rows in memory, and X is a Dask collection; give a sample of its rows, "
            "or X.compute() and y.compute() where all of them fit, or take StabilitySelection."
        )
    X, y = validate_data(selector, X, y, **{**usual, **checks})
    estimator = checked_estimator(selector, y)
    y = column_or_1d(y) if is_classifier(estimator) else column_or_1d(y).astype(np.float64)
    extra, given = _row_data(fit_params, X), (X, row_marks(X))
    groups = None if groups is None else checked_groups(groups)
    check_consistent_length(y, groups)
    if "sample_weight" in extra and not extra["sample_weight"].all():
        kept = np.flatnonzero(extra["sample_weight"])
        X, y, groups = X[kept], y[kept], None if groups is None else groups[kept]
        extra = {name: values[kept] for name, values in extra.items()}
    if is_classifier(estimator) and (y == y[0]).all():
        raise ValueError(f"y must have at least two classes; got one class only: {y[0]}.")
    centred = getattr(estimator, "fit_intercept", True)
    columns = checked_columns(estimator, X.shape[1], lambda kinds: distinct_columns(X, centred, kinds))
    X = X if len(columns.chosen) == X.shape[1] else X[:, columns.chosen]
    return Rows(X, y, extra, groups, estimator, *columns[:3], *given, columns.labels)


def refuse_other_columns(model, X) -> None:
    """Refuse inputs of which a fitted model had more, or fewer, columns."""
    known, given = getattr(model, "n_features_in_", None), np.shape(X)
    if known is not None and len(given) == 2 and known != given[1]:
        raise ValueError(
            f"The model was fitted on {known} columns, but X has {given[1]}; give the columns that it was fitted on."
        )


def checked_groups(groups) -> np.ndarray:
    """The labels of the samples' groups, none of them missing."""
    groups = column_or_1d(groups)
    missing = np.array([label is None or label != label for label in groups.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"groups has no label (None or NaN) for {missing.sum()} sample(s); give each of them a label, one of its "
            "own where it belongs to no group."
        )
    return groups


def checked_estimator(selector, y: np.ndarray):
    """The estimator, or the usual one for such targets."""
    if selector.estimator is None:
        return LaplaceRegressor() if type_of_target(y) == "continuous" else SMLR(standardize=True)
    estimator = clone(selector.estimator)
    if is_classifier(estimator):
        check_classification_targets(y)
    if getattr(estimator, "parametrization", "symmetric") == "reference" and len(np.unique(y)) > 2:
        raise ValueError(
            "With parametrization='reference' the order in which features enter depends on which class is the "
            "last; give the estimator parametrization='symmetric'."
        )
    basis = getattr(estimator, "basis", "linear")
    if basis != "linear" and not isinstance(basis, Linear) and not isinstance(estimator, INPUT_MODELS):
        raise ValueError(
            f"{type(selector).__name__} selects columns of X, but the estimator has basis={basis!r}, whose columns are "
            "others; use basis='linear', on columns made before by a transformer if need be."
        )
    return estimator


def _row_data(fit_params: dict, X) -> dict[str, np.ndarray]:
    """Sample weights and offsets, checked."""
    unknown = [name for name in fit_params if name not in ROW_DATA]
    if unknown:
        raise TypeError(f"fit takes {' and '.join(ROW_DATA)} beside X, y and groups; got {', '.join(unknown)}.")
    given = {name: value for name, value in fit_params.items() if value is not None}
    if "sample_weight" in given:
        given["sample_weight"] = checked_weights(given["sample_weight"], X)
    if "offset" in given:
        given["offset"] = np.asarray(given["offset"], dtype=np.float64)
        check_consistent_length(X, given["offset"])
    return given


def checked_columns(estimator, d: int, distinct: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Features:
    """The features among d columns; `distinct` is :func:`distinct_columns` as a function of the kinds of columns."""
    labels = getattr(estimator, "groups", None)
    if labels is not None and not isinstance(labels, str):
        return _grouped(estimator, d, np.asarray(labels))
    return _reduced(estimator, d, distinct)


def _grouped(estimator, d: int, labels: np.ndarray) -> Features:
    """Groups of columns as features: all columns stay, and those of a group enter together."""
    if labels.shape != (d,):
        raise ValueError(f"groups of the estimator has shape {labels.shape}, but X has {d} columns.")
    if getattr(estimator, "penalty_factor", None) is not None:
        raise ValueError("Groups as features take no penalty_factor; give the estimator group_factor instead.")
    known, unit = np.unique(labels, return_inverse=True)
    return Features(np.ones(len(known), dtype=bool), np.arange(d), unit.ravel(), known)


def _reduced(estimator, d: int, distinct: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Features:
    """One column for each set of copies; penalty factors go with their columns."""
    if not isinstance(getattr(estimator, "groups", None), str | None):
        raise ValueError(
            "Single features are selected and tested here, and labelled groups enter whole; give an estimator with "
            "groups='features', or without groups."
        )
    factor = getattr(estimator, "penalty_factor", None)
    factor = None if factor is None else np.atleast_2d(np.asarray(factor, dtype=np.float64))
    if factor is not None and factor.shape[1] != d:
        raise ValueError(f"penalty_factor has {factor.shape[1]} column(s), but X has {d}; give one for each.")
    kinds = np.zeros(d, int) if factor is None else np.unique(factor, axis=1, return_inverse=True)[1].ravel()
    chosen, unit = distinct(kinds)
    candidates = np.ones(len(chosen), dtype=bool)
    if factor is not None:
        factor = factor[:, chosen]
        candidates = (np.isfinite(factor) & (factor > 0)).any(axis=0)
        estimator.set_params(penalty_factor=factor[0] if len(factor) == 1 else factor)
    return Features(candidates, chosen, unit)
