"""The relaxed lasso: the columns that an L1 model keeps, fitted again without a penalty."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._sklearn import check_n_features
from ..design import host
from ..errors import Status, choose
from ..models.multinomial import SMLR, SparseMultinomialModel
from ..models.targets import coef_of
from ..objective.problem import Problem
from ..priors import ElasticNet
from ..solvers import Solution, solver_for

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)  # of the L1 fit in a relaxed one, glmnet's gamma
EXCLUDED = 1e30  # a penalty factor that no gradient exceeds
SHARED = ("basis", "parametrization", "class_weight", "fit_intercept", "standardize", "tol", "max_iter")


def refit(model, X, y, support="union", *, sample_weight=None, offset=None) -> SMLR:
    """Fit the columns that a sparse model kept once more, without a penalty: the relaxed lasso at gamma = 0.

    The L1 penalty selects columns and shrinks their weights; the refit takes the shrinkage away. Weights in between,
    ``gamma * model.coef_ + (1 - gamma) * refit(...).coef_``, give scores in between. Standard errors of the refit are
    not valid, as the columns were selected on the same samples.

    Parameters
    ----------
    model : SMLR, SMLRCV or SBMLR
        Fitted, on a basis of columns (linear or polynomial).
    X, y, sample_weight, offset
        The samples that the model was fitted on, as in its fit.
    support : {"union", "class"}, default="union"
        With "union" every class has a weight for every column that any class kept, as in glmnet; with "class" each
        keeps its own columns only.

    Returns
    -------
    SMLR
        Fitted, with free weights for the columns kept and none for the others.

    Raises
    ------
    ValueError
        Where the refit has no optimum: the columns separate the classes, or there are too many of them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import SMLR, refit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SMLR(60.0, standardize=True).fit(X, y)
    >>> again = refit(model, X, y)
    >>> len(model.support_) == len(again.support_)
    True
    """
    choose("support", support, ("union", "class"))
    if not isinstance(model, SparseMultinomialModel):
        raise ValueError(f"refit takes a fitted SMLR, SMLRCV or SBMLR; got {type(model).__name__}.")
    check_is_fitted(model)
    if hasattr(model, "relevance_vectors_"):
        raise ValueError("refit is for columns; relevance vectors of a kernel, fitted without a penalty, overfit.")
    check_n_features(model, X, reset=False)
    n, m, kept = X.shape[0] if hasattr(X, "shape") else len(X), len(model.classes_), len(model.support_)
    if kept >= n / m:
        raise ValueError(
            f"{kept} columns were kept for {n} samples of {m} classes: without a penalty there must be fewer than "
            f"{n / m:.0f}. Take a model with a stronger prior."
        )
    coef = coef_of(model)
    free = coef != 0 if support == "class" else np.broadcast_to(coef.any(axis=0), coef.shape)
    factor = np.where(free, 0.0, EXCLUDED)
    settings = {name: getattr(model, name) for name in SHARED}
    again = SMLR(1.0, penalty_factor=factor if len(factor) > 1 else factor[0], **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        again.fit(X, y, sample_weight, offset)
    if again.status_ != Status.CONVERGED.name.lower():
        raise ValueError(
            f"The {kept} columns kept have no optimum without a penalty (status {again.status_!r}), most likely "
            "because they separate the classes; take a model with a stronger prior, or keep its penalty."
        )
    return again


def weights_on_path(model) -> tuple[np.ndarray, np.ndarray]:
    """``coef_`` and ``intercept_``; of a relaxed model those of its L1 fit, to which its path and objective belong."""
    if getattr(model, "lasso_share_", 1.0) < 1.0:
        point = model.path_.at(model.lam_)
        return point.coef, point.intercept
    return coef_of(model), np.asarray(host(model.intercept_))


def ridge_of(model) -> float:
    """The strength of a model's ridge term, fitted or given; 0 for a model without one."""
    given = getattr(model, "l2_", getattr(model, "l2", 0.0))
    if np.ndim(given):
        raise ValueError(f"One ridge term is needed here, and the model is to choose among several; got l2={given!r}.")
    return float(given)


class Refits:
    """Fits without a penalty of the columns that the solutions of a path keep; None from the first without an optimum.

    There is none where the columns separate the classes, or where there are too many of them: more columns, as weaker
    priors keep, have none either.
    """

    def __init__(self, problem: Problem, tol: float, max_iter: int | None):
        sample = problem.sample
        self.problem, self.tol, self.max_iter = problem, tol, max_iter
        self.most = sample.design.n / len(sample.classes)
        self.kept: np.ndarray = np.zeros(sample.design.d, dtype=bool)
        self.found: Solution | None = None
        self.ended = False

    def of(self, solution: Solution) -> Solution | None:
        """The refit of the columns that a solution keeps; those of the solution before are not fitted again."""
        kept = np.asarray(solution.weights[: len(self.kept)].any(axis=1))
        if self.ended:
            return None
        if not kept.any():
            return solution
        if self.found is None or (kept != self.kept).any():
            self.kept, self.found = kept, self._fitted(kept, solution)
            self.ended = self.found is None
        return self.found

    def _fitted(self, kept: np.ndarray, solution: Solution) -> Solution | None:
        if np.count_nonzero(kept) >= self.most:
            return None
        free = ElasticNet(1.0, 0.0, np.where(kept, 0.0, np.inf), self.problem.prior.scale)
        objective = self.problem.objective.with_prior(free)
        solver, iterations = solver_for(objective, "newton")
        found = solver(objective, solution.weights, self.tol, self.max_iter or iterations)
        return found if found.status is Status.CONVERGED else None


def blended(solution: Solution, refit: Solution, share: float) -> Solution:
    """A solution with weights between those of an L1 fit (share = 1) and of its refit (0)."""
    return solution._replace(weights=share * solution.weights + (1 - share) * refit.weights)
