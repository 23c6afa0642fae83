"""Plots of decisions: prior shift, and the error of accepted samples against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..decision import RiskCoverage, estimate_priors, risk_coverage
from .display import COLOURS, Display


class PriorShiftDisplay(Display):
    """Bars of the class frequencies in training and in operation.

    Parameters
    ----------
    classes : sequence
    priors : dict
        From a name, such as "training", to the priors, (n_classes,).
    title : str

    Attributes
    ----------
    ax_, figure_
    bars_ : dict of BarContainer

    Examples
    --------
    >>> from smaller.plots import PriorShiftDisplay
    >>> P = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8]]
    >>> display = PriorShiftDisplay.from_predictions(P, [0.5, 0.5], classes=["well", "ill"])
    >>> {word: values.round(2).tolist() for word, values in display.priors.items()}
    {'training': [0.5, 0.5], 'operation': [0.91, 0.09]}
    """

    def __init__(self, classes, priors: dict[str, Any], title=""):
        self.classes = classes
        self.priors = priors
        self.title = title

    @classmethod
    def from_estimator(cls, estimator, X=None, *, truth=None, ax=None) -> PriorShiftDisplay:
        """A fitted :class:`~smaller.decision.PriorShift`; with operational samples X, their priors as estimated.

        Without X the priors are those that its decisions use. `truth` are the true ones, where they are known.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "training_priors_"):
            raise ValueError(f"{type(estimator).__name__} has no priors; give a fitted PriorShift.")
        new, training, title = estimator.priors_, estimator.training_priors_, ""
        if X is not None:
            new = estimate_priors(estimator.estimator_.predict_proba(X), training).priors
        elif estimator.shift_ is not None:
            title = f"test of “nothing has shifted”: p = {estimator.shift_.p_value:.2g}"
        return cls._of(estimator.classes_, training, new, truth, title, ax)

    @classmethod
    def from_predictions(cls, P, training_priors, *, classes=None, truth=None, ax=None) -> PriorShiftDisplay:
        """Priors estimated from the probabilities of operational samples, learnt at the training priors."""
        new = estimate_priors(P, training_priors, classes=classes).priors
        labels = np.arange(len(new)) if classes is None else classes
        training = training_priors
        training = [training[label] for label in labels] if isinstance(training, dict) else training
        return cls._of(labels, training, new, truth, "", ax)

    @classmethod
    def _of(cls, classes, training, new, truth, title, ax) -> PriorShiftDisplay:
        priors = {"training": np.asarray(training, dtype=float), "operation": np.asarray(new, dtype=float)}
        if truth is not None:
            priors["truth"] = np.asarray(truth, dtype=float)
        return cls(classes, priors, title).plot(ax)

    def plot(self, ax=None) -> PriorShiftDisplay:
        """Draw the bars side by side."""
        ax = self._axes(ax)
        places, width = np.arange(len(self.classes)), 0.8 / len(self.priors)
        self.bars_ = {}
        for i, (word, values) in enumerate(self.priors.items()):
            at = places + (i - (len(self.priors) - 1) / 2) * width
            self.bars_[word] = ax.bar(at, values, 0.92 * width, color=COLOURS[i], label=word)
            if len(self.classes) <= 6:
                ax.bar_label(self.bars_[word], [f"{value:.2f}" for value in values], fontsize="small")
        ax.set_xticks(places, [str(label) for label in self.classes])
        ax.set(ylabel="frequency", title=self.title)
        ax.margins(y=0.1)
        ax.legend(frameon=False)
        return self


class RiskCoverageDisplay(Display):
    """Error of the accepted samples against the fraction accepted, highest confidence first.

    Parameters
    ----------
    curve : RiskCoverage
    name : str
        Of the model, for the legend.
    risk : str
        The label of the risk axis.

    Attributes
    ----------
    ax_, figure_
    line_ : Line2D

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SBMLR
    >>> from smaller.plots import RiskCoverageDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RiskCoverageDisplay.from_estimator(SBMLR().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> print(f"{display.curve.risk[-1]:.3f} of all are wrong")
    0.027 of all are wrong
    """

    def __init__(self, curve: RiskCoverage, name="", risk="error of the accepted"):
        self.curve = curve
        self.name = name
        self.risk = risk

    @classmethod
    def from_estimator(cls, estimator, X, y, *, cost=None, name=None, ax=None) -> RiskCoverageDisplay:
        """Any fitted classifier with predict_proba, on samples that it was not fitted on."""
        check_is_fitted(estimator)
        P = estimator.predict_proba(X)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, P, classes=estimator.classes_, cost=cost, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls, y, P, *, classes: Sequence | np.ndarray | None = None, cost=None, name="", ax=None
    ) -> RiskCoverageDisplay:
        """Classes and their predicted probabilities."""
        curve = risk_coverage(P, y, classes=classes, cost=cost)
        return cls(curve, name, "error of the accepted" if cost is None else "mean cost of the accepted").plot(ax)

    def plot(self, ax=None) -> RiskCoverageDisplay:
        """Draw the curve; several may share axes."""
        ax = self._axes(ax)
        label = ": ".join(filter(None, [self.name, f"area {self.curve.area:.3g}"]))
        (self.line_,) = ax.step(self.curve.coverage, self.curve.risk, where="post", linewidth=2, label=label)
        ax.set(xlabel="fraction accepted", ylabel=self.risk, xlim=(0, 1))
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
        return self
