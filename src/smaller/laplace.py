"""The evidence of class labels, whose weights are integrated out by Laplace's approximation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.special import logsumexp

from .design import Design
from .evidence import LOG_2PI, Columns, Quality, inverse

NEWTON = 100  # steps to a mode; a handful do

# Precision of the intercept's prior. Were it flat, separable classes would have evidence without bound: the intercepts
# that separate them spread with the weights.
BROAD = 1e-4


class Mode(NamedTuple):
    """The Laplace approximation of the weights of some columns, in the units of :class:`Columns`."""

    rows: np.ndarray
    alpha: np.ndarray  # (r,)
    Phi: np.ndarray  # their columns, and one of ones where there is an intercept, (n, q)
    V: np.ndarray  # (q, k): the mode, the intercept last
    F: np.ndarray  # scores, (n, k)
    P: np.ndarray  # probabilities, (n, m), or (n, 1) of the second of two classes
    joint: np.ndarray  # covariance, output by output, (k q, k q)
    log_evidence: float
    slope: float  # of the log posterior at the mode, what Newton's method left

    @property
    def mean(self) -> np.ndarray:
        """Of the weights without the intercept, (r, k)."""
        return self.V[: len(self.rows)]

    def block(self, j: int) -> np.ndarray:
        """Covariance of the k weights of column j of Phi."""
        q = self.Phi.shape[1]
        return self.joint[j::q, j::q]

    @property
    def covariance(self) -> np.ndarray:
        """Of the weights of a single output, (r, r)."""
        return self.joint[: len(self.rows), : len(self.rows)]


class LaplaceEvidence:
    """log p(y | gamma) of class labels by Laplace's approximation at the mode of the weights (Tipping 2001, section 3).

    Scores are Phi V C^T. Two classes have one column of scores, their log odds. More have C (m, m - 1) orthonormal and
    orthogonal to equal shifts of all scores: the prior is then the same for all classes, and none is special.

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
        self.contrast = np.ones((1, 1)) if Y.shape[1] == 1 else helmert(Y.shape[1]).T
        self.k = self.contrast.shape[1]
        self.offset = np.zeros((1, Y.shape[1])) if offset is None else offset

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Columns, centred and scaled."""
        return self.columns.take(rows)

    def _likelihood(self, F: np.ndarray) -> tuple[np.ndarray, float]:
        """Probabilities and the negative log-likelihood."""
        F = F @ self.contrast.T + self.offset
        if F.shape[1] == 1:
            tail = np.exp(-np.abs(F))
            P = np.where(F >= 0, 1.0, tail) / (1 + tail)
            return P, float(self.s @ (np.log1p(tail) + np.maximum(F, 0.0) - self.Y * F)[:, 0])
        top = logsumexp(F, axis=1, keepdims=True)
        return np.exp(F - top), float(self.s @ (top[:, 0] - (self.Y * F).sum(axis=1)))

    def residual(self, P: np.ndarray) -> np.ndarray:
        """s (Y - P) C, (n, k)."""
        return self.s[:, None] * ((self.Y - P) @ self.contrast)

    def curvature(self, P: np.ndarray) -> np.ndarray:
        """s C^T (diag P - P P^T) C of every sample, (n, k, k)."""
        if P.shape[1] == 1:
            return (self.s[:, None] * P * (1 - P))[:, :, None]
        inner = np.einsum("nc,cl,cr->nlr", P, self.contrast, self.contrast)
        centre = P @ self.contrast
        return self.s[:, None, None] * (inner - centre[:, :, None] * centre[:, None, :])

    def mode(
        self, rows: np.ndarray, alpha: np.ndarray, Phi: np.ndarray, V: np.ndarray | None = None, tol: float = 1e-18
    ) -> Mode:
        """Newton's method from V, with the evidence at its end; Phi are the columns from :meth:`take`."""
        n, free = len(self.s), int(self.columns.design.intercept)
        A = np.column_stack([Phi, np.ones(n)]) if free else Phi
        penalty = np.append(alpha, np.full(free, BROAD * len(self.contrast)))[:, None]
        V = np.zeros((len(penalty), self.k)) if V is None else V
        F = A @ V
        P, loss = self._likelihood(F)
        value = loss + 0.5 * float((penalty * V * V).sum())
        decrement = np.inf
        for _ in range(NEWTON):
            g = A.T @ self.residual(P) - penalty * V
            joint, logdet = inverse(self._precision(A, P, penalty), self.columns.design)
            step = (joint @ g.T.ravel()).reshape(self.k, -1).T
            decrement = float((step * g).sum())
            if decrement <= tol * (1 + abs(value)):
                break
            V, F, P, value = self._search(A, V, F, value, step, penalty, decrement)
        q = len(penalty)
        log_evidence = -value + 0.5 * (self.k * (np.log(alpha).sum() + free * LOG_2PI) - (logdet if q else 0.0))
        return Mode(rows, alpha, A, V, F, P, joint, float(log_evidence), decrement)

    def _search(self, A, V, F, value, step, penalty, decrement):
        """The first of ever shorter steps that lowers the negative log posterior."""
        E = A @ step
        for length in 0.5 ** np.arange(30):
            W = V + length * step
            P, loss = self._likelihood(F + length * E)
            lower = loss + 0.5 * float((penalty * W * W).sum())
            if lower <= value - 1e-4 * length * decrement + 1e-13 * abs(value):
                break
        return W, F + length * E, P, lower

    def _precision(self, A: np.ndarray, P: np.ndarray, penalty: np.ndarray) -> np.ndarray:
        B, q, k = self.curvature(P), A.shape[1], self.k
        if k == 1:
            H = A.T @ (B[:, 0] * A)
            H.flat[:: q + 1] += penalty[:, 0]
            return H
        H = np.empty((k, q, k, q))
        for left in range(k):
            for right in range(left, k):
                H[left, :, right] = A.T @ (B[:, left, right, None] * A)
                H[right, :, left] = H[left, :, right].T
        H = H.reshape(k * q, k * q)
        H.flat[:: k * q + 1] += np.tile(penalty[:, 0], k)
        return H

    def quality(self, mode: Mode) -> Quality:
        """S_j and Q_j of all columns at the mode, the curvature held: S is (d,), or (d, k, k) for several outputs."""
        k, q = self.k, mode.Phi.shape[1]
        B = self.curvature(mode.P)
        products = [(B[:, left, :, None] * mode.Phi[:, None, :]).reshape(len(B), k * q) for left in range(k)]
        pulled = self.columns.pull(np.column_stack([*products, self.residual(mode.P)]))  # one pass over the columns
        T, Q = [pulled[:, left * k * q : (left + 1) * k * q] for left in range(k)], pulled[:, k * k * q :]
        pairs = [(left, right) for left in range(k) for right in range(left, k)]
        squares = self.columns.spread(np.column_stack([B[:, left, right] for left, right in pairs]))
        E = [t @ mode.joint for t in T]
        if k == 1:
            return Quality(np.maximum(squares[:, 0] - (E[0] * T[0]).sum(axis=1), 0.0), Q, E[0][:, : len(mode.rows)])
        S = np.empty((self.columns.d, k, k))
        for column, (left, right) in enumerate(pairs):
            S[:, left, right] = S[:, right, left] = squares[:, column] - (E[left] * T[right]).sum(axis=1)
        return Quality(S, Q, np.empty((self.columns.d, 0)))

    def frozen(self, mode: Mode, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Gaussian problem with unit noise that has the mode's curvature and residual: columns and products.

        The intercept is eliminated by centring with the weights of the curvature. For two classes.
        """
        weight = self.curvature(mode.P)[:, 0, 0]
        target = weight * mode.F[:, 0] + self.residual(mode.P)[:, 0]
        if self.columns.design.intercept:
            Phi = Phi - weight @ Phi / max(weight.sum(), np.finfo(float).tiny)
        return np.asfortranarray(np.sqrt(weight)[:, None] * Phi), np.asfortranarray((target @ Phi)[:, None])
