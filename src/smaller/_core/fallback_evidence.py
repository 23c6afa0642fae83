"""The searches for the greatest evidence where the compiled core is missing: for regression, and for two classes.

These are no twins of the compiled searches `climb` and `logistic`. Both take the same arguments, start from the same
models and exchange the same columns, but where the compiled search takes Newton steps on all precisions and the noise
together, this module re-estimates one precision at a time, and it follows every model to its end where the compiled
search gives up those without prospect. Both end at a maximum of the evidence, settled to the same accuracy. Where the
evidence has several maxima, they may end at different ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .reference_sequential import GaussianData, posterior, sequential, take_steps

SLACK = 0.3  # nats that an exchange may lose before the other precisions are settled
ALIKE = 0.999  # cosine of near copies
FINE, FINE_CLASSES = 1e-4, 1e-3  # small gains in units of tol, for regression and for two classes
SCORE = 2.944  # log odds to which the first column is to separate the classes
NEWTON, ROUNDS, PROPOSALS = 100, 60, 8
LOOSE = 1e-2  # change of a log precision at which a model on the way is settled
PRECISE = 1e-9  # least gain of a step that settles precisions with the curvature held
LOG_2PI = float(np.log(2 * np.pi))


class BinaryData(NamedTuple):
    """Labels y, 0 or 1, weights s and offsets of samples; `level` is the precision of the intercept's prior.

    With `level` 0 there is no intercept.
    """

    y: Any
    s: Any
    offset: Any
    level: float


class Starts(NamedTuple):
    """Models on the columns `coarse`: precisions (len(coarse), starts), infinite where a column is out.

    A start without columns stands for the column most correlated with the targets. Of the others the best `follow` are
    continued on all columns.
    """

    coarse: Any
    precisions: Any
    follow: int


class ModeRule(NamedTuple):
    """Change of a log precision at which the result is settled, and relative accuracy of the modes on the way."""

    change: float
    near: float


class Model(NamedTuple):
    """Log evidence, precisions and noise; log evidence less its constant -k total log(2 pi) / 2."""

    value: float
    alpha: np.ndarray
    noise: float


class LaplaceModel(NamedTuple):
    """Log evidence, precisions, and weights with the intercept last."""

    value: float
    alpha: np.ndarray
    v: np.ndarray


@np.errstate(all="ignore")  # as compiled arithmetic is
def climb(X, data, starts, noises, alpha, rule):
    """The best model on the columns X (n, w) that a search from several starts finds.

    Starts with columns are solved on the columns `coarse`, and the best `follow` of them on all. From each of these a
    column of the model is exchanged for another, or leaves, until nothing gains `tol`.

    `noises` belong to the starts; alpha (w,) receives the precisions found. Returns the noise and the log evidence less
    its constant -k total log(2 pi) / 2.
    """
    models, best = [], Model(-np.inf, np.full(X.shape[1], np.inf), 1.0)
    part = X[:, starts.coarse], data._replace(C=data.C[starts.coarse])
    for start, noise in zip(starts.precisions.T, noises, strict=True):
        if np.isfinite(start).any():
            found = _solved(*part, start, noise, rule, ALIKE, rule.tol)
            models.append(found._replace(alpha=_widened(found.alpha, starts.coarse, X.shape[1], np.inf)))
        else:
            first = _solved(X, data, _most_correlated(X, data.C, noise), noise, rule, ALIKE, FINE * rule.tol)
            best = _climbed(X, data, first, rule, best)
    models.sort(key=lambda model: -model.value)
    for model in models[: starts.follow]:
        best = _climbed(X, data, _solved(X, data, model.alpha, model.noise, rule, ALIKE, rule.tol), rule, best)
    alpha[:] = best.alpha
    return best.noise, best.value


def _widened(part, columns, w, rest):
    """Numbers of some of w columns as numbers of all."""
    wide = np.full(w, rest)
    wide[columns] = part
    return wide


def _most_correlated(X, C, noise):
    """Precisions with the column most correlated with the targets in, at its best."""
    norm, k = (X * X).sum(axis=0), C.shape[1]
    alpha, (j, top) = np.full(X.shape[1], np.inf), _largest((C * C).sum(axis=1), norm)
    ratio = top / (noise * k)
    if ratio > 1:
        alpha[j] = norm[j] / noise / (ratio - 1)
    return alpha


def _largest(square, norm):
    """Place and value of the largest square / norm; 0 without columns, or where every square is 0."""
    ratio = np.divide(square, norm, out=np.zeros(len(norm)), where=square > 0)
    j = int(np.argmax(ratio)) if len(ratio) else 0
    return j, ratio[j] if len(ratio) else 0.0


def _climbed(X, data, model, rule, best):
    """Exchanges of columns from a solved model, if it is the best so far, until nothing gains `tol`."""
    while model.value > best.value:
        best = model
        starts = _exchanged(X, data.C, best.alpha, best.noise)
        tries = (_settled_on(X, data, start, best.noise, rule) for start in starts)
        model = next((model for model in tries if model.value > best.value + rule.tol), None)
        if model is None:
            model = _solved(X, data, best.alpha, best.noise, rule, rule.aligned, rule.tol)
            if model.value <= best.value + rule.tol:
                break
    return best


def _solved(X, data, start, noise, rule, alike, least):
    """The settled end of the sequential algorithm from precisions, by steps that gain `least`."""
    alpha = np.array(start)
    _, noise = take_steps(X, data, alpha, float(noise), rule._replace(tol=least), alike)
    return _settled_on(X, data, alpha, noise, rule)


def _settled_on(X, data, alpha, noise, rule):
    """The best model with no other columns than those of a model."""
    alpha, inside = np.array(alpha), np.flatnonzero(np.isfinite(alpha))
    few = alpha[inside]
    precise = rule._replace(tol=1e-3 * FINE * rule.tol)
    _, noise = sequential(X[:, inside], data._replace(C=data.C[inside]), few, float(noise), precise)
    alpha[inside] = few
    return Model(_log_evidence(X, data, alpha, noise), alpha, noise)


def _log_evidence(X, data, alpha, noise):
    """Log evidence of a model less its constant; -inf where its precision matrix is singular."""
    inside = np.flatnonzero(np.isfinite(alpha))
    Phi, c = X[:, inside], data.C[inside]
    H = Phi.T @ Phi / noise + np.diag(alpha[inside])
    sign, logdet = np.linalg.slogdet(H)
    mean = np.linalg.solve(H, c / noise)
    misfit = max(data.yy - 2 * float((mean * c).sum()) + float(((Phi @ mean) ** 2).sum()), 0.0)
    logdet += data.total * np.log(noise) - np.log(alpha[inside]).sum()
    quadratic = misfit / noise + float(alpha[inside] @ (mean**2).sum(axis=1))
    return -0.5 * (c.shape[1] * logdet + quadratic) if sign > 0 else -np.inf


def _exchanged(X, C, alpha, noise):
    """Precisions with one column of the model out, or exchanged for its best replacement, where that loses little."""
    inside, k = np.flatnonzero(np.isfinite(alpha)), C.shape[1]
    at = posterior(X.T @ X, C, alpha, inside, noise)
    if not len(inside) or at is None:
        return
    variance = np.diag(at.Sigma)
    s = (1 - alpha[inside] * variance) / variance
    now = 0.5 * ((at.mu**2).sum(axis=1) / variance - k * np.log1p(s / alpha[inside]))
    E = X.T @ X[:, inside] @ at.Sigma / noise
    out = np.maximum(at.S, 0.0)[:, None] + E * E / variance  # the sparsity without the column of the model
    q2 = ((at.Q[:, None] + E[:, :, None] * (at.mu / variance[:, None])) ** 2).sum(axis=2) / k
    q2[inside] = 0.0
    ratio = q2 / np.maximum(out, 1e-300)
    best = ratio.argmax(axis=0)
    top = ratio[best, np.arange(len(inside))]
    gain = np.where(top > 1, 0.5 * k * (top - 1 - np.log(np.maximum(top, 1.0))), 0.0) - now
    offers = [(-now[a], a, None) for a in range(len(inside))]
    offers += [(gain[a], a, best[a]) for a in range(len(inside)) if top[a] > 1]
    for offered, a, column in sorted(offers, key=lambda offer: -offer[0]):
        if offered >= -SLACK:
            start = alpha.copy()
            start[inside[a]] = np.inf
            if column is not None:
                start[column] = out[column, a] / (top[a] - 1)
            yield start


@np.errstate(all="ignore")  # as compiled arithmetic is
def logistic(X, data, starts, weights, alpha, v, rule, modes):
    """The search of :func:`climb` for two classes by Laplace's evidence, which it returns.

    The weights (len(coarse) + 1, starts), the intercept last, belong to the starts; v (w + 1,) receives those found.
    """
    models, outcomes = [], []
    coarse, w = starts.coarse, X.shape[1]
    for start, weight in zip(starts.precisions.T, weights.T, strict=True):
        if np.isfinite(start).any():
            model = _settled(X[:, coarse], data, start.copy(), weight.copy(), LOOSE, rule, modes.near)
            value, some, at = _improved(X[:, coarse], data, model, rule, modes.near)
            wide = np.append(_widened(at[:-1], coarse, w, 0.0), at[-1])
            models.append(LaplaceModel(value, _widened(some, coarse, w, np.inf), wide))
        else:
            outcomes.append(_published(X, data, rule, modes.near))
    models.sort(key=lambda model: -model.value)
    outcomes += [_improved(X, data, model, rule, modes.near) for model in models[: starts.follow]]
    best = max((_upwards(X, data, model, rule, modes) for model in outcomes), key=lambda model: model.value)
    alpha[:], v[:] = best.alpha, best.v
    return best.value


def _upwards(X, data, best, rule, modes):
    """Exchanges of a column until none gains `tol`, and settled."""
    while True:
        swapped = _swapped(X, data, best)
        tries = (_settled(X, data, start, weight, LOOSE, rule, modes.near) for start, weight in swapped)
        better = next((model for model in tries if model.value > best.value + rule.tol), None)
        if better is None:
            break
        best = _improved(X, data, better, rule, modes.near)
    return _settled(X, data, best.alpha, best.v, modes.change, rule, min(modes.near, 1e-4 * modes.change**2))


def _published(X, data, rule, near):
    """From the column most correlated with the labels, with a new mode whenever a column enters or leaves."""
    alpha, v = np.full(X.shape[1], np.inf), np.zeros(X.shape[1] + 1)
    centred = X - data.s @ X / data.s.sum() if data.level > 0 else X
    norm, c = data.s @ centred**2, (data.s * (2 * data.y - 1)) @ centred
    j, top = _largest(c * c, norm)
    if top > 0:
        v[j] = SCORE * c[j] / norm[j]
        alpha[j] = 1 / v[j] ** 2
    for _ in range(rule.max_steps):
        before = np.isfinite(alpha)
        _, v, omega, target = _mode(X, data, alpha, v, near)
        columns, frozen = _frozen(X, omega, target, data.level > 0)
        take_steps(columns, frozen, alpha, 1.0, rule._replace(tol=FINE_CLASSES * rule.tol), ALIKE, once=True)
        if (before == np.isfinite(alpha)).all():
            break
    return _settled(X, data, alpha, v, LOOSE, rule, near)


def _mode(X, data, alpha, v, near):
    """Newton's method to the mode: log evidence, weights, curvature and the targets of the problem that has it.

    The log evidence is -inf where the Hessian is singular: a precision is 0, and no sample has any curvature.
    """
    y, s, offset, level = data
    inside = np.flatnonzero(np.isfinite(alpha))
    free = level > 0
    A = np.column_stack([X[:, inside], np.ones(len(X))]) if free else X[:, inside]
    penalty = np.append(alpha[inside], level) if free else alpha[inside]
    w = np.append(v[inside], v[-1]) if free else v[inside]

    def value(w):
        F = A @ w
        return s @ (np.logaddexp(0.0, F + offset) - y * (F + offset)) + 0.5 * penalty @ w**2, F

    now, F = value(w)
    for _ in range(NEWTON):
        P = 0.5 * (1 + np.tanh(0.5 * (F + offset)))
        omega, residual = s * P * (1 - P), s * (y - P)
        H = (A.T * omega) @ A + np.diag(penalty)
        g = A.T @ residual - penalty * w
        sign, logdet = np.linalg.slogdet(H)
        if not sign > 0:
            now, logdet = np.inf, 0.0
            break
        step = np.linalg.solve(H, g)
        if not step @ g > near * (1 + abs(now)):
            break
        for length in 0.5 ** np.arange(30):
            lower, moved = value(w + length * step)
            if lower <= now - 1e-4 * length * (step @ g) + 1e-13 * abs(now):
                break
        w, now, F = w + length * step, lower, moved
    new = np.zeros(len(v))
    new[inside] = w[: len(inside)]
    new[-1] = w[-1] if free else 0.0
    logs = np.log(alpha[inside]).sum() + (LOG_2PI if free else 0.0)
    return 0.5 * (logs - logdet) - now, new, omega, omega * F + residual


def _frozen(X, omega, target, free):
    """Columns and data of the Gaussian problem with unit noise that has the curvature and the residual of a mode."""
    C = X - omega @ X / max(omega.sum(), np.finfo(float).tiny) if free else X
    return np.sqrt(omega)[:, None] * C, GaussianData(C=(target @ C)[:, None], total=1.0, yy=0.0, floor=0.0)


def _settled(X, data, alpha, v, change, rule, near):
    """The mode, and the precisions at which the problem with its curvature is stationary, in turn."""
    value, v, omega, target = _mode(X, data, alpha, v, near)
    for _ in range(ROUNDS):
        inside = np.flatnonzero(np.isfinite(alpha))
        if not len(inside):
            break
        few = alpha[inside]
        columns, frozen = _frozen(X[:, inside], omega, target, data.level > 0)
        sequential(columns, frozen, few, 1.0, rule._replace(tol=PRECISE))
        moved = np.abs(np.log(few / alpha[inside])).max()
        alpha = alpha.copy()
        alpha[inside] = few
        value, v, omega, target = _mode(X, data, alpha, v, near)
        if moved <= change:
            break
    return LaplaceModel(value, alpha, v)


def _improved(X, data, model, rule, near):
    """The better of a settled model and the model to which the sequential algorithm on all columns leads from it."""
    alpha, v = model.alpha.copy(), model.v
    for _ in range(PROPOSALS):
        before = np.isfinite(alpha)
        _, v, omega, target = _mode(X, data, alpha, v, near)
        columns, frozen = _frozen(X, omega, target, data.level > 0)
        sequential(columns, frozen, alpha, 1.0, rule)
        if (before == np.isfinite(alpha)).all():
            break
    found = _settled(X, data, alpha, v, LOOSE, rule, near)
    return found if found.value > model.value else model


def _swapped(X, data, model):
    """Starts with one column of the model exchanged for its best replacement, or out."""
    _, v, omega, target = _mode(X, data, model.alpha, model.v, 1e-12)
    columns, frozen = _frozen(X, omega, target, data.level > 0)
    return [
        (start, np.where(np.isfinite(np.append(start, 0.0)), v, 0.0))
        for start in _exchanged(columns, frozen.C, model.alpha, 1.0)
    ]
