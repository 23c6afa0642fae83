"""The regularisation path of a report, on its own samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ranking import what_is_kept
from ..strengths import path_of, strength_of
from ..tuning import Path
from .kept import deviations, label_of

CURVES = 8  # columns drawn: as many as there are colours to tell apart
PATH_SIZE = 4_000_000  # entries of X beyond which no path is computed unasked


def path_facts(inner, X, y, names: np.ndarray, labels: list[str]) -> dict[str, Any]:
    """The path, or the reason why there is none."""
    reason = _reason(inner, X, y, labels)
    if reason:
        return {"reason": reason}
    return _drawn(path_of(inner, X, y, 40, eps=0.005), inner, X, names, labels)


def _reason(inner, X, y, labels: list[str]) -> str:
    if what_is_kept(inner) == "vectors" or not hasattr(inner, "get_support"):
        return "The path is drawn for sparse models on a linear basis."
    if X.shape[0] * inner.coef_.shape[-1] > PATH_SIZE:
        return f"With {X.shape[0]} x {inner.coef_.shape[-1]} values the path was left out; smaller path computes it."
    if len(np.unique(y)) < max(len(labels), 2):
        what = "lack a class of the model" if labels else "have all the same target"
        return f"These samples {what}, so they have no path of their own."
    return ""


def _drawn(found: Path, inner, X, names: np.ndarray, labels: list[str]) -> dict[str, Any]:
    """The curves of the weights that grow most."""
    W = found.coefs * deviations(inner, X)  # (L, k, d), per standard deviation
    columns = np.asarray(inner.basis_.names(names), dtype=object)
    order = np.argsort(-np.abs(W).max(axis=(0, 1)), kind="stable")[:CURVES]
    curves = [
        {"name": str(columns[j]), "class": label_of(k, W.shape[1], labels), "values": W[:, k, j].tolist()}
        for j in order
        for k in range(W.shape[1])
        if W[:, k, j].any()
    ]
    kept = [np.flatnonzero(W_at.any(axis=0))[:40] for W_at in W]
    lam = strength_of(inner)
    within = found.lams[-1] <= lam <= found.lams[0]
    return {
        "of": "SMLR" if labels else "LaplaceRegressor",
        "lams": found.lams.tolist(),
        "kept": found.n_kept.tolist(),
        "curves": curves,
        "names": [[str(columns[j]) for j in at] for at in kept],
        "lam": lam if within else None,
        "at": int(np.abs(np.log(found.lams / lam)).argmin()) if within else len(found.lams) // 2,
    }
