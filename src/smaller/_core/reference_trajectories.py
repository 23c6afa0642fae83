"""The twin of the compiled trajectories (Duane et al. 1987; Neal 2011) on the posterior of the weights of a softmax."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .reference_sums import means


class Density(NamedTuple):
    """log p(w) of a prior without its scales: a function of sum u |w|^power / power, and normal distributions beside.

    `unit` and the precisions `normal` are (rows, k). A strength that is integrated out has a gamma prior of this shape
    and rate; where the shape is 0 it is `lam`.
    """

    unit: Any
    normal: Any
    power: int
    lam: float
    shape: float
    rate: float


class Spot(NamedTuple):
    """A point: weights (rows, k), log-likelihood, log posterior, and its whitened gradient."""

    w: Any
    log_likelihood: float
    value: float
    slope: Any


def look(A, samples, density, root, w) -> Spot:
    """The posterior at weights."""
    F = np.asfortranarray(A @ w + samples.offset)
    P, U = np.empty_like(F), np.empty_like(F)
    log_likelihood = -means(F, samples.Y, samples.s, samples.family, P, U)
    size = (density.unit * (np.abs(w) if density.power == 1 else w**2 / 2)).sum()
    strength, learned = density.lam, density.shape > 0
    if learned:
        strength = density.shape / (density.rate + size)
    turned = np.sign(w) if density.power == 1 else w
    gradient = -(A.T @ (U * samples.s[:, None])) - strength * density.unit * turned - density.normal * w
    value = log_likelihood - 0.5 * (density.normal * w**2).sum()
    value -= density.shape * np.log(density.rate + size) if learned else density.lam * size
    return Spot(w, log_likelihood, float(value), root.T @ gradient.ravel(order="F"))


def trajectories(A, samples, density, root, start, momenta, steps, thresholds, step, ends, told) -> None:
    """Trajectories one after the other, each from where the last one ended.

    `root` (rows k, f) makes weights, class by class, from whitened coordinates. Trajectory i has momentum i, so many
    leapfrog steps, and is accepted where its gain (the change of the log posterior and of the momentum's) is above its
    threshold. `ends` (count, rows k) receives weights class by class, `told` (count, 2) log-likelihoods and gains.
    """

    def at(w):
        return look(A, samples, density, root, w)

    here = at(start)
    for i, count in enumerate(steps):
        there, momentum = here, momenta[i]
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(count):
                momentum = momentum + 0.5 * step * there.slope
                there = at(there.w + step * (root @ momentum).reshape(start.shape, order="F"))
                momentum = momentum + 0.5 * step * there.slope
            gain = there.value - here.value + 0.5 * (momenta[i] @ momenta[i] - momentum @ momentum)
        here = there if thresholds[i] < gain else here
        ends[i] = here.w.ravel(order="F")
        told[i] = here.log_likelihood, gain
