"""The specification of the searches for evidence on a working set: regression, and two classes."""

from __future__ import annotations

import numpy as np

NOISE_OFTEN, NOISE_EVERY = 10, 5  # the noise is learned after each of the first steps, then after some
DEPENDENT = 1e-12  # what the model leaves of a column, at which that is rounding
SLACK = 0.3  # nats that an exchange may lose before the rest is re-estimated
ALIKE, FINE = 0.999, 1e-4  # cosine of near copies, and small gains in units of tol
FINE_CLASSES, SCORE = 1e-3, 2.944  # the same for two classes, and log odds by which the first column is to tell them
NEWTON, ROUNDS, LOOSE = 100, 60, 1e-2
LOG_2PI = float(np.log(2 * np.pi))


@np.errstate(all="ignore")  # as compiled arithmetic is
def sequential(X, C, total, yy, alpha, noise, floor, tol, aligned, max_steps):
    """Tipping & Faul (2003) on a working set: add or re-estimate the column that raises the log evidence most.

    Deletions come first.

    X (n, w) are the columns, C (w, k) their products with the targets; `total` samples with sum of squares `yy`.
    alpha (w,), infinite where a column is out, is moved; of columns whose cosine reaches `aligned` one stays in. The
    noise is learned down to `floor`, if that is positive. Returns the number of steps, the last of which gained `tol`,
    and the noise.
    """
    return _steps(X, C, total, yy, alpha, noise, floor, tol, aligned, max_steps)


def _steps(X, C, total, yy, alpha, noise, floor, tol, aligned, max_steps, alike=None, once=False):
    """The same where none is added whose cosine with one reaches `alike`, and that ends, with `once`, when a column
    enters or leaves."""
    G = X.T @ X
    active = _apart(G, alpha, aligned)
    steps = 0
    posterior = _posterior(G, C, alpha, active, noise)
    while posterior and steps < max_steps:
        j, gain, best = _best_step(G, C.shape[1], alpha, active, posterior, noise, alike or aligned)
        quiet = not gain >= tol
        if not quiet:
            changed = np.isinf(alpha[j]) or np.isinf(best)
            alpha[j] = best
            if once and changed:
                return steps + 1, float(noise)
            active = np.flatnonzero(np.isfinite(alpha))
            steps += 1
            posterior = _posterior(G, C, alpha, active, noise)
            if steps > NOISE_OFTEN and steps % NOISE_EVERY:
                continue
        before = noise
        if floor > 0 and posterior:
            noise = _noise_by_em(G, C, total, yy, alpha, active, posterior, noise, floor)
            posterior = _posterior(G, C, alpha, active, noise)
        if quiet and abs(np.log(noise / before)) < 1e-3 * tol:
            break
        steps += quiet
    return steps, float(noise)


def _apart(G, alpha, aligned):
    """The columns that are in; of several whose cosines reach `aligned` all but the first leave."""
    unit = np.sqrt(np.diag(G))
    active: list[int] = []
    for j in np.flatnonzero(np.isfinite(alpha)):
        if (G[j, active] ** 2 >= (aligned * unit[j] * unit[active]) ** 2).any():
            alpha[j] = np.inf
        else:
            active.append(int(j))
    return np.array(active, dtype=int)


def _posterior(G, C, alpha, active, noise):
    """Sigma and mu of the active columns, S and Q of all (eqs. 22-24); nothing where rounding defeats them."""
    H = G[np.ix_(active, active)] / noise
    H.flat[:: len(active) + 1] += alpha[active]
    try:
        T = np.linalg.inv(np.linalg.cholesky(H))
    except np.linalg.LinAlgError:
        return None
    Sigma = T.T @ T
    mu = Sigma @ C[active] / noise
    S = np.diag(G) / noise - ((T @ G[active] / noise) ** 2).sum(axis=0)
    Q = (C - G[:, active] @ mu) / noise
    return Sigma, mu, S, Q


