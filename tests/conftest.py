"""Data and the objective, written down once more and independently, that several test files share."""

import tracemalloc

import numpy as np
from scipy.special import logsumexp

OVERLAP = 1.5  # spread of the clusters in units of the distance of their centres: no class can be separated


def clusters(n=90, p=6, m=3, seed=0, spread=OVERLAP):
    """Gaussian clusters, only the first half of the inputs informative; every class occurs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % m)
    centres = rng.normal(size=(m, p))
    centres[:, (p + 1) // 2 :] = 0.0
    return centres[y] + spread * rng.normal(size=(n, p)), y


def scores(coef, intercept, Phi, offset=0.0):
    """One column of scores for each class, (n, m), from coef_ and intercept_ of any model."""
    F = Phi @ np.asarray(coef).T + intercept
    F = np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F
    return F + offset


def objective(coef, intercept, Phi, y, lam=0.0, l2=0.0, weight=None, factor=1.0, offset=0.0):
    """sum_i s_i [ log sum_c exp F_ic - F_i,y(i) ] + lam sum c |W| + l2/2 sum c W^2; y are positions of classes."""
    F = scores(coef, intercept, Phi, offset)
    weight = np.ones(len(y)) if weight is None else weight
    loss = logsumexp(F, axis=1) - F[np.arange(len(y)), y]
    penalty = lam * np.abs(coef) + l2 / 2 * np.square(coef)
    return float(weight @ loss + (factor * penalty).sum())


def peak_of(action):
    """Bytes that were allocated at once."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
