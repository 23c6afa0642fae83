"""Intervals and p-values of the weights of a sparse model, where they can be trusted."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state

from ..errors import IntervalWarning, choose, warn
from ..models.selector import input_names
from .checked_input import Rows, checked_rows, refuse_other_columns
from .first_features import has_path
from .multi_split import aggregated, split_tests
from .multiplicity import benjamini_yekutieli, holm
from .reused_rows import through_pipeline, warn_of_kept_columns
from .weight_estimates import (
    determined,
    largest_leverage,
    likelihood_estimates,
    one_step_estimates,
    standardised_rows,
    total,
)
from .weight_table import WeightTable

TRUSTED, LEAST = 8, 2  # samples for each weight: for intervals, and for estimates of any kind
RAREST = 2  # samples of the rarest class for each feature: for intervals
FARTHEST = 0.5  # leverage of a sample: with more, intervals of classes covered too little in simulations
ROWS_OF_A_CLASS = 10
LEAST_SPLITS = 20
MOST_WEIGHTS = 10_000  # the Hessian of more would take more than 0.8 GB
CHOICES = ("auto", "anyway"), ("auto", "debiased", "multi-split")
LIKELIHOOD, ONE_STEP = "likelihood", "one step"
REMEDY = "take logarithms or ranks of columns with a few very large values, and leave out columns that few samples have"


def debiased(
    model, X, y, level=0.95, *, intervals="auto", p_values="auto", reference=None, penalty=0.1, n_splits=50,
    sample_weight=None, offset=None, random_state=None, n_jobs=None,
) -> WeightTable:  # fmt: skip
    """Intervals and p-values for the weights of an L1 model, every feature given all others.

    The weights of an L1 fit are pulled towards 0 and have no standard errors. What can be said of the weights without
    that pull depends on n samples, p features and k = classes - 1 contrasts with one class (1 for numbers) ::

        n >= 8 p k            estimates, intervals and p-values by likelihood, where each class has at least 2 p samples
        2 p k <= n < 8 p k    p-values of many splits; estimates and intervals by one step, which cover strong effects
                              too rarely, are given with ``intervals="anyway"`` and a warning
        n < 2 p k             p-values of many splits only

    *By likelihood*: for numbers least squares with Student's t; for classes maximum likelihood less its first-order
    bias (Firth 1993), as maximum likelihood itself pulls weights away from 0. The strength of the model plays no part.

    *One step* from the L1 fit, along directions in which each column differs from all others, takes most of the pull
    away (the de-sparsified lasso: Zhang & Zhang 2014, van de Geer et al. 2014).

    *Many splits* (Meinshausen, Meier & Buehlmann 2009): one half of the samples chooses features, maximum likelihood on
    the other half tests them, fifty times. It assumes that the choosing half finds every true feature.

    Where a column is a sum of multiples of others, single weights are not determined: then there are no intervals,
    whatever the number of samples. Nor are there any for classes where a sample has a leverage above 0.5, as happens
    with columns of a few very large values: intervals would cover too little. Columns that the model excludes
    (``penalty_factor`` of infinity) are left out; those that it does not penalise (0) take part in the test of every
    split.

    Parameters
    ----------
    model : SMLR, SMLRCV, SBMLR, LaplaceRegressor, a Pipeline that ends in one of them, or None
        Fitted on these samples, or not fitted: then a copy is, where one step starts from it. None is
        ``SMLRCV(standardize=True)`` for labels and `LaplaceRegressorCV` for numbers (y with fractions): simulations are
        of these.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Independent samples.
    y : array-like of shape (n_samples,)
        Labels, each of at least 10 samples, or numbers.
    level : float, default=0.95
        Of the intervals, each by itself.
    intervals : {"auto", "anyway"}, default="auto"
        "anyway" gives intervals wherever ``n >= 2 p k``, with a warning where they cannot be trusted.
    p_values : {"auto", "debiased", "multi-split"}, default="auto"
        "auto" is "debiased" where intervals can be trusted, and otherwise "multi-split", which comes without intervals
        unless they are asked for.
    reference : label, default=None
        The class that the others are compared with; None is the last of several, the first of two.
    penalty : float, default=0.1
        Of the lassos that find the directions of one step, as a multiple of ``sqrt(2 log(p k))`` standard deviations.
        Theory has 0.5 to 1, at which intervals of strong effects covered far too little in simulations.
    n_splits : int, default=50
    sample_weight, offset : array-like, optional
        As in the model's fit. A weight of 2 counts like the same sample given twice.
    random_state : int, RandomState instance or None, default=None
        Draws the splits; the result does not depend on `n_jobs`.
    n_jobs : int, default=None
        Splits at a time.

    Returns
    -------
    WeightTable

    Examples
    --------
    >>> import numpy as np
    >>> from smaller.inference import debiased
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 10))
    >>> y = (X[:, 0] - X[:, 1] + rng.logistic(size=400) > 0).astype(int)
    >>> table = debiased(None, X, y)
    >>> table.significant().tolist()
    [0, 1]
    >>> print(f"{table.lower[0, 0]:.2f} to {table.upper[0, 0]:.2f}")
    0.61 to 1.13
    """
    _check_options(level, intervals, p_values, penalty, n_splits)
    model, X, names = through_pipeline(model, X, y)
    rows = _checked(model, X, y, {"sample_weight": sample_weight, "offset": offset})
    warn_of_kept_columns(rows.marks, len(rows.unit))
    classes = _ordered_classes(rows, reference)
    gate = _gate(rows, classes, intervals, p_values)
    estimates = None
    if gate.estimates == LIKELIHOOD:
        estimates = likelihood_estimates(rows, classes)
    elif gate.estimates == ONE_STEP:
        estimates = one_step_estimates(model, rows, classes, penalty)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    p, note = _tests(rows, gate, estimates, n_splits, rng, n_jobs)
    if gate.warning:
        warn(gate.warning, IntervalWarning)
    shown = estimates if gate.intervals else None
    names = _names(model, names, len(rows.unit))
    return _table(rows, classes, names, p, shown, level, gate, f"{gate.reason}{note}")


class Gate(NamedTuple):
    """Which results so many samples for each weight allow."""

    method: str
    estimates: str  # how the weights are estimated; empty where they are not needed
    intervals: bool
    reason: str
    warning: str = ""


class Debiased(BaseEstimator):
    """Carries the model through the checks that selectors share; scikit-learn's messages name this class."""

    def __init__(self, estimator=None):
        self.estimator = estimator


