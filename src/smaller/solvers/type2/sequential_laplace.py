"""Maximising the Laplace evidence of class labels: sequentially on a growing working set, or by re-estimating all.

With the curvature at the mode held, the labels are Gaussian data, and the sequential algorithm proposes weights and
precisions on them; the mode is then found anew. A change of the weights is accepted only if it raises the evidence of
the settled model, so that the evidence never falls from one accepted model to the next.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ... import _core
from ...errors import Status
from ...objective.evidence import Quality
from ...objective.laplace_evidence import BROAD, LEAST, LaplaceEvidence, Mode
from ..solution import Solution, Step
from .sequential import (
    ALIGNED,
    BEST,
    FOLLOWED,
    SPREAD,
    STEPS,
    addition_gain,
    choose_candidates,
    evenly,
    is_small,
    replacements,
)

SETTLED = 1e-2  # change of a log precision, in units of tol, at which a model is settled
LOOSE = 1e-2  # the same, absolutely, for a model that is only a candidate
STARTS = (8, 32)  # columns, spread over all, of a further start: the most that the samples allow
COARSE, WEAK = 128, 1e-3  # columns among which the search starts, and their precision
NEAR, PRECISE = 1e-7, 1e-16  # relative accuracy of the modes on the way, and where it matters
ROUNDS = 60  # of re-estimation in a settling
TOGETHER = 3  # steps of the sequential algorithm before a softmax's mode is found anew
LOST = 0.3  # nats that an exchange may lose before the other precisions are re-estimated
NEWTON_STEPS = 50  # that each round of a search may take on average; a handful do
TRIED = 50  # weights outside the model that are added in trial at the end


def fast(evidence: LaplaceEvidence, tol: float, max_iter: int) -> Solution:
    """Add, re-estimate, delete and exchange weights until nothing gains `tol` nats."""
    began = time.perf_counter()
    evidence.allowed = NEWTON_STEPS * max_iter
    search = _one_output if evidence.outputs == 1 else _several_outputs
    mode, ended, history = search(evidence, _empty(evidence), tol, max_iter, began)
    return _finished(evidence, mode, ended, history, tol, max_iter, began)


def _empty(evidence: LaplaceEvidence) -> Mode:
    none = np.empty(0, dtype=int)
    return evidence.mode(none, none.astype(float), np.empty((len(evidence.s), 0)))


def _finished(
    evidence: LaplaceEvidence,
    mode: Mode,
    ended: bool,
    history: list[Step],
    tol: float,
    max_iter: int,
    began: float,
) -> Solution:
    """The solution, once no single weight outside the model would raise its evidence by `tol`."""
    rise, larger = _addition_in_trial(evidence, mode, tol)
    while larger is not None and len(history) < max_iter:
        mode = larger
        history.append(_note(mode, began))
        rise, larger = _addition_in_trial(evidence, mode, tol)
    mode = evidence.refined(mode)
    violation = max(rise, float(np.abs(mode.slopes).max(initial=0.0)), 0.0 if mode.reached else mode.slope)
    status = Status.SLOPING if not ended else Status.CONVERGED if violation <= tol else Status.UNSETTLED
    return solution(evidence, mode, history, status, violation)


def _addition_in_trial(evidence: LaplaceEvidence, mode: Mode, tol: float) -> tuple[float, Mode | None]:
    """The most that the evidence rises by one more weight, and the settled model with it if that is more than `tol`.

    Where the rise with the curvature held exceeds `tol`, the weight is added and the precisions are settled; of weights
    that are not tried, the rise with the curvature held counts.
    """
    gain, precision = additions(evidence.quality(mode))
    gain[mode.rows] = 0.0
    order = np.argsort(-gain, kind="stable")
    rise = float(gain[order[TRIED]]) if len(order) > TRIED else 0.0
    for new in order[:TRIED]:
        if gain[new] <= tol or evidence.spent:
            return max(rise, float(gain[new])), None
        rows, alpha = np.append(mode.rows, new), np.append(mode.alpha, precision[new])
        larger = _settle(evidence, _at(evidence, rows, evidence.take(rows), alpha, mode), LOOSE)
        if _gain(larger, mode) > tol:
            larger = _settle(evidence, larger, SETTLED * tol)
        rise = max(rise, _gain(larger, mode))
        if _gain(larger, mode) > tol:
            return rise, larger
    return rise, None


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
    mode, history = _best_on(evidence, rows, coarse, starts, tol, SETTLED * tol), [_note(empty, began)]
    settled = len(rows) == present.sum()
    while not settled and len(history) < max_iter:
        history.append(_note(mode, began))
        proposed = _nominate(evidence, mode, tol)
        if len(proposed):
            better = _best_on(evidence, np.append(mode.rows, proposed), mode.rows, [mode], tol, SETTLED * tol)
            settled = _gain(better, mode) < tol
            mode = better if _gain(better, mode) > 0 else mode
        else:
            settled = True
    history.append(_note(mode, began))
    return mode, settled, history


def _nominate(evidence: LaplaceEvidence, mode: Mode, tol: float) -> np.ndarray:
    """Columns that may raise the evidence by `tol`, added or in the place of a column of the model."""
    quality = evidence.quality(mode)
    gain, _ = additions(quality)
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
    v: np.ndarray


def _cold(evidence: LaplaceEvidence, rows: np.ndarray, alpha: np.ndarray) -> Cold:
    return Cold(rows, alpha, np.zeros(len(rows) + evidence.free))


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
    free = evidence.free
    place = np.empty(evidence.columns.d, dtype=np.int64)
    place[coarse] = np.arange(len(coarse))
    precisions = np.full((len(coarse), len(starts)), np.inf, order="F")
    weights = np.zeros((len(coarse) + 1, len(starts)), order="F")
    for column, weight, start in zip(precisions.T, weights.T, starts, strict=True):
        column[place[start.rows]] = start.alpha
        weight[place[start.rows]] = start.v[: len(start.rows)]
        weight[-1] = start.v[-1] if free else 0.0
    place[rows] = np.arange(len(rows))
    Phi, alpha, v = evidence.take(rows), np.empty(len(rows)), np.empty(len(rows) + 1)
    y = np.ascontiguousarray(evidence.Y[:, 0])
    offset = np.ascontiguousarray(np.broadcast_to(evidence.offset, evidence.Y.shape)[:, 0])
    data = _core.BinaryData(y=y, s=evidence.s, offset=offset, level=BROAD * free)
    begin = _core.Starts(coarse=place[coarse], precisions=precisions, follow=FOLLOWED)
    rule = _core.SearchRule(tol=tol, aligned=ALIGNED, max_steps=STEPS)
    _core.logistic(Phi, data, begin, weights, alpha, v, rule, _core.ModeRule(change=change, near=NEAR))
    found = np.flatnonzero(np.isfinite(alpha))
    v = np.append(v[found], v[-1:])[: len(found) + free]
    return _settle(evidence, evidence.mode(rows[found], alpha[found], Phi[:, found], v, PRECISE), change)


def _several_outputs(evidence: LaplaceEvidence, empty: Mode, tol: float, max_iter: int, began: float) -> Search:
    """A softmax: from no weights, from those of machines against the rest, and from columns spread over all, upwards.

    The best of these is followed: weights are added, exchanged or taken out as long as that gains `tol`.
    """
    history = [_note(empty, began)]
    starts = [empty, *(_at(evidence, *start, empty) for start in _softmax_starts(evidence, tol, max_iter))]
    found = [_grown(evidence, _settle(evidence, start, LOOSE), tol) for start in starts]
    mode = _settle(evidence, max(found, key=lambda mode: (mode.reached, mode.log_evidence)), SETTLED * tol)
    if _gain(mode, empty) <= tol:
        mode = empty
    for _ in range(max_iter):
        if len(mode.rows):
            history.append(_note(mode, began))
        better = _exchanged(evidence, mode, tol)
        if better is None:
            return mode, not evidence.spent, history
        mode = better
    return mode, False, history


Start = tuple[np.ndarray, np.ndarray, np.ndarray]  # positions of weights, their columns and precisions


def _softmax_starts(evidence: LaplaceEvidence, tol: float, max_iter: int) -> list[Start]:
    """Weights of one machine for each class against the rest; and of a few columns, spread over all, in every class."""
    m, rows, alpha = evidence.outputs, [], []
    for c in range(m):
        machine = evidence.against_rest(c)
        mode, *_ = _one_output(machine, _empty(machine), tol, max_iter, 0.0)
        rows.append(mode.rows * m + c)
        alpha.append(mode.alpha)
    found = [(np.concatenate(rows), np.concatenate(alpha))]
    columns = np.flatnonzero(np.isfinite(evidence.columns.unit))
    counts = [count for count in STARTS if count <= min(len(columns), evidence.columns.total / 3)]
    for count in counts[-1:]:
        spread = (evenly(columns, count)[:, None] * m + np.arange(m)).ravel()
        found.append((spread, np.full(len(spread), WEAK)))
    return [(rows, evidence.take(rows), alpha) for rows, alpha in found if len(rows)]


def _grown(evidence: LaplaceEvidence, mode: Mode, tol: float) -> Mode:
    """The sequential algorithm from a settled model, on the weights that promise most, while the evidence rises."""
    steps = TOGETHER
    while not evidence.spent:
        gain, _ = additions(evidence.quality(mode))
        gain[mode.rows] = 0.0
        new = choose_candidates(gain, tol)
        if not len(new):
            return mode
        new = new[np.argsort(-gain[new], kind="stable")[: SPREAD + BEST]]
        rows, Phi = np.append(mode.rows, new), np.asfortranarray(np.hstack([mode.Phi, evidence.take(new)]))
        alpha = np.append(mode.alpha, np.full(len(new), np.inf))
        _reestimate(*evidence.frozen(mode, rows, Phi), alpha, tol, steps)
        larger = _settle(evidence, _at(evidence, rows, Phi, alpha, mode), LOOSE)
        if _gain(larger, mode) > tol:
            mode, steps = larger, TOGETHER
        elif steps > 1:
            steps = 1
        else:
            break
    return mode


def _reestimate(X: np.ndarray, C: np.ndarray, alpha: np.ndarray, tol: float, max_steps: int) -> None:
    """The sequential algorithm on a Gaussian problem with unit noise: precisions alpha are written in place."""
    data = _core.GaussianData(C=C, total=1.0, yy=0.0, floor=0.0)
    _core.sequential(X, data, alpha, 1.0, _core.SearchRule(tol=tol, aligned=ALIGNED, max_steps=max_steps))


def _exchanged(evidence: LaplaceEvidence, mode: Mode, tol: float) -> Mode | None:
    """The first settled model, with a weight of this one exchanged or taken out, that has more evidence."""
    for rows, alpha in _exchanges(evidence, mode):
        if evidence.spent:
            break
        other = _at(evidence, rows, evidence.take(rows), alpha, mode)
        other = _settle(evidence, other, LOOSE)
        if _gain(other, mode) > tol:
            other = _settle(evidence, _grown(evidence, other, tol), SETTLED * tol)
            if _gain(other, mode) > tol:
                return other
    return None


def _exchanges(evidence: LaplaceEvidence, mode: Mode) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions and precisions with one weight out, or its best replacement in its place, where that loses little."""
    if not len(mode.rows):
        return []
    quality = evidence.quality(mode)
    variance = mode.covariance.diagonal()
    share = mode.mean[:, 0] / variance
    now = 0.5 * (mode.mean[:, 0] * share + np.log(mode.alpha * variance))
    S = quality.S[:, None] + quality.E**2 / variance  # as if the model's weight were out
    Q2 = (quality.Q + quality.E * share) ** 2
    Q2[mode.rows] = 0.0
    gain, precision = _addition(S, Q2)
    best = gain.argmax(axis=0)
    offers = [(-now[i], i, -1) for i in range(len(now))]
    offers += [(gain[j, i] - now[i], i, j) for i, j in enumerate(best) if gain[j, i] > 0]
    found = []
    for offered, i, j in sorted(offers, key=lambda offer: -offer[0]):
        if offered >= -LOST:
            rows, alpha = np.delete(mode.rows, i), np.delete(mode.alpha, i)
            found.append((rows, alpha) if j < 0 else (np.append(rows, j), np.append(alpha, precision[j, i])))
    return found


