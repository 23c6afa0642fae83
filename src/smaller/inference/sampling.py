"""Draws from the posterior of a fitted model."""

from __future__ import annotations

import time
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..design import host
from ..errors import ConvergenceWarning, warn
from ..models.base import Given
from ..models.multinomial import RMLR
from ..progress import tell
from ..rows.dask.collections import is_lazy
from .diagnostics import LEAST_ESS
from .fitted_problem import check_columns
from .gibbs import GibbsDraw
from .normal_approximations import NormalDraws, column_deviations, conditional_draws
from .posterior_options import LEAST_DRAWS, check_options, refuse_laplace
from .posterior_problem import PosteriorProblem, posterior_problem
from .posterior_sample import PosteriorSample

STARTS = (1.0, 0.5, 1.5, 2.0)  # multiples of the mode, one for each chain
JITTER = 0.1
FIRST, GROWTH, SECONDS = 4, 5, 0.5  # draws of the first round, growth of the next ones, and how long they take


def sample_posterior(
    model,
    X,
    y,
    *,
    prior: str | None = None,
    rate: str = "fixed",
    rate_prior: tuple[float, float] | None = None,
    n_relevant: float | None = None,
    global_scale: float | None = None,
    slab: float = 2.0,
    draws: int = 1000,
    chains: int = 4,
    warmup: int | None = None,
    max_sweeps: int | None = None,
    method: str | None = None,
    sample_weight=None,
    offset=None,
    random_state=None,
    n_jobs: int | None = None,
) -> PosteriorSample:
    """Draw from the posterior of the weights of a fitted model.

    `SMLR`, `SMLRCV`, `SBMLR`, `RMLR` and `LaplaceRegressor` are sampled by Gibbs chains that start at (and about) the
    fitted weights: Polya-Gamma variables for classes (Polson, Scott & Windle 2013), and Hamiltonian trajectories where
    the weights are few; the linear model of Park & Casella (2008) for numbers. Models whose hyperparameters were
    learned by their evidence (`TypeIIRegressor`, `TypeIIClassifier`, `RVMRegressor`, `RVMClassifier`) and those with a
    Jeffreys prior have no such posterior: their normal approximation on the selected columns is returned in the same
    form, marked as conditional on the selection. At the mode under an L1 prior there is no such approximation, and none
    is given.

    Parameters
    ----------
    model : fitted model
    X, y
        The data of the fit, or others of the same columns and classes.
    prior : {None, "horseshoe"}, default=None
        None is the model's own prior. "horseshoe" is the regularised horseshoe (Piironen & Vehtari 2017).
    rate : {"fixed", "learn"}, default="fixed"
        The strength of the prior: that of the fitted model, or drawn with the weights under a gamma prior.
    rate_prior : (shape, rate), default=None
        Of that gamma prior; None is (3, 3 / lam), whose mean is the strength of the model. Both must be positive: under
        the prior 1 / lam of SBMLR's paper the posterior is not a probability distribution.
    n_relevant, global_scale, slab
        Of the horseshoe: the guessed number of relevant weights (None is a tenth of them), or the scale tau0 itself,
        and the standard deviation of the slab, for each standard deviation of a column (and of y).
    draws : int, default=1000
        Draws kept of each chain.
    chains : int, default=4
    warmup : int, default=None
        Sweeps that are not kept; None is 500 (200 in regression).
    max_sweeps : int, default=None
        Where the draws are not yet worth enough (R-hat above 1.01, or an effective sample size below 400), the chains
        go on and keep every second, fourth ... draw, up to this many sweeps each; None is 20 times `draws`.
    method : {None, "gibbs", "laplace"}, default=None
        None is "gibbs" for models that are sampled. "laplace", the normal approximation, is what models that learned
        their hyperparameters have anyway; at an L1 mode it is refused, since at a weight of 0 there is no curvature.
    sample_weight : array-like of shape (n_samples,), optional
        Repetitions. With class weights, or weights that are not counts, the result is a weighted pseudo-posterior whose
        width depends on their scale, and a warning says so.
    offset : array-like, optional
        As in the fit.
    random_state : int, RandomState instance or None, default=None
        The draws are the same for the same seed, whatever `n_jobs`.
    n_jobs : int, default=None
        Chains at a time, in processes of their own.

    Returns
    -------
    PosteriorSample
        Ctrl-C ends the sampling early, and what was drawn by then is returned with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import LaplaceRegressor
    >>> from smaller.inference import sample_posterior
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LaplaceRegressor(lam=20.0).fit(X, y)
    >>> sample = sample_posterior(model, X, y, random_state=0)
    >>> low, high = sample.interval(0.95)[:, 0, 2]
    >>> print(f"0 is in the interval of {sample.names[2]}: {bool(low < 0 < high)}")
    0 is in the interval of bmi: False
    """
    check_is_fitted(model)
    seed = check_random_state(random_state).randint(2**31)
    known = {"prior": prior, "rate": rate, "rate_prior": rate_prior, "n_relevant": n_relevant, "slab": slab}
    known["global_scale"] = global_scale
    check_options(**known, draws=draws, chains=chains, warmup=warmup, max_sweeps=max_sweeps, method=method)
    given, told = Given(X, y, sample_weight, offset), _about(model, random_state)
    if hasattr(model, "basis_") and not is_lazy(X):
        check_columns(model, X)
    conditional = conditional_draws(model, given, draws * chains, np.random.default_rng(seed))
    if conditional is not None:
        if prior is not None or rate != "fixed" or method == "gibbs":
            raise ValueError(
                f"{type(model).__name__} has a normal approximation at the variances found only; leave out prior, rate "
                "and method, or fit SMLR or LaplaceRegressor."
            )
        return _sample_of_normal(model, given, conditional, told)
    problem = posterior_problem(model, given, **known)
    if method == "laplace":
        refuse_laplace(model, isinstance(model, RMLR))
    warmup = (200 if problem.linear else 500) if warmup is None else warmup
    run = _Run(problem, chains, draws, seed, n_jobs)
    sweeps = run.collect(warmup, max_sweeps or 20 * draws)
    sample = _sample(model, problem, run, {**told, **problem.settings, "warmup": warmup, "sweeps": sweeps})
    _warn_if_poor(sample)
    return sample


