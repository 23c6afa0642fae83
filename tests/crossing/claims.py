"""What each family of models claims after a fit, and how its judge is asked.

A function takes the fitted model, the row of options, the data and the constructor's parameters, and returns sentences
about false claims.
"""

import warnings

import numpy as np
from scipy.sparse.linalg import aslinearoperator
from scipy.special import log_ndtr

from smaller.errors import OutsideWarning

from . import judges
from .effect_sets import effect_sets
from .group_judges import GroupedSoftmax
from .lasso_judge import GroupedLasso
from .posterior_draws import posterior
from .samples import at_home
from .selection import knockoffs, stability
from .weight_tables import debiased


def _dense(values):
    values = at_home(values)
    values = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    return values if np.iscomplexobj(values) else values.astype(np.float64)


def _columns(row, data, s, basis):
    """The basis' own columns, which must be the judge's up to rounding; the claims are about these."""
    if row["basis"] in ("linear", "precomputed") or basis is None:
        return judges.columns(data.plain, s, row["basis"])
    return _agreeing(_dense(basis.transform(_kept_rows(data))), data.plain, s, row)


def _agreeing(Phi, X, s, row, centre=0.0):
    """Columns made by the package on the inputs X, if they are the judge's up to rounding; `centre` as in there."""
    single = row["layout"] in ("float32", "csr32")
    allowed = judges.column_rounding(X, s, row["basis"], np.finfo(np.float32 if single else np.float64).eps, centre)
    error = np.abs(Phi - judges.columns(X, s, row["basis"]))
    assert (error <= allowed).all(), f"a column is off by {error.max():.3g}"
    return Phi


def _kept_rows(data):
    """The user's rows of positive weight, of the same precision and in the same place; of a table, its array."""
    X = data.X.to_numpy() if hasattr(data.X, "to_numpy") else data.X
    X = X.compute() if hasattr(X, "dask") else X
    if hasattr(X, "rmatvec"):
        return aslinearoperator(data.plain)
    if hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray):
        xp = X.__array_namespace__()
        return xp.take(X, xp.asarray(data.kept, device=X.device), axis=0)
    return X[data.kept]


def _class_weighted(data, given):
    """Sample weights times class weights."""
    return data.s * judges.class_factors(given["class_weight"], data.target, data.s, data.labels)


def _sane(model, data):
    """Probabilities are finite and sum to 1."""
    P = np.asarray(at_home(model.predict_proba(data.X, data.offset)))
    return [] if np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1.0) else ["probabilities do not sum to 1"]


# -- softmax with L1 and ridge


def _softmax_problem(row, data, given, lam, l2, basis=None):
    s = _class_weighted(data, given)
    Phi = _columns(row, data, s, basis)
    unit = judges.weighted_spread(Phi, s, row["fit_intercept"]) if row["standardize"] else np.ones(Phi.shape[1])
    factor = 1.0 if given["penalty_factor"] is None else given["penalty_factor"]
    reference = row["parametrization"] == "reference" and row["classes"] > 2
    share = given.get("l1_share", 0.0) if given.get("groups") is not None else 1.0
    posed = (
        Phi, data.target, row["classes"], s, data.shift, share * lam * factor * unit, l2 * factor * unit**2,
        row["fit_intercept"], reference,
    )  # fmt: skip
    problem = judges.Softmax(*posed) if share == 1 else _grouped(posed, given, (1 - share) * lam, factor, unit)
    if basis is None and row["basis"] in ("rbf", "given centres"):  # the model's own columns are not known
        problem.blur += judges.column_rounding(data.plain, s, row["basis"], np.finfo(float).eps)
    return problem


def _grouped(posed, given, lam, factor, unit):
    """The same with norms of groups; their factors are the user's, or the roots of their numbers of columns."""
    d = posed[0].shape[1]
    if isinstance(given["groups"], str):
        return GroupedSoftmax(*posed, labels=np.arange(d), tau=lam * factor * np.ones(d), unit=unit)
    labels = np.asarray(given["groups"])
    c = np.sqrt(np.bincount(labels)) if given["group_factor"] is None else np.asarray(given["group_factor"])
    return GroupedSoftmax(*posed, labels=labels, tau=lam * c, unit=unit)


