"""Why one sample is predicted as it is: what each kept column, or each relevance vector, adds to its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._sklearn import check_n_features
from ..models.selector import input_names
from ..models.targets import coef_of
from ..tuning.ranking import what_is_kept
from .kept_weights import label_of
from .unwrapped import core

BLOCK = 20_000  # rows whose columns are computed at a time
ROWS, LARGEST = 250, 8  # samples that the page can explain, and contributions that it shows of each


class Explanation(NamedTuple):
    """What adds up to the scores of one sample: ``scores == base + contributions.sum(axis=1)``.

    Attributes
    ----------
    names : ndarray of str
        The kept columns, or the relevance vectors; the largest contribution first.
    values : ndarray of shape (kept,)
        The value of each column; for a kernel, the similarity of the sample to each relevance vector.
    contributions : ndarray of shape (k, kept)
        Weight times (value - mean of the training samples); for a kernel, weight times similarity. One row for each
        row of ``coef_``.
    base : ndarray of shape (k,)
        The scores of a sample with all values at the mean; for a kernel, the intercept.
    scores : ndarray of shape (k,)
    """

    names: np.ndarray
    values: np.ndarray
    contributions: np.ndarray
    base: np.ndarray
    scores: np.ndarray


def explain(model, X, background, names=None) -> list[Explanation]:
    """Explain the predictions of some samples: exactly, by what each kept column adds to the scores.

    In a model that is linear in its columns, a score is that of a mean sample plus weight times (value - mean) of every
    kept column. For a kernel, each relevance vector adds its weight times its similarity to the sample.

    Parameters
    ----------
    model : classifier or regressor
        Fitted: a model of this package, or a meta-estimator with one inside.
    X : array-like of shape (n_samples, n_features)
        The samples to explain.
    background : array-like of shape (n_training, n_features) or (kept,)
        The training samples; or :func:`mean_columns` of them.
    names : sequence of str, default=None
        Names of the inputs; by default those seen in fit.

    Returns
    -------
    list of Explanation
        One for each sample.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import SBMLR
    >>> from smaller import explain
    >>> bunch = load_breast_cancer()
    >>> model = SBMLR(standardize=True).fit(bunch.data, bunch.target)
    >>> why, = explain(model, bunch.data[:1], bunch.data, names=bunch.feature_names)
    >>> for name, added in list(zip(why.names, why.contributions[0]))[:2]:
    ...     print(f"{name}: {added:+.1f}")
    radius error: -6.3
    worst radius: -4.7
    """
    inner = core(model)
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    check_n_features(inner, X, reset=False)
    Phi = _dense(inner.basis_.transform(X, inner.support_))
    mean = np.asarray(background, dtype=np.float64) if np.ndim(background) == 1 else mean_columns(inner, background)
    if mean.shape != (len(inner.support_),):
        raise ValueError(
            f"background must be the training samples, or the means of the {len(inner.support_)} kept columns; got an "
            f"array of shape {mean.shape}."
        )
    W = _weights(inner)
    scores = Phi @ W.T + np.atleast_1d(np.asarray(inner.intercept_, dtype=np.float64))
    given = None if names is None else np.asarray(names, dtype=object)
    columns = np.asarray(inner.basis_.names(input_names(inner, given)), dtype=object)[inner.support_]
    return [_explained(columns, Phi[i], W * (Phi[i] - mean), scores[i]) for i in range(len(Phi))]


def _explained(columns: np.ndarray, values: np.ndarray, added: np.ndarray, scores: np.ndarray) -> Explanation:
    order = np.argsort(-np.abs(added).max(axis=0, initial=0.0), kind="stable")
    return Explanation(columns[order], values[order], added[:, order], scores - added.sum(axis=1), scores)


def mean_columns(model, X) -> np.ndarray:
    """The means of the kept columns over the training samples, (kept,); zeros for a kernel."""
    inner = core(model)
    if what_is_kept(inner) == "vectors":
        return np.zeros(len(inner.support_))
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    total, n = np.zeros(len(inner.support_)), X.shape[0]
    for start in range(0, n, BLOCK):
        total += np.asarray(inner.basis_.transform(X[start : start + BLOCK], inner.support_).sum(axis=0)).ravel()
    return total / n


def _weights(inner) -> np.ndarray:
    return coef_of(inner)[:, inner.support_]


def _dense(Phi) -> np.ndarray:
    return Phi.toarray() if sparse.issparse(Phi) else np.asarray(Phi, dtype=np.float64)


def row_facts(inner, X, names: np.ndarray, labels: list[str], background, told: dict[str, Callable]) -> dict[str, Any]:
    """Samples that a reader can pick on the page, each with its largest contributions.

    For several classes these are the contributions to the score of the predicted class, less those to the score of the
    second most probable one. `told` has functions of the row for what else is known of it, such as the truth.
    """
    X, n = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X), X.shape[0]
    if not len(inner.support_):
        return {"rows": [], "of": n}
    rows = np.arange(n) if n <= ROWS else np.sort(np.random.default_rng(0).choice(n, ROWS, replace=False))
    background = mean_columns(inner, X) if background is None else background
    whys = explain(inner, X[rows], background, names)
    places = {str(name): place for place, name in enumerate(dict.fromkeys(whys[0].names.tolist()))}
    found = []
    for i, why in zip(rows.tolist(), whys, strict=True):
        told_here = {key: value(i) for key, value in told.items()}
        found.append({"row": i + 1, **told_here, **_added(why, labels, places)})
    return {"rows": found, "of": n, "names": list(places), "kernel": what_is_kept(inner) == "vectors"}


def _added(why: Explanation, labels: list[str], places: dict[str, int]) -> dict[str, Any]:
    """The largest contributions to a score, or to the difference between the two greatest scores."""
    if len(why.scores) == 1:
        added, base, score, towards, against = why.contributions[0], why.base[0], why.scores[0], labels[1:], labels[:1]
    else:
        first, second = np.argsort(-why.scores, kind="stable")[:2]
        added, base, score = (part[first] - part[second] for part in (why.contributions, why.base, why.scores))
        towards, against = [labels[first]], [labels[second]]
    order = np.argsort(-np.abs(added), kind="stable")[:LARGEST]
    return {
        "towards": (towards or [label_of(0, 1, labels)])[0],
        "against": (against or [""])[0],
        "base": float(base),
        "score": float(score),
        "columns": [places[str(why.names[j])] for j in order],
        "values": [_six_digits(why.values[j]) for j in order],
        "added": [_six_digits(added[j]) for j in order],
        "rest": float(added.sum() - added[order].sum()),
        "others": len(added) - len(order),
    }


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
