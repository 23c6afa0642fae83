"""The reject option: thresholds of confidence, and the error of the samples accepted (Chow 1970)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from ..errors import RejectionWarning, warn
from . import checks
from .costs import least_cost, likeliest_classes

COVERAGES = 100  # number of coverages at which a guaranteed error is tested, if there are enough samples
STARTS = 4  # sequences of tests; with more, one early failure matters less, but each has less of the risk
ROUNDING = 1e-9  # of fractions: 29 of 100 must not count as more than 0.29


class Threshold(NamedTuple):
    """A least confidence, with its coverage and error on the sample that it was chosen on.

    Attributes
    ----------
    value : float
        Samples of at least this confidence are accepted: -inf accepts all, inf none.
    coverage : float
        Fraction accepted.
    error : float
        Fraction wrong among the accepted; NaN if none is accepted, or the labels were not given.
    bound : float
        Upper confidence limit of the error; NaN without a guarantee.
    """

    value: float
    coverage: float
    error: float
    bound: float = np.nan


class RiskCoverage(NamedTuple):
    """Risk of the accepted samples against the fraction accepted, from the surest sample to all.

    Attributes
    ----------
    threshold : ndarray of shape (n_points,)
        The distinct confidences, in decreasing order; samples of equal confidence are accepted together.
    coverage : ndarray of shape (n_points,)
        Fraction of the samples accepted at that threshold.
    risk : ndarray of shape (n_points,)
        Fraction wrong among the accepted, or their mean cost.
    area : float
        Area under the curve: the risk at all coverages, averaged. Lower is better.
    """

    threshold: np.ndarray
    coverage: np.ndarray
    risk: np.ndarray
    area: float


def reject(P, threshold: float) -> np.ndarray:
    """Mask of the samples to reject, ``max_k P_ik < threshold`` (Chow's rule).

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
    threshold : float
        Least probability of an accepted decision. A sample that just reaches it is accepted. The ``value`` of
        :func:`threshold_for_rate` and :func:`threshold_for_error` is one: -inf rejects nothing, inf everything.

    Returns
    -------
    rejected : ndarray of bool of shape (n_samples,)

    Examples
    --------
    >>> from smaller.decision import reject
    >>> reject([[0.9, 0.1], [0.6, 0.4]], threshold=0.7).tolist()
    [False, True]
    """
    return checks.probabilities(P).max(axis=1) < checks.threshold(threshold)


def threshold_for_rate(P, rate: float, *, sample_weight=None) -> Threshold:
    """The threshold that rejects as many samples as it can, but no more than a fraction `rate`.

    Samples of equal confidence are treated alike, so that fewer may be rejected. At rate 0 the threshold is -inf, at
    rate 1 it is inf.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities of samples like those to come; labels are not needed.
    rate : float
        Fraction to reject, 0 to 1.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    Threshold

    Examples
    --------
    >>> from smaller.decision import threshold_for_rate
    >>> threshold_for_rate([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]], rate=0.25).value
    0.7
    """
    P = checks.probabilities(P)
    weight = checks.sample_weights(sample_weight, len(P))
    return for_rate(likeliest_classes(P).confidence, weight, checks.fraction("rate", rate))


def threshold_for_error(P, y, error: float, *, guarantee=None, classes=None, sample_weight=None) -> Threshold:
    """The threshold that accepts the most samples with a fraction wrong of at most `error` among the accepted.

    Without a guarantee this is a point estimate: the error of the sample itself is at most `error`, which is a little
    optimistic, as the threshold was chosen on that sample. With ``guarantee=0.95`` the error of samples to come is at
    most `error` with probability 0.95 over the draw of this sample: exact (Clopper-Pearson) upper limits are compared
    with it, at increasing coverages until one fails, from four starts with a quarter of the 5 % each. That holds if the
    sample is new to the classifier and like those to come.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities of samples that the classifier was not trained on.
    y : array-like of shape (n_samples,)
        Their classes.
    error : float
        Fraction wrong among the accepted, 0 to 1.
    guarantee : float, default=None
        Probability with which the error is kept to; None is the point estimate.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P; None is 0, 1, ...
    sample_weight : array-like of shape (n_samples,), default=None
        A sample of weight 2 counts exactly like the same sample given twice.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> from smaller.decision import threshold_for_error
    >>> P, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]], [0, 1, 1, 1]
    >>> found = threshold_for_error(P, y, error=0.1)
    >>> found.value, found.coverage, found.error
    (0.7, 0.75, 0.0)
    """
    P = checks.probabilities(P)
    codes, weight = labelled(P, y, classes, sample_weight)
    chosen = likeliest_classes(P)
    error = checks.fraction("error", error)
    return for_error(chosen.confidence, chosen.codes != codes, weight, error, guarantee)


def risk_coverage(P, y, *, cost=None, classes=None, sample_weight=None) -> RiskCoverage:
    """The risk-coverage curve: the error (or mean cost) of the accepted samples as more and more are accepted.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities of samples that the classifier was not trained on.
    y : array-like of shape (n_samples,)
        Their classes.
    cost : array-like of shape (n_classes, n_classes) or dict, default=None
        As in :func:`expected_cost`: decisions are those of least expected cost, samples are ordered by it, and the
        risk is the mean cost. None counts errors.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P; None is 0, 1, ...
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    RiskCoverage

    Examples
    --------
    >>> from smaller.decision import risk_coverage
    >>> curve = risk_coverage([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]], [0, 1, 1, 1])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    """
    P = checks.probabilities(P)
    codes, weight = labelled(P, y, classes, sample_weight)
    table = checks.costs(cost, checks.labels_of(classes, P.shape[1]))
    chosen = likeliest_classes(P) if cost is None else least_cost(P, table)
    return curve(chosen.confidence, table[codes, chosen.codes], weight)


def labelled(P: np.ndarray, y, classes, sample_weight) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the labels y, and the weights, one for each row of P."""
    codes = checks.positions(y, checks.labels_of(classes, P.shape[1]))
    if len(codes) != len(P):
        raise ValueError(f"P has {len(P)} rows but y has {len(codes)} labels; they must describe the same samples.")
    return codes, checks.sample_weights(sample_weight, len(P))


