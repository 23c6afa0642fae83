"""Maximising the evidence of Gaussian data: the fast sequential algorithm on a growing working set.

One pass over all columns nominates candidates; the sequential algorithm of Tipping & Faul (2003), compiled, adds,
re-estimates, deletes and exchanges among them and the columns of the model on their products; Newton's method settles
the precisions and the noise together. No step lowers the evidence. Only passes over all columns cost n d.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import _core
from ...design import Design
from ...errors import Status
from ...objective.evidence import Evidence, Fit, Quality
from ...objective.laplace_evidence import Mode
from ..solution import Solution, Step

ALIGNED = 1 - 1e-9  # columns whose cosine exceeds this are one column
LEAST = 1e-14  # of the targets' variance: a given noise below this is lost in the rounding of products of columns
FLOOR = 1e-8  # the learned noise stays above this fraction of the targets' variance
SMALL, ENTRIES = 300, 1 << 21  # so many columns, or numbers in them, make one working set
SPREAD, BEST = 64, 64  # candidates of a working set: evenly over the columns, and those that promise most
FIRST = 0.01  # of the targets' variance: the noise that the algorithm as published starts from
STARTS = (16,)  # columns, spread over all, of further starts
COARSE = 32  # columns on which the starts are solved first
FOLLOWED = 1  # of their outcomes, those that are solved on the whole working set
FEW, SLACK = 8, 0.5  # columns nominated in the place of one, and the nats that this may lose before all is re-estimated
LOST = 1e-300  # a column whose S is below this share of its Q^2 has lost all its digits in rounding
STEPS = 10_000  # of the sequential algorithm in one working set
FINER, FINEST = 10.0, 1e-4  # how the least gain of a step is lowered where many small ones are left, and how far

Start = tuple[np.ndarray, np.ndarray, float]  # columns, their precisions, the noise


def fast(evidence: Evidence, noise: float | None, tol: float, max_iter: int, others: Iterable[Start] = ()) -> Solution:
    """Add, re-estimate, delete (Tipping & Faul 2003) until no step gains `tol` nats; noise=None is learned.

    The first working set is solved as published, from the column most correlated with the targets, and from columns
    spread over all, and the best evidence kept: there are many maxima, and one column at a time the algorithm may not
    see that two together help. `others` are further models to start from. Where the columns left out promise more than
    `tol` together, though none does alone, the search goes on by finer steps.
    """
    began = time.perf_counter()
    floor = FLOOR * evidence.variance if noise is None else 0.0
    pulled = evidence.pull_targets()
    rows = _first(evidence, pulled)
    coarse = rows if len(rows) <= SPREAD + BEST else evenly(rows, COARSE)
    further = list(others)
    starts = [*_spread(evidence, coarse, noise), *further]
    coarse = np.unique(np.concatenate([coarse, *(start[0] for start in starts)]))
    rows = np.union1d(rows, coarse)
    fit = _best_on(evidence, rows, evidence.take(rows), pulled, coarse, starts, floor, tol, FOLLOWED + len(further))
    history = [_note(evidence, fit, floor, began)]
    settled = len(rows) == evidence.columns.d or not np.isfinite(evidence.columns.unit).any()
    fine = tol
    while len(history) <= max_iter:
        if settled:
            if fine <= FINEST * tol or promised(evidence, fit, evidence.take(fit.rows)) <= tol:
                break
            fine /= FINER
        before = fit.log_evidence
        fit, settled = _round(evidence, fit, pulled, floor, fine)
        settled = settled or fit.log_evidence - before < fine
        history.append(_note(evidence, fit, floor, began))
    return solution(evidence, fit, floor, history, tol, settled)


def in_own_unit(
    evidence: Evidence, noise: float | None, search: Callable[[Evidence, float | None], Solution]
) -> Solution:
    """The solution of a search on targets in a unit of about their size, in the units of the data.

    The unit is a power of two, so that nothing is rounded. Targets that do not vary leave nothing to search for.
    """
    if noise is not None and noise < max(LEAST * evidence.variance, np.finfo(float).tiny):
        raise ValueError(
            f"noise={noise:.3g} is less than {LEAST:.0e} of the targets' variance, {evidence.variance:.3g}, and would "
            "be lost in rounding errors; noise is a variance, in the square of the unit of y: give a larger one, or "
            "take maximally_sparse for data without noise."
        )
    if evidence.yy == 0:
        nothing = evidence.empty(np.finfo(float).tiny if noise is None else noise)
        return solution(evidence, nothing, 0.0, [_note(evidence, nothing, 0.0, time.perf_counter())], 1.0, True)
    unit = float(np.exp2(np.round(0.5 * np.log2(evidence.variance))))
    found = search(evidence.scaled(unit), None if noise is None else noise / unit**2)
    constant = evidence.k * evidence.total * float(np.log(unit))
    fit = found.extra["fit"]
    fit = fit._replace(alpha=fit.alpha / unit**2, noise=fit.noise * unit**2, mean=fit.mean * unit)
    fit = fit._replace(covariance=fit.covariance * unit**2, misfit=fit.misfit * unit**2)
    fit = fit._replace(log_evidence=fit.log_evidence - constant)
    return found._replace(
        weights=found.weights * unit,
        objective=found.objective + constant,
        history=[step._replace(objective=step.objective + constant) for step in found.history],
        extra={**found.extra, "fit": fit},
    )


def gains(evidence: Evidence, fit: Fit, Phi: np.ndarray) -> np.ndarray:
    """The gain of each column, or group of columns, outside the model, added alone at its best variance.

    Phi are the model's columns. That of a group is as if its columns were orthogonal and seen alike.
    """
    columns = evidence.columns
    z, q2 = (columns.grouped(each) for each in evidence.sharpness(fit, Phi))
    gain = addition_gain(z, q2, evidence.k) * columns.sizes
    gain[fit.rows if columns.groups is None else columns.groups[fit.rows]] = 0.0
    return gain


def promised(evidence: Evidence, fit: Fit, Phi: np.ndarray) -> float:
    """The gain that the columns outside the model promise, in nats: 0 at a maximum of the evidence."""
    return float(gains(evidence, fit, Phi).sum())


def _round(evidence: Evidence, fit: Fit, pulled: np.ndarray, floor: float, tol: float) -> tuple[Fit, bool]:
    """The best model on the columns of the model and what a pass over all nominates; whether that is nothing."""
    Phi = evidence.take(fit.rows)
    proposed = _nominate(evidence, fit, Phi, pulled, tol)
    if not len(proposed):
        return fit, True
    rows = np.append(fit.rows, proposed)
    Phi = np.hstack([Phi, evidence.take(proposed)])
    better = _best_on(evidence, rows, Phi, pulled, fit.rows, [(fit.rows, fit.alpha, fit.noise)], floor, tol)
    return (better if better.log_evidence > fit.log_evidence else fit), False


def _best_on(
    evidence: Evidence,
    rows: np.ndarray,
    Phi: np.ndarray,
    pulled: np.ndarray,
    coarse: np.ndarray,
    starts: list[Start],
    floor: float,
    tol: float,
    followed: int = FOLLOWED,
) -> Fit:
    """The best model that the compiled search finds on the columns Phi, at `rows`; the starts are among `coarse`."""
    place = np.empty(evidence.columns.d, dtype=np.int64)
    place[coarse] = np.arange(len(coarse))
    precisions = np.full((len(coarse), len(starts)), np.inf, order="F")
    for column, start in zip(precisions.T, starts, strict=True):
        column[place[start[0]]] = start[1]
    place[rows] = np.arange(len(rows))
    alpha, noises = np.empty(len(rows)), np.array([start[2] for start in starts])
    Phi, C = np.asfortranarray(Phi), np.asfortranarray(pulled[rows])
    data = _core.GaussianData(C=C, total=evidence.total, yy=evidence.yy, floor=floor)
    begin = _core.Starts(coarse=place[coarse], precisions=precisions, follow=followed)
    rule = _core.SearchRule(tol=tol, aligned=ALIGNED, max_steps=STEPS)
    noise, _ = _core.climb(Phi, data, begin, noises, alpha, rule)
    found = np.flatnonzero(np.isfinite(alpha))
    if not len(found):
        return evidence.empty(noise)
    if 2 * len(found) > len(rows):  # rather some more products than a copy of nearly all columns
        G = (Phi.T @ Phi)[np.ix_(found, found)]
    else:
        Phi = Phi[:, found]
        G = Phi.T @ Phi
    return evidence.fit(rows[found], alpha[found], noise, G, C[found])


def settled(evidence: Evidence, rows: np.ndarray, alpha: np.ndarray, noise: float, floor: float, tol: float) -> Fit:
    """The best model with no other columns than these, from precisions and a noise that is learned where floor > 0."""
    return _best_on(
        evidence, rows, evidence.take(rows), evidence.pull_targets(), rows, [(rows, alpha, noise)], floor, tol
    )


def _first(evidence: Evidence, pulled: np.ndarray) -> np.ndarray:
    """All columns, where they are few; else some spread evenly, and those most correlated with the targets."""
    if is_small(evidence.columns.design):
        return np.arange(evidence.columns.d)
    score = np.where(np.isfinite(evidence.columns.unit), (pulled**2).sum(axis=1), 0.0)
    return choose_candidates(score, np.finfo(float).tiny)


def is_small(design: Design) -> bool:
    """Whether all columns make one working set."""
    return design.d <= SMALL or design.n * design.d <= ENTRIES


def evenly(rows: np.ndarray, count: int) -> np.ndarray:
    """So many of them, from the first to the last; all where they are not more."""
    return rows if len(rows) <= count else rows[np.arange(count) * (len(rows) - 1) // (count - 1)]


def _spread(evidence: Evidence, rows: np.ndarray, noise: float | None) -> list[Start]:
    """Models to start from: none of the columns, and several numbers of them, evenly over the rows given."""
    variance = max(evidence.variance, np.finfo(float).tiny)
    starts = [(rows[:0], np.empty(0), noise or FIRST * variance)]
    for count in STARTS:
        if count <= min(len(rows), 0.5 * evidence.total):
            precision = count * evidence.k / max(evidence.yy, 1e-300)
            starts.append((evenly(rows, count), np.full(count, precision), noise or variance))
    return starts


def slope(evidence: Evidence, fit: Fit, floor: float) -> np.ndarray:
    """The gradient in what is free: all log precisions, and the log noise where it is learned and above its floor.

    Of groups, whose columns share a precision, it is the sum over these.
    """
    g = evidence.gradient(fit)
    if evidence.columns.groups is not None:
        g = np.append(np.bincount(evidence.columns.groups[fit.rows], weights=g[:-1]), g[-1])
    held = floor == 0 or (fit.noise <= floor * (1 + 1e-12) and g[-1] <= 0)
    return np.append(g[:-1], 0.0) if held else g


def _nominate(evidence: Evidence, fit: Fit, Phi: np.ndarray, pulled: np.ndarray, tol: float) -> np.ndarray:
    """Columns that may raise the evidence by `tol`, added or in the place of a column of the model."""
    quality = evidence.quality(fit, Phi, pulled)
    gain = addition_gain(quality.S, (quality.Q**2).mean(axis=1), evidence.k)
    gain[fit.rows] = 0.0
    gain[_aligned(evidence, fit, Phi, gain, tol)] = 0.0
    return np.union1d(choose_candidates(gain, tol), replacements(fit, quality, evidence.k)).astype(int)


def replacements(fit: Fit | Mode, quality: Quality, k: int) -> np.ndarray:
    """For each column of the model the best few to take its place, where that loses little.

    What is lost or gained is counted with the other precisions and the noise as they are; settled, it may gain.
    """
    if not len(fit.rows):
        return fit.rows
    variance = fit.covariance.diagonal()
    s = (1 - fit.alpha * variance) / variance
    now = 0.5 * ((fit.mean**2).sum(axis=1) / variance - k * np.log1p(s / fit.alpha))
    E, share = quality.E, fit.mean / variance[:, None]
    S = quality.S[:, None] + E * E / variance  # as if the model's column were out
    Q2 = sum((quality.Q[:, [c]] + E * share[:, c]) ** 2 for c in range(k)) / k
    Q2[fit.rows] = 0.0
    best = np.argpartition(-_signal(S, Q2), min(FEW, len(Q2) - 1), axis=0)[:FEW]
    every = np.arange(len(fit.rows))
    gain = addition_gain(S[best, every], Q2[best, every], k) - now
    return np.unique(best[gain >= -SLACK])


def addition_gain(S: np.ndarray, Q2: np.ndarray, k: int) -> np.ndarray:
    """The gain of adding each column at its best precision: k/2 [Q^2/S - 1 - log Q^2/S] where Q^2 > S (eq. 27)."""
    ratio = np.maximum(_signal(S, Q2), 1.0)
    return 0.5 * k * (ratio - 1 - np.log(ratio))


def _signal(S: np.ndarray, Q2: np.ndarray) -> np.ndarray:
    """Q^2/S; 0 for a column whose S is lost in rounding, which the model's columns span."""
    return np.divide(Q2, S, out=np.zeros_like(Q2), where=S > LOST * Q2)


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


