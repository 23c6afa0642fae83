"""Maximising the evidence of Gaussian data: the fast sequential algorithm on a growing working set.

One pass over all columns nominates candidates; the sequential algorithm of Tipping & Faul (2003), compiled, adds,
re-estimates and deletes among them and the columns of the model on their Gram matrix; Newton's method settles the
precisions and the noise together. No step lowers the evidence. Only passes over all columns cost n d.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .. import _core
from ..errors import Status
from ..evidence import Evidence, Fit, Quality
from ..laplace import Mode
from .solution import Solution, Step

ALIGNED = 1 - 1e-9  # columns whose cosine exceeds this are one column
FLOOR = 1e-8  # the learned noise stays above this fraction of the targets' variance
SMALL = 300  # so many columns make one working set
SPREAD, BEST = 64, 64  # candidates of a working set: evenly over the columns, and those that promise most
STARTS = (8, 16, 32)  # columns, spread over all, of further starts
SETTLED = 1e-2  # slopes of a settled model, in units of tol
LONGEST = 3.0  # step in the logarithm of a precision
STEPS = 10_000  # of the sequential algorithm in one working set


def fast(evidence: Evidence, noise: float | None, tol: float, max_iter: int, others: Iterable[Fit] = ()) -> Solution:
    """Add, re-estimate, delete (Tipping & Faul 2003) until no step gains `tol` nats; noise=None is learned.

    The first working set is solved from the empty model and from several with columns spread over all, and the best
    evidence kept: there are many maxima, and one column at a time the algorithm may not see that two together help.
    `others` are further models to go on from.
    """
    began = time.perf_counter()
    floor = FLOOR * evidence.variance if noise is None else 0.0
    pulled = evidence.pull_targets()
    first = max(evidence.variance, np.finfo(float).tiny) if noise is None else noise
    others = [*others, *_part(evidence, first, pulled, floor, tol, max_iter, began)]
    starts = [*others] if evidence.columns.d > SMALL and others else [evidence.empty(first), *others]
    climbs = [_climb(evidence, start, pulled, floor, tol, max_iter, began) for start in starts]
    fit, settled, history = max(climbs, key=lambda climb: climb[0].log_evidence)
    return solution(evidence, fit, floor, history, tol, settled)


def _part(
    evidence: Evidence, noise: float, pulled: np.ndarray, floor: float, tol: float, max_iter: int, began: float
) -> list[Fit]:
    """The best model on a part of the columns, where passes over all of them are dear."""
    part = _first(evidence, pulled)
    if evidence.columns.d <= SMALL or not len(part):
        return []
    smaller = evidence.restricted(part)
    fit = _climb(smaller, smaller.empty(noise), pulled[part], floor, tol, max_iter, began)[0]
    return [fit._replace(rows=part[fit.rows])]


def _climb(
    evidence: Evidence, fit: Fit, pulled: np.ndarray, floor: float, tol: float, max_iter: int, began: float
) -> tuple[Fit, bool, list[Step]]:
    """From a model upwards: the last model, whether nothing is left to gain, and the history."""
    Phi = evidence.take(fit.rows)
    empty = not len(fit.rows)
    if not empty:  # copies of a column leave
        fit, inside = _finish(evidence, fit, Phi, pulled, floor, tol)
        Phi = Phi[:, inside]
    moves = Moves(_first(evidence, pulled), []) if empty else _nominate(evidence, fit, Phi, pulled, tol)
    history = [_note(evidence, fit, floor, began)]
    settled = not moves
    while not settled and len(history) <= max_iter:
        before = fit
        fit, Phi = _round(evidence, fit, Phi, moves, pulled, floor, tol, first=empty and len(history) == 1)
        moves = _nominate(evidence, fit, Phi, pulled, tol) if fit is not before else NONE
        if not moves:
            fit, inside = _finish(evidence, fit, Phi, pulled, floor, tol)
            Phi = Phi[:, inside]
            moves = _nominate(evidence, fit, Phi, pulled, tol)
            settled = not moves or fit.log_evidence - before.log_evidence < tol
        history.append(_note(evidence, fit, floor, began))
    return fit, settled, history


class Moves(NamedTuple):
    """Columns worth adding, and exchanges worth making: (position in the model, column, its precision, gain)."""

    candidates: np.ndarray
    swaps: list[tuple[int, int, float, float]]

    def __bool__(self) -> bool:
        return len(self.candidates) > 0 or len(self.swaps) > 0


NONE = Moves(np.empty(0, dtype=int), [])


def _first(evidence: Evidence, pulled: np.ndarray) -> np.ndarray:
    """All columns, where they are few; else some spread evenly, and those most correlated with the targets."""
    score = np.where(np.isfinite(evidence.columns.unit), (pulled**2).sum(axis=1), 0.0)
    return choose_candidates(score, np.finfo(float).tiny)


def _round(
    evidence: Evidence,
    fit: Fit,
    Phi: np.ndarray,
    moves: Moves,
    pulled: np.ndarray,
    floor: float,
    tol: float,
    first: bool,
) -> tuple[Fit, np.ndarray]:
    """The best model that the sequential algorithm finds on the columns of the model and the candidates."""
    rows, Phi, inside = _workspace(evidence, fit, Phi, moves)
    C = np.asfortranarray(pulled[rows])
    best = fit
    for alpha in _starts(evidence, fit, rows, inside, moves.swaps, first):
        noise, many = fit.noise, np.flatnonzero(np.isfinite(alpha))
        if len(many) > len(fit.rows):  # first among themselves, which is cheaper
            few = alpha[many]
            noise = _sequential(evidence, Phi[:, many], C[many], few, noise, floor, tol)
            alpha[many] = few
        noise = _sequential(evidence, Phi, C, alpha, noise, floor, tol)
        found = np.flatnonzero(np.isfinite(alpha))
        other = _at(evidence, rows[found], alpha[found], noise, *evidence.products(Phi[:, found]))
        if other.log_evidence > best.log_evidence:
            best, inside = other, found
            if not first:
                break
    return best, Phi[:, inside]


def _sequential(
    evidence: Evidence, Phi: np.ndarray, C: np.ndarray, alpha: np.ndarray, noise: float, floor: float, tol: float
) -> float:
    """The compiled algorithm, which moves alpha; returns the noise."""
    Phi, C = np.asfortranarray(Phi), np.asfortranarray(C)
    return _core.sequential(Phi, C, evidence.total, evidence.yy, alpha, float(noise), floor, tol, ALIGNED, STEPS)[1]


def _workspace(
    evidence: Evidence, fit: Fit, Phi: np.ndarray, moves: Moves
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns of the working set, (n, w) in Fortran order, and where the model's are: all columns if they are few."""
    if evidence.columns.d <= SMALL:
        return np.arange(evidence.columns.d), evidence.whole, fit.rows
    proposed = np.union1d(moves.candidates, [swap[1] for swap in moves.swaps]).astype(int)
    rows = np.append(fit.rows, proposed[~np.isin(proposed, fit.rows)])
    Phi = np.asfortranarray(np.hstack([Phi, evidence.take(rows[len(fit.rows) :])]))
    return rows, Phi, np.arange(len(fit.rows))


