"""The first features: those that enter a regularisation path first, or those with the largest weights of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from ..models.adaptive import LaplaceRegressor
from ..models.base import problem_of
from ..models.jcfo import JCFO
from ..models.kernel_machines import JFSCL
from ..models.multinomial import SMLR
from ..models.sbmlr import SBMLR
from ..tuning.cross_validation import SMLRCV
from ..tuning.path import Path, followed
from ..tuning.relaxed import ridge_of
from ..tuning.training_path import laplace_path

POINTS, REACH = 40, 0.35  # strengths of each part of the path, and how far down each part goes
END = {True: 1e-2, False: 1e-3}  # of the largest strength, for more columns than rows or not
FINE_POINTS, FINE_ROUNDS = 12, 4  # of the finer grids between two strengths
ROUNDING = 1e-13  # relations weaker than this, relative to the sizes of their terms, are rounding errors
TOGETHER = 1 + 1e-6  # features whose strengths of entry differ by less than this factor enter together

CLASS_PATHS = (SMLR, SMLRCV, SBMLR)
INPUT_MODELS = (JCFO, JFSCL)  # select inputs inside a kernel
PATH_PARAMETERS = (
    *("parametrization", "l2", "penalty_factor", "class_weight", "groups", "l1_share", "group_factor"),
    *("fit_intercept", "standardize", "tol", "max_iter"),
)
IMPORTANCES = ("theta_", "gates_", "coef_")  # scalings of the inputs, where a model has them, or weights

Sample = tuple[Any, np.ndarray, dict]  # X, y and what else fit takes


def has_path(estimator) -> bool:
    """Whether the features of this model enter along a regularisation path."""
    return isinstance(estimator, (*CLASS_PATHS, LaplaceRegressor))


def first_features(
    estimator, sample: Sample, q: int, candidates: np.ndarray, labels: np.ndarray | None = None
) -> np.ndarray:
    """The strengths, relative to the largest, of at most q features; 0 of all others, (n_columns,).

    With `labels`, the positions of the columns' groups, the features are the groups: (n_groups,), as `candidates` is.

    On a path a strength is the largest lam at which the feature has a non-zero weight. Features that could only be told
    apart by chance are all left out: fewer than q features are always valid, more never are.
    """
    if is_unrelated(estimator, sample):
        return np.zeros(len(candidates))
    q = min(q, int(candidates.sum()))  # where all have entered, the path need not be followed to its end
    if has_path(estimator):
        end = END[sample[0].shape[0] < sample[0].shape[1]]
        return first_to_enter(follower(estimator, sample), q, candidates, end, labels)
    return _largest_weights(estimator, sample, q, candidates)


def is_unrelated(estimator, sample: Sample) -> bool:
    """Whether no column has any relation to the targets but rounding errors, so that no path exists."""
    X, y, extra = sample
    weight = np.asarray(extra.get("sample_weight", np.ones(len(y))))
    classes = is_classifier(estimator)
    Y = (y[:, None] == np.unique(y)).astype(float) if classes else y[:, None]
    null = weight @ Y / weight.sum() if getattr(estimator, "fit_intercept", True) else float(classes) / Y.shape[1]
    residual = weight[:, None] * (Y - null)
    pull = np.abs(X.T @ residual).max(axis=1)
    return bool((pull <= ROUNDING * (abs(X).T @ weight) * np.abs(residual).max()).all())


def follower(estimator, sample: Sample) -> Callable[..., Path]:
    """A function of strengths that follows the path of the model on the sample."""
    X, y, extra = sample
    if isinstance(estimator, CLASS_PATHS):
        model = path_model(estimator)
        problem = problem_of(model, X, y, **extra)  # posed once for all parts of the path
        return lambda lams, eps=None: followed(problem, model, lams, eps)
    shared = _path_parameters(estimator)
    # Features enter in the same order at every noise; a given noise cannot collapse where the columns fit y exactly.
    shared["noise"] = float(np.var(y)) or 1.0
    return lambda lams, **options: laplace_path(X, y, lams, **options, **extra, **shared)


def path_model(estimator) -> SMLR:
    """The model whose path a classifier's features enter."""
    return SMLR(**{**_path_parameters(estimator), "l2": ridge_of(estimator)})