def _scored(coef, intercept, problem):
    """Weights and intercepts of the scored classes: all, all but the last, or the second of two."""
    k = len(problem.scored)
    return _dense(coef)[:k], np.asarray(at_home(intercept), dtype=np.float64)[:k]


def softmax(model, row, data, given):
    """SMLR, SMLRCV and SBMLR: objective, dual gap, status, probabilities, at the strength used."""
    return _softmax(model, row, data, given, getattr(model, "lam_", row.get("lam")), row.get("l2", 0.0))


def searched(model, row, data, given):
    """SMLRCV: the same at the ridge term chosen; a relaxed model is its L1 fit, mixed with one without a penalty."""
    lam, l2, share = model.lam_, model.l2_, model.lasso_share_
    told = _chosen(model)
    if share == 1.0:
        return told + _softmax(model, row, data, given, lam, l2)
    problem, at = _softmax_problem(row, data, given, lam, l2, model.basis_), model.path_.at(lam)
    L1, own = (_scored(*each, problem) for each in ((at.coef, at.intercept), (model.coef_, model.intercept_)))
    told += _probabilities(model, row, data, problem.scores(*own), problem.score_rounding(*own))
    told += judges.judge_convex(problem, *L1, model.objective_, model.dual_gap_, model.tol, model.status_)
    kept = np.flatnonzero(L1[0].any(axis=0))
    free = judges.Softmax(
        problem.Phi[:, kept], data.target, row["classes"], problem.s, data.shift, 0.0, 0.0, row["fit_intercept"],
        row["parametrization"] == "reference" and row["classes"] > 2,
    )  # fmt: skip
    W, b = ((mixed - share * each) / (1 - share) for mixed, each in zip(own, L1, strict=True))
    reached, least = free.value(W[:, kept], b), free.value(*free.settle(W[:, kept], b)[:2])
    allowed = 2 * model.tol * abs(reached) + judges.ROUNDING * problem.s.sum() * (1 + np.abs(free.shift).max())
    return told + ([] if reached - least <= allowed else [f"the refit is {reached - least:.3g} nats above its least"])


def _chosen(model):
    """By the rule "min" no candidate has a better mean score; by "1se" the best is within a standard error."""
    scores = getattr(model, "all_scores_", model.scores_[:, None, None])
    mean, mine = scores.mean(axis=0), model.scores_[:, list(model.lams_).index(model.lam_)].mean()
    place = np.unravel_index(mean.argmax(), mean.shape)
    best = scores[(slice(None), *place)]
    slack = 0.0 if model.rule == "min" else best.std(ddof=1) / np.sqrt(len(best))
    good = mine >= best.mean() - slack - 1e-9 * abs(best.mean())
    return [] if good else [f"a candidate has the mean score {best.mean():.6g}, the one chosen {mine:.6g}"]


def ridge(model, row, data, given):
    """RMLR: the same without L1."""
    return _softmax(model, row, data, given, 0.0, getattr(model, "lam_", row["lam"]))


def _softmax(model, row, data, given, lam, l2):
    problem = _softmax_problem(row, data, given, lam, l2, model.basis_)
    W, b = _scored(model.coef_, model.intercept_, problem)
    claimed = model.objective_, model.dual_gap_, model.tol, model.status_
    told = _probabilities(model, row, data, problem.scores(W, b), problem.score_rounding(W, b))
    return told + judges.judge_convex(problem, W, b, *claimed)


def path(found, row, data, given):
    """Each point of a path: objective and dual gap."""
    complaints = []
    for i, (lam, coef) in enumerate(zip(found.lams, found.coefs, strict=True)):
        problem = _softmax_problem(row, data, given, lam, row["l2"])
        W, b = _scored(coef, found.intercepts[i], problem)
        told = judges.judge_convex(problem, W, b, found.objectives[i], found.dual_gaps[i], np.inf, "")
        complaints += [f"point {i}: {each}" for each in told]
    return complaints


