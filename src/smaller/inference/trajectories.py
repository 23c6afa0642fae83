"""Hamiltonian moves of all weights of a softmax together, on the posterior without the scales of its prior.

Class by class, Gibbs draws creep where several classes are nearly separable: the weights of all classes have to grow
together. A short trajectory with exact gradients (Duane et al. 1987; Neal 2011) moves them together. Coordinates are
whitened by the curvature at the mean of the warm-up; step and curvature are fixed once it ends, so that the moves leave
the posterior as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

MOST = 200  # weights; more than these have no moves, whose whitening takes their number squared
TRAVEL = 1.5  # length of a trajectory, in deviations: about a quarter of an orbit
LONGEST = 16  # steps of a trajectory
ACCEPTED = 0.8  # share of trajectories that are to be accepted
LEAST = 1e-4  # curvature: that of flat intercepts is 0 where the classes are certain
LOOKS = (20, 50, 100, 200, 350)  # sweeps of the warm-up after which the curvature is computed again


class Place(NamedTuple):
    """A point: weights (d + ones, k), scores (n, m), log-likelihood, log posterior, and its whitened gradient."""

    V: np.ndarray
    E: np.ndarray
    log_likelihood: float
    value: float
    slope: np.ndarray


class Trajectories:
    """Moves of one chain, with its whitening and its step."""

    def __init__(self, data: Any, prior: Any):
        self.data, self.prior = data, prior
        k, self.d = data.columns, data.A.shape[1] - data.ones
        free = np.ones((data.A.shape[1], k), dtype=bool)
        if data.ones:
            free[self.d, data.free_intercepts :] = False
        self.free = np.flatnonzero(free)
        self.mass = data.weight[:, None] * data.Y
        self.root = np.eye(len(self.free))
        self.step, self.seen, self.total, self.ready = 0.5, 0, np.zeros(free.shape), False

    def at(self, V: np.ndarray) -> Place:
        """The posterior at weights, with flat or normal intercepts."""
        data, k, w = self.data, self.data.columns, V[: self.d]
        E = np.zeros(data.Y.shape)
        E[:, :k] = data.A @ V
        F = E + data.offset
        largest = F.max(axis=1)
        P = np.exp(F - largest[:, None])
        total = P.sum(axis=1)
        log_likelihood = float(np.vdot(self.mass, F) - data.weight @ (largest + np.log(total)))
        gradient = data.A.T @ (self.mass - P * (data.weight / total)[:, None])[:, :k]
        gradient[: self.d] += self.prior.slope(w)
        value = log_likelihood + self.prior.log_density(w)
        if data.ones:
            gradient[self.d] -= data.level * V[self.d]
            value -= 0.5 * data.level * float(V[self.d] @ V[self.d])
        return Place(V, E, log_likelihood, value, self.root.T @ gradient.ravel()[self.free])

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
        H = H.reshape(rows * k, rows * k)[np.ix_(self.free, self.free)]
        H.flat[:: len(H) + 1] += precision.ravel()[self.free]
        scale = 1 / np.sqrt(np.maximum(np.diag(H), LEAST))
        values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
        self.root = scale[:, None] * vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
        self.ready = True

    def move(self, rng: np.random.Generator, V: np.ndarray, warming: bool) -> Place | None:
        """The end of a trajectory from V, where it is accepted."""
        if warming:
            self.total += V
            self.seen += 1
            if self.seen in LOOKS:
                self.whiten()
        if not self.ready:
            return None
        begin, momentum = self.at(V), rng.standard_normal(len(self.free))
        steps = int(np.ceil(TRAVEL / self.step * (0.6 + 0.8 * rng.random())))
        with np.errstate(over="ignore", invalid="ignore"):
            here, last = self.along(begin, momentum, self.step, min(LONGEST, steps))
            change = here.value - begin.value + 0.5 * float(momentum @ momentum - last @ last)
        change = change if np.isfinite(change) else -np.inf
        accepted = np.log(rng.random()) < change
        if warming:
            gain = (np.exp(min(change, 0.0)) - ACCEPTED) / np.sqrt(self.seen)
            self.step = float(np.clip(self.step * np.exp(gain), 1e-3, 1.5))
        return here if accepted else None

    def along(self, here: Place, momentum: np.ndarray, step: float, steps: int) -> tuple[Place, np.ndarray]:
        """The end of a trajectory by leapfrog steps, and its momentum."""
        for _ in range(steps):
            momentum = momentum + 0.5 * step * here.slope
            moved = here.V.ravel().copy()
            moved[self.free] += step * (self.root @ momentum)
            here = self.at(moved.reshape(here.V.shape))
            momentum = momentum + 0.5 * step * here.slope
        return here, momentum
