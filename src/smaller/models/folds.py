"""Folds of cross-validation: the rows of each, also of classes with few samples, and the data cut into them."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, column_or_1d, get_tags

from .._sklearn import check_sample_weight, safe_split
from ..design import host, is_operator, on_device
from ..design.operator import checked_operator
from ..design.tensors import checked_tensor, columns_of, rows_of
from ..errors import SmallClassWarning, warn
from ..objective.sample import Sample
from ..rows.dask.collections import is_lazy
from .base import Given


class GivenRows:
    """The rows that a model was given, checked, to be cut into the parts of folds."""

    def __init__(self, model: Any, sample: Sample):
        given, self.model, self.classes = sample.given, model, sample.classes
        if is_operator(given.X):
            self.X = checked_operator(given.X)
        elif on_device(given.X):
            self.X = checked_tensor(model, given.X, reset=False)
        else:
            formats = ["csr", "csc"] if model._sparse_formats else False
            self.X = check_array(given.X, accept_sparse=formats, dtype=[np.float64, np.float32])
        weight, offset, y = host(given.sample_weight), host(given.offset), host(given.y)
        several = sample.classes is None and not sample.vector  # real targets, a column each
        self.y = np.asarray(y, dtype=np.float64) if several else column_or_1d(y)
        self.weight = None if weight is None else check_sample_weight(weight, self.y, dtype=np.float64)
        self.offset = None if offset is None else np.asarray(offset, dtype=np.float64)

    def weighted(self, rows: np.ndarray) -> np.ndarray:
        """The rows among these that have a positive weight."""
        return rows if self.weight is None else rows[self.weight[rows] > 0]

    def part(self, rows: np.ndarray, train: np.ndarray | None = None) -> Given:
        """Some rows, for a model that is, or was, trained on the rows `train` (on these, if None).

        Of a matrix of kernel values these are the columns of the training rows; of an offset, those of the classes that
        the training rows have.
        """
        if on_device(self.X) or is_operator(self.X):
            X, y = rows_of(self.X, rows), self.y[rows]
            if get_tags(self.model).input_tags.pairwise:
                X = columns_of(X, rows if train is None else train)
        else:
            X, y = safe_split(self.model, self.X, self.y, rows, train)
        weight, offset = (None if values is None else values[rows] for values in (self.weight, self.offset))
        if offset is not None and offset.ndim == 2 and self.classes is not None:
            offset = offset[:, np.isin(self.classes, self.y[rows if train is None else train])]
        return Given(X, y, weight, offset)


class CrossValidated:
    """Models that choose the strength of their prior by cross-validation."""

    groups: Any
    penalty_factor: Any
    _at_one_strength: ClassVar[str]  # the name of the model without the choice

    def fit(self, X, y, sample_weight=None, offset=None, groups=None):
        """Fit the model at the strength that cross-validation chooses.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in :meth:`SMLR.fit`.
        groups : array-like of shape (n_samples,), optional
            Given to the splitter, such as ``cv=GroupKFold()``, which keeps the samples of a group together. (Groups of
            columns are a parameter of the model.)

        Returns
        -------
        self
        """
        known = groups is not None and not is_lazy(groups) and not is_lazy(y)
        if known and np.shape(groups) != np.shape(y)[:1]:
            raise ValueError(
                f"fit(..., groups=) labels the samples, for the splitter, and must have shape {np.shape(y)[:1]}; got "
                f"{np.shape(groups)}. Labels of columns go to the constructor: {type(self).__name__}(groups=...)."
            )
        return self._fit(Given(X, y, sample_weight, offset, groups))  # type: ignore[attr-defined]

    def _check(self, given: Given) -> Sample:
        """The sample; settings of single columns are refused where each fold has other columns."""
        sample = super()._check(given)  # type: ignore[misc]
        labelled = self.groups is not None and not isinstance(self.groups, str)
        name = "penalty_factor" if self.penalty_factor is not None else "labels of groups" if labelled else None
        if name is not None and hasattr(sample.basis, "center_index_"):
            raise ValueError(
                f"{type(self).__name__} takes no {name} with a kernel basis: its columns are training samples, and "
                f"each fold has other ones. Leave {name} out, or use {self._at_one_strength} at a strength of your "
                "choice."
            )
        return sample


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
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # the warning of _number is clearer
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
