"""The variance of the noise where columns abound, and the evidence alone would fit the targets exactly.

With more columns than samples the evidence rises all the way to a noise of 0: the best n of the columns fit n targets.
Here a model is chosen first, by the predictive density of held-out samples or, for many targets, by a scaled lasso of
whole rows or groups; the noise is what least squares on the columns that clearly differ from 0 leaves, by degree of
freedom.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from ...objective.evidence import LOG_2PI, Evidence
from ...objective.sample import Sample
from ...priors import Groups
from ..l1.newton import newton
from ..solution import Solution, Step
from ..type1.scaled_lasso import laplace
from .auto import newton_and_check
from .covariance_free import strongest
from .grouped import GroupedEvidence, GroupFit
from .sequential import FLOOR, solution

FOLDS = 5
STEP, FIRST, LEAST = 0.5, 9, 1e-9  # decades between noises, from the targets' variance on, how many, and the smallest
FINER = 1 / 3, 1 / 6  # decades on both sides of the best noise so far
ROUGHLY, ROUNDS = 1e-2, 8  # nats to which, and rounds in which, the model of a fold is settled
CLEAR = 0.0124  # probability of a weight as many deviations from 0 as one that is kept: 2.5 of a single weight
MANY_TARGETS = 10  # from which their common rows show against the noise without folds
FEWEST = 4  # samples that folds need
ROUNDING = 1e-10  # of the largest: numbers of two samples that differ by less count as equal
LASSO_GAP, LASSO_ROUNDS = 1e-6, 200  # of the scaled lasso


def abundant(evidence: Evidence) -> bool:
    """Whether there are too many columns to a sample for the evidence to find the noise."""
    columns, n = int(np.isfinite(evidence.columns.unit).sum()), evidence.total
    return n >= FEWEST and evidence.yy > 0 and (columns > 2 * n if evidence.k >= MANY_TARGETS else 2 * columns > n)


def noise_of_many_columns(evidence: Evidence, paired: bool = False) -> float:
    """By a scaled lasso for many targets, else by cross-validation; then least squares."""
    noise = evidence.variance
    if evidence.k >= MANY_TARGETS:
        rows = scaled_group_lasso(evidence)
    else:
        noise = held_out_noise(evidence, paired)  # errs upwards: fewer samples find fewer columns
        rows = _clear(newton_and_check(strongest(GroupedEvidence(evidence), noise), ROUGHLY, ROUNDS, 0.0)[0])
    left = evidence.total - len(rows)
    if left < 1:
        return noise
    Phi, T = evidence.take(rows), evidence.root * evidence.Z
    misfit = T - Phi @ np.linalg.lstsq(Phi, T, rcond=None)[0] if len(rows) else T
    # Where columns are nearly alike none may be clear, and least squares would leave much too much.
    return min(noise, max(float((misfit**2).sum()) / (evidence.k * left), LEAST * evidence.variance))


def _clear(fit: GroupFit) -> np.ndarray:
    """Columns of the groups whose weights are clearly not 0, in units of their posterior deviations."""
    if not len(fit.columns):
        return fit.columns
    half = solve_triangular(fit.factor, np.diag(fit.root), lower=True)
    away = fit.by_group((fit.mean**2).sum(axis=1) / (half**2).sum(axis=0))
    return fit.columns[np.repeat(away > chi2.isf(CLEAR, fit.size * fit.problem.k), fit.size)]


def scaled_group_lasso(evidence: Evidence) -> np.ndarray:
    """Columns kept by the scaled lasso of groups, or of single columns, over all targets.

    The penalty of a group of b columns is sqrt(b k) + sqrt(2 log G) times the noise's root: the size that the largest
    of the products of G groups with k targets of pure noise has.
    """
    design, k = evidence.columns.design, evidence.k
    labels = np.arange(design.d) if evidence.columns.groups is None else evidence.columns.groups
    sizes, sample = np.bincount(labels), Sample(design, np.asfortranarray(evidence.Z), evidence.s)
    strength = np.sqrt(sizes * k) + np.sqrt(2 * np.log(max(len(sizes), 2)))
    prior = Groups(float(np.sqrt(evidence.columns.total)), labels, strength, scale=sample.scale)
    found = laplace(sample, prior, None, newton, LASSO_GAP, LASSO_ROUNDS)
    return np.flatnonzero(found.weights[: design.d].any(axis=1) & np.isfinite(evidence.columns.unit))


def evidence_noise(evidence: Evidence, tol: float, max_iter: int) -> Solution:
    """Variances of groups and the noise together, of few columns: MacKay's noise and Newton's variances in turn."""
    began, floor = time.perf_counter(), FLOOR * evidence.variance
    problem, history = GroupedEvidence(evidence), []
    fit = strongest(problem, 0.1 * evidence.variance)
    for _ in range(max_iter):
        fit, _ = newton_and_check(fit, tol, ROUNDS, began)
        full = fit.fit()
        slope = float(evidence.gradient(full)[-1])
        history.append(Step(-fit.log_evidence, abs(slope), np.nan, len(fit.columns), time.perf_counter() - began))
        if abs(slope) <= 0.5 * tol or (fit.noise <= floor and slope < 0):
            break
        noise = full.misfit / (evidence.k * max(evidence.total - full.determined.sum(), 1e-3 * evidence.total))
        fit = GroupFit(problem, fit.groups, fit.gamma, max(noise, floor))
    return solution(evidence, fit.fit(), floor, history, tol, True)


def held_out_noise(evidence: Evidence, paired: bool = False) -> float:
    """The noise of the greatest predictive density of held-out samples, over folds of the rows.

    `paired` says that the second half of the rows are the imaginary parts of the first, held out together with them.
    """
    folds = [Fold(evidence, test) for test in _parts(evidence, paired)]

    @cache
    def density(decades: float) -> float:
        noise = evidence.variance * 10.0**decades
        return sum(fold.density(noise) for fold in folds)

    tried = [-STEP * i for i in range(FIRST)]
    while density(tried[-1]) >= max(map(density, tried)) and 10.0 ** tried[-1] > LEAST:
        tried.append(tried[-1] - STEP)
    best = max(tried, key=density)
    for step in FINER:
        best = max((best - step, best, best + step), key=density)
    return evidence.variance * 10.0**best


def _parts(evidence: Evidence, paired: bool) -> list[np.ndarray]:
    """Rows to be held out in each fold, drawn from a fixed seed.

    Copies of a sample are held out together, and neither the order of the rows nor their unit matters, so that a sample
    of weight 2 counts exactly like the same sample given twice.
    """
    problem = GroupedEvidence(evidence)
    told = problem.push(problem.pull(evidence.Z))  # differs between samples of equal targets
    facts = np.hstack([evidence.Z, told])
    facts /= np.abs(facts).max(axis=0).clip(np.finfo(float).tiny)
    if paired:
        facts = np.hstack(np.split(facts, 2))
    ranks = _distinct(facts)
    count = ranks.max() + 1
    parts = np.array_split(np.random.default_rng(0).permutation(count), min(FOLDS, count))
    rows = [np.flatnonzero(np.isin(ranks, part)) for part in parts]
    return [np.append(row, row + len(ranks)) for row in rows] if paired else rows


def _distinct(facts: np.ndarray) -> np.ndarray:
    """The rank of each row among the distinct ones, in the order of their first differing number, rounding aside."""
    ranks = np.zeros(len(facts), dtype=int)
    for values in facts.T:
        order = np.lexsort([values, ranks])
        new = (np.diff(ranks[order]) > 0) | (np.diff(values[order]) > ROUNDING)
        ranks[order] = np.append(0, np.cumsum(new))
    return ranks


class Fold:
    """Some rows held out, and the evidence of the others."""

    def __init__(self, evidence: Evidence, test: np.ndarray):
        design, columns = evidence.columns.design, evidence.columns
        train = np.setdiff1d(np.arange(design.n), test)
        self.evidence = Evidence(
            design.restricted(train), evidence.Z[train], evidence.s[train], columns.groups, evidence.taken
        )
        self.problem = GroupedEvidence(self.evidence)
        self.test, self.Y, self.s = design.restricted(test), evidence.Z[test], evidence.s[test]

    def density(self, noise: float) -> float:
        """Log predictive density of the rows held out, under the model that the others have at this noise."""
        return self._density(newton_and_check(strongest(self.problem, noise), ROUGHLY, ROUNDS, 0.0)[0])

    def _density(self, fit: GroupFit) -> float:
        columns, design = self.evidence.columns, self.evidence.columns.design
        Phi = (self.test.take(fit.columns) - columns.center[fit.columns]) / columns.unit[fit.columns]
        error = self.Y - self.evidence.y_mean - Phi @ fit.mean
        level = fit.noise / columns.total if design.intercept else 0.0
        variance = np.full(len(error), fit.noise + level)
        if len(fit.columns):
            half = solve_triangular(fit.factor, fit.root[:, None] * Phi.T, lower=True)
            variance += (half**2).sum(axis=0)
        each = fit.problem.k * (LOG_2PI + np.log(variance)) + (error**2).sum(axis=1) / variance
        return -0.5 * float(self.s @ each)
