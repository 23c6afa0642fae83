"""Rejecting: samples of low confidence are rejected instead of decided."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._sklearn import HasMethods, Interval
from . import checks
from .cost_sensitive import Rejectable
from .costs import Decisions, at_least, likeliest_classes
from .held_out import HeldOut, held_out
from .prior_shift import prior_ratio
from .rejection import curve, for_error, for_rate
from .wrapper import Wrapper, thawed

FRACTION = Interval(Real, 0, 1, closed="both")


@dataclass(eq=False, repr=False)
class Rejecting(Rejectable):
    """A classifier that rejects the samples of least confidence.

    A sample is rejected if its confidence is less than a threshold (Chow 1970). The confidence is the greatest
    probability; around a :class:`CostSensitive` it is 1 - expected cost of the decision. Give one of threshold, rate
    and error; with none of them nothing is rejected, and `curve_` shows what each rate would bring. Without a threshold
    the classifier is judged on samples that it was not fitted on: by cross-validation or, if it is frozen, on all
    samples given to fit. Around a :class:`PriorShift` these samples are weighted to the operational priors, again after
    each :meth:`adapt`.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Fitted inside; a fitted one that is to stay as it is comes in a :class:`sklearn.frozen.FrozenEstimator`. It may
        be a :class:`PriorShift` or a :class:`CostSensitive`.
    threshold : float, default=None
        Least confidence of an accepted sample; a sample that just reaches it is accepted.
    rate : float, default=None
        Fraction of samples to reject, at most.
    error : float, default=None
        Fraction wrong among the accepted samples, at most, with as many accepted as possible.
    guarantee : float, default=None
        With error: the probability, such as 0.95, with which it is kept to on samples to come, by the exact binomial
        limit; see :func:`threshold_for_error`. Strictly this holds for a frozen estimator fitted on other data; with
        cross-validation, as far as the classifiers of the folds do as well as the final one. None is a point estimate.
    reject_label : label, default="auto"
        What ``predict`` returns for a rejected sample. "auto" is -1 for numbers (one less than the least class if that
        is negative) and "reject" for strings.
    cv : int, splitter or iterable, default=5
        Folds that hold samples out; an integer is stratified folds, fewer where the smallest class has fewer samples.
    n_jobs : int, default=None
        Folds fitted side by side.

    Attributes
    ----------
    estimator_ : classifier
    classes_ : ndarray
        Without the reject label.
    reject_label_ : label
    threshold_ : float
    coverage_, error_, bound_ : float
        Fraction of the held-out samples that is accepted, fraction wrong among those, and its upper limit where a
        guarantee was requested; NaN where nothing was held out.
    curve_ : RiskCoverage or None
        Error against coverage of the held-out samples.
    held_out_ : tuple (P, codes, weight) or None
        The held-out samples: probabilities of the classifier inside, positions of their classes, weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SMLR
    >>> from smaller.decision import Rejecting
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Rejecting(SMLR(), rate=0.1).fit(X, y)
    >>> print(f"held out: {model.coverage_:.0%} accepted, {model.error_:.1%} of them wrong")
    held out: 90% accepted, 0.7% of them wrong
    >>> model.predict(X[[0, 70, 133]])
    array([ 0, -1, -1])
    """

    estimator: Any
    _: KW_ONLY
    threshold: float | None = None
    rate: float | None = None
    error: Any = None
    guarantee: float | None = None
    reject_label: Any = "auto"
    cv: Any = 5
    n_jobs: int | None = None

    _stage = 3
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "threshold": [Real, None],
        "rate": [FRACTION, None],
        "error": [FRACTION, None],
        "guarantee": [Interval(Real, 0, 1, closed="neither"), None],
        "reject_label": "no_validation",
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def _settings(self, classes: np.ndarray) -> dict[str, Any]:
        self._check_aim()
        label = checks.reject_label_of(self.reject_label, classes)
        unknown = dict.fromkeys(("coverage_", "error_", "bound_"), np.nan)
        return {"reject_label_": label, "threshold_": self.threshold, **unknown, "curve_": None, "held_out_": None}

    def _learn(self, inner, X, y, sample_weight, routed) -> dict[str, Any]:
        if self.threshold is not None:
            return {}
        if self.guarantee is not None and prior_ratio(inner) is not None:
            raise ValueError(
                "A guarantee holds at the priors of the held-out samples, but PriorShift was given others; leave out "
                "guarantee, or hold out samples drawn at the operational priors."
            )
        sample = held_out(self, inner, X, y, sample_weight, routed, self.cv, self.n_jobs)
        return {"held_out_": sample, **self._calibrated(inner, sample)}

    def _check_aim(self) -> None:
        aims = {name: getattr(self, name) for name in ("threshold", "rate", "error")}
        given = {name: value for name, value in aims.items() if value is not None}
        if len(given) > 1:
            raise ValueError(f"Rejecting takes one of threshold, rate and error; got {given}.")
        if self.guarantee is not None and self.error is None:
            raise ValueError("guarantee is the probability with which error is kept; give error as well.")
        if self.threshold is not None and checks.number("threshold", self.threshold) > 1:
            raise ValueError(f"threshold={self.threshold} would reject every sample: no confidence is above 1.")

    def _calibrated(self, inner, sample: HeldOut) -> dict[str, Any]:
        """The threshold that meets rate or error on held-out samples, with its coverage and error there."""
        chosen = decisions_of(inner, sample.P)
        # Samples that the inner model rejects are rejected at every threshold.
        confidence = np.where(chosen.codes < 0, -np.inf, chosen.confidence)
        wrong = (chosen.codes != sample.codes).astype(np.float64)
        ratio = prior_ratio(inner)
        weight = sample.weight if ratio is None else sample.weight * ratio[sample.codes]
        if self.error is not None:
            found = for_error(confidence, wrong, weight, self.error, self.guarantee)
        else:
            found = for_rate(confidence, weight, self.rate or 0.0, wrong)
        return {
            "threshold_": found.value,
            "coverage_": found.coverage,
            "error_": found.error,
            "bound_": found.bound,
            "curve_": curve(confidence, wrong, weight),
        }

    def adapt(self, X):
        """Estimate the priors of unlabelled operational samples, and decide by them from now on.

        Needs a :class:`PriorShift` inside. A threshold that was chosen by rate or error is chosen again, on the
        held-out samples weighted to the new priors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Operational samples, new to the classifier.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self.guarantee is not None:
            raise ValueError(
                "A guarantee holds at the priors of the held-out samples and not at estimated ones; fit with "
                "guarantee=None to adapt."
            )
        super().adapt(X)
        if self.held_out_ is not None:
            for name, value in self._calibrated(self.estimator_, self.held_out_).items():
                setattr(self, name, value)
        return self

    def _decisions(self, P: np.ndarray) -> Decisions:
        return at_least(decisions_of(self.estimator_, P), self.threshold_)


def decisions_of(model, P: np.ndarray) -> Decisions:
    """The decisions of a fitted model on raw probabilities."""
    within = thawed(model)
    return within._decisions(P) if isinstance(within, Wrapper) else likeliest_classes(P)
