"""What credible sets claim: sets and inclusion from the weights of the effects, and these from the data alone."""

import numpy as np
from scipy.special import logsumexp

CLOSE = 5e-3  # inclusion weights of a fit that was stopped by its tolerance


def _standard(X, s):
    """Columns about their weighted means in units of their deviations, 0 where constant; and what varies."""
    mean = s @ X / s.sum()
    Z = X - mean
    deviation = np.sqrt(s @ Z**2 / s.sum())
    varies = np.ptp(X, axis=0) > 0
    return np.where(varies, Z / np.where(varies, deviation, 1.0), 0.0), np.where(varies, deviation, np.inf), varies


def _sets(model, given, Z, s, single):
    """Complaints about sets, their probability and purity, and the probabilities of inclusion."""
    told, used = [], np.flatnonzero(model.prior_variance_ > 0)
    alpha = model.effect_inclusion_
    if not np.allclose(model.inclusion_, 1 - np.prod(1 - alpha[used], axis=0), atol=1e-12):
        told.append("inclusion_ is not that of the effects")
    C = np.abs((Z * s[:, None]).T @ Z / s.sum())
    for features, share, purity, effect in zip(
        model.sets_, model.set_probability_, model.purity_, model.set_effect_, strict=True
    ):
        weights = alpha[effect]
        inside = weights[features]
        least = C[np.ix_(features, features)].min() if len(features) > 1 else 1.0
        if effect not in used or abs(inside.sum() - share) > 1e-9 or share < given["level"] * (1 - 1e-9):
            told.append(f"a set of probability {share} has {inside.sum()}")
        if (
            inside.sum() - inside.min() >= given["level"] + 1e-9
            or np.delete(weights, features).max(initial=0) > inside.min()
        ):
            told.append("a set is not the smallest")
        if abs(least - purity) > (1e-3 if single else 1e-8) or purity < given["min_purity"]:
            told.append(f"the purity of a set is {least}, not {purity}")
    listed = {tuple(sorted(features)) for features in model.sets_}
    if len(listed) < len(model.sets_) or sorted({j for each in listed for j in each}) != model.support_.tolist():
        told.append("sets are repeated, or support_ is not their union")
    return told


def _gaussian(model, given, Z, scale, varies, y, s):
    """The inclusion weights, noise, bound and coef_ that belong to each other, from the weights and the data alone."""
    alpha, v, noise, total = model.effect_inclusion_, model.prior_variance_, model.noise_, s.sum()
    y = y - s @ y / total
    used = np.flatnonzero(v > 0)
    if noise < 1e-6 * float(s @ y**2) / total or not len(used):
        return []
    info, mu = np.where(varies, total / noise, 0.0), np.zeros(alpha.shape)
    spread = 1 / (info + 1 / v[used, None])
    for _ in range(2000):
        before = mu.copy()
        for place, effect in enumerate(used):
            others = Z @ (alpha[used] * mu[used]).sum(axis=0) - Z @ (alpha[effect] * mu[effect])
            mu[effect] = spread[place] * (Z.T @ (s * (y - others))) / noise
        if np.abs(mu - before).max() <= 1e-13 * np.abs(mu).max():
            break
    told, prior = [], np.where(varies, 1.0 if given["prior_inclusion"] is None else given["prior_inclusion"], 0.0)
    with np.errstate(divide="ignore"):
        odds = np.log(prior / prior.sum()) + 0.5 * np.log(spread / v[used, None]) + mu[used] ** 2 / (2 * spread)
    factor = logsumexp(odds, axis=1)
    off = np.abs(np.exp(odds - factor[:, None]) - alpha[used]).max()
    if off > CLOSE:
        told.append(f"inclusion weights are {off:.2g} off")
    w, fits = (alpha[used] * mu[used]).sum(axis=0), (alpha[used] * mu[used]) @ Z.T
    if np.abs(model.coef_ * np.where(varies, scale, 1.0) - w).max() > CLOSE * (
        np.abs(w).max() + np.sqrt(noise / total)
    ):
        told.append("coef_ is not the expected weight")
    second = total * (alpha[used] * (mu[used] ** 2 + spread)).sum()
    squares = s @ (y - Z @ w) ** 2 + max(0.0, second - (fits**2 @ s).sum())
    if given["noise"] == "learn" and abs(squares / total / noise - 1) > CLOSE:
        told.append(f"noise_ is {noise}, the expected squares are {squares / total}")
    slope = mu[used] / spread
    divergence = (alpha[used] * (mu[used] * slope - 0.5 * (mu[used] ** 2 + spread) * info)).sum(axis=1) - factor
    bound = -0.5 * total * np.log(2 * np.pi * noise) - squares / (2 * noise) - divergence.sum()
    if abs(bound - model.elbo_) > 1e-3 + 1e-9 * abs(bound):
        told.append(f"elbo_ is {model.elbo_}, not {bound}")
    return told