def _best_step(G, k, alpha, active, posterior, noise, alike):
    """Column, gain and new precision of the best step (eqs. 18-21); without columns there is none."""
    if not len(alpha):
        return 0, -np.inf, np.inf
    Sigma, mu, s, Q = posterior
    variance = np.diag(Sigma)
    s, q2 = s.copy(), (Q**2).sum(axis=1)
    s[active] = (1 - alpha[active] * variance) / variance
    q2[active] = ((mu / variance[:, None]) ** 2).sum(axis=1)
    theta = q2 / k - s
    unit = np.sqrt(np.diag(G))
    dependent = s * noise <= DEPENDENT * np.diag(G)
    near = (G[:, active] ** 2 >= (alike * np.outer(unit, unit[active])) ** 2).any(axis=1)
    near[active] = False
    new = np.where(theta > 0, s * s / theta, np.inf)
    gain = _level(new, s, q2, k) - _level(alpha, s, q2, k)
    gain[near | (np.isinf(alpha) & ((theta <= 0) | dependent))] = -np.inf
    leaving = np.isfinite(alpha) & (theta <= 0)
    j = int(np.argmax(np.where(leaving, gain, -np.inf) if leaving.any() else gain))
    return j, gain[j], new[j]


def _level(alpha, s, q2, k):
    """What a column contributes to the log evidence at precision alpha (eq. 18)."""
    return 0.5 * (q2 / (alpha + s) - k * np.log1p(s / alpha))


def _noise_by_em(G, C, total, yy, alpha, active, posterior, noise, floor):
    """(|y - Phi mu|^2 + noise k sum_j (1 - alpha_j Sigma_jj)) / (k total): EM, so that the evidence does not fall."""
    Sigma, mu = posterior[:2]
    k = C.shape[1]
    determined = (1 - alpha[active] * np.diag(Sigma)).sum()
    misfit = yy + float((mu * (G[np.ix_(active, active)] @ mu - 2 * C[active])).sum())
    return max(floor, (max(misfit, 0.0) + noise * k * determined) / (k * total))


@np.errstate(all="ignore")  # as compiled arithmetic is
def climb(X, C, total, yy, coarse, precisions, noises, alpha, follow, floor, tol, aligned, max_steps):
    """The best model on the columns X (n, w), from the one most correlated with the targets, where a start has none.

    Other starts are solved on the columns `coarse`, and the best `follow` of them on all. From each of these a column
    of the model is exchanged for another, or leaves, until nothing gains `tol`.

    `precisions` (len(coarse), starts), infinite where a column is out, and `noises` are the starts; alpha (w,) receives
    the precisions found. Returns the noise and the log evidence less k total log(2 pi) / 2.
    """
    problem, options = (X, C, total, yy), (floor, tol, aligned, max_steps)
    models, best = [], (-np.inf, np.full(X.shape[1], np.inf), 1.0)
    for start, noise in zip(precisions.T, noises, strict=True):
        if not np.isfinite(start).any():
            first = _solved(*problem, _first(X, C, noise), noise, *options, ALIKE, FINE * tol)
            best = _climbed(problem, first, options, best)
            continue
        value, found, noise = _solved(X[:, coarse], C[coarse], total, yy, start, noise, *options, ALIKE, tol)
        wide = np.full(X.shape[1], np.inf)
        wide[coarse] = found
        models.append((value, wide, noise))
    models.sort(key=lambda model: -model[0])
    for _, wide, noise in models[:follow]:
        best = _climbed(problem, _solved(*problem, wide, noise, *options, ALIKE, tol), options, best)
    value, alpha[:], noise = best
    return noise, value


def _first(X, C, noise):
    """Precisions with the column most correlated with the targets in, at its best."""
    norm, k = (X * X).sum(axis=0), C.shape[1]
    alpha, (j, top) = np.full(X.shape[1], np.inf), _largest((C * C).sum(axis=1), norm)
    ratio = top / (noise * k)
    if ratio > 1:
        alpha[j] = norm[j] / noise / (ratio - 1)
    return alpha


def _largest(square, norm):
    """Where square / norm is largest, and how large: 0 without columns, or where every square is 0."""
    ratio = np.divide(square, norm, out=np.zeros(len(norm)), where=square > 0)
    j = int(np.argmax(ratio)) if len(ratio) else 0
    return j, ratio[j] if len(ratio) else 0.0


