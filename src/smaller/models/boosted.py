"""What the models along a boosted-lasso path share: machines, their walks, and the choice of a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from .._sklearn import Interval, StrOptions
from ..errors import Status
from ..likelihoods import Multinomial, one_hot
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet
from ..solvers import Solution
from ..solvers.blasso import BoostedPath, Moves, blasso
from .base import COUNT, NON_NEGATIVE, POSITIVE, Given, problem_of
from .classification import ClassificationModel
from .cross_validated_choice import choose_strength, cross_validated_scores, in_folds
from .folds import GivenRows, class_folds
from .one_vs_rest import one_vs_rest
from .targets import class_weights, prediction_offset


class Walk(NamedTuple):
    """One machine: its problem, and the path that was walked for it."""

    problem: Problem
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


# Criteria by which a point of the path is chosen; greater is better.
SCORES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], float]] = {
    "log-loss": _log_likelihood,
    "accuracy": _accuracy,
}


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedModel(ClassificationModel):
    """Classifiers whose parameters are walked along a path, one point of which is taken."""

    step: float = 0.5
    lam: Any = "cv"
    cv: Any = 5
    rule: str = "min"
    scoring: str = "log-loss"
    multiclass: str = "multinomial"
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = True
    shortlist: bool = True
    lam_ratio: float = 0.01
    tol: float = 1e-5
    max_iter: int = 10_000
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        **ClassificationModel._parameter_constraints,
        "step": [POSITIVE],
        "lam": [StrOptions({"cv", "validation"}), POSITIVE],
        "cv": ["cv_object"],
        "rule": [StrOptions({"min", "1se"})],
        "scoring": [StrOptions(set(SCORES))],
        "multiclass": [StrOptions({"multinomial", "ovr"})],
        "standardize": ["boolean"],
        "shortlist": ["boolean"],
        "lam_ratio": [Interval(Real, 0, 1, closed="left")],
        "tol": [NON_NEGATIVE],
        "max_iter": [COUNT],
        "n_jobs": [Integral, None],
    }
    _general: ClassVar[bool] = False  # whether the penalty is another than L1

    def _moves(self, problem: Problem) -> Moves:
        """The problem that the walk moves on."""
        raise NotImplementedError

    def _follow(self, sample: Sample, path: BoostedPath, X, points: np.ndarray) -> Iterator[np.ndarray]:
        """Scores (n, k) of new inputs at points of the path, in their order."""
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
        return self._fit(Given(X, y, sample_weight, offset, X_val=X_val, y_val=y_val))

    def _check(self, given: Given) -> Sample:
        if (self.lam == "validation") != (given.X_val is not None) or (given.X_val is None) != (given.y_val is None):
            raise ValueError(
                "X_val and y_val, both, belong to lam='validation' and to no other lam; to hold out a part of X "
                "instead, use lam='cv' with cv=StratifiedShuffleSplit(1)."
            )
        return super()._check(given)

    def _pose(self, sample: Sample) -> Problem:
        return Problem(sample, Multinomial(reference=sample.k == 1), ElasticNet(1.0))

    def _solve(self, problem: Problem) -> Solution:
        """One point of each machine's path."""
        end = 0.0 if isinstance(self.lam, str) else self.lam
        walks = self._walks(problem, [end] * len(problem.sample.classes), self.lam_ratio)
        tried: dict[str, Any] = {}
        if self.lam == "cv":
            points, tried = self._cross_validate(problem.sample, walks)
        elif self.lam == "validation":
            points, tried = self._validate(problem.sample, walks)
        else:
            points = [walk.path.point_at(self.lam) for walk in walks]
        return self._solution(walks, points, tried)

    def _walks(self, problem: Problem, ends: list[float], ratio: float) -> list[Walk]:
        """The path of all classes together, or of each against the rest."""
        parts = one_vs_rest(problem) if self.multiclass == "ovr" else [problem]
        return [self._walk(part, end, ratio) for part, end in zip(parts, ends, strict=False)]

    def _walk(self, problem: Problem, end: float, ratio: float) -> Walk:
        moves = self._moves(problem)
        return Walk(problem, *blasso(moves, self.tol, self.max_iter, end, ratio, self._general, self.shortlist))

    def _solution(self, walks: list[Walk], points: list[int], tried: dict[str, Any]) -> Solution:
        """The points taken, as one solution."""
        pairs = [(walk.path, point) for walk, point in zip(walks, points, strict=True)]
        lams = [self._strength(*pair) for pair in pairs]
        finite = [lam if np.isfinite(lam) else 0.0 for lam in lams]
        costs = [p.losses[t] + lam * p.penalties[t] for (p, t), lam in zip(pairs, finite, strict=True)]
        worst = next((walk for walk in walks if walk.status is not Status.CONVERGED), walks[0])
        d = walks[0].problem.sample.basis.n_columns_
        W = np.hstack([weights_at(*pair, d) for pair in pairs])
        W = np.vstack([W, np.concatenate([p.intercepts[t] for p, t in pairs])]) if self.fit_intercept else W
        told = {"walks": walks, "points": points, "lams": lams, "tried": tried, "lam": worst.path.lams[-1]}
        unknown = np.nan, np.nan, max(len(path) - 1 for path, _ in pairs)
        return Solution(W, None, worst.status, float(sum(costs)), *unknown, [], told)

    def _summarise(self, solution: Solution) -> None:
        self.n_iter_, self.objective_ = solution.n_iter, solution.objective
        self.status_ = solution.status.name.lower()

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        """The paths, the points taken and their strengths, and what was tried to choose them."""
        extra = solution.extra
        paths, points, lams = [walk.path for walk in extra["walks"]], extra["points"], extra["lams"]
        one = len(paths) == 1
        self.path_ = paths[0] if one else paths
        self.point_ = points[0] if one else np.array(points)
        self.lam_ = float(lams[0]) if one else np.array(lams)
        self.__dict__.update(extra["tried"])

    # -- the choice of a point

    def _cross_validate(self, sample: Sample, walks: list[Walk]) -> tuple[list[int], dict[str, Any]]:
        """The end of the strength that scores best over the folds, for each machine; the strengths and their scores."""
        grids = [walk.path.lams[walk.path.ends] for walk in walks]
        if not all(len(grid) for grid in grids):  # no move lowers the objective, so that the path is empty
            return [0] * len(walks), {"lams_": np.zeros(0), "scores_": np.zeros((1, 1))}
        data = GivenRows(self, sample)
        splits = class_folds(self.cv, data.X, data.y, data.weight)
        scores = cross_validated_scores(in_folds(_Fold(self, data, grids), splits, self.n_jobs))
        parts = np.split(scores, np.cumsum([len(grid) for grid in grids])[:-1], axis=1)
        best = [choose_strength(part, self.rule) for part in parts]
        one = len(grids) == 1
        points = [walk.path.point_at(grid[at]) for walk, grid, at in zip(walks, grids, best, strict=True)]
        return points, {"lams_": grids[0] if one else grids, "scores_": parts[0] if one else parts}

    def _validate(self, sample: Sample, walks: list[Walk]) -> tuple[list[int], dict[str, Any]]:
        """The end of the strength that scores best on held-out samples; the strengths and their scores."""
        dtypes = [np.float64, np.float32]
        X = validate_data(self, sample.given.X_val, accept_sparse=self._sparse_formats, dtype=dtypes, reset=False)
        y = column_or_1d(sample.given.y_val)
        if len(y) != X.shape[0]:
            raise ValueError(
                f"X_val has {X.shape[0]} rows but y_val has {len(y)}; they must describe the same samples."
            )
        ends = [np.append(0, walk.path.ends) for walk in walks]
        scores = [self._held_out(walk, at, ends[at], Given(X, y)) for at, walk in enumerate(walks)]
        points = [int(here[np.argmax(score)]) for here, score in zip(ends, scores, strict=True)]
        lams = [walk.path.lams[here] for walk, here in zip(walks, ends, strict=True)]
        return points, {"lams_": lams, "scores_": scores}

    def _held_out(self, walk: Walk, at: int, points, rows: Given) -> np.ndarray:
        """Scores of the points of a path on rows whose classes were in its training samples."""
        sample, (X, y, weight, offset, *_) = walk.problem.sample, rows
        classes, weight = sample.classes, np.ones(len(y)) if weight is None else weight
        known = np.isin(y, classes) & (weight > 0)
        if not known.any():
            return np.zeros(len(points))
        codes, m = np.searchsorted(classes, y[known]), len(classes)
        Y = one_hot(codes, m, 1 if m == 2 else m)
        shift = np.zeros_like(Y) if offset is None else prediction_offset(offset[known], *Y.shape)
        if m > 2 and sample.k == 1:
            Y, shift = Y[:, [at]], shift[:, [at]]
        weight = weight[known] * class_weights(self.class_weight, classes, codes, weight[known])
        score, X = SCORES[self.scoring], X[np.flatnonzero(known)]
        return np.array([score(F + shift, Y, weight) for F in self._follow(sample, walk.path, X, points)])

    def _strength(self, path: BoostedPath, point: int) -> float:
        return float(path.lams[point] if isinstance(self.lam, str) else self.lam)

    def decision_function(self, X, offset=None) -> np.ndarray:
        """Log odds of the second class, or scores whose softmax are the probabilities: one for each class."""
        F = super().decision_function(X, offset)
        return log_expit(F) if F.ndim == 2 and self.multiclass == "ovr" else F


