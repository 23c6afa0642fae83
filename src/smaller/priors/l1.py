"""Convex separable priors: Laplace, normal, and the elastic net, their product."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


class ElasticNet:
    """l1 c |w| + l2 c w^2 / 2, c the penalty factor; a Laplace and a normal density multiplied.

    Parameters
    ----------
    l1, l2 : float
        Strengths of the two terms.
    factor : array-like of shape (d,) or (d, k), optional
        Penalty factors, 1 by default; 0 frees a weight, infinity keeps it at 0.
    scale : array-like of shape (d,), optional
        Unit of each column: the prior is on the weights of the columns divided by it.
    """

    def __init__(self, l1: float, l2: float = 0.0, factor: ArrayLike | None = None, scale: ArrayLike | None = None):
        self.l1, self.l2 = l1, l2
        self.factor = None if factor is None else np.asarray(factor, dtype=float)
        self.scale = None if scale is None else np.asarray(scale, dtype=float)

    def strengths(self, d: int, k: int, free_rows: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """l1 and l2 of every weight, (d + free_rows, k); the last ``free_rows`` rows have no penalty."""
        c = 1.0 if self.factor is None else self.factor.reshape(d, -1)
        unit = 1.0 if self.scale is None else self.scale.reshape(d, 1)
        l1, l2 = np.zeros((d + free_rows, k)), np.zeros((d + free_rows, k))
        with np.errstate(invalid="ignore"):
            l1[:d], l2[:d] = self.l1 * c * unit, self.l2 * c * unit**2
        if self.factor is not None:
            excluded = np.isinf(np.broadcast_to(c, (d, k)))
            l1[:d][excluded], l2[:d][excluded] = np.inf, 0.0
        return l1, l2

    def blocks(self, d: int, k: int) -> Any:
        """The groups of rows under a norm: here none."""
        return None

    def with_strength(self, lam: float) -> ElasticNet:
        """The same prior with another strength of its L1 term, and of its groups."""
        return self._changed(l1=lam)

    def with_ridge(self, lam: float) -> ElasticNet:
        """The same prior with another strength of its ridge term."""
        return self._changed(l2=lam)

    def with_scale(self, scale: np.ndarray) -> ElasticNet:
        """The same prior in other units of the columns."""
        return self._changed(scale=scale)

    def _changed(self, **attributes: Any) -> ElasticNet:
        other = copy(self)
        other.__dict__.update(attributes)
        return other


class Laplace(ElasticNet):
    """lam sum c |w|: the sparse prior of SMLR (Krishnapuram et al. 2005, eq. 3)."""

    def __init__(self, lam: float, factor: ArrayLike | None = None, scale: ArrayLike | None = None):
        super().__init__(lam, 0.0, factor, scale)


class Normal(ElasticNet):
    """lam / 2 sum c w^2: the ridge prior of RMLR, lam the inverse prior variance."""

    def __init__(self, lam: float, factor: ArrayLike | None = None, scale: ArrayLike | None = None):
        super().__init__(0.0, lam, factor, scale)
