"""The suite's own objective and certificate, so that no solver is believed about its accuracy."""

import numpy as np
from scipy.special import logsumexp, softmax, xlogy


def bounds(problem, W, lam):
    """F(W) and a lower bound on min F, both in float64; W is (p, n_classes), or (p,) for two classes.

    With R = P - Y, rho = min(1, lam / (dual norm of X'R)) and Q = (1 - rho) Y + rho P the residual Q - Y is
    feasible for the dual, so  sum_i entropy(Q_i) <= min F <= F(W).
    """
    F = scores(problem, W)
    value = logsumexp(F, axis=1).sum() - (problem.Y * F).sum() + lam * problem.norm(W)
    P = softmax(F, axis=1)
    steepest = problem.dual_norm(problem.X.T @ (P - problem.Y))
    rho = min(1.0, lam / steepest) if steepest > 0 else 1.0
    Q = (1 - rho) * problem.Y + rho * P
    return float(value), float(-xlogy(Q, Q).sum())


def scores(problem, W):
    F = np.asarray(problem.X @ np.asarray(W, dtype=np.float64))
    return np.column_stack([np.zeros(len(F)), F]) if problem.binary else F
