"""What sample_posterior claims: numbers that follow from the draws and the data by their definitions."""

import warnings

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logsumexp, ndtr

import smaller

from . import judges

EPS = np.finfo(float).eps
FAR = 7.0  # standard errors of the mean of independent draws


def _scores(draws, intercept, X, shift):
    """Scores (draws, n, rows), and how large their terms are, (n,)."""
    F = np.einsum("cdrj,ij->cdir", draws, X) + intercept[:, :, None]
    size = np.einsum("rj,ij->i", np.abs(draws).max(axis=(0, 1)), np.abs(X)) + np.abs(intercept).max()
    if shift is not None:
        F, size = F + shift, size + np.abs(shift).max(axis=-1)
    return F.reshape(-1, *F.shape[2:]), size


def _shift(row, data):
    """The offset in the columns of the scores."""
    if data.shift is None:
        return None
    if not row["classes"]:
        return data.shift[:, None]
    return data.shift[:, 1:] - data.shift[:, :1] if row["classes"] == 2 else data.shift


def _log_likelihood(F, row, data, s, noise):
    if not row["classes"]:
        residual = data.target - F[:, :, 0]
        return -0.5 * s.sum() * np.log(2 * np.pi * noise) - 0.5 * (residual**2 @ s) / noise
    F = np.concatenate([np.zeros_like(F), F], axis=2) if row["classes"] == 2 else F
    return (F[:, np.arange(len(s)), data.target] - logsumexp(F, axis=2)) @ s


def _probabilities(F, link):
    """Averages over the draws."""
    if link == "softmax":
        F = np.concatenate([np.zeros_like(F), F], axis=2) if F.shape[2] == 1 else F
        return np.exp(F - logsumexp(F, axis=2, keepdims=True)).mean(axis=0)
    if F.shape[2] == 1:
        P = expit(F) if link == "one-versus-rest" else ndtr(F)
        return np.concatenate([1 - P, P], axis=2).mean(axis=0)
    P = log_expit(F) if link == "one-versus-rest" else log_ndtr(F)
    return np.exp(P - logsumexp(P, axis=2, keepdims=True)).mean(axis=0)


def posterior(sample, row, data, given):
    """The sample of sample_posterior: of the model's posterior, or of its normal approximation."""
    conditional = bool(sample.settings.get("conditional"))
    told = _summaries(sample, row, given)
    told += _approximation(sample, given) if conditional else _draws(sample, row, data, given)
    single = row["layout"] in ("float32", "csr32")
    F, size = _scores(sample.coef, sample.intercept, data.plain, _shift(row, data))
    if row["classes"]:
        P = _probabilities(F, sample.settings.get("link", "softmax"))
        found = sample.predict_proba(data.X, data.offset)[data.kept]
        off = (np.abs(found - P) / (1e-7 + (1e-3 if single else 64 * EPS) * size[:, None])).max()
    else:
        off = np.abs(sample.predict(data.X, data.offset)[data.kept] - F.mean(axis=0)[:, 0])
        off = (off / (size + np.abs(data.target).max()) / (1e-5 if single else 1e-12)).max()
    return told if off <= 1 else [*told, f"predictions are {off:.2g} of what rounding allows"]


def _summaries(sample, row, given):
    """Means, intervals, signs and sizes are those of the draws, and the same seed gives the same draws."""
    W, told = sample.coef.reshape(-1, *sample.coef.shape[2:]), []
    ends = np.sort(W, axis=0)
    low, high = sample.interval(0.8)
    below, above = (low > W).mean(axis=0), (high < W).mean(axis=0)
    moved = ends[0] < ends[-1]
    share = 0.1 + 1 / len(W)
    if (below > share).any() or (above > share).any() or ((below + above)[moved] < 0.2 - 3 / len(W)).any():
        told.append("intervals of level 0.8 do not leave a tenth of the draws on each side")
    signs = np.maximum((W > 0).sum(axis=0), (W < 0).sum(axis=0)) / len(W)
    if not np.array_equal(sample.probability_of_sign(), signs):
        told.append("probability_of_sign is not that of the draws")
    if not np.array_equal(sample.probability_above(0.1), (np.abs(W) * sample.scale > 0.1).mean(axis=0)):
        told.append("probability_above is not that of the draws")
    if not np.allclose(sample.mean(), W.sum(axis=0) / len(W), rtol=1e-9, atol=1e-12 * np.abs(W).max(initial=0.0)):
        told.append("mean is not that of the draws")
    model = given["estimator"]
    mode = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    if not np.array_equal(sample.mode, np.atleast_2d(mode)):
        told.append("mode is not coef_")
    if not row["fit_intercept"] and sample.intercept.any():
        told.append("intercepts without fit_intercept")
    return told + ([] if np.array_equal(given["again"].coef, sample.coef) else ["the same seed gives other draws"])


