"""The width of a kernel: chosen by the evidence where a model has one, and by cross-validation otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

from ..basis import Kernel, as_basis
from ..models.base import Estimator, problem_of
from ..models.boosted import BoostedModel, best_score
from ..models.folds import GivenRows, class_folds
from ..models.kernel_machines import JFSCL
from ..models.rvm import RVMClassifier, RVMRegressor
from ..models.type2 import TypeIIRegressor
from .cross_validation import SMLRCV
from .laplace_cross_validation import LaplaceRegressorCV

WITH_EVIDENCE = (RVMRegressor, RVMClassifier, TypeIIRegressor)
WITH_WIDTH = ("rbf", "laplacian", "poly")
FOLDS = 5


def tune_width(model, X, y, factors=(0.25, 0.5, 1.0, 2.0, 4.0), *, sample_weight=None):
    """The model with the best width of its kernel: by evidence, or by cross-validation.

    `RVMRegressor`, `RVMClassifier` and `TypeIIRegressor` are fitted once at each width, and the log evidence decides.
    `LRVM`, `JFSCL`, `SMLRCV` and `LaplaceRegressorCV` are fitted once as well, and the best mean score of their own
    cross-validation decides. Every other model is fitted five times more at each width, each time with a fifth of the
    samples held out: the mean log-likelihood of held-out labels decides, or minus the mean squared error of held-out
    numbers.

    Parameters
    ----------
    model : estimator with a kernel basis, or JFSCL
        ``LRVM`` and ``JFSCL`` with ``lam="cv"``. It is left as it is.
    X, y, sample_weight
        As in its ``fit``.
    factors : array-like of float
        Widths gamma to try, as multiples of the model's default, ``gamma="scale"``.

    Returns
    -------
    model : estimator
        A new one, fitted, with the best width among its parameters; ``widths_`` and ``width_scores_`` list what was
        tried, and what decided: the greatest is the best. A model that kept no column is chosen only where all kept
        none.

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import RVMRegressor, tune_width
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, (100, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(100)
    >>> model = tune_width(RVMRegressor(), X, y, factors=[0.1, 1.0, 4.0])
    >>> bool(model.basis.gamma == model.widths_[2] and model.evidence_ == model.width_scores_[2])
    True
    """
    if not isinstance(model, Estimator):
        raise ValueError(f"tune_width chooses the width of a model with a kernel; got {type(model).__name__}.")
    if isinstance(model, BoostedModel) and model.lam != "cv":
        raise ValueError(f"tune_width compares cross-validated paths and needs lam='cv'; got lam={model.lam!r}.")
    at, score = _at_widths(model), _score_of(model)
    basis = problem_of(at("scale"), X, y, sample_weight).sample.basis
    widths = getattr(basis, "basis_", basis).gamma_ * np.asarray(factors, dtype=np.float64)
    if not widths.size:
        raise ValueError("factors must have at least one number; got none.")
    tried = [at(width).fit(X, y, sample_weight) for width in widths]
    scores = np.array([score(each, X, y, sample_weight) for each in tried])
    empty = np.array([not len(each.support_) for each in tried])
    best = tried[int(np.argmax(scores if empty.all() else np.where(empty, -np.inf, scores)))]
    best.widths_, best.width_scores_ = widths, scores
    return best


def _at_widths(model: Any) -> Callable[[Any], Any]:
    """A function that makes a model of each width, not fitted; models without a width are refused."""
    if isinstance(model, JFSCL):
        return lambda width: clone(model).set_params(gamma=width)
    basis = as_basis(model.basis)
    if not (isinstance(basis, Kernel) and basis.kernel in WITH_WIDTH):
        raise ValueError(
            f"tune_width needs a basis with a width, basis='rbf', 'poly' or Kernel({WITH_WIDTH[1]!r}); this "
            f"{type(model).__name__} has basis={model.basis!r}."
        )
    basis = model._basis()  # relevance vector machines limit the candidates of a kernel named by a string
    basis = clone(getattr(basis, "basis", basis))
    return lambda width: clone(model).set_params(basis=clone(basis).set_params(gamma=width))


def _score_of(model: Any) -> Callable[..., float]:
    """The criterion that compares fitted models: a function of one, and of X, y and the weights."""
    if isinstance(model, WITH_EVIDENCE):
        return lambda fitted, *_: float(fitted.evidence_)
    if isinstance(model, BoostedModel):
        return lambda fitted, *_: best_score(fitted)
    if isinstance(model, SMLRCV | LaplaceRegressorCV):
        return lambda fitted, *_: float(fitted.scores_.mean(axis=0).max())
    return _held_out_score


def _held_out_score(model: Any, X, y, sample_weight) -> float:
    """The mean over all samples of their score by the model fitted to the other parts."""
    data = GivenRows(model, problem_of(clone(model), X, y, sample_weight).sample)
    if is_classifier(model):
        splits = class_folds(FOLDS, data.X, data.y, data.weight)
    else:
        rows = data.weighted(np.arange(len(data.y)))
        splits = [(rows[train], rows[test]) for train, test in KFold(min(FOLDS, len(rows))).split(rows)]
    total, weights = 0.0, 0.0
    for train, test in splits:
        learned, held = data.part(train), data.part(test, train)
        fitted = clone(model).fit(learned.X, learned.y, learned.sample_weight)
        scores, kept = _scores(fitted, held)
        weight = np.ones(len(test)) if held.sample_weight is None else held.sample_weight
        total, weights = total + float(weight[kept] @ scores), weights + float(weight[kept].sum())
    return total / weights


def _scores(model: Any, held: Any) -> tuple[np.ndarray, np.ndarray]:
    """The score of each held-out sample, and which samples: those of classes that the model does not know are out."""
    if not is_classifier(model):
        missed = np.reshape(np.asarray(held.y) - model.predict(held.X), (len(held.y), -1))
        return -(missed**2).sum(axis=1), np.arange(len(held.y))
    place = np.searchsorted(model.classes_, held.y)
    kept = np.flatnonzero(model.classes_[np.minimum(place, len(model.classes_) - 1)] == held.y)
    return model.predict_log_proba(held.X)[kept, place[kept]], kept
