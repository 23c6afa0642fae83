"""Priors: functions of the weights alone, as negative log densities without their constants.

The priors of :mod:`smaller.priors.l1` are separable and convex, sum_jl [ l1_jl |W_jl| + l2_jl W_jl^2 / 2 ]. The
objective uses their two arrays of strengths; :class:`Groups` adds norms of rows of W. A penalty factor multiplies the
strength of a weight; 0 frees the weight.

:class:`Mixture` and its subclasses are scale mixtures of normals, 1/2 sum_j h(w_j^2) with h concave: a weight is normal
given its own variance, and the variance that belongs to a weight is 1 / h'(w^2).
"""

from .groups import Groups, RowGroups
from .l1 import ElasticNet, Laplace, Normal
from .mixtures import (
    InUnits,
    Jeffreys,
    Mixture,
    Power,
    Student,
    as_scale_mixture,
    degree,
    increases,
    is_laplace,
    laplace_mixture,
    log_prior,
    prior_rate,
    prior_slope,
)

__all__ = [
    "ElasticNet",
    "Groups",
    "InUnits",
    "Jeffreys",
    "Laplace",
    "Mixture",
    "Normal",
    "Power",
    "RowGroups",
    "Student",
    "as_scale_mixture",
    "degree",
    "increases",
    "is_laplace",
    "laplace_mixture",
    "log_prior",
    "prior_rate",
    "prior_slope",
]
