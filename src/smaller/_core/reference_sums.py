"""The twins of the compiled sums over samples: means and losses, certificates, products, squares and distances.

`family` is 0 for a multinomial with a column for each class, 1 where one further class has score 0 and no column, 2 for
Gaussian columns.
"""

from __future__ import annotations

import numpy as np

SYMMETRIC, REFERENCE, GAUSSIAN = range(3)


class Columns:
    """Dense or sparse columns behind the same three operations."""

    def __init__(self, arrays):
        self.arrays = arrays

    def __getitem__(self, j):
        """Rows and values of column j."""
        if len(self.arrays) == 1:
            return slice(None), self.arrays[0][:, j].astype(np.float64)
        values, rows, starts = self.arrays
        part = slice(starts[j], starts[j + 1])
        return rows[part], values[part].astype(np.float64)

    def dot(self, j, v):
        """x_j . v."""
        rows, x = self[j]
        return float(x @ v[rows])

    def spread(self, j, c, q):
        """sum q (x_j - c)^2."""
        rows, x = self[j]
        return float(q[rows] @ (x - c) ** 2 + c * c * (q.sum() - q[rows].sum()))

    def add(self, j, c, d, f, q=None):
        """f += d (x_j - c), weighted by q."""
        rows, x = self[j]
        f[rows] += d * x if q is None else d * x * q[rows]
        if c:
            f -= d * c if q is None else d * c * q


def means(F, Y, s, family, P, U):
    """Fitted means of the scores, into P, residuals P - Y, into U, and the negative log-likelihood.

    Indicators Y are 0 or 1.
    """
    if family == GAUSSIAN:
        P[:] = F
        U[:] = F - Y
        return float(s @ (U**2).sum(axis=1)) / 2
    P[:], U[:], loss = softmax_fit(F, Y, s, family == REFERENCE)
    return loss


def softmax(F, reference, xp=np):
    """Probabilities of the scores in the namespace xp; their denominators after division by exp(top), and top, (n, 1).

    With `reference` a further class has score 0.
    """
    top = xp.max(F, axis=1, keepdims=True)
    top = xp.maximum(top, xp.zeros_like(top)) if reference else top
    P = xp.exp(F - top)
    total = xp.sum(P, axis=1, keepdims=True)
    total = total + xp.exp(-top) if reference else total
    return P / total, total, top


def softmax_fit(F, Y, s, reference, xp=np):
    """P = softmax(F), P - Y without cancellation, and the negative log-likelihood, in the namespace xp."""
    P, total, top = softmax(F, reference, xp)
    # The true class's score comes off the greatest one first: of large scores only their difference is exact.
    loss = xp.sum(s * (xp.log(total)[:, 0] + (top[:, 0] - xp.sum(Y * F, axis=1))))
    # The residual of the true class is the sum of the other probabilities.
    others = xp.sum((1 - Y) * P, axis=1, keepdims=True)
    others = others + xp.exp(-top) / total if reference else others
    return P, (1 - Y) * P - Y * others, float(loss)


def negentropy(U, Y, s, shrink, family):
    """sum_i s_i sum_c Q_ic log Q_ic of the probabilities Q = Y + shrink U."""
    return softmax_conjugate(U, Y, s, shrink, family == REFERENCE)


def softmax_conjugate(U, Y, s, shrink, reference, xp=np):
    """The negative entropy of Q = Y + shrink U in the namespace xp."""

    def x_log_x(Q):
        return Q * xp.log(xp.where(Q > 0, Q, xp.ones_like(Q)))

    Q = xp.clip(Y + shrink * U, 0.0, 1.0)
    total = xp.sum(x_log_x(Q), axis=1)
    if reference:
        total = total + x_log_x(xp.clip(1.0 - xp.sum(Q, axis=1), 0.0, 1.0))
    return float(xp.sum(s * total))


def judge(W, G, l1, l2, scale, residuals):
    """KKT residuals relative to the scale, into `residuals`; the penalty, and the shrinkages that make G feasible.

    These are the largest rho <= 1 with rho |G| <= l1 wherever there is a penalty, and where l2 is 0.
    """
    residuals[:] = kkt(W, G + l2 * W, l1) / scale
    over = (np.abs(G) > l1) & ((l1 > 0) | (l2 > 0))
    ratio = np.divide(l1, np.abs(G), where=over, out=np.ones_like(G))
    there = W != 0  # elsewhere l1 may be infinite
    penalty = float((l1[there] * np.abs(W[there]) + l2[there] * W[there] ** 2 / 2).sum())
    return penalty, float(ratio.min(initial=1.0)), float(ratio[l2 == 0].min(initial=1.0))


def pull(X, R, G):
    """X^T R, into G."""
    G[:] = X.T @ R


def kkt(w, g, l1):
    """Distance of -g to the subdifferential of l1 |w|."""
    return np.where(w != 0, np.abs(g + np.copysign(l1, w)), np.maximum(np.abs(g) - l1, 0.0))


def distances(X, Zt, D):
    """Squared distances of the rows of X (n, p) and the columns of Zt (p, m), into D (n, m)."""
    D[:] = 0.0
    for x, z in zip(X.T, Zt, strict=True):
        D += np.square(x[:, None] - z)


def decay(D, gamma):
    """exp(-gamma d) in the place of each d."""
    D *= -gamma
    np.exp(D, out=D)


def squares(X, omega, center, total):
    """total_j += sum_i omega_i (x_ij - center_j)^2."""
    total += omega @ np.square(X - center)
