"""What the regression models share: targets, predictions and error bars; and, with learned variances, the evidence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils import gen_batches

from .._sklearn import Interval, StrOptions, fit_context
from ..design import LazyDesign, follow, host
from ..design.tensors import rows_of
from ..errors import ConvergenceWarning, EmptyModelWarning, Status, warn
from ..objective.evidence import Evidence
from ..solvers import Solution, Spread
from .base import Estimator, Sample
from .selector import Selector

POSITIVE = Interval(Real, 0, None, closed="neither")
SPENT = 0.5  # of the samples: a fit by so many columns leaves too little to learn the noise from, where more abound
BLOCK_BYTES = 2**22  # of rows whose variances are computed at a time
SHORTEST, LONGEST = 1e-153, 1e153  # norms of columns, targets and weights whose squares are float64 numbers


class RegressionModel(RegressorMixin, Estimator):
    """Models of real targets with normal noise: checks of y, predictions and their standard deviations.

    A model's fit ends with ``_keep`` (for one target, ``coef_`` a vector and ``intercept_`` a number) and ``_know``.
    """

    _targets: ClassVar[dict] = {"y_numeric": True}
    _most_squares: ClassVar[float] = np.inf  # sizes of X and y together are checked here
    noise_: float
    covariance_: np.ndarray

    @staticmethod
    def _target(y, weight, offset):
        """y in float64, without its offset."""
        y = np.asarray(host(y), dtype=np.float64)
        return (y if offset is None else y - target_offset(offset, y.shape)), weight, None

    def _sample(self, X, y, sample_weight, offset, encode) -> Sample:
        """The checked training data, refused where the squares of their numbers are none of float64's."""
        sample = super()._sample(X, y, sample_weight, offset, encode)
        if not isinstance(sample.design, LazyDesign):
            check_sizes(sample)
        return sample

    def _know(self, noise: float, spread: Spread) -> None:
        """Take over how sure the fit is."""
        self.noise_ = noise
        self.covariance_, self.center_, self.center_variance_ = spread

    def _check_intervals(self) -> None:
        """Warn where the model's standard deviations are known to be wrong."""

    def predict(self, X, return_std: bool = False, offset=None):
        """Predict the mean of the target and, if asked for, the standard deviation of a new observation.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return ``sqrt(noise_ + variance of the score)``.
        offset : array-like of shape (n_samples,) or (n_samples, n_targets), optional
            Known part of the prediction, added to what the model says.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of shape (n_samples,)
            Noise and the uncertainty of the weights together, the same for every target; only if asked for.
        """
        Phi = self._columns(X)
        mean = self._scores_of(Phi)
        mean = mean[:, 0] if np.ndim(self.intercept_) == 0 else mean
        mean = mean if offset is None else mean + follow(target_offset(host(offset), mean.shape), mean)
        if not return_std:
            return mean
        self._check_intervals()
        known = (host(self.covariance_), host(self.center_), self.center_variance_)
        return mean, follow(np.sqrt(self.noise_ + score_variance(host(Phi), *known)), mean)


def check_sizes(sample: Sample) -> None:
    """Refuse columns and targets whose norms, or whose weights, have squares that overflow or vanish."""
    s, design = sample.weight, sample.design
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        moments = design.moments(s)
        columns = np.sqrt(moments.second(s.sum())[: design.d])
        targets = np.sqrt(s @ sample.y.reshape(len(s), -1) ** 2)
    there = moments.mass[: design.d] > 0
    for name, norms, present in (("X", columns, there), ("y", targets, np.any(sample.y, axis=0))):
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
    """(phi - center)^T covariance (phi - center) + level of each row of the kept columns."""
    n, m = Phi.shape
    variance = np.full(n, level, dtype=np.float64)
    for part in gen_batches(n, max(1, BLOCK_BYTES // (8 * max(1, m)))):
        rows = Phi[part].toarray() if sparse.issparse(Phi) else Phi[part]
        D = np.asarray(rows, dtype=np.float64) - center
        variance[part] += np.maximum(((D @ covariance) * D).sum(axis=1), 0.0)
    return variance


class VarianceModel(Selector, RegressionModel):
    """y = Phi w + b + noise with w_j ~ N(0, gamma_j), the gammas found by an algorithm that the model chooses."""

    _parameter_constraints: ClassVar[dict] = {
        "basis": [str, object],
        "noise": [StrOptions({"learn"}), POSITIVE],
        "fit_intercept": ["boolean"],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }
    _targets: ClassVar[dict] = {"y_numeric": True, "multi_output": True}
    noise: Any
    tol: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, y, sample_weight, offset):
        sample = self._sample(X, y, sample_weight, offset, self._target)
        evidence = Evidence(sample.design, sample.y.reshape(len(sample.y), -1), sample.weight)
        solution = self._maximise(evidence)
        self._report_ends(solution)
        return self._adopt(sample, evidence, solution)

    def _maximise(self, evidence: Evidence) -> Solution:
        raise NotImplementedError

    def _noise(self) -> float | None:
        """The noise that the user gave, None where it is to be learned."""
        return None if self.noise == "learn" else float(self.noise)

    def _report_ends(self, solution: Solution) -> None:
        if solution.status is not Status.CONVERGED:
            facts = {"n_iter": solution.n_iter, "gap": solution.gap, "violation": solution.violation, "tol": self.tol}
            warn(f"{type(self).__name__}: {solution.status.sentence(**facts)}.", ConvergenceWarning)

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

    def _adopt(self, sample: Sample, evidence: Evidence, solution: Solution):
        fit, columns, d = solution.extra["fit"], evidence.columns, sample.design.d
        target_unit = solution.extra.get("unit", 1.0)  # in which the fit is told
        unit = columns.unit[fit.rows] / target_unit
        gamma = self._variances(fit.alpha, unit)
        W = solution.weights[:, 0] if sample.y.ndim == 1 else solution.weights
        free = np.zeros(W.shape[1:])[()]
        self._keep(
            sample,
            W[:d].T.copy(),
            (W[d].copy() if sample.y.ndim > 1 else float(W[d])) if sample.design.intercept else free,
        )
        self.support_ = fit.rows.copy()
        if "relevance_vectors_" in self.__dict__:
            self.relevance_vectors_ = rows_of(sample.basis.centers_, self.support_)
        self.gamma_ = np.zeros(sample.design.d)
        self.gamma_[fit.rows] = gamma
        noise = float(fit.noise) * target_unit**2
        # About the means of the columns the weights and the intercept are independent.
        level = noise / columns.total if sample.design.intercept else 0.0
        self._know(noise, Spread(fit.covariance / np.outer(unit, unit), columns.center[fit.rows], level))
        self.evidence_ = float(fit.log_evidence - evidence.k * evidence.total * np.log(target_unit))
        self.n_iter_, self.violation_ = solution.n_iter, solution.violation
        self.objective_, self.status_ = float(solution.objective), solution.status.name.lower()
        self.history_ = solution.history
        if sample.design.d and not len(fit.rows):
            warn(f"{type(self).__name__} kept no column: it predicts the mean of the targets.", EmptyModelWarning)
        return self


def target_offset(offset, shape: tuple[int, ...]) -> np.ndarray:
    """An offset of real targets, in their shape."""
    offset = np.asarray(offset, dtype=np.float64)
    if offset.shape not in (shape, (*shape, 1)):
        raise ValueError(f"offset must have shape {shape}, one value for each sample and target; got {offset.shape}.")
    if not np.isfinite(offset).all():
        raise ValueError("offset contains NaN or infinity; its values must be finite.")
    return offset.reshape(shape)
