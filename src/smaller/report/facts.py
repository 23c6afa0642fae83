"""What a report says, as plain numbers and words: computed once, for the page, for the terminal and as JSON."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from scipy.special import betaincinv

from .. import __version__, bounds, decision
from ..design import as_design
from ..estimator import input_names
from ..ranking import calibration, calibration_error, what_is_kept
from ..tuning import Path, path

LISTED = 60  # weights shown
CURVES = 8  # columns drawn in the path: as many as there are colours to tell apart
POINTS = 200  # of the risk-coverage curve
NUMBERS = 60_000  # probabilities that travel with the page
PATH_SIZE = 4_000_000  # entries of X beyond which no path is computed unasked


def facts(model, X, y, *, names=None, source: str = "", training=None, with_path=True) -> dict[str, Any]:
    """All that a report says, as a dict that JSON can hold.

    Parameters
    ----------
    model : classifier
        Fitted: a model of this package, or a meta-estimator with one inside.
    X, y : array-like of shape (n_samples, n_features), array-like of shape (n_samples,)
        The samples to report on, best those that the model has not seen; whether it was fitted on them is found out
        where that is possible, and said.
    names : sequence of str, default=None
        Names of the inputs.
    source : str
        Where the samples come from.
    training : dict, default=None
        What is known of the training, such as ``{"samples": 200}``; ``"priors"`` are the class frequencies there, which
        the samples given stand for otherwise.
    with_path : bool, default=True
        Whether to compute the regularisation path, the slowest of the facts.

    Returns
    -------
    dict
    """
    y, inner, training = np.asarray(y), core(model), dict(training or {})
    if not hasattr(inner, "classes_"):
        raise ValueError(f"A report is about a classifier, and {type(inner).__name__} predicts numbers.")
    P = np.asarray(model.predict_proba(X))
    codes = bounds.admission.label_positions(inner, y)
    names = input_names(inner, names if names is None else np.asarray(names, dtype=object))
    labels = [str(label) for label in inner.classes_]
    seen, test = _test_set(model, X, y)
    return {
        "title": f"{type(inner).__name__} on {source or f'{len(y)} samples'}",
        "data": _data(X, codes, labels, source, seen, training.pop("priors", None)),
        "model": _model(model, inner, training),
        "kept": _kept(inner, X, names, labels),
        "quality": _quality(P, codes),
        "calibration": calibration(P, codes),
        "risk_coverage": _risk_coverage(P, codes),
        "samples": _samples(P, codes),
        "path": _path(inner, X, y, names, labels) if with_path else {"reason": "The path was not asked for."},
        "certificate": _certificate(inner),
        "bound": test if not seen else _training_bound(inner, X, y),
        "versions": _versions(),
    }


def core(model) -> Any:
    """The model of this package inside a meta-estimator."""
    for name in ("best_estimator_", "estimator_", "estimator"):
        if hasattr(model, name) and not hasattr(model, "coef_"):
            return core(getattr(model, name))
    if not hasattr(model, "coef_"):
        raise ValueError(f"A report is about a fitted model of smaller; got {type(model).__name__}.")
    return model


def _data(X, codes: np.ndarray, labels: list[str], source: str, seen: bool, priors) -> dict[str, Any]:
    counts = np.bincount(codes, minlength=len(labels))
    note = (
        "These are the samples that the model was fitted on: every figure here is better than it will be on new ones."
        if seen
        else ""
    )
    return {
        "source": source,
        "samples": len(codes),
        "inputs": int(X.shape[1]),
        "sparse": bool(sparse.issparse(X)),
        "classes": labels,
        "counts": counts.tolist(),
        "priors": np.asarray(counts / counts.sum() if priors is None else priors, dtype=float).tolist(),
        "training_sample": seen,
        "note": note,
    }


def _model(model, inner, training) -> dict[str, Any]:
    wrappers = []
    while model is not inner:
        wrappers.append(type(model).__name__)
        model = next(getattr(model, n) for n in ("best_estimator_", "estimator_", "estimator") if hasattr(model, n))
    plain = {key: value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)[:120]
             for key, value in inner.get_params(deep=False).items()}  # fmt: skip
    found = {name: float(getattr(inner, f"{name}_")) for name in ("lam", "evidence") if hasattr(inner, f"{name}_")}
    return {
        "class": type(inner).__name__,
        "inside": wrappers,
        "parameters": plain,
        "found": found,
        "training": training,
    }


def _kept(inner, X, names: np.ndarray, labels: list[str]) -> dict[str, Any]:
    """The weights that are not 0, the greatest (per standard deviation) first."""
    coef = inner.coef_.toarray() if sparse.issparse(inner.coef_) else inner.coef_
    vectors = what_is_kept(inner) == "vectors"
    columns = np.asarray(inner.basis_.names(names), dtype=object)
    unit = np.ones(coef.shape[1]) if vectors else _deviations(inner, X)
    rows, places = np.nonzero(coef)
    order = np.argsort(-np.abs(coef[rows, places] * unit[places]), kind="stable")
    binary = len(coef) == 1
    weights = [
        {
            "name": str(columns[j]),
            "class": labels[1] if binary else labels[k],
            "weight": float(coef[k, j]),
            "standard": float(coef[k, j] * unit[j]),
        }
        for k, j in zip(rows[order[:LISTED]], places[order[:LISTED]], strict=True)
    ]
    return {
        "what": "relevance vectors" if vectors else "columns" if len(columns) != len(names) else "features",
        "number": len(inner.support_),
        "of": int(coef.shape[1]),
        "weights": weights,
        "weights_number": len(rows),
        "intercept": np.asarray(inner.intercept_, dtype=float).tolist(),
        "standardised": not vectors,
    }


def _deviations(inner, X) -> np.ndarray:
    """Standard deviations of the columns of the basis on these samples."""
    design = as_design(inner.basis_.transform(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)))
    weight = np.ones(design.n)
    return np.sqrt(design.moments(weight).spread[: design.d] / design.n)


def _quality(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    n, m = P.shape
    decided = P.argmax(axis=1)
    wrong = int((decided != codes).sum())
    table = np.zeros((m, m), dtype=int)
    np.add.at(table, (codes, decided), 1)
    chance = P[np.arange(n), codes]
    return {
        "wrong": wrong,
        "tested": n,
        "error": wrong / n,
        "interval": [float(v) for v in _interval(wrong, n)],
        "baseline": float(1.0 - np.bincount(codes).max() / n),
        "log_loss": float(-np.log(np.maximum(chance, np.finfo(float).tiny)).mean()),
        "calibration_error": calibration_error(P, codes),
        "confusion": table.tolist(),
    }


def _interval(wrong: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934)."""
    tail = (1.0 - level) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high


