"""The weights that are not 0, with their names and units."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..design import as_design
from ..models.targets import coef_of
from ..tuning.ranking import what_is_kept

LISTED = 60  # weights shown


def kept(inner, X, names: np.ndarray, labels: list[str]) -> dict[str, Any]:
    """The weights that are not 0, the greatest (per standard deviation) first."""
    coef = coef_of(inner)
    vectors = what_is_kept(inner) == "vectors"
    columns = np.asarray(inner.basis_.names(names), dtype=object)
    unit = np.ones(coef.shape[1]) if vectors else deviations(inner, X)
    error = _errors(inner, coef)
    rows, places = np.nonzero(coef)
    order = np.argsort(-np.abs(coef[rows, places] * unit[places]), kind="stable")[:LISTED]
    weights = [
        {
            "name": str(columns[j]),
            "class": label_of(k, len(coef), labels),
            "favours": favoured(coef[k, j], k, len(coef), labels),
            "weight": float(coef[k, j]),
            "standard": float(coef[k, j] * unit[j]),
            "error": None if error is None else float(error[k, j] * unit[j]),
        }
        for k, j in zip(rows[order], places[order], strict=True)
    ]
    return {
        "what": "relevance vectors" if vectors else "columns" if len(columns) != len(names) else "features",
        "number": len(inner.support_),
        "of": int(coef.shape[1]),
        "weights": weights,
        "weights_number": len(rows),
        "groups": kept_groups(inner, coef * unit),
        "intercept": np.asarray(inner.intercept_, dtype=float).tolist(),
        "standardised": not vectors,
        "errors": error is not None,
    }


def kept_groups(inner, standard: np.ndarray) -> dict[str, Any] | None:
    """The labelled groups of columns that have a weight, the largest norm of weights (per standard deviation) first."""
    labels = getattr(inner, "groups", None)
    if labels is None or isinstance(labels, str) or np.shape(labels) != standard.shape[1:]:
        return None
    names, member = np.unique(np.asarray(labels), return_inverse=True)
    norms = np.sqrt(np.bincount(member, weights=np.square(standard).sum(axis=0)))
    sizes, used = np.bincount(member), np.bincount(member, weights=standard.any(axis=0)).astype(int)
    listed = [
        {"group": str(names[g]), "norm": float(norms[g]), "kept": int(used[g]), "of": int(sizes[g])}
        for g in np.argsort(-norms, kind="stable")[:LISTED]
        if used[g]
    ]
    return {"number": int(np.count_nonzero(used)), "of": len(names), "groups": listed}


def label_of(row: int, rows: int, labels: list[str]) -> str:
    """The class whose score a row of weights gives; empty in regression."""
    return "" if not labels else labels[1] if rows == 1 else labels[row]


def favoured(weight: float, row: int, rows: int, labels: list[str]) -> str:
    """The class that becomes more probable as the column grows; of several classes, "not" the one that becomes less so.

    Empty in regression.
    """
    own = label_of(row, rows, labels)
    if weight > 0 or not own:
        return own
    return labels[0] if rows == 1 else f"not {own}"


def _errors(inner, coef: np.ndarray) -> np.ndarray | None:
    """Standard errors of the weights, where the model has a covariance."""
    covariance = getattr(inner, "covariance_", None)
    if covariance is None:
        return None
    blocks = covariance if covariance.ndim == 3 else covariance[None]
    error = np.zeros(coef.shape)
    error[:, inner.support_] = np.sqrt(np.maximum(np.diagonal(blocks, axis1=1, axis2=2), 0.0))
    return error


def deviations(inner, X) -> np.ndarray:
    """Standard deviations of the columns of the basis on these samples."""
    design = as_design(inner.basis_.transform(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)))
    weight = np.ones(design.n)
    return np.sqrt(design.moments(weight).spread[: design.d] / design.n)
