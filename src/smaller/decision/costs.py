"""Decisions of least expected cost, and the cost of decisions once the classes are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import checks


class Decisions(NamedTuple):
    """The decision for each sample, as the position of a class or -1 for rejection, and its confidence."""

    codes: np.ndarray  # (n,)
    confidence: np.ndarray  # (n,): 1 - expected cost of the decision; the greatest probability where costs are 0 and 1


def expected_cost(P, cost=None, *, classes=None) -> np.ndarray:
    """Expected cost of every decision, R_ij = sum_k P_ik cost_kj.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities.
    cost : array-like of shape (n_classes, n_classes) or dict, default=None
        ``cost[k, j]`` of deciding for class j when k is true: rows are true classes, columns decisions. A dict
        ``{(true class, decision): cost}`` names those that differ from 0 (right) and 1 (wrong), which None means.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P; None is 0, 1, ...

    Returns
    -------
    R : ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> from smaller.decision import expected_cost
    >>> expected_cost([[0.75, 0.25]], [[0, 1], [10, 0]])  # missing the second class costs ten times as much
    array([[2.5 , 0.75]])
    """
    P = checks.probabilities(P)
    return weighted_rows(P, checks.costs(cost, checks.labels_of(classes, P.shape[1])))


def weighted_rows(P: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """P @ cost, summed in the order of the classes: a row's costs do not depend on the rows around it."""
    total = np.zeros((len(P), cost.shape[1]))
    for k in range(len(cost)):
        total += P[:, k, None] * cost[k]
    return total


def decide(P, *, cost=None, reject_cost=None, threshold=None, classes=None, reject_label="auto") -> np.ndarray:
    """The decision of least expected cost for each sample, or to reject it.

    A sample is rejected if that costs less than the best decision, ``sum_k P_ik reject_cost_k < min_j R_ij`` (Chow
    1970), or if the confidence ``1 - min_j R_ij``, which is the greatest probability when costs are 0 and 1, is less
    than the threshold. Of equally good decisions the first class is taken, and a class rather than rejection.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities.
    cost : array-like of shape (n_classes, n_classes) or dict, default=None
        As in :func:`expected_cost`.
    reject_cost : float, array-like of shape (n_classes,) or dict, default=None
        Cost of rejecting a sample, the same for all or by its true class; None never rejects for its cost.
    threshold : float, default=None
        Least confidence of an accepted sample.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P; None is 0, 1, ...
    reject_label : label, default="auto"
        Label of rejected samples. "auto" is -1 for numbers (one less than the least class if that is negative) and
        "reject" for strings.

    Returns
    -------
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from smaller.decision import decide
    >>> P = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]
    >>> decide(P).tolist(), decide(P, threshold=0.7).tolist(), decide(P, reject_cost=0.15).tolist()
    ([0, 0, 1], [0, -1, 1], [0, -1, -1])
    """
    P = checks.probabilities(P)
    classes = checks.labels_of(classes, P.shape[1])
    chosen = least_cost(P, checks.costs(cost, classes), rejecting_costs(reject_cost, classes))
    if threshold is not None:
        chosen = at_least(chosen, checks.number("threshold", threshold))
    if reject_cost is None and threshold is None:
        return classes[chosen.codes]
    return named(chosen.codes, classes, checks.reject_label_of(reject_label, classes))


def rejecting_costs(reject_cost, classes: np.ndarray) -> np.ndarray | None:
    """Costs of rejection by true class, or None where there is no rejection."""
    return None if reject_cost is None else checks.reject_costs(reject_cost, classes)


def least_cost(P: np.ndarray, cost: np.ndarray, reject_cost: np.ndarray | None = None) -> Decisions:
    """argmin_j R_ij, or -1 where rejection costs less."""
    R = weighted_rows(P, cost)
    codes = R.argmin(axis=1)
    least = R[np.arange(len(R)), codes]
    if reject_cost is not None:
        aside = weighted_rows(P, reject_cost[:, None])[:, 0]
        codes = np.where(aside < least, -1, codes)
        least = np.minimum(aside, least)
    return Decisions(codes, 1.0 - least)


def likeliest_classes(P: np.ndarray) -> Decisions:
    """The class of greatest probability: the decision of least expected cost for costs of 0 and 1."""
    codes = P.argmax(axis=1)
    return Decisions(codes, P[np.arange(len(P)), codes])


def at_least(chosen: Decisions, threshold: float) -> Decisions:
    """Decisions of less confidence than the threshold, rejected."""
    return chosen._replace(codes=np.where(chosen.confidence < threshold, -1, chosen.codes))


def named(codes: np.ndarray, classes: np.ndarray, reject_label) -> np.ndarray:
    """Positions of classes as labels; position -1 is the reject label."""
    return checks.with_reject_label(classes, reject_label)[codes]


def incurred_cost(
    y, decisions, *, classes, cost=None, reject_cost=None, reject_label="auto", sample_weight=None
) -> float:
    """The mean cost of decisions, given the true classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    decisions : array-like of shape (n_samples,)
        As :func:`decide` or a model's ``predict`` returned them.
    classes : array-like of shape (n_classes,)
        All classes, in the order of the rows and columns of cost.
    cost, reject_cost, reject_label
        As in :func:`decide`; reject_cost is needed if something was rejected.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    cost : float

    Examples
    --------
    >>> from smaller.decision import incurred_cost
    >>> incurred_cost([0, 1, 1], [0, 0, -1], classes=[0, 1], cost=[[0, 1], [10, 0]], reject_cost=2)
    4.0
    """
    classes = checks.labels_of(classes, len(classes))
    truth, decisions = checks.positions(y, classes), np.asarray(decisions)
    if decisions.shape != truth.shape:
        raise ValueError(
            f"y has shape {truth.shape} but decisions {decisions.shape}; they must describe the same samples."
        )
    table = checks.costs(cost, classes)
    rejected = decisions == checks.reject_label_of(reject_label, classes)
    if rejected.any() and reject_cost is None:
        raise ValueError(f"{rejected.sum()} samples were rejected; give reject_cost, the cost of rejecting one.")
    weight = checks.sample_weights(sample_weight, len(truth))
    each = np.zeros(len(truth))
    if rejected.any():
        each[rejected] = checks.reject_costs(reject_cost, classes)[truth[rejected]]
    each[~rejected] = table[truth[~rejected], checks.positions(decisions[~rejected], classes)]
    return float(np.average(each, weights=weight))
