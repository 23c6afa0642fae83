"""What the regression models share: targets, predictions and error bars; and, with learned variances, the evidence."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils import gen_batches

from .._sklearn import StrOptions
from ..design import LazyDesign, follow, host
from ..errors import ConvergenceWarning, Status, choose, warn
from ..likelihoods import Gaussian
from ..objective.evidence import Evidence
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import as_scale_mixture
from ..solvers import Solution
from ..solvers.type1.expectation_maximisation import Spread
from .base import POSITIVE, Estimator, Given, Targets
from .outside import DECAYING, added_variance, check_outside
from .selector import Selector

SPENT = 0.5  # share of the degrees of freedom that a wide model may use before its noise estimate is unreliable
BLOCK_BYTES = 2**22  # of rows whose variances are computed at a time
SHORTEST, LONGEST = 1e-153, 1e153  # norms of columns, targets and weights whose squares are float64 numbers


class RegressionModel(RegressorMixin, Estimator):
    """Models of real targets with normal noise: checks of y, predictions and their standard deviations.

    ``coef_`` is a vector and ``intercept_`` a number where y is a vector.
    """

    _parameter_constraints: ClassVar[dict] = {
        **Estimator._parameter_constraints,
        "noise": [StrOptions({"learn"}), POSITIVE],
    }
    _targets: ClassVar[dict] = {"y_numeric": True}
    _most_squares: ClassVar[float] = np.inf  # sizes of X and y together are checked here
    noise_: float
    covariance_: np.ndarray

    def _check(self, given: Given) -> Sample:
        """Checked data, refused where the squares of their numbers overflow or vanish in float64."""
        sample = super()._check(given)
        if not isinstance(sample.design, LazyDesign):
            check_sizes(sample)
        return sample

    def _encode(self, y, weight: np.ndarray, offset: np.ndarray | None) -> Targets:
        """y in float64, without its offset."""
        y = np.asarray(host(y), dtype=np.float64)
        y = y if offset is None else y - target_offset(offset, y.shape)
        return Targets(y.reshape(len(y), -1), weight, None, None, y.ndim == 1)

    def _coefficients(self, problem: Problem, solution: Solution) -> tuple[Any, Any, Solution]:
        coef, intercept, solution = super()._coefficients(problem, solution)
        return (coef[0], float(intercept[0]), solution) if problem.sample.vector else (coef, intercept, solution)

    def _store_uncertainty(self, noise: float, spread: Spread) -> None:
        self.noise_ = noise
        self.covariance_, self.center_, self.center_variance_ = spread

    def _check_intervals(self) -> None:
        """Warn where the model's standard deviations are known to be wrong."""

    def predict(self, X, return_std: bool = False, offset=None, outside: str = "warn"):
        """Predict the mean of the target and, if asked for, the standard deviation of a new observation.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return ``sqrt(noise_ + variance of the score)``.
        offset : array-like of shape (n_samples,) or (n_samples, n_targets), optional
            Known part of the prediction, added to that of the model.
        outside : {"warn", "error", "widen", "ignore"}, default="warn"
            What to do, with ``return_std=True``, where samples are far from all training samples of a radial kernel:
            there the mean is the intercept, and the standard deviation is too small. "widen" adds the variance of one
            more column centred on the sample (Rasmussen and Quinonero-Candela 2005), for models that have ``gamma_``.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Noise and the uncertainty of the weights together; only if asked for. One column, where it is the same for
            every target.
        """
        Phi = self._columns(X)
        mean = self._scores_of(Phi)
        mean = mean[:, 0] if np.ndim(self.intercept_) == 0 else mean
        mean = mean if offset is None else mean + follow(target_offset(host(offset), mean.shape), mean)
        if not return_std:
            return mean
        self._check_intervals()
        known = (host(self.covariance_), host(self.center_), self.center_variance_)
        variance = self.noise_ + score_variance(host(Phi), *known) + self._outside_variance(X, outside)
        return mean, follow(np.sqrt(variance), mean)

    def _outside_variance(self, X, outside: str):
        """The variance to add for samples far from the training samples, which are warned of or refused otherwise."""
        choose("outside", outside, ("warn", "error", "widen", "ignore"))
        if outside == "ignore" or getattr(self.basis_, "kernel", None) not in DECAYING:
            return 0.0
        X = host(X) if sparse.issparse(X) else np.asarray(host(X), dtype=np.float64)
        if outside != "widen":
            check_outside(self, X, outside)
            return 0.0
        if not hasattr(self, "gamma_"):
            raise ValueError(
                f"outside='widen' needs variances of the weights, and {type(self).__name__} has none; use RVMRegressor."
            )
        return added_variance(self, X)


