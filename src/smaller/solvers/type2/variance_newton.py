"""Newton's method on the variances of a model's groups, at a given noise; groups whose variance reaches 0 leave.

The variable is log gamma where the data determine the group's weights, else gamma itself, which may reach 0: a group
on its way out would take for ever in log gamma. With H = I + R G R / noise, R the roots of the variances, all that the
derivatives need is R Phi^T S^-1 Phi R = I - H^-1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.linalg.lapack import dpotrf, dpotri

from .grouped import GroupFit

DETERMINED = 0.3  # a group whose weights the data determine so far is moved in the logarithm of its variance
GONE = 1e-3  # of its variance: a group whose step leaves no more than this is dropped
CONVEX = 1e-10  # of the bound's curvature, which is added to a Hessian that is positive definite without it
SHIFTS = 0.01, 3.0  # the first multiple of the bound's curvature that makes the Hessian positive, and its growth
HALVINGS = 6  # of a step that raises L, before the Hessian is shifted further
LARGEST_SHIFT = 1e4  # at which a step is that of the reweighting rule, and small
FLAT = 1e-3  # of the bound's curvature: the least curvature of a direction in which L is not convex


def newton_on_variances(fit: GroupFit, tol: float, steps: int, bold: bool = True) -> GroupFit:
    """Newton's method until no slope in a log variance exceeds tol nats; no step raises L."""
    for _ in range(steps):
        if not len(fit.groups):
            break
        at = derivatives(fit)
        if np.abs(at.slope).max() < 2 * tol:
            break
        tried = (_searched(fit, step, at) for step in _steps(at, bold))
        found = next((each for each in tried if each is not None), None)
        if found is None:
            break
        fit = found
    return fit


class Derivatives(NamedTuple):
    """Of L in the logarithms of the variances, or, for groups that are weakly determined, in their relative changes."""

    slope: np.ndarray
    hessian: np.ndarray  # its lower triangle, with zeros above
    bound: np.ndarray  # the curvature of a convex bound, which reweighting minimises
    strong: np.ndarray  # the groups that move in the logarithm


def derivatives(fit: GroupFit) -> Derivatives:
    """At the variances of a fit."""
    k, S = fit.problem.k, _seen(fit)
    Q = fit.root[:, None] * (fit.C - fit.G @ fit.mean) / fit.noise
    # Rounding may leave less than nothing.
    z = np.maximum(fit.by_group(S.diagonal()), 1e-12 * fit.gamma * fit.size / fit.noise)
    q2 = fit.by_group((Q**2).sum(axis=1))
    slope, strong = k * z - q2, z > DETERMINED * fit.size
    hessian = (Q @ (2 * Q.T)).T
    hessian -= k * S
    hessian *= S
    if len(fit.groups) < len(hessian):
        hessian = _of_groups(hessian, fit.size)
    hessian.flat[:: len(hessian) + 1] += np.where(strong, slope, 0.0)
    bound = q2 + k * z
    # A variance that is all but 0 has no curvature; with none at all no multiple would make the Hessian positive.
    return Derivatives(slope, hessian, np.maximum(bound, np.finfo(float).eps * bound.max(initial=0.0)), strong)


def _seen(fit: GroupFit) -> np.ndarray:
    """R Phi^T S^-1 Phi R of the columns of the model: its lower triangle, with zeros above."""
    S, _ = dpotri(fit.factor, lower=1)  # above the diagonal it keeps the zeros of the factor
    S *= -1
    S.flat[:: len(S) + 1] += 1.0
    return S


def _of_groups(lower: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Sums over the blocks of a symmetric matrix that is given by its lower triangle: the same of the sums."""
    begin, full = np.cumsum(size) - size, lower + np.tril(lower, -1).T
    return np.asfortranarray(np.tril(np.add.reduceat(np.add.reduceat(full, begin, axis=0), begin, axis=1)))


def _steps(at: Derivatives, bold: bool) -> Iterator[np.ndarray]:
    """Newton's step and, where L is not convex or that step is too long, others.

    A bold one follows directions of negative curvature as far as this curvature says. Else multiples of the bound's
    curvature are added, the smallest first: a large one makes a small step of the reweighting rule.
    """
    step = _newton_step(at, CONVEX)
    if step is None and bold:
        step = _along_negative_curvature(at)
    if step is not None:
        yield step
    shift = SHIFTS[0]
    while shift < LARGEST_SHIFT:
        step = _newton_step(at, shift)
        if step is not None:
            yield step
        shift *= SHIFTS[1] if step is None else SHIFTS[1] ** 2


def _newton_step(at: Derivatives, shift: float) -> np.ndarray | None:
    """-(H + shift diag(bound))^-1 slope; None where this is not positive definite."""
    shifted = at.hessian.copy(order="F")
    shifted.flat[:: len(shifted) + 1] += shift * at.bound
    factor, failed = dpotrf(shifted, lower=1, overwrite_a=1)
    return None if failed else -cho_solve((factor, True), at.slope)


def _along_negative_curvature(at: Derivatives) -> np.ndarray | None:
    """Newton's step with the sizes of the curvatures of the weakly determined groups; None where others are concave.

    These curvatures are what is left when the strongly determined groups follow, relative to those of the bound.
    """
    strong, weak = np.flatnonzero(at.strong), np.flatnonzero(~at.strong)
    H, slope = at.hessian, at.slope
    if not len(weak):
        return None
    factor, failed = dpotrf(np.asfortranarray(H[np.ix_(strong, strong)]), lower=1, overwrite_a=1)
    if failed:
        return None
    cross = H[np.ix_(strong, weak)] + H[np.ix_(weak, strong)].T  # one of the two lies above the diagonal, where 0 is
    solved = cho_solve((factor, True), np.column_stack([cross, slope[strong]]))
    scale = 1 / np.sqrt(at.bound[weak])
    curvature, V = eigh((H[np.ix_(weak, weak)] - cross.T @ solved[:, :-1]) * np.outer(scale, scale))
    left = V.T @ (scale * (slope[weak] - cross.T @ solved[:, -1]))
    step = np.empty(len(H))
    step[weak] = -scale * (V @ (left / np.maximum(np.abs(curvature), FLAT)))
    step[strong] = -solved[:, -1] - solved[:, :-1] @ step[weak]
    return step


def _searched(fit: GroupFit, step: np.ndarray, at: Derivatives) -> GroupFit | None:
    """The model after a step, or half of it, and so on, until L falls; None where only rounding would fall."""
    length = 1.0
    fall = min(0.0, float(at.slope @ np.clip(step, -1, 3)))
    for _ in range(HALVINGS):
        moved = np.where(at.strong, np.exp(np.clip(length * step, -3, 3)), np.clip(1 + length * step, 0, 20))
        kept = at.strong | (moved > GONE)
        G = fit.G if kept.all() else None
        found = GroupFit(fit.problem, fit.groups[kept], (fit.gamma * moved)[kept], fit.noise, G)
        rounding = 1e-13 * abs(fit.log_evidence)
        if found.log_evidence >= fit.log_evidence - 0.5 * 1e-4 * length * fall - rounding:
            return found
        length /= 2
    return None
