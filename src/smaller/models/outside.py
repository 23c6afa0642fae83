"""Predictions far outside the training samples of a kernel that decays: recognised, and their error bars widened.

There every column of the kernel is almost 0: the prediction is the intercept, and its standard deviation hardly more
than that of the noise, however far away the sample is.
"""

from __future__ import annotations

import numpy as np

from ..basis import Kernel
from ..design import host
from ..errors import OutsideWarning, warn

FAR = 1e-3  # a sample whose similarity to every training sample is below this is far outside
DECAYING = ("rbf", "laplacian")
BLOCK = 1 << 22  # kernel values that are in memory at a time


def are_outside(model, X) -> np.ndarray:
    """Which samples have no training sample near them; none for a basis whose columns do not decay."""
    basis = model.basis_
    if not (isinstance(basis, Kernel) and basis.kernel in DECAYING):
        return np.zeros(X.shape[0], dtype=bool)
    far = host(basis.transform(X, model.support_)).max(axis=1, initial=0.0) < FAR
    for rows in _blocks(np.flatnonzero(far), basis.n_columns_):  # only the rows far from all relevance vectors
        far[rows] = host(basis.transform(X[rows])).max(axis=1, initial=0.0) < FAR
    return far


def _blocks(rows: np.ndarray, columns: int) -> list[np.ndarray]:
    return np.array_split(rows, max(1, -(-len(rows) * columns // BLOCK))) if len(rows) else []


def check_outside(model, X, outside: str) -> None:
    """Warn of, or refuse, samples far outside the training samples."""
    far = int(are_outside(model, X).sum())
    if not far:
        return
    told = (
        f"{far} of {X.shape[0]} samples are far from every training sample, where a kernel model predicts its "
        "intercept with a standard deviation that is too small"
    )
    if outside == "error":
        raise ValueError(f"{told}; leave these samples out, or predict with outside='widen'.")
    warn(f"{told}; outside='widen' (in the command: --outside widen) widens it.", OutsideWarning)


def added_variance(model, X) -> np.ndarray:
    """The variance that one more column, centred on each sample itself, adds to its prediction, (n,).

    v = e^2 / (1 / g + s), e = k(x, x) - phi(x)' S Phi' k / noise, s = k' (I - Phi S Phi' / noise) k / noise, with k the
    column on the training samples, S the covariance of the weights, and g, the prior variance of the new weight, the
    largest of those kept (Rasmussen and Quinonero-Candela 2005). Columns are centred where there is an intercept.
    The centres stand for the training samples: the distinct rows, each counted once, or those that are candidates.
    """
    basis, support, noise = model.basis_, model.support_, model.noise_
    centers = basis.centers_
    S, prior = host(model.covariance_), float(np.max(np.asarray(host(model.gamma_))[support], initial=0.0))
    Phi = np.asarray(host(basis.transform(centers, support)), dtype=np.float64)
    middle = Phi.mean(axis=0) if model.fit_intercept else 0.0
    Phi = Phi - middle
    found = np.zeros(X.shape[0])
    for rows in _blocks(np.arange(X.shape[0]), basis.n_columns_):
        K = np.asarray(host(basis.transform(X[rows])), dtype=np.float64)  # (rows, centres): the new column of each
        mean = K.mean(axis=1) if model.fit_intercept else np.zeros(len(rows))
        K = K - mean[:, None]
        here = np.asarray(host(basis.transform(X[rows], support)), dtype=np.float64) - middle
        pull = K @ Phi / noise
        e = (1.0 - mean) - np.einsum("ij,jk,ik->i", here, S, pull)
        s = (K**2).sum(axis=1) / noise - np.einsum("ij,jk,ik->i", pull, S, pull)
        found[rows] = e**2 / (1.0 / prior + np.maximum(s, 0.0)) if prior > 0 else 0.0
    return found