def check_sizes(sample: Sample) -> None:
    """Refuse columns and targets whose norms, or whose weights, have squares that overflow or vanish."""
    s, design = sample.weight, sample.design
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        moments = sample.moments
        columns = np.sqrt(moments.second(s.sum())[: design.d])
        targets = np.sqrt(s @ sample.Y**2)
    there = moments.mass[: design.d] > 0
    for name, norms, present in (("X", columns, there), ("y", targets, sample.Y.any(axis=0))):
        if not ((norms >= SHORTEST) & (norms <= LONGEST) | ~present).all():
            raise ValueError(
                f"{name} has values that are too large or too small to be squared in float64; they must be between "
                "1e-150 and 1e150 in size (or 0). Scale them."
            )
    targets, columns = targets[targets > 0], columns[there]
    if len(targets) and len(columns):
        largest, smallest = targets.max() / columns.min(), targets.min() / columns.max()
        if largest > LONGEST or smallest < SHORTEST:
            raise ValueError(
                f"y of size {targets.max():.0e} on columns of sizes {columns.min():.0e} to {columns.max():.0e} has "
                "weights whose variances overflow or vanish in float64. Scale X or y."
            )


def score_variance(Phi, covariance: np.ndarray, center: np.ndarray, level: float) -> np.ndarray:
    """(phi - center)^T covariance (phi - center) + level of each row of the kept columns; a column each if several."""
    if covariance.ndim == 3:
        return np.stack([score_variance(Phi, each, center, level) for each in covariance], axis=1)
    n, m = Phi.shape
    variance = np.full(n, level, dtype=np.float64)
    for part in gen_batches(n, max(1, BLOCK_BYTES // (8 * max(1, m)))):
        rows = Phi[part].toarray() if sparse.issparse(Phi) else Phi[part]
        D = np.asarray(rows, dtype=np.result_type(covariance, np.float64)) - center
        variance[part] += np.maximum(((D @ covariance) * D.conj()).sum(axis=1).real, 0.0)
    return variance


class VarianceModel(Selector, RegressionModel):
    """y = Phi w + b + noise with w_j ~ N(0, gamma_j), the gammas found by an algorithm that the model chooses."""

    _targets: ClassVar[dict] = {"y_numeric": True, "multi_output": True}
    _without_columns = "the mean of the targets"
    noise: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _pose(self, sample: Sample) -> Problem:
        prior = as_scale_mixture(getattr(self, "prior", "jeffreys"))
        return Problem(sample, Gaussian(self._noise() or 1.0), prior)

    def _solve(self, problem: Problem) -> Solution:
        evidence = self._evidence(problem.sample)
        solution = self._maximise(evidence, problem.prior)
        told = {"evidence": evidence, "support": solution.extra["fit"].rows.copy()}
        return solution._replace(extra={**solution.extra, **told})

    def _evidence(self, sample: Sample) -> Evidence:
        return Evidence(sample.design, sample.Y, sample.weight)

    def _maximise(self, evidence: Evidence, prior) -> Solution:
        raise NotImplementedError

    def _noise(self) -> float | None:
        """The noise that the user gave, None where it is to be learned."""
        return None if self.noise == "learn" else float(self.noise)

    def _doubt_noise(self, evidence: Evidence, solution: Solution) -> None:
        """Warn of a learned noise that is likely too small: more columns than samples, which they fit closely."""
        count, spent = int(np.isfinite(evidence.columns.unit).sum()), float(solution.extra["fit"].determined.sum())
        learned = self.noise == "learn" and solution.status is not Status.INTERPOLATES
        if learned and count > evidence.total and spent > SPENT * evidence.total:
            warn(
                f"{type(self).__name__}: the noise was learned from {evidence.total:.6g} samples with {count} columns "
                f"and is likely too small: {spent:.3g} degrees of freedom are spent on the fit. Give noise a value, "
                "measured or chosen by cross-validation.",
                ConvergenceWarning,
            )

    @staticmethod
    def _variances(alpha: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """1 / (alpha unit^2): of the weights in the units of the data, refused where no number can hold them."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            gamma = 1 / (np.sqrt(alpha) * unit) ** 2
        if not (np.isfinite(gamma) & (gamma > 0)).all():
            raise ValueError(
                "The variances of the weights, the square of the targets' size over that of a column, are beyond the "
                "range of floating-point numbers; rescale X or y."
            )
        return gamma

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        fit, evidence = solution.extra["fit"], solution.extra["evidence"]
        columns, target_unit = evidence.columns, solution.extra.get("unit", 1.0)  # the unit of the targets in the fit
        unit = columns.unit[fit.rows] / target_unit
        self.gamma_ = np.zeros(columns.d)
        self.gamma_[fit.rows] = self._variances(fit.alpha, unit)
        noise = float(fit.noise) * target_unit**2
        # About the means of the columns the weights and the intercept are independent.
        level = noise / columns.total if self.fit_intercept else 0.0
        spread = Spread(fit.covariance / np.outer(unit, unit), columns.center[fit.rows], level)
        self._store_uncertainty(noise, spread)
        self.evidence_ = float(fit.log_evidence - evidence.k * evidence.total * np.log(target_unit))
        self.objective_ = float(solution.objective)


def target_offset(offset, shape: tuple[int, ...]) -> np.ndarray:
    """An offset of real targets, in their shape."""
    offset = np.asarray(offset, dtype=np.float64)
    if offset.shape not in (shape, (*shape, 1)):
        raise ValueError(f"offset must have shape {shape}, one value for each sample and target; got {offset.shape}.")
    if not np.isfinite(offset).all():
        raise ValueError("offset contains NaN or infinity; its values must be finite.")
    return offset.reshape(shape)
