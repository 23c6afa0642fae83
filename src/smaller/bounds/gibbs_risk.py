"""The Gibbs risk on a sample, the error rate of weights drawn from the posterior: exact, normal or Monte Carlo.

A score of the Gibbs classifier is x.w with independent Laplace weights: its mean plus Z = sum_j a_j L_j, a_j = |x_j|
over the rate of w_j, and L_j standard Laplace variables. Z is symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from .divergence import kl_inverse, laplace_kl, least_kl_rates

STEP, ANGLE = 0.07, np.pi / 8  # of the quadrature below: its error is about exp(-2 pi ANGLE / STEP), 1e-15
NEGLIGIBLE, NODES = 1e-17, 16  # NODES nodes at a time, until a term is negligible
FACTORS = 16  # factors of a characteristic function that are multiplied before a logarithm is taken
ENTRIES = 1 << 21  # of the temporary arrays of a block


class LaplacePosterior(NamedTuple):
    """Independent Laplace weights, (d, k) each: centres, rates (inverse scales), and the rates of the prior at 0."""

    mean: np.ndarray
    rate: np.ndarray
    prior: np.ndarray
    reference: bool = False  # the last class has no weights: its score is 0

    @classmethod
    def nearest(cls, mean: np.ndarray, prior: np.ndarray, reference: bool = False) -> LaplacePosterior:
        """The one about these centres that is nearest to the prior."""
        return cls(mean, least_kl_rates(mean, prior), prior, reference)

    @property
    def kl(self) -> float:
        """KL(q || p) in nats (Krishnapuram et al. 2005, eq. 23)."""
        return float(laplace_kl(self.mean, self.rate, self.prior).sum())


class GibbsRisk(NamedTuple):
    """The risk that a bound uses, and how it was computed."""

    risk: float  # with Monte Carlo, an upper confidence limit
    method: str
    spent: float = 0.0  # the part of delta that the risk used
    estimate: float | None = None  # of Monte Carlo, before its confidence term
    certain: bool = True  # False: an approximation whose error has no bound


# -- blocks of rows, dense and sparse alike


def _blocks(Phi, width: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Blocks of rows: their slice, their entries (of sparse rows the stored ones) and the columns of the entries."""
    n, rows = Phi.shape[0], max(1, ENTRIES // (width * _longest(Phi)))
    for start in range(0, n, rows):
        where = slice(start, min(start + rows, n))
        yield where, *_packed(Phi[where])


def _longest(Phi) -> int:
    """Entries of the longest row, at least FACTORS."""
    entries = np.diff(Phi.indptr).max(initial=0) if sparse.issparse(Phi) else Phi.shape[1]
    return max(int(entries), FACTORS)


def _packed(block) -> tuple[np.ndarray, np.ndarray]:
    if not sparse.issparse(block):
        return np.asarray(block, dtype=np.float64), np.arange(block.shape[1])[None, :]
    length = np.diff(block.indptr)
    filled = np.arange(max(int(length.max(initial=0)), 1)) < length[:, None]
    values, columns = np.zeros(filled.shape), np.zeros(filled.shape, dtype=np.intp)
    values[filled], columns[filled] = block.data, block.indices
    return values, columns


def centres(posterior: LaplacePosterior, Phi) -> np.ndarray:
    """The mean scores, (n, k)."""
    return np.asarray(Phi @ posterior.mean, dtype=np.float64)


# -- two classes


def tail(mu: np.ndarray, a: np.ndarray) -> np.ndarray:
    """P(Z > mu) of Z = sum_j a_ij L_j for each row i, mu >= 0, to about 1e-12 (absolute).

    The inversion integral (1 / 2 pi i) int exp(-s mu) / (s prod_j (1 - a_j^2 s^2)) ds over a line between the poles 0
    and 1 / max a is Gil-Pelaez' formula. Bent into the hyperbola s = D (1 + sin(ANGLE + i u)), the integrand neither
    oscillates nor decays slowly, however few the a_j and however large mu; it is analytic about the real axis of u,
    and the trapezoidal rule converges geometrically. D keeps the contour clear of the poles and within the width of
    the characteristic function.
    """
    largest, spread = a.max(axis=1, initial=0.0), np.sqrt(2.0 * np.square(a).sum(axis=1))
    found = np.where(mu == 0, 0.5, 0.0)
    rows = np.flatnonzero((largest > 0) & (mu > 0))
    D = np.minimum(0.5 / largest[rows], 1.0 / spread[rows])
    m, B = mu[rows] * D, np.square(a[rows] * D[:, None])
    first = 0
    while len(rows):
        u = STEP * np.arange(first, first + NODES)[:, None]
        v = ANGLE + 1j * u
        z = 1.0 + np.sin(v)
        weight = np.where(u > 0, STEP, STEP / 2) / np.pi  # u and -u are conjugate, and 0 has no partner
        terms = weight * np.cos(v) / z * np.exp(-m * z - _log_factors(B, z * z))
        found[rows] += terms.real.sum(axis=0)
        keep = np.abs(terms[-1]) > NEGLIGIBLE
        rows, m, B = rows[keep], m[keep], B[keep]
        first += NODES
    return np.clip(found, 0.0, 0.5)


def _log_factors(B: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """sum_j ln(1 - B_ij squares_k), up to multiples of 2 pi i, for every node k and row i."""
    total = np.zeros((len(squares), len(B)), dtype=complex)
    for start in range(0, B.shape[1], FACTORS):
        factors = 1.0 - B[:, start : start + FACTORS] * squares[:, :, None]
        total += np.log(np.prod(factors, axis=2))
    return total


def _normal_tail(mu: np.ndarray, a: np.ndarray) -> np.ndarray:
    """P(Z > mu) as if Z were normal, of variance 2 sum a^2."""
    spread = np.sqrt(2.0 * np.square(a).sum(axis=1))
    return np.where(spread > 0, ndtr(-mu / np.where(spread > 0, spread, 1.0)), np.where(mu == 0, 0.5, 0.0))


def error_rates(posterior: LaplacePosterior, Phi, codes: np.ndarray, normal: bool = False) -> np.ndarray:
    """The probability, for each sample of a two-class problem, that drawn weights misclassify it, (n,)."""
    mu = centres(posterior, Phi)[:, 0]
    wrong, beyond = np.empty(len(mu)), _normal_tail if normal else tail
    for where, values, columns in _blocks(Phi, NODES):
        a = np.abs(values) / posterior.rate[columns, 0]
        away = beyond(np.abs(mu[where]), a)
        # A row of zeros has the score 0 whatever the weights; such scores go to the first class, as in predict.
        away[~a.any(axis=1)] = 0.0
        wrong[where] = np.where((mu[where] > 0) == (codes[where] == 1), away, 1.0 - away)
    return wrong


def exact(posterior: LaplacePosterior, Phi, codes: np.ndarray) -> GibbsRisk:
    """The Gibbs risk by quadrature, for two classes."""
    return GibbsRisk(float(error_rates(posterior, Phi, codes).mean()), "exact")


def gaussian(posterior: LaplacePosterior, Phi, codes: np.ndarray) -> GibbsRisk:
    """By the normal approximation of the paper, for two classes; its error has no bound."""
    risk = float(error_rates(posterior, Phi, codes, normal=True).mean())
    return GibbsRisk(risk, "normal approximation", certain=False)


# -- any number of classes


def monte_carlo(posterior: LaplacePosterior, Phi, codes: np.ndarray, draws: int, delta: float, rng) -> GibbsRisk:
    """By Monte Carlo: an upper limit of the risk that fails with probability delta.

    Every sample has its own draws, so that all n * draws errors are independent and Chernoff's bound,
    kl(mean || risk) <= ln(1 / delta) / (n draws), counts each of them (Hoeffding 1963, theorem 1).
    """
    mu = centres(posterior, Phi)
    errors, total = 0, len(mu) * draws
    while draws > 0:
        at_once = min(draws, max(1, ENTRIES // _longest(Phi)))
        errors += _errors_drawn(posterior, Phi, codes, mu, at_once, rng)
        draws -= at_once
    estimate = errors / total
    upper = kl_inverse(estimate, np.log(1.0 / delta) / total)
    return GibbsRisk(upper, f"Monte Carlo, {total} draws", delta, estimate)


def _errors_drawn(posterior: LaplacePosterior, Phi, codes: np.ndarray, mu: np.ndarray, draws: int, rng) -> int:
    """Errors among so many draws for each sample."""
    errors = 0
    for where, values, columns in _blocks(Phi, draws):
        F = np.repeat(mu[None, where], draws, axis=0)
        for c in range(F.shape[2]):
            a = values / posterior.rate[columns, c]
            F[:, :, c] += (rng.laplace(size=(draws, *a.shape)) * a).sum(axis=2)
        errors += int((_decide(F, posterior.reference) != codes[where]).sum())
    return errors


def _decide(F: np.ndarray, reference: bool) -> np.ndarray:
    """The class of the greatest score, as predict has it; the last axis is that of the scores."""
    if F.shape[-1] == 1 and not reference:
        return (F[..., 0] > 0).astype(int)
    if reference:
        F = np.concatenate([F, np.zeros((*F.shape[:-1], 1))], axis=-1)
    return F.argmax(axis=-1)