def additions(quality: Quality) -> tuple[np.ndarray, np.ndarray]:
    """The gain of adding each weight at fixed curvature, and the precision that gives it."""
    return _addition(quality.S, quality.Q[:, 0] ** 2)


def _addition(S: np.ndarray, Q2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # columns of zeros gain nothing
        return addition_gain(S, Q2, 1), S**2 / np.maximum(Q2 - S, 0.0)


def _at(
    evidence: LaplaceEvidence, rows: np.ndarray, Phi: np.ndarray, alpha: np.ndarray, near: Mode, tol: float = NEAR
) -> Mode:
    """The mode with the weights of finite precision, from those of another model."""
    inside = np.flatnonzero(np.isfinite(alpha))
    return evidence.mode(rows[inside], alpha[inside], Phi[:, inside], _carried(rows[inside], near), tol)


def _carried(rows: np.ndarray, near: Mode) -> np.ndarray:
    """These weights in another model, 0 where it does not have them; its intercepts."""
    v = np.append(np.zeros(len(rows)), near.v[len(near.rows) :])
    _, ours, theirs = np.intersect1d(rows, near.rows, return_indices=True)
    v[ours] = near.v[theirs]
    return v


def _settle(evidence: LaplaceEvidence, mode: Mode, tol: float) -> Mode:
    """Re-estimate the precisions of a model until they stay; weights that are better out leave."""
    for _ in range(ROUNDS):
        if not len(mode.rows):
            break
        alpha = mode.alpha.copy()
        _reestimate(*evidence.frozen(mode, mode.rows, mode.Phi), alpha, min(1e-9, tol**2), STEPS)
        change = np.abs(np.log(np.maximum(alpha, LEAST) / mode.alpha)).max()
        found = _at(evidence, mode.rows, mode.Phi, alpha, mode, min(NEAR, 1e-4 * tol**2))
        if mode.reached and not found.reached:
            break
        mode = found
        if change <= tol or evidence.spent:
            break
    return mode


def _gain(new: Mode, old: Mode) -> float:
    """By how much the evidence of one model exceeds that of another; only models at their modes can be compared."""
    return new.log_evidence - old.log_evidence if new.reached or not old.reached else -np.inf


def original(evidence: LaplaceEvidence, tol: float, max_iter: int) -> Solution:
    """alpha_j = (1 - alpha_j Sigma_jj) / mu_j^2 from all weights at once (Tipping 2001, eq. 16)."""
    began = time.perf_counter()
    evidence.allowed = NEWTON_STEPS * max_iter
    history: list[Step] = []
    rows = evidence.present
    alpha = np.full(len(rows), len(rows) / (4.0 * evidence.columns.total))
    mode = evidence.mode(rows, alpha, evidence.take(rows))
    for _ in range(max_iter):
        history.append(_note(mode, began))
        if not len(mode.rows):
            break
        variance, mean = mode.covariance.diagonal(), mode.mean[:, 0]
        determined = np.maximum(1 - mode.alpha * variance, 1e-300)
        alpha = determined / np.maximum(mean**2, 1e-300)
        change = float(np.abs(np.log(alpha / mode.alpha)).max())
        unwanted = ((mean / variance) ** 2 <= 1 / variance - mode.alpha) & (determined < 1e-4)
        alpha[unwanted] = np.inf
        mode = _at(evidence, mode.rows, mode.Phi, alpha, mode, PRECISE)
        if change <= SETTLED * tol or evidence.spent:
            break
    return _finished(evidence, mode, True, history, tol, max_iter, began)


def _note(mode: Mode, began: float) -> Step:
    return Step(-mode.log_evidence, mode.slope, np.nan, len(mode.rows), time.perf_counter() - began)


def solution(evidence: LaplaceEvidence, mode: Mode, history: list[Step], status: Status, violation: float) -> Solution:
    """Weights of the outputs in the units of the data, intercepts last, with how the search ended."""
    design, columns, m = evidence.columns.design, evidence.columns, evidence.outputs
    order = np.argsort(mode.rows)
    everything = np.append(order, np.arange(len(order), len(mode.v)))
    mode = mode._replace(
        rows=mode.rows[order],
        alpha=mode.alpha[order],
        Phi=mode.Phi[:, order],
        v=mode.v[everything],
        joint=mode.joint[np.ix_(everything, everything)],
    )
    W = np.zeros((design.shape[1], m))
    column = mode.rows // m
    W[column, mode.rows % m] = mode.mean[:, 0] / columns.unit[column]
    if design.intercept:
        W[-1] = evidence.contrast @ mode.v[len(mode.rows) :] - columns.center @ W[:-1]
    history[-1] = history[-1]._replace(objective=-mode.log_evidence)
    return Solution(W, mode.F, status, -mode.log_evidence, np.nan, violation, len(history), history, {"mode": mode})