def _risk_coverage(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    curve = decision.risk_coverage(P, codes)
    at = np.unique(np.linspace(0, len(curve.coverage) - 1, POINTS).astype(int))
    parts = {name: getattr(curve, name)[at].tolist() for name in ("threshold", "coverage", "risk")}
    return {**parts, "area": curve.area}


def _samples(P: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Probabilities for the controls of the page; of many samples, a random part that says so."""
    n, m = P.shape
    limit = max(NUMBERS // m, 100)
    rows = np.arange(n) if n <= limit else np.sort(np.random.default_rng(0).choice(n, limit, replace=False))
    return {"P": np.round(P[rows], 5).tolist(), "codes": codes[rows].tolist(), "of": n, "whole": len(rows) == n}


def _path(inner, X, y, names: np.ndarray, labels: list[str]) -> dict[str, Any]:
    """The regularisation path on these samples, or the reason why there is none."""
    if what_is_kept(inner) == "vectors" or not hasattr(inner, "get_support"):
        return {"reason": "The path is drawn for sparse models on a linear basis."}
    if X.shape[0] * X.shape[1] > PATH_SIZE:
        return {"reason": f"With {X.shape[0]} x {X.shape[1]} values the path was left out; smaller path computes it."}
    if len(np.unique(y)) < len(labels):
        return {"reason": "These samples lack a class of the model, so they have no path of their own."}
    settings = inner.get_params(deep=False)
    shared = {
        key: settings[key] for key in ("basis", "standardize", "fit_intercept", "class_weight") if key in settings
    }
    found = path(X, y, 40, eps=0.005, tol=1e-4, **shared)
    return _drawn(found, inner, X, names, labels)


def _drawn(found: Path, inner, X, names: np.ndarray, labels: list[str]) -> dict[str, Any]:
    """The curves of the weights that grow most."""
    W = found.coefs * _deviations(inner, X)  # (L, k, d), per standard deviation
    columns = np.asarray(inner.basis_.names(names), dtype=object)
    order = np.argsort(-np.abs(W).max(axis=(0, 1)), kind="stable")[:CURVES]
    curves = [
        {"name": str(columns[j]), "class": labels[1] if W.shape[1] == 1 else labels[k], "values": W[:, k, j].tolist()}
        for j in order
        for k in range(W.shape[1])
        if W[:, k, j].any()
    ]
    kept = [np.flatnonzero(W_at.any(axis=0))[:40] for W_at in W]
    lam = float(getattr(inner, "lam_", getattr(inner, "lam", np.nan)))
    within = found.lams[-1] <= lam <= found.lams[0]
    return {
        "lams": found.lams.tolist(),
        "kept": found.n_kept.tolist(),
        "curves": curves,
        "names": [[str(columns[j]) for j in at] for at in kept],
        "lam": lam if within else None,
        "at": int(np.abs(np.log(found.lams / lam)).argmin()) if within else len(found.lams) // 2,
    }


def _certificate(inner) -> dict[str, Any]:
    objective, gap, violation = float(inner.objective_), float(inner.dual_gap_), float(inner.violation_)
    strength = " at the strength found" if hasattr(inner, "lam_") else ""
    return {
        "objective": objective,
        "gap": gap,
        "violation": violation,
        "status": inner.status_,
        "iterations": int(inner.n_iter_),
        "meaning": (
            f"No weights at all can lower the objective{strength}, {objective:.2f} nats, by more than "
            f"{objective * gap:.1e} nats (the duality gap), rounding aside; and no gradient misses its optimality "
            f"condition by more than {violation:.1e} of the penalty (the violation). This is about the optimum, not "
            "about the world: it says that the problem was solved, not that the model is right."
        ),
    }


def _test_set(model, X, y) -> tuple[bool, dict[str, Any]]:
    """Whether the model was fitted on these samples, and the bound if not."""
    try:
        return False, _said(bounds.test_set(core(model), X, y))
    except ValueError as error:
        return "fitted on this very sample" in str(error), {"reason": str(error)}


def _training_bound(inner, X, y) -> dict[str, Any]:
    try:
        return _said(bounds.pac_bayes(inner, X, y))
    except ValueError as error:
        return {"reason": str(error)}


def _said(bound: bounds.Bound) -> dict[str, Any]:
    return {
        "bound": bound.bound,
        "sentence": bound.sentence,
        "assumptions": list(bound.assumptions),
        "trivial": bound.trivial,
    }


def _versions() -> dict[str, str]:
    return {
        "smaller": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
