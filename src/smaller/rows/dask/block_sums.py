"""The objective at a point, on a worker: sums over the rows of one block, whose size does not grow with the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlog1py

from ...likelihoods import Multinomial
from .block import Block, Task
from .block_moments import add

# Points between the labels (0) and the fitted probabilities (1) at which the entropy of the dual point is summed. The
# entropy is concave, so that linear interpolation between these points is a lower bound.
SHRINKAGES = 1.0 - np.array([1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 0.0])


class Sums(NamedTuple):
    """Sums over rows at one point: loss, gradient and curvature, and the sums that the certificate needs."""

    loss: float
    gradient: np.ndarray  # in the centred columns, (d, k)
    tilt: np.ndarray  # sum s (P - Y), the gradient in the intercepts, (k,)
    curvature: np.ndarray  # sum s (diag P - P P^T), (k, k)
    entropies: np.ndarray  # of the dual points at SHRINKAGES
    offsets: np.ndarray  # sum s P offset^T over all classes (m, k), and sum s Y offset in a last row
    hessian: np.ndarray | None  # in the active weights and the intercepts
    least: float  # the least probability of a sample's own class
    doubt: float  # the least 1 - probability of a sample's own class


def evaluate(X, y, weight, offset, task: Task) -> Sums:
    """Sums over one block."""
    block = Block(X, y, weight, offset, task)
    width = 0 if task.active is None else len(task.active[0])
    return join([_evaluate(block, part, task) for part in block.parts(width)])


def join(found: list[Sums]) -> Sums:
    """Sums over several blocks."""
    *summed, least, doubt = zip(*found, strict=True)
    added: list[Any] = [None if each[0] is None else add(list(each)) for each in summed]
    return Sums._make([*added, min(least), min(doubt)])


def _evaluate(block: Block, part: slice, task: Task) -> Sums:
    Z, s, codes, k = block.columns(part), block.s[part], block.codes[part], task.k
    W, b, center = task.W, task.b, task.center
    dense = not sparse.issparse(Z)
    if dense:
        Z = Z - center
        F = np.asfortranarray(Z @ W + b)
    else:
        F = np.asfortranarray(Z @ W + (b - center @ W))
    if block.offset is not None:
        F += block.offset[part]
    labelled = np.arange(k) if len(task.classes) > 2 else np.array([1])
    Y = np.asfortranarray(codes[:, None] == labelled, dtype=np.float64)
    P, U, loss = Multinomial(task.reference).fit(F, Y, s)
    R = s[:, None] * U
    tilt = R.sum(axis=0)
    gradient = Z.T @ np.ascontiguousarray(R)
    entropies, own, other = _entropies(F, P, Y, s, task.reference)
    C = -(P.T * s) @ P
    C.flat[:: k + 1] += s @ P
    if not dense:
        gradient -= np.outer(center, tilt)
    offsets = np.zeros((len(task.classes) + 1, k))
    if block.offset is not None:
        o = block.offset[part]
        offsets[labelled], offsets[-1] = (P.T * s) @ o, s @ (Y * o)
        if task.reference:
            offsets[0 if k == 1 else k] = (s * (1.0 - P.sum(axis=1))) @ o
    H = None
    if task.active is not None:
        some = slice(None, None, task.thin)
        H = _hessian(Z[some], P[some], task.thin * s[some], C, task)
    counted = s > 0
    least, doubt = own[counted].min(initial=1.0), other[counted].min(initial=1.0)
    return Sums(loss, gradient, tilt, C, entropies, offsets, H, float(least), float(doubt))


def _entropies(F, P, Y, s, reference: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """sum s entropy((1 - rho) Y + rho P) at each shrinkage rho; the probability of the own class, and 1 minus it.

    Only the entry of the true class needs a new logarithm: the others are rho P.
    """
    top, best = F.max(axis=1), P.max(axis=1)
    if reference:
        below = top < 0
        top, best = np.where(below, 0.0, top), np.where(below, 1.0 - P.sum(axis=1), best)
    normaliser = top - np.log(best)  # log sum exp F: the greatest probability is at least 1 / m
    log_own = (Y * F).sum(axis=1) - normaliser
    own = np.exp(log_own)
    other = -np.expm1(log_own)
    others = np.maximum(normaliser - (P * F).sum(axis=1) + own * log_own, 0.0)  # -sum of P log P over the other classes
    found = np.zeros(len(SHRINKAGES))
    for i, rho in enumerate(SHRINKAGES):
        if rho > 0:
            left = rho * other
            found[i] = s @ (rho * others - xlog1py(1 - left, -left)) - rho * np.log(rho) * (s @ other)
    return found, own, other


def _hessian(Z, P: np.ndarray, s: np.ndarray, C: np.ndarray, task: Task) -> np.ndarray:
    """Second derivatives in the active weights (class by class) and then the intercepts, C among the latter.

    With v_a = sqrt(s) P_l z_j of the weight a = (j, l) it is D - V^T V, D = Z^T diag(s P_l) Z within each class and 0
    between classes. Only the columns of active weights are read.
    """
    feature, klass = task.active
    k, N, root = task.k, len(feature), np.sqrt(s)
    used, where = np.unique(feature, return_inverse=True)
    if sparse.issparse(Z):
        return _sparse_hessian(sparse.csc_array(Z[:, used]), where, klass, P, s, C, task.center[used])
    Zu = Z if len(used) == Z.shape[1] else Z[:, used]
    V = np.empty((len(s), N + k))
    H = np.zeros((N + k, N + k))
    np.multiply(root[:, None], P, out=V[:, N:])
    ends = np.searchsorted(klass, np.arange(k + 1))
    for at in range(k):
        a, b = ends[at], ends[at + 1]
        columns = where[a:b]
        Zl = Zu if len(columns) == Zu.shape[1] else Zu[:, columns]
        np.multiply(Zl, V[:, N + at, None], out=V[:, a:b])
        weighted = Zl * np.sqrt(s * P[:, at])[:, None]
        H[a:b, a:b] = weighted.T @ weighted
        H[a:b, N + at] = H[N + at, a:b] = Zl.T @ (s * P[:, at])
    H -= V.T @ V
    H[N:, N:] = C
    return H


def _sparse_hessian(Z, where, klass, P, s, C, center: np.ndarray) -> np.ndarray:
    """The same from columns that are not centred, corrected at the end: z_j becomes z_j - c_j."""
    k, N = P.shape[1], len(where)
    H = np.zeros((N + k, N + k))
    root = np.sqrt(s)
    columns, ends = [], np.searchsorted(klass, np.arange(k + 1))
    for at in range(k):
        a, b = ends[at], ends[at + 1]
        Zl = Z[:, where[a:b]]
        columns.append(sparse.diags_array(root * P[:, at]) @ Zl)
        H[a:b, a:b] = (Zl.T @ (sparse.diags_array(s * P[:, at]) @ Zl)).toarray()
        H[a:b, N + at] = Zl.T @ (s * P[:, at])
    V = sparse.csc_array(sparse.hstack(columns))
    H[:N, :N] -= (V.T @ V).toarray()
    H[:N, N:] -= V.T @ (root[:, None] * P)
    H[N:, :N] = H[:N, N:].T
    H[N:, N:] = C
    c = center[where]
    B = H[:N, N:]
    shifted = B[:, klass] * c  # of weight a and the intercept of weight b's class, times c_b
    H[:N, :N] += np.outer(c, c) * C[np.ix_(klass, klass)] - shifted - shifted.T
    H[:N, N:] = B - c[:, None] * C[klass]
    H[N:, :N] = H[:N, N:].T
    return H
