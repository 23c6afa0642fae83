"""What is to be sampled: the data of a fitted model in standardised units, and its prior as a scale mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..design import host
from ..errors import ConvergenceWarning, warn
from ..models.adaptive import LaplaceRegressor
from ..models.base import Given
from ..models.multinomial import RMLR, MultinomialModel
from ..models.sbmlr import SBMLR
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet, Groups
from ..rows.dask.collections import is_lazy
from ..solvers.separation import separates
from .diagnostics import agreement
from .fitted_problem import fitted_problem
from .gibbs import GibbsDraw, LinearChain, LinearData, SoftmaxChain, SoftmaxData
from .scale_mixtures import HorseshoeScales, LaplaceScales, NormalScales
from .standard_columns import StandardColumns

CHECKED = 200  # weights, the largest on average, that decide whether the chains go on
SHAPE = 3.0  # of the gamma prior of a learned strength
INSIDE = " Of a pipeline or a search give the model inside, and X with the columns that this model gets."


@dataclass(frozen=True, eq=False)
class PosteriorProblem:
    """Data and prior on standardised columns, and the way back to the units of the data."""

    data: Any
    prior: Any
    mode: np.ndarray  # (d + ones, columns) of the softmax, (d,) of the linear model
    columns: StandardColumns
    centre: np.ndarray
    unit: float  # of the target
    mean: float  # of the target
    names: list[str]
    classes: np.ndarray | None
    basis: Any
    settings: dict

    @property
    def linear(self) -> bool:
        """Whether the target is a number."""
        return isinstance(self.data, LinearData)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the columns, 1 of constants."""
        return np.where(self.columns.varies, self.columns.scale, 1.0)

    def chain(self, start: np.ndarray, rng: np.random.Generator) -> Any:
        """A chain with scales of its own."""
        return (LinearChain if self.linear else SoftmaxChain)(self.data, self.prior(), start, rng)

    def good_enough(self, kept: list[list[GibbsDraw]]) -> bool:
        """Whether R-hat and effective sample sizes of the largest weights and of the likelihood are good."""
        W = np.array([[draw.weights.ravel() for draw in chain] for chain in kept])
        if not self.linear and self.data.columns == self.data.Y.shape[1]:
            W = W.reshape(*W.shape[:2], -1, self.data.columns)
            W = (W - W.mean(axis=3, keepdims=True)).reshape(*W.shape[:2], -1)
        W = W[:, :, np.argsort(-np.abs(W.mean(axis=(0, 1))), kind="stable")[:CHECKED]]
        value = np.array([[draw.log_likelihood for draw in chain] for chain in kept])[..., None]
        return agreement(np.concatenate([W, value], axis=2)).good_enough

    def in_units(self, kept: list[list[GibbsDraw]]):
        """Weights, intercepts, strengths, noise and log-likelihoods of all draws, in units of the data."""
        W = np.array([[draw.weights.T for draw in chain] for chain in kept]) * (self.unit / self.scale)
        b = np.array([[draw.intercept for draw in chain] for chain in kept]) * self.unit + self.mean
        b -= W @ self.centre
        if not self.linear:
            W, b = self._rows(W, b)
        lam = np.array([[draw.lam for draw in chain] for chain in kept]) if self.settings["rate"] == "learn" else None
        value = np.array([[draw.log_likelihood for draw in chain] for chain in kept])
        noise = None
        if self.linear:
            noise = self.unit**2 * np.array([[draw.noise for draw in chain] for chain in kept])
            value = value - self.data.total * np.log(self.unit)
        return W, b, lam, noise, value

    def _rows(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As ``coef_``: one row for two classes, a last row of 0 for the reference class, intercepts that sum to 0."""
        m, k = len(self.classes), W.shape[2]  # type: ignore[arg-type]
        if k == m and self.data.ones:
            b = b - b.mean(axis=2, keepdims=True)
        if k == m - 1 and m > 2:
            W = np.concatenate([W, np.zeros_like(W[:, :, :1])], axis=2)
            b = np.concatenate([b, np.zeros_like(b[:, :, :1])], axis=2)
        return W, b


def posterior_problem(model, given: Given, **options) -> PosteriorProblem:
    """The problem of a fitted model, refused with the reason where there is none."""
    if not isinstance(model, MultinomialModel | LaplaceRegressor):
        raise TypeError(
            "sample_posterior draws from the posteriors of SMLR, SMLRCV, SBMLR, RMLR, LaplaceRegressor and "
            "LaplaceRegressorCV, and from the normal approximations of TypeIRegressor, TypeIIRegressor, "
            "TypeIIClassifier, RVMRegressor, RVMClassifier, JeffreysRegressor and JeffreysClassifier; got "
            f"{type(model).__name__}.{INSIDE if hasattr(model, 'steps') or hasattr(model, 'best_estimator_') else ''}"
        )
    if is_lazy(given.X):
        raise ValueError(
            "sample_posterior needs all rows in memory in every sweep; give a part of the Dask collection."
        )
    problem = fitted_problem(model, given)
    sample = problem.sample
    if hasattr(model, "l2_"):
        problem = problem.with_prior(problem.prior.with_ridge(model.l2_))
    _refuse_prior(problem)
    _refuse_more(model, sample, options)
    if sample.classes is not None and not np.array_equal(sample.classes, model.classes_):
        raise ValueError(
            f"y must have the classes of the model, {model.classes_.tolist()}; got {sample.classes.tolist()}."
        )
    names = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(model.n_features_in_)] if names is None else names
    told = [str(name) for name in model.basis_.names(np.asarray(names))]
    return (_linear if isinstance(model, LaplaceRegressor) else _softmax)(model, problem, told, options)


def _refuse_prior(problem: Problem) -> None:
    """Priors that are not independent over the weights, or leave columns out."""
    if isinstance(problem.prior, Groups):
        raise ValueError(
            "The prior of groups of columns is not a product over weights, and its posterior is not implemented; fit "
            "with groups=None, or use smaller.inference.StabilitySelection for groups of features."
        )
    if problem.prior.factor is not None and np.isinf(problem.prior.factor).any():
        raise ValueError("penalty_factor=inf leaves columns out, which have no posterior; drop them from X instead.")


def _refuse_more(model, sample: Sample, options: dict) -> None:
    """Several real targets, and what LaplaceRegressor may have beside its Laplace prior."""
    if isinstance(model, LaplaceRegressor) and sample.k > 1:
        raise ValueError(
            "sample_posterior takes one real target; give y as a vector, and sample each target by itself."
        )
    beside = isinstance(model, LaplaceRegressor) and (model.l2 or model.penalty_factor is not None)
    if beside and options["prior"] is None:
        raise ValueError(
            "For LaplaceRegressor l2 and penalty_factor are not sampled; fit without them, or give prior='horseshoe'."
        )


def _standard(problem: Problem, fit_intercept: bool) -> tuple[StandardColumns, Any, np.ndarray]:
    """The columns, standardised and (dense ones, with an intercept) centred; and what was subtracted, in data units."""
    design, s = problem.sample.design, problem.sample.weight
    X = design.X if hasattr(design, "X") else design.take(np.arange(design.d))
    columns = StandardColumns(host(X), s)
    scale = np.where(columns.varies, columns.scale, 1.0)
    if sparse.issparse(X):
        return columns, sparse.csr_array(X) @ sparse.diags_array(1 / scale), np.zeros(design.d)
    centre = columns.mean if fit_intercept else np.zeros(design.d)
    return columns, (np.asarray(X, dtype=np.float64) - centre) / scale, centre


def _softmax(model, problem: Problem, names: list[str], options: dict) -> PosteriorProblem:
    sample = problem.sample
    columns, Z, centre = _standard(problem, model.fit_intercept)
    scale = np.where(columns.varies, columns.scale, 1.0)
    k, m = sample.k, len(sample.classes)
    lam = float(getattr(model, "lam_", getattr(model, "lam", 1.0)))
    prior, told = _prior(model, problem, lam, scale, options)
    Y, offset = host(sample.Y), np.zeros((columns.n, m)) if sample.offset is None else None
    if offset is None:
        offset = np.zeros((columns.n, m))
        offset[:, :k] = host(sample.offset)
    full = np.column_stack([Y, 1 - Y.sum(axis=1)]) if k < m else np.asarray(Y)
    ones = bool(model.fit_intercept)
    stack = sparse.hstack if sparse.issparse(Z) else np.column_stack
    A = stack([Z, np.ones((columns.n, 1))]) if ones else Z
    A = sparse.csr_array(A) if sparse.issparse(A) else np.asfortranarray(A)
    data = SoftmaxData(A, full, np.asarray(sample.weight, dtype=float), offset, k, ones)
    _warn_of_weights(model, sample.weight)
    coef, b = host(model.coef_), np.asarray(host(model.intercept_), dtype=float)
    coef = (coef.toarray() if sparse.issparse(coef) else np.asarray(coef, dtype=float))[:k]
    start = coef.T * scale[:, None]
    if ones:
        b = b[:k] + coef @ centre
        start = np.vstack([start, b - b[-1] if k == m else b])
    basis = model.basis_
    return PosteriorProblem(data, prior, start, columns, centre, 1.0, 0.0, names, sample.classes, basis, told)


def _prior(model, problem: Problem, lam: float, scale: np.ndarray, options: dict) -> tuple[Any, dict]:
    """A function that makes the prior of a chain, and what to say about it."""
    d, k = problem.sample.design.d, problem.sample.k
    if options["prior"] == "horseshoe":
        unit = np.ones((d, k))
        tau0 = _global_scale(unit.size, columns_total(problem), options, 2.0)
        return (lambda: HorseshoeScales(unit, tau0, options["slab"])), {
            "prior": "horseshoe",
            "rate": "fixed",
            "lam": None,
        }
    ridge = isinstance(model, RMLR)
    strengths = ElasticNet(0.0 if ridge else 1.0, 1.0 if ridge else 0.0, problem.prior.factor, problem.prior.scale)
    l1, l2 = strengths.strengths(d, k)
    other = np.zeros((d, k)) if ridge else problem.prior.strengths(d, k)[1] / scale[:, None] ** 2
    learned = _rate_prior(model, problem, lam, other, options)
    told = {"prior": "normal" if ridge else "laplace", "rate": options["rate"], "lam": lam}
    if ridge:
        return (lambda: NormalScales(lam, l2 / scale[:, None] ** 2, learned)), told
    if lam == 0 and not other.any():
        raise ValueError("lam=0 leaves the weights without a prior; fit with lam > 0 to sample a posterior.")
    return (lambda: LaplaceScales(lam, l1 / scale[:, None], other, learned)), told


def columns_total(problem: Problem) -> float:
    """The sum of the sample weights."""
    return float(np.sum(problem.sample.weight))


def _global_scale(count: int, total: float, options: dict, deviation: float) -> float:
    """tau0 = p0 / (D - p0) deviation / sqrt(n) (Piironen & Vehtari 2017)."""
    if options["global_scale"] is not None:
        return float(options["global_scale"])
    relevant = options["n_relevant"] if options["n_relevant"] is not None else max(1.0, count / 10)
    if not 0 < relevant < max(count, 2):
        raise ValueError(f"n_relevant must be above 0 and below the {count} weights; got {relevant}.")
    return float(relevant / max(count - relevant, 1.0) * deviation / np.sqrt(total))


def _rate_prior(model, problem: Problem, lam: float, other: np.ndarray, options: dict) -> tuple[float, float] | None:
    """The gamma prior of a learned strength, None of a fixed one; improper posteriors are refused."""
    if options["rate"] == "fixed":
        return None
    a, b = options["rate_prior"] if options["rate_prior"] is not None else (SHAPE, SHAPE / lam)
    if not (a > 0 and b > 0):
        paper = " (that of SBMLR's paper)" if isinstance(model, SBMLR) else ""
        raise ValueError(
            f"rate_prior={(a, b)} has no posterior to sample: under p(lam) ~ 1 / lam{paper} the weights have the "
            "prior (sum |w|)^-N, whose mass near 0 is infinite, and chains wander towards 0 without end. Give a gamma "
            "prior with positive shape and rate, or None for (3, 3 / lam)."
        )
    if other.any():
        raise ValueError(
            "rate='learn' with a ridge term (l2 > 0) is not implemented; fit with l2=0, or use rate='fixed'."
        )
    if problem.sample.classes is not None:
        bare = problem.with_prior(ElasticNet(0.0, 0.0)).objective
        if separates(bare, np.asarray(host(problem.sample.Y), dtype=float)):
            raise ValueError(
                "rate='learn' is refused: the columns separate the classes, at least one from the others, so that only "
                "the prior bounds the weights, and with a learned strength their posterior has the tail "
                f"|w|^-{a + 1:g}, whose mean or variance may be infinite. Use rate='fixed'."
            )
    return float(a), float(b)


def _warn_of_weights(model, weight) -> None:
    if getattr(model, "class_weight", None) is not None or (np.asarray(weight) % 1 != 0).any():
        warn(
            "Weights that are not counts (class weights, for instance) give a weighted pseudo-posterior: its width "
            "depends on the scale of the weights. Weights that sum to the number of samples are usual.",
            ConvergenceWarning,
        )


def _linear(model, problem: Problem, names: list[str], options: dict) -> PosteriorProblem:
    sample = problem.sample
    if not model.standardize and model.noise == "learn" and options["prior"] is None:
        raise ValueError(
            "With standardize=False and noise='learn' the prior does not scale with the noise, and the posterior can "
            "have two modes; fit with standardize=True, or give noise a number."
        )
    columns, Z, centre = _standard(problem, model.fit_intercept)
    scale = np.where(columns.varies, columns.scale, 1.0)
    s, y = np.asarray(sample.weight, dtype=float), np.asarray(host(sample.Y), dtype=float)[:, 0]
    y = y if sample.offset is None else y - host(sample.offset)[:, 0]
    mean = float(s @ y) / columns.total if model.fit_intercept else 0.0
    unit = float(np.sqrt(s @ (y - mean) ** 2 / columns.total)) or 1.0
    if np.ptp(y) == 0 and model.noise == "learn":
        raise ValueError("y has the same value in all samples; its noise is 0, and there is no posterior to draw from.")
    if sparse.issparse(Z) and model.fit_intercept:
        raise ValueError("Sparse X with an intercept is not implemented for regression; give X as an array.")
    root = np.sqrt(s)
    A = sparse.diags_array(root) @ Z if sparse.issparse(Z) else Z * root[:, None]
    noise = None if model.noise == "learn" else float(model.noise) / unit**2
    data = LinearData(A, root * (y - mean) / unit, columns.total, noise, bool(model.fit_intercept))
    if options["prior"] == "horseshoe":
        tau0 = _global_scale(columns.d, columns.total, options, 1.0)
        told: dict[str, Any] = {"prior": "horseshoe", "rate": "fixed", "lam": None}
        prior: Any = lambda: HorseshoeScales(np.ones((columns.d, 1)), tau0, options["slab"])  # noqa: E731
    else:
        learned = _rate_prior(model, problem, model.lam_, np.zeros(1), options)
        # Without standardisation lam is the rate of a weight in units of the data, at a noise that is known.
        rate = np.ones((columns.d, 1)) if model.standardize else unit * np.sqrt(noise or 1.0) / scale[:, None]
        told = {"prior": "laplace", "rate": options["rate"], "lam": float(model.lam_)}
        prior = lambda: LaplaceScales(float(model.lam_), rate, np.zeros((columns.d, 1)), learned)  # noqa: E731
    start = np.asarray(host(model.coef_), dtype=float).ravel() * scale / unit
    return PosteriorProblem(data, prior, start, columns, centre, unit, mean, names, None, model.basis_, told)
