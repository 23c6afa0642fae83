"""The lasso of several targets, in which whole rows of weights are 0: coordinate descent, and all rows together."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

MOST = 600  # weights up to which Newton's method is tried on the rows in use
STEPS = 20  # of Newton's method, or ridge regressions, in a round
SWEEPS = 2  # of coordinate descent in a round
DAMPING = 1e-12  # of the largest curvature, so that collinear columns can be factorised


class RowLasso:
    """|T - Phi X|^2 / 2 + sum_j c_j |x_j|, |x_j| the norm of a row of X (d, k).

    Parameters
    ----------
    Phi : ndarray of shape (n, d)
        Columns of length 1.
    T : ndarray of shape (n, k)
    penalty : ndarray of shape (d,)
        The c, positive.
    """

    def __init__(self, Phi: np.ndarray, T: np.ndarray, penalty: np.ndarray):
        self.Phi, self.T, self.c = Phi, T, penalty

    def value(self, X: np.ndarray, U: np.ndarray) -> float:
        """The objective, U the residual."""
        return 0.5 * float((U * U).sum()) + float(self.c @ _lengths(X))

    def gap(self, X: np.ndarray, U: np.ndarray, pulled: np.ndarray) -> float:
        """Relative duality gap; `pulled` are the lengths of the rows of Phi^T U."""
        value = self.value(X, U)
        rho = min(1.0, float((self.c / np.maximum(pulled, 1e-300)).min(initial=1.0)))
        dual = rho * float((self.T * U).sum()) - 0.5 * rho**2 * float((U * U).sum())
        return (value - dual) / value if value > 0 else 0.0

    def solve(self, X: np.ndarray, tol: float, max_iter: int) -> tuple[np.ndarray, int]:
        """From X to a relative duality gap of tol, or as near as rounding lets it; and the rounds that were taken."""
        X, best = X.copy(), np.inf
        U = self.T - self.Phi @ X
        for n_iter in range(max_iter):
            pulled = _lengths(self.Phi.T @ U)
            if self.gap(X, U, pulled) <= tol:
                return X, n_iter
            for _ in range(SWEEPS):
                self._sweep(X, U, np.flatnonzero(X.any(axis=1) | (pulled > self.c)))
            X = self._together(X)
            U = self.T - self.Phi @ X
            value = self.value(X, U)
            if best - value <= 1e-15 * abs(value):
                return X, n_iter + 1
            best = value
        return X, max_iter

    def _sweep(self, X: np.ndarray, U: np.ndarray, rows: np.ndarray) -> None:
        """Each row in turn at its minimum."""
        for j in rows:
            column = self.Phi[:, j]
            wanted = column @ U + X[j]
            length = float(np.sqrt(wanted @ wanted))
            new = wanted * (1 - self.c[j] / length) if length > self.c[j] else np.zeros_like(wanted)
            U += np.outer(column, X[j] - new)
            X[j] = new

    def _together(self, X: np.ndarray) -> np.ndarray:
        """The rows that are not 0 nearer to their joint minimum; the objective does not rise."""
        rows = np.flatnonzero(X.any(axis=1))
        if not len(rows):
            return X
        Phi, c, Z = self.Phi[:, rows], self.c[rows], X[rows]
        G, C = Phi.T @ Phi, Phi.T @ self.T
        value, alive = self._on(Phi, c, Z), np.arange(len(rows))
        for _ in range(STEPS):
            curve = c[alive] / _lengths(Z[alive])
            every = G[np.ix_(alive, alive)], C[alive], Z[alive], curve
            for step in (_newton_step, _ridge_step):
                tried = Z.copy()
                tried[alive] = step(*every)
                lower = self._on(Phi, c, tried)
                if lower < value:
                    break
            else:
                break
            gained, Z, value = value - lower, tried, lower
            alive = np.flatnonzero(Z.any(axis=1))
            if gained <= 1e-15 * abs(value) or not len(alive):
                break
        found = X.copy()
        found[rows] = Z
        return found

    def _on(self, Phi: np.ndarray, c: np.ndarray, Z: np.ndarray) -> float:
        return 0.5 * float(((self.T - Phi @ Z) ** 2).sum()) + float(c @ _lengths(Z))


def _lengths(X: np.ndarray) -> np.ndarray:
    return np.sqrt((X * X).sum(axis=1))


def _ridge_step(G: np.ndarray, C: np.ndarray, Z: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """The least of the loss and of sum_j curve_j |x_j|^2 / 2, which lies above the penalty and touches it at Z."""
    root = 1 / np.sqrt(curve)
    H = G * np.outer(root, root)
    H.flat[:: len(H) + 1] += 1.0
    return root[:, None] * _solved(H, root[:, None] * C, Z / root[:, None])


def _newton_step(G: np.ndarray, C: np.ndarray, Z: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """By the curvature G, and curve_j (I - z z^T / |z|^2) on the diagonal; a row that would pass 0 stays there."""
    r, k = Z.shape
    if r * k > MOST:
        return Z
    H = np.kron(G, np.eye(k)).reshape(r, k, r, k)
    unit = Z / _lengths(Z)[:, None]
    every = np.arange(r)
    H[every, :, every, :] += curve[:, None, None] * (np.eye(k) - unit[:, :, None] * unit[:, None, :])
    flat = H.reshape(r * k, r * k)
    flat.flat[:: r * k + 1] += DAMPING * flat.diagonal().max()
    slope = (G @ Z - C + curve[:, None] * Z).ravel()
    moved = Z - _solved(flat, slope, np.zeros(r * k)).reshape(r, k)
    return np.where((moved * Z).sum(axis=1, keepdims=True) > 0, moved, 0.0)


def _solved(H: np.ndarray, g: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    try:
        return cho_solve(cho_factor(H, check_finite=False), g)
    except LinAlgError:
        return otherwise