def weights_at(path: BoostedPath, point: int, d: int) -> np.ndarray:
    """Weights at a point, (d, k)."""
    k = path.intercepts.shape[1]
    return path.parameters(point)[: d * k].reshape(k, d).T


def best_score(model: Any) -> float:
    """The best mean score on the path of a fitted model; with several machines, of all together."""
    parts = model.scores_ if isinstance(model.scores_, list) else [model.scores_]
    return float(sum(part.mean(axis=0).max() for part in parts))


class _Fold:
    """Walks on one part of the data and scores the strengths of the whole on the other."""

    def __init__(self, model: BoostedModel, data: GivenRows, grids: list[np.ndarray]):
        self.model, self.data, self.grids = model, data, grids

    def __call__(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        part, train = clone(self.model), self.data.weighted(train)
        problem = problem_of(part, *self.data.part(train)[:4])
        classes, together = problem.sample.classes, len(self.grids) == 1
        here = np.searchsorted(classes, self.data.classes)  # places of the classes among those of the fold
        ends = [grid[-1] for at, grid in enumerate(self.grids) if together or self.data.classes[at] in classes]
        walks = part._walks(problem, ends, 0.0)
        rows = self.data.part(test, train)
        scores = []
        for at, grid in enumerate(self.grids):
            if not together and self.data.classes[at] not in classes:
                scores.append(np.zeros(len(grid)))
                continue
            place = 0 if together or len(walks) == 1 else int(here[at])
            points = np.array([walks[place].path.point_at(lam) for lam in grid])
            scores.append(part._held_out(walks[place], place, points, rows))
        return np.concatenate(scores)
