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
from scipy.linalg.lapack import dposv, dpotrf, dpotri

from .grouped import GroupFit

DETERMINED = 0.3  # a group whose weights the data determine so far is moved in the logarithm of its variance
GONE = 1e-3  # of its variance: a group whose step leaves no more than this is dropped
CONVEX = 1e-10  # of the bound's curvature, which is added to a Hessian that is positive definite without it
SHIFTS = 0.01, 3.0  # the first multiple of the bound's curvature that makes the Hessian positive, and its growth
HALVINGS = 6  # of a step that raises L, before the Hessian is shifted further
LARGEST_SHIFT = 1e4  # at which a step is that of the reweighting rule, and small
PIVOTS = 10  # sets of variances that are held at 0 in one step
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
    step = _newton_step(at, CONVEX, bold)
    if step is not None:
        yield step
    shift = SHIFTS[0]
    while shift < LARGEST_SHIFT:
        step = _newton_step(at, shift)
        if step is not None:
            yield step
        shift *= SHIFTS[1] if step is None else SHIFTS[1] ** 2


def _newton_step(at: Derivatives, shift: float, bold: bool = False) -> np.ndarray | None:
    """The least of slope.d + d H d / 2 with shift diag(bound) in H and no variance below 0; None where it has none.

    It is found for the weakly determined groups as the strongly determined ones follow them. Where only the latter are
    convex, a bold step takes the sizes of the curvatures of the former.
    """
    H, strong, weak = at.hessian, np.flatnonzero(at.strong), np.flatnonzero(~at.strong)
    cross = H[np.ix_(strong, weak)] + H[np.ix_(weak, strong)].T  # one of the two lies above the diagonal, where 0 is
    follow = _solved(_shifted(at, shift, strong), np.column_stack([cross, at.slope[strong]]))
    if follow is None:
        return None
    left = _convex(_shifted(at, shift, weak) - cross.T @ follow[:, :-1], at.bound[weak], bold)
    if left is None:
        return None
    step = np.empty(len(H))
    step[weak] = _not_below_0(left, at.slope[weak] - cross.T @ follow[:, -1])
    step[strong] = -follow[:, -1] - follow[:, :-1] @ step[weak]
    return step


def _shifted(at: Derivatives, shift: float, groups: np.ndarray) -> np.ndarray:
    """The lower triangle of H + shift diag(bound) of some groups, in the order of LAPACK."""
    H = at.hessian[groups][:, groups]
    H.flat[:: len(H) + 1] += shift * at.bound[groups]
    return H


def _solved(lower: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Of a matrix that is given by its lower triangle; None where it is not positive definite."""
    if not len(lower):
        return right
    factor, failed = dpotrf(lower, lower=1, overwrite_a=1)
    return None if failed else cho_solve((factor, True), right)


def _convex(lower: np.ndarray, bound: np.ndarray, bold: bool) -> np.ndarray | None:
    """A matrix from its lower triangle, if it is positive definite; a bold one with the sizes of its curvatures."""
    whole = np.tril(lower) + np.tril(lower, -1).T
    if not len(whole) or not dpotrf(whole, lower=1)[1]:
        return whole
    if not bold:
        return None
    root = np.sqrt(bound)
    curvature, V = eigh(whole / np.outer(root, root))
    V = root[:, None] * V
    return (V * np.maximum(np.abs(curvature), FLAT)) @ V.T


def _not_below_0(H: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The least of slope.d + d H d / 2 where no d, a relative change, is below -1, by block pivoting.

    All that fall below are held there together, and all that this raises are set free together.
    """
    step, held = np.empty(len(H)), np.zeros(len(H), dtype=bool)
    for _ in range(PIVOTS):
        free = np.flatnonzero(~held)
        step[held] = -1.0
        if len(free):
            step[free] = -dposv(H[np.ix_(free, free)], slope[free] - H[np.ix_(free, held)].sum(axis=1), lower=1)[1]
        low, back = step < -1, held & (slope + H @ step < 0)
        if not (low.any() or back.any()):
            break
        held = (held | low) & ~back
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
