"""Regression and probit classification with Jeffreys' prior on the variance of every weight (Figueiredo 2003)."""

from __future__ import annotations

import numpy as np

from ..errors import Status
from ..likelihoods import Gaussian, Probit
from ..objective.mixture import MixturePosterior
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import InUnits, Jeffreys
from ..solvers import Solution
from ..solvers.type1.expectation_maximisation import reweighted, spread
from ..solvers.type1.ridge_start import Ridge, Start, stretched
from ..solvers.type1.scaled_lasso import screened_noise
from .adaptive import EM_STEPS, AdaptiveRegressor
from .classification import ProbitModel
from .one_vs_rest import joined, one_vs_rest
from .regression import score_variance
from .selector import Selector
from .targets import with_offset

ROUGH = 1e-4  # tolerance of the first of two fits

# A start that spends more of the degrees of freedom than this leaves too few to measure the noise.
HALF = 0.5


class JeffreysRegressor(AdaptiveRegressor):
    """Sparse linear regression without a parameter to choose: Jeffreys' prior on the variance of every weight.

    Finds, from a start that is part of its definition, a local minimum over the surviving weights of ::

        sum_i s_i (y_i - F_i)^2 / (2 noise) + S/2 log noise + sum_j log |w_j|,   F = Phi w + b,   S = sum_i s_i,

    by the EM algorithm of Figueiredo (2003). A weight that reaches zero stays there: zero has infinite density, so that
    there is no global optimum to be certified, and "converged" means stationary on the survivors. On orthogonal columns
    a weight survives if it is at least two standard errors from zero. Rescaling y or a column changes nothing else.

    The start is least squares where that is well posed and leaves at least half of the degrees of freedom for the
    noise, and otherwise the ridge regression of the largest evidence on standardised columns. If that spends more than
    half of them, its residuals cannot give the noise: a first fit takes the noise from least squares on the columns
    that a scaled lasso of strength ``sqrt(n log d)`` keeps, and from where that ends the noise is learned.

    Parameters
    ----------
    noise : "learn" or float, default="learn"
        Variance of the noise.
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
        What the weights belong to; see :mod:`smaller.basis`.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        Largest relative violation of stationarity, ``|w_j dloss/dw_j + 1|``, at which the fit is done.
    max_iter : int, default=None
        EM steps; None is 10000.

    Attributes
    ----------
    coef_, intercept_, noise_, support_, relevance_vectors_, covariance_, center_, center_variance_
        As in :class:`LaplaceRegressor`.
    violation_ : float
        Largest relative violation of stationarity on the survivors.
    objective_ : float
        On the survivors.
    n_iter_ : int
    status_ : str
        "collapsed" where the noise went to 0, because the data are fitted exactly.
    history_ : list
        Objective (a pruned weight counts with its last value, so that it never rises), violation, survivors, seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import JeffreysRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = JeffreysRegressor().fit(X, y)
    >>> print(len(model.support_), "of 10 inputs kept, R2", round(model.score(X, y), 2))
    6 of 10 inputs kept, R2 0.51
    """

    def __init__(self, *, noise="learn", basis="linear", fit_intercept=True, tol=1e-6, max_iter=None):
        self.noise = noise
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _pose(self, sample: Sample) -> Problem:
        noise = 1.0 if self.noise == "learn" else self.noise
        return Problem(sample, Gaussian(noise), InUnits(Jeffreys(), sample.scale))

    def _solve(self, problem: Problem) -> Solution:
        """In units of the target and of the columns, which the objective does not depend on but for a constant."""
        sample, y, columns = problem.sample, problem.sample.Y[:, 0], problem.sample.scale
        center = sample.weight @ y / sample.weight.sum() * sample.design.intercept
        size = float(np.abs(y - center).max())
        unit = 2.0 ** round(np.log2(size)) if size > 0 else 1.0
        y, learn, steps = y / unit, self.noise == "learn", self.max_iter or EM_STEPS

        def posed(noise: float, learn: bool) -> MixturePosterior:
            return MixturePosterior(sample.design, y, Gaussian(noise), problem.prior, sample.weight, learn=learn)

        objective = posed(1.0 if learn else self.noise / unit**2, learn)
        start = Ridge(objective).start(y)
        if learn and start.spent > HALF:
            first = reweighted(posed(screened_noise(objective), False), start, ROUGH, steps)
            start = Start(first.extra["rows"], first.weights[first.extra["rows"], 0], float(first.extra["b"]))
        solution = reweighted(objective, start, self.tol, steps)
        if learn and objective.size == 0:
            solution = solution._replace(status=Status.CONVERGED)
            solution.extra["noise"] = 0.0

        def shift(rows: np.ndarray) -> float:
            """The constant that the units add to the objective of these weights."""
            return float(objective.total * np.log(unit) + np.log(unit / columns[rows]).sum())

        extra, began = solution.extra, shift(start.rows)
        return solution._replace(
            weights=unit * solution.weights,
            objective=solution.objective + shift(extra["rows"]),
            history=[step._replace(objective=step.objective + began) for step in solution.history],
            extra={**extra, "noise": extra["noise"] * unit**2, "gamma": extra["gamma"] * unit**2},
        )


