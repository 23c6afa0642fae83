"""Priors that are mixtures of normal distributions of different variances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import choose


class Mixture:
    """1/2 sum_j h(w_j^2), h concave and increasing: w_j ~ N(0, tau_j) with tau_j integrated out or maximised.

    A new prior gives ``h(z)``, ``variance(z)`` = 1 / h'(z) and ``bend(z)`` = 1 + 2 z h''(z) / h'(z), the curvature of
    the penalty relative to that of the normal prior in its place; z = w^2 in units of the prior.

    Parameters
    ----------
    scale : array-like of shape (d,), optional
        Unit of each column: the prior is on the weights of the columns divided by it.
    """

    def __init__(self, scale: ArrayLike | None = None):
        self.scale = None if scale is None else np.asarray(scale, dtype=float)

    def units(self, rows: np.ndarray) -> np.ndarray:
        """Factors that convert these weights to the units of the prior."""
        return np.ones(len(rows)) if self.scale is None else self.scale[rows]

    def h(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def variance(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def bend(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class LaplaceMixture(Mixture):
    """lam |w|, from exponential variances of rate lam^2 / 2 (Figueiredo 2003; lam is his sqrt(gamma))."""

    def __init__(self, lam: float, scale: ArrayLike | None = None):
        super().__init__(scale)
        self.lam = lam

    def h(self, z: np.ndarray) -> np.ndarray:
        """2 lam sqrt(z)."""
        return 2 * self.lam * np.sqrt(z)

    def variance(self, z: np.ndarray) -> np.ndarray:
        """|w| / lam."""
        return np.sqrt(z) / self.lam

    def bend(self, z: np.ndarray) -> np.ndarray:
        """0: the penalty is linear in |w|."""
        return np.zeros_like(z)


class JeffreysMixture(Mixture):
    """log |w|, from variances with Jeffreys' density 1 / tau: no parameter, no unit (Figueiredo 2003)."""

    def h(self, z: np.ndarray) -> np.ndarray:
        """log z."""
        return np.log(z)

    def variance(self, z: np.ndarray) -> np.ndarray:
        """w^2."""
        return z

    def bend(self, z: np.ndarray) -> np.ndarray:
        """-1: the curvature of the normal prior with the opposite sign."""
        return -np.ones_like(z)


class Power:
    """g(x) = |x|^p: h(z) = z^(p/2). Laplace is p = 1, Gaussian p = 2; the smaller p, the sparser.

    This prior and those below are defined by p(x) = exp(-g(x)/2), g(x) = h(x^2), with h concave and increasing (Wipf &
    Wu 2012, eq. 2): ``h(z)`` and its derivative ``slope(z)``. Each is a maximum over normal densities of variance
    gamma, reached at gamma = 1 / h'(x^2).
    """

    def __init__(self, p: float = 1.0):
        if not 0 < p <= 2:
            raise ValueError(f"Power: p must be positive and at most 2; got {p!r}.")
        self.p = p

    def h(self, z: np.ndarray) -> np.ndarray:
        """z^(p/2)."""
        return z ** (self.p / 2)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """(p/2) z^(p/2 - 1), infinite at 0 for p < 2."""
        with np.errstate(divide="ignore"):
            return self.p / 2 * z ** (self.p / 2 - 1)

    def __repr__(self) -> str:
        return f"Power({self.p!r})"


class Jeffreys:
    """p(x) ~ 1/|x|: h(z) = 1 + log z. Its gamma has no prior of its own (f = 0), as in relevance vector machines."""

    def h(self, z: np.ndarray) -> np.ndarray:
        """1 + log z."""
        with np.errstate(divide="ignore"):
            return 1 + np.log(z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """1 / z."""
        with np.errstate(divide="ignore"):
            return 1 / z

    def __repr__(self) -> str:
        return "Jeffreys()"


class Student:
    """Student's t with `dof` degrees of freedom: h(z) = (dof + 1) log(1 + z / dof)."""

    def __init__(self, dof: float = 1.0):
        if not dof > 0:
            raise ValueError(f"Student: dof must be positive; got {dof!r}.")
        self.dof = dof

    def h(self, z: np.ndarray) -> np.ndarray:
        """(dof + 1) log(1 + z / dof)."""
        return (self.dof + 1) * np.log1p(z / self.dof)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """(dof + 1) / (dof + z)."""
        return (self.dof + 1) / (self.dof + z)

    def __repr__(self) -> str:
        return f"Student({self.dof!r})"


SCALE_MIXTURES = {
    "laplace": Power(1.0),
    "gaussian": Power(2.0),
    "jeffreys": Jeffreys(),
    "student": Student(1.0),
    "lp": Power(0.5),
}


def as_scale_mixture(prior):
    """A prior with h and its derivative, from a name or from an object."""
    if isinstance(prior, str):
        choose("prior", prior, SCALE_MIXTURES)
        return SCALE_MIXTURES[prior]
    if not (callable(getattr(prior, "h", None)) and callable(getattr(prior, "slope", None))):
        raise ValueError(
            f"prior must be one of {', '.join(map(repr, SCALE_MIXTURES))} or an object with h(z) and its derivative "
            f"slope(z), such as smaller.priors.Power(0.1); got {prior!r}."
        )
    return prior


class InUnits:
    """A prior on weights that are measured in another unit: h(unit^2 z)."""

    def __init__(self, prior: Any, unit: float):
        self.prior, self.square = prior, unit**2

    def h(self, z: np.ndarray) -> np.ndarray:
        """h(unit^2 z)."""
        return self.prior.h(self.square * z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """unit^2 h'(unit^2 z)."""
        return self.square * self.prior.slope(self.square * z)


def is_laplace(prior: Any) -> bool:
    """Whether h(z) = sqrt(z)."""
    return isinstance(prior, Power) and prior.p == 1


def degree(prior: Any) -> float | None:
    """The p with which h(c^2 z) = c^p h(z) or, for p = 0, h(z) + log c^2; None for a prior that has a unit."""
    return prior.p if isinstance(prior, Power) else 0.0 if isinstance(prior, Jeffreys) else None


GRID, ROUNDING = np.geomspace(1e-4, 1e4, 33), 1e-6  # variances at which f is checked; tolerance for rounding


def conjugate_point(prior: Any, gamma: np.ndarray) -> np.ndarray:
    """The z at which h'(z) = 1 / gamma, by bisection: h' decreases."""
    low, high = np.full(len(gamma), -150.0), np.full(len(gamma), 150.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = prior.slope(np.exp(middle)) > 1 / gamma
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(low <= -149.0, 0.0, np.exp((low + high) / 2))


def log_prior(prior: Any, gamma: np.ndarray) -> np.ndarray:
    """f(gamma) = max_z [ h(z) - z / gamma ] - log gamma, from h(z) = min_gamma z / gamma + log gamma + f(gamma)."""
    z = conjugate_point(prior, gamma)
    return prior.h(z) - z / gamma - np.log(gamma)


def prior_slope(prior: Any, gamma: np.ndarray) -> np.ndarray:
    """gamma f'(gamma) = z / gamma - 1."""
    return conjugate_point(prior, gamma) / gamma - 1


def prior_rate(prior: Any, gamma: np.ndarray) -> np.ndarray:
    """f'(gamma)."""
    return prior_slope(prior, gamma) / gamma


def increases(prior: Any) -> bool:
    """Whether f increases and is concave: then, as with f = 0, the best variance of a column may be 0."""
    slope = prior_slope(prior, GRID)
    return bool((slope >= -ROUNDING).all() and (np.diff(slope / GRID) <= ROUNDING * (1 + slope[1:]) / GRID[1:]).all())
