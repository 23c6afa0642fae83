"""The lasso of several targets, in which whole rows of weights are 0: block coordinate descent and Newton's method."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

MOST = 600  # weights up to which Newton's method is tried on the rows in use
STEPS, HALVINGS = 8, 12  # of Newton's method in a round, and of one of its steps
SWEEPS = 3  # of coordinate descent in a round
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
            X = self._newton(X)
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

    def _newton(self, X: np.ndarray) -> np.ndarray:
        """The rows that are not 0 nearer to their joint minimum; the objective does not rise."""
        rows = np.flatnonzero(X.any(axis=1))
        r, k = len(rows), X.shape[1]
        if not 0 < r * k <= MOST:
            return X
        Phi, c = self.Phi[:, rows], self.c[rows]
        G, C, Z = Phi.T @ Phi, Phi.T @ self.T, X[rows]
        value = self._on(Phi, c, Z)
        for _ in range(STEPS):
            length = _lengths(Z)
            if not length.all():
                break
            slope = G @ Z - C + (c / length)[:, None] * Z
            step = _newton_step(G, Z, c / length, slope)
            if step is None:
                break
            for halving in range(HALVINGS):
                tried = Z - 0.5**halving * step
                lower = self._on(Phi, c, tried)
                if lower < value:
                    break
            else:
                break
            gained, Z, value = value - lower, tried, lower
            if gained <= 1e-15 * abs(value):
                break
        found = X.copy()
        found[rows] = Z
        return found

    def _on(self, Phi: np.ndarray, c: np.ndarray, Z: np.ndarray) -> float:
        return 0.5 * float(((self.T - Phi @ Z) ** 2).sum()) + float(c @ _lengths(Z))


def _lengths(X: np.ndarray) -> np.ndarray:
    return np.sqrt((X * X).sum(axis=1))


def _newton_step(G: np.ndarray, Z: np.ndarray, curve: np.ndarray, slope: np.ndarray) -> np.ndarray | None:
    """Of the rows Z: the curvature is G, and curve_j (I - z z^T / |z|^2) on the diagonal."""
    r, k = Z.shape
    H = np.kron(G, np.eye(k)).reshape(r, k, r, k)
    unit = Z / _lengths(Z)[:, None]
    every = np.arange(r)
    H[every, :, every, :] += curve[:, None, None] * (np.eye(k) - unit[:, :, None] * unit[:, None, :])
    flat = H.reshape(r * k, r * k)
    flat.flat[:: r * k + 1] += DAMPING * flat.diagonal().max()
    try:
        return cho_solve(cho_factor(flat, check_finite=False), slope.ravel()).reshape(r, k)
    except LinAlgError:
        return None