def _climbed(problem, model, options, best):
    """From a solved model, if it is the best so far, upwards until nothing gains `tol`."""
    X, C, total, yy = problem
    floor, tol, aligned, max_steps = options
    while model[0] > best[0]:
        best = _, alpha, noise = model
        starts = _exchanged(X, C, alpha, noise)
        tries = (_settled_on(X, C, total, yy, start, noise, floor, tol, aligned, max_steps) for start in starts)
        model = next((model for model in tries if model[0] > best[0] + tol), None)
        if model is None:
            model = _solved(X, C, total, yy, alpha, noise, floor, tol, aligned, max_steps, aligned, tol)
            if model[0] <= best[0] + tol:
                break
    return best


def _solved(X, C, total, yy, start, noise, floor, tol, aligned, max_steps, alike, least):
    """The sequential algorithm from precisions, settled: log evidence, precisions and noise."""
    alpha = np.array(start)
    _, noise = _steps(X, C, total, yy, alpha, float(noise), floor, least, aligned, max_steps, alike)
    return _settled_on(X, C, total, yy, alpha, noise, floor, tol, aligned, max_steps)


def _settled_on(X, C, total, yy, alpha, noise, floor, tol, aligned, max_steps):
    """The same on no other columns than those of the model, to the top."""
    alpha, inside = np.array(alpha), np.flatnonzero(np.isfinite(alpha))
    few = alpha[inside]
    problem = X[:, inside], C[inside], total, yy
    _, noise = sequential(*problem, few, float(noise), floor, 1e-3 * FINE * tol, aligned, max_steps)
    alpha[inside] = few
    inside = np.flatnonzero(np.isfinite(alpha))
    Phi, c = X[:, inside], C[inside]
    H = Phi.T @ Phi / noise + np.diag(alpha[inside])
    sign, logdet = np.linalg.slogdet(H)
    mean = np.linalg.solve(H, c / noise)
    misfit = max(yy - 2 * float((mean * c).sum()) + float(((Phi @ mean) ** 2).sum()), 0.0)
    logdet += total * np.log(noise) - np.log(alpha[inside]).sum()
    quadratic = misfit / noise + float(alpha[inside] @ (mean**2).sum(axis=1))
    return (-0.5 * (C.shape[1] * logdet + quadratic) if sign > 0 else -np.inf), alpha, noise


def _exchanged(X, C, alpha, noise):
    """Precisions with one column of the model out, or exchanged for its best replacement, where that loses little."""
    inside, k = np.flatnonzero(np.isfinite(alpha)), C.shape[1]
    posterior = _posterior(X.T @ X, C, alpha, inside, noise)
    if not len(inside) or posterior is None:
        return
    Sigma, mu, S, Q = posterior
    variance = np.diag(Sigma)
    s = (1 - alpha[inside] * variance) / variance
    now = 0.5 * ((mu**2).sum(axis=1) / variance - k * np.log1p(s / alpha[inside]))
    E = X.T @ X[:, inside] @ Sigma / noise
    out = np.maximum(S, 0.0)[:, None] + E * E / variance  # as if the model's column were out
    q2 = ((Q[:, None] + E[:, :, None] * (mu / variance[:, None])) ** 2).sum(axis=2) / k
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
def logistic(
    X, y, s, offset, level, coarse, precisions, weights, alpha, v, follow, tol, change, near, aligned, max_steps
):
    """The same search for two classes by Laplace's evidence, which it returns.

    y is 0 or 1, s are weights, `level` is the precision of the intercept's prior, 0 where there is none. A start also
    has weights (len(coarse) + 1, starts), the intercept last; v (w + 1,) receives those found.
    """
    data, options = (y, s, offset, level), (near, aligned, max_steps)
    models, outcomes = [], []
    for start, weight in zip(precisions.T, weights.T, strict=True):
        if not np.isfinite(start).any():
            outcomes.append(_published(X, data, tol, *options))
            continue
        model = _settled(X[:, coarse], data, start.copy(), weight.copy(), LOOSE, *options)
        value, found, v_found = _improved(X[:, coarse], data, model, tol, *options)
        wide, v_wide = np.full(X.shape[1], np.inf), np.zeros(X.shape[1] + 1)
        wide[coarse], v_wide[coarse], v_wide[-1] = found, v_found[:-1], v_found[-1]
        models.append((value, wide, v_wide))
    models.sort(key=lambda model: -model[0])
    outcomes += [_improved(X, data, model, tol, *options) for model in models[:follow]]
    ends = [_upwards(X, data, model, tol, change, *options) for model in outcomes]
    value, alpha[:], v[:] = max(ends, key=lambda model: model[0])
    return value


