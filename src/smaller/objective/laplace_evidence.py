"""The evidence of class labels, whose weights are integrated out by Laplace's approximation."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert, qr, solve_triangular

from .._core.reference_sums import softmax_fit
from ..design import Design
from .evidence import LOG_2PI, Quality, inverse
from .weighted_columns import Columns

NEWTON = 100  # most steps to a mode; a few are enough as a rule
PARTS = 20  # lengths of a Newton step that are tried
LOST = 1e-14  # part of the negative log posterior that rounding hides

# Precision of the intercept's prior. Were it flat, separable classes would have evidence without bound: the intercepts
# that separate them spread with the weights.
BROAD = 1e-4

# Least precision of a weight: where offsets of a million leave no curvature, re-estimation would give 0.
LEAST = 1e-16


class Mode(NamedTuple):
    """The Laplace approximation of some weights, in the units of :class:`Columns`.

    A weight belongs to one column and one class; its position is column * outputs + class. The weights of the
    intercepts, along the contrasts of the classes, come last.
    """

    rows: np.ndarray  # positions of the weights in the model, (r,)
    alpha: np.ndarray  # their precisions, (r,)
    Phi: np.ndarray  # their columns, (n, r)
    v: np.ndarray  # the mode, (r + intercepts,)
    F: np.ndarray  # scores without the offset, (n, outputs)
    P: np.ndarray  # probabilities, (n, m), or (n, 1) of the second of two classes
    joint: np.ndarray  # covariance, (r + intercepts, r + intercepts)
    log_evidence: float
    slope: float  # of the log posterior at the mode, what Newton's method left
    reached: bool  # whether this is the mode up to rounding, so that the evidence is one

    @property
    def mean(self) -> np.ndarray:
        """The mode of the weights without the intercepts, (r, 1)."""
        return self.v[: len(self.rows), None]

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the weights without the intercepts, (r, r)."""
        return self.joint[: len(self.rows), : len(self.rows)]

    @property
    def slopes(self) -> np.ndarray:
        """The gradient of the log evidence in the log precisions at fixed curvature: 0 at Tipping's fixed point."""
        return 0.5 * (1 - self.alpha * (self.covariance.diagonal() + self.mean[:, 0] ** 2))


