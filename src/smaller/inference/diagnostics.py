"""Do the chains agree, and how many independent draws are they worth? (Vehtari et al. 2021)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

BLOCK = 2**17  # numbers
WORST_RHAT, LEAST_ESS = 1.01, 400.0  # limits of draws that are good enough


class Agreement(NamedTuple):
    """Rank-normalised split R-hat, bulk and tail effective sample sizes of each quantity, (q,) each."""

    rhat: np.ndarray
    bulk: np.ndarray
    tail: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The smaller effective sample size of each quantity."""
        return np.minimum(self.bulk, self.tail)

    @property
    def good_enough(self) -> bool:
        """Whether every R-hat is at most 1.01 and every effective sample size at least 400."""
        return bool(self.rhat.max() <= WORST_RHAT and self.least.min() >= LEAST_ESS)


def agreement(draws: np.ndarray) -> Agreement:
    """All three of (chains, draws, q), the ranks computed once; blocks of quantities that fit a processor's cache."""
    chains, n, q = draws.shape
    step = max(1, BLOCK // (chains * n))
    blocks = [_agreement(draws[:, :, i : i + step]) for i in range(0, q, step)]
    return Agreement(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _agreement(draws: np.ndarray) -> Agreement:
    halves = _split(draws)
    normal = rank_normalised(halves)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    ratio = np.maximum(_rhat(normal), _rhat(rank_normalised(folded)))
    return Agreement(ratio, _ess(normal), tail_ess(draws))


def _split(draws: np.ndarray) -> np.ndarray:
    """Halves of each chain as chains of their own: (2 chains, draws // 2, q) of (chains, draws, q)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def rank_normalised(draws: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks over all chains, for each quantity; equal values share the mean of their ranks."""
    chains, n, q = draws.shape
    flat = np.ascontiguousarray(draws.reshape(chains * n, q).T)
    order = np.argsort(flat, axis=1)
    ranked = np.take_along_axis(flat, order, axis=1)
    ranks, place = np.empty(flat.shape), np.arange(1.0, chains * n + 1)
    np.put_along_axis(ranks, order, place[None], axis=1)
    equal = ranked[:, 1:] == ranked[:, :-1]  # always in distances from a median between two draws
    tied = np.flatnonzero(equal.any(axis=1))
    if len(tied):
        no = np.zeros((len(tied), 1), dtype=bool)
        first = np.where(np.hstack([no, equal[tied]]), 0.0, place)
        last = np.where(np.hstack([equal[tied], no]), np.inf, place)
        mean = np.maximum.accumulate(first, axis=1) + np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        ranks[tied[:, None], order[tied]] = mean / 2
    return ndtri((ranks.T - 0.375) / (chains * n + 0.25)).reshape(chains, n, q)


def _rhat(halves: np.ndarray) -> np.ndarray:
    n = halves.shape[1]
    within, between = halves.var(axis=1, ddof=1).mean(axis=0), halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(within > 0, np.sqrt((n - 1) / n + between / within), 1.0)


def ess_of_mean(draws: np.ndarray) -> np.ndarray:
    """Effective sample size of the plain mean, for its Monte Carlo error."""
    return _ess(_split(draws))


def tail_ess(draws: np.ndarray) -> np.ndarray:
    """The smaller effective sample size of the indicators of the 5 % and 95 % quantiles."""
    return np.minimum(*(quantile_ess(draws, p) for p in (0.05, 0.95)))


def quantile_ess(draws: np.ndarray, probability: float) -> np.ndarray:
    """Effective sample size of the indicator of a quantile."""
    return _ess(_split((draws <= np.quantile(draws, probability, axis=(0, 1))).astype(float)))


def _ess(halves: np.ndarray) -> np.ndarray:
    """Geyer's initial monotone sequence on the autocorrelations of all chains together."""
    chains, n, q = halves.shape
    found = np.empty(q)
    step = max(1, BLOCK // (chains * n))
    for part in (slice(i, i + step) for i in range(0, q, step)):
        found[part] = _ess_part(halves[:, :, part])
    return found


def _ess_part(halves: np.ndarray) -> np.ndarray:
    chains, n, q = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, size, axis=1)[:, :n].mean(axis=0) / n  # (n, q), over the chains
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + (halves.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1 - (within - covariance * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2, q).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    pairs = np.where(positive, np.minimum.accumulate(np.where(positive, pairs, np.inf), axis=0), 0.0)
    tau = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(chains * n))
    return np.where(total > 0, chains * n / tau, chains * n)
