"""The objective at a point, on a worker: sums over the rows of one block, whose size does not grow with the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...design import as_design
from ...likelihoods import Multinomial
from ...objective.curvature import centring, hessian
from .block import Block, Task
from .block_moments import add

CERTAIN = 1.0 - 2.0**-53  # the largest probability below 1

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
    hessian: np.ndarray | None  # in the active weights of centred columns, class by class
    least: float  # the least probability of a sample's own class
    doubt: float  # the least 1 - probability of a sample's own class


def evaluate(X, y, weight, offset, task: Task) -> Sums:
    """Sums over one block."""
    block = Block(X, y, weight, offset, task)
    width = 0 if task.active is None else int(np.count_nonzero(task.active))
    return join([_evaluate(block, part, task) for part in block.parts(width)])


def join(found: list[Sums]) -> Sums:
    """Sums over several blocks."""
    *summed, least, doubt = zip(*found, strict=True)
    added: list[Any] = [None if each[0] is None else add(list(each)) for each in summed]
    return Sums._make([*added, min(least), min(doubt)])


def _evaluate(block: Block, part: slice, task: Task) -> Sums:
    Z, s, codes, k = block.columns(part), block.s[part], block.codes[part], task.k
    W, b, center = task.W, task.b, task.center
    # Subtracting the means from all values takes longer than all else; where they are small they count in the sums.
    centred = task.far and not sparse.issparse(Z)
    if centred:
        Z = Z - center
    F = np.asfortranarray(Z @ W + (b if centred else b - center @ W))
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
    if not centred:
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
        few = Z[some] if centred or sparse.issparse(Z) else Z[some] - center
        H = _hessian(few, P[some], task.thin * s[some], task)
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
            left = np.minimum(rho * other, CERTAIN)
            found[i] = s @ (rho * others - (1 - left) * np.log1p(-left)) - rho * np.log(rho) * (s @ other)
    return found, own, other


def _hessian(Z, P: np.ndarray, s: np.ndarray, task: Task) -> np.ndarray:
    """Second derivatives in the active weights, class by class; sparse columns are centred in the result."""
    active, d = task.active, Z.shape[1]
    design = as_design(Z, len(active) > d)
    H = hessian(design, Multinomial(task.reference), P, s, active)
    if not sparse.issparse(Z) or len(active) == d:
        return H
    T = centring(active, task.center)
    return (T.T @ (T.T @ H).T).T
