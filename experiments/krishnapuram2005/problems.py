"""The data sets of Table 1: how each was prepared and split, and which kernel it has in Table 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from experiments.harness import Report
from smaller import datasets


class Problem(NamedTuple):
    """A column of Table 2."""

    label: str
    load: Callable[[], Any]
    kernel: str
    splits: Callable[[Any, int], Iterable[tuple[np.ndarray, np.ndarray]]]  # (bunch, seed) -> pairs (train, test)
    prepare: Callable[[np.ndarray, np.ndarray], np.ndarray]  # (X, train) -> inputs of the kernel
    repeats: int  # with other random splits, since the paper's are not listed


def given(bunch, seed):
    """The split, or the folds, of the data file."""
    return bunch.splits


def _folds(k: int):
    def splits(bunch, seed):
        return StratifiedKFold(k, shuffle=True, random_state=seed).split(bunch.data, bunch.target)

    return splits


def random_folds(bunch, seed):
    """Ten folds that do not look at the classes."""
    return KFold(10, shuffle=True, random_state=seed).split(bunch.data)


def thirty_of_fifty(bunch, seed):
    """Thirty random splits, 50 to train and 12 to test."""
    return ShuffleSplit(30, test_size=12, random_state=seed).split(bunch.data)


def standardised(X, train):
    """Columns of mean 0 and variance 1 among the training samples."""
    return StandardScaler().fit(X[train]).transform(X)


def genes_standardised(X, train):
    """The same, with a common factor that makes the linear kernel of an array with itself about 1."""
    return standardised(X, train) / np.sqrt(X.shape[1])


def as_they_are(X, train):
    """Nothing is changed."""
    return X


def _expression(**clip):
    """Do the usual preprocessing of expression values, with that factor."""

    def prepare(X, train):
        return datasets.golub_preprocess(X, train, **clip) / np.sqrt(X.shape[1])

    return prepare


PROBLEMS = {
    "crabs": Problem("Crabs", datasets.load_crabs, "rbf", given, standardised, 1),
    "iris": Problem("Iris", datasets.load_iris, "rbf", _folds(10), standardised, 3),
    "forensic_glass": Problem("Forensic Glass", datasets.load_forensic_glass, "rbf", given, standardised, 1),
    "golub": Problem("AML/ALL", datasets.load_golub, "linear", given, genes_standardised, 1),
    "colon": Problem("Colon", datasets.load_colon, "linear", thirty_of_fifty, _expression(floor=None, ceiling=None), 2),
    "yeast": Problem("Yeast", datasets.load_yeast, "linear", _folds(8), as_they_are, 3),
}
USUAL = PROBLEMS["golub"]._replace(prepare=_expression())  # logarithms of clipped values, arrays and genes standardised
VARIANTS = {
    "golub/usual": USUAL,
    "forensic_glass/random": PROBLEMS["forensic_glass"]._replace(splits=random_folds, repeats=2),
}


def twenty_of_each_group(bunch, seed: int, count: int):
    """Random splits of Crabs with as many of each colour and sex as the given one: 80 to train, 120 to test."""
    chosen = np.isin(np.arange(len(bunch.data)), bunch.train)
    group = np.cumsum(chosen & ~np.r_[False, chosen[:-1]])  # the given training crabs are the first of each group
    return StratifiedShuffleSplit(count, train_size=80, test_size=120, random_state=seed).split(bunch.data, group)


def load(report: Report, problem: Problem):
    """The data, or None, and what is missing named in the report."""
    bunch = report.load(problem.label, problem.load)
    if bunch is not None and problem.splits is given and not bunch.splits:
        report.skip(problem.label, f"{bunch.source} does not carry the training and test samples of the literature")
        return None
    return bunch