class LaplaceEvidence:
    """log p(y | gamma) of class labels by Laplace's approximation at the mode of the weights (Tipping 2001, section 3).

    Two classes have one column of scores, their log odds. More have one each, and every column of the design has one
    weight, with its own precision, in each of them. The intercepts lie in the space orthogonal to equal shifts of all
    scores.

    Parameters
    ----------
    design : Design
    Y : ndarray of shape (n, m)
        Class indicators; of two classes only the second's, (n, 1).
    sample_weight : ndarray of shape (n,), optional
    offset : ndarray of shape (n, m) or (n, 1), optional
    """

    def __init__(self, design: Design, Y: np.ndarray, sample_weight=None, offset: np.ndarray | None = None):
        self.columns = Columns(design, sample_weight)
        self.s, self.Y = self.columns.s, Y
        self.outputs = Y.shape[1]
        self.contrast = np.ones((1, 1)) if self.outputs == 1 else helmert(self.outputs).T
        self.free = self.contrast.shape[1] if design.intercept else 0
        self.offset = np.zeros((1, self.outputs)) if offset is None else offset
        self.steps = 0  # of Newton's method, so far
        self.allowed = np.inf

    @property
    def spent(self) -> bool:
        """Whether the steps allowed are used up: offsets that leave curvature only at kinks take many to each mode."""
        return self.steps >= self.allowed

    def against_rest(self, c: int) -> LaplaceEvidence:
        """The problem of one class against all others, with the same columns."""
        machine = copy(self)
        machine.Y, machine.outputs, machine.contrast = self.Y[:, [c]], 1, np.ones((1, 1))
        machine.free, machine.offset = min(self.free, 1), self.offset[:, [c]]
        return machine

    @property
    def present(self) -> np.ndarray:
        """Positions of all weights that columns which are not constant may have."""
        columns = np.flatnonzero(np.isfinite(self.columns.unit))
        return (columns[:, None] * self.outputs + np.arange(self.outputs)).ravel()

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The columns of some weights, centred and scaled."""
        if self.outputs == 1:
            return self.columns.take(rows)
        columns, place = np.unique(rows // self.outputs, return_inverse=True)
        return np.asfortranarray(self.columns.take(columns)[:, place])

    def likelihood(self, F: np.ndarray) -> tuple[np.ndarray, float]:
        """Probabilities and the negative log-likelihood."""
        P, _, loss = softmax_fit(F + self.offset, self.Y, self.s, reference=self.outputs == 1)
        return P, loss

    def residual(self, P: np.ndarray) -> np.ndarray:
        """s (Y - P), (n, outputs)."""
        return self.s[:, None] * (self.Y - P)

    def mode(
        self, rows: np.ndarray, alpha: np.ndarray, Phi: np.ndarray, v: np.ndarray | None = None, tol: float = 1e-18
    ) -> Mode:
        """Newton's method from v, with the evidence at its end; Phi are the columns from :meth:`take`."""
        alpha = np.maximum(alpha, LEAST)
        penalty = self._penalty(alpha)
        v = np.zeros(len(penalty)) if v is None else v
        F = self._scores(rows, Phi, v)
        P, loss = self.likelihood(F)
        value = loss + 0.5 * float(penalty @ v**2)
        decrement, gained, reached = np.inf, np.inf, True
        for _ in range(NEWTON):
            self.steps += 1
            g = self._pulled(rows, Phi, self.residual(P)) - penalty * v
            H = self._curvature(rows, Phi, P)
            H.flat[:: len(H) + 1] += penalty
            joint, logdet = inverse(H, self.columns.design)
            step = joint @ g
            before, decrement = decrement, float(step @ g)
            lost = gained <= LOST * abs(value) and decrement > 0.5 * before  # in rounding: neither falls any more
            if decrement <= tol * (1 + abs(value)) or lost:
                break
            found = self._search(v, F, value, step, self._scores(rows, Phi, step), penalty, decrement)
            if found is None:
                break
            gained = value - found[-1]
            v, F, P, value = found
        else:
            reached = False
        F = self._scores(rows, Phi, v)  # scores from the weights alone, without the rounding of each step
        P, loss = self.likelihood(F)
        value = loss + 0.5 * float(penalty @ v**2)
        return Mode(rows, alpha, Phi, v, F, P, joint, self._evidence(value, alpha, logdet), decrement, reached)

    def refined(self, mode: Mode) -> Mode:
        """The same mode, its covariance and evidence by a QR decomposition, which squares no condition number."""
        A, classes = self._with_ones(mode.rows, mode.Phi)
        X = self._along(self._rooted(A, classes, mode.P), len(mode.rows))
        penalty = self._penalty(mode.alpha)
        (R,) = qr(np.vstack([X, np.diag(np.sqrt(penalty))]), mode="r", overwrite_a=True)
        R = R[: len(penalty)]
        half = solve_triangular(R, np.eye(len(R))) if len(R) else R
        logdet = 2 * float(np.log(np.abs(R.diagonal())).sum())
        value = self.likelihood(mode.F)[1] + 0.5 * float(penalty @ mode.v**2)
        return mode._replace(joint=half @ half.T, log_evidence=self._evidence(value, mode.alpha, logdet))

    def _penalty(self, alpha: np.ndarray) -> np.ndarray:
        """Precisions of the weights and of the intercepts."""
        return np.append(alpha, np.full(self.free, BROAD * len(self.contrast)))

    def _evidence(self, value: float, alpha: np.ndarray, logdet: float) -> float:
        return float(-value + 0.5 * (np.log(alpha).sum() + self.free * LOG_2PI - logdet))

    def _search(self, v, F, value, step, E, penalty, decrement):
        """The whole step, or a part of it where that is too long; None where rounding leaves none that goes downhill.

        The negative log posterior is convex along the step. A part is enough where the slope has lost a tenth: where
        offsets leave curvature only at kinks, the first part that goes downhill would pass one kink at a time.
        """
        low, falling, high, rising, length, found = 0.0, -decrement, 1.0, 0.0, 1.0, None
        for _ in range(PARTS):
            w, G = v + length * step, F + length * E
            P, loss = self.likelihood(G)
            lower = loss + 0.5 * float(penalty @ w**2)
            slope = float(penalty @ (w * step) - (self.residual(P) * E).sum())
            if lower <= value - 1e-4 * length * decrement + 1e-13 * abs(value):
                found = w, G, P, lower
                if length == 1.0 or slope >= -0.9 * decrement:
                    break
                low, falling = length, slope
            else:
                high, rising = length, max(0.0, slope)
            shortest, longest = (0.1, 0.9) if low else (1e-3, 0.1)  # the right part may be tiny
            length = low + (high - low) * min(max(falling / (falling - rising), shortest), longest)
        return found

    def _scores(self, rows: np.ndarray, Phi: np.ndarray, v: np.ndarray) -> np.ndarray:
        W = np.zeros((len(rows), self.outputs))
        W[np.arange(len(rows)), rows % self.outputs] = v[: len(rows)]
        F = Phi @ W
        return F + self.contrast @ v[len(rows) :] if self.free else F

    def _pulled(self, rows: np.ndarray, Phi: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Products of the weights' columns, and of the intercepts', with R (n, outputs)."""
        own = np.einsum("nr,nr->r", Phi, R[:, rows % self.outputs])
        return np.append(own, R.sum(axis=0) @ self.contrast) if self.free else own

    def _curvature(self, rows: np.ndarray, Phi: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Second derivatives of the negative log-likelihood in the weights and intercepts."""
        A, classes = self._with_ones(rows, Phi)
        X = self._along(self._rooted(A, classes, P), len(rows))
        return X.T @ X  # a Gram matrix has no negative eigenvalues, as a difference of two may have

    def _with_ones(self, rows: np.ndarray, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the weights and, with an intercept, one of ones for each output; and their outputs."""
        if not self.free:
            return Phi, rows % self.outputs
        ones = np.ones((len(Phi), self.outputs))
        return np.column_stack([Phi, ones]), np.append(rows % self.outputs, np.arange(self.outputs))

    def _along(self, H: np.ndarray, r: int) -> np.ndarray:
        """The last columns, of the intercepts of the outputs, taken along the contrasts."""
        return np.column_stack([H[:, :r], H[:, r:] @ self.contrast]) if self.free else H

    def outputs_covariance(self, mode: Mode) -> np.ndarray:
        """Covariance of the weights and of the intercepts of the outputs, (r + outputs, r + outputs)."""
        r = len(mode.rows)
        if not self.free:
            return mode.joint
        half = np.column_stack([mode.joint[:, :r], mode.joint[:, r:] @ self.contrast.T]).T
        return np.column_stack([half[:, :r], half[:, r:] @ self.contrast.T])

    def quality(self, mode: Mode) -> Quality:
        """S and Q of the weights of all columns at the mode, the curvature held, in the order of their positions."""
        m, d, P = self.outputs, self.columns.d, mode.P
        A, classes = self._with_ones(mode.rows, mode.Phi)
        sP = self.s[:, None] * P
        blocks = []
        for c in range(m):
            own = (classes == c) if m > 1 else np.ones(len(classes))
            blocks.append(sP[:, [c]] * (own - P[:, classes]) * A)
        pulled = self.columns.pull(np.column_stack([*blocks, self.residual(P)]))  # one pass over the columns
        width = A.shape[1]
        squares = self.columns.spread(sP * (1 - P))
        S, E = np.empty((d, m)), np.empty((d, m, len(mode.rows)))
        for c in range(m):
            T = self._along(pulled[:, c * width : (c + 1) * width], len(mode.rows))
            spanned = T @ mode.joint
            S[:, c] = squares[:, c] - (spanned * T).sum(axis=1)
            E[:, c] = spanned[:, : len(mode.rows)]
        return Quality(np.maximum(S.ravel(), 0.0), pulled[:, m * width :].reshape(-1, 1), E.reshape(d * m, -1))

    def frozen(self, mode: Mode, rows: np.ndarray, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Gaussian problem with unit noise that has the mode's curvature and residual: columns and products.

        The curvature of a sample is R R^T with R = (diag sqrt P - P sqrt P^T) sqrt s; a weight's column is R^T times
        its score. The intercepts are integrated out: a few more rows account for their priors.
        """
        A, classes = self._with_ones(rows, Phi)
        X = self._rooted(A, classes, mode.P)
        R = self.residual(mode.P) + self._curved(mode)
        C = self._pulled(rows, Phi, R)
        if not self.free:
            return X, np.asfortranarray(C[:, None])
        r = len(rows)
        Z = X[:, r:] @ self.contrast
        X = X[:, :r]
        precision = BROAD * len(self.contrast)
        cross = Z.T @ X
        explained = np.linalg.solve(Z.T @ Z + precision * np.eye(self.free), np.column_stack([cross, C[r:]]))
        X = np.vstack([X - Z @ explained[:, :r], np.sqrt(precision) * explained[:, :r]])
        return np.asfortranarray(X), np.asfortranarray((C[:r] - cross.T @ explained[:, r])[:, None])

    def _rooted(self, A: np.ndarray, classes: np.ndarray, P: np.ndarray) -> np.ndarray:
        """R^T times the scores of single columns, output by output, (n outputs, r)."""
        if self.outputs == 1:
            return np.asfortranarray(np.sqrt(self.s[:, None] * P * (1 - P)) * A)
        X = np.empty((self.outputs, len(A), A.shape[1]))
        drawn = P[:, classes] * A
        root = np.sqrt(self.s[:, None] * P)
        for c in range(self.outputs):
            X[c] = root[:, [c]] * (np.where(classes == c, A, 0.0) - drawn)
        return np.asfortranarray(X.reshape(self.outputs * len(A), A.shape[1]))

    def _curved(self, mode: Mode) -> np.ndarray:
        """The curvature times the scores of the mode, (n, outputs)."""
        P, F = mode.P, mode.F
        if self.outputs == 1:
            return self.s[:, None] * P * (1 - P) * F
        return self.s[:, None] * P * (F - (P * F).sum(axis=1, keepdims=True))