def _probabilities(model, row, data, F, rounding):
    """Predicted probabilities are those of the scores, up to the rounding of large scores and of their terms."""
    if row["layout"] == "dask":  # takes no offset in prediction
        return [] if np.isfinite(np.asarray(model.predict_proba(data.X))).all() else ["a probability is not finite"]
    P = np.asarray(at_home(model.predict_proba(data.X, data.offset)))
    E = np.exp(F - F.max(axis=1, keepdims=True))
    error = np.abs(P[data.kept] - E / E.sum(axis=1, keepdims=True)).max()
    allowed = 1e-12 * np.abs(F).max() + rounding.max() + (1e-3 if row["layout"] in ("float32", "csr32") else 1e-6)
    return [] if error <= allowed else [f"a probability is {error:.2g} off"]


# -- real targets


def _posed(row, data, basis):
    """Targets without their offset, and the columns."""
    y = data.target if data.shift is None else data.target - data.shift
    return y, _columns(row, data, data.s, basis)


def _nothing_left(w, r, y):
    """A noise of 0 is that of targets which the intercept alone explains: there is no objective in its units."""
    return [] if not w.any() and np.abs(r).max() <= 1e-14 * np.abs(y).max() else ["noise_ is 0"]


def lasso(model, row, data, given):
    """LaplaceRegressor: objective and dual gap at the noise found, and that the noise is that of the residuals."""
    y, Phi = _posed(row, data, model.basis_)
    W, b, s = np.atleast_2d(_dense(model.coef_)), np.atleast_1d(model.intercept_), data.s
    Y, unit = y.reshape(len(y), -1), np.ones(Phi.shape[1])
    R = Y - Phi @ W.T - b
    if model.noise_ == 0:
        return _nothing_left(W, R, Y)
    if row["standardize"]:
        unit = judges.weighted_spread(Phi, s, row["fit_intercept"]) / np.sqrt(model.noise_)
    problem, w = _lasso_problem(Phi, Y, s, model, given, unit), W
    if isinstance(problem, judges.Lasso):
        w, b = W[0], b[0]
    complaints = judges.judge_convex(problem, w, b, model.objective_, model.dual_gap_, model.tol, model.status_)
    ridge = row.get("l2", 0.0) * float((_finite(given, W) * unit**2 * W**2).sum()) * model.noise_ * row["standardize"]
    noise = (float((s @ R**2).sum()) + ridge) / s.sum() / len(W)
    if row["noise"] == "learn" and model.status_ == "converged" and abs(noise / model.noise_ - 1) > 1e-5:
        complaints.append(f"noise_ is {model.noise_:.9g}, the residuals have {noise:.9g}")
    return complaints


def _finite(given, W):
    """Penalty factors of all weights."""
    factor = given.get("penalty_factor")
    return np.ones(W.shape) if factor is None else np.broadcast_to(factor, W.shape)


def _lasso_problem(Phi, Y, s, model, given, unit):
    """The plain lasso of one target, or the judge of all terms."""
    (_, k), d = Y.shape, Phi.shape[1]
    if given.get("groups") is None and not given.get("l2") and given.get("penalty_factor") is None and k == 1:
        return judges.Lasso(Phi, Y[:, 0], s, model.noise_, model.lam_ * unit, given["fit_intercept"])
    factor, share = _finite(given, np.zeros((k, d))), given["l1_share"] if given["groups"] is not None else 1.0
    labels, tau = np.full(d, -1), np.zeros(0)
    if isinstance(given["groups"], str):
        labels, tau = np.arange(d), (1 - share) * model.lam_ * factor[0]
    elif given["groups"] is not None:
        labels = np.asarray(given["groups"])
        c = np.sqrt(np.bincount(labels)) if given["group_factor"] is None else np.asarray(given["group_factor"])
        tau = (1 - share) * model.lam_ * c
    l1, l2 = share * model.lam_ * factor * unit, given["l2"] * factor * unit**2
    return GroupedLasso(Phi, Y, s, model.noise_, l1, l2, given["fit_intercept"], labels, tau, unit)