class JeffreysClassifier(Selector, ProbitModel):
    """Sparse probit classification without a parameter to choose: Jeffreys' prior on the variance of every weight.

    Finds, from a start that is part of its definition, a local minimum over the surviving weights of ::

        - sum_i s_i log Phi(t_i F_i) + sum_j log |w_j|,   F = phi w + b,   t = +-1,

    Phi the normal distribution function, by the EM algorithm of Figueiredo (2003). The start is the least-squares fit
    of the labels +-1, or their ridge regression of the largest evidence, stretched by the factor (at most 10) of the
    largest likelihood. More than two classes are one against the rest each, their probabilities divided by their sum.
    Probabilities are moderated: a score of variance v counts as ``score / sqrt(1 + v)``, v from the normal
    approximation around the mode on the surviving weights.

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
        What the weights belong to; see :mod:`smaller.basis`.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        Largest relative violation of stationarity, ``|w_j dloss/dw_j + 1|``, at which a fit is done.
    max_iter : int, default=None
        EM steps; None is 10000.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray
    support_ : ndarray
        Columns of the basis with a non-zero weight in any row of ``coef_``.
    relevance_vectors_ : ndarray or sparse array
        On a kernel basis, the centres with a non-zero weight.
    covariance_ : ndarray of shape (n_rows, n_kept, n_kept)
        Of the kept weights of each row of ``coef_``, 0 where a row has no weight.
    center_, center_variance_ : ndarray of shape (n_rows, n_kept) and (n_rows,)
        Weighted means of the kept columns, and the variance of the score there.
    violation_, objective_, n_iter_, status_
        Of the worst fit; the sum; of the longest fit; of the worst fit.
    history_ : list
        As in :class:`JeffreysRegressor`; a list of them if there are more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import JeffreysClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = JeffreysClassifier().fit(X, y)
    >>> print(len(model.support_), "of 30 inputs kept, accuracy", round(model.score(X, y), 3))
    8 of 30 inputs kept, accuracy 0.979
    """

    def __init__(self, *, basis="linear", class_weight=None, fit_intercept=True, tol=1e-6, max_iter=None):
        self.basis = basis
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _pose(self, sample: Sample) -> Problem:
        return Problem(sample, Probit(), Jeffreys())

    def _solve(self, problem: Problem) -> Solution:
        """One fit for two classes, else one for each class against the rest; the start's factorisation is shared."""
        parts = [part.sample for part in one_vs_rest(problem)]
        objectives = [MixturePosterior(s.design, s.Y, Probit(), problem.prior, s.weight, s.offset) for s in parts]
        ridge, steps = Ridge(objectives[0]), self.max_iter or EM_STEPS
        starts = [stretched(each, ridge.start(2.0 * each.Y[:, 0] - 1.0)) for each in objectives]
        return joined([reweighted(*each, self.tol, steps) for each in zip(objectives, starts, strict=True)])

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        solutions, design = solution.extra["parts"], problem.sample.design
        k, kept = len(solutions), len(self.support_)
        self.covariance_, self.center_ = np.zeros((k, kept, kept)), np.zeros((k, kept))
        self.center_variance_ = np.zeros(k)
        for j, each in enumerate(solutions):
            rows, omega = each.extra["rows"], each.extra["omega"]
            at = np.searchsorted(self.support_, rows)
            own = spread(design, omega, each.extra["gamma"], rows)
            self.covariance_[j][np.ix_(at, at)], self.center_[j, at] = own.covariance, own.center
            self.center_variance_[j] = own.level

    def decision_function(self, X, offset=None) -> np.ndarray:
        """Moderated scores: those of the second class, (n_samples,), or one column for each class against the rest."""
        Phi = self._columns(X)
        F = with_offset(self._scores_of(Phi), offset)
        about = zip(self.covariance_, self.center_, self.center_variance_, strict=True)
        variance = np.column_stack([score_variance(Phi, *each) for each in about])
        F = F / np.sqrt(1.0 + variance)
        return F[:, 0] if F.shape[1] == 1 else F
