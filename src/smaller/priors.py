"""Priors: functions of the weights alone, as negative log densities without their constants.

Those of the first part are separable and convex, sum_jl [ l1_jl |W_jl| + l2_jl W_jl^2 / 2 ], and are known to the
objective through the two arrays of strengths. A penalty factor multiplies the strength of a coefficient; 0 frees it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .errors import choose


class ElasticNet:
    """l1 c |w| + l2 c w^2 / 2, c the penalty factor; a Laplace and a normal density multiplied.

    Parameters
    ----------
    l1, l2 : float
        Strengths of the two terms.
    factor : array-like of shape (d,) or (d, k), optional
        Penalty factors, 1 by default.
    scale : array-like of shape (d,), optional
        Unit of each column: the prior is on the weights of the columns divided by it.
    """

    def __init__(self, l1: float, l2: float = 0.0, factor: ArrayLike | None = None, scale: ArrayLike | None = None):
        self.l1, self.l2 = l1, l2
        self.factor = None if factor is None else np.asarray(factor, dtype=float)
        self.scale = None if scale is None else np.asarray(scale, dtype=float)

    def strengths(self, d: int, k: int, free_rows: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """l1 and l2 of every weight, (d + free_rows, k); the last rows are free."""
        c = np.ones((d, 1)) if self.factor is None else self.factor.reshape(d, -1)
        unit = np.ones((d, 1)) if self.scale is None else self.scale.reshape(d, 1)
        l1, l2 = np.zeros((d + free_rows, k)), np.zeros((d + free_rows, k))
        l1[:d], l2[:d] = self.l1 * c * unit, self.l2 * c * unit**2
        return l1, l2

    def with_strength(self, lam: float) -> ElasticNet:
        """The same prior with another strength of its L1 term."""
        return ElasticNet(lam, self.l2, self.factor, self.scale)


class Laplace(ElasticNet):
    """lam sum c |w|: the sparse prior of SMLR (Krishnapuram et al. 2005, eq. 3)."""

    def __init__(self, lam: float, factor: ArrayLike | None = None, scale: ArrayLike | None = None):
        super().__init__(lam, 0.0, factor, scale)


class Normal(ElasticNet):
    """lam / 2 sum c w^2: the ridge prior of RMLR, lam the inverse prior variance."""

    def __init__(self, lam: float, factor: ArrayLike | None = None, scale: ArrayLike | None = None):
        super().__init__(0.0, lam, factor, scale)


class Power:
    """g(x) = |x|^p: h(z) = z^(p/2). Laplace is p = 1, Gaussian p = 2; the smaller p, the sparser.

    The priors from here on are known through p(x) = exp(-g(x)/2), g(x) = h(x^2), with h concave and increasing (Wipf &
    Wu 2012, eq. 2): ``h(z)`` and its derivative ``slope(z)``. Each is a maximum over normal densities of variance
    gamma, reached at gamma = 1 / h'(x^2).
    """

    def __init__(self, p: float):
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
