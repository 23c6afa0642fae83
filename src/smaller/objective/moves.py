"""Problems that boosted lasso can walk on: a loss, a penalty, and moves of one parameter by one step up or down.

Every parameter is a whole number of steps, so that what returns to zero is exactly zero. The intercept is no parameter:
it is free, and stands at its optimum before every move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from .. import _core
from ..design import Design, as_design
from ..likelihoods import Gaussian, Multinomial

SETTLED = 1e-11  # gradient of an intercept that counts as fitted
SHUT = 0.02  # a gate this near its end moves no further: steps back would not lower the objective one by one
MARGIN = 0.25  # of its size is taken off the tangent of a gate; on real paths it is seldom too high by a tenth
# Gates that are tried with a weight, weights that are tried with each, and centres beside those in use to choose from.
OPENED, STEEPEST, TRIED = 4, 8, 64
FOLLOWED = 6  # steps of weights after one of these gates
# Moves that lower the objective only together, with the gains of loss and penalty.
Escape = tuple[list[tuple[int, int]], float, float]


class WeightMoves:
    """Weights of fixed columns: scores F = Phi W + b, loss -log p(Y | F), penalty the sum of a cost of each weight.

    Parameters
    ----------
    design : Design
        With its intercept, which is not penalised, or without one.
    Y : ndarray of shape (n, k)
    likelihood : Multinomial or Gaussian of noise 1
    step : float
        Coordinate ``l * d + j`` is the weight of column j in score l, a multiple of this.
    weight : ndarray of shape (n,), optional
    offset : ndarray of shape (n, k), optional
        Added to the scores.
    cost : function, default=numpy.abs
        Penalty of an array of weights, element by element; even, 0 at 0 and rising from there.
    """

    def __init__(
        self,
        design: Design,
        Y: np.ndarray,
        likelihood: Multinomial | Gaussian,
        step: float,
        weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        cost: Callable[[np.ndarray], np.ndarray] = np.abs,
    ):
        self.design, self.likelihood, self.step, self.cost = design, likelihood, float(step), cost
        self.Y = np.asfortranarray(Y, dtype=np.float64)
        self.n, self.k = self.Y.shape
        self.s = np.ones(self.n) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        self.n_weights = design.d * self.k
        self.counts = np.zeros(self.n_weights, dtype=np.int64)
        self.b = np.zeros(self.k)
        self.base = np.zeros((self.n, self.k), order="F") if offset is None else np.array(offset, float, order="F")
        self.F = self.base.copy(order="F")
        self.columns, where = design.storage(np.arange(design.d))
        self.where = np.ascontiguousarray(where, dtype=np.int64)
        self.follows = design.intercept and design.centred  # whether a move takes the mean of its column along
        self._settle()

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.counts)

    @property
    def weights(self) -> np.ndarray:
        """The weights, (d, k)."""
        return self.step * self.counts[: self.n_weights].reshape(self.k, -1).T

    @property
    def penalty(self) -> float:
        """The penalty R at the present parameters."""
        return float(self.cost(self.step * self.counts).sum())

    def penalty_changes(self) -> np.ndarray:
        """The change of R by a step up (first row) or down of each coordinate, (2, size); NaN without a step."""
        values = self.step * (self.counts + np.array([[0], [1], [-1]]))
        here, up, down = self.cost(values)
        return np.stack([up - here, down - here])

    def loss_changes(self, coordinates: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
        """The change of the loss by a step up (first row) or down of some coordinates, the intercept following.

        Both are found at once, whichever is wanted.
        """
        klass, column = np.divmod(coordinates, self.design.d)
        up, down = np.empty((2, len(coordinates)))
        moves = _core.Moves(column=self.where[column], klass=klass, center=self.center[klass, column], step=self.step)
        state = _core.State(P=self.P, Q=self.Q, Y=self.Y, s=self.s, family=self.likelihood.family)
        _core.weight_moves(*self.columns, moves, state, up, down)
        return np.stack([up, down])

    def loss_estimates(self) -> np.ndarray:
        """Lower bounds of all loss changes, (2, size): the loss is convex in a weight, so its tangent is one."""
        slope = self.step * self.gradient().T.ravel()
        return np.stack([slope, -slope])

    def gradient(self) -> np.ndarray:
        """The gradient of the loss in the weights, (d, k)."""
        return self.pulled[:, : self.k]

    def commit(self, coordinate: int, sign: int) -> None:
        """Move one parameter by one step."""
        klass, column = divmod(coordinate, self.design.d)
        self.counts[coordinate] += sign
        self.b[klass] -= sign * self.step * self.center[klass, column]
        self._rescore()
        self._settle()

    def _rescore(self) -> None:
        """Scores from the weights alone: of columns added one by one, rounding would add up as well."""
        W = self.weights
        used = np.flatnonzero(W.any(axis=1))
        self.F = np.asfortranarray(self.base + self.b + self.design.take(used) @ W[used])

    def escapes(self) -> list[Escape]:
        """Moves of several parameters that lower the objective where no single one does; here there are none."""
        return []

    def _settle(self) -> None:
        """The intercept at its optimum, and what follows from the scores."""
        if self.design.intercept:
            _core.settle_intercepts(self._samples(), self.b, self.F, SETTLED)
        self._look()

    def _samples(self) -> Any:
        """The samples as the compiled kernels take them; the offset is part of the scores."""
        return _core.Samples(
            Y=self.Y, s=self.s, offset=None, family=self.likelihood.family, intercept=self.design.intercept,
            measure=float(self.s.sum()), negligible=0.0,
        )  # fmt: skip

    def _look(self) -> None:
        """Means, their complements and the loss, at the present scores."""
        self.P, U, self.loss = self.likelihood.fit(self.F, self.Y, self.s)
        self.Q = complements(self.F, self.P)
        self.R = self.s[:, None] * U
        gaussian = isinstance(self.likelihood, Gaussian)
        omega = self.s[:, None] * (np.ones_like(self.P) if gaussian else self.P * self.Q)
        self.pulled = self._pull(np.hstack([self.R, omega]))
        self.center = np.zeros((self.k, self.design.d))
        if self.follows:
            # Offsets of a million may leave no curvature at all: then the intercept follows nothing.
            total = np.maximum(omega.sum(axis=0), np.finfo(float).tiny)
            self.center = (self.pulled[:, self.k :] / total).T

    def _pull(self, values: np.ndarray) -> np.ndarray:
        """Slopes and curvature-weighted sums of all columns, in one pass over them."""
        return self.design.pull(values)[: self.design.d]


def complements(F: np.ndarray, P: np.ndarray) -> np.ndarray:
    """1 - P without loss of digits, where P are probabilities."""
    if P.shape[1] == 1:
        return np.asfortranarray(expit(-F))
    Q = 1 - P
    for row, column in np.argwhere(P > 0.9):  # only here does the difference lose digits; there is one in a row
        Q[row, column] = max(Q[row, column], np.delete(P[row], column).sum())
    return Q


class GatedMoves(WeightMoves):
    """Weights of an RBF kernel and gates of its inputs (Lapedriza et al. 2008, eqs. 7-11).

    ``F = K W + b``, ``K_ic = exp(-gamma sum_j g_j^2 (x_ij - c_cj)^2)``, ``g = 1 / (1 + exp(-steepness v))``, penalty
    ``sum |W| + sum g``. Coordinates are the weights, then v, which starts at 0: gates half open. (Shut gates make the
    kernel constant, and nothing could move.)

    Parameters
    ----------
    X, C : ndarray of shape (n, p) and (m, p)
        Inputs and centres.
    gamma, steepness : float
    Y, likelihood, step, weight, offset
        As in :class:`WeightMoves`.
    intercept : bool, default=True
    """

    _used: list[np.ndarray] | None

    def __init__(self, X, C, gamma, steepness, Y, likelihood, step, weight=None, offset=None, intercept=True):
        self.X, self.C = np.asfortranarray(X, dtype=np.float64), np.asfortranarray(C, dtype=np.float64)
        self.gamma, self.steepness = float(gamma), float(steepness)
        self.S = np.asfortranarray(0.25 * cdist(self.X, self.C, "sqeuclidean"))
        self.K = np.exp(-self.gamma * self.S)
        super().__init__(as_design(self.K, intercept), Y, likelihood, step, weight, offset)
        self.counts = np.zeros(self.n_weights + self.X.shape[1], dtype=np.int64)
        self._known_gates: np.ndarray | None = None
        self._squares = self.X**2

    @property
    def v(self) -> np.ndarray:
        """Parameters of the gates, (p,)."""
        return self.step * self.counts[self.n_weights :]

    def _gates(self, shift: int = 0) -> np.ndarray:
        """g, eq. (8), all gates moved by -1, 0 or 1 steps; kept until a gate moves."""
        if self._known_gates is None:
            counts = self.counts[self.n_weights :] + np.array([[0], [1], [-1]])
            self._known_gates = expit(self.steepness * self.step * counts)
        return self._known_gates[shift]

    @property
    def penalty(self) -> float:
        """sum |W| + sum g, eq. (11)."""
        return float(np.abs(self.weights).sum() + self._gates().sum())

    def penalty_changes(self) -> np.ndarray:
        weights = np.abs(self.counts[: self.n_weights] + np.array([[0], [1], [-1]]))
        weights = self.step * (weights[1:] - weights[0])
        moves = (1, -1)
        gates = [np.where(self._may_move(sign), self._gates(sign) - self._gates(), np.nan) for sign in moves]
        return np.hstack([weights, gates])

    def loss_changes(self, coordinates: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
        """As with fixed columns; steps of gates only where wanted, (2, number of coordinates), the others are NaN."""
        found = np.empty((2, len(coordinates)))
        weights = coordinates < self.n_weights
        if weights.any():
            found[:, weights] = super().loss_changes(coordinates[weights])
        if not weights.all():
            where = None if wanted is None else wanted[:, ~weights]
            found[:, ~weights] = self._gate_changes(coordinates[~weights] - self.n_weights, where)
        return found

    def _gate_changes(self, inputs: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
        """The change of the loss by a step of some gates, (2, g); NaN where there is no step or none is wanted."""
        found = np.full((2, len(inputs)), np.nan)
        for row, sign in enumerate((1, -1)):
            here = self._may_move(sign)[inputs]
            here = np.flatnonzero(here if wanted is None else here & wanted[row])
            if len(here):
                at = inputs[here]
                found[row, here] = self._losses_with(at, self._gates(sign)[at] ** 2) - self.loss
        return found

    def _may_move(self, sign: int) -> np.ndarray:
        """Whether each gate has a step up or down; shut and open ones go no further."""
        return self._gates() <= 1 - SHUT if sign > 0 else self._gates() >= SHUT

    def _losses_with(self, inputs: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Losses with other squares of gates, one at a time; only the columns that have a weight are computed."""
        W, C, K = self._in_use()
        losses = np.full(len(inputs), self.loss)
        if len(W):
            rates = self.gamma * (squares - self._gates()[inputs] ** 2)
            gates = _core.Gates(X=self.X, C=C, K=K, W=W, base=self.base + self.b)
            _core.gate_moves(gates, self._samples(), inputs, rates, losses)
        return losses

    def _in_use(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights, centres and columns of the kernel where a weight is not 0; kept until something moves."""
        if self._used is None:
            W = self.weights
            used = np.flatnonzero(W.any(axis=1))
            self._used = [np.asfortranarray(part) for part in (W[used], self.C[used], self.K[:, used])]
        return self._used[0], self._used[1], self._used[2]

    def _look(self) -> None:
        self._used = None
        super()._look()

    def _pull(self, values: np.ndarray) -> np.ndarray:
        # One by one: BLAS is slower at a matrix times two or three columns together.
        return np.column_stack([self.K.T @ column for column in values.T])

    def gate_gradient(self) -> np.ndarray:
        """The gradient of the loss in the squares of the gates, (p,): -gamma sum_ic R_ic W_c K_ic (x_ij - c_cj)^2."""
        W, C, K = self._in_use()
        M = self.R @ W.T * K
        return -self.gamma * (
            M.sum(axis=1) @ self._squares + M.sum(axis=0) @ C**2 - 2 * np.einsum("ij,ij->j", self.X, M @ C)
        )

    def gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """The gradients of the loss in the weights, (d, k), and in v, (p,)."""
        g = self._gates()
        return self.gradient(), self.gate_gradient() * 2 * g * self.steepness * g * (1 - g)

    def loss_estimates(self) -> np.ndarray:
        """Lower bounds for the weights; for the gates tangents in g^2, lowered, since the loss need not be convex."""
        here, slope = self._gates() ** 2, self.gate_gradient()
        gates = np.stack([slope * (self._gates(sign) ** 2 - here) for sign in (1, -1)])
        return np.hstack([super().loss_estimates(), gates - MARGIN * np.abs(gates)])

    def escapes(self) -> list[Escape]:
        """A shut gate half opened together with steps of weights; each with its changes of loss and penalty.

        Alone, either may change nothing or for the worse. Without weights the gates do not matter, and the kernel of
        shut gates is constant; and weights that suit a kernel do not suit a narrower one, which a single step seldom
        makes up for: the gate that a step gains most by is followed further.
        """
        shut = np.flatnonzero(self._gates() < SHUT)
        m, used = self.design.d, np.flatnonzero(self.weights.any(axis=1))
        if not len(used):
            return [escape for j in shut for escape in next(self._openings(int(j), np.arange(m)))]
        losses = self._losses_with(shut, np.full(len(shut), 0.25)) - self.loss
        order = np.argsort(losses, kind="stable")[:OPENED]
        columns = np.union1d(used, np.arange(0, m, max(1, m // TRIED)))
        openings = [self._openings(int(j), columns) for j in shut[order]]
        found = [next(rounds) for rounds in openings]
        if found:
            gains = [
                loss - min(change for _, change, _ in tried) for loss, tried in zip(losses[order], found, strict=True)
            ]
            found += islice(openings[int(np.argmax(gains))], FOLLOWED - 1)
        return [escape for tried in found for escape in tried]

    def _openings(self, j: int, columns: np.ndarray) -> Iterator[list[Escape]]:
        """Gate j half open with a step of one of the weights that are then steepest; two steps; and so on."""
        here, gate, d = self._gates()[j], self.n_weights + j, self.design.d
        S, K = np.asfortranarray(self.S[:, columns]), np.empty((self.n, len(columns)), order="F")
        _core.regate(S, K, self.X[:, j], self.C[columns, j], float(0.25 - here**2), self.gamma)
        scores = self.base + K @ self.weights[columns]
        opened = WeightMoves(as_design(K, self.design.intercept), self.Y, self.likelihood, self.step, self.s, scores)
        coordinates = (np.arange(self.k)[:, None] * d + columns).ravel()
        steps, penalty = [(gate, 1)] * int(-self.counts[gate]), float(0.5 - here)
        while True:
            at = np.sort(np.argsort(-np.abs(opened.gradient().T.ravel()), kind="stable")[:STEEPEST])
            losses = opened.loss_changes(at) + opened.loss - self.loss
            counts = self.counts[coordinates[at]] + opened.counts[at]
            penalties = penalty + self.step * (np.abs(counts + np.array([[1], [-1]])) - np.abs(counts))
            moves = [(row, i, (int(coordinates[at[i]]), 1 - 2 * row)) for row in (0, 1) for i in range(len(at))]
            yield [([*steps, move], float(losses[row, i]), float(penalties[row, i])) for row, i, move in moves]
            row, i, move = moves[int(losses.argmin())]
            steps, penalty = [*steps, move], float(penalties[row, i])
            opened.commit(int(at[i]), move[1])

    def commit(self, coordinate: int, sign: int) -> None:
        if coordinate < self.n_weights:
            return super().commit(coordinate, sign)
        j = coordinate - self.n_weights
        old = self._gates()[j] ** 2
        self.counts[coordinate] += sign
        self._known_gates = None
        self._regate(j, self._gates()[j] ** 2 - old)
        self._rescore()
        return self._settle()

    def _regate(self, j: int, change: float) -> None:
        """Distances and kernel after the square of gate j has changed."""
        _core.regate(self.S, self.K, self.X[:, j], self.C[:, j], float(change), self.gamma)