def _starts(
    evidence: Evidence, fit: Fit, rows: np.ndarray, inside: np.ndarray, swaps: list, first: bool
) -> Iterator[np.ndarray]:
    """Precisions to start from: all exchanges made, the best one made, the model as it is, and several at once."""
    as_it_is = np.full(len(rows), np.inf)
    as_it_is[inside] = fit.alpha
    for chosen in [swaps, swaps[:1]] if len(swaps) > 1 else [swaps] if swaps else []:
        alpha = as_it_is.copy()
        for position, column, precision, _ in chosen:
            alpha[inside[position]] = np.inf
            alpha[np.flatnonzero(rows == column)] = precision
        yield alpha
    yield as_it_is.copy()
    for count in STARTS if first else ():
        if count > min(len(rows), 0.5 * evidence.total):
            break
        alpha = np.full(len(rows), np.inf)
        alpha[np.linspace(0, len(rows) - 1, count).astype(int)] = count * evidence.k / max(evidence.yy, 1e-300)
        yield alpha


def _finish(
    evidence: Evidence, fit: Fit, Phi: np.ndarray, pulled: np.ndarray, floor: float, tol: float
) -> tuple[Fit, np.ndarray]:
    """Settle the model: compiled re-estimation first, which is cheap, then Newton's method."""
    alpha, rows = fit.alpha.copy(), fit.rows
    noise = _sequential(evidence, Phi, pulled[rows], alpha, fit.noise, floor, 1e-6 * tol)
    found = np.flatnonzero(np.isfinite(alpha))
    G, C = evidence.products(Phi[:, found])
    other = _at(evidence, rows[found], alpha[found], noise, G, C)
    if other.log_evidence < fit.log_evidence - 1e-6 * tol:  # rounding
        other, found = fit, np.arange(len(rows))
        G, C = evidence.products(Phi)
    other, inside = settle(evidence, other, G, C, floor, tol)
    return other, found[inside]


