"""Intervals of weights from their posterior, and credible sets of features."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference.sentences import chance_in_words
from ..models.selector import input_names
from .display import COLOURS, GREY, Display

SHOWN = 30  # features of a forest plot by default


class ForestDisplay(Display):
    """Posterior means and intervals of weights, one row for each feature, the largest first.

    Parameters
    ----------
    mean : ndarray of shape (n_rows, n_features)
        For each class, or one row.
    lower, upper : ndarray of shape (n_rows, n_features)
    names : sequence of str
    labels : sequence
        Of the rows; None for a single one.
    level : float
    unit : str

    Attributes
    ----------
    ax_, figure_
    lines_ : list of ErrorbarContainer
        One for each row of weights.
    """

    def __init__(self, mean, lower, upper, names, labels=None, level=0.95, unit="standard deviation"):
        self.mean = mean
        self.lower = lower
        self.upper = upper
        self.names = names
        self.labels = labels
        self.level = level
        self.unit = unit

    @classmethod
    def from_sample(cls, sample, *, level: float = 0.95, most: int = SHOWN, ax=None) -> ForestDisplay:
        """The features of a :class:`smaller.inference.PosteriorSample` with the largest weights, per deviation."""
        mean, (low, high) = sample.mean() * sample.scale, sample.interval(level) * sample.scale
        order = np.argsort(-np.abs(mean).max(axis=0), kind="stable")[:most]
        names = [sample.names[j] for j in order]
        labels = None if len(mean) == 1 else [str(label) for label in sample.classes]
        return cls(mean[:, order], low[:, order], high[:, order], names, labels, level).plot(ax)

    def plot(self, ax=None) -> ForestDisplay:
        """Draw the means as points on their intervals."""
        ax = self._axes(ax)
        places, rows = np.arange(len(self.names)), len(self.mean)
        ax.axvline(0.0, color=GREY, zorder=0)
        self.lines_ = []
        for row in range(rows):
            ends = np.array([self.mean[row] - self.lower[row], self.upper[row] - self.mean[row]])
            style = {"color": COLOURS[row % len(COLOURS)], "fmt": "o", "markersize": 4, "capsize": 2}
            label = None if self.labels is None else self.labels[row]
            y = places + 0.6 * ((row + 0.5) / rows - 0.5)
            self.lines_.append(ax.errorbar(self.mean[row], y, xerr=np.maximum(ends, 0.0), label=label, **style))
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set_xlabel(f"weight per {self.unit}: posterior mean and {self.level:.0%} interval")
        if self.labels is not None:
            ax.legend(title="class")
        return self


class SetsDisplay(Display):
    """Inclusion probabilities of all features, those of each credible set in a colour of its own.

    Parameters
    ----------
    inclusion : ndarray of shape (n_features,)
    sets : list of ndarray
    purity, probability : ndarray of shape (n_sets,)
    names : sequence of str

    Attributes
    ----------
    ax_, figure_
    points_ : list of PathCollection
        All features, then one for each set.
    """

    def __init__(self, inclusion, sets, purity, probability, names):
        self.inclusion = inclusion
        self.sets = sets
        self.purity = purity
        self.probability = probability
        self.names = names

    @classmethod
    def from_estimator(cls, model, *, names=None, ax=None) -> SetsDisplay:
        """The sets of a fitted :class:`smaller.inference.CredibleSetsRegressor` or classifier."""
        check_is_fitted(model)
        if not hasattr(model, "sets_"):
            raise ValueError(f"{type(model).__name__} has no sets; give a fitted CredibleSetsRegressor or classifier.")
        names = input_names(model, names)
        found = model.inclusion_, model.sets_, model.purity_, model.set_probability_
        return cls(*found, list(names)).plot(ax)

    def plot(self, ax=None) -> SetsDisplay:
        """Draw a point for each feature."""
        ax = self._axes(ax)
        self.points_ = [ax.scatter(np.arange(len(self.inclusion)), self.inclusion, s=12, color="0.6")]
        for place, features in enumerate(self.sets):
            first = self.names[features[0]]
            others = len(features) - 1
            more = f" or {others} other{'s' if others > 1 else ''}" if others else ""
            label = f"{first}{more} ({chance_in_words(self.probability[place])}, purity {self.purity[place]:.2f})"
            colour = COLOURS[place % len(COLOURS)]
            self.points_.append(ax.scatter(features, self.inclusion[features], s=36, color=colour, label=label))
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("feature")
        ax.set_ylabel("inclusion probability")
        if self.sets:
            ax.legend(title="credible sets")
        return self