def jeffreys(model, row, data, given):
    """JeffreysRegressor: objective and stationarity on the survivors."""
    y, Phi = _posed(row, data, model.basis_)
    w, noise, s = _dense(model.coef_), model.noise_, data.s
    r = y - Phi @ w - model.intercept_
    if noise == 0:
        return _nothing_left(w, r, y)
    value = float(s @ r**2) / (2 * noise) + s.sum() / 2 * np.log(noise) + float(np.log(np.abs(w[w != 0])).sum())
    missed = judges.survivors_violation(Phi, w, -r / noise, s, 1 / np.sqrt(noise) if row["fit_intercept"] else 0.0)
    size = np.abs(Phi) @ np.abs(w) + np.abs(model.intercept_) + np.abs(y)
    rounding = judges.survivors_rounding(Phi, w, size, s, 1 / noise)
    blur = judges.evidence_rounding(Phi, w, model.intercept_, y, s, noise)
    told = judges.compare("objective_", model.objective_, value, s, blur)
    return told + judges.compare_violation(model, missed, rounding)


def evidence(model, row, data, given):
    """TypeIIRegressor and RVMRegressor: log evidence of the variances and the noise, and violation over all columns."""
    y, Phi = _posed(row, data, model.basis_)
    gamma, noise, intercept = _dense(model.gamma_), model.noise_, row["fit_intercept"]
    known = Phi, _dense(model.coef_), at_home(model.intercept_), y, data.s
    value, least = judges.log_evidence(Phi, y, data.s, gamma, noise, intercept)
    blur = judges.evidence_rounding(*known, noise)
    told = judges.compare("evidence_", model.evidence_, value, data.s, blur)
    missed = judges.mean_missed(*known, gamma, noise, least)
    if not missed <= judges.SAME * (1 + least) + 4 * blur:
        told.append(f"coef_ is not the posterior mean: {missed:.3g} nats off")
    # A noise at its floor is not free; there the fit interpolates.
    free = row["noise"] == "learn" and model.status_ != "interpolates" and not _held_out(row, Phi, y, data.s)
    labels = given.get("groups")
    low, high = judges.evidence_violation(*known, gamma, noise, intercept, free, labels)
    if model.status_ == "interpolates":
        high = max(high, judges.evidence_violation(*known, gamma, noise, intercept, True, labels)[1])
    if labels is not None:
        told += [f"variances of group {g} differ" for g in np.unique(labels) if _differ(gamma[labels == g])]
    told += judges.compare_between("violation_", model.violation_, low, high)
    if model.status_ == "converged" and not model.violation_ <= model.tol:
        told.append(f"status converged with a violation of {model.violation_:.3g} above tol={model.tol:.3g}")
    return told + finite(model, row, data, given)


def _differ(gamma):
    """Whether variances of a group's columns differ; constant columns have none."""
    kept = gamma[gamma > 0]
    return len(kept) > 0 and np.ptp(kept) > 1e-12 * kept.max()


def _held_out(row, Phi, y, s):
    """Whether the noise was chosen by samples held out, as it is by "auto" where columns exceed half the samples."""
    if row.get("algorithm") != "auto" or row["basis"] not in ("linear", "quadratic") or row["layout"] == "strict":
        return False
    n, intercept = s.sum(), row["fit_intercept"]
    center = s @ Phi / n if intercept else 0.0
    spread = s @ np.abs(Phi - center) ** 2
    columns, total = np.count_nonzero(spread > 1e-24 * (s @ np.abs(Phi) ** 2)), n - intercept
    if row.get("complex"):
        columns, total = 2 * columns, 2 * total
    varies = np.ptp(y[s > 0], axis=0).any() if intercept else y.any()
    return total >= 4 and varies and 2 * columns > total