class _Run:
    """Chains that advance together, and the draws kept of each."""

    def __init__(self, problem: PosteriorProblem, chains: int, draws: int, seed: int, n_jobs: int | None):
        self.problem, self.wanted, self.n_jobs = problem, draws, n_jobs
        rngs = [np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(chains)]
        self.chains = [problem.chain(_start(problem, i, rng), rng) for i, rng in enumerate(rngs)]
        self.kept: list[list[GibbsDraw]] = [[] for _ in range(chains)]
        self.thin, self.interrupted = 1, False

    def collect(self, warmup: int, most: int) -> int:
        """Warm up, draw, and go on with thinner chains while the draws are worth too little; the sweeps made."""
        try:
            self._advance(warmup, 0, "warm-up")
            for chain in self.chains:
                chain.warming = False
            done = self._draw(self.wanted)
            while 2 * done <= most and not self.problem.good_enough(self.kept):
                self.kept = [kept[1::2] for kept in self.kept]
                self.thin *= 2
                done += self._draw(self.wanted - min(map(len, self.kept)))
        except KeyboardInterrupt:
            self.interrupted = True
            least = min(map(len, self.kept))
            if least < LEAST_DRAWS:
                raise
            self.kept = [kept[:least] for kept in self.kept]
        return self.thin * min(map(len, self.kept))

    def _draw(self, count: int) -> int:
        """So many draws of each chain; the sweeps that they took."""
        self._advance(count, self.thin, "sampling")
        return self.thin * count

    def _advance(self, count: int, every: int, what: str) -> None:
        """So many draws of all chains, or (`every` 0) sweeps of warm-up, in short rounds with progress after each.

        A round is kept whole or, with Ctrl-C, not at all; where rounds end changes no draw.
        """
        size, sweeps = FIRST, max(every, 1)
        while count > 0:
            size, began = min(size, count), time.monotonic()
            self._round(size * sweeps, every)
            count -= size
            kept = len(self.kept[0])
            tell(f"{what}: {f'{kept} of {self.wanted} draws' if every else f'{count} sweeps left'} of each chain")
            growth = SECONDS / max(time.monotonic() - began, 1e-9)
            size = max(FIRST, int(size * min(growth, GROWTH)))

    def _round(self, sweeps: int, every: int) -> None:
        """All chains by so many sweeps, each `every`-th kept."""
        if self.n_jobs in (None, 1):
            found = [_advanced(chain, sweeps, every) for chain in self.chains]
        else:
            found = Parallel(n_jobs=self.n_jobs)(delayed(_advanced)(chain, sweeps, every) for chain in self.chains)
        self.chains = [chain for chain, _ in found]
        for kept, (_, new) in zip(self.kept, found, strict=True):
            kept.extend(new)


