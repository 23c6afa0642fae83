"""Maximising the Laplace evidence of class labels: sequentially on a growing working set, or by re-estimating all.

With the curvature at the mode held, the labels are Gaussian data, and the sequential algorithm proposes columns and
precisions on them; the mode is then found anew. A change of the columns is accepted only if it raises the evidence of
the settled model, so that the evidence never falls from one accepted model to the next.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import _core
from ..errors import Status
from ..evidence import Quality
from ..laplace import BROAD, LaplaceEvidence, Mode
from .evidence import (
    ALIGNED,
    FOLLOWED,
    STEPS,
    addition_gain,
    choose_candidates,
    evenly,
    is_small,
    replacements,
)
from .solution import Solution, Step

SETTLED = 1e-2  # change of a log precision, in units of tol, at which a model is settled
LOOSE = 1e-2  # the same, absolutely, for a model that is only a candidate
STARTS = (8, 32)  # columns, spread over all, of a further start: the most that the samples allow
PATIENCE = 3  # rounds without a gain after which the search ends
COARSE, WEAK = 128, 1e-3  # columns among which the search starts, and their precision
NEAR, PRECISE = 1e-7, 1e-16  # relative accuracy of the modes on the way, and where it matters
ROUNDS = 60  # of re-estimation in a settling
DAMPING = 0.7  # of simultaneous steps to each column's own best precision
APART = 0.9  # columns added together have cosines below this


def fast(evidence: LaplaceEvidence, tol: float, max_iter: int) -> Solution:
    """Add, re-estimate, delete and exchange columns until nothing gains `tol` nats."""
    began = time.perf_counter()
    none = np.empty(0, dtype=int)
    empty = evidence.mode(none, none.astype(float), np.empty((len(evidence.s), 0)))
    search = _one_output if evidence.k == 1 else _several_outputs
    mode, settled, history = search(evidence, empty, tol, max_iter, began)
    history[-1] = _note(mode, began)
    return solution(evidence, mode, history, tol, settled)


Search = tuple[Mode, bool, list[Step]]  # the best model, whether nothing more was found, and the history


def _one_output(evidence: LaplaceEvidence, empty: Mode, tol: float, max_iter: int, began: float) -> Search:
    """Two classes: a compiled search on a working set, which passes over all columns renew where they are many.

    The evidence has many maxima, and one column at a time the algorithm may not see that two together would help. So
    the first working set is searched as published and from several sets of columns, and the best is taken on.
    """
    present = np.isfinite(evidence.columns.unit)
    steepness = np.abs(evidence.columns.pull(evidence.residual(empty.P))[:, 0])
    small = is_small(evidence.columns.design)
    rows = np.flatnonzero(present) if small else choose_candidates(np.where(present, steepness + 1.0, 0.0), 1.0)
    coarse = evenly(rows, COARSE)
    counts = [count for count in STARTS if count <= min(len(coarse), evidence.columns.total / 3)]
    chosen = [evenly(coarse, count) for count in counts[-1:]]
    starts: list[Mode | Cold] = [empty, *(_cold(evidence, some, np.full(len(some), WEAK)) for some in chosen)]
    mode, history = _best_on(evidence, rows, coarse, starts, tol, LOOSE), [_note(empty, began)]
    settled = len(rows) == present.sum()
    while not settled and len(history) < max_iter:
        history.append(_note(mode, began))
        proposed = _nominate(evidence, mode, tol)
        if len(proposed):
            better = _best_on(evidence, np.append(mode.rows, proposed), mode.rows, [mode], tol, LOOSE)
            settled = better.log_evidence < mode.log_evidence + tol
            mode = better if better.log_evidence > mode.log_evidence else mode
        else:
            settled = True
    history.append(_note(mode, began))
    return _best_on(evidence, mode.rows, mode.rows, [mode], tol, SETTLED * tol), settled, history


def _nominate(evidence: LaplaceEvidence, mode: Mode, tol: float) -> np.ndarray:
    """Columns that may raise the evidence by `tol`, added or in the place of a column of the model."""
    quality = evidence.quality(mode)
    gain, _ = additions(quality, 1)
    gain[mode.rows] = 0.0
    proposed = np.union1d(choose_candidates(gain, tol), replacements(mode, quality, 1)).astype(int)
    return proposed[~np.isin(proposed, mode.rows)]


def settled(evidence: LaplaceEvidence, rows: np.ndarray, alpha: np.ndarray, tol: float, change: float) -> Mode:
    """The best model of two classes with no other columns than these, from their precisions."""
    return _best_on(evidence, rows, rows, [_cold(evidence, rows, alpha)], tol, change)


class Cold(NamedTuple):
    """Precisions of some columns, with no weights yet."""

    rows: np.ndarray
    alpha: np.ndarray
    V: np.ndarray


def _cold(evidence: LaplaceEvidence, rows: np.ndarray, alpha: np.ndarray) -> Cold:
    return Cold(rows, alpha, np.zeros((len(rows) + int(evidence.columns.design.intercept), 1)))


def _best_on(
    evidence: LaplaceEvidence,
    rows: np.ndarray,
    coarse: np.ndarray,
    starts: Sequence[Mode | Cold],
    tol: float,
    change: float,
) -> Mode:
    """The best model that the compiled search finds on the columns at `rows`, settled to `change`.

    The starts are among `coarse`.
    """
    free = int(evidence.columns.design.intercept)
    place = np.empty(evidence.columns.d, dtype=np.int64)
    place[coarse] = np.arange(len(coarse))
    precisions = np.full((len(coarse), len(starts)), np.inf, order="F")
    weights = np.zeros((len(coarse) + 1, len(starts)), order="F")
    for column, weight, start in zip(precisions.T, weights.T, starts, strict=True):
        column[place[start.rows]] = start.alpha
        weight[place[start.rows]] = start.V[: len(start.rows), 0]
        weight[-1] = start.V[-1, 0] if free else 0.0
    place[rows] = np.arange(len(rows))
    Phi, alpha, v = evidence.take(rows), np.empty(len(rows)), np.empty(len(rows) + 1)
    y = np.ascontiguousarray(evidence.Y[:, 0])
    offset = np.ascontiguousarray(np.broadcast_to(evidence.offset, evidence.Y.shape)[:, 0])
    data = Phi, y, evidence.s, offset, BROAD * free
    options = FOLLOWED, tol, change, NEAR, ALIGNED, STEPS
    _core.logistic(*data, place[coarse], precisions, weights, alpha, v, *options)
    found = np.flatnonzero(np.isfinite(alpha))
    V = np.append(v[found], v[-1:])[: len(found) + free, None]
    return evidence.mode(rows[found], alpha[found], Phi[:, found], V, PRECISE)


def _several_outputs(evidence: LaplaceEvidence, mode: Mode, tol: float, max_iter: int, began: float) -> Search:
    """Accept what raises the evidence of the settled model, until nothing that is proposed does."""
    tried: set[int] = set()
    failures = 0
    history = [_note(mode, began)]
    quality = evidence.quality(mode)
    for _ in range(max_iter):
        better = _proposal(evidence, mode, quality, tol, tried, single=failures > 0)
        if better is not None and better.log_evidence > mode.log_evidence + tol:
            mode, failures = better, 0
            quality = evidence.quality(mode)
            tried.clear()
            history.append(_note(mode, began))
        elif failures + 1 >= PATIENCE:
            return _settle(evidence, mode, SETTLED * tol), True, history
        else:
            failures += 1  # one column at a time, each only once
    return _settle(evidence, mode, SETTLED * tol), False, history


def _proposal(
    evidence: LaplaceEvidence, mode: Mode, quality: Quality, tol: float, tried: set[int], single: bool
) -> Mode | None:
    """The settled model with the best additions that are not each other's copies; with one, where several failed."""
    gain, precision = additions(quality, evidence.k)
    gain[mode.rows] = 0.0
    gain[list(tried)] = 0.0
    order = np.argsort(-gain, kind="stable")[:200]
    order = order[gain[order] >= tol]
    if not len(order):
        return None
    Phi = evidence.take(order)
    Phi = Phi / np.maximum(np.linalg.norm(Phi, axis=0), 1e-300)
    chosen: list[int] = []
    for i in range(len(order)):
        if len(chosen) < (1 if single else 6) and (np.abs(Phi[:, i] @ Phi[:, chosen]) < APART).all():
            chosen.append(i)
    new = order[chosen]
    if single:
        tried.add(int(new[0]))
    return _settle(evidence, _remade(evidence, np.append(mode.rows, new), np.append(mode.alpha, precision[new])), LOOSE)


