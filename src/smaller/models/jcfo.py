"""Joint classifier and feature optimisation: a sparse kernel classifier that scales its inputs (Krishnapuram 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..basis import Kernel, as_basis
from ..design import Design, as_design
from ..likelihoods import Probit
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..objective.scaled_kernels import KERNELS, ScaledPosterior, scaled_kernel, times
from ..priors import Laplace
from ..solvers import Solution
from ..solvers.type1.scalings import scalings
from .base import POSITIVE
from .classification import ProbitModel
from .one_vs_rest import joined, one_vs_rest
from .selector import InputSelector
from .targets import coef_of

ROUNDS = 100
NEARER = 0.1  # the second start has the scalings of the first times this


@dataclass(eq=False, repr=False)
class JCFO(InputSelector, ProbitModel):
    """Joint classifier and feature optimisation: few kernels, and inside them few inputs, found together.

    A probit classifier on kernels that see each input through a scaling of its own, theta_k >= 0. Finds, from equal
    scalings, a local minimum of ::

        - sum_i s_i log Phi(t_i F_i) + lam sum_j |w_j| + lam_theta sum_k u_k theta_k,   F = K w + b,   t = +-1,
        K_ij = exp(-sum_k theta_k (x_ik - c_jk)^2)   or   (coef0 + sum_k theta_k x_ik c_jk)^degree,

    Phi the normal distribution function, c_j the distinct training rows, u_k the variance of input k (1 if
    ``standardize=False``), by the EM method of Krishnapuram, Hartemink, Carin and Figueiredo (2004), with a
    quasi-Newton step for scalings and weights together. The intercept is never penalised. An input with a scaling of
    zero is not looked at. The problem is not convex: "converged" means stationary, in all weights and scalings. More
    than two classes are one against the rest each, with scalings of their own; probabilities are divided by their sum.

    Parameters
    ----------
    lam : float, default=1.0
        Strength of the prior on the weights.
    lam_theta : float, default=100.0
        Strength of the prior on the scalings.
    basis : {"rbf", "poly"} or Kernel, default="rbf"
        The kernel; ``Kernel("linear")`` is one too. Its ``gamma``, in units of standardised inputs if
        ``standardize=True``, is the value from which all scalings start, "scale" being 1 / (number of inputs). A fit
        that keeps nothing is tried again from a tenth of it.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    fit_intercept : bool, default=True
    standardize : bool, default=True
        Measure scalings in units of each input's standard deviation; ``theta_`` stays in units of the data.
    tol : float, default=1e-6
        Largest relative violation of the optimality conditions at which a fit is done.
    max_iter : int, default=None
        Rounds of EM; None is 100.

    Attributes
    ----------
    theta_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Scalings of the inputs, in units of the data.
    coef_ : ndarray of shape (1, n_centres) or (n_classes, n_centres)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray
    support_ : ndarray
        Kernels with a non-zero weight in any row of ``coef_``; :meth:`get_support` is about inputs.
    relevance_vectors_ : ndarray or sparse array
        Their centres.
    violation_, objective_, n_iter_, status_
        Of the worst fit; the sum; of the longest fit; of the worst fit.
    history_ : list
        Objective (which never rises), violation, kernels and seconds of each round; a list of them if there are more
        than two classes.

    Examples
    --------
    >>> from smaller import JCFO
    >>> from smaller.synthetic import make_gaussians
    >>> draw = make_gaussians(200, 10, random_state=0)
    >>> model = JCFO().fit(draw.data, draw.target)
    >>> model.get_support(indices=True).tolist(), len(model.support_)
    ([0, 1], 2)
    """

    lam: float = 1.0
    lam_theta: float = 100.0
    _: KW_ONLY
    basis: Any = "rbf"
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = True
    tol: float = 1e-6
    max_iter: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        **ProbitModel._parameter_constraints,
        "lam": [POSITIVE],
        "lam_theta": [POSITIVE],
        "standardize": ["boolean"],
    }

    def _basis(self):
        basis = as_basis(self.basis)
        _refuse_other_bases(basis)
        return basis

    def _design(self, basis, X) -> Design:
        """The inputs themselves: the kernels change during the fit."""
        return as_design(X, intercept=True)

    def _pose(self, sample: Sample) -> Problem:
        return Problem(sample, Probit(), Laplace(self.lam))

    def _solve(self, problem: Problem) -> Solution:
        """One fit for two classes, else one for each class against the rest."""
        sample, unit = problem.sample, self._units(problem.sample)
        inputs: Any = sample.design
        X, centers = times(inputs.X, 1 / unit), times(sample.basis.centers_, 1 / unit)
        theta, steps = np.full(len(unit), self._width(sample)), self.max_iter or ROUNDS
        solutions = []
        for part in one_vs_rest(problem):
            offset = None if part.sample.offset is None else part.sample.offset[:, 0]
            data = X, centers, part.sample.Y[:, 0], sample.weight, offset
            objective = ScaledPosterior(sample.basis, *data, self.lam, self.lam_theta, self.fit_intercept)
            solution = scalings(objective, theta, self.tol, steps)
            if not solution.weights[: centers.shape[0]].any():
                # Where the penalty of the first start is too large all weights vanish; smaller scalings may keep some.
                again = scalings(objective, NEARER * theta, self.tol, steps)
                solution = min(solution, again, key=lambda each: each.objective)
            solutions.append(solution)
        return joined(solutions)

    def _units(self, sample: Sample) -> np.ndarray:
        return sample.scale if self.standardize else np.ones(sample.design.d)

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        theta = np.vstack([part.extra["theta"] for part in solution.extra["parts"]])
        self.theta_ = theta / self._units(problem.sample) ** 2

    def _width(self, sample: Sample) -> float:
        """Where all scalings start."""
        if self.standardize and sample.basis.gamma == "scale":
            varying = sample.moments.spread[: sample.design.d] > 0
            return 1.0 / max(1, int(varying.sum()))
        return float(sample.basis.gamma_)

    def _scores(self, X) -> np.ndarray:
        """K w + b of each row of ``coef_``, from the kernels that have a weight and the inputs they look at."""
        check_is_fitted(self)
        X = self._new_inputs(X)
        coef = coef_of(self)
        F = np.empty((X.shape[0], len(coef)))
        for j, (w, theta) in enumerate(zip(coef, self.theta_, strict=True)):
            rows = np.flatnonzero(w)
            K, _ = scaled_kernel(self.basis_, X.astype(np.float64), self.basis_.centers_[rows], theta)
            F[:, j] = K @ w[rows] + self.intercept_[j]
        return F

    def _inputs_kept(self) -> np.ndarray:
        return np.asarray(self.theta_.any(axis=0))


def _refuse_other_bases(basis: Any) -> None:
    if not (isinstance(basis, Kernel) and basis.kernel in KERNELS):
        raise ValueError(
            "JCFO scales the inputs of a kernel: basis must be 'rbf', 'poly', or Kernel(...) with one of "
            f"{', '.join(map(repr, KERNELS))}; got {basis!r}."
        )
