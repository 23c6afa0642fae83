"""What the regression models with learned variances share: posing the evidence, adopting its posterior, error bars."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .errors import ConvergenceWarning, EmptyModelWarning, Status, warn
from .estimator import RegressionModel, Sample, Selector
from .evidence import Evidence
from .solvers import Solution

POSITIVE = Interval(Real, 0, None, closed="neither")


class VarianceModel(Selector, RegressionModel):
    """y = Phi w + b + noise with w_j ~ N(0, gamma_j), the gammas found by an algorithm that the model chooses."""

    _parameter_constraints: ClassVar[dict] = {
        "basis": [str, object],
        "noise": [StrOptions({"learn"}), POSITIVE],
        "fit_intercept": ["boolean"],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }
    noise: Any
    tol: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, y, sample_weight, offset):
        sample, Y, single = self._regression_sample(X, y, sample_weight, offset)
        evidence = Evidence(sample.design, Y, sample.weight)
        solution = self._maximise(evidence)
        self._report_ends(solution)
        return self._adopt(sample, evidence, solution, single)

    def _maximise(self, evidence: Evidence) -> Solution:
        raise NotImplementedError

    def _noise(self) -> float | None:
        """The noise that the user gave, None where it is to be learned."""
        return None if self.noise == "learn" else float(self.noise)

    def _report_ends(self, solution: Solution) -> None:
        if solution.status is not Status.CONVERGED:
            facts = {"n_iter": solution.n_iter, "violation": solution.violation, "tol": self.tol}
            warn(f"{type(self).__name__}: {solution.status.sentence(**facts)}.", ConvergenceWarning)

    def _adopt(self, sample: Sample, evidence: Evidence, solution: Solution, single: bool):
        fit, columns = solution.extra["fit"], evidence.columns
        self._adopt_weights(sample, solution.weights, single)
        unit = columns.unit[fit.rows]
        self.support_ = fit.rows.copy()
        if "relevance_vectors_" in self.__dict__:
            self.relevance_vectors_ = sample.basis.centers_[self.support_]
        self.gamma_ = np.zeros(sample.design.d)
        self.gamma_[fit.rows] = 1 / (fit.alpha * unit**2)
        self.noise_ = float(fit.noise)
        self.covariance_ = fit.covariance / np.outer(unit, unit)
        self.evidence_ = float(fit.log_evidence)
        # About these means the weights and the intercept are independent.
        self._center = columns.center[fit.rows]
        self._intercept_variance = self.noise_ / columns.total if sample.design.intercept else 0.0
        self.n_iter_, self.violation_ = solution.n_iter, solution.violation
        self.objective_, self.status_ = float(solution.objective), solution.status.name.lower()
        self.history_ = solution.history
        if sample.design.d and not len(fit.rows):
            warn(f"{type(self).__name__} kept no column: it predicts the mean of the targets.", EmptyModelWarning)
        return self

    def _variance(self, X) -> np.ndarray:
        """(phi - center)^T Sigma (phi - center), and the intercept's."""
        Phi = self._columns(X)
        Phi = np.asarray(Phi.toarray() if hasattr(Phi, "toarray") else Phi, dtype=np.float64) - self._center
        return ((Phi @ self.covariance_) * Phi).sum(axis=1) + self._intercept_variance
