"""SMLR with its strength chosen by cross-validation along a path."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..models.base import NON_NEGATIVE, Given, without
from ..models.cross_validated_choice import CHOICE, choose_candidate, cross_validated_scores
from ..models.folds import CrossValidated
from ..models.multinomial import SparseMultinomialModel
from ..models.targets import split
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet
from ..solvers import Solution, Trail
from .path import Path, collected, grid_of
from .relaxed import SHARES, Refits
from .scored_folds import FoldsInMemory
from .shared_folds import FoldsInPasses


@dataclass(eq=False, repr=False)
class SMLRCV(CrossValidated, SparseMultinomialModel):
    """SMLR with the strength of its prior chosen by cross-validation along a warm-started path.

    With ``relax=True`` the shrinkage is chosen too, as in the relaxed lasso (Meinshausen 2007): the scores are
    ``lasso_share_`` (one of 1, 0.75, 0.5, 0.25 and 0) times those of the L1 fit, and for the rest those of
    :func:`refit`, the same columns fitted without a penalty.

    Parameters
    ----------
    lams : int or array-like, default=100
        How many strengths, from the largest useful one on the full data down; or the strengths themselves.
    eps : float, default=None
        The smallest strength as a fraction of the largest; by default 1e-2 when there are more columns than samples,
        else 1e-3.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is stratified folds, fewer where the smallest class has fewer samples.
    rule : {"min", "1se"}, default="min"
        The best mean score, or the strongest prior within one standard error of it; where ``l2`` or the share of the
        L1 fit are chosen too, the best of these at that strength.
    scoring : str or callable, default=None
        Any scikit-learn scorer; None is the log-loss, which Dask input needs.
    n_jobs : int, default=None
        Folds fitted side by side. With Dask input all folds share their passes over the data, whatever it is.
    l2 : float or array-like, default=0.0
        As in :class:`SMLR`; of several, cross-validation chooses one together with the strength.
    basis, parametrization, penalty_factor, class_weight, fit_intercept, standardize, tol, max_iter
        As in :class:`SMLR`.
    groups, l1_share, group_factor
        Of columns, as in :class:`SMLR`.
    relax : bool, default=False
        Whether to choose ``lasso_share_`` too. From the first strength on at which the columns of some fold have no
        refit (they separate the classes, or are too many), the L1 fit is the only candidate.

    Attributes
    ----------
    lam_ : float
        The strength chosen.
    l2_ : float
        The ridge term chosen.
    lasso_share_ : float
        The share of the L1 fit in the weights, 1 without ``relax``.
    lams_ : ndarray of shape (L,)
    scores_ : ndarray of shape (n_folds, L)
        At ``l2_`` and ``lasso_share_``. Greater is better; the log-loss is negated.
    all_scores_ : ndarray of shape (n_folds, n_l2, n_shares, L)
        With several ``l2`` (sorted), or ``relax`` (shares in decreasing order): those of all candidates. One without a
        refit has the scores of the L1 fit.
    lam_min_, lam_1se_ : float
        The strengths that both rules choose.
    path_ : Path
        The path on the full data at all of ``lams_`` and ``l2_``, of L1 fits; ``path_.at(lam)`` has the weights at a
        strength. For ``lasso_share_=1`` the model is its point at ``lam_``.
    coef_, intercept_, classes_, support_, ...
        As in :class:`SMLR`, at ``lam_``.
    n_passes_ : int
        With Dask input, how often the rows of X were read: for all folds and the path together.
    objective_, dual_gap_, violation_ : float
        As in :class:`SMLR`, of the L1 fit; with ``lasso_share_`` below 1 gap and violation are the greater ones of the
        L1 fit and the refit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import SMLRCV
    >>> model = SMLRCV(lams=30, rule="1se", standardize=True).fit(*load_breast_cancer(return_X_y=True))
    >>> print(len(model.support_), "of 30 inputs kept")
    13 of 30 inputs kept
    """

    lams: Any = 100
    _: KW_ONLY
    eps: float | None = None
    cv: Any = 5
    rule: str = "min"
    scoring: Any = None
    n_jobs: int | None = None
    basis: Any = "linear"
    parametrization: str = "symmetric"
    l2: Any = 0.0
    penalty_factor: Any = None
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = False
    tol: float = 1e-6
    max_iter: int | None = None
    groups: Any = None
    l1_share: float = 0.0
    group_factor: Any = None
    relax: bool = False

    _at_one_strength = "SMLR"

    _parameter_constraints: ClassVar[dict] = {
        **without(SparseMultinomialModel._parameter_constraints, "solver", "warm_start", "random_state"),
        **CHOICE,
        "scoring": [str, callable, None],
        "l2": [NON_NEGATIVE, "array-like"],
        "relax": ["boolean"],
    }

    def _strengths(self) -> tuple[float, float]:
        return 1.0, float(self._ridges()[0])

    def _ridges(self) -> np.ndarray:
        """The candidates of l2 in increasing order."""
        try:
            found = np.atleast_1d(np.asarray(self.l2, dtype=np.float64))
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.ndim != 1 or not len(found) or not (np.isfinite(found) & (found >= 0)).all():
            raise ValueError(
                f"l2 must be a number that is not negative, or a list of such numbers to choose from; got {self.l2!r}."
            )
        return np.unique(found)

    def _check(self, given: Given) -> Sample:
        self._ridges()
        sample = super()._check(given)
        if self.relax and hasattr(sample.basis, "center_index_"):
            raise ValueError(
                "relax=True is for columns; relevance vectors of a kernel, fitted without a penalty, overfit. Leave "
                "relax out, or take basis='linear' or 'quadratic'."
            )
        return sample

    def _solve(self, problem: Problem) -> Solution:
        """The end of the path at the candidate with the best score."""
        grid = grid_of(problem, self.lams, self.eps)
        folds = (FoldsInPasses if problem.objective.remote else FoldsInMemory)(self, problem, grid)
        scores, trail, refit, at = self._chosen(problem, folds, _comparable(folds.values))
        ridge, share, best = at
        posed = self._at(problem, ridge)
        told = {
            "lam": float(grid[best]), "l2": float(self._ridges()[ridge]), "share": self._shares[share],
            "path": self._whole_path(posed, folds, at, trail), "lams": grid, "scores": scores, "at": at,
            "refit": refit, "parts": [*trail.missed(), *folds.missed],
        }  # fmt: skip
        return trail.last._replace(extra={**trail.last.extra, **told})

    @property
    def _shares(self) -> tuple[float, ...]:
        return SHARES if self.relax else SHARES[:1]

    def _at(self, problem: Problem, ridge: int) -> Problem:
        """The problem with one of the ridge terms."""
        return problem.with_prior(problem.prior.with_ridge(float(self._ridges()[ridge])))

    def _chosen(self, problem: Problem, folds: Any, scores: np.ndarray) -> tuple[np.ndarray, Trail, Any, tuple]:
        """Scores, the path to the strength chosen, the refit there, and the positions of l2, share and strength.

        Where the columns kept on the full data have no refit, the choice is made again without it.
        """
        while True:
            ridge, share, best = _position(scores, self.rule)
            trail = folds.trail(ridge, slice(best + 1))
            refit = None if share == 0 else Refits(self._at(problem, ridge), self.tol, self.max_iter).of(trail.last)
            if share == 0 or refit is not None:
                return scores, trail, refit, (ridge, share, best)
            scores[:, ridge, 1:, best:] = scores[:, ridge, :1, best:]

    def _whole_path(self, problem: Problem, folds: Any, at: tuple[int, int, int], trail: Trail) -> Path:
        """The path to the strength chosen, and on to the smallest strength."""
        grid, after = folds.grid, at[2] + 1
        found = collected(problem, grid[:after], trail)
        if after == len(grid):
            return found
        return found.followed_by(collected(problem, grid[after:], folds.trail(at[0], slice(after, None))))

    def _unfinished(self, problem: Problem) -> None:
        """None: a search that was cut short has chosen no strength."""

    def _adopt(self, problem: Problem, solution: Solution):
        prior = problem.prior.with_ridge(solution.extra["l2"]).with_strength(solution.extra["lam"])
        return super()._adopt(problem.with_prior(prior), solution)

    def _coefficients(self, problem: Problem, solution: Solution) -> tuple[Any, Any, Solution]:
        """The coefficients of the L1 fit and of its refit, blended."""
        coef, intercept, solution = super()._coefficients(problem, solution)
        refit, share = solution.extra["refit"], solution.extra["share"]
        if refit is None:
            return coef, intercept, solution
        free = problem.objective.with_prior(ElasticNet(0.0))
        other, other_intercept = split(refit.weights, free, len(problem.sample.classes))
        gap, violation = max(solution.gap, refit.gap), max(solution.violation, refit.violation)
        blend = share * coef + (1 - share) * other, share * intercept + (1 - share) * other_intercept
        return *blend, solution._replace(gap=gap, violation=violation)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        told, scores = solution.extra, solution.extra["scores"]
        self.path_, self.lams_, self.l2_, self.lasso_share_ = (told[name] for name in ("path", "lams", "l2", "share"))
        self.scores_ = scores[:, told["at"][0], told["at"][1]]
        self.__dict__.pop("all_scores_", None)
        if scores.shape[1:3] != (1, 1):
            self.all_scores_ = scores
        self.lam_min_, self.lam_1se_ = (float(self.lams_[_position(scores, rule)[-1]]) for rule in ("min", "1se"))


def _comparable(folds: tuple[np.ndarray, ...]) -> np.ndarray:
    """Scores (n_folds, n_l2, n_shares, L); a candidate without a refit in some fold has those of share = 1 in all."""
    scores = np.array(folds)
    missing = np.isnan(scores).any(axis=0)
    missing[:, 0] = False
    for fold in scores:
        fold[missing] = np.broadcast_to(fold[:, :1], fold.shape)[missing]
    return cross_validated_scores(list(scores))


def _position(scores: np.ndarray, rule: str) -> tuple[int, int, int]:
    """The positions of l2, share and strength that a rule chooses."""
    folds, _, shares, strengths = scores.shape
    candidate, best = choose_candidate(scores.reshape(folds, -1, strengths), rule)
    return *divmod(candidate, shares), best
