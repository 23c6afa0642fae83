"""Gibbs chains: the linear model with its noise, and the softmax by Polya-Gamma variables.

Both work on standardised columns A, the last of them ones where there is an intercept in the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from .normal_draws import LARGE, by_cholesky, normal_draw
from .polya_gamma_draws import polya_gamma
from .trajectories import MOST, Trajectories

ACCEPTED = 0.44  # share of the proposed scalings that are to be accepted
FLAT = 1e-4  # precision of intercepts where every precision has to be positive


@dataclass
class GibbsDraw:
    """One state that is kept: weights (d, k), intercepts (k,), and what else was drawn."""

    weights: np.ndarray
    intercept: np.ndarray
    lam: float
    noise: float
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class SoftmaxData:
    """A (n, d + ones), indicators Y (n, m) with the class of fixed scores last, weights s, offsets (n, m)."""

    A: Any
    Y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    columns: int  # of weights: all m classes, or all but the last
    ones: bool  # whether the last column of A is the intercept
    intercept_precision: float = 0.0

    @property
    def free_intercepts(self) -> int:
        """Columns of weights with an intercept; one of a flat symmetric softmax is fixed: shifts change nothing."""
        fixed = self.columns == self.Y.shape[1] and self.intercept_precision == 0
        return (self.columns - fixed) * self.ones

    @property
    def level(self) -> float:
        """The precision of intercepts in every move: that given, or more than 0 where draws by rows need it."""
        return self.intercept_precision or (FLAT if self.A.shape[1] > self.A.shape[0] else 0.0)


class SoftmaxChain:
    """Class by class given the others (Polson, Scott & Windle 2013, section 6.3), with scale and shift moves."""

    def __init__(self, data: SoftmaxData, prior: Any, start: np.ndarray, rng: np.random.Generator):
        self.data, self.prior, self.rng = data, prior, rng
        self.V = np.zeros((data.A.shape[1], data.Y.shape[1]))
        self.V[:, : data.columns] = start
        self.d = data.A.shape[1] - data.ones
        if data.ones and data.free_intercepts < data.columns:  # the fixed intercept is 0, so that scaling keeps it
            self.V[self.d] -= self.V[self.d, data.columns - 1]
        self.kappa = data.weight[:, None] * (data.Y - 0.5)
        self.sign = 2 * data.Y[:, 0] - 1 if data.Y.shape[1] == 2 else None
        self.offset = data.offset[:, 0] - data.offset[:, 1]  # of the log odds of two classes
        self.E = np.asfortranarray(data.A @ self.V)
        self.shape = 1.0 if (data.weight == 1).all() else data.weight
        few = data.columns * data.A.shape[1] <= MOST and isinstance(data.A, np.ndarray)
        few &= self.sign is None or data.A.shape[1] <= data.A.shape[0]  # of more columns Gibbs draws cost less
        self.trajectories = Trajectories(data, prior) if prior.moves and few else None
        self.ahead: list[tuple[np.ndarray, float]] = []  # weights and log-likelihoods to come, the next one last
        self.last: float | None = None  # log-likelihood of the present state, where it is known
        self.step, self.sweeps, self.warming = 0.3, 0, True

    def sweep(self) -> None:
        """One update of everything: by Gibbs draws, or the next one of the trajectories that follow them."""
        if self.ahead:
            self.V[:, : self.data.columns], self.last = self.ahead.pop()
            self.prior.learn(self.rng, self.V[: self.d, : self.data.columns])
            if not self.ahead:
                self.E = np.asfortranarray(self.data.A @ self.V)
        else:
            self._gibbs()
        self.sweeps += 1

    def _gibbs(self) -> None:
        """Scale and shift moves, the scales of the prior, and each class given the others; then trajectories ahead."""
        data, w = self.data, self.V[: self.d, : self.data.columns]
        if self.prior.moves and self.sweeps:
            self._scale(w)
            if data.columns == data.Y.shape[1]:
                self._shift(w)
        if self.warming and self.trajectories is not None and self.sweeps:
            self._warm_up(self.trajectories)
        precision = self.prior.update(self.rng, w)
        for column in range(data.columns):
            self._draw_class(column, precision[:, column])
        self.last = None
        if not self.warming and self.trajectories is not None and self.trajectories.ready:
            ends, told = self.trajectories.follow(self.rng, self.V[:, : data.columns], self.trajectories.ahead)
            self.ahead = list(zip(ends[::-1], told[::-1, 0].tolist(), strict=True))

    def _draw_class(self, column: int, precision: np.ndarray) -> None:
        """Polya-Gamma variables of a class against the others, then its weights."""
        data, F = self.data, self.E + self.data.offset
        others = reduce(np.logaddexp, [F[:, other] for other in range(F.shape[1]) if other != column])
        omega = polya_gamma(self.rng, self.shape, F[:, column] - others)
        kappa = self.kappa[:, column] + omega * (others - data.offset[:, column])
        own = data.ones and column < data.free_intercepts
        A, v = data.A, self.V[:, column]
        if data.ones and own:
            precision = np.concatenate([precision, [data.level]])
        elif data.ones:
            A, v = A[:, : self.d], v[: self.d]
        v[:] = normal_draw(self.rng, A, omega, kappa, precision, v)
        self.E[:, column] = A @ v

    def _scale(self, w: np.ndarray) -> None:
        """Propose c (W, b): nearly separable classes make the chain creep along this ray."""
        c = float(np.exp(self.step * self.rng.standard_normal()))
        dim = w.size + self.data.free_intercepts
        change = self.log_likelihood(c) - self.present() + dim * np.log(c)
        change += self.prior.log_density(c * w) - self.prior.log_density(w)
        if self.data.ones:
            change -= 0.5 * self.data.level * (c**2 - 1) * (self.V[self.d] ** 2).sum()
        accepted = np.log(self.rng.random()) < change
        if accepted:
            self.V *= c
            self.E *= c
        if self.warming:
            self.step = min(self.step * float(np.exp((accepted - ACCEPTED) / np.sqrt(self.sweeps))), 3.0)

    def _warm_up(self, trajectories: Trajectories) -> None:
        """Move the weights of all classes along a trajectory that learns its step and its whitening."""
        k = self.data.columns
        found = trajectories.warm_up(self.rng, self.V[:, :k])
        if found is not None:
            self.V[:, :k] = found
            self.E[:, :k] = self.data.A @ found

    def _shift(self, w: np.ndarray) -> None:
        """Add to each feature's weights of all classes a number that changes no probability."""
        t = self.prior.shift(self.rng, w)
        if t is not None:
            w += t[:, None]
            self.E += (self.data.A[:, : self.d] @ t)[:, None]

    def present(self) -> float:
        """The log-likelihood of the state after a sweep."""
        if self.last is None:
            self.last = self.log_likelihood()
        return self.last

    def log_likelihood(self, c: float = 1.0) -> float:
        """log p(Y | c W, c b)."""
        if self.sign is not None:  # two classes
            odds = self.sign * (c * (self.E[:, 0] - self.E[:, 1]) + self.offset)
            return float(self.data.weight @ (np.minimum(odds, 0.0) - np.log1p(np.exp(-np.abs(odds)))))
        F = c * self.E + self.data.offset
        total = reduce(np.logaddexp, F.T)
        return float(self.data.weight @ ((self.data.Y * F).sum(axis=1) - total))

    def state(self) -> GibbsDraw:
        """The present state."""
        k = self.data.columns
        intercept = self.V[self.d, :k].copy() if self.data.ones else np.zeros(k)
        return GibbsDraw(self.V[: self.d, :k].copy(), intercept, self.prior.lam, np.nan, self.present())