def _path_parameters(estimator) -> dict[str, Any]:
    known = estimator.get_params(deep=False)
    return {name: known[name] for name in PATH_PARAMETERS if name in known}


def first_to_enter(
    follow: Callable[..., Path], q: int, candidates: np.ndarray, end: float, labels: np.ndarray | None = None
) -> np.ndarray:
    """The strengths, relative to the largest, at which the first q candidates enter the path; 0 of all others.

    Between two strengths of the grid at which more than q have entered the path is followed on finer and finer grids.
    A feature that leaves the path again stays counted. `end` is the last strength as a fraction of the largest.
    """
    strengths, grid = _down_until(follow, q, candidates, end, labels)
    largest, above = grid[0], np.inf
    for finer in range(FINE_ROUNDS + 1):
        counts = np.searchsorted(np.sort(-strengths), -grid, side="right")
        if counts[-1] < q:
            return strengths / largest  # the path ended before
        step = int(np.argmax(counts >= q))
        if counts[step] == q:
            break
        above = grid[step - 1] if step else above
        early = np.where(strengths >= above, strengths, 0.0)
        if finer == FINE_ROUNDS or not grid[step] * TOGETHER < above < np.inf:
            return early / largest
        grid = np.geomspace(above, grid[step], FINE_POINTS)[1:]
        strengths = np.where(early > 0, early, entered(follow(grid), candidates, labels))
    return np.where(strengths >= grid[step], strengths / largest, 0.0)


def _down_until(follow: Callable[..., Path], q: int, candidates: np.ndarray, end: float, labels: np.ndarray | None):
    """Strengths of entry and the grid, followed down until q candidates have entered or the path ends."""
    found = follow(POINTS, eps=REACH)
    strengths, grid = entered(found, candidates, labels), found.lams
    while np.count_nonzero(strengths) < q and grid[-1] > end * grid[0]:
        found = follow(grid[-1] * np.geomspace(1, REACH, POINTS + 1)[1:])
        strengths = np.where(strengths > 0, strengths, entered(found, candidates, labels))
        grid = np.append(grid, found.lams)
    return strengths, grid


def entered(found: Path, candidates: np.ndarray, labels: np.ndarray | None = None) -> np.ndarray:
    """The largest strength at which each column has a non-zero weight, 0 where it has none or is no candidate.

    With `labels`, that of the first column of each group.
    """
    weights = found.weights.tocoo()
    first = np.full(weights.shape[1], len(found))
    kept = weights.data != 0
    np.minimum.at(first, weights.col[kept], weights.row[kept] // found.intercepts.shape[1])
    strengths = np.append(found.lams, 0.0)[first]
    if labels is not None:
        strengths, columns = np.zeros(len(candidates)), strengths
        np.maximum.at(strengths, labels, columns)
    return np.where(candidates, strengths, 0.0)


def _largest_weights(estimator, sample: Sample, q: int, candidates: np.ndarray) -> np.ndarray:
    """Norms of each column's weights over the classes, times its standard deviation: the q largest, by the largest."""
    X, y, extra = sample
    model = clone(estimator).fit(X, y, **extra)
    sizes = np.where(candidates & model.get_support(), _importances(model, X), 0.0)
    sizes /= sizes.max() or 1.0
    if np.count_nonzero(sizes) <= q:
        return sizes
    return np.where(sizes > np.sort(sizes)[-q - 1] * TOGETHER, sizes, 0.0)


def _importances(model, X) -> np.ndarray:
    for name in IMPORTANCES:
        values = getattr(model, name, None)
        if values is not None and np.shape(values)[-1] == X.shape[1]:
            values = np.atleast_2d(values.toarray() if sparse.issparse(values) else values)
            return np.sqrt((values**2).sum(axis=0)) * _deviations(X)
    raise ValueError(
        f"{type(model).__name__} has no weight for each column of X; use a model with basis='linear', JCFO or JFSCL."
    )


def _deviations(X) -> np.ndarray:
    if not sparse.issparse(X):
        return np.asarray(X.std(axis=0), dtype=np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