def type_one(model, row, data, given):
    """TypeIRegressor: objective, duality gap under a Laplace prior, and violation."""
    y, Phi = _posed(row, data, model.basis_)
    prior, lam, learned = row["prior"], model.lambda_, row["noise"] == "learn"
    unit = 1.0
    if prior == "student" and learned:  # it counts weights in units of the targets' root mean square
        plain = judges.TypeOne(Phi, y, data.s, prior, None, row["fit_intercept"])
        unit = np.sqrt(plain.square(plain.T)) or 1.0
    if not learned and lam != row["noise"]:
        return [f"lambda_ is {lam!r} where {row['noise']} was given"]
    problem = judges.TypeOne(Phi, y, data.s, prior, None if learned else lam, row["fit_intercept"], unit)
    X = problem.weights(_dense(model.coef_) / unit)
    size, r = judges._terms(Phi, _dense(model.coef_), model.intercept_, y)
    told = finite(model, row, data, given)
    if not r.any() or (model.status_ == "interpolates" and prior != "laplace"):
        return told  # what is left is rounding, of which a logarithm or a power is no number to compare
    eps = 16 * np.finfo(float).eps
    problem.blur = eps * float(np.sqrt((data.s[:, None] * size**2).sum())) / unit
    if prior == "laplace":
        told += judges.judge_convex(problem, X, None, model.objective_, model.dual_gap_, model.tol, model.status_)
        missed = [problem.misses(X, D) for D in problem.duals(X)]
        far = problem.pulled(X) / problem.b
        return told + judges.compare_between(
            "violation_", model.violation_, max(min(missed) - far, 0.0), max(missed) + far
        )
    told += judges.compare("objective_", model.objective_, problem.value(X), data.s, problem.value_rounding(X))
    low, high = problem.stationarity(X)
    high = high if prior in ("gaussian", "student") else max(low, high)
    largest = np.sqrt(((problem.A.T @ problem.T) ** 2).mean(axis=1)).max(initial=0.0) or 1.0
    far = 2 * problem.blur / largest
    told += judges.compare_between("violation_", model.violation_, max(low - far, 0.0), high + far)
    if model.status_ == "converged" and not model.violation_ <= model.tol:
        told.append(f"status converged with a violation of {model.violation_:.3g} above tol={model.tol:.3g}")
    return told


def finite(model, row, data, given):
    """Predictions, error bars and the objective are numbers."""
    outside = row.get("outside", "warn")
    mean, std = (at_home(each) for each in model.predict(data.X, return_std=True, outside="ignore"))
    if outside == "widen":
        wide = at_home(model.predict(data.X, return_std=True, outside="widen")[1])
        if not (np.isfinite(wide).all() and (wide >= std * (1 - 1e-6)).all()):
            return ["outside='widen' narrows an interval, or one is not finite"]
    elif outside != "ignore":  # no sample that was fitted is far from all of these
        kept = data.X.iloc[data.kept] if hasattr(data.X, "iloc") else _kept_rows(data)
        with warnings.catch_warnings():
            warnings.simplefilter("error", OutsideWarning)
            model.predict(kept, return_std=True, outside=outside)
    good = np.isfinite(mean).all() and np.isfinite(std).all() and np.isfinite(model.objective_)
    return [] if good else [f"a prediction, its error bar or the objective {model.objective_} is not finite"]


# -- labels, one against the rest


def _machines(model, row, data):
    """Weights, intercept, signs and offset of the second class, or of each class against the rest."""
    m = row["classes"]
    for at, c in enumerate([1] if m == 2 else range(m)):
        shift = 0.0 if data.shift is None else data.shift[:, 1] - data.shift[:, 0] if m == 2 else data.shift[:, c]
        yield _dense(model.coef_)[at], model.intercept_[at], np.where(data.target == c, 1.0, -1.0), shift


def probit(model, row, data, given):
    """JeffreysClassifier: objective and stationarity on the survivors, summed and worst over the classes."""
    s, value, worst, rounding, blur = _class_weighted(data, given), 0.0, 0.0, 0.0, 0.0
    Phi = _columns(row, data, s, model.basis_)
    for w, b, t, shift in _machines(model, row, data):
        F = Phi @ w + b + shift
        value += -float(s @ log_ndtr(t * F)) + float(np.log(np.abs(w[w != 0])).sum())
        slope = -t * judges.normal_hazard(t * F)
        worst = max(worst, judges.survivors_violation(Phi, w, slope, s, float(row["fit_intercept"])))
        size = np.abs(Phi) @ np.abs(w) + np.abs(b) + np.abs(shift)
        rounding = max(rounding, judges.survivors_rounding(Phi, w, size, s, 1.0))
        blur += 16 * np.finfo(float).eps * float(s @ (size * np.abs(slope)))  # what rounding of scores does to the loss
    told = judges.compare("objective_", model.objective_, value, s, blur)
    told += judges.compare_violation(model, worst, rounding)
    return told + _sane(model, data)


