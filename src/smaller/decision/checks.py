"""Checks of probabilities, priors, costs and labels, which return them as arrays of one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from ..models.base import checked_weights

SUM_TOLERANCE = 1e-4  # of the sum of a row of probabilities: allows float32, and numbers printed with five digits


def probabilities(P) -> np.ndarray:
    """P as float64, (n, K), each row a distribution over K >= 2 classes."""
    P = _numbers("P", P)
    if P.ndim != 2:
        raise ValueError(
            f"P must be a matrix of class probabilities, (n_samples, n_classes); got shape {P.shape}. For two classes "
            "give both columns, np.column_stack([1 - p, p])."
        )
    if P.shape[0] < 1 or P.shape[1] < 2:
        raise ValueError(f"P must have at least one row and two columns, one for each class; got shape {P.shape}.")
    _refuse_row(~np.isfinite(P).all(axis=1), P, "contains NaN or infinity", "every probability must be a number")
    _refuse_row((P < 0).any(axis=1), P, "has a negative value", "give probabilities, not scores")
    off = np.abs(P.sum(axis=1) - 1.0) > SUM_TOLERANCE
    _refuse_row(off, P, "does not sum to 1", "give probabilities, or divide each row by its sum")
    return P


def _numbers(name: str, values) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {str(error).rstrip('.')}.") from error


def number(name: str, value) -> float:
    """A single number, not NaN."""
    if not isinstance(value, Real) or np.isnan(float(value)):
        raise ValueError(f"{name} must be a number; got {value!r}.")
    return float(value)


def _refuse_row(wrong: np.ndarray, P: np.ndarray, what: str, remedy: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        others = int(wrong.sum()) - 1
        more = f" (and {others} more rows)" if others else ""
        raise ValueError(f"Row {row} of P {what}{more}: {np.array2string(P[row], precision=4)}; {remedy}.")


def labels_of(classes, K: int) -> np.ndarray:
    """The class of each column: those given, or 0, ..., K - 1."""
    if classes is None:
        return np.arange(K)
    classes = np.asarray(classes)
    if classes.shape != (K,):
        raise ValueError(f"classes must name the {K} columns of P; got {classes.tolist()}.")
    if len(np.unique(classes)) < K:
        raise ValueError(f"classes must name each column of P differently; got {classes.tolist()}.")
    return classes


def positions(y, classes: np.ndarray) -> np.ndarray:
    """The position of each label among the classes."""
    y = column_or_1d(y)
    order = np.argsort(classes)
    try:
        found = np.clip(np.searchsorted(classes, y, sorter=order), 0, len(classes) - 1)
    except TypeError:  # labels of types that cannot be compared
        known = classes.tolist()
        strange = next(label for label in y.tolist() if label not in known)
        raise ValueError(
            f"y has labels that are not among the classes, such as {strange!r}; the classes are {known}."
        ) from None
    codes = order[found]
    unknown = classes[codes] != y
    if np.any(unknown):
        strange = np.unique(y[unknown]).tolist()
        raise ValueError(f"y has labels that are not among the classes: {strange}; the classes are {classes.tolist()}.")
    return codes


def sample_weights(sample_weight, n: int) -> np.ndarray:
    """Weights of n samples, not all 0."""
    return checked_weights(sample_weight, np.empty((n, 1)))


def priors(values, classes: np.ndarray, name: str, positive: bool = False) -> np.ndarray:
    """A distribution over the classes, given in their order or by label."""
    if isinstance(values, Mapping):
        values = _by_label(values, classes, name)
    values = _numbers(name, values)
    K = len(classes)
    if values.shape != (K,):
        raise ValueError(f"{name} must have one value for each of the {K} classes; got shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must be finite and not negative; got {values.tolist()}.")
    if abs(values.sum() - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1; {values.tolist()} sums to {values.sum():.6g}.")
    if positive and not values.all():
        never = classes[values == 0].tolist()
        raise ValueError(
            f"{name} must be positive, but is 0 for the class{'es' if len(never) > 1 else ''} {never}: the "
            "classifier was not trained on such a class; leave its column out of P, or train with samples of it."
        )
    return values / values.sum()


def _by_label(values: Mapping, classes: np.ndarray, name: str) -> list[float]:
    known = classes.tolist()
    _refuse_unknown(values, known, name)
    missing = [label for label in known if label not in values]
    if missing:
        raise ValueError(f"{name} must have a value for every class; it lacks {missing}.")
    return [values[label] for label in known]


def _refuse_unknown(labels, known: list, name: str) -> None:
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise ValueError(f"{name} names classes that are not known: {unknown}; the classes are {known}.")


def costs(cost, classes: np.ndarray) -> np.ndarray:
    """cost[i, j] of deciding for class j when i is true, (K, K); by default 0 if right and 1 if wrong."""
    K = len(classes)
    if cost is None or isinstance(cost, Mapping):
        return _named_costs(cost or {}, classes)
    cost = _numbers("cost", cost)
    if cost.shape != (K, K):
        raise ValueError(
            f"cost must have shape ({K}, {K}), a row for each true class and a column for each decision; "
            f"got shape {cost.shape}."
        )
    return _amounts("cost", cost)


def _named_costs(named: Mapping, classes: np.ndarray) -> np.ndarray:
    known = classes.tolist()
    cost = 1.0 - np.eye(len(known))
    for pair, amount in named.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"The keys of cost must be pairs (true class, decision); got {pair!r}.")
        _refuse_unknown(pair, known, "cost")
        cost[known.index(pair[0]), known.index(pair[1])] = number(f"The cost of {pair}", amount)
    return _amounts("cost", cost)


def reject_costs(reject_cost, classes: np.ndarray) -> np.ndarray:
    """Cost of rejecting a sample of each class, (K,): one for all, one for each, or by label."""
    if isinstance(reject_cost, Mapping):
        reject_cost = _by_label(reject_cost, classes, "reject_cost")
    amounts = _numbers("reject_cost", reject_cost)
    if amounts.shape not in ((), classes.shape):
        raise ValueError(
            f"reject_cost must be a number, or one for each of the {len(classes)} classes; got shape {amounts.shape}."
        )
    return _amounts("reject_cost", np.broadcast_to(amounts, classes.shape))


def _amounts(name: str, values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(
            f"{name} contains NaN or infinity; a forbidden decision needs a cost that is large but finite."
        )
    if (values < 0).any():
        raise ValueError(
            f"{name} must not be negative; the least is {values.min():g}. A gain is a cost once the same amount is "
            "added to all decisions."
        )
    return values


def reject_label_of(reject_label, classes: np.ndarray) -> Any:
    """The label of rejected samples: the one given, or for "auto" one of the same kind as the classes.

    Numbers: -1, or one below the least class if that is lower or taken. Strings: "reject".
    """
    if not (isinstance(reject_label, str) and reject_label == "auto"):
        if np.ndim(reject_label):
            raise ValueError(f"reject_label must be a single label; got {reject_label!r}.")
        if reject_label in classes.tolist():
            raise ValueError(f"reject_label={reject_label!r} is a class; give a label that no class has.")
        return reject_label
    if classes.dtype.kind in "biuf":
        return min(-1, -1 if classes.min() >= 0 else int(np.floor(classes.min())) - 1)
    if all(isinstance(label, str) and label != "reject" for label in classes.tolist()):
        return "reject"
    raise ValueError(
        f"reject_label='auto' needs classes that are all numbers, or all strings other than 'reject'; got "
        f"{classes.tolist()}. Give reject_label."
    )


def with_reject_label(classes: np.ndarray, reject_label: Any) -> np.ndarray:
    """The classes and, last, the reject label: numbers stay numbers and strings strings, else dtype object."""
    extra = np.asarray(reject_label)
    numeric = "biuf"
    if (classes.dtype.kind in numeric and extra.dtype.kind in numeric) or classes.dtype.kind == extra.dtype.kind == "U":
        # An unsigned or boolean dtype has no -1.
        dtype = np.int64 if classes.dtype.kind in "bu" and extra.dtype.kind == "i" else None
        return np.append(classes if dtype is None else classes.astype(dtype), extra)
    labels = np.empty(len(classes) + 1, dtype=object)
    labels[:-1], labels[-1] = classes, reject_label
    return labels


def fraction(name: str, value, ends: Sequence[bool] = (True, True)) -> float:
    """A number between 0 and 1; `ends`: whether 0 and whether 1 are allowed."""
    given = float(value) if isinstance(value, Real) else np.nan
    if not (0 < given < 1 or (given == 0 and ends[0]) or (given == 1 and ends[1])):
        raise ValueError(f"{name} must be a fraction between 0 and 1; got {value!r}.")
    return given


def threshold(value) -> float:
    """A least probability from 0 to 1, or an infinity: -inf accepts all samples, inf none."""
    given = number("threshold", value)
    if not (0 <= given <= 1 + SUM_TOLERANCE or np.isinf(given)):
        raise ValueError(
            f"threshold must be a fraction between 0 and 1; got {value!r}. (-inf rejects nothing, inf everything.)"
        )
    return given
