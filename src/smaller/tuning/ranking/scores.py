"""Models on samples that they have not seen, and a sentence of advice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ...errors import choose
from .class_scores import Classes
from .number_scores import Numbers
from .offers import CLASSIFICATION, REGRESSION

# For each kind of target: how to split, predict and score it.
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
    fold_losses: Sequence[float] = ()  # the mean loss in each fold; the folds are the same for every model
    inputs: float = 0.0  # inputs that a prediction needs: those kept, or all of them for products and kernels
    errors: Mapping[str, float] = MappingProxyType({})  # standard errors of the figures over the folds
    measure: str | None = None  # what the losses are, where they are not those of the task

    @property
    def size(self) -> str:
        """What the model keeps, such as "2.4 features"; a mean over the folds."""
        return f"{self.kept:.1f}".removesuffix(".0") + f" {self.what}"

    def above(self, best: Score) -> tuple[float, float]:
        """How far the loss is above that of another model, and the standard error of this difference over the folds.

        Both models had the same folds, so that what makes a fold hard for both cancels.
        """
        differences = np.subtract(self.fold_losses, best.fold_losses)
        return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


class _Fold(NamedTuple):
    predicted: np.ndarray
    truth: np.ndarray
    kept: int
    inputs: int
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
    scoring: str | None = None,
) -> list[Score]:
    """Every model on the same folds; `scoring` names the loss by which they are compared."""
    target = TARGETS[task](y)
    if scoring is not None:
        choose("--scoring", scoring, target.losses_by_name)
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
    return [_score(target, name, parts, scoring) for name, parts in results.items()]


def _fold(target, model, X, train, test) -> _Fold:
    began = time.perf_counter()
    model.fit(X[train], target.target[train])
    seconds = time.perf_counter() - began
    last = model[-1] if hasattr(model, "steps") else model
    kept, what = len(getattr(last, "support_", ())), what_is_kept(last)
    inputs = kept if what == "features" or not kept else X.shape[1]
    return _Fold(target.predict(model, X[test]), target.target[test], kept, inputs, what, seconds)


def what_is_kept(model) -> str:
    """Features, products of them, or relevance vectors."""
    if hasattr(model, "relevance_vectors_"):
        return "vectors"
    columns = getattr(getattr(model, "basis_", None), "n_columns_", None)
    return "features" if columns in (None, getattr(model, "n_features_in_", None)) else "columns"


def _score(target, name: str, parts: list[_Fold], scoring: str | None) -> Score:
    predicted, truth = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    loss = target.losses_by_name[scoring or next(iter(target.losses_by_name))]
    losses = np.array([loss(part.predicted, part.truth) for part in parts])
    by_fold = [target.figures(part.predicted, part.truth) for part in parts]
    return Score(
        name,
        target.figures(predicted, truth),
        float(losses.mean()),
        float(losses.std(ddof=1) / np.sqrt(len(losses))),
        float(np.mean([part.kept for part in parts])),
        parts[0].what,
        float(np.mean([part.seconds for part in parts])),
        tuple(losses.tolist()),
        float(np.mean([part.inputs for part in parts])),
        {key: float(np.std([fold[key] for fold in by_fold], ddof=1) / len(by_fold) ** 0.5) for key in by_fold[0]},
        scoring,
    )


def best_of(scores: Sequence[Score]) -> Score:
    """The model of the least loss; where no loss is finite the last one, which uses no input."""
    *models, nothing = scores
    return min([nothing, *(score for score in models if np.isfinite(score.fold_losses).all())], key=lambda s: s.loss)


def advice(task: str, scores: Sequence[Score]) -> str:
    """A sentence: the simplest model whose loss is within one standard error of the best.

    The standard error is that of the difference between both losses on the same folds. The simplest model needs the
    fewest inputs; of those that need equally many, it keeps the fewest features or vectors. Where even the best model
    is not clearly better than the model without inputs, no model is advised.
    """
    target = TARGETS[task]
    *models, nothing = scores
    best = best_of(scores)
    measure = {None: target.loss, "auc": "1 - AUC", "average-precision": "1 - average precision"}.get(
        best.measure, (best.measure or "").replace("-", " ")
    )
    if not _is_clearly_better(best, nothing):
        return f"No model does better than {target.nothing}: these columns say little or nothing of the target."
    pick = min((score for score in models if _is_near(score, best)), key=_simplicity)
    if pick is best:
        return f"Take {pick.name}: it has the least {measure} ({pick.size})."
    difference, error = pick.above(best)
    return (
        f"Take {pick.name}: its {measure} is within one standard error of the best, that of {best.name} "
        f"({difference:.3f} ± {error:.3f} above it on the same folds), and it keeps {pick.size} instead of {best.size}."
    )


def _is_clearly_better(best: Score, nothing: Score) -> bool:
    """Student's one-sided t test of the paired differences at 5 %; of many models, one often wins by chance."""
    difference, error = nothing.above(best)
    return difference > stdtrit(len(best.fold_losses) - 1, 0.95) * error


def _is_near(score: Score, best: Score) -> bool:
    if score is best:
        return True
    if not np.isfinite(score.fold_losses).all():
        return False
    difference, error = score.above(best)
    return difference <= error


def _simplicity(score: Score) -> tuple[float, float, float]:
    return score.inputs, score.kept, score.loss
