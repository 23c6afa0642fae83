"""Generalisation bounds: upper limits of the true error of a fitted SMLR, with their assumptions.

:func:`pac_bayes` and :func:`rademacher` need the training sample only (Krishnapuram et al. 2005, section 4);
:func:`choose` takes the strength of the prior that has the least bound; :func:`test_set` needs samples held out from
training; compare the others with it. Each returns an object that prints as a sentence.

>>> import numpy as np
>>> from smaller import SMLR, bounds
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(11_467, 20))
>>> y = (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=11_467) > 0).astype(int)
>>> train, test = slice(0, 5000), slice(5000, None)
>>> model = SMLR(lam=5.0, fit_intercept=False).fit(X[train], y[train])
>>> print(bounds.pac_bayes(model, X[train], y[train]))
With probability ≥ 0.95 over training sets, true error ≤ 0.431 (Gibbs 0.216 doubled; KL 29.2 nats; n 5 000).
It assumes that
- the n samples were drawn independently from the distribution that the error refers to
- nothing in the prior (a Laplace density of rate lam=5 on each of 20 weights) was chosen by looking at these samples
- neither were the columns of X, their scaling included
>>> print(bounds.pac_bayes(model, X[train], y[train], rates="least-bound").sentence)
With probability ≥ 0.95 over training sets, true error ≤ 0.329 (Gibbs 0.164 doubled; KL 43.2 nats; n 5 000).
>>> print(bounds.test_set(model, X[test], y[test]).sentence)
With probability ≥ 0.95 over test sets, true error ≤ 0.11 (671 errors in 6 467 held-out samples).
"""

from .divergence import binary_kl, kl_inverse, laplace_kl, least_kl_rates
from .gibbs_risk import GibbsRisk, LaplacePosterior
from .results import Bound, Choice, PACBayes, Rademacher, TestSet
from .test_set_bound import test_set
from .training import GRID, budget, choose, pac_bayes, rademacher

__all__ = [
    "GRID",
    "Bound",
    "Choice",
    "GibbsRisk",
    "LaplacePosterior",
    "PACBayes",
    "Rademacher",
    "TestSet",
    "binary_kl",
    "budget",
    "choose",
    "kl_inverse",
    "laplace_kl",
    "least_kl_rates",
    "pac_bayes",
    "rademacher",
    "test_set",
]