# -- checks


def _check_options(level, intervals, p_values, penalty, n_splits) -> None:
    choose("intervals", intervals, CHOICES[0])
    choose("p_values", p_values, CHOICES[1])
    if not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"level must be a probability between 0 and 1, such as 0.95; got {level!r}.")
    if not (isinstance(penalty, Real) and 0 < float(penalty) < np.inf):
        raise ValueError(f"penalty must be a positive number; got {penalty!r}.")
    if not (isinstance(n_splits, Integral) and int(n_splits) >= LEAST_SPLITS):
        raise ValueError(
            f"n_splits must be a whole number of at least {LEAST_SPLITS}, so that p-values of splits can be combined; "
            f"got {n_splits!r}."
        )


def _checked(model, X, y, fit_params: dict) -> Rows:
    if model is not None and not has_path(model):
        raise ValueError(
            f"debiased takes SMLR, SMLRCV, SBMLR or LaplaceRegressor; got {type(model).__name__}. Give one of these, "
            "or None for the usual one."
        )
    if getattr(model, "groups", None) is not None:
        raise ValueError(
            "debiased corrects the bias of an L1 penalty, and the model has groups; give one without groups, or None."
        )
    if getattr(model, "relax", False):
        raise ValueError(
            "debiased corrects the bias of an L1 fit, and relax=True takes some of it away already, on the same "
            "samples; give the model without relax, or None."
        )
    if getattr(model, "class_weight", None) is not None:
        raise ValueError(
            "class_weight changes the likelihood, so that no standard errors hold; give class_weight=None."
        )
    refuse_other_columns(model, X)
    rows = checked_rows(Debiased(model), X, y, None, fit_params, ensure_min_features=1, ensure_min_samples=10)
    rows = _without_excluded(rows)
    if not rows.X.shape[1]:
        raise ValueError("Every column of X is constant, or excluded by the model: there is nothing to test.")
    if not is_classifier(rows.estimator):
        return rows
    labels, counts = np.unique(rows.y, return_counts=True)
    if counts.min() < ROWS_OF_A_CLASS:
        raise ValueError(
            f"debiased needs at least {ROWS_OF_A_CLASS} samples of each class; class {labels[counts.argmin()]} has "
            f"{counts.min()}. Leave that class out, or join it to another."
        )
    return rows


