"""Labels, class weights, penalty factors and offsets in the shapes of the objective, and its weights in the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from ..design import follow, host, namespace
from ..objective.posterior import Posterior
from ..solvers.symmetric_weights import canonical

LARGEST_OFFSET = 1e12  # nats


def encode(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and each sample's position among them, beside y."""
    if not isinstance(y, np.ndarray):  # on a device
        found = namespace(y).unique_inverse(y)
        classes, codes = host(found.values), found.inverse_indices
    else:
        classes, codes = _distinct(y)
        # Integers are labels. Where nearly every sample has a label of its own, scikit-learn's check warns.
        if y.dtype.kind not in "iub" or 2 * len(classes) > len(y):
            check_classification_targets(y)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; got one class only: {classes[0]}.")
    return classes, codes


def _distinct(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values in order, and the place of each y among them; small integers are counted, not sorted."""
    if y.dtype.kind in "iub" and y.ndim == 1 and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low <= len(y) and high <= np.iinfo(np.intp).max:
            places = np.subtract(y, low, dtype=np.intp)
            found = np.flatnonzero(np.bincount(places))
            place = np.zeros(high - low + 1, dtype=np.intp)
            place[found] = np.arange(len(found))
            return (found + low).astype(y.dtype), place[places]
    try:
        return np.unique(y, return_inverse=True)
    except TypeError:
        types = sorted({type(label).__name__ for label in y.tolist()})
        raise ValueError(
            f"The labels y are of types that cannot be sorted together: {', '.join(types)}; give all labels as "
            "numbers, or all as text, and replace or drop missing ones."
        ) from None


def class_weights(class_weight, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A factor for each sample; "balanced" counts weights: a sample of weight 2 counts like two samples."""
    if class_weight is None:
        return np.ones(len(weight))
    codes = host(codes)
    if class_weight == "balanced":
        counts = np.bincount(codes, weights=weight)[codes]
        return weight.sum() / (len(classes) * counts)
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    # A fold may lack a named class. A name that no class has, while some class has no name, is an error.
    if unknown and not set(known) <= set(class_weight):
        raise ValueError(f"class_weight names classes that y does not have: {unknown}; the classes are {known}.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise ValueError(f"class_weight must be positive and finite for every class; got {class_weight}.")
    return factors[codes]


def penalty_factors(penalty_factor, d: int, k: int) -> np.ndarray | None:
    """Factors of shape (d,) or (d, k), infinite for columns that are left out; the user's rows are classes."""
    if penalty_factor is None:
        return None
    name = "penalty_factor"
    factor = check_array(penalty_factor, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name=name)
    if np.isnan(factor).any():
        raise ValueError(
            "penalty_factor has NaN; give 1 where nothing is known, 0 to free a weight, inf to leave it out."
        )
    if factor.shape not in ((d,), (k, d)):
        raise ValueError(
            f"penalty_factor must have shape ({d},), one for each basis column, or ({k}, {d}), one for each weight; "
            f"got {factor.shape}."
        )
    if (factor < 0).any():
        raise ValueError(f"penalty_factor must not be negative; the smallest is {factor.min()}.")
    if factor.ndim == 2 and (np.isinf(factor).any(axis=0) != np.isinf(factor).all(axis=0)).any():
        raise ValueError("penalty_factor=inf leaves a column out: it must be inf for all rows of that column, or none.")
    if d and np.isinf(factor).all():
        raise ValueError(
            "penalty_factor is inf for every column, which leaves all of them out; keep at least one finite."
        )
    return factor if factor.ndim == 1 else np.ascontiguousarray(factor.T)


def prediction_offset(offset, n: int, columns: int) -> np.ndarray:
    """An offset in the columns of the scores: one for two classes, else one for each class."""
    offset = np.asarray(offset, dtype=np.float64)
    if not np.isfinite(offset).all():
        raise ValueError("offset contains NaN or infinity; its values must be finite.")
    if offset.shape == (n,) and columns == 1:
        return offset[:, None]
    if offset.shape == (n, 2) and columns == 1:
        return offset[:, 1:] - offset[:, :1]
    if offset.shape != (n, columns):
        shapes = f"({n},) or ({n}, 2)" if columns == 1 else f"({n}, {columns})"
        raise ValueError(f"offset must have shape {shapes}: one column for each class; got {offset.shape}.")
    return offset


def with_offset(F, offset) -> Any:
    """Scores with the known part added, where there is one."""
    return F if offset is None else F + follow(prediction_offset(host(offset), *F.shape), F)


def centred_offset(offset: np.ndarray | None, m: int, k: int) -> np.ndarray | None:
    """The offset in the columns of the objective; what all classes share does not matter."""
    if offset is None:
        return None
    offset = prediction_offset(offset, len(offset), 1 if m == 2 else m)
    largest = float(np.abs(offset).max(initial=0.0))
    if largest > LARGEST_OFFSET:
        raise ValueError(
            f"offset must not exceed {LARGEST_OFFSET:g} in size, beyond which scores have no digits left for the "
            f"weights; the largest is {largest:g}."
        )
    return np.asfortranarray(offset if k in (1, m) else offset[:, :k] - offset[:, k:])


def coef_of(model: Any) -> np.ndarray:
    """``coef_`` of a fitted model as an array on the host, a row for each score, also after ``sparsify``."""
    coef = host(model.coef_)
    return np.atleast_2d(coef.toarray() if sparse.issparse(coef) else coef)


def split(W: np.ndarray, objective: Posterior, m: int) -> tuple[np.ndarray, np.ndarray]:
    """coef_ and intercept_ from the columns of the objective."""
    return split_whole(W, objective, m)[:2]


def split_whole(W: np.ndarray, objective: Posterior, m: int) -> tuple[np.ndarray, np.ndarray, float]:
    """coef_ and intercept_, and by how much shifts of rows have lowered the penalty."""
    places = np.flatnonzero(W != 0)
    ones = np.ones(1)
    _, rows, kept, intercepts, gains = split_sparsely(
        np.array([len(places)]), places, W.ravel()[places], objective, m, ones
    )
    coef = np.zeros((kept.shape[1], objective.design.d))
    coef[:, rows] = kept.T
    return coef, intercepts[0], float(gains[0])


def split_sparsely(
    counts: np.ndarray, places: np.ndarray, values: np.ndarray, objective: Posterior, m: int, lams: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The rows of several solutions that have a weight, one below the other.

    Parameters
    ----------
    counts : ndarray of shape (L,)
        Non-zero weights of each solution; all of their flat places, in order, and their values follow.
    lams : ndarray of shape (L,)
        By what their strengths differ from those of the objective.

    Returns
    -------
    solution, column : ndarray of shape (r,)
    coefs : ndarray of shape (r, n_rows)
    intercepts : ndarray of shape (L, n_rows)
    gains : ndarray of shape (L,)
        By how much shifts of rows, which change no probability, have lowered the penalty.
    """
    d, k = objective.design.d, objective.k
    solution = np.repeat(np.arange(len(counts)), counts)
    row, klass = np.divmod(places, k) if k > 1 else (places, np.zeros_like(places))
    intercepts = np.zeros((len(counts), k))
    if objective.design.intercept:
        inner, free = row < d, row == d
        intercepts[solution[free], klass[free]] = values[free]
        solution, row, klass, values = solution[inner], row[inner], klass[inner], values[inner]
    begins = (np.diff(row, prepend=-1) != 0) | (np.diff(solution, prepend=-1) != 0)
    coefs = np.zeros((np.count_nonzero(begins), k))
    coefs[np.cumsum(begins) - 1, klass] = values
    solution, row = solution[begins], row[begins]
    gains = np.zeros(len(counts))
    if k == m:
        alone = objective.ungrouped[row]  # the norm of a group settles its shift
        l1 = lams[solution[alone], None] * objective.l1[row[alone]]
        coefs[alone], lowered = canonical(coefs[alone], l1, objective.l2[row[alone]], len(l1))
        np.add.at(gains, solution[alone], lowered)
        intercepts -= intercepts.mean(axis=1, keepdims=True)
    if k == m - 1 and m > 2:
        coefs, intercepts = (np.column_stack([V, np.zeros(len(V))]) for V in (coefs, intercepts))
    return solution, row, coefs, intercepts, gains
