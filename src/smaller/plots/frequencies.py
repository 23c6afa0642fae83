"""How often half-samples select a feature: against its weight in a model, and along the path."""

from __future__ import annotations

from typing import Any

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
            ax.axhline(self.threshold, color="black", linestyle=":", linewidth=1.2, label=_told(self.expected_false))
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


class FrequencyPathDisplay(Display):
    """How the shares of half-samples that select each feature grow as the strength of the prior falls.

    Features that matter rise early and steeply; those that only fit the noise of some half-samples stay low.

    Parameters
    ----------
    levels : ndarray of shape (L,)
        Strengths relative to the largest of each half-sample, falling.
    frequencies : ndarray of shape (L, n_features)
    names : sequence of str
    threshold : float or None
        The share from which on features are selected.
    expected_false : float or None
        The bound on the expected number of false features among these.

    Attributes
    ----------
    ax_, figure_
    lines_ : list of Line2D
        Those of the features that are selected.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from smaller.inference import StabilitySelection
    >>> from smaller.plots import FrequencyPathDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> selector = StabilitySelection(n_selected=3, random_state=0).fit(X, y)
    >>> FrequencyPathDisplay.from_estimator(selector).frequencies.shape
    (50, 13)
    """

    def __init__(self, levels, frequencies, names, threshold=None, expected_false=None):
        self.levels = levels
        self.frequencies = frequencies
        self.names = names
        self.threshold = threshold
        self.expected_false = expected_false

    @classmethod
    def from_estimator(cls, selector, *, levels=None, names=None, ax=None) -> FrequencyPathDisplay:
        """The paths of a fitted :class:`smaller.inference.StabilitySelection`, at some levels or at 50."""
        check_is_fitted(selector)
        if not hasattr(selector, "frequency_path"):
            raise ValueError(f"{type(selector).__name__} has no frequencies; give a fitted StabilitySelection.")
        names = input_names(selector, None if names is None else np.asarray(names, dtype=object))
        known = float(selector.threshold_), float(selector.expected_false_)
        levels, frequencies = selector.frequency_path(levels)
        return cls(levels, frequencies, list(names), *known).plot(ax)

    def plot(self, ax=None) -> FrequencyPathDisplay:
        """Draw a curve for each feature, those that are selected in colour, the first of them with their names."""
        ax = self._axes(ax)
        last = np.nan_to_num(self.frequencies[-1])
        order = np.argsort(-self.frequencies.sum(axis=0)[last > 0], kind="stable")
        order = np.flatnonzero(last > 0)[order]
        chosen = order[last[order] >= (np.inf if self.threshold is None else self.threshold) - 1e-9]
        ax.plot(self.levels, self.frequencies[:, np.setdiff1d(order, chosen)], color=GREY, linewidth=1)
        self.lines_ = [
            ax.plot(self.levels, self.frequencies[:, j], **_style(place, self.names[j]))[0]
            for place, j in enumerate(chosen)
        ]
        if self.threshold is not None:
            ax.axhline(self.threshold, color="black", linestyle=":", linewidth=1.2, label=_told(self.expected_false))
        ax.set(xscale="log", xlabel="strength of the prior, relative to the largest (weaker to the right)")
        ax.set(ylabel="share of half-samples that select the feature", ylim=(-0.03, 1.03))
        ax.set_xlim(1.0, min(self.levels[-1], 0.999))
        ax.legend(loc="best", fontsize="small", frameon=False)
        return self


def _style(place: int, name: str) -> dict[str, Any]:
    """How the curve of a selected feature is drawn; those after the first have a colour and no name of their own."""
    named = place < len(COLOURS)
    return {"color": COLOURS[place if named else -1], "linewidth": 1.8, "label": name if named else None}


def _told(expected_false: float | None) -> str:
    """What the line of the threshold is called."""
    return "threshold" + ("" if expected_false is None else f": at most {expected_false:.2g} false expected")
