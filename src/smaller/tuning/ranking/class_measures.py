"""How well rare classes are found: sensitivity, specificity, precision, areas under curves, with 95 % intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri
from scipy.stats import rankdata

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
    hits = int((truth & found).sum())
    passed = int((~truth & ~found).sum())
    area = roc_area(P[:, k], truth)
    average = average_precision(P[:, k], truth)
    return {
        "samples": int(truth.sum()),
        **_fraction("sensitivity", hits, int(truth.sum())),
        **_fraction("specificity", passed, int((~truth).sum())),
        **_fraction("precision", hits, int(found.sum())),
        "auc": area,
        "auc_interval": None if area is None else list(_roc_interval(P[:, k], truth, area)),
        "average_precision": average,
        "average_precision_interval": None if average is None else list(_logit_interval(average, int(truth.sum()))),
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
    n1, n0 = int(truth.sum()), int((~truth).sum())
    if not (n1 and n0):
        return None
    return float((rankdata(score)[truth].sum() - n1 * (n1 + 1) / 2) / (n1 * n0))


def _roc_interval(score: np.ndarray, truth: np.ndarray, area: float) -> tuple[float, float]:
    """DeLong, DeLong and Clarke-Pearson 1988, on the scale of the logit, so that it stays between 0 and 1.

    With a perfect separation the variance is 0; the interval is then that of the smaller class all being right.
    """
    n1, n0 = int(truth.sum()), int((~truth).sum())
    rank = rankdata(score)
    above = (rank[truth] - rankdata(score[truth])) / n0  # of each sample of the class: the others below it
    below = 1.0 - (rank[~truth] - rankdata(score[~truth])) / n1
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (above, below) if len(part) > 1)
    if not (0.0 < area < 1.0 and variance > 0.0):
        fewest = min(n1, n0)
        return exact_interval(round(area * fewest), fewest)
    half = Z * np.sqrt(variance) / (area * (1.0 - area))
    return float(expit(logit(area) - half)), float(expit(logit(area) + half))


def average_precision(score: np.ndarray, truth: np.ndarray) -> float | None:
    """The precision at every sample of the class, averaged, from the highest score down; ties share a threshold."""
    positives = int(truth.sum())
    if not positives:
        return None
    curve = threshold_curve(score, truth)
    return float((np.diff(curve["recall"], prepend=0.0) * curve["precision"]).sum())


def _logit_interval(value: float, positives: int) -> tuple[float, float]:
    """Boyd, Eng and Page 2013: normal on the logit, with the variance of a fraction of the samples of the class."""
    if not 0.0 < value < 1.0:
        return exact_interval(round(value * positives), positives)
    half = Z / np.sqrt(positives * value * (1.0 - value))
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


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