def additions(quality: Quality, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What adding each column gains, and at which precision.

    For several outputs the gain max_a 1/2 [ k log a - log|a I + S| + Q^T (a I + S)^-1 Q ] is found on a grid.
    """
    if k == 1:
        Q2 = quality.Q[:, 0] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 of columns of zeros, which gain nothing
            return addition_gain(quality.S, Q2, 1), quality.S**2 / np.maximum(Q2 - quality.S, 0.0)
    return best_precision(quality.S, quality.Q)


def best_precision(S: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gain and precision of columns with sparsities S (d, k, k) and qualities Q (d, k): a grid, twice refined."""
    eigenvalues, vectors = np.linalg.eigh(S)
    eigenvalues = np.maximum(eigenvalues, 1e-300)
    q2 = np.einsum("dkl,dk->dl", vectors, Q) ** 2
    centre, width = np.log(eigenvalues.mean(axis=1)), 12.0
    for _ in range(4):
        grid = np.exp(centre[:, None] + np.linspace(-width, width, 25))[:, :, None]
        level = 0.5 * (q2[:, None] / (grid + eigenvalues[:, None]) - np.log1p(eigenvalues[:, None] / grid)).sum(axis=2)
        best = level.argmax(axis=1)
        at = np.arange(len(S))
        centre, width = np.log(grid[at, best, 0]), width / 8
    gain = level[at, best]
    return np.where((q2 - eigenvalues).sum(axis=1) > 0, np.maximum(gain, 0.0), 0.0), np.exp(centre)


def _at(
    evidence: LaplaceEvidence, rows: np.ndarray, Phi: np.ndarray, alpha: np.ndarray, near: Mode, tol: float = NEAR
) -> Mode:
    """The mode with the columns of finite precision, from the weights of another model."""
    inside = np.flatnonzero(np.isfinite(alpha))
    return evidence.mode(rows[inside], alpha[inside], Phi[:, inside], _carried(evidence, rows[inside], near), tol)


def _carried(evidence: LaplaceEvidence, rows: np.ndarray, near: Mode) -> np.ndarray:
    """Weights of these columns in another model, 0 where it does not have them; its intercept."""
    V = np.zeros((len(rows) + int(evidence.columns.design.intercept), evidence.k))
    V[len(rows) :] = near.V[len(near.rows) :]
    _, ours, theirs = np.intersect1d(rows, near.rows, return_indices=True)
    V[ours] = near.V[theirs]
    return V


def _remade(evidence: LaplaceEvidence, rows: np.ndarray, alpha: np.ndarray) -> Mode:
    return evidence.mode(rows, alpha, evidence.take(rows))


def _settle(evidence: LaplaceEvidence, mode: Mode, tol: float) -> Mode:
    """Re-estimate the precisions of a model until they stay; columns that are better out leave."""
    for _ in range(ROUNDS):
        if not len(mode.rows):
            break
        alpha = _reestimated(evidence, mode)
        with np.errstate(invalid="ignore"):
            change = np.abs(np.log(alpha / mode.alpha)).max()
        mode = _at(evidence, mode.rows, mode.Phi[:, : len(mode.rows)], alpha, mode, min(NEAR, 1e-4 * tol**2))
        if change <= tol:
            break
    return mode


def _reestimated(evidence: LaplaceEvidence, mode: Mode) -> np.ndarray:
    """Precisions at which the frozen problem is stationary; infinite for the one column that had better leave."""
    if evidence.k == 1:
        alpha = mode.alpha.copy()
        X, C = evidence.frozen(mode, mode.Phi[:, : len(mode.rows)])
        _core.sequential(X, C, 1.0, 0.0, alpha, 1.0, 0.0, 1e-9, ALIGNED, STEPS)
        return alpha
    S, Q = _left_out(mode)
    gain, best = best_precision(S, Q)
    alpha = mode.alpha * (best / mode.alpha) ** DAMPING
    worst = int(np.argmin(gain))
    if gain[worst] <= 0.0:
        alpha[worst] = np.inf
    return alpha


def _left_out(mode: Mode) -> tuple[np.ndarray, np.ndarray]:
    """S and Q of the model's columns as if each were out: Sigma_jj = (alpha + S)^-1, mu_j = Sigma_jj Q."""
    inner = np.linalg.inv(np.array([mode.block(j) for j in range(len(mode.rows))]))
    S = inner - mode.alpha[:, None, None] * np.eye(inner.shape[1])
    return S, np.einsum("jkl,jl->jk", inner, mode.mean)


def original(evidence: LaplaceEvidence, tol: float, max_iter: int) -> Solution:
    """alpha_j = (k - alpha_j tr Sigma_jj) / |mu_j|^2 from all columns at once (Tipping 2001, eq. 16)."""
    began = time.perf_counter()
    history: list[Step] = []
    rows = np.flatnonzero(np.isfinite(evidence.columns.unit))
    alpha = np.full(len(rows), len(rows) / (4.0 * evidence.columns.total))
    mode, change = evidence.mode(rows, alpha, evidence.take(rows)), 0.0
    for _ in range(max_iter):
        history.append(_note(mode, began))
        if not len(mode.rows):
            break
        trace = np.array([np.trace(mode.block(j)) for j in range(len(mode.rows))])
        determined = np.maximum(evidence.k - mode.alpha * trace, 1e-300)
        alpha = determined / np.maximum((mode.mean**2).sum(axis=1), 1e-300)
        change = float(np.abs(np.log(alpha / mode.alpha)).max())
        S, Q = _left_out(mode)
        unwanted = ((Q**2).sum(axis=1) <= np.trace(S, axis1=1, axis2=2)) & (determined < 1e-4 * evidence.k)
        alpha[unwanted] = np.inf
        mode = _at(evidence, mode.rows, mode.Phi[:, : len(mode.rows)], alpha, mode, PRECISE)
        if change <= SETTLED * tol:
            break
    return solution(evidence, mode, history, tol, change <= SETTLED * tol or not len(mode.rows))


def _note(mode: Mode, began: float) -> Step:
    return Step(-mode.log_evidence, mode.slope, np.nan, len(mode.rows), time.perf_counter() - began)


def solution(evidence: LaplaceEvidence, mode: Mode, history: list[Step], tol: float, settled: bool) -> Solution:
    """Weights of the classes in the units of the data, intercept last, with how the search ended."""
    design, columns = evidence.columns.design, evidence.columns
    order = np.argsort(mode.rows)
    mode = evidence.mode(
        mode.rows[order],
        mode.alpha[order],
        mode.Phi[:, order],
        mode.V[np.append(order, np.arange(len(order), len(mode.V)))],
    )
    V = np.zeros((design.shape[1], evidence.k))
    V[mode.rows] = mode.mean / columns.unit[mode.rows, None]
    if design.intercept:
        V[-1] = mode.V[-1] - columns.center[mode.rows] @ V[mode.rows]
    status = Status.CONVERGED if settled else Status.SLOPING
    violation = 0.0
    if len(mode.rows):
        with np.errstate(divide="ignore"):
            violation = float(np.abs(np.log(_reestimated(evidence, mode) / mode.alpha)).max())
    W = V @ evidence.contrast.T
    return Solution(W, mode.F, status, -mode.log_evidence, np.nan, violation, len(history), history, {"mode": mode})
