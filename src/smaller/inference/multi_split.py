"""p-values by splitting the samples many times: one half chooses features, the other tests them."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from ..errors import ConvergenceWarning, EmptyModelWarning
from ..models.adaptive import LaplaceRegressor
from ..models.multinomial import SMLR
from ..progress import tell
from .checked import Rows
from .entry import Sample, first_features
from .halves import complementary_pairs
from .one_step import curvature_at, maximum_likelihood

ROWS_FOR_EACH = 8  # of the rarest class in the testing half, for each feature tested
LEAST_SHARE = 0.25  # of the splits: g_min


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
    pairs = complementary_pairs(codes, None, len(rows.y), n_splits, rng)
    found: list[np.ndarray | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # separated halves are counted instead
        for p in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(_on_split)(rows, *pair) for pair in pairs
        ):
            found.append(p)
            tell(f"multi-split: {len(found)} of {n_splits} splits done")
    untested = np.ones(rows.X.shape[1])
    P = np.array([untested if p is None else p for p in found])
    return SplitTests(P, sum(p is None for p in found))


def _on_split(rows: Rows, choosing: np.ndarray, testing: np.ndarray) -> np.ndarray | None:
    """p-values of the features that one half chooses, from the other; None where they separate its classes."""
    classes = is_classifier(rows.estimator)
    least = np.unique(rows.y[testing], return_counts=True)[1].min() if classes else len(testing)
    chosen = np.flatnonzero(
        first_features(rows.estimator, _part(rows, choosing), max(int(least) // ROWS_FOR_EACH, 1), rows.candidates)
    )
    p = np.ones(rows.X.shape[1])
    if len(chosen):
        X, y, extra = _part(rows, testing)
        tested = (_class_tests if classes else _number_tests)((X[:, chosen], y, extra), rows.estimator.fit_intercept)
        if tested is None:
            return None
        p[chosen] = np.minimum(1.0, len(chosen) * tested)
    return p


def _part(rows: Rows, some: np.ndarray) -> Sample:
    return rows.X[some], rows.y[some], {name: values[some] for name, values in rows.extra.items()}


def _class_tests(sample: Sample, fit_intercept: bool) -> np.ndarray | None:
    """Wald's tests of maximum likelihood; likelihood-ratio tests were wrong more often in simulations."""
    X, y, extra = sample
    model = SMLR(0.0, parametrization="reference", fit_intercept=fit_intercept, standardize=True).fit(X, y, **extra)
    if model.status_ == "separable":
        return None
    k = 1 if len(model.classes_) == 2 else len(model.classes_) - 1
    found = maximum_likelihood(curvature_at(model, sample, model.coef_[:k].T, model.intercept_[:k]))
    return found.wald()


def _number_tests(sample: Sample, fit_intercept: bool) -> np.ndarray | None:
    """F tests of least squares."""
    X, y, extra = sample
    model = LaplaceRegressor(1.0, noise=1.0, fit_intercept=fit_intercept, standardize=False)
    at = curvature_at(model, sample, np.zeros((X.shape[1], 1)), np.zeros(1))
    H, pull = at.hessian[:, 0, :, 0], at.pull[:, 0]
    weight = extra.get("sample_weight", np.ones(len(y)))
    known = y - extra["offset"].reshape(-1) if "offset" in extra else y
    known = known - (weight @ known / weight.sum() if fit_intercept else 0.0)
    inverse = np.linalg.pinv(H, hermitian=True)
    weights = inverse @ pull
    free = weight.sum() - X.shape[1] - int(fit_intercept)
    noise = max(float(weight @ known**2 - weights @ pull), 0.0) / free
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.nan_to_num(weights**2 / (noise * np.diagonal(inverse)), nan=0.0)
    return f_distribution.sf(statistic, 1, free)