def _without_excluded(rows: Rows) -> Rows:
    """The rows without the columns that the model excludes; columns that are no candidates are then free."""
    factor = getattr(rows.estimator, "penalty_factor", None)
    if factor is None:
        return rows
    if np.ndim(factor) > 1:
        raise ValueError(
            "debiased tests a feature in all classes together; give the model one penalty factor for each column."
        )
    factor = np.asarray(factor)
    kept = np.isfinite(factor)
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    rows.estimator.set_params(penalty_factor=factor[kept])
    return rows._replace(
        X=rows.X[:, kept], candidates=rows.candidates[kept], chosen=rows.chosen[kept], unit=place[rows.unit]
    )


def _ordered_classes(rows: Rows, reference) -> np.ndarray:
    """The classes, the reference last; empty for numbers."""
    if not is_classifier(rows.estimator):
        if reference is not None:
            raise ValueError(f"reference is a class, but y has numbers; leave reference={reference!r} out.")
        return np.array([])
    classes = np.unique(rows.y)
    if reference is None:
        return classes if len(classes) > 2 else classes[::-1]
    if reference not in classes.tolist():
        raise ValueError(f"reference must be one of the classes {classes.tolist()}; got {reference!r}.")
    return np.append(classes[classes != reference], reference)


def _gate(rows: Rows, classes: np.ndarray, intervals: str, p_values: str) -> Gate:
    """Which method, by the number of samples for each weight."""
    n, p, k = total(rows), rows.X.shape[1], max(len(classes) - 1, 1)
    share = f"{n:g} samples for {p * k} weights ({p} features{f' and {k} contrasts' if k > 1 else ''})"
    if p_values == "multi-split" and intervals == "auto":
        return Gate("multi-split", "", False, f"There are {share}.")
    if n < LEAST * p * k and (intervals == "anyway" or p_values == "debiased"):
        raise ValueError(
            f"Estimates and intervals need at least {LEAST} samples for each weight, and {TRUSTED} to be trusted; "
            f"there are {share}. Give p_values='multi-split' and intervals='auto', fewer columns, or more samples."
        )
    why, estimates = _doubt(rows, classes, n / (p * k), share)
    method = p_values if p_values != "auto" else "multi-split" if why else "debiased"
    if not why:
        enough = f"There are {share}, at least {TRUSTED} for each: intervals can be trusted."
        return Gate(method, estimates, True, enough)
    if intervals == "anyway" or method == "debiased":
        _refuse_large(p * k)
    if intervals == "anyway":
        return Gate(method, estimates, True, f"{why}; intervals are given because intervals='anyway'.", f"{why}.")
    return Gate(method, estimates if method == "debiased" else "", False, f"{why}, so that no intervals are given.")


