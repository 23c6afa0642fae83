"""What the models along a boosted-lasso path share: machines, their walks, and the choice of a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import clone
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import validate_data

from .._sklearn import Interval, StrOptions, check_sample_weight, fit_context, safe_split
from ..errors import ConvergenceWarning, Status, warn
from ..likelihoods import Multinomial, one_hot
from ..solvers.blasso import BoostedPath, Moves, blasso
from .base import ClassificationModel, Sample
from .folds import class_folds
from .strength_choice import choose_strength, cross_validated_scores, in_folds
from .targets import class_weights, prediction_offset

POSITIVE = Interval(Real, 0, None, closed="neither")


class Walk(NamedTuple):
    """One machine: its targets, and the path that was walked for it."""

    Y: np.ndarray  # (n, k)
    offset: np.ndarray | None  # (n, k)
    path: BoostedPath
    status: Status


def _log_likelihood(F: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> float:
    """Mean log-likelihood of one column (log odds) or of a softmax."""
    if F.shape[1] == 1:
        own = np.where(Y[:, 0] > 0, log_expit(F[:, 0]), log_expit(-F[:, 0]))
    else:
        own = (Y * log_softmax(F, axis=1)).sum(axis=1)
    return float(np.average(own, weights=weight))


def _accuracy(F: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> float:
    right = (F[:, 0] > 0) == (Y[:, 0] > 0) if F.shape[1] == 1 else F.argmax(axis=1) == Y.argmax(axis=1)
    return float(np.average(right, weights=weight))


# Greater is better.
SCORES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], float]] = {
    "log-loss": _log_likelihood,
    "accuracy": _accuracy,
}


class BoostedModel(ClassificationModel):
    """Classifiers whose parameters are walked along a path, one point of which is taken."""

    _parameter_constraints: ClassVar[dict] = {
        "step": [POSITIVE],
        "lam": [StrOptions({"cv", "validation"}), POSITIVE],
        "cv": ["cv_object"],
        "rule": [StrOptions({"min", "1se"})],
        "scoring": [StrOptions(set(SCORES))],
        "multiclass": [StrOptions({"multinomial", "ovr"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "fit_intercept": ["boolean"],
        "standardize": ["boolean"],
        "shortlist": ["boolean"],
        "lam_ratio": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }
    _general: ClassVar[bool] = False  # whether the penalty is another than L1
    step: float
    lam: Any
    cv: Any
    rule: str
    scoring: str
    multiclass: str
    shortlist: bool
    lam_ratio: float
    tol: float
    max_iter: int
    n_jobs: int | None
    lams_: Any
    scores_: Any

    def _problem(self, sample: Sample, Y: np.ndarray, likelihood: Multinomial, offset: np.ndarray | None) -> Moves:
        """What is walked on."""
        raise NotImplementedError

    def _follow(self, sample: Sample, path: BoostedPath, X, points: np.ndarray) -> Iterator[np.ndarray]:
        """Scores (n, k) of new inputs at points of the path, in their order."""
        raise NotImplementedError

    def _take(self, sample: Sample, classes: np.ndarray, walks: list[Walk], points: list[int]) -> None:
        """Adopt the parameters at one point of each machine's path."""
        raise NotImplementedError

    def fit(self, X, y, sample_weight=None, offset=None, X_val=None, y_val=None):
        """Walk the path and take one of its points.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in :meth:`SMLR.fit`.
        X_val, y_val : array-like, optional
            Held-out samples on which the point is chosen; for ``lam="validation"`` only.

        Returns
        -------
        self
        """
        return self._fit_or_restore(X, y, sample_weight, offset, X_val, y_val)

    @fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, y, sample_weight, offset, X_val, y_val):
        if (self.lam == "validation") != (X_val is not None) or (X_val is None) != (y_val is None):
            raise ValueError(
                "X_val and y_val, both, belong to lam='validation' and to no other lam; to hold out a part of X "
                "instead, use lam='cv' with cv=StratifiedShuffleSplit(1)."
            )
        sample, classes = self._labelled_sample(X, y, sample_weight, offset)
        end = 0.0 if isinstance(self.lam, str) else self.lam
        walks = self._walks(sample, len(classes), [end] * len(classes), self.lam_ratio)
        if self.lam == "cv":
            points = self._cross_validate(X, y, sample_weight, offset, classes, walks)
        elif self.lam == "validation":
            points = self._validate(sample, classes, walks, X_val, y_val)
        else:
            points = [walk.path.point_at(self.lam) for walk in walks]
        self._take(sample, classes, walks, points)
        self._know_paths(walks, points)
        return self

    def _machines(self, sample: Sample, m: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Targets and offsets: of all classes together, or of each against the rest."""
        k = 1 if m == 2 else m
        Y = one_hot(sample.y, m, k)
        offset = None if sample.offset is None else prediction_offset(sample.offset, len(Y), k)
        if m == 2 or self.multiclass == "multinomial":
            return [(Y, offset)]
        return [(Y[:, [c]], None if offset is None else offset[:, [c]]) for c in range(m)]

    def _walks(self, sample: Sample, m: int, ends: list[float], ratio: float) -> list[Walk]:
        return [
            self._walk(sample, Y, offset, end, ratio)
            for (Y, offset), end in zip(self._machines(sample, m), ends, strict=False)
        ]

    def _walk(self, sample: Sample, Y: np.ndarray, offset: np.ndarray | None, end: float, ratio: float) -> Walk:
        problem = self._problem(sample, Y, Multinomial(Y.shape[1] == 1), offset)
        path, status = blasso(problem, self.tol, self.max_iter, end, ratio, self._general, self.shortlist)
        return Walk(Y, offset, path, status)

    # -- the choice of a point

    def _cross_validate(self, X, y, sample_weight, offset, classes: np.ndarray, walks: list[Walk]) -> list[int]:
        """The end of the strength that scores best over the folds, for each machine."""
        grids = [walk.path.lams[walk.path.ends] for walk in walks]
        if not all(len(grid) for grid in grids):
            self.lams_, self.scores_ = np.zeros(0), np.zeros((1, 1))  # no move pays: nothing to choose from
            return [0] * len(walks)
        fold = _Fold(self, X, y, sample_weight, offset, classes, grids)
        splits = class_folds(self.cv, fold.X, fold.y, fold.weight)
        scores = cross_validated_scores(in_folds(fold, splits, self.n_jobs))
        parts = np.split(scores, np.cumsum([len(grid) for grid in grids])[:-1], axis=1)
        best = [choose_strength(part, self.rule) for part in parts]
        self.lams_ = grids[0] if len(grids) == 1 else grids
        self.scores_ = parts[0] if len(parts) == 1 else parts
        return [walk.path.point_at(grid[at]) for walk, grid, at in zip(walks, grids, best, strict=True)]

    def _validate(self, sample: Sample, classes: np.ndarray, walks: list[Walk], X_val, y_val) -> list[int]:
        """The end of the strength that scores best on held-out samples."""
        dtypes = [np.float64, np.float32]
        X = validate_data(self, X_val, accept_sparse=self._sparse_formats, dtype=dtypes, reset=False)
        y = column_or_1d(y_val)
        if len(y) != X.shape[0]:
            raise ValueError(
                f"X_val has {X.shape[0]} rows but y_val has {len(y)}; they must describe the same samples."
            )
        points, self.lams_, self.scores_ = [], [], []
        for at, walk in enumerate(walks):
            ends = np.append(0, walk.path.ends)
            scores = self._held_out(sample, classes, walk, at, ends, X, y, np.ones(len(y)), None)
            points.append(int(ends[np.argmax(scores)]))
            self.lams_.append(walk.path.lams[ends])
            self.scores_.append(scores)
        return points

    def _held_out(self, sample, classes, walk: Walk, at: int, points, X, y, weight, offset) -> np.ndarray:
        """Scores of the points of a path on rows whose classes the path knows; the others would favour no point."""
        known = np.isin(y, classes) & (weight > 0)
        if not known.any():
            return np.zeros(len(points))
        codes, m, k = np.searchsorted(classes, y[known]), len(classes), walk.Y.shape[1]
        Y = one_hot(codes, m, 1 if m == 2 else m)
        shift = np.zeros_like(Y) if offset is None else prediction_offset(offset[known], *Y.shape)
        if m > 2 and k == 1:
            Y, shift = Y[:, [at]], shift[:, [at]]
        weight = weight[known] * class_weights(self.class_weight, classes, codes, weight[known])
        score, rows = SCORES[self.scoring], X[np.flatnonzero(known)]
        return np.array([score(F + shift, Y, weight) for F in self._follow(sample, walk.path, rows, points)])

    def _best_score(self) -> float:
        """The best mean score on the path; with several machines, of all together."""
        parts = self.scores_ if isinstance(self.scores_, list) else [self.scores_]
        return float(sum(part.mean(axis=0).max() for part in parts))

    # -- what is said of the end

    def _strength(self, path: BoostedPath, point: int) -> float:
        return float(path.lams[point] if isinstance(self.lam, str) else self.lam)

    def _know_paths(self, walks: list[Walk], points: list[int]) -> None:
        paths = [walk.path for walk in walks]
        lams = [self._strength(path, point) for path, point in zip(paths, points, strict=True)]
        self.path_ = paths[0] if len(paths) == 1 else paths
        self.point_ = points[0] if len(points) == 1 else np.array(points)
        self.lam_ = float(lams[0]) if len(lams) == 1 else np.array(lams)
        self.n_iter_ = max(len(path) - 1 for path in paths)
        finite = [lam if np.isfinite(lam) else 0.0 for lam in lams]
        self.objective_ = float(
            sum(p.losses[t] + lam * p.penalties[t] for p, t, lam in zip(paths, points, finite, strict=True))
        )
        worst = next((walk for walk in walks if walk.status is not Status.CONVERGED), walks[0])
        self.status_ = worst.status.name.lower()
        if worst.status is not Status.CONVERGED:
            facts = {"n_iter": len(worst.path) - 1, "lam": worst.path.lams[-1]}
            warn(f"{type(self).__name__}: {worst.status.sentence(**facts)}.", ConvergenceWarning)

    def decision_function(self, X, offset=None) -> np.ndarray:
        """Log odds of the second class, or scores whose softmax are the probabilities: one for each class."""
        F = super().decision_function(X, offset)
        return log_expit(F) if F.ndim == 2 and self.multiclass == "ovr" else F


class _Fold:
    """Walks on one part of the data and scores the strengths of the whole on the other."""

    def __init__(self, model: BoostedModel, X, y, sample_weight, offset, classes, grids: list[np.ndarray]):
        self.model, self.classes, self.grids = model, classes, grids
        self.X = check_array(X, accept_sparse=model._sparse_formats, dtype=[np.float64, np.float32])
        self.y = column_or_1d(y)
        self.weight = check_sample_weight(sample_weight, self.X, dtype=np.float64)
        self.offset = None if offset is None else np.asarray(offset, dtype=np.float64)

    def __call__(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        part, train = clone(self.model), train[self.weight[train] > 0]
        X, y = safe_split(part, self.X, self.y, train)
        sample, classes = part._labelled_sample(X, y, self.weight[train], self._offset(train, y))
        together = len(self.grids) == 1
        ends = [grid[-1] for at, grid in enumerate(self.grids) if together or self.classes[at] in classes]
        walks = part._walks(sample, len(classes), ends, 0.0)
        X, y = safe_split(part, self.X, self.y, test, train)
        offset = self._offset(test, self.y[train])
        scores = []
        for at, grid in enumerate(self.grids):
            here = 0 if together or len(walks) == 1 else int(np.searchsorted(classes, self.classes[at]))
            if not together and self.classes[at] not in classes:
                scores.append(np.zeros(len(grid)))
                continue
            points = np.array([walks[here].path.point_at(lam) for lam in grid])
            scores.append(part._held_out(sample, classes, walks[here], here, points, X, y, self.weight[test], offset))
        return np.concatenate(scores)

    def _offset(self, rows: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Rows of the offset, without the columns of classes that a fold does not have."""
        if self.offset is None or self.offset.ndim == 1:
            return None if self.offset is None else self.offset[rows]
        return self.offset[np.ix_(rows, np.flatnonzero(np.isin(self.classes, y)))]
