"""Features chosen before the classifier is trained: forward, backward, floating and ranking, by other people's code.

What is good is the accuracy of the nearest neighbour, in five-fold cross-validation or, for the ranking, leaving one
out; the paper names the latter and is silent on the former.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector

Chosen = dict[int, np.ndarray]  # from their number to their positions
FOLDS = 5


class Nearest(ClassifierMixin, BaseEstimator):
    """The class of the nearest neighbour: asked ten thousands of times, so without checks."""

    def fit(self, X, y):
        """Remember."""
        self.X_, self.y_, self.classes_ = X, y, np.unique(y)
        return self

    def predict(self, X):
        """Of the first, where several are as near."""
        return self.y_[_squares(X, self.X_).argmin(axis=1)]


def _squares(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Squared distances, up to what is the same for all of a row."""
    return (Z * Z).sum(axis=1) - 2 * X @ Z.T


def sequential(direction: str) -> Callable[[np.ndarray, np.ndarray, Iterable[int]], Chosen]:
    """scikit-learn's, one run for each number of features."""

    def select(X, y, sizes) -> Chosen:
        chosen = {}
        for k in sizes:
            search = SequentialFeatureSelector(Nearest(), n_features_to_select=k, direction=direction, cv=FOLDS)
            chosen[k] = search.fit(X, y).get_support(indices=True)
        return chosen

    return select


def ranking(X, y, sizes) -> Chosen:
    """scikit-learn's k best by the accuracy of the nearest neighbour on one feature, leaving one out."""

    def scores(X, y):
        def alone(x):
            D = np.subtract.outer(x, x) ** 2
            np.fill_diagonal(D, np.inf)
            return np.mean(y[D.argmin(axis=1)] == y)

        return np.apply_along_axis(alone, 0, X)

    once = scores(X, y)
    return {k: SelectKBest(lambda X, y: once, k=k).fit(X, y).get_support(indices=True) for k in sizes}


def floating(X, y, sizes) -> Chosen:
    """mlxtend's forward search that may take features back."""
    try:
        from mlxtend.feature_selection import SequentialFeatureSelector as Floating
    except ImportError as error:
        raise ImportError('floating selection needs mlxtend; pip install "smaller[experiments]"') from error
    search = Floating(Nearest(), k_features=max(sizes), forward=True, floating=True, cv=FOLDS).fit(X, y)
    return {k: np.array(search.subsets_[k]["feature_idx"]) for k in sizes}


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, Iterable[int]], Chosen]] = {
    "forward": sequential("forward"),
    "backward": sequential("backward"),
    "ranking": ranking,
    "floating": floating,
}
