"""Regularisation paths: that of LaplaceRegressor, and that of the samples that a model was fitted on."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..errors import Status
from ..models.adaptive import LaplaceRegressor, solve_laplace
from ..models.base import problem_of, warn_if_unconverged
from ..models.multinomial import SMLR
from ..models.sbmlr import SBMLR
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..solvers import Solution
from ..solvers.type1.scaled_lasso import Standardised
from .cross_validation import SMLRCV
from .path import Path, path, strength_grid
from .relaxed import ridge_of, weights_on_path

PATH_MODELS = (SMLR, SMLRCV, SBMLR, LaplaceRegressor)  # each is a point of a regularisation path
ON_PATH = ", ".join(cls.__name__ for cls in PATH_MODELS)


def laplace_path(X, y, lams=50, *, eps=None, sample_weight=None, offset=None, **parameters) -> Path:
    """The regularisation path of :class:`LaplaceRegressor`: its solutions at decreasing strengths, the noise learned.

    Parameters
    ----------
    X, y, sample_weight, offset
        As in :meth:`LaplaceRegressor.fit`.
    lams : int or array-like, default=50
        How many strengths, geometrically spaced from the largest useful one; or the strengths themselves.
    eps : float, optional
        The smallest strength as a fraction of the largest; 1e-2 when there are more columns than samples, else 1e-3.
    **parameters
        Of :class:`LaplaceRegressor`: ``basis``, ``noise``, ``standardize``, ``tol``, ...

    Returns
    -------
    Path
        Without classes, and with the variance of the noise at each strength as ``noises``. It ends before the first
        strength at which the noise collapses, because the columns kept can fit the target exactly.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import laplace_path
    >>> found = laplace_path(*load_diabetes(return_X_y=True), lams=5)
    >>> found.n_kept.tolist()
    [0, 5, 7, 10, 10]
    """
    if "lam" in parameters:
        raise ValueError("laplace_path takes no lam: it follows lams.")
    model = LaplaceRegressor(1.0, **parameters)
    problem = problem_of(model, X, y, sample_weight, offset)
    grid = laplace_grid(problem, lams, eps, model.noise == "learn")
    solutions = laplace_solutions(problem, grid, model)
    warn_if_unconverged(model, solutions)
    return collected_numbers(problem.sample, grid, solutions)


def laplace_grid(problem: Problem, lams, eps: float | None, learn: bool) -> np.ndarray:
    """Strengths from the data, or those given."""
    sample = problem.sample
    noise, largest = None if learn else problem.likelihood.noise, 0.0
    if isinstance(lams, Integral):
        largest = Standardised(sample, problem.prior).largest_strength(noise)
    return strength_grid(largest, lams, eps, sample.weight.sum() < sample.design.d)


def laplace_solutions(problem: Problem, grid: np.ndarray, model: LaplaceRegressor) -> list[Solution]:
    """The solutions at each strength, up to the first at which the noise collapses."""
    solutions: list[Solution] = []
    for lam in grid:
        at = problem.with_strength(float(lam))
        solution = solve_laplace(at, model.noise == "learn", model.solver, model.tol, model.max_iter)
        if solution.status is Status.COLLAPSED:
            break
        solutions.append(solution)
    return solutions


def training_path(model, X, y, lams=40, *, eps=0.005, tol=1e-4, sample_weight=None) -> Path:
    """The regularisation path of the samples that a model was fitted on, with the model itself as one of its points.

    ``smaller fit`` keeps it with the model as ``path_``, and :func:`smaller.report` draws it.

    Parameters
    ----------
    model : SMLR, SMLRCV, SBMLR or LaplaceRegressor
        Fitted, on a basis of columns (linear or polynomial).
    X, y, sample_weight
        The samples that the model was fitted on, as in its fit.
    lams : int, default=40
        How many strengths beside the model's own.
    eps : float, default=0.005
        The smallest strength as a fraction of the largest; half the model's own where that is smaller.
    tol : float, default=1e-4
        Of the other points of the path.

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SBMLR, training_path
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SBMLR().fit(X, y)
    >>> found = training_path(model, X, y)
    >>> print(found.n_kept[found.lams == model.lam_], len(model.support_))
    [4] 4
    """
    check_is_fitted(model)
    lam = strength_of(model)
    if not lam > 0:
        raise ValueError(f"{type(model).__name__} is no point of a regularisation path; take one of {ON_PATH}.")
    largest = path_of(model, X, y, 1, tol=tol, sample_weight=sample_weight).lams[0]
    grid = np.geomspace(largest, min(eps * largest, lam / 2), lams) if largest > 0 else np.array([lam])
    return with_model(path_of(model, X, y, grid, tol=tol, sample_weight=sample_weight), model)


def path_of(model, X, y, lams=50, *, eps=None, tol=1e-4, sample_weight=None) -> Path:
    """The path that a fitted model lies on, or beside: of SMLR for classes, of LaplaceRegressor for numbers.

    Basis, units, intercept and class weights are the model's, and so is all else that the model on the path can have.
    """
    follow, on_path = (path, SMLR) if hasattr(model, "classes_") else (laplace_path, LaplaceRegressor)
    settings, wanted = model.get_params(deep=False), ["basis", "standardize", "fit_intercept", "class_weight"]
    if isinstance(model, PATH_MODELS):
        wanted += ["parametrization", "l2", "penalty_factor", "groups", "l1_share", "group_factor", "noise"]
    settings["l2"] = ridge_of(model)
    shared = {key: settings[key] for key in wanted if key in settings and key in on_path._get_param_names()}
    return follow(X, y, lams, eps=eps, tol=tol, sample_weight=sample_weight, **shared)


def with_model(found: Path, model) -> Path:
    """The path with the model's own solution, of a relaxed model its L1 fit, as the point at its strength."""
    lam, (coef, intercept) = strength_of(model), weights_on_path(model)
    coef = sparse.csr_array(np.atleast_2d(coef))
    rows, d = found.intercepts.shape[1], found.weights.shape[1]
    if coef.shape != (rows, d):
        raise ValueError(
            f"The path has {rows} x {d} weights, but the model has {coef.shape[0]} x {coef.shape[1]}; give "
            "training_path(model, X, y) with the training samples of this model."
        )
    others = np.flatnonzero(np.abs(found.lams - lam) > 1e-9 * lam)
    order = np.argsort(-np.append(found.lams[others], lam), kind="stable")

    def points(values, own):
        return np.concatenate([values[others], np.reshape(own, (1, *values.shape[1:]))])[order]

    weights = [*(found.sparse_coefs[i] for i in others), coef]
    return Path(
        lams=points(found.lams, lam),
        weights=sparse.csr_array(sparse.vstack([weights[i] for i in order])),
        intercepts=points(found.intercepts, intercept),
        objectives=points(found.objectives, model.objective_),
        dual_gaps=points(found.dual_gaps, model.dual_gap_),
        violations=points(found.violations, model.violation_),
        n_kept=points(found.n_kept, len(model.support_)),
        classes=found.classes,
        noises=None if found.noises is None else points(found.noises, model.noise_),
    )


def strength_of(model) -> float:
    """The strength of a model on that path, NaN where the model is no point of a path."""
    if not isinstance(model, PATH_MODELS):
        return np.nan
    return float(getattr(model, "lam_", getattr(model, "lam", np.nan)))


def collected_numbers(sample: Sample, grid: np.ndarray, solutions: list[Solution]) -> Path:
    """The solutions at the first strengths of the grid as a path of a regression."""
    grid, d = grid[: len(solutions)], sample.design.d
    weights = [solution.weights.T for solution in solutions]
    return Path(
        lams=grid,
        weights=sparse.csr_array(np.array([w[:, :d] for w in weights]).reshape(-1, d)),
        intercepts=np.array([w[:, d] if sample.design.intercept else np.zeros(sample.k) for w in weights]).reshape(
            -1, sample.k
        ),
        objectives=np.array([solution.objective for solution in solutions]),
        dual_gaps=np.array([solution.gap for solution in solutions]),
        violations=np.array([solution.violation for solution in solutions]),
        n_kept=np.array([np.count_nonzero(w[:, :d].any(axis=0)) for w in weights], dtype=int),
        classes=np.array([]),
        noises=np.array([solution.extra["noise"] for solution in solutions]),
    )
