"""Folds of cross-validation for classes of few samples."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from sklearn.model_selection import check_cv

from ..errors import SmallClassWarning, warn


def class_folds(cv, X, y: np.ndarray, weight: np.ndarray | None, groups=None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of each fold; a number of folds is stratified, and is lowered to the smallest class.

    Rows of weight 0 are left out of folds that are given by their number. A class of one sample cannot be stratified:
    the fold that holds its sample out has no such class to train on.
    """
    if not isinstance(cv, Integral | None):
        return list(check_cv(cv, y, classifier=True).split(X, y, groups))
    rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    folds = _number(5 if cv is None else int(cv), y[rows])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # said already
        splits = check_cv(folds, y[rows], classifier=True).split(np.zeros((len(rows), 1)), y[rows])
        return [(rows[train], rows[test]) for train, test in splits]


def _number(wanted: int, y: np.ndarray) -> int:
    """As many folds as the smallest class of at least two samples has; two such classes are needed."""
    classes, counts = np.unique(y, return_counts=True)
    several, single = counts[counts > 1], classes[counts == 1].tolist()
    if len(several) < 2:
        raise ValueError(
            f"Cross-validation needs two samples of each of at least two classes; y has {len(y)} samples of "
            f"{len(classes)} classes, and {len(several)} of these with two samples or more. Give more samples, or "
            "choose without cross-validation (SBMLR, or a number for the strength or the threshold)."
        )
    fewest = int(several.min())
    if single:
        warn(
            f"Class {single[0]!r}{' and others have' if len(single) > 1 else ' has'} one sample only: the fold of "
            "cross-validation that holds it out has no such class to train on. Merge or drop such classes if they do "
            "not matter.",
            SmallClassWarning,
        )
    if fewest < wanted:
        warn(
            f"The smallest class of several samples has {fewest}, so that cross-validation has {fewest} folds instead "
            f"of {wanted}; cv=StratifiedKFold({wanted}) keeps {wanted}, some of which hold out none of that class.",
            SmallClassWarning,
        )
    return min(wanted, fewest)
