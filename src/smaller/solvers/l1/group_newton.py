"""Proximal Newton with groups of columns, in Python: for problems that the compiled solver does not take."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Status
from ...objective.posterior import Point, Posterior
from ..smooth import confirm, settle
from ..solution import History, Solution
from .block_quadratic import BlockModel, block_minimum

ROOM = 64  # rows that a working set may take in, besides as many as it has
FORCING = 0.01  # of the violation: how exactly the model of a step is minimised
HALVINGS = 30
ROUNDING = 1e-14  # relative changes of the objective below this mean nothing
REFUTED = 3  # times that fresh scores contradict the certificate: rounding puts the tolerance out of reach


def group_newton(objective: Posterior, W: np.ndarray, tol: float, max_iter: int, F=None) -> Solution:
    """Minimise to a relative duality gap of tol: Newton steps on the rows of W that are not 0 or violate most."""
    history, missed, refuted = History(objective), Status.MAX_ITER, 0
    point = settle(objective, W, tol, F)
    for iteration in range(max_iter + 1):
        history.note(point)
        if point.gap <= tol:
            point, refuted = confirm(objective, point, tol), refuted + 1
            if point.gap <= tol or refuted == REFUTED:
                missed = Status.STALLED
                break
        if iteration == max_iter:
            break
        moved = _step(objective, point)
        if moved is None:
            missed = Status.STALLED
            break
        point = settle(objective, moved, tol)
    return history.solution(confirm(objective, point, tol), tol, iteration, missed)


def _step(objective: Any, point: Point) -> np.ndarray | None:
    """The weights after one Newton step, shortened until the objective falls; None where nothing is gained."""
    rows = _working_rows(objective, point)
    active = np.zeros(objective.shape, dtype=bool)
    active[rows] = True
    unit = np.ones(objective.shape[0])
    unit[: objective.design.d] = objective.blocks.unit
    model, order = _model(objective, point, rows, active, unit)
    D = np.zeros(objective.shape)
    D.T[active.T] = (block_minimum(model, FORCING * point.violation) - model.w) / unit[rows][order]
    G = objective.slopes(point.G)
    smooth = float((G * D).sum()) - float((objective.l2 * point.W * D).sum())
    for length in 0.5 ** np.arange(HALVINGS):
        W = point.W + length * D
        if length == 1.0:
            W[active & (point.W + D == 0)] = 0.0
        promised = length * smooth + objective.penalty(W) - objective.penalty(point.W)
        if not promised < -ROUNDING * abs(point.value):  # the gain may be hidden: then the gradient must fall
            return W if objective.violation(W) < 0.5 * point.violation else None
        if objective.value(W) <= point.value + 1e-4 * promised:
            return W
    return None


def _working_rows(objective: Any, point: Point) -> np.ndarray:
    """Rows that are not 0, without a penalty that makes zeros, or worst of the violating; of a group all rows."""
    blocks, d = objective.blocks, objective.design.d
    used = point.W.any(axis=1) | (objective.ungrouped & (objective.l1 == 0).any(axis=1))
    worst = np.where(used, 0.0, point.residuals.max(axis=1))
    room = max(ROOM, int(np.count_nonzero(used)))
    entering = np.flatnonzero(worst > 0)
    if len(entering) > room:
        entering = entering[np.argpartition(worst[entering], -room)[-room:]]
    used[entering] = True
    labels = np.append(blocks.labels, np.full(len(used) - d, -1))
    return np.flatnonzero(used | np.isin(labels, np.setdiff1d(labels[used], [-1])))


def _model(objective: Any, point: Point, rows: np.ndarray, active: np.ndarray, unit: np.ndarray):
    """The quadratic model in the weights of these rows, class by class, in the units of the norms."""
    k, blocks = objective.k, objective.blocks
    order = np.tile(np.arange(len(rows)), k)
    u = unit[rows][order]
    H = objective.hessian_on(point.P, active) / np.outer(u, u)
    H.flat[:: len(H) + 1] += 1e-12 * np.abs(np.diag(H)).max()
    columns = [each[rows].T.ravel() for each in (objective.slopes(point.G), point.W, objective.l1, objective.scale)]
    g, w, l1, scale = columns
    labels = np.append(blocks.labels, np.full(len(unit) - len(blocks.labels), -1))[rows][order]
    parts = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    tau = [blocks.tau[labels[where[0]]] for where in parts]
    alone = np.flatnonzero(labels < 0)[:, None]
    places, strengths = [*parts, *alone], np.append(tau, np.zeros(len(alone)))
    measured = np.array([scale[where[0]] for where in places])
    return BlockModel(H, g / u, w * u, l1 / u, places, strengths, measured), order
