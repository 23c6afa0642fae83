"""What the regression models with learned variances share: posing the evidence, adopting its posterior, error bars."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .device import rows_of
from .errors import ConvergenceWarning, EmptyModelWarning, Status, warn
from .estimator import RegressionModel, Sample, Selector
from .evidence import Evidence
from .solvers import Solution, Spread

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
    _targets: ClassVar[dict] = {"y_numeric": True, "multi_output": True}
    noise: Any
    tol: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
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
            facts = {"n_iter": solution.n_iter, "violation": solution.violation, "tol": self.tol}
            warn(f"{type(self).__name__}: {solution.status.sentence(**facts)}.", ConvergenceWarning)

    def _adopt(self, sample: Sample, evidence: Evidence, solution: Solution):
        fit, columns, d = solution.extra["fit"], evidence.columns, sample.design.d
        W = solution.weights[:, 0] if sample.y.ndim == 1 else solution.weights
        free = np.zeros(W.shape[1:])[()]
        self._keep(
            sample,
            W[:d].T.copy(),
            (W[d].copy() if sample.y.ndim > 1 else float(W[d])) if sample.design.intercept else free,
        )
        unit = columns.unit[fit.rows]
        self.support_ = fit.rows.copy()
        if "relevance_vectors_" in self.__dict__:
            self.relevance_vectors_ = rows_of(sample.basis.centers_, self.support_)
        self.gamma_ = np.zeros(sample.design.d)
        self.gamma_[fit.rows] = 1 / (fit.alpha * unit**2)
        noise = float(fit.noise)
        # About the means of the columns the weights and the intercept are independent.
        level = noise / columns.total if sample.design.intercept else 0.0
        self._know(noise, Spread(fit.covariance / np.outer(unit, unit), columns.center[fit.rows], level))
        self.evidence_ = float(fit.log_evidence)
        self.n_iter_, self.violation_ = solution.n_iter, solution.violation
        self.objective_, self.status_ = float(solution.objective), solution.status.name.lower()
        self.history_ = solution.history
        if sample.design.d and not len(fit.rows):
            warn(f"{type(self).__name__} kept no column: it predicts the mean of the targets.", EmptyModelWarning)
        return self
