"""The models on offer for a table, and how they compare on samples that they have not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from .errors import choose
from .marginal import SBMLR
from .multinomial import RMLR, SMLR
from .tuning import SMLRCV

CLASSIFICATION, REGRESSION = "classification", "regression"
KERNEL_SAMPLES = 2_000  # beyond which a kernel model is not tried unasked
BINS = 10  # of the calibration error
LEAST = np.finfo(float).tiny


class Settings(NamedTuple):
    """What a user may say about a model."""

    lam: float | None = None
    basis: str = "linear"
    standardize: bool = True


class Offer(NamedTuple):
    """A model that can be asked for by name."""

    task: str
    build: Callable[[Settings], Any]
    about: str


def _smlr(s: Settings) -> Any:
    if s.lam is None:
        return SMLRCV(lams=50, rule="1se", basis=s.basis, standardize=s.standardize)
    return SMLR(s.lam, basis=s.basis, standardize=s.standardize)


def _rmlr(s: Settings) -> Any:
    return RMLR("evidence" if s.lam is None else s.lam, basis=s.basis, standardize=s.standardize)


def _sbmlr(s: Settings) -> Any:
    if s.lam is not None:
        raise ValueError("SBMLR integrates its strength out, so it takes no --lam; use --model smlr for a given one.")
    return SBMLR(basis=s.basis, standardize=s.standardize)


# A new model is a line here; the first of each task is the default.
MODELS: dict[str, Offer] = {
    "sbmlr": Offer(CLASSIFICATION, _sbmlr, "sparse, nothing to tune: the strength is integrated out"),
    "smlr": Offer(CLASSIFICATION, _smlr, "sparse, at a given strength or at one chosen by cross-validation"),
    "rmlr": Offer(CLASSIFICATION, _rmlr, "ridge, not sparse: at a given strength or at the most evident one"),
}


def task_of(y: np.ndarray) -> str:
    """Classes, or numbers to predict: many different numbers, not whole or hardly ever the same twice."""
    if y.dtype.kind in "biuUSO":
        distinct = len(np.unique(y))
        numbers = y.dtype.kind in "iu" and distinct > max(50, len(y) // 4)
        return REGRESSION if numbers else CLASSIFICATION
    return REGRESSION if len(np.unique(y)) > 10 else CLASSIFICATION


def model_for(task: str, name: str | None, settings: Settings) -> Any:
    """The model of this name, or the default for the task; refused with what exists."""
    offered = [key for key, offer in MODELS.items() if offer.task == task]
    if not offered:
        exist = ", ".join(MODELS)
        raise ValueError(
            f"The target has many different numbers, which is {task}, and the command has no model for that yet (in "
            f"Python there are RVMRegressor, JeffreysRegressor and others); it has {exist} for {CLASSIFICATION}. If "
            f"the numbers are classes, say --task {CLASSIFICATION}; or make classes of them, such as low and high."
        )
    if name is not None:
        choose("--model", name, offered)
    return MODELS[name or offered[0]].build(settings)


def target_for(task: str, y: np.ndarray) -> np.ndarray:
    """Labels, or numbers."""
    if task == CLASSIFICATION:
        return as_classes(y)
    if y.dtype.kind not in "biuf":
        raise ValueError(f"The target has text such as {y[0]!r}, and {REGRESSION} needs numbers.")
    return y.astype(np.float64)


def as_classes(y: np.ndarray) -> np.ndarray:
    """Labels; numbers that are not whole become text."""
    return np.array([f"{value:g}" for value in y]) if y.dtype.kind == "f" else y


# -- comparing


class Score(NamedTuple):
    """A model on samples that it has not seen: means over the folds, with the standard error of the log-loss."""

    name: str
    error: float
    log_loss: float
    log_loss_error: float
    calibration: float
    kept: float
    what: str
    seconds: float


def candidates(X, standardize: bool = True) -> dict[str, Any]:
    """Every model that suits the data, by name; what predicts the class frequencies comes last."""
    found = {name: offer.build(Settings(standardize=standardize)) for name, offer in MODELS.items()}
    if X.shape[0] <= KERNEL_SAMPLES and not sparse.issparse(X):
        found["sbmlr, rbf"] = make_pipeline(StandardScaler(with_std=standardize), SBMLR(basis="rbf"))
    return {**found, "class frequencies": DummyClassifier(strategy="prior")}


def cross_validated(
    models: dict[str, Any], X, y: np.ndarray, folds: int = 5, n_jobs: int | None = None, tick: Callable = lambda: None
) -> list[Score]:
    """Every model on the same stratified folds."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    folds = min(folds, int(counts.min()))
    if folds < 2:
        rare = classes[counts.argmin()]
        raise ValueError(f"Class {rare} has only {counts.min()} sample, and cross-validation needs two of each class.")
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), codes))
    jobs = [(name, model, split) for name, model in models.items() for split in splits]

    def one(model, split) -> _Fold:
        result = _fold(clone(model), X, codes, len(classes), *split)
        tick()
        return result

    work = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(one)(model, split) for _, model, split in jobs)
    results: dict[str, list] = {name: [] for name in models}
    for (name, _, _), result in zip(jobs, work, strict=True):
        results[name].append(result)
    return [_score(name, parts) for name, parts in results.items()]


