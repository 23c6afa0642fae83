"""Which weights are proved to be zero, and which not: the certificate of a support."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..models.base import problem_of
from ..models.multinomial import SMLR
from ..objective.certificate import optimality
from ..objective.posterior import Posterior
from ..solvers import SOLVERS
from ..solvers.l1.start import begin
from ..tuning.relaxed import ridge_of, weights_on_path
from .checked_input import refuse_other_columns
from .first_features import CLASS_PATHS

ROUNDING = 1e-14  # relative to samples times objective: no gap is trusted below this
STRICT = 1 - 1e-10  # a gradient counts as below its strength from here on


class CertifiedSupport(NamedTuple):
    """What is proved of the features of an L1 fit, each a mask of shape (n_features,).

    Attributes
    ----------
    zero : ndarray of bool
        Features whose weights are exactly 0 at the optimum.
    nonzero : ndarray of bool
        Features with a non-zero weight at the optimum. Features in neither mask are undecided: fit with a smaller
        `tol`.
    """

    zero: np.ndarray
    nonzero: np.ndarray


def certified_support(model, X, y, sample_weight=None, offset=None) -> CertifiedSupport:
    """Which features are proved to be out of an L1 fit, and which in it, from its duality gap.

    The negative entropy is strongly convex, so that at a gap g no residual is farther than ``sqrt(g)`` from that of the
    optimum. With the gradient G at dual-feasible residuals and centred columns x, feature j is out if ::

        |G_jl| + sqrt((1 - 1/m) g sum_i s_i x_ij^2) < lam c_jl      for all classes l,

    and it is in if, in the fit without it, ``|G_jl|`` minus the same radius is above ``lam c_jl`` for some class.

    Parameters
    ----------
    model : SMLR, SMLRCV or SBMLR
        Fitted on these samples, with a linear basis, the symmetric parametrisation and without ridge term.
    X, y, sample_weight, offset
        The samples that the model was fitted on.

    Returns
    -------
    CertifiedSupport

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SMLR
    >>> from smaller.inference import certified_support
    >>> X, y = load_iris(return_X_y=True)
    >>> proved = certified_support(SMLR(lam=2.0).fit(X, y), X, y)
    >>> print(proved.zero, proved.nonzero)
    [ True  True False False] [False False  True  True]
    """
    objective = _objective(model, X, y, sample_weight, offset)
    zero = _proved_zero(objective, _weights(model, objective))
    nonzero = np.zeros(len(zero), dtype=bool)
    for j in model.support_:
        nonzero[j] = _enters(objective, int(j), model.tol)
    return CertifiedSupport(zero, nonzero)


def _objective(model, X, y, sample_weight, offset) -> Posterior:
    """The objective that the model minimises, at its strength."""
    if not isinstance(model, CLASS_PATHS) or not hasattr(model, "coef_"):
        raise ValueError(f"certified_support takes a fitted SMLR, SMLRCV or SBMLR; got {type(model).__name__}.")
    refuse_other_columns(model, X)
    if model.basis != "linear" or ridge_of(model) or getattr(model, "groups", None) is not None:
        raise ValueError("certified_support is about features: the model needs basis='linear', l2=0 and no groups.")
    if model.parametrization != "symmetric" and len(model.classes_) > 2:
        raise ValueError("certified_support needs parametrization='symmetric', in which no class is special.")
    names = ("penalty_factor", "class_weight", "fit_intercept", "standardize")
    settings = {name: getattr(model, name) for name in names}
    lam = float(getattr(model, "lam_", getattr(model, "lam", np.nan)))
    return problem_of(SMLR(lam, **settings), X, y, sample_weight, offset).objective


def _weights(model, objective: Posterior) -> np.ndarray:
    coef, intercept = weights_on_path(model)
    return np.vstack([coef.T, intercept]) if objective.design.intercept else np.ascontiguousarray(coef.T)


def _residual_bounds(objective: Posterior, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient at dual-feasible residuals, (d, k), and how far that of the optimum may be from it, (d,)."""
    point = objective.at(W)
    shrink = optimality(objective, W, point.G).shrinkages[0]
    gap = max(point.gap, ROUNDING * objective.design.n) * abs(point.value)
    d, m = objective.design.d, max(objective.k, 2)
    spread = objective.moments.spread[:d]
    if not objective.design.intercept:
        spread = objective.moments.second(objective.total)[:d]
    return shrink * np.abs(point.G[:d]), np.sqrt((1 - 1 / m) * gap * spread)


def _proved_zero(objective: Posterior, W: np.ndarray) -> np.ndarray:
    G, radius = _residual_bounds(objective, W)
    return (G + radius[:, None] < objective.l1[: len(G)] * STRICT).all(axis=1)


def _enters(objective: Posterior, j: int, tol: float) -> bool:
    """Whether column j has a weight, seen from the fit in which it has none."""
    factor = np.ones((objective.design.d, 1)) if objective.prior.factor is None else objective.prior.factor.copy()
    factor = factor.reshape(objective.design.d, -1)
    bar = objective.moments.mass[j] / max(objective.prior.l1, np.finfo(float).tiny)  # above every possible gradient
    without = factor.copy()
    without[j] = 2 * bar / (1.0 if objective.prior.scale is None else objective.prior.scale[j])
    kept = type(objective.prior)(objective.prior.l1, objective.prior.l2, without, objective.prior.scale)
    problem = objective.with_prior(kept)
    solve, iterations = SOLVERS["newton"]
    G, radius = _residual_bounds(problem, solve(problem, begin(problem), tol, iterations).weights)
    return bool((G[j] - radius[j] > objective.l1[j] / STRICT).any())
