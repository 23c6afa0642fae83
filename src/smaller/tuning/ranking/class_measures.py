"""How well rare classes are found: sensitivity, specificity, precision, areas under curves, with 95 % intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

Z = float(ndtri(0.975))


def exact_interval(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934); (0, 1) without a sample."""
    tail = (1.0 - level) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1 - tail))
    return low, high


def class_measures(P: np.ndarray, codes: np.ndarray, decided: np.ndarray, k: int) -> dict[str, Any]:
    """The measures of one class against all others; None where a measure has no sample to be computed from."""
    truth, found = codes == k, decided == k
    parts = _split(P[:, k], truth)
    area, interval = _roc(*parts)
    average = _average_precision(*parts)
    return {
        "samples": int(truth.sum()),
        **decision_measures(truth, found),
        "auc": area,
        "auc_interval": interval,
        "average_precision": average,
        "average_precision_interval": None if average is None else _score_interval(average, int(truth.sum())),
    }


def decision_measures(truth: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    """Sensitivity, specificity and precision of the samples found, with their intervals."""
    hits, passed = int((truth & found).sum()), int((~truth & ~found).sum())
    return {
        **_fraction("sensitivity", hits, int(truth.sum())),
        **_fraction("specificity", passed, int((~truth).sum())),
        **_fraction("precision", hits, int(found.sum())),
    }


def _fraction(name: str, count: int, n: int) -> dict[str, Any]:
    return {name: count / n if n else None, f"{name}_interval": list(exact_interval(count, n)) if n else None}


def balanced_error(codes: np.ndarray, decided: np.ndarray, classes: int) -> tuple[float, list[float]]:
    """The mean over the classes of the fraction wrong, and its 95 % interval; classes without a sample do not count.

    The interval joins the exact intervals of the classes (Zou and Donner 2008): the distance to its end is the root of
    the sum of their squared distances, divided by the number of classes.
    """
    counts = np.bincount(codes, minlength=classes)
    wrong = np.bincount(codes[decided != codes], minlength=classes)
    ends = [(wrong[k] / counts[k], *exact_interval(int(wrong[k]), int(counts[k]))) for k in np.flatnonzero(counts)]
    rate, low, high = np.array(ends).T
    mean, m = float(rate.mean()), len(rate)
    below, above = (float(np.sqrt(((rate - end) ** 2).sum()) / m) for end in (low, high))
    return mean, [max(mean - below, 0.0), min(mean + above, 1.0)]


def roc_area(score: np.ndarray, truth: np.ndarray) -> float | None:
    """The probability that a sample of the class has a higher score than one of the others; ties count one half."""
    return _roc(*_split(score, truth))[0]


def _split(score: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted scores of the class and of the others."""
    return np.sort(score[truth]), np.sort(score[~truth])


def _midranks(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """How many of the sorted `among` are below each value, equal ones counted by one half."""
    return (np.searchsorted(among, values, "left") + np.searchsorted(among, values, "right")) / 2


def _roc(own: np.ndarray, others: np.ndarray) -> tuple[float | None, list[float] | None]:
    """The area under the ROC curve, and its 95 % interval; `own` and `others` are sorted scores.

    The variance is that of DeLong, DeLong and Clarke-Pearson 1988, on the scale of the logit, so that the interval
    stays between 0 and 1. With a perfect separation the variance is 0; the interval is then that of the smaller class
    all being right.
    """
    n1, n0 = len(own), len(others)
    if not (n1 and n0):
        return None, None
    above, below = _midranks(own, others) / n0, 1.0 - _midranks(others, own) / n1
    area = float(above.mean())
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (above, below) if len(part) > 1)
    if not (0.0 < area < 1.0 and variance > 0.0):
        return area, list(exact_interval(round(area * min(n1, n0)), min(n1, n0)))
    half = Z * np.sqrt(variance) / (area * (1.0 - area))
    return area, [float(expit(logit(area) - half)), float(expit(logit(area) + half))]


def average_precision(score: np.ndarray, truth: np.ndarray) -> float | None:
    """The precision at every sample of the class, averaged, from the highest score down; ties share a threshold."""
    return _average_precision(*_split(score, truth))


def _average_precision(own: np.ndarray, others: np.ndarray) -> float | None:
    """At the score of each sample of the class: hits / (hits + false alarms), those of equal scores included."""
    if not len(own):
        return None
    hits = len(own) - np.searchsorted(own, own, "left")
    alarms = len(others) - np.searchsorted(others, own, "left")
    return float((hits / (hits + alarms)).mean())


def _score_interval(value: float, positives: int) -> list[float]:
    """Wilson 1927: where a normal test with the variance of a fraction of the samples of the class does not reject.

    The variance is that of Boyd, Eng and Page 2013, whose interval on the logit grows without bound near 1.
    """
    share = Z * Z / positives
    middle, half = value + share / 2, Z * np.sqrt(value * (1.0 - value) / positives + (share / (2.0 * Z)) ** 2)
    return [max(float((middle - half) / (1.0 + share)), 0.0), min(float((middle + half) / (1.0 + share)), 1.0)]


def threshold_curve(score: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Recall, precision and false alarms at every threshold of the score, from the highest score down."""
    order = np.argsort(-score, kind="stable")
    sorted_score, hit = score[order], truth[order]
    last = np.append(np.flatnonzero(np.diff(sorted_score)), len(score) - 1)  # the last sample of each threshold
    hits, found = np.cumsum(hit)[last], last + 1.0
    others = max(int((~truth).sum()), 1)
    return {
        "threshold": sorted_score[last],
        "recall": hits / max(int(truth.sum()), 1),
        "precision": hits / found,
        "false_alarms": (found - hits) / others,
    }