def scaled(model, row, data, given):
    """JCFO: the objective of weights and scalings."""
    s, value, blur = _class_weighted(data, given), 0.0, 0.0
    unit = judges.weighted_spread(data.plain, s) ** 2 if row["standardize"] else np.ones(data.plain.shape[1])
    for (w, b, t, shift), theta in zip(_machines(model, row, data), model.theta_, strict=True):
        K, unsure = judges.scaled_kernel(data.plain, theta, row["basis"])
        F = K @ w + b + shift
        penalty = row["lam"] * float(np.abs(w).sum()) + row["lam_theta"] * float(unit @ theta)
        value += penalty - float(s @ log_ndtr(t * F))
        size = unsure @ np.abs(w) + np.abs(b) + np.abs(shift)
        blur += 16 * np.finfo(float).eps * float(s @ (size * judges.normal_hazard(t * F)))
    return judges.compare("objective_", model.objective_, value, s, blur) + _sane(model, data)


def boosted(model, row, data, given):
    """LRVM: the penalised loss at the point taken."""
    s, X, centre = _class_weighted(data, given), data.plain, 0.0
    if row["standardize"] and row["basis"] != "precomputed":
        centre = s @ X / s.sum() / judges.weighted_spread(X, s)
        X = judges.standardized(X, s, row["layout"].startswith("cs"))
    Phi = judges.columns(X, s, row["basis"])
    if row["basis"] != "precomputed":
        Phi = _dense(model.basis_.transform(_kept_rows(data)))
        Phi = Phi if row["layout"] in ("float32", "csr32") else _agreeing(Phi, X, s, row, centre)
    value, blur = _penalised(model, row, data, s, [Phi], np.abs(_dense(model.coef_)).sum(axis=1))
    return judges.compare("objective_", model.objective_, value, s, blur) + _sane(model, data)


def _penalised(model, row, data, s, designs, penalties):
    """The penalised loss of one softmax, or of one machine for each class, and its rounding; finite strengths count."""
    m, lams, W = row["classes"], np.atleast_1d(model.lam_), _dense(model.coef_)
    lams = np.where(np.isfinite(lams), lams, 0.0)
    if m == 2 or row["multiclass"] == "multinomial":
        problem = judges.Softmax(designs[0], data.target, m, s, data.shift, 0.0, 0.0, row["fit_intercept"], False)
        given = W, model.intercept_
        return problem.value(*given) + lams[0] * float(np.sum(penalties)), problem.value_rounding(*given)
    value, blur = float(lams @ penalties), 0.0
    for at, (w, b, t, shift) in enumerate(_machines(model, row, data)):
        Phi = designs[at % len(designs)]
        F = Phi @ w + b + shift
        size = np.abs(Phi) @ np.abs(w) + np.abs(b) + np.abs(shift)
        value += float(s @ np.logaddexp(0.0, -t * F))
        blur += 8 * np.finfo(float).eps * float(s @ (size * np.exp(-np.logaddexp(0.0, t * F))))
    return value, blur


def gated(model, row, data, given):
    """JFSCL: the weights and gates of the point taken, and its penalised loss, rejected gates as they were there."""
    s, p = _class_weighted(data, given), data.plain.shape[1]
    paths, points = model.path_ if isinstance(model.path_, list) else [model.path_], np.atleast_1d(model.point_)
    told, W, gates = [], [], []
    for path, point in zip(paths, points, strict=True):
        steps = np.zeros(path.size)
        np.add.at(steps, path.coordinates[:point], path.signs[:point])
        weights, v = np.split(model.step * steps, [path.size - p])
        W.append(weights.reshape(path.intercepts.shape[1], -1))
        gates.append(1 / (1 + np.exp(-model.steepness * v)))
    W, gates = np.vstack(W), np.array(gates)
    if not np.array_equal(_dense(model.coef_), W):
        told.append("coef_ is not what the moves add up to")
    if not np.allclose(np.reshape(model.gates_, gates.shape), np.where(gates < 0.5, 0.0, gates), rtol=1e-12, atol=0.0):
        told.append("gates_ are not what the moves add up to")
    kernels = [judges.gated_kernel(data.plain, s, each, row["standardize"]) for each in gates]
    penalties = gates.sum(axis=1) + np.abs(W).reshape(len(gates), -1).sum(axis=1)
    value, blur = _penalised(model, row, data, s, kernels, penalties)
    return told + judges.compare("objective_", model.objective_, value, s, blur) + _sane(model, data)