@dataclass(frozen=True, eq=False)
class LinearData:
    """Centred columns A (n, d) and target y (n,), both multiplied by the roots of the weights; the sum of those."""

    A: Any
    y: np.ndarray
    total: float
    noise: float | None  # None where it is to be drawn
    ones: bool


class LinearChain:
    """Park & Casella (2008): w | noise, noise | w, and the scales of the prior; the intercept is integrated out."""

    def __init__(self, data: LinearData, prior: Any, start: np.ndarray, rng: np.random.Generator):
        self.data, self.prior, self.rng = data, prior, rng
        self.w, self.warming = start.astype(float), True
        self.noise = float(data.y @ data.y) / data.total if data.noise is None else data.noise
        n, d = data.A.shape
        self.gram = data.A.T @ data.A if isinstance(data.A, np.ndarray) and (d <= n and d <= LARGE) else None
        self.pull = data.A.T @ data.y

    def sweep(self) -> None:
        """One update of everything."""
        data, rng, root = self.data, self.rng, np.sqrt(self.noise)
        precision = self.prior.update(rng, self.w[:, None] / root, self.noise)[:, 0]
        if self.gram is not None:
            Q = self.gram.copy()
            Q.flat[:: len(Q) + 1] += precision
            self.w = by_cholesky(rng, Q / self.noise, self.pull / self.noise, self.w)
        else:
            ones = np.ones(len(data.y))
            scaled = normal_draw(rng, data.A, ones, data.y / root, precision, self.w / root)
            self.w = root * scaled
        if data.noise is None:
            self._draw_noise(precision)

    def _draw_noise(self, precision: np.ndarray) -> None:
        fixed = self.prior.slab_precision(self.noise)[:, 0] if hasattr(self.prior, "slab_precision") else 0.0
        residual = self.data.y - self.data.A @ self.w
        square = float(residual @ residual + self.w @ ((precision - fixed) * self.w))
        degrees = self.data.total - self.data.ones + len(self.w)
        self.noise = square / 2 / self.rng.standard_gamma(degrees / 2)

    def state(self) -> GibbsDraw:
        """The present state, with an intercept drawn about the mean of the target."""
        residual = self.data.y - self.data.A @ self.w
        level = np.sqrt(self.noise / self.data.total) * self.rng.standard_normal() if self.data.ones else 0.0
        square = float(residual @ residual) + self.data.total * level**2  # the residuals sum to 0
        value = -0.5 * self.data.total * np.log(2 * np.pi * self.noise) - 0.5 * square / self.noise
        return GibbsDraw(self.w[:, None].copy(), np.array([level]), self.prior.lam, self.noise, value)
