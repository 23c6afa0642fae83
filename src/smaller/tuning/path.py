"""Regularisation paths: the strengths that they visit, their solutions, and the path of SMLR."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..models.base import problem_of, warn_if_unconverged
from ..models.multinomial import SMLR
from ..models.targets import split_sparsely
from ..objective.problem import Problem
from ..solvers import Trail, null_point, solve_path, solver_for
from ..solvers.symmetric_weights import lowered


@dataclass(frozen=True)
class Path:
    """Solutions at decreasing strengths, each with its certificate.

    Attributes
    ----------
    lams : ndarray of shape (L,)
    weights : sparse array of shape (L * n_rows, n_columns)
        Those of all solutions, one below the other.
    intercepts : ndarray of shape (L, n_rows)
    objectives, dual_gaps, violations : ndarray of shape (L,)
    n_kept : ndarray of shape (L,)
        Columns with a non-zero weight.
    classes : ndarray
        Empty in regression.
    noises : ndarray of shape (L,) or None
        In regression, the variance of the noise.
    """

    lams: np.ndarray
    weights: sparse.csr_array
    intercepts: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    violations: np.ndarray
    n_kept: np.ndarray
    classes: np.ndarray
    noises: np.ndarray | None = None

    @property
    def coefs(self) -> np.ndarray:
        """All weights as one array, (L, n_rows, n_columns)."""
        return self.weights.toarray().reshape(len(self), self.intercepts.shape[1], self.weights.shape[1])

    @property
    def sparse_coefs(self) -> list[sparse.csr_array]:
        """The weights of each solution, sparse, (n_rows, n_columns)."""
        rows = self.intercepts.shape[1]
        return [self.weights[rows * i : rows * (i + 1)] for i in range(len(self))]

    def __len__(self) -> int:
        return len(self.lams)

    def at(self, lam: float) -> PathPoint:
        """The weights at any strength of the path, between two of its points interpolated linearly in the strength.

        Parameters
        ----------
        lam : float
            From the smallest to the largest of ``lams``.

        Returns
        -------
        PathPoint
            At a point of the path its weights, exactly. Between points, weights that cross zero are near the optimum
            but not at it.
        """
        if not self.lams[-1] <= lam <= self.lams[0]:
            raise ValueError(
                f"lam must be from {self.lams[-1]:g} to {self.lams[0]:g}, the strengths of the path; got {lam!r}."
            )
        below = int(np.searchsorted(-self.lams, -lam))  # the first point whose strength is at most lam
        above = below if self.lams[below] == lam else below - 1
        share = 0.0 if above == below else (lam - self.lams[below]) / (self.lams[above] - self.lams[below])
        coefs, ends = self.sparse_coefs, (above, below)
        coef = coefs[below].toarray() if above == below else sum(
            part * coefs[i].toarray() for part, i in zip((share, 1.0 - share), ends, strict=True)
        )  # fmt: skip
        intercept = share * self.intercepts[above] + (1.0 - share) * self.intercepts[below]
        return PathPoint(float(lam), coef, intercept)

    def followed_by(self, other: Path) -> Path:
        """This path and one of the same model at smaller strengths, as one path."""
        parts = {
            field.name: np.concatenate([getattr(self, field.name), getattr(other, field.name)])
            for field in fields(self)
            if field.name not in ("weights", "classes", "noises")
        }
        noises = None if self.noises is None else np.concatenate([self.noises, other.noises])
        weights = sparse.csr_array(sparse.vstack([self.weights, other.weights]))
        return Path(**parts, weights=weights, classes=self.classes, noises=noises)


class PathPoint(NamedTuple):
    """The weights at one strength of a path.

    Attributes
    ----------
    lam : float
    coef : ndarray of shape (n_rows, n_columns)
    intercept : ndarray of shape (n_rows,)
    """

    lam: float
    coef: np.ndarray
    intercept: np.ndarray


def path(X, y, lams=100, *, eps=None, sample_weight=None, offset=None, **parameters) -> Path:
    """The regularisation path of :class:`SMLR`: its solutions at decreasing strengths, each warm-started from the last.

    Parameters
    ----------
    X, y, sample_weight, offset
        As in :meth:`SMLR.fit`.
    lams : int or array-like, default=100
        How many strengths, geometrically spaced from the largest useful one; or the strengths themselves.
    eps : float, optional
        The smallest strength as a fraction of the largest; 1e-2 when there are more columns than samples, else 1e-3.
    **parameters
        Of :class:`SMLR`: ``basis``, ``parametrization``, ``l2``, ``penalty_factor``, ``standardize``, ``tol``, ...

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import path
    >>> found = path(*load_iris(return_X_y=True), lams=5)
    >>> found.n_kept.tolist()
    [0, 1, 2, 4, 4]
    """
    for name in ("lam", "solver", "warm_start", "random_state"):
        if name in parameters:
            raise ValueError(f"path takes no {name}: it follows lams, with warm starts, by the Newton solver.")
    model = SMLR(**parameters)
    return followed(problem_of(model, X, y, sample_weight, offset), model, lams, eps)


def followed(problem: Problem, model: SMLR, lams, eps: float | None = None) -> Path:
    """The path of a problem that the model has posed."""
    grid = grid_of(problem, lams, eps)
    trail = trail_of(problem, grid, model.tol, model.max_iter)
    warn_if_unconverged(model, trail.missed())
    return collected(problem, grid, trail)


def grid_of(problem: Problem, lams, eps: float | None) -> np.ndarray:
    """Strengths from the data; the null model is fitted only where it is needed."""
    largest, sample = 0.0, problem.sample
    if isinstance(lams, Integral):
        unit = problem.objective.with_strength(1.0)
        largest = unit.largest_strength(null_point(unit))
    return strength_grid(largest, lams, eps, sample.total < sample.design.d)


def strength_grid(largest: float, lams, eps: float | None, wide: bool) -> np.ndarray:
    """Decreasing strengths: those given, or that many from the largest useful one down to a fraction eps of it."""
    if isinstance(lams, Integral):
        if lams < 1:
            raise _no_strengths(lams)
        fraction = (1e-2 if wide else 1e-3) if eps is None else eps
        if not (isinstance(fraction, Real) and 0 < float(fraction) < 1):
            raise ValueError(f"eps must be a fraction between 0 and 1; got {eps!r}.")
        if largest <= 0:
            raise ValueError("No column is related to the target at all, so there is no path to follow; check X and y.")
        return largest * np.geomspace(1.0, fraction, int(lams))
    try:
        grid = np.asarray(lams, dtype=np.float64)
    except (TypeError, ValueError):
        raise _no_strengths(lams) from None
    if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all() or (grid < 0).any():
        raise _no_strengths(lams)
    return np.sort(grid)[::-1]


def _no_strengths(lams) -> ValueError:
    return ValueError(
        f"lams must be a number of strengths, or a list of finite strengths that are not negative; got {lams!r}."
    )


def trail_of(problem: Problem, grid: np.ndarray, tol: float, max_iter: int | None) -> Trail:
    """The solutions at each strength."""
    solver, iterations = solver_for(problem.objective, "newton")
    return solve_path(problem.objective, grid, tol, max_iter or iterations, solve=solver)


def collected(problem: Problem, grid: np.ndarray, trail: Trail) -> Path:
    """The solutions at the strengths of the grid as coefficients of the user's columns and classes."""
    unit, classes = problem.objective.with_strength(1.0), problem.sample.classes
    solution, column, coefs, intercepts, gains = split_sparsely(
        trail.counts, trail.places, trail.values, unit, len(classes), grid
    )
    rows = intercepts.shape[1]
    kept, klass = np.nonzero(coefs)
    row, size = solution[kept] * rows + klass, len(grid) * rows
    order = np.argsort(row, kind="stable") if rows > 1 else slice(None)
    starts = np.append(0, np.cumsum(np.bincount(row, minlength=size)))
    objectives, gaps = lowered(trail.objectives, trail.gaps, gains)
    return Path(
        lams=grid,
        weights=sparse.csr_array((coefs[kept, klass][order], column[kept][order], starts), shape=(size, unit.design.d)),
        intercepts=intercepts,
        objectives=objectives,
        dual_gaps=gaps,
        violations=trail.violations,
        n_kept=np.bincount(solution[coefs.any(axis=1)], minlength=len(grid)),
        classes=classes,
    )
