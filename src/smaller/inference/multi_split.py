"""p-values by splitting the samples many times: one half chooses features, the other tests them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.parallel import delayed

from ..errors import ConvergenceWarning, EmptyModelWarning
from ..models.multinomial import SMLR
from .bias_reduced import least_squares
from .checked_input import Rows
from .feature_selector import in_parallel
from .first_features import Sample, first_features
from .half_samples import complementary_pairs
from .one_step import Estimates, curvature_at, maximum_likelihood

ROWS_FOR_EACH = 8  # of the rarest class in the testing half, for each feature tested
LEAST_ROWS_FOR_EACH = 2  # of the same, for each column without a penalty
LEAST_SHARE = 0.25  # of the splits: g_min
DEPENDENT = 1e-6  # of a column's norm: where less than this is left of it, it is a sum of multiples of others


class SplitTests(NamedTuple):
    """p-values of all columns on every split."""

    p_values: np.ndarray  # (n_splits, d): times the number tested, 1 of columns that were not chosen
    failed: int  # splits whose testing half is separated by the columns chosen, so that nothing could be tested


def aggregated(P: np.ndarray, least_share: float = LEAST_SHARE) -> np.ndarray:
    """One p-value of each column from those of B splits, (d,) (Meinshausen, Meier & Buehlmann 2009) ::

        p_j = min(1, (1 - log g_min) min over g >= g_min of P_(ceil(g B)) / g),     g = g_min, ..., 1 - 1/B

    ``P`` (B, d) are the p-values of each split times the number of its tests. The family-wise error of the result is
    controlled, so that no further adjustment is needed.
    """
    B = len(P)
    places = np.arange(int(np.ceil(np.round(least_share * B, 8))), B)
    shares = places / B
    quantiles = np.sort(P, axis=0)[places - 1] / shares[:, None]
    return np.minimum(1.0, (1 - np.log(shares[0])) * quantiles.min(axis=0))


def split_tests(rows: Rows, n_splits: int, rng: np.random.Generator, n_jobs) -> SplitTests:
    """Choose and test on `n_splits` random pairs of halves."""
    codes = np.unique(rows.y, return_inverse=True)[1] if is_classifier(rows.estimator) else None
    _refuse_many_free(rows, codes)
    pairs = complementary_pairs(codes, None, len(rows.y), n_splits, rng)
    work = (delayed(_on_split)(rows, *pair) for pair in pairs)
    told = f"multi-split: {{done}} of {n_splits} splits done"
    # Separated halves are counted, and need no warning.
    found = in_parallel(work, n_jobs, told, EmptyModelWarning, ConvergenceWarning)
    untested = np.ones(rows.X.shape[1])
    P = np.array([untested if p is None else p for p in found])
    return SplitTests(P, sum(p is None for p in found))


def _refuse_many_free(rows: Rows, codes: np.ndarray | None) -> None:
    """Refuse more columns without a penalty than half of the samples could test."""
    free = np.count_nonzero(~rows.candidates)
    half = (len(rows.y) if codes is None else int(np.bincount(codes).min())) // 2
    if free * LEAST_ROWS_FOR_EACH > half:
        raise ValueError(
            f"The model leaves {free} columns without a penalty, too many for a test on half of the samples ({half} "
            "of them, or of the rarest class); penalise some of them."
        )


def _on_split(rows: Rows, choosing: np.ndarray, testing: np.ndarray) -> np.ndarray | None:
    """p-values of the features that one half chooses, from the other; None where they separate its classes."""
    classes = is_classifier(rows.estimator)
    least = np.unique(rows.y[testing], return_counts=True)[1].min() if classes else len(testing)
    free = np.flatnonzero(~rows.candidates)  # columns without a penalty adjust every test, and are tested themselves
    most = max(int(least) // ROWS_FOR_EACH - len(free), 1)
    strengths = first_features(rows.estimator, _part(rows, choosing), most, rows.candidates)
    X, y, extra = _part(rows, testing)
    order = np.argsort(-strengths, kind="stable")[: np.count_nonzero(strengths)]
    chosen = _independent(X, np.append(free, order), rows.estimator.fit_intercept)
    p = np.ones(rows.X.shape[1])
    if len(chosen):
        estimates = _class_estimates if classes else least_squares
        tested = estimates((X[:, chosen], y, extra), rows.estimator.fit_intercept)
        if tested is None:
            return None
        p[chosen] = np.minimum(1.0, len(chosen) * tested.wald())
    return p


def _independent(X, columns: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """The columns that are no sums of multiples of those before them and of the intercept, sorted.

    Categories that add up to 1 are such a sum: the weight of the last that entered is not determined.
    """
    Z = X[:, columns].toarray() if sparse.issparse(X) else np.asarray(X[:, columns], dtype=np.float64)
    Z = np.column_stack([np.full(len(Z), float(fit_intercept)), Z])
    left = np.abs(np.diagonal(np.linalg.qr(Z, mode="r")))
    return np.sort(columns[left[1:] > DEPENDENT * np.sqrt((Z[:, 1:] ** 2).sum(axis=0))])


def _part(rows: Rows, some: np.ndarray) -> Sample:
    return rows.X[some], rows.y[some], {name: values[some] for name, values in rows.extra.items()}


def _class_estimates(sample: Sample, fit_intercept: bool) -> Estimates | None:
    """Maximum likelihood for Wald's tests; likelihood-ratio tests were wrong more often in simulations."""
    X, y, extra = sample
    model = SMLR(0.0, parametrization="reference", fit_intercept=fit_intercept, standardize=True).fit(X, y, **extra)
    if model.status_ == "separable":
        return None
    k = 1 if len(model.classes_) == 2 else len(model.classes_) - 1
    try:
        found = maximum_likelihood(curvature_at(model, sample, model.coef_[:k].T, model.intercept_[:k]))
        np.linalg.cholesky(found.covariance)
    except np.linalg.LinAlgError:  # all probabilities are 0 or 1 but for rounding errors
        return None
    return found
