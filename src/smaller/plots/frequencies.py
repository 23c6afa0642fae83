"""How often half-samples select a feature, against its weight in a model."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..models.selector import input_names
from ..models.targets import coef_of
from .display import COLOURS, GREY, Display
from .weight_paths import deviations_of

NAMED = 12  # features with their names
ROW = 0.055  # height of a row of names above the points, in the units of the shares


class FrequencyDisplay(Display):
    """The share of half-samples that select a feature against the size of its weight.

    Features at the upper left are stable although their weight is small; those at the lower right have a large weight
    in one fit that other samples would not repeat.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features,)
    weights : ndarray of shape (n_features,)
        Sizes of the weights, for several classes their norm.
    names : sequence of str
    threshold : float or None
        The share from which on features are selected.
    expected_false : float or None
        The bound on the expected number of false features among these.
    unit : str
        The unit of the columns: weights are per this unit.

    Attributes
    ----------
    ax_, figure_
    points_ : PathCollection
        The features with a weight or a frequency.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from smaller import SMLR
    >>> from smaller.inference import StabilitySelection
    >>> from smaller.plots import FrequencyDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> selector = StabilitySelection(n_selected=3, random_state=0).fit(X, y)
    >>> display = FrequencyDisplay.from_estimator(selector, SMLR(2.0, standardize=True).fit(X, y), X)
    >>> display.frequencies.shape
    (13,)
    """

    def __init__(self, frequencies, weights, names, threshold=None, expected_false=None, unit="standard deviation"):
        self.frequencies = frequencies
        self.weights = weights
        self.names = names
        self.threshold = threshold
        self.expected_false = expected_false
        self.unit = unit

    @classmethod
    def from_estimator(cls, selector, model, X=None, *, names=None, ax=None) -> FrequencyDisplay:
        """The frequencies of a fitted :class:`smaller.inference.StabilitySelection` and the weights of a linear model.

        With the columns X the weights are per standard deviation of each, otherwise per unit.
        """
        check_is_fitted(selector)
        if not hasattr(selector, "frequencies_"):
            raise ValueError(f"{type(selector).__name__} has no frequencies; give a fitted StabilitySelection.")
        check_is_fitted(model)
        coef = coef_of(model)
        if coef.shape[1] != len(selector.frequencies_):
            raise ValueError(
                f"The model has {coef.shape[1]} weights for {len(selector.frequencies_)} features of the selector; fit "
                "both on the same columns, the model on a linear basis."
            )
        sizes, unit = np.sqrt((coef**2).sum(axis=0)), "unit"
        if X is not None:
            sizes, unit = sizes * deviations_of(X), "standard deviation"
        names = input_names(selector, names)
        known = float(selector.threshold_), float(selector.expected_false_)
        return cls(selector.frequencies_, sizes, list(names), *known, unit).plot(ax)

    def plot(self, ax=None) -> FrequencyDisplay:
        """Draw a point for each feature, those above the threshold in colour and with their names."""
        ax = self._axes(ax)
        frequencies, weights = np.asarray(self.frequencies), np.asarray(self.weights)
        limit = np.inf if self.threshold is None else self.threshold
        shown = (frequencies > 0) | ((weights > 0) & ~np.isnan(frequencies))
        chosen = frequencies >= limit - 1e-9
        colours = np.where(chosen[shown], COLOURS[0], GREY)
        self.points_ = ax.scatter(weights[shown], frequencies[shown], c=colours, edgecolors="0.4", linewidths=0.5, s=28)
        self._name(ax, np.flatnonzero(chosen)[np.argsort(-frequencies[chosen], kind="stable")][:NAMED])
        if self.threshold is not None:
            few = "" if self.expected_false is None else f": at most {self.expected_false:.2g} false expected"
            ax.axhline(self.threshold, color="black", linestyle=":", linewidth=1.2, label=f"threshold{few}")
            ax.legend(loc="lower right", fontsize="small", frameon=False)
        ax.set(xlabel=f"size of the weight per {self.unit}", ylabel="share of half-samples that select the feature")
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_ylim(-0.03, 1.03 + ROW * min(max(int(chosen.sum()), 1), NAMED))
        return self

    def _name(self, ax, features: np.ndarray) -> None:
        """Names in rows of their own above the points, from right to left, so that no two overlap."""
        widest = max(np.max(self.weights), 1e-300)
        for row, j in enumerate(features[np.argsort(-np.asarray(self.weights)[features], kind="stable")]):
            left = self.weights[j] > widest / 2  # where a name to the right would leave the picture
            text, point = (self.weights[j], 1.03 + ROW * row), (self.weights[j], self.frequencies[j])
            line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
            ax.annotate(
                self.names[j], point, xytext=text, fontsize="small", ha="right" if left else "left", arrowprops=line
            )