class _Fold(NamedTuple):
    P: np.ndarray
    codes: np.ndarray
    kept: int
    what: str
    seconds: float


def _fold(model, X, codes, m: int, train, test) -> _Fold:
    began = time.perf_counter()
    model.fit(X[train], codes[train])
    seconds = time.perf_counter() - began
    P = np.zeros((len(test), m))
    P[:, model.classes_] = model.predict_proba(X[test])
    last = model[-1] if hasattr(model, "steps") else model
    return _Fold(P, codes[test], len(getattr(last, "support_", ())), what_is_kept(last), seconds)


def what_is_kept(model) -> str:
    """Features, or relevance vectors."""
    return "vectors" if hasattr(model, "relevance_vectors_") else "features"


def _score(name: str, parts: list[_Fold]) -> Score:
    P, codes = np.concatenate([part.P for part in parts]), np.concatenate([part.codes for part in parts])
    losses = np.array([-np.log(np.maximum(part.P[np.arange(len(part.P)), part.codes], LEAST)).mean() for part in parts])
    return Score(
        name,
        float((P.argmax(axis=1) != codes).mean()),
        float(losses.mean()),
        float(losses.std(ddof=1) / np.sqrt(len(losses))),
        calibration_error(P, codes),
        float(np.mean([part.kept for part in parts])),
        parts[0].what,
        float(np.mean([part.seconds for part in parts])),
    )


def calibration_error(P: np.ndarray, codes: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: |mean confidence - fraction right| in bins of equal width, averaged by their size."""
    return float(sum(row["share"] * abs(row["confidence"] - row["right"]) for row in calibration(P, codes, bins)))


def calibration(P: np.ndarray, codes: np.ndarray, bins: int = BINS) -> list[dict[str, float]]:
    """The confidence and the fraction right of the samples in each bin that has any."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == codes
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    rows = [place == b for b in range(bins)]
    return [
        {
            "confidence": float(confidence[row].mean()),
            "right": float(right[row].mean()),
            "count": int(row.sum()),
            "share": float(row.mean()),
        }
        for row in rows
        if row.any()
    ]


def advice(scores: Sequence[Score]) -> str:
    """A sentence: the sparsest model whose log-loss is within one standard error of the best."""
    *models, nothing = scores
    best = min(models, key=lambda score: score.log_loss)
    if best.log_loss >= nothing.log_loss - nothing.log_loss_error:
        return "No model does better than the class frequencies: these columns say little or nothing of the target."
    near = [score for score in models if score.log_loss <= best.log_loss + best.log_loss_error]
    # Features and vectors are not the same thing: where both are near the best, features are easier to explain.
    plain = [score for score in near if score.what == "features"] or near
    pick = min(plain, key=lambda score: (score.kept, score.log_loss))
    if pick is best:
        return f"Take {pick.name}: it has the least log-loss ({_kept(pick)})."
    return (
        f"Take {pick.name}: its log-loss is within one standard error of the best, that of {best.name}, and it keeps "
        f"{_kept(pick)} instead of {_kept(best)}."
    )


def _kept(score: Score) -> str:
    return f"{score.kept:.3g} {score.what}"
