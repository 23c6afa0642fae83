"""Models on samples that they have not seen, and a sentence of advice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .classes import Classes
from .numbers import Numbers
from .offers import CLASSIFICATION, REGRESSION

# What knows how a target is split, predicted and judged.
TARGETS: dict[str, type[Classes] | type[Numbers]] = {CLASSIFICATION: Classes, REGRESSION: Numbers}


class Score(NamedTuple):
    """A model on samples that it has not seen: figures of all of them, loss and its standard error over the folds."""

    name: str
    figures: dict[str, float]
    loss: float
    loss_error: float
    kept: float
    what: str
    seconds: float


class _Fold(NamedTuple):
    predicted: np.ndarray
    truth: np.ndarray
    kept: int
    what: str
    seconds: float


def cross_validated(
    task: str,
    models: dict[str, Any],
    X,
    y: np.ndarray,
    folds: int = 5,
    n_jobs: int | None = None,
    tick: Callable = lambda: None,
) -> list[Score]:
    """Every model on the same folds."""
    target = TARGETS[task](y)
    splits = target.splits(folds)
    jobs = [(name, model, split) for name, model in models.items() for split in splits]

    def one(model, split) -> _Fold:
        result = _fold(target, clone(model), X, *split)
        tick()
        return result

    work = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(one)(model, split) for _, model, split in jobs)
    results: dict[str, list] = {name: [] for name in models}
    for (name, _, _), result in zip(jobs, work, strict=True):
        results[name].append(result)
    return [_score(target, name, parts) for name, parts in results.items()]


def _fold(target, model, X, train, test) -> _Fold:
    began = time.perf_counter()
    model.fit(X[train], target.target[train])
    seconds = time.perf_counter() - began
    last = model[-1] if hasattr(model, "steps") else model
    kept = len(getattr(last, "support_", ()))
    return _Fold(target.predict(model, X[test]), target.target[test], kept, what_is_kept(last), seconds)


def what_is_kept(model) -> str:
    """Features, products of them, or relevance vectors."""
    if hasattr(model, "relevance_vectors_"):
        return "vectors"
    columns = getattr(getattr(model, "basis_", None), "n_columns_", None)
    return "features" if columns in (None, getattr(model, "n_features_in_", None)) else "columns"


def _score(target, name: str, parts: list[_Fold]) -> Score:
    predicted, truth = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    losses = np.array([target.losses(part.predicted, part.truth).mean() for part in parts])
    return Score(
        name,
        target.figures(predicted, truth),
        float(losses.mean()),
        float(losses.std(ddof=1) / np.sqrt(len(losses))),
        float(np.mean([part.kept for part in parts])),
        parts[0].what,
        float(np.mean([part.seconds for part in parts])),
    )


def advice(task: str, scores: Sequence[Score]) -> str:
    """A sentence: the sparsest model whose loss is within one standard error of the best."""
    target = TARGETS[task]
    *models, nothing = scores
    models = [score for score in models if np.isfinite(score.loss)]
    best = min(models, key=lambda score: score.loss, default=nothing)
    if best.loss >= nothing.loss - nothing.loss_error:
        return f"No model does better than {target.nothing}: these columns say little or nothing of the target."
    near = [score for score in models if score.loss <= best.loss + best.loss_error]
    # Features and vectors are not the same thing: where both are near the best, features are easier to explain.
    plain = [score for score in near if score.what == "features"] or near
    pick = min(plain, key=lambda score: (score.kept, score.loss))
    if pick is best:
        return f"Take {pick.name}: it has the least {target.loss} ({_kept(pick)})."
    return (
        f"Take {pick.name}: its {target.loss} is within one standard error of the best, that of {best.name}, and it "
        f"keeps {_kept(pick)} instead of {_kept(best)}."
    )


def _kept(score: Score) -> str:
    return f"{score.kept:.3g} {score.what}"