def _alone(z, codes, m, s, v):
    """Log-likelihood, less the prior and half of log|H|, at the mode of one feature; None of it where z is None."""
    C = np.array([[-0.5], [0.5]]) if m == 2 else np.linalg.qr(np.eye(m) - 1 / m)[0][:, : m - 1]
    k = m - 1
    A = np.einsum("mk,n->nmk", C, np.ones(len(s)))
    if z is not None:
        A = np.concatenate([A, C[None] * z[:, None, None]], axis=2)
    ridge = np.full(A.shape[2], 1e-8)  # of the intercepts
    ridge[k:] = 1 / v
    beta = np.zeros(A.shape[2])

    def parts(beta):
        F = A @ beta
        P = np.exp(F - logsumexp(F, axis=1, keepdims=True))
        value = s @ (F[np.arange(len(s)), codes] - logsumexp(F, axis=1)) - 0.5 * ridge @ beta**2
        gradient = np.einsum("n,nmk,nm->k", s, A, np.eye(m)[codes] - P) - ridge * beta
        centred = A - np.einsum("nm,nmk->nk", P, A)[:, None]
        return value, gradient, np.einsum("n,nm,nmk,nml->kl", s, P, centred, centred) + np.diag(ridge)

    value, gradient, H = parts(beta)
    for _ in range(200):
        step = np.linalg.solve(H, gradient)
        if gradient @ step < 1e-10:
            break
        length = 1.0
        while length > 1e-12 and not parts(beta + length * step)[0] >= value:
            length /= 2
        beta = beta + length * step
        value, gradient, H = parts(beta)
    scaled = 0.5 * k * np.log(v) if z is not None else 0.0
    return value - scaled - 0.5 * np.linalg.slogdet(H)[1]


def _single_effect(model, given, Z, varies, codes, m, s):
    """The inclusion weights of one effect on classes: every feature alone, by Newton's method."""
    v = model.prior_variance_[0]
    if not v > 0:
        return []
    prior = np.where(varies, 1.0 if given["prior_inclusion"] is None else given["prior_inclusion"], 0.0)
    kept = np.flatnonzero(prior)
    odds = np.array([_alone(Z[:, j], codes, m, s, v) for j in kept]) + np.log(prior[kept])
    off = np.abs(np.exp(odds - logsumexp(odds)) - model.effect_inclusion_[0][kept]).max()
    return [] if off <= CLOSE else [f"inclusion weights are {off:.2g} off"]


def effect_sets(model, row, data, given):
    """CredibleSetsRegressor and CredibleSetsClassifier."""
    single = row["layout"] in ("float32", "csr32")
    Z, scale, varies = _standard(data.plain, data.s)
    told = _sets(model, given, Z, data.s, single)
    F = data.plain @ np.atleast_2d(model.coef_).T + model.intercept_
    size = np.abs(data.plain) @ np.abs(np.atleast_2d(model.coef_)).T + np.abs(model.intercept_)
    allowed = 1e-7 + (1e-4 if single else 1e-13) * size.max(axis=1, keepdims=True)
    if not row["classes"]:
        if not (np.abs(model.predict(data.X)[data.kept] - F[:, 0]) <= allowed[:, 0]).all():
            told.append("predictions are not those of coef_")
        judged = model.converged_ and not single
        return told + (_gaussian(model, given, Z, scale, varies, data.target, data.s) if judged else [])
    F = np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F
    P = np.exp(F - logsumexp(F, axis=1, keepdims=True))
    if not (np.abs(model.predict_proba(data.X)[data.kept] - P) <= allowed).all():
        told.append("probabilities are not those of coef_")
    if given["method"] == "laplace" and given["n_effects"] == 1 and model.converged_ and not single:
        told += _single_effect(model, given, Z, varies, data.target, row["classes"], data.s)
    return told
