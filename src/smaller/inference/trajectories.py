"""Hamiltonian moves of all weights of a softmax together, on the posterior without the scales of its prior.

Class by class, Gibbs draws creep where several classes are nearly separable: the weights of all classes have to grow
together. Trajectories with exact gradients (Duane et al. 1987; Neal 2011) move them together, and cost less than the
variables that Gibbs draws need. Coordinates are whitened by the curvature at the mean of the warm-up; step and
curvature are fixed once it ends, so that the moves leave the posterior as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._core.reference import REFERENCE, SYMMETRIC

MOST = 200  # weights; more than these have no moves, whose whitening takes their number squared
TRAVEL = 2.0  # length of a trajectory, in deviations: about a third of an orbit
LONGEST = 32  # steps of a trajectory
ACCEPTED = 0.8  # share of trajectories that are to be accepted
LEAST = 1e-4  # curvature: that of flat intercepts is 0 where the classes are certain
LOOKS = (20, 50, 100, 200, 350)  # sweeps of the warm-up after which the curvature is computed again
AHEAD, WORK = 50, 1e9  # trajectories of one call, and the products of numbers that they take at most


class Trajectories:
    """Moves of one chain, with its whitening and its step."""

    def __init__(self, data: Any, prior: Any):
        self.data, self.prior = data, prior
        k, self.d = data.columns, data.A.shape[1] - data.ones
        self.A, self.Y = np.asfortranarray(data.A), np.asfortranarray(data.Y[:, :k], dtype=np.float64)
        self.weight = np.ascontiguousarray(data.weight, dtype=np.float64)
        several = k == data.Y.shape[1]
        self.family = SYMMETRIC if several else REFERENCE
        fixed = 0.0 if several else data.offset[:, k:]  # what the class of fixed scores has
        self.offset = np.asfortranarray(data.offset[:, :k] - fixed)
        self.free = np.ones((self.A.shape[1], k), dtype=bool)
        if data.ones:
            self.free[self.d, data.free_intercepts :] = False
        self.root = np.eye(self.free.size)[:, self.free.ravel(order="F")]
        self.step, self.seen, self.total, self.ready = 0.5, 0, np.zeros(self.free.shape), False
        self.most = int(np.clip(WORK / (2 * LONGEST * self.A.size * k), 1, AHEAD))

    def whiten(self) -> None:
        """The inverse of the curvature at the mean of the sweeps seen, the prior taken as a normal one of its size."""
        data, k, V = self.data, self.data.columns, self.total / self.seen
        F = data.offset.copy()
        F[:, :k] += data.A @ V
        P = np.exp(F - F.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        rows = data.A.shape[1]
        H = np.empty((rows, k, rows, k))
        for left in range(k):
            for right in range(k):
                omega = data.weight * P[:, left] * ((left == right) - P[:, right])
                H[:, left, :, right] = (data.A * omega[:, None]).T @ data.A
        precision = np.full((rows, k), data.level)
        precision[: self.d] = self.prior.curvature(V[: self.d])
        free = np.flatnonzero(self.free)
        H = H.reshape(rows * k, rows * k)[np.ix_(free, free)]
        H.flat[:: len(H) + 1] += precision.ravel()[free]
        scale = 1 / np.sqrt(np.maximum(np.diag(H), LEAST))
        values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
        root = np.zeros((rows * k, len(free)))
        root[free] = scale[:, None] * vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
        self.root = root.reshape(rows, k, -1).swapaxes(0, 1).reshape(root.shape)  # class by class
        self.ready = True

    def warm_up(self, rng: np.random.Generator, V: np.ndarray) -> np.ndarray | None:
        """One move from V, from which step and curvature learn; the weights where it ends."""
        self.total += V
        self.seen += 1
        if self.seen in LOOKS:
            self.whiten()
        if not self.ready:
            return None
        ends, told = self.follow(rng, V, 1)
        gain = told[0, 1] if np.isfinite(told[0, 1]) else -np.inf
        change = (np.exp(min(gain, 0.0)) - ACCEPTED) / np.sqrt(self.seen)
        self.step = float(np.clip(self.step * np.exp(change), 1e-3, 1.5))
        return ends[0]

    @property
    def ahead(self) -> int:
        """How many follow a Gibbs sweep: one where steps are so short that they end before half their way."""
        return self.most if self.step * LONGEST >= TRAVEL / 2 else 1

    @property
    def posterior(self) -> tuple[Any, ...]:
        """What the trajectories are on: columns, samples, prior, and the way from whitened coordinates to weights."""
        samples = _core.Samples(
            Y=self.Y,
            s=self.weight,
            offset=self.offset,
            family=self.family,
            intercept=False,
            measure=1.0,
            negligible=0.0,
        )
        return self.A, samples, self.prior.density(self.data.level if self.data.ones else None), self.root

    def follow(self, rng: np.random.Generator, V: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Moves one after the other: weights (count, d + ones, k), and log-likelihoods and gains (count, 2)."""
        steps = np.ceil(TRAVEL / self.step * (0.6 + 0.8 * rng.random(count)))
        momenta, thresholds = rng.standard_normal((count, self.root.shape[1])), np.log(rng.random(count))
        ends, told = np.empty((count, V.size)), np.empty((count, 2))
        chosen = momenta, np.minimum(steps, LONGEST).astype(np.int64), thresholds
        _core.trajectories(*self.posterior, np.asfortranarray(V), *chosen, self.step, ends, told)
        return ends.reshape(count, self.data.columns, -1).swapaxes(1, 2), told
