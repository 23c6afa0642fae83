"""Features chosen before the classifier is trained: forward, backward, floating and ranking, by other people's code.

The paper names what is good for the ranking only: the nearest neighbour, leaving one out. Its forward search must have
used the same, for it has the same figures with one feature on all three data sets. Most features of these have few
values, so that very many neighbours are equally near; the paper's figures come out if all such ties go to the second
class, as they do where samples are grouped by class and the last of the nearest is taken. Its floating search cannot
have used it: that begins with the same feature as the forward search, unless its criterion is another. The distance
between the classes (Mahalanobis) stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector

Chosen = dict[int, np.ndarray]  # from their number to their positions
Criterion = Callable[[np.ndarray, np.ndarray], float]


def nearest(X, y) -> float:
    """The part of the samples whose nearest neighbour has their class; of several as near, one of the second class."""
    order = np.argsort(-y, kind="stable")
    D = cdist(X[order], X[order], "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    return float(np.mean(y[order][D.argmin(axis=1)] == y[order]))


def separation(X, y) -> float:
    """The squared distance of the class means, in units of the common covariance."""
    first, second = (X[y == label] for label in np.unique(y))
    within = sum(np.atleast_2d(np.cov(part.T)) * (len(part) - 1) for part in (first, second)) / (len(y) - 2)
    apart = first.mean(axis=0) - second.mean(axis=0)
    return float(apart @ np.linalg.pinv(within) @ apart)


class Nothing(ClassifierMixin, BaseEstimator):
    """What the searches fit: their criteria need no model."""

    def fit(self, X, y):
        """Know the classes."""
        self.classes_ = np.unique(y)
        return self


def _scorer(criterion: Criterion) -> Callable[[Nothing, np.ndarray, np.ndarray], float]:
    return lambda _, X, y: criterion(X, y)


def sequential(direction: str, criterion: Criterion) -> Callable[[np.ndarray, np.ndarray, Iterable[int]], Chosen]:
    """scikit-learn's, one run for each number of features; the criterion sees all samples."""

    def select(X, y, sizes) -> Chosen:
        everything = [(np.arange(len(y)), np.arange(len(y)))]
        options = {"direction": direction, "scoring": _scorer(criterion), "cv": everything}
        searches = {k: SequentialFeatureSelector(Nothing(), n_features_to_select=k, **options) for k in sizes}
        return {k: search.fit(X, y).get_support(indices=True) for k, search in searches.items()}

    return select


def ranking(criterion: Criterion) -> Callable[[np.ndarray, np.ndarray, Iterable[int]], Chosen]:
    """scikit-learn's k best by a criterion of one feature; of equal features, of which there are many, the first."""

    def select(X, y, sizes) -> Chosen:
        once = np.array([criterion(X[:, [j]], y) for j in range(X.shape[1])]) - 1e-9 * np.arange(X.shape[1])
        return {k: SelectKBest(lambda X, y: once, k=k).fit(X, y).get_support(indices=True) for k in sizes}

    return select


def floating(criterion: Criterion) -> Callable[[np.ndarray, np.ndarray, Iterable[int]], Chosen]:
    """mlxtend's forward search that may take features back."""

    def select(X, y, sizes) -> Chosen:
        try:
            from mlxtend.feature_selection import SequentialFeatureSelector as Floating
        except ImportError as error:
            raise ImportError('floating selection needs mlxtend; pip install "smaller[experiments]"') from error
        options = {"forward": True, "floating": True, "scoring": _scorer(criterion), "cv": 0}
        search = Floating(Nothing(), k_features=max(sizes), **options).fit(X, y)
        return {k: np.array(search.subsets_[k]["feature_idx"]) for k in sizes}

    return select


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, Iterable[int]], Chosen]] = {
    "forward": sequential("forward", nearest),
    "backward": sequential("backward", nearest),
    "ranking": ranking(nearest),
    "floating": floating(separation),
}