def _upwards(X, data, best, tol, change, near, aligned, max_steps):
    """Exchanges of a column until none gains `tol`, and settled."""
    options = near, aligned, max_steps
    while True:
        tries = (_settled(X, data, start, weight, LOOSE, *options) for start, weight in _swapped(X, data, best))
        better = next((model for model in tries if model[0] > best[0] + tol), None)
        if better is None:
            break
        best = _improved(X, data, better, tol, *options)
    return _settled(X, data, best[1], best[2], change, min(near, 1e-4 * change * change), aligned, max_steps)


def _published(X, data, tol, near, aligned, max_steps):
    """From the column most correlated with the labels, a new mode whenever a column enters or leaves."""
    y, s, _, level = data
    alpha, v = np.full(X.shape[1], np.inf), np.zeros(X.shape[1] + 1)
    centred = X - s @ X / s.sum() if level > 0 else X
    norm, c = s @ centred**2, (s * (2 * y - 1)) @ centred
    j, top = _largest(c * c, norm)
    if top > 0:
        v[j] = SCORE * c[j] / norm[j]
        alpha[j] = 1 / v[j] ** 2
    for _ in range(max_steps):
        before = np.isfinite(alpha)
        _, v, omega, target = _mode(X, data, alpha, v, near)
        columns, C = _frozen(X, omega, target, level > 0)
        _steps(columns, C, 1.0, 0.0, alpha, 1.0, 0.0, FINE_CLASSES * tol, aligned, max_steps, ALIKE, once=True)
        if (before == np.isfinite(alpha)).all():
            break
    return _settled(X, data, alpha, v, LOOSE, near, aligned, max_steps)


def _mode(X, data, alpha, v, near):
    """Newton's method to the mode: log evidence, weights, curvature and the targets of the problem that has it."""
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
    return 0.5 * (logs - np.linalg.slogdet(H)[1]) - now, new, omega, omega * F + residual


def _frozen(X, omega, target, free):
    """Columns and products of the Gaussian problem with unit noise that has a mode's curvature and residual."""
    C = X - omega @ X / max(omega.sum(), np.finfo(float).tiny) if free else X
    return np.sqrt(omega)[:, None] * C, (target @ C)[:, None]


def _settled(X, data, alpha, v, change, near, aligned, max_steps):
    """The mode and the precisions at which the problem with its curvature is stationary, in turn."""
    value, v, omega, target = _mode(X, data, alpha, v, near)
    for _ in range(ROUNDS):
        inside = np.flatnonzero(np.isfinite(alpha))
        if not len(inside):
            break
        few = alpha[inside]
        columns, C = _frozen(X[:, inside], omega, target, data[3] > 0)
        sequential(columns, C, 1.0, 0.0, few, 1.0, 0.0, 1e-9, aligned, max_steps)
        moved = np.abs(np.log(few / alpha[inside])).max()
        alpha = alpha.copy()
        alpha[inside] = few
        value, v, omega, target = _mode(X, data, alpha, v, near)
        if moved <= change:
            break
    return value, alpha, v


def _improved(X, data, model, tol, near, aligned, max_steps):
    """The better of a settled model and what the sequential algorithm on all columns makes of it."""
    alpha, v = model[1].copy(), model[2]
    for _ in range(8):
        before = np.isfinite(alpha)
        _, v, omega, target = _mode(X, data, alpha, v, near)
        columns, C = _frozen(X, omega, target, data[3] > 0)
        sequential(columns, C, 1.0, 0.0, alpha, 1.0, 0.0, tol, aligned, max_steps)
        if (before == np.isfinite(alpha)).all():
            break
    found = _settled(X, data, alpha, v, LOOSE, near, aligned, max_steps)
    return found if found[0] > model[0] else model


def _swapped(X, data, model):
    """Starts with one column of the model exchanged for its best replacement."""
    _, v, omega, target = _mode(X, data, model[1], model[2], 1e-12)
    columns, C = _frozen(X, omega, target, data[3] > 0)
    return [
        (start, np.where(np.isfinite(np.append(start, 0.0)), v, 0.0)) for start in _exchanged(columns, C, model[1], 1.0)
    ]
