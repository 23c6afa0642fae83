"""Priors that are mixtures of normal distributions of different variances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import choose


class Mixture:
    """p(w) = exp(-h(w^2) / 2), h concave and increasing (Wipf & Wu 2012, eq. 2): normal, its variance integrated out.

    It is a maximum over normal densities of variance gamma, reached at gamma = 1 / h'(w^2). A new prior gives ``h(z)``
    and its derivative ``slope(z)``, z = w^2; ``bend(z)`` only for :class:`~smaller.objective.mixture.MixturePosterior`.
    """

    degree: float | None = None  # p, where h(c^2 z) = c^p h(z), or h(z) + log c^2 for p = 0; None where h has a unit

    def h(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def slope(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def penalty(self, z: np.ndarray) -> np.ndarray:
        """h without a constant, as in Figueiredo (2003)."""
        return self.h(z)

    def variance(self, z: np.ndarray) -> np.ndarray:
        """1 / h'(z): the variance that belongs to a weight."""
        return 1 / self.slope(z)

    def bend(self, z: np.ndarray) -> np.ndarray:
        """1 + 2 z h''(z) / h'(z): the curvature of the penalty, relative to that of the normal prior in its place."""
        raise NotImplementedError

    def at(self, w: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Penalties and variances of the weights of these columns."""
        z = np.square(w)
        return self.penalty(z), self.variance(z)

    def bend_at(self, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The bends of the penalties of the weights of these columns."""
        return self.bend(np.square(w))


class Power(Mixture):
    """g(x) = |x|^p: h(z) = z^(p/2). Laplace is p = 1, Gaussian p = 2; the smaller p, the sparser."""

    def __init__(self, p: float = 1.0):
        if not 0 < p <= 2:
            raise ValueError(f"Power: p must be positive and at most 2; got {p!r}.")
        self.p = p

    @property
    def degree(self) -> float:  # type: ignore[override]
        """p."""
        return self.p

    def h(self, z: np.ndarray) -> np.ndarray:
        """z^(p/2)."""
        return z ** (self.p / 2)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """(p/2) z^(p/2 - 1), infinite at 0 for p < 2."""
        with np.errstate(divide="ignore"):
            return self.p / 2 * z ** (self.p / 2 - 1)

    def variance(self, z: np.ndarray) -> np.ndarray:
        """(2/p) z^(1 - p/2)."""
        return z ** (1 - self.p / 2) / (self.p / 2)

    def bend(self, z: np.ndarray) -> np.ndarray:
        """p - 1: 0 for Laplace, whose penalty is linear in |w|."""
        return np.full_like(z, self.p - 1)

    def __repr__(self) -> str:
        return f"Power({self.p!r})"


class Jeffreys(Mixture):
    """p(x) ~ 1/|x|: h(z) = 1 + log z. Its gamma has no prior of its own (f = 0), as in relevance vector machines."""

    degree = 0.0

    def h(self, z: np.ndarray) -> np.ndarray:
        """1 + log z."""
        with np.errstate(divide="ignore"):
            return 1 + np.log(z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """1 / z."""
        with np.errstate(divide="ignore"):
            return 1 / z

    def penalty(self, z: np.ndarray) -> np.ndarray:
        """log z."""
        with np.errstate(divide="ignore"):
            return np.log(z)

    def variance(self, z: np.ndarray) -> np.ndarray:
        """z."""
        return z

    def bend(self, z: np.ndarray) -> np.ndarray:
        """-1: the curvature of the normal prior with the opposite sign."""
        return -np.ones_like(z)

    def __repr__(self) -> str:
        return "Jeffreys()"


class Student(Mixture):
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

    def bend(self, z: np.ndarray) -> np.ndarray:
        """(dof - z) / (dof + z)."""
        return (self.dof - z) / (self.dof + z)

    def __repr__(self) -> str:
        return f"Student({self.dof!r})"


class InUnits(Mixture):
    """A prior on weights that are measured in another unit: strength h(unit^2 z).

    Parameters
    ----------
    prior : object with h and slope
    unit : float or array of shape (d,)
        Of each weight.
    strength : float
    """

    def __init__(self, prior: Any, unit: ArrayLike, strength: float = 1.0):
        self.prior, self.unit, self.strength = prior, np.asarray(unit, dtype=float), strength

    def h(self, z: np.ndarray) -> np.ndarray:
        """strength h(unit^2 z)."""
        return self.strength * self.prior.h(self.unit**2 * z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        """strength unit^2 h'(unit^2 z)."""
        return self.strength * self.unit**2 * self.prior.slope(self.unit**2 * z)

    def bend(self, z: np.ndarray) -> np.ndarray:
        """The bend of the prior, which no unit changes."""
        return self.prior.bend(self.unit**2 * z)

    def at(self, w: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Penalties and variances of the weights of these columns, squared in the prior's unit."""
        unit = self._unit_of(rows)
        h, variance = self.prior.at(unit * w, rows)
        return self.strength * h, variance / (self.strength * unit**2)

    def bend_at(self, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The bends of the penalties of the weights of these columns."""
        return self.prior.bend_at(self._unit_of(rows) * w, rows)

    def _unit_of(self, rows: np.ndarray) -> np.ndarray:
        return self.unit[rows] if self.unit.ndim else self.unit


def laplace_mixture(lam: float, unit: ArrayLike = 1.0) -> InUnits:
    """lam |unit w|, from exponential variances of rate lam^2 / 2 (Figueiredo 2003; lam is his sqrt(gamma))."""
    return InUnits(Power(1.0), unit, 2 * lam)


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


def is_laplace(prior: Any) -> bool:
    """Whether h(z) = sqrt(z)."""
    return isinstance(prior, Power) and prior.p == 1


def degree(prior: Any) -> float | None:
    """The degree of a prior; None for a prior that has a unit, or has no attribute `degree`."""
    return getattr(prior, "degree", None)


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