def curve(confidence: np.ndarray, loss: np.ndarray, weight: np.ndarray) -> RiskCoverage:
    """Risk and coverage at every distinct confidence; one of -inf is never accepted, but counts in the total."""
    rows = np.flatnonzero(weight > 0)
    order = rows[np.argsort(-confidence[rows], kind="stable")]
    sorted_confidence, total = confidence[order], weight.sum()
    accepted, lost = np.cumsum(weight[order]), np.cumsum((weight * loss)[order])
    last = np.append(sorted_confidence[1:] < sorted_confidence[:-1], True)  # of each group of equals
    last &= np.isfinite(sorted_confidence)
    coverage, risk = accepted[last] / total, lost[last] / accepted[last]
    area = float(risk @ np.diff(coverage, prepend=0.0))
    return RiskCoverage(sorted_confidence[last], coverage, risk, area)


def for_rate(confidence, weight, rate: float, loss=None) -> Threshold:
    """The greatest observed confidence below which lies at most a fraction `rate`."""
    points = curve(confidence, np.full(len(weight), np.nan) if loss is None else loss, weight)
    if rate >= 1 or not len(points.coverage):
        return NOTHING
    enough = points.coverage >= 1.0 - rate - ROUNDING
    # Where the inner model rejects more than the rate allows, accept all the others.
    return _threshold(points, int(np.argmax(enough)) if enough.any() else len(enough) - 1)


def for_error(confidence, wrong, weight, error: float, guarantee=None) -> Threshold:
    """The most accepted with an error, or an upper limit of it, of at most `error`."""
    points = curve(confidence, np.asarray(wrong, dtype=np.float64), weight)
    if guarantee is not None:
        return _guaranteed(points, weight.sum(), error, checks.fraction("guarantee", guarantee, (False, False)))
    enough = np.flatnonzero(points.risk <= error + ROUNDING)
    if not len(enough):
        _warn_unreached(error, points.risk)
        return NOTHING
    return _threshold(points, int(enough[-1]))


def _guaranteed(points: RiskCoverage, total: float, error: float, guarantee: float) -> Threshold:
    """The greatest coverage that a sequence of tests reaches; each compares a Clopper-Pearson limit with `error`.

    Coverages are tested in increasing order until one fails, from a few starts that do not depend on the labels. At
    most the first true failure of each sequence can be missed, so that each has its share of the risk of being wrong,
    however many tests it makes (fixed-sequence testing).
    """
    risk = (1.0 - guarantee) / STARTS
    tested = _coverages(points, total, error, risk)
    accepted = points.coverage[tested] * total
    wrong = np.rint(points.risk[tested] * accepted * 1e6) / 1e6  # sums of weights, rounded to remove rounding errors
    right = accepted - wrong
    limit = np.where(right > ROUNDING, betaincinv(wrong + 1.0, np.maximum(right, ROUNDING), 1.0 - risk), 1.0)
    reached = _last_reached(limit <= error, accepted)
    if reached is None:
        _warn_unreached(error, limit, f" with a guarantee of {guarantee:g}")
        return NOTHING
    at = int(tested[reached])
    found = _threshold(points, at)._replace(bound=float(limit[reached]))
    if np.isneginf(found.value):
        return found
    # Given the next confidence below, those above it are independent draws: the threshold is just above that one.
    return found._replace(value=float(np.nextafter(points.threshold[at + 1], np.inf)))


def _coverages(points: RiskCoverage, total: float, error: float, risk: float) -> np.ndarray:
    """Points of the curve nearest below the coverages tested: those at which no error at all would pass."""
    aims = np.arange(1, COVERAGES + 1) / COVERAGES
    tested = np.unique(np.searchsorted(points.coverage, aims + ROUNDING) - 1)
    tested = tested[tested >= 0]
    return tested[risk ** (1.0 / (points.coverage[tested] * total)) >= 1.0 - error]


def _last_reached(passed: np.ndarray, accepted: np.ndarray) -> int | None:
    """The greatest coverage from which tests passed all the way down to one of the starts, geometrically spaced."""
    if not len(passed):
        return None
    starts = np.searchsorted(accepted, np.geomspace(accepted[0], accepted[-1], STARTS + 1)[:-1] * (1 - ROUNDING))
    stops = np.append(np.flatnonzero(~passed), len(passed))
    ends = [int(stops[np.searchsorted(stops, start)]) - 1 for start in starts if passed[start]]
    return max(ends, default=None)


def _threshold(points: RiskCoverage, at: int) -> Threshold:
    every = at == len(points.coverage) - 1
    value = -np.inf if every else float(points.threshold[at])
    return Threshold(value, float(points.coverage[at]), float(points.risk[at]))


def _warn_unreached(error: float, found: np.ndarray, how: str = "") -> None:
    least = f"the least found is {found.min():.3g}" if len(found) else "no sample can be accepted"
    warn(
        f"No threshold keeps the error of accepted samples to {error:g}{how}: {least}, so every sample will be "
        "rejected; allow a greater error, or give more samples to choose the threshold on.",
        RejectionWarning,
    )


NOTHING = Threshold(np.inf, 0.0, np.nan)