def _at(evidence: Evidence, rows: np.ndarray, alpha: np.ndarray, noise: float, G: np.ndarray, C: np.ndarray) -> Fit:
    return evidence.fit(rows, alpha, noise, G, C) if len(rows) else evidence.empty(noise)


def settle(
    evidence: Evidence, fit: Fit, G: np.ndarray, C: np.ndarray, floor: float, tol: float, max_iter: int = 200
) -> tuple[Fit, np.ndarray]:
    """Newton's method on the log precisions and the log noise of a model; columns that are better out are deleted.

    G and C are the products of its columns; `floor` is the least noise, 0 where the noise is given. Returns the fit and
    which columns are left.
    """
    inside = np.arange(len(fit.rows))

    def move(alpha: np.ndarray, noise: float) -> Fit:
        return _at(evidence, fit.rows, alpha, noise, fit.gram, C[inside])

    for _ in range(max_iter):
        out = _worst(evidence.k, fit)
        if out is not None:
            inside = np.delete(inside, out)
            rows, alpha = np.delete(fit.rows, out), np.delete(fit.alpha, out)
            fit = _at(evidence, rows, alpha, fit.noise, G[np.ix_(inside, inside)], C[inside])
            continue
        g = slope(evidence, fit, floor)
        if np.abs(g).max(initial=0.0) <= SETTLED * tol:
            break
        moved = _line_search(fit, g, _direction(evidence, fit, g), floor, move)
        if moved is None:
            break
        fit = moved
    return fit, inside


def slope(evidence: Evidence, fit: Fit, floor: float) -> np.ndarray:
    """The gradient in what is free: all log precisions, and the log noise where it is learned and above its floor."""
    g = evidence.gradient(fit)
    held = floor == 0 or (fit.noise <= floor * (1 + 1e-12) and g[-1] <= 0)
    return np.append(g[:-1], 0.0) if held else g


def _worst(k: int, fit: Fit) -> int | None:
    """The column whose deletion raises the evidence most; none where all are better in."""
    if not len(fit.rows):
        return None
    variance = np.diag(fit.covariance)
    s = (1 - fit.alpha * variance) / variance
    q2 = (fit.mean**2).sum(axis=1) / variance**2
    if (q2 > k * s).all():
        return None
    loss = 0.5 * (q2 / (fit.alpha + s) - k * np.log1p(s / fit.alpha))
    return int(np.argmin(np.where(q2 > k * s, np.inf, loss)))


def _direction(evidence: Evidence, fit: Fit, g: np.ndarray) -> np.ndarray:
    """Newton's where the evidence is concave, else MacKay's re-estimates, alpha = k determined / |mu|^2."""
    H = -evidence.hessian(fit)
    learn = g[-1] != 0
    step = np.zeros(len(g))
    part = slice(0, len(g) if learn else len(g) - 1)
    try:
        step[part] = cho_solve(cho_factor(H[part, part]), g[part])
    except LinAlgError:
        square = (fit.mean**2).sum(axis=1)
        step[:-1] = np.log(np.maximum(evidence.k * fit.determined, 1e-300) / (fit.alpha * square))
        if learn:
            left = evidence.k * (evidence.total - fit.determined.sum())
            step[-1] = np.log(max(fit.misfit, 1e-300) / (left * fit.noise)) if left > 0 else -1.0
    return step * min(1.0, LONGEST / max(np.abs(step).max(initial=0.0), 1e-300))


def _line_search(fit: Fit, g: np.ndarray, step: np.ndarray, floor: float, move) -> Fit | None:
    """The first of ever shorter steps that raises the evidence, or near its top flattens it."""
    if g @ step <= 0:
        step = g / max(1.0, np.abs(g).max())
    for length in 0.5 ** np.arange(12):
        noise = max(floor, fit.noise * float(np.exp(length * step[-1])))
        moved = move(fit.alpha * np.exp(length * step[:-1]), noise)
        rounding = 1e-13 * abs(fit.log_evidence)
        if moved.log_evidence >= fit.log_evidence + 1e-4 * length * (g @ step) - rounding:
            return moved
    return None


def _nominate(evidence: Evidence, fit: Fit, Phi: np.ndarray, pulled: np.ndarray, tol: float) -> Moves:
    """What would raise the evidence by `tol`: additions, and exchanges of a column of the model for another."""
    quality = evidence.quality(fit, Phi, pulled)
    gain = addition_gain(quality.S, (quality.Q**2).mean(axis=1), evidence.k)
    gain[fit.rows] = 0.0
    gain[_aligned(evidence, fit, Phi, gain, tol)] = 0.0
    return Moves(choose_candidates(gain, tol), exchanges(fit, quality, evidence.k, tol))


