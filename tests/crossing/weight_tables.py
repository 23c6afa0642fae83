"""What debiased claims: estimates and errors by fits of NumPy alone, intervals and p-values by their definitions."""

import numpy as np
from scipy.stats import norm, t

from .selection import varying

CLOSE = 1e-3  # in standard errors, and relative for these


def holm(p):
    """Running maxima of (p - i + 1) p_(i), the definition."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]))
    return adjusted


def least_squares(A, y, s):
    """Weights, standard errors and degrees of freedom; the last column of A is the intercept's."""
    root = np.sqrt(s)[:, None]
    inverse = np.linalg.inv((root * A).T @ (root * A))
    w = inverse @ (A.T @ (s * y))
    free = s.sum() - A.shape[1]
    noise = s @ (y - A @ w) ** 2 / free
    return w[:-1, None], np.sqrt(noise * np.diag(inverse))[:-1, None], free


def firth(A, Y, s, shift):
    """Firth's estimates of contrasts with the last class by scoring steps, halved later as full ones may jump."""
    (n, m), k = A.shape, Y.shape[1]
    W = np.zeros((m, k))
    for number in range(1000):
        F = np.column_stack([A @ W + shift, np.zeros(n)])
        P = np.exp(F - F.max(axis=1, keepdims=True))
        P = (P / P.sum(axis=1, keepdims=True))[:, :k]
        V = np.eye(k) * P[:, :, None] - P[:, :, None] * P[:, None, :]
        H = np.einsum("i,ij,iab,il->jalb", s, A, V, A).reshape(m * k, m * k)
        C = np.linalg.inv(H).reshape(m, k, m, k)
        S = np.einsum("ij,jalb,il->iab", A, C, A)
        centred = np.concatenate([np.eye(k)[None] - P[:, None, :], -P[:, None, :]], axis=1)  # classes by scores
        q = np.einsum("ica,iab,icb->ic", centred, S, centred)
        third = P * (q[:, :k] - (np.column_stack([P, 1 - P.sum(axis=1)]) * q).sum(axis=1, keepdims=True))
        step = np.einsum("jalb,lb->ja", C, A.T @ (s[:, None] * (Y - P + third / 2)))
        W += step / max(1.0 if number < 30 else 2.0, np.abs(A @ step).max())
        if np.abs(A @ step).max() < 1e-10:
            break
    return W[:-1], np.sqrt(np.einsum("jaja->ja", C))[:-1]


def _expected(found, row, data):
    """Estimates, standard errors and degrees of freedom of the columns that have any."""
    own = np.flatnonzero(~np.isnan(found.estimate[0]))
    X, s = data.plain[:, own], data.s
    mean, scale = s @ X / s.sum(), X.std(axis=0)
    A = np.column_stack([(X - mean) / scale, np.ones(len(X))])
    shift = data.shift
    if not row["classes"]:
        w, error, free = least_squares(A, data.target - (0 if shift is None else shift), s)
    else:
        m, free = row["classes"], np.inf
        order = np.arange(m) if m > 2 else [1, 0]
        shift = 0.0 if shift is None else shift[:, order[:-1]] - shift[:, order[-1:]]
        w, error = firth(A, (data.target[:, None] == order[:-1]).astype(float), s, shift)
    return own, (w / scale[:, None]).T, (error / scale[:, None]).T, free


def debiased(found, row, data, given):
    """The table of debiased."""
    told, p = [], found.p_value[~np.isnan(found.p_value)]
    if len(p) < len(varying(data.plain)) or not ((p >= 0) & (p <= 1)).all():
        told.append("p-values are missing, or no probabilities")
    if found.estimate is None:
        return told
    reach = (found.upper - found.lower) / 2
    ok = ~np.isnan(found.estimate)
    if np.abs(found.estimate - (found.upper + found.lower) / 2)[ok].max() > CLOSE * reach[ok].max():
        told.append("estimates are not in the middle of their intervals")
    if "can be trusted" not in found.reason:
        return told
    own, w, error, free = _expected(found, row, data)
    if np.abs((found.estimate[:, own] - w) / error).max() > CLOSE:
        told.append(f"estimates are {np.abs((found.estimate[:, own] - w) / error).max():.1e} standard errors off")
    if np.abs(found.standard_error[:, own] / error - 1).max() > CLOSE:
        told.append("standard errors are off")
    wide = (norm if np.isinf(free) else t(free)).ppf((1 + given["level"]) / 2) * found.standard_error[:, own]
    if np.abs(reach[:, own] / wide - 1).max() > CLOSE:
        told.append(f"intervals are not of level {given['level']}")
    if found.method == "debiased" and np.abs(found.p_holm[own] - holm(found.p_value[own])).max() > CLOSE:
        told.append("p_holm is not Holm's")
    return told