def _doubt(rows: Rows, classes: np.ndarray, samples: float, share: str) -> tuple[str, str]:
    """Why intervals cannot be trusted with so many samples for each weight, if so, and the best estimates there are."""
    p, rarest = rows.X.shape[1], _rarest(rows, classes)
    if samples < TRUSTED:
        few = f"There are {share}, fewer than {TRUSTED} for each"
        return f"{few}: intervals of strong effects would cover too little", ONE_STEP
    _refuse_large(p * max(len(classes) - 1, 1))
    if not determined(rows):
        sums = "Some columns are sums of multiples of others, as all categories of a text are"
        return f"{sums}: single weights are not determined", ONE_STEP
    if rarest < RAREST * p:
        few = f"The rarest class has {rarest:g} samples for {p} features, fewer than {RAREST} for each"
        return f"{few}: tests and intervals would err too often", LIKELIHOOD
    leverage = largest_leverage(rows) if len(classes) else 0.0
    if leverage > FARTHEST:
        far = f"One sample decides {leverage:.0%} of its own fitted value, more than {FARTHEST:.0%} ({REMEDY})"
        return f"{far}: tests and intervals would err too often", LIKELIHOOD
    return "", LIKELIHOOD


def _rarest(rows: Rows, classes: np.ndarray) -> float:
    """Samples of the rarest class, a sample of weight 2 counted twice; infinite for numbers."""
    weight = rows.extra.get("sample_weight", np.ones(len(rows.y)))
    return min((float(weight[rows.y == label].sum()) for label in classes), default=np.inf)


def _refuse_large(weights: int) -> None:
    if weights > MOST_WEIGHTS:
        raise ValueError(
            f"X has {weights} weights to estimate, more than {MOST_WEIGHTS}, whose Hessian would not fit in memory; "
            "give p_values='multi-split' with fewer samples, or test fewer columns that were chosen on other samples."
        )


# -- tests and the table


def _tests(rows: Rows, gate: Gate, estimates, n_splits: int, rng, n_jobs) -> tuple[np.ndarray, str]:
    """p-values of the columns kept, and what is to be said of the splits."""
    if gate.method == "debiased":
        return estimates.wald(), ""
    found = split_tests(rows._replace(X=standardised_rows(rows)[0][0]), n_splits, rng, n_jobs)
    note = (
        f" p-values come from {n_splits} splits, which assume that the half that selects features finds every true one."
    )
    if found.failed:
        note += f" On {found.failed} of them the chosen features separate the classes, which counts as p = 1."
    return aggregated(found.p_values), note


def _names(model, names, d: int) -> list[str]:
    if names is not None:
        return [str(name) for name in names]
    known = model is not None and hasattr(model, "n_features_in_") and model.n_features_in_ == d
    return [str(name) for name in (input_names(model) if known else [f"x{j}" for j in range(d)])]


def _table(rows: Rows, classes, names, p, estimates, level: float, gate: Gate, reason: str) -> WeightTable:
    kept, own = rows.unit >= 0, np.full(len(rows.unit), False)
    own[rows.chosen] = True
    everywhere: dict[str, Any] = {"p_value": p, "p_holm": p, "p_by": p}
    if gate.method == "debiased":
        everywhere |= {"p_holm": holm(p), "p_by": benjamini_yekutieli(p)}
    columns: dict[str, Any] = {name: np.where(kept, of[rows.unit], np.nan) for name, of in everywhere.items()}
    numbers: dict[str, Any] = dict.fromkeys(("estimate", "standard_error", "lower", "upper"))
    if estimates is not None:
        error = np.sqrt(np.diagonal(estimates.covariance, axis1=1, axis2=2))
        reach = estimates.reach(level)
        found = estimates.weights, error, estimates.weights - reach, estimates.weights + reach
        numbers = {
            name: np.where(own, values.T[:, rows.unit], np.nan) for name, values in zip(numbers, found, strict=True)
        }
    contrasts = [f"{label} against {classes[-1]}" for label in classes[:-1]] or ["target"]
    columns |= {**numbers, "level": float(level), "method": gate.method, "n_samples": total(rows)}
    return WeightTable(names, contrasts, **columns, n_distinct=len(p), reason=reason, copies=rows.copies())
