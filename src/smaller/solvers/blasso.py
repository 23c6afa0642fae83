"""Boosted lasso: the regularisation path walked in small steps, forward and backward (Zhao & Yu 2007).

Of its problem it asks only for the changes of loss and penalty that moving one parameter by one step would make; see
:mod:`smaller.moves`. Every point of the path is kept, as the moves that led there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..errors import Status

TIE = 1e-10  # relative: moves that differ by less are equal, and the first of them is taken
ROUNDING = 1e-13  # relative gains of the loss below this are rounding
ESCAPE_EVERY = 0.6  # escapes are tried when the strength has fallen to this fraction
FIRST_BATCH = 16  # candidates of a shortlist evaluated at once, doubled each time


class Moves(Protocol):
    """Methods of a problem to walk on; changes are arrays (2, size), a step up in the first row, down in the second.

    Those of the loss may be NaN outside a mask of the same shape.
    """

    step: float
    loss: float
    counts: np.ndarray
    b: np.ndarray

    @property
    def size(self) -> int: ...

    @property
    def penalty(self) -> float: ...

    def penalty_changes(self) -> np.ndarray: ...

    def loss_changes(self, coordinates: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray: ...

    def loss_estimates(self) -> np.ndarray: ...

    def escapes(self) -> list[tuple[list[tuple[int, int]], float, float]]: ...

    def commit(self, coordinate: int, sign: int) -> None: ...


@dataclass(frozen=True)
class BoostedPath:
    """All points of a walk: the start, and one after each of T moves.

    Attributes
    ----------
    lams : ndarray of shape (T + 1,)
        Strength that a point belongs to; infinite at the start, never rising.
    losses, penalties : ndarray of shape (T + 1,)
    intercepts : ndarray of shape (T + 1, k)
    coordinates : ndarray of shape (T,)
        The parameter that each move changed.
    signs : ndarray of shape (T,)
        1 for a step up, -1 for a step down.
    step : float
    size : int
        The number of parameters.
    """

    lams: np.ndarray
    losses: np.ndarray
    penalties: np.ndarray
    intercepts: np.ndarray
    coordinates: np.ndarray
    signs: np.ndarray
    step: float
    size: int

    def __len__(self) -> int:
        return len(self.lams)

    def parameters(self, point: int) -> np.ndarray:
        """All parameters at a point, (size,)."""
        counts = np.bincount(self.coordinates[:point], weights=self.signs[:point], minlength=self.size)
        return self.step * counts

    def point_at(self, lam: float) -> int:
        """The last point whose strength is at least this."""
        return int(np.searchsorted(-self.lams, -lam, side="right")) - 1

    @property
    def ends(self) -> np.ndarray:
        """The last point of each strength, the start left out."""
        last = np.flatnonzero(np.append(self.lams[1:] != self.lams[:-1], True))
        return last[last > 0]


class _Move(NamedTuple):
    steps: list[tuple[int, int]]  # coordinate and sign of one move, or of a few that lower the objective only together
    loss_change: float
    penalty_change: float


class _Search:
    """The best move by some cost, from the problem as it stands."""

    def __init__(self, problem: Moves, shortlist: bool):
        self.problem, size = problem, problem.size
        self.penalty_changes = problem.penalty_changes()
        self.losses = np.full((2, size), np.nan)
        self.known = np.zeros((2, size), dtype=bool)
        if shortlist:
            self.estimates = problem.loss_estimates()
        else:
            self.losses[:], self.known[:] = problem.loss_changes(np.arange(size)), True

    def _evaluate(self, candidates: np.ndarray) -> None:
        """Fill in the changes of some moves, positions in the flattened arrays, and those found beside them."""
        wanted = np.zeros_like(self.known)
        wanted.ravel()[candidates] = True
        coordinates = np.flatnonzero(wanted.any(axis=0))
        wanted = wanted[:, coordinates]
        found = self.problem.loss_changes(coordinates, wanted)
        known = wanted | np.isfinite(found)
        self.losses[:, coordinates] = np.where(known, found, self.losses[:, coordinates])
        self.known[:, coordinates] |= known

    def least(self, lam: float, allowed: np.ndarray) -> _Move | None:
        """The allowed move with the least change of loss + lam penalty; candidates in the order that bounds suggest."""
        allowed = allowed & np.isfinite(self.penalty_changes)
        if not allowed.any():
            return None
        if not self.known[allowed].all():
            self._look_up(lam, allowed)
        costs = self._costs(lam, allowed & self.known)
        best = costs.min()
        row, at = np.unravel_index(int(np.argmax(costs <= best + _margin(best))), costs.shape)
        step = (int(at), 1 if row == 0 else -1)
        return _Move([step], float(self.losses[row, at]), float(self.penalty_changes[row, at]))

    def _look_up(self, lam: float, allowed: np.ndarray) -> None:
        """Evaluate until no candidate left can be better than the best seen."""
        best = self._costs(lam, allowed & self.known).min()
        bounds = np.where(allowed & ~self.known, self.estimates + lam * self.penalty_changes, np.inf).ravel()
        order = np.flatnonzero(bounds <= best + _margin(best))
        order = order[np.argsort(bounds[order], kind="stable")]
        batch, first = FIRST_BATCH, 0
        while first < len(order) and bounds[order[first]] <= best + _margin(best):
            part = order[first : first + batch]
            self._evaluate(part[~self.known.ravel()[part]])
            here = self.losses.ravel()[part] + lam * self.penalty_changes.ravel()[part]
            best = min(best, here.min())
            first, batch = first + batch, 2 * batch

    def _costs(self, lam: float, where: np.ndarray) -> np.ndarray:
        return np.where(where, self.losses + lam * self.penalty_changes, np.inf)


def _margin(cost: float) -> float:
    return TIE * (1.0 + abs(cost)) if np.isfinite(cost) else 0.0


def blasso(
    problem: Moves,
    tol: float = 1e-5,
    max_iter: int = 10_000,
    end: float = 0.0,
    ratio: float = 0.0,
    general: bool = False,
    shortlist: bool = False,
) -> tuple[BoostedPath, Status]:
    """Walk from the start until the strength falls below `end`, or `ratio` of its first value, or no move is left.

    A backward step, the move that lowers the penalty at the least loss, is taken at the present strength where it
    lowers loss + lam penalty by more than tol. Otherwise the move with the least loss is taken, and the strength falls
    to the loss it gained per penalty. With `general`, for penalties other than L1, *any* move that improves at
    the present strength is taken first, the best one: else the path would not converge. With `shortlist`, only moves
    whose `loss_estimates` promise enough are evaluated; where these are lower bounds the path is the same.
    """
    record, lam, status = _Record(problem), np.inf, Status.UNFINISHED
    tol = max(tol, ROUNDING * (1.0 + problem.loss))  # a step forward and back must not count as a gain
    looked = np.inf  # the strength at which escapes were last tried
    for _ in range(max_iter):
        search = _Search(problem, shortlist)
        move = _improving(search, lam, tol, general)
        if move is None:
            first, allowance = np.isinf(lam), 0.0 if general or np.isinf(lam) else tol
            move = _forward(search, tol)
            if not first and _pays(move, lam, allowance) < ESCAPE_EVERY * looked:
                looked = lam
                move = _escape(problem, move, tol)
            lam = _pays(move, lam, allowance)
            end = max(end, ratio * lam) if first else end
            if move is None or lam <= 0 or lam < end:
                status = Status.CONVERGED
                break
        for step in move.steps:
            problem.commit(*step)
            record.note(*step, lam)
    return record.path(), status


def _improving(search: _Search, lam: float, tol: float, general: bool) -> _Move | None:
    """The move that lowers loss + lam penalty most, if by more than tol; unless `general`, among those backward."""
    if np.isinf(lam):
        return None
    backward = search.penalty_changes < 0
    move = search.least(lam, np.ones_like(backward) if general else backward)
    return move if move and move.loss_change + lam * move.penalty_change < -tol else None


def _forward(search: _Search, tol: float) -> _Move | None:
    """The move that raises the penalty and lowers the loss most, if by more than tol."""
    move = search.least(0.0, search.penalty_changes > 0)
    return move if move and move.loss_change < -tol else None


def _escape(problem: Moves, move: _Move | None, tol: float) -> _Move | None:
    """The escape that gains most per penalty, if that is more than the move gains."""
    escapes = [_Move(*escape) for escape in problem.escapes()]
    rates = [_pays(e, np.inf, 0.0) if e.loss_change < -tol and e.penalty_change > 0 else 0.0 for e in escapes]
    best = max(rates, default=0.0)
    if best <= (_pays(move, np.inf, 0.0) if move else 0.0):
        return move
    return next(e for e, rate in zip(escapes, rates, strict=True) if rate >= best - _margin(best))


def _pays(move: _Move | None, lam: float, tol: float) -> float:
    """The largest strength, at most lam, at which a move lowers the penalised loss."""
    return min(lam, -(move.loss_change + tol) / move.penalty_change) if move else 0.0


class _Record:
    """The points and moves of a walk, collected."""

    def __init__(self, problem: Moves):
        self.problem = problem
        self.points: list[tuple[float, float, float, np.ndarray]] = []
        self.steps: list[tuple[int, int]] = []
        self._add(np.inf)

    def _add(self, lam: float) -> None:
        self.points.append((lam, self.problem.loss, self.problem.penalty, self.problem.b.copy()))

    def note(self, coordinate: int, sign: int, lam: float) -> None:
        self.steps.append((coordinate, sign))
        self._add(lam)

    def path(self) -> BoostedPath:
        lams, losses, penalties, intercepts = (np.array(part) for part in zip(*self.points, strict=True))
        coordinates, signs = np.array(self.steps, dtype=np.int64).reshape(-1, 2).T.copy()
        step, size = self.problem.step, self.problem.size
        return BoostedPath(lams, losses, penalties, intercepts, coordinates, signs, step, size)
