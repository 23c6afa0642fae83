"""Kernel classifiers along a boosted-lasso path: LRVM, and JFSCL, which also learns which inputs matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._sklearn import StrOptions
from ..basis import GatedKernel, Precomputed, Standardized, as_basis
from ..design import Design, as_design
from ..errors import EmptyModelWarning, warn
from ..objective.moves import GatedMoves, WeightMoves
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet
from ..solvers import Solution
from ..solvers.blasso import BoostedPath
from ..solvers.smooth import settle
from .base import POSITIVE, without
from .boosted import BoostedModel, weights_at
from .selector import InputSelector, Selector
from .targets import coef_of


@dataclass(eq=False, repr=False)
class LRVM(Selector, BoostedModel):
    """Laplacian relevance vector machine: a logistic kernel machine along the path of boosted lasso.

    Follows, from strong to weak priors, the minimisers over w (and b, which is never penalised) of ::

        sum_i s_i log(1 + exp(-t_i F_i)) + lam sum_j |w_j|,   F = Phi w + b,   t = +-1

    (Lapedriza et al. 2008, eqs. 3-6), in moves of one weight by one step, forward and backward (BLasso, Zhao and Yu
    2007). With more classes the loss is that of a softmax. As the step goes to 0 the path becomes that of
    :class:`SMLR`; ``dual_gap_`` bounds the distance.

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="rbf"
        What the weights belong to; see :mod:`smaller.basis`.
    step : float, default=0.5
        How far a parameter moves at once, epsilon of the paper. Smaller steps follow the path more closely and take
        more of them.
    lam : "cv", "validation" or float, default="cv"
        Which point of the path is taken: the best in cross-validation, the best on ``X_val, y_val`` (given to ``fit``),
        or the one that belongs to a strength.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is stratified folds, fewer where the smallest class has fewer samples.
        ``StratifiedShuffleSplit(1)`` holds one part out.
    rule : {"min", "1se"}, default="min"
        The best mean score, or the strongest prior within one standard error of it.
    scoring : {"log-loss", "accuracy"}, default="log-loss"
        What is best.
    multiclass : {"multinomial", "ovr"}, default="multinomial"
        One softmax model, or one machine for each class against the rest, each with its own point; their
        probabilities are then normalised.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    fit_intercept : bool, default=True
        The intercept is not penalised: it stands at its optimum all along the path.
    standardize : bool, default=True
        Measure the inputs in units of their standard deviations before the basis is applied.
    shortlist : bool, default=True
        Use derivatives to evaluate only the moves that can be the best; the path is the same.
    lam_ratio : float, default=0.01
        The path ends at this fraction of its first strength.
    tol : float, default=1e-5
        A move must lower the loss, or at a given strength the penalised loss, by more than this (xi, in nats).
    max_iter : int, default=10000
        Moves of a path.
    n_jobs : int, default=None
        Folds walked side by side.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Weights of the columns of ``basis_``, which standardises its inputs: multiples of the step.
    intercept_, classes_, support_, relevance_vectors_
        As in :class:`SMLR`.
    path_ : BoostedPath, or a list of one for each class
        All points: strengths, losses, penalties, intercepts, and the moves between them.
    point_ : int or ndarray
        The point taken.
    lam_ : float or ndarray
        Its strength.
    lams_, scores_ : ndarray, or lists of them
        With ``lam="cv"``, strengths and their scores in each fold; with ``lam="validation"``, in the held-out samples.
    dual_gap_, violation_, objective_ : float
        Of the L1 problem at ``lam_``, as in :class:`SMLR`.
    n_iter_ : int
        Moves of the longest path.
    status_ : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import LRVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LRVM().fit(X, y)
    >>> print(len(model.relevance_vectors_), "relevance vectors, accuracy", round(model.score(X, y), 2))
    10 relevance vectors, accuracy 0.97
    """

    basis: Any = "rbf"

    def _basis(self):
        basis = as_basis(self.basis)
        return Standardized(basis) if self.standardize and not isinstance(basis, Precomputed) else basis

    def _moves(self, problem: Problem) -> WeightMoves:
        sample = problem.sample
        return WeightMoves(sample.design, sample.Y, problem.likelihood, self.step, sample.weight, sample.offset)

    def _follow(self, sample: Sample, path: BoostedPath, X, points: np.ndarray) -> Iterator[np.ndarray]:
        used = np.unique(path.coordinates % sample.design.d)
        Phi = sample.basis.transform(X, used)
        for point in points:
            yield Phi @ weights_at(path, point, sample.design.d)[used] + path.intercepts[point]

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        """Also how far the points are from the optimum of their strength."""
        super()._adopt_more(problem, solution)
        self.dual_gap_, self.violation_ = 0.0, 0.0
        for walk, point, lam in zip(*(solution.extra[name] for name in ("walks", "points", "lams")), strict=True):
            if not np.isfinite(lam):
                continue  # before the first move every weight is 0, which is the optimum at an infinite strength
            W = weights_at(walk.path, point, problem.sample.design.d)
            W = np.vstack([W, walk.path.intercepts[point]]) if self.fit_intercept else W
            found = settle(walk.problem.with_prior(ElasticNet(lam)).objective, W, 1e-10)
            self.dual_gap_ = max(self.dual_gap_, float(found.gap))
            self.violation_ = max(self.violation_, float(found.violation))


@dataclass(eq=False, repr=False)
class JFSCL(InputSelector, BoostedModel):
    """Joint feature selection and classifier learning: a kernel machine that learns which inputs its kernel sees.

    Follows, from strong to weak priors, local minimisers over w and v (and b, which is never penalised) of ::

        sum_i s_i log(1 + exp(-t_i F_i)) + lam ( sum_j |w_j| + sum_k g_k ),   F_i = sum_j w_j K(g x_i, g x_j) + b,

    with gates ``g = 1 / (1 + exp(-steepness v))`` and ``K(x, x') = exp(-gamma |x - x'|^2)`` (Lapedriza et al. 2008,
    eqs. 7-12), in moves of one parameter by one step (generalised BLasso, Zhao & Yu 2007). It starts with gates half
    open, v = 0. An input with v < 0 is rejected: no prediction depends on it.

    Parameters
    ----------
    gamma : "scale" or float, default="scale"
        Width of the kernel. "scale" is 2 / (sum of the variances of the inputs), 2 / p for standardised inputs; see
        :func:`tune_width`.
    step : float, default=1.2
        How far a parameter moves at once, epsilon of the paper. Smaller steps follow the path more closely and take
        more of them.
    steepness : float, default=10.0
        Of the gates, k of the paper: a step must open or shut a gate nearly completely.
    lam : "cv", "validation" or float, default="cv"
        Which point of the path is taken: the best in cross-validation, the best on ``X_val, y_val`` (given to ``fit``),
        or the one that belongs to a strength.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is stratified folds, fewer where the smallest class has fewer samples.
        ``StratifiedShuffleSplit(1)`` holds one part out.
    rule : {"min", "1se"}, default="1se"
        The best mean score, or the strongest prior within one standard error of it, which keeps fewer inputs.
    scoring : {"log-loss", "accuracy"}, default="log-loss"
        What is best.
    multiclass : {"multinomial", "ovr"}, default="multinomial"
        One softmax model whose classes share the gates, or one machine for each class against the rest, each
        with gates and a point of its own; their probabilities are then normalised.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    fit_intercept : bool, default=True
        The intercept is not penalised: it stands at its optimum all along the path.
    standardize : bool, default=True
        Measure the inputs in units of their standard deviations.
    shortlist : bool, default=True
        Use derivatives to evaluate only the moves that can be the best; see :doc:`/gated` for how
        nearly the path stays the same.
    lam_ratio : float, default=0.01
        The path ends at this fraction of its first strength.
    tol : float, default=1e-5
        A move must lower the loss, or at a given strength the penalised loss, by more than this (xi, in nats).
    max_iter : int, default=10000
        Moves of a path.
    n_jobs : int, default=None
        Folds walked side by side.

    Attributes
    ----------
    features_ : ndarray
        The inputs kept (by any class, with one machine for each); ``get_support`` and ``transform`` are about these.
    gates_ : ndarray of shape (n_features,) or (n_classes, n_features)
        g, 0 where the input was rejected.
    gamma_ : float
    coef_ : ndarray of shape (1, n_centers) or (n_classes, n_centers)
    intercept_, classes_
        As in :class:`SMLR`.
    support_, relevance_vectors_
        Centres with a non-zero weight.
    path_, point_, lam_, lams_, scores_, n_iter_, status_
        As in :class:`LRVM`.
    objective_ : float
        Penalised loss at the point taken, with the gates of rejected inputs as they were there, not yet 0;
        of one-versus-rest machines, the sum of theirs.

    Examples
    --------
    >>> from smaller import JFSCL
    >>> from smaller.synthetic import make_gaussians
    >>> data = make_gaussians(200, 20, random_state=0)
    >>> model = JFSCL().fit(data.data, data.target)
    >>> model.get_support(indices=True).tolist()  # those that the classes differ in
    [0, 1]
    """

    gamma: Any = "scale"
    _: KW_ONLY
    step: float = 1.2
    steepness: float = 10.0
    rule: str = "1se"

    basis = None  # the kernel is part of what is learned
    _general = True
    _sparse_formats: ClassVar[Any] = False
    _parameter_constraints: ClassVar[dict] = {
        **without(BoostedModel._parameter_constraints, "basis"),
        "gamma": [StrOptions({"scale"}), POSITIVE],
        "steepness": [POSITIVE],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _basis(self):
        return GatedKernel(self.gamma, self.standardize)

    def _design(self, basis: GatedKernel, X) -> Design:
        """The inputs themselves: the kernel of these belongs to the walk."""
        return as_design(basis.inputs(X), self.fit_intercept)

    def _moves(self, problem: Problem) -> GatedMoves:
        sample, basis = problem.sample, problem.sample.basis
        return GatedMoves(
            sample.design.take(np.arange(sample.design.d)), basis.inputs(basis.centers_), basis.gamma_, self.steepness,
            sample.Y, problem.likelihood, self.step, sample.weight, sample.offset, self.fit_intercept,
        )  # fmt: skip

    def _gates(self, path: BoostedPath, point: int, p: int) -> np.ndarray:
        """Gates at a point; those of rejected inputs, v < 0, are 0."""
        v = path.parameters(point)[-p:]
        return np.where(v < 0, 0.0, 1 / (1 + np.exp(-self.steepness * np.maximum(v, 0.0))))

    def _follow(self, sample: Sample, path: BoostedPath, X, points: np.ndarray) -> Iterator[np.ndarray]:
        basis, p = sample.basis, sample.design.d
        m, Z, centers = basis.n_columns_, basis.inputs(X), basis.inputs(basis.centers_)
        for point in points:
            W = weights_at(path, point, m)
            used = np.flatnonzero(W.any(axis=1))
            K = basis.values(Z, centers[used], self._gates(path, point, p))
            yield K @ W[used] + path.intercepts[point]

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        p, pairs = problem.sample.design.d, zip(solution.extra["walks"], solution.extra["points"], strict=True)
        gates = np.array([self._gates(walk.path, point, p) for walk, point in pairs])
        self.features_ = np.flatnonzero(gates.any(axis=0))
        self.gamma_ = float(self.basis_.gamma_)
        self.gates_ = gates[0] if len(gates) == 1 else gates
        self.basis_.gates_ = gates[0] if len(gates) == 1 else gates.max(axis=0)

    def _warn_if_empty(self, problem: Problem) -> None:
        if not len(self.support_) or not len(self.features_):
            what = "weight" if not len(self.support_) else "input"
            warn(f"JFSCL kept no {what}: it predicts {self._without_columns}.", EmptyModelWarning)

    def _scores(self, X) -> np.ndarray:
        """K W + b, each machine with its own gates."""
        check_is_fitted(self)
        Z = self.basis_.inputs(self._new_inputs(X))
        centers = self.basis_.inputs(self.basis_.centers_[self.support_])
        coef = coef_of(self)[:, self.support_]
        if self.gates_.ndim == 1:
            return self.basis_.values(Z, centers, self.gates_) @ coef.T + self.intercept_
        parts = [self.basis_.values(Z, centers, g) @ w for g, w in zip(self.gates_, coef, strict=True)]
        return np.column_stack(parts) + self.intercept_

    def _inputs_kept(self) -> np.ndarray:
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.features_] = True
        return mask
