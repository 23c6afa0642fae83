"""Priors: functions of the weights alone, as negative log densities without their constants.

The first part's are separable and convex, sum_jl [ l1_jl |W_jl| + l2_jl W_jl^2 / 2 ], and known to the objective
through two arrays of strengths. A penalty factor multiplies the strength of a coefficient; 0 frees it.

:class:`Mixture` and its kin are scale mixtures of normals, 1/2 sum_j h(w_j^2) with h concave: a weight is normal given
a variance of its own, and the variance that goes with a weight is 1 / h'(w^2). They are known through that rule. Those
of the last part are the same for Type I estimation, where h and its derivative are all that is asked for.
"""

from .l1 import ElasticNet, Laplace, Normal
from .mixtures import (
    InUnits,
    Jeffreys,
    JeffreysMixture,
    LaplaceMixture,
    Mixture,
    Power,
    Student,
    as_scale_mixture,
    degree,
    increases,
    is_laplace,
    log_prior,
    prior_rate,
    prior_slope,
)

__all__ = [
    "ElasticNet",
    "InUnits",
    "Jeffreys",
    "JeffreysMixture",
    "Laplace",
    "LaplaceMixture",
    "Mixture",
    "Normal",
    "Power",
    "Student",
    "as_scale_mixture",
    "degree",
    "increases",
    "is_laplace",
    "log_prior",
    "prior_rate",
    "prior_slope",
]