def relevance(model, row, data, given):
    """RVMClassifier: minus the Laplace evidence at the mode, the slopes in the variances, and that it is the mode."""
    s, m, eye = _class_weighted(data, given), row["classes"], np.eye(row["classes"])[data.target]
    Phi, W = _columns(row, data, s, model.basis_), _dense(model.coef_)
    b, gamma = _dense(model.intercept_), _dense(model.gamma_).reshape(W.shape)
    shift = np.zeros((1, m)) if data.shift is None else data.shift
    if m == 2:
        parts = [(eye[:, [1]], shift[:, [1]] - shift[:, [0]], slice(None))]
    elif row["multiclass"] == "multinomial":
        parts = [(eye, shift, slice(None))]
    else:
        parts = [(eye[:, [c]], shift[:, [c]], slice(c, c + 1)) for c in range(m)]
    found = [
        judges.LabelledEvidence(Phi, Y, s, part, gamma[rows], W[rows], b[rows], row["fit_intercept"]).evaluate()
        for Y, part, rows in parts
    ]
    value, told = -sum(each.evidence for each in found), []
    allowed = judges.SAME * abs(value) + sum(each.rounding for each in found) + judges.ROUNDING * (s.sum() + len(s))
    if not abs(model.objective_ - value) <= allowed:
        told.append(f"objective_ is claimed to be {model.objective_:.15g} and is {value:.15g}")
    slope = max(each.slope for each in found)
    if not model.violation_ >= slope * (1 - 1e-3) - 1e-6 - sum(each.blur for each in found):
        told.append(f"violation_ is claimed to be {model.violation_:.3g}, but a slope is {slope:.3g}")
    if model.status_ == "converged" and not model.violation_ <= model.tol:
        told.append(f"status converged with a violation of {model.violation_:.3g}")
    admitted = 0.0 if model.status_ == "converged" else model.violation_
    if any(each.decrement > 1e-6 + each.blur + admitted for each in found):
        told.append(f"coef_ is not the mode: decrements {[float(f'{each.decrement:.3g}') for each in found]}")
    return told + _sane(model, data)


def dual_space(model, row, data, given):
    """TypeIIClassifier: the objective of Theorem 3 or 5 at the weights and variances, with its constant."""
    s, m = _class_weighted(data, given), row["classes"]
    Phi, W = _columns(row, data, s, model.basis_), _dense(model.coef_)
    a1, a2, c = (0.5, 4.0 if m == 2 else 2.0, 0.5) if row["alpha"] is None else (*row["alpha"], 1.0)
    gamma = np.asarray(model.gamma_).reshape(W.shape)
    loss = judges.Softmax(Phi, data.target, m, s, data.shift, 0.0, 0.0, row["fit_intercept"], False)
    value = loss.value(W, model.intercept_) + a1 * float((W[W != 0] ** 2 / gamma[W != 0]).sum())
    value += c * sum(judges.log_determinant(Phi, s, each, a2, row["fit_intercept"]) for each in gamma)
    size = (
        np.abs(Phi) @ np.abs(W.T) + np.abs(model.intercept_) + (0.0 if data.shift is None else np.abs(data.shift).max())
    )
    blur = 16 * np.finfo(float).eps * float(s @ size.max(axis=1)) + loss.value_rounding(W, model.intercept_)
    told = judges.compare("objective_", model.objective_, value, s, blur)
    if not np.array_equal(W != 0, gamma != 0):
        told.append("weights and variances do not vanish together")
    if model.status_ == "converged" and not model.violation_ <= np.sqrt(model.tol):
        told.append(f"status converged with a violation of {model.violation_:.3g}")
    return told + _sane(model, data)


FAMILIES = (
    softmax, searched, ridge, path, lasso, jeffreys, evidence, type_one, probit, scaled, boosted, gated, relevance,
    dual_space, stability, knockoffs, debiased, posterior, effect_sets,
)  # fmt: skip
CLAIMS = {each.__name__: each for each in FAMILIES}
