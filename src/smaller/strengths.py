"""The regularisation path of regression: LaplaceRegressor at decreasing strengths."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy import sparse

from .adaptive import LaplaceRegressor
from .errors import Status
from .estimator import Sample
from .selection import strength_grid
from .solvers import Solution
from .tuning import Path, path


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
    model = LaplaceRegressor(**parameters)
    model._validate_params()
    sample = model._sample(X, y, sample_weight, offset, model._target)
    largest = _largest(model, sample) if isinstance(lams, Integral) else 0.0
    grid = strength_grid(largest, lams, eps, sample.weight.sum() < sample.design.d)
    solutions: list[Solution] = []
    for lam in grid:
        solution = model.set_params(lam=float(lam))._solve(sample)
        if solution.status is Status.COLLAPSED:
            break
        solutions.append(solution)
    model._report(solutions, model.tol)
    return _collect(sample, grid[: len(solutions)], solutions)


def path_of(model, X, y, lams=50, *, eps=None, tol=1e-4) -> Path:
    """The path that a fitted model lies on, or beside: of SMLR for classes, of LaplaceRegressor for numbers.

    Basis, units, intercept and class weights are the model's.
    """
    settings = model.get_params(deep=False)
    wanted = ("basis", "standardize", "fit_intercept", "class_weight")
    shared = {key: settings[key] for key in wanted if key in settings}
    follow = path if hasattr(model, "classes_") else laplace_path
    return follow(X, y, lams, eps=eps, tol=tol, **shared)


def strength_of(model) -> float:
    """The strength of a model on that path, NaN where the path is another model's."""
    if not hasattr(model, "classes_") and not isinstance(model, LaplaceRegressor):
        return np.nan
    found = getattr(model, "lam_", getattr(model, "lam", np.nan))
    return float(found)


def _largest(model: LaplaceRegressor, sample: Sample) -> float:
    """The strength from which on every weight is 0: max_j |phi_j . (y - b)| / (u_j noise), b the null model's."""
    s, design = sample.weight, sample.design
    center = float(s @ sample.y / s.sum()) if design.intercept else 0.0
    residual = sample.y - center
    noise = float(s @ residual**2 / s.sum()) if model.noise == "learn" else float(model.noise)
    if noise == 0:
        return 0.0
    unit = model._scale(sample) / np.sqrt(noise) if model.standardize else 1.0
    pull = design.pull((s * residual)[:, None])[: design.d, 0]
    return float((np.abs(pull) / (noise * unit)).max(initial=0.0))


def _collect(sample: Sample, grid: np.ndarray, solutions: list[Solution]) -> Path:
    d = sample.design.d
    weights = [solution.weights[:, 0] for solution in solutions]
    return Path(
        lams=grid,
        weights=sparse.csr_array(np.array([w[:d] for w in weights]).reshape(-1, d)),
        intercepts=np.array([[w[d] if sample.design.intercept else 0.0] for w in weights]).reshape(-1, 1),
        objectives=np.array([solution.objective for solution in solutions]),
        dual_gaps=np.array([solution.gap for solution in solutions]),
        violations=np.array([solution.violation for solution in solutions]),
        n_kept=np.array([np.count_nonzero(w[:d]) for w in weights], dtype=int),
        classes=np.array([]),
        noises=np.array([solution.extra["noise"] for solution in solutions]),
    )
