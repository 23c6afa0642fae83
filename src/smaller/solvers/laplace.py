"""Maximising the Laplace evidence of class labels: sequentially on a growing working set, or by re-estimating all.

With the curvature at the mode held, the labels are Gaussian data, and the sequential algorithm proposes columns and
precisions on them; the mode is then found anew. A change of the columns is accepted only if it raises the evidence of
the settled model, so that the evidence never falls from one accepted model to the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from .. import _core
from ..errors import Status
from ..evidence import Quality
from ..laplace import LaplaceEvidence, Mode
from .evidence import ALIGNED, STEPS, addition_gain, choose_candidates, exchanges
from .solution import Solution, Step

SETTLED = 1e-2  # change of a log precision, in units of tol, at which a model is settled
LOOSE = 1e-2  # the same, absolutely, for a model that is only a candidate
PATIENCE = 3  # rounds without a gain after which the search ends
STARTS, WEAK = (8, 16, 32), 1e-3  # columns of the further starts, and their precision
CLIMBS = 2  # starts that are followed to their end
NEAR, PRECISE = 1e-7, 1e-16  # relative accuracy of the modes on the way, and where it matters
ROUNDS = 60  # of re-estimation in a settling
DAMPING = 0.7  # of simultaneous steps to each column's own best precision
APART = 0.9  # columns added together have cosines below this


def fast(evidence: LaplaceEvidence, tol: float, max_iter: int) -> Solution:
    """Add, re-estimate, delete and exchange columns until nothing gains `tol` nats.

    The evidence has many maxima, and one column at a time the algorithm may not see that two together would help. So
    a part of the columns is searched first, from no column and from several sets of them, and the best is taken on.
    """
    began = time.perf_counter()
    none = np.empty(0, dtype=int)
    empty = evidence.mode(none, none.astype(float), np.empty((len(evidence.s), 0)))
    gain, _ = additions(evidence.quality(empty), evidence.k)
    part = choose_candidates(np.where(np.isfinite(evidence.columns.unit), gain + 1.0, 0.0), 1.0)
    smaller = evidence if len(part) == evidence.columns.d else evidence.restricted(part)
    starts = [_started(smaller, start, tol) for start in _starts(smaller, empty)]
    starts.sort(key=lambda mode: -mode.log_evidence)
    climbs = [_climb(smaller, start, tol, max_iter, began) for start in starts[:CLIMBS]]
    mode, settled, history = max(climbs, key=lambda climb: climb[0].log_evidence)
    if smaller is not evidence:
        mode, settled, more = _climb(evidence, mode._replace(rows=part[mode.rows]), tol, max_iter, began)
        history += more
    mode = _settle(evidence, mode, SETTLED * tol)
    history[-1] = _note(mode, began)
    return solution(evidence, mode, history, tol, settled)


def _starts(evidence: LaplaceEvidence, empty: Mode) -> Iterator[Mode]:
    """No column, and several numbers of them spread evenly with a weak prior."""
    yield empty
    d = evidence.columns.d
    if evidence.k > 1:
        return
    for count in STARTS:
        if count > min(d, evidence.columns.total / 3):
            break
        rows = np.linspace(0, d - 1, count).astype(int)
        rows = rows[np.isfinite(evidence.columns.unit[rows])]
        yield _settle(evidence, _remade(evidence, rows, np.full(len(rows), WEAK)), LOOSE)


def _started(evidence: LaplaceEvidence, mode: Mode, tol: float) -> Mode:
    """The better of a start and what its first proposals make of it."""
    proposals = _proposals(evidence, mode, evidence.quality(mode), tol, set(), False)
    return max([mode, *proposals], key=lambda mode: mode.log_evidence)


def _climb(
    evidence: LaplaceEvidence, mode: Mode, tol: float, max_iter: int, began: float
) -> tuple[Mode, bool, list[Step]]:
    """Accept what raises the evidence of the settled model, until nothing that is proposed does; with its history."""
    tried: set[int] = set()
    failures, single = 0, False
    history = [_note(mode, began)]
    quality = evidence.quality(mode)
    for _ in range(max_iter):
        proposals = _proposals(evidence, mode, quality, tol, tried, single)
        better = next((found for found in proposals if found.log_evidence > mode.log_evidence + tol), None)
        if better is not None:
            mode, failures, single = better, 0, False
            quality = evidence.quality(mode)
            tried.clear()
            history.append(_note(mode, began))
        elif failures + 1 >= PATIENCE:
            return mode, True, history
        else:
            failures, single = failures + 1, True  # one column at a time, each only once
    return mode, False, history


def _proposals(
    evidence: LaplaceEvidence, mode: Mode, quality: Quality, tol: float, tried: set[int], single: bool
) -> Iterator[Mode]:
    """Settled models that may be better, one after the other: by several changes at once, or by a single one."""
    gain, precision = additions(quality, evidence.k)
    gain[mode.rows] = 0.0
    gain[list(tried)] = 0.0
    if evidence.k > 1:
        yield from _several_outputs(evidence, mode, gain, precision, tol, tried, single)
        return
    swaps = [swap for swap in exchanges(mode, quality, 1, tol) if swap[1] not in tried]
    if single:
        yield from _single(evidence, mode, gain, precision, swaps, tol, tried)
        return
    rows = np.union1d(choose_candidates(gain, tol), [swap[1] for swap in swaps]).astype(int)
    rows = np.append(mode.rows, rows[~np.isin(rows, mode.rows)])
    if len(rows) > len(mode.rows):
        alpha = np.full(len(rows), np.inf)
        alpha[: len(mode.rows)] = mode.alpha
        for position, column, better, _ in swaps:
            alpha[position] = np.inf
            alpha[np.flatnonzero(rows == column)] = better
        yield _work(evidence, mode, rows, evidence.take(rows), alpha, tol)


def _single(evidence, mode, gain, precision, swaps, tol, tried):
    """The best exchange, then the best addition, each with nothing else changed."""
    for position, column, alpha, _ in swaps[:1]:
        tried.add(column)
        rows, new = mode.rows.copy(), mode.alpha.copy()
        rows[position], new[position] = column, alpha
        yield _settle(evidence, _remade(evidence, rows, new), LOOSE)
    j = int(np.argmax(gain))
    if gain[j] >= tol:
        tried.add(j)
        yield _settle(evidence, _remade(evidence, np.append(mode.rows, j), np.append(mode.alpha, precision[j])), LOOSE)


def _several_outputs(evidence, mode, gain, precision, tol, tried, single):
    """The best additions that are not each other's copies; one where several failed."""
    order = np.argsort(-gain, kind="stable")[:200]
    order = order[gain[order] >= tol]
    if not len(order):
        return
    Phi = evidence.take(order)
    Phi = Phi / np.maximum(np.linalg.norm(Phi, axis=0), 1e-300)
    chosen: list[int] = []
    for i in range(len(order)):
        if len(chosen) < (1 if single else 6) and (np.abs(Phi[:, i] @ Phi[:, chosen]) < APART).all():
            chosen.append(i)
    new = order[chosen]
    if single:
        tried.add(int(new[0]))
    yield _settle(evidence, _remade(evidence, np.append(mode.rows, new), np.append(mode.alpha, precision[new])), LOOSE)


def additions(quality: Quality, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What adding each column gains, and at which precision.

    For several outputs the gain max_a 1/2 [ k log a - log|a I + S| + Q^T (a I + S)^-1 Q ] is found on a grid.
    """
    if k == 1:
        Q2 = quality.Q[:, 0] ** 2
        with np.errstate(divide="ignore"):
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


def _work(
    evidence: LaplaceEvidence, mode: Mode, rows: np.ndarray, Phi: np.ndarray, alpha: np.ndarray, tol: float
) -> Mode:
    """The sequential algorithm on a working set and the mode in turn, until the columns stay."""
    if np.isfinite(alpha).any():
        mode = _at(evidence, rows, Phi, alpha, mode)
    for _ in range(8):
        before = np.isfinite(alpha)
        X, C = evidence.frozen(mode, Phi)
        _core.sequential(X, C, 1.0, 0.0, alpha, 1.0, 0.0, tol, ALIGNED, STEPS)
        mode = _at(evidence, rows, Phi, alpha, mode)
        if (before == np.isfinite(alpha)).all():
            break
    return _settle(evidence, mode, LOOSE)


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