def exchanges(fit: Fit | Mode, quality: Quality, k: int, tol: float) -> list[tuple[int, int, float, float]]:
    """For each column of the model the best one to take its place, where that gains; the best first."""
    if not len(fit.rows):
        return []
    variance = fit.covariance.diagonal()
    s = (1 - fit.alpha * variance) / variance
    now = 0.5 * ((fit.mean**2).sum(axis=1) / variance - k * np.log1p(s / fit.alpha))
    E, share = quality.E, fit.mean / variance[:, None]
    S = quality.S[:, None] + E * E / variance  # as if the model's column were out
    Q2 = sum((quality.Q[:, [c]] + E * share[:, c]) ** 2 for c in range(k)) / k
    Q2[fit.rows] = 0.0
    best = np.argmax(Q2 / np.maximum(S, 1e-300), axis=0)
    every = np.arange(len(best))
    S, Q2 = S[best, every], Q2[best, every]
    gain = addition_gain(S, Q2, k) - now
    found: dict[int, tuple[int, int, float, float]] = {}
    for i in np.argsort(-gain):
        if gain[i] >= tol:
            found.setdefault(int(best[i]), (int(i), int(best[i]), float(S[i] ** 2 / (Q2[i] - S[i])), float(gain[i])))
    return list(found.values())


def addition_gain(S: np.ndarray, Q2: np.ndarray, k: int) -> np.ndarray:
    """What adding each column at its best precision gains: k/2 [Q^2/S - 1 - log Q^2/S] where Q^2 > S (eq. 27)."""
    ratio = np.where(Q2 > S, Q2 / np.maximum(S, 1e-300), 1.0)
    return 0.5 * k * (ratio - 1 - np.log(ratio))


def choose_candidates(gain: np.ndarray, tol: float) -> np.ndarray:
    """Positions of the largest gains, and evenly among all that reach tol: the best are often each other's copies."""
    able = np.flatnonzero(gain >= tol)
    if len(able) <= max(SPREAD + BEST, SMALL):
        return able
    best = able[np.argsort(-gain[able], kind="stable")[:BEST]]
    return np.union1d(best, able[np.linspace(0, len(able) - 1, SPREAD).astype(int)])


def _aligned(evidence: Evidence, fit: Fit, Phi: np.ndarray, gain: np.ndarray, tol: float) -> np.ndarray:
    """Among the few best candidates, those that are a column of the model once more."""
    best = np.argsort(-gain, kind="stable")[:BEST]
    best = best[gain[best] >= tol]
    if not len(best) or not len(fit.rows):
        return best[:0]
    return best[(np.abs(evidence.take(best).T @ Phi) >= ALIGNED).any(axis=1)]


def _note(evidence: Evidence, fit: Fit, floor: float, began: float) -> Step:
    violation = float(np.abs(slope(evidence, fit, floor)).max(initial=0.0))
    return Step(-fit.log_evidence, violation, np.nan, len(fit.rows), time.perf_counter() - began)


def solution(
    evidence: Evidence, fit: Fit, floor: float, history: list[Step], tol: float, settled: bool, **extra: Any
) -> Solution:
    """The posterior mean in the units of the data, intercept last, with how the search ended."""
    design, columns = evidence.columns.design, evidence.columns
    order = np.argsort(fit.rows)
    square = np.ix_(order, order)
    fit = fit._replace(rows=fit.rows[order], alpha=fit.alpha[order], mean=fit.mean[order])
    fit = fit._replace(covariance=fit.covariance[square], gram=fit.gram[square])
    W = np.zeros((design.shape[1], evidence.k))
    W[fit.rows] = fit.mean / columns.unit[fit.rows, None]
    if design.intercept:
        W[-1] = evidence.y_mean - columns.center[fit.rows] @ W[fit.rows]
    violation = float(np.abs(slope(evidence, fit, floor)).max(initial=0.0))
    status = Status.CONVERGED if settled and violation <= tol else Status.SLOPING
    if floor > 0 and fit.noise <= floor * (1 + 1e-9) and evidence.yy > 0:
        status = Status.INTERPOLATES
    facts = {"fit": fit, **extra}
    return Solution(
        W, np.empty((0, evidence.k)), status, -fit.log_evidence, np.nan, violation, len(history), history, facts
    )