def _advanced(chain: Any, sweeps: int, every: int) -> tuple[Any, list[GibbsDraw]]:
    kept = []
    for sweep in range(1, sweeps + 1):
        chain.sweep()
        if every and sweep % every == 0:
            kept.append(chain.state())
    return chain, kept


def _about(model, random_state) -> dict[str, Any]:
    """What a sample says of its model: its name, its inputs, and the seed."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "model": type(model).__name__,
        "n_features_in": getattr(model, "n_features_in_", None),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "random_state": int(random_state) if isinstance(random_state, Integral) else None,
    }


def _start(problem: PosteriorProblem, place: int, rng: np.random.Generator) -> np.ndarray:
    """The mode for the first chain, multiples of it with jitter for the others: equal starts would hide much."""
    start = STARTS[place % len(STARTS)] * problem.mode
    return start if place == 0 else start + JITTER * rng.standard_normal(start.shape)


def _sample(model, problem: PosteriorProblem, run: _Run, settings: dict) -> PosteriorSample:
    coef, intercept, lam, noise, value = problem.in_units(run.kept)
    settings = {**settings, "thin": run.thin, "interrupted": run.interrupted}
    told = problem.names, problem.classes, problem.scale, problem.basis, settings
    return PosteriorSample(coef, intercept, lam, noise, value, np.atleast_2d(_dense(model.coef_)), *told)


def _sample_of_normal(model, given: Given, found: NormalDraws, settings: dict) -> PosteriorSample:
    """Independent draws of a normal approximation, as one chain."""
    coef, intercept = found.coef[None], found.intercept[None]
    names = [str(name) for name in model.basis_.names(_input_names(model))]
    value, scale = np.zeros(coef.shape[:2]), column_deviations(model, given)
    noise = np.full(coef.shape[:2], float(model.noise_)) if hasattr(model, "noise_") else None
    told = {**settings, "conditional": True, "link": found.link, "thin": 1, "warmup": 0, "sweeps": coef.shape[1]}
    told["interrupted"], classes = False, getattr(model, "classes_", None)
    mode = np.atleast_2d(_dense(model.coef_))
    return PosteriorSample(coef, intercept, None, noise, value, mode, names, classes, scale, model.basis_, told)


def _input_names(model) -> np.ndarray:
    given = getattr(model, "feature_names_in_", None)
    return np.array([f"x{j}" for j in range(model.n_features_in_)]) if given is None else np.asarray(given)


def _dense(coef) -> np.ndarray:
    coef = host(coef)
    return coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef, dtype=np.float64)


def _warn_if_poor(sample: PosteriorSample) -> None:
    if sample.settings["interrupted"]:
        warn("Sampling was interrupted; the draws made by then are returned.", ConvergenceWarning)
    if sample.converged:
        return
    found = sample.diagnostics
    least = min(found["ess_bulk"], found["ess_tail"])
    need = int(np.ceil(sample.settings["sweeps"] * max(LEAST_ESS / max(least, 1.0), 2.0)))
    warn(
        f"The chains have not converged well enough for intervals to be relied on: R-hat is {found['rhat']:.3f} (at "
        f"most 1.01 is good) and the smallest effective sample size {least:.0f} (at least {LEAST_ESS:.0f}), of "
        f"{found['worst']}. About {need} sweeps of each chain (max_sweeps) would probably do; classes that are nearly "
        "separable need many, and a stronger prior fewer.",
        ConvergenceWarning,
    )
