"""The regularisation path of a report, computed on the training samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tuning.path import Path
from ..tuning.ranking import what_is_kept
from ..tuning.training_path import ON_PATH, strength_of, training_path, with_model
from .certificate_words import blend_of
from .kept_weights import deviations, label_of

NAMES, LETTERS = 40, 600  # columns kept that are named at each strength, and the letters that this may take
CURVES = 8  # columns drawn, one colour each
PATH_SIZE = 4_000_000  # entries of X up to which the path is computed by default


def worth_a_path(inner, X) -> bool:
    """Whether a model has a path to draw, and X is small enough to compute it by default."""
    return not _reason(inner) and X.shape[0] * inner.coef_.shape[-1] <= PATH_SIZE


def path_facts(given: Path | None, inner, X, y, names: np.ndarray, labels: list[str], seen: bool) -> dict[str, Any]:
    """The path given, the one kept with the model, or the reason why there is none.

    Where X and y are the samples that the model was fitted on, the path is computed.
    """
    reason = _reason(inner)
    if reason:
        return {"reason": reason}
    found = getattr(inner, "path_", None) if given is None else given
    if found is None and seen and worth_a_path(inner, X):
        found = training_path(inner, X, y)
    if found is None:
        return {"reason": NOT_KEPT}
    return _drawn(with_model(found, inner), inner, X, names, labels)


NOT_KEPT = (
    "The path of the samples that the model was fitted on was not kept with the model. The command smaller fit keeps "
    f"it for tables of up to {PATH_SIZE // 1_000_000} million values; from Python, give the report "
    "path=training_path(model, X, y) with the training samples."
)


RELAXED = (
    "The path is that of the L1 fits. The weights of the model differ from it: they are {blend}, "
    "of the columns kept at its strength."
)


def _reason(inner) -> str:
    """Why a model has no path; empty where it has one."""
    if what_is_kept(inner) == "vectors":
        return "The path is drawn for models whose columns are inputs or products of inputs, not for kernels."
    name = type(inner).__name__
    if strength_of(inner) == 0:
        return f"{name} has no path at lam=0: a path is drawn over the logarithm of the strength."
    if not strength_of(inner) > 0:
        return f"{name} has no path: there is no strength of one prior to vary. The models that have one are {ON_PATH}."
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
    lam = strength_of(inner)
    return {
        "of": "SMLR" if labels else "LaplaceRegressor",
        "note": RELAXED.format(blend=blend_of(inner)) if blend_of(inner) else "",
        "lams": found.lams.tolist(),
        "kept": found.n_kept.tolist(),
        "curves": curves,
        "names": [_first_names(columns[np.unique(coef.nonzero()[1])]) for coef in found.sparse_coefs],
        "lam": lam,
        "at": int(np.flatnonzero(found.lams == lam)[0]),
    }


def _first_names(columns: np.ndarray) -> list[str]:
    """The names of the first columns, as many as the page has room for."""
    names = [str(name) for name in columns[:NAMES]]
    return [name for name, length in zip(names, np.cumsum([len(name) for name in names]), strict=True)
            if length <= LETTERS]  # fmt: skip