def in_data_units(evidence: Evidence, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Weights of some unit columns as weights of all columns, the intercept last."""
    design, columns = evidence.columns.design, evidence.columns
    W = np.zeros((design.shape[1], evidence.k))
    W[rows] = mean / columns.unit[rows, None]
    if design.intercept:
        W[-1] = evidence.y_mean - columns.center[rows] @ W[rows]
    return W


def solution(
    evidence: Evidence, fit: Fit, floor: float, history: list[Step], tol: float, settled: bool, **extra: Any
) -> Solution:
    """The posterior mean in the units of the data, intercept last, with how the search ended.

    Evidence and violation are those of the very model that is returned; the violation is over all columns, in nats:
    the largest slope in a log variance of the model, or what the columns left out promise, whichever is more.
    """
    order = np.argsort(fit.rows)
    square = np.ix_(order, order)
    fit = fit._replace(rows=fit.rows[order], alpha=fit.alpha[order], mean=fit.mean[order])
    fit = fit._replace(covariance=fit.covariance[square], gram=fit.gram[square])
    Phi = evidence.take(fit.rows)
    fit = evidence.weighed(fit, Phi)
    violation = max(float(np.abs(slope(evidence, fit, floor)).max(initial=0.0)), promised(evidence, fit, Phi))
    W = in_data_units(evidence, fit.rows, fit.mean)
    status = Status.CONVERGED if settled and violation <= tol else Status.SLOPING
    if floor > 0 and fit.noise <= floor * (1 + 1e-9) and evidence.yy > 0:
        status = Status.INTERPOLATES
    facts = {"fit": fit, **extra}
    scores = np.empty((0, evidence.k))
    return Solution(W, scores, status, -fit.log_evidence, np.nan, violation, len(history), history, facts)