def _draws(sample, row, data, given):
    """Every draw is finite, chains differ, and the log-likelihoods are those of the draws on the data."""
    told, model = [], given["estimator"]
    chains, draws, rows, d = sample.coef.shape
    if (chains, draws, d) != (given["chains"], given["draws"], data.plain.shape[1]):
        told.append(f"draws have the shape {sample.coef.shape}")
    if len({each.tobytes() for each in sample.coef.reshape(-1, rows * d)}) < chains * draws:
        told.append("draws are repeated")
    s = data.s * judges.class_factors(getattr(model, "class_weight", None), data.target, data.s, data.labels)
    F, size = _scores(sample.coef, sample.intercept, data.plain, _shift(row, data))
    noise = None if sample.noise is None else sample.noise.ravel()
    expected, found = _log_likelihood(F, row, data, s, noise), sample.log_likelihood.ravel()
    unit = 1.0 if noise is None else np.abs(data.target[:, None] - F[:, :, 0].T).T.max(axis=1) / noise
    allowed = 1e-9 * np.abs(expected) + 256 * EPS * float(s @ size) * (1 + unit) + 1e-9
    off = np.abs(found - expected)
    if not (off <= allowed).all():
        told.append(f"a log-likelihood is {off.max():.3g} off, of {np.abs(expected).max():.3g}")
    return told


def _approximation(sample, given):
    """Independent draws about the fitted weights, of their covariance where the model has it; 0 where not kept."""
    W, model, told = sample.coef[0], given["estimator"], []
    mode = sample.mode
    if W.any(axis=0)[mode == 0].any() and not hasattr(model, "joint_covariance_"):
        told.append("a weight that was not kept has draws")
    deviation = W.std(axis=0)
    off = np.abs(W.mean(axis=0) - mode)
    if not (off <= FAR * deviation / np.sqrt(len(W)) + 1e-9 * np.abs(mode)).all():
        told.append("the mean of the draws is not coef_")
    covariance = getattr(model, "covariance_", None)
    if covariance is not None and len(model.support_):
        variance = np.diagonal(np.broadcast_to(covariance, (len(mode), *covariance.shape[-2:])), axis1=1, axis2=2)
        ratio = deviation[:, model.support_] ** 2 / np.where(variance > 0, variance, 1.0)
        if not (np.abs(ratio[variance > 0] - 1) <= FAR * np.sqrt(2 / len(W))).all():
            told.append("the variances of the draws are not those of covariance_")
    return told


def sampled(row, data, given, known):
    """The model of the row, fitted; its sample; and another with the same seed and one job."""
    model = given["estimator"].fit(data.X, data.y, data.weight, data.offset)
    options = {name: given[name] for name in ("prior", "rate", "draws", "chains", "random_state", "n_jobs")}
    options |= {"warmup": 20, "max_sweeps": given["draws"]}
    sample = smaller.inference.sample_posterior(model, data.X, data.y, **options, **known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given["again"] = smaller.inference.sample_posterior(
            model, data.X, data.y, **{**options, "n_jobs": None}, **known
        )
    return sample


LABELLED = {
    "l1": smaller.SMLR(1.0),
    "ridge": smaller.RMLR(1.0),
    "sbmlr": smaller.SBMLR(),
    "evidence": smaller.RVMClassifier("linear", max_iter=40),
    "one against the rest": smaller.RVMClassifier("linear", multiclass="ovr", max_iter=40),
    "type two": smaller.TypeIIClassifier(max_iter=20),
    "jeffreys": smaller.JeffreysClassifier(max_iter=100),
}
REAL = {
    "l1": smaller.LaplaceRegressor(3.0),
    "known noise": smaller.LaplaceRegressor(3.0, noise=0.5),
    "evidence": smaller.TypeIIRegressor(max_iter=100),
    "jeffreys": smaller.JeffreysRegressor(max_iter=100),
}
OF_MODELS = {"parametrization", "class_weight", "fit_intercept", "standardize", "penalty_factor"}
CONDITIONAL = ("evidence", "one against the rest", "type two", "jeffreys")


def estimator(row, options):
    """The model of a row, with those of the options that it takes."""
    model = smaller_clone((LABELLED if row["classes"] else REAL)[row["estimator"]])
    shared = model.get_params().keys() & options.keys() & OF_MODELS
    return model.set_params(**{name: options[name] for name in shared})


def smaller_clone(model):
    """A model of the same parameters, not fitted."""
    return type(model)(**model.get_params())


def no_such_sample(row):
    """Estimators of the other task; priors and rates that are documented to be refused."""
    known = LABELLED if row["classes"] else REAL
    asked = row["prior"] is not None or row["rate"] != "fixed"
    both = row["prior"] is not None and row["rate"] != "fixed"
    return row["estimator"] not in known or both or (asked and row["estimator"] in CONDITIONAL)
