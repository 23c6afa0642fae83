"""Relevance vector machines: regression and classification whose weights have variances of their own."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.utils.validation import check_is_fitted

from .._sklearn import StrOptions
from ..basis import Kernel
from ..design import Design, follow, host
from ..errors import CandidatesWarning, warn
from ..likelihoods import Multinomial
from ..objective.evidence import Evidence
from ..objective.laplace_evidence import LaplaceEvidence
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import Jeffreys
from ..solvers import Solution
from ..solvers.type2 import sequential_laplace as laplace
from ..solvers.type2.fixed_point import type_two
from ..solvers.type2.sequential import fast, in_own_unit
from .base import Estimator
from .classification import ClassificationModel
from .one_vs_rest import joined, one_vs_rest
from .regression import VarianceModel
from .selector import Selector
from .targets import with_offset


class LimitedCandidates(Estimator):
    """Relevance vector machines: of a kernel that is named by a string, very many rows are not all candidates."""

    def _basis(self):
        basis = super()._basis()
        return basis.set_params(centers="auto") if isinstance(self.basis, str) and isinstance(basis, Kernel) else basis

    def _design(self, basis, X) -> Design:
        if isinstance(self.basis, str) and isinstance(basis, Kernel) and basis.n_distinct_ > basis.n_columns_:
            kernel = repr(basis.kernel)
            warn(
                f"{type(self).__name__}: of the {basis.n_distinct_} distinct rows, {basis.n_columns_} that are spread "
                f"over all are the candidates for relevance vectors. basis=Kernel({kernel}) takes all, which needs "
                f"more time and memory; Kernel({kernel}, centers='auto') takes these without this warning.",
                CandidatesWarning,
            )
        return super()._design(basis, X)


ORIGINAL_TOO = 100  # up to so many columns Tipping's original algorithm is run as well; the better model is kept


class RVMRegressor(LimitedCandidates, VarianceModel):
    """Relevance vector machine for regression: every basis function has a variance of its own, most of which become 0.

    The targets are N(b + Phi w, noise), the weights w_j ~ N(0, gamma_j); gamma and the noise maximise the evidence ::

        log p(y | gamma, noise) = log N(y; b, noise I + Phi Gamma Phi^T),   b integrated out under a flat prior,

    (Tipping 2001). Nothing is to be tuned but the kernel's width, for which ``evidence_`` can be compared.

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="rbf"
        What the weights belong to; see :mod:`smaller.basis`. Of a kernel named by a string, at most 2500 of the
        distinct rows are candidates for relevance vectors, as ``Kernel(centers="auto")`` chooses them, with a warning
        where there are more; ``Kernel()`` takes all. A kernel matrix too large to keep is computed as needed.
    algorithm : {"fast", "original"}, default="fast"
        The sequential algorithm of Tipping & Faul (2003), with exchanges and several starts, or the re-estimation of
        all precisions at once of Tipping (2001), whose every step takes d^3. Up to 100 columns, "fast" goes on from the
        latter's model too, and keeps the better.
    noise : "learn" or float, default="learn"
        Variance of the noise.
    fit_intercept : bool, default=True
        The intercept has a flat prior and is integrated out.
    tol : float, default=1e-3
        The fit is done when no addition, deletion, re-estimation or exchange of a column gains so many nats, and the
        slope of the log evidence in every log variance is below it.
    max_iter : int, default=None
        Rounds of the fast algorithm (1000), or iterations of the original (10 000).

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
        Posterior means; several targets share their variances.
    intercept_ : float or ndarray of shape (n_targets,)
    support_ : ndarray
        Columns of the basis with a positive variance.
    relevance_vectors_ : ndarray or sparse array
        On a kernel basis, their centres.
    gamma_ : ndarray of shape (n_columns,)
        Variances, 0 where a column was switched off.
    covariance_ : ndarray of shape (n_support, n_support)
        Posterior covariance of the weights of the support.
    noise_ : float
    evidence_ : float
        Log evidence, in nats, with all constants; the flat prior of the intercept has density 1.
    violation_ : float
        In nats, over all columns: the largest slope of the log evidence in a log variance of the model, or what the
        columns left out promise to gain, each at its best variance alone, whichever is more.
    n_iter_, objective_, status_, history_
        ``objective_`` is minus the log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import RVMRegressor
    >>> from smaller.basis import Kernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, (100, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(100)
    >>> model = RVMRegressor(basis=Kernel("rbf", gamma=0.1)).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> print(len(model.relevance_vectors_), "relevance vectors, noise", round(model.noise_**0.5, 2))
    4 relevance vectors, noise 0.1
    """

    _lazy = _on_device = True
    _parameter_constraints: ClassVar[dict] = {
        **VarianceModel._parameter_constraints,
        "algorithm": [StrOptions({"fast", "original"})],
    }

    def __init__(self, basis="rbf", *, algorithm="fast", noise="learn", fit_intercept=True, tol=1e-3, max_iter=None):
        self.basis = basis
        self.algorithm = algorithm
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _maximise(self, evidence: Evidence, prior) -> Solution:
        found = in_own_unit(evidence, self._noise(), self._search)
        self._doubt_noise(evidence, found)
        return found

    def _search(self, evidence: Evidence, noise: float | None) -> Solution:
        if self.algorithm == "original":
            return type_two(evidence, noise, self.tol, self.max_iter or 10_000, "mackay")
        small = evidence.columns.d <= ORIGINAL_TOO
        others = [type_two(evidence, noise, self.tol, 500, "mackay").extra["fit"][:3]] if small else []
        return fast(evidence, noise, self.tol, self.max_iter or 1000, others)


PAIRS_AT_ONCE = 1 << 22  # of classes, times samples, whose variances are held at once
SEARCHES = {"fast": (laplace.fast, 1000), "original": (laplace.original, 2000)}


@dataclass(eq=False, repr=False)
class RVMClassifier(LimitedCandidates, Selector, ClassificationModel):
    """Relevance vector machine for classification: logistic or softmax, every basis function with its own variance.

    Every weight has a variance of its own: with several classes, each basis function has one weight for each of them.
    The weights w_j ~ N(0, gamma_j) are integrated out by Laplace's approximation at their mode (Tipping 2001), ::

        log p(y | gamma) ~ log p(y | w) - 1/2 sum_j w_j^2 / gamma_j - 1/2 sum_j log gamma_j - 1/2 log|H|,

    and gamma is a fixed point of its re-estimation, in which the curvature at the mode is held.

    Parameters
    ----------
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="rbf"
        As in :class:`RVMRegressor`, with its limit of the candidates.
    algorithm : {"fast", "original"}, default="fast"
        Columns added, exchanged and deleted one by one, or all re-estimated at once; see :class:`RVMRegressor`.
    multiclass : {"ovr", "multinomial"}, default="ovr"
        One machine for each class against the rest, their probabilities normalised; or one softmax model, which keeps
        about half as many weights, takes several times as long and predicts no better (see :doc:`/evidence`).
    moderate : bool, default=True
        Let the uncertainty of the weights pull probabilities towards equality (MacKay 1992): a score is divided by
        sqrt(1 + pi v / 8), v its variance. In a softmax this happens to the difference between every two classes.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    fit_intercept : bool, default=True
        The intercept b, that of centred columns, has the broad prior exp(-b^2 / 20000) and is integrated out; of k > 2
        classes in one softmax, whose intercepts sum to 0, exp(-k |b|^2 / 20000).
    tol : float, default=1e-3
        The fit is done when no change of the columns gains so many nats.
    max_iter : int, default=None
        Rounds of the fast algorithm (1000), or iterations of the original (2000). A search with several classes, or by
        the original, takes at most 50 times as many Newton steps; large offsets may use them up.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        The mode of the weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_, support_, relevance_vectors_
        As in :class:`SMLR`.
    gamma_ : ndarray of shape (n_columns,) or (n_classes, n_columns)
        Variances of the weights, 0 where one was switched off; with several classes, a row for each class.
    covariance_ : ndarray of shape (n_scores, n_support, n_support)
        Of the weights of each score.
    evidence_ : float
        Log evidence, in nats; of one-versus-rest machines, the sum of theirs.
    violation_ : float
        The larger of two numbers: the largest slope of the log evidence in a log variance, the curvature at the mode
        held; and the most that the log evidence rises when a weight outside the model is added and all variances are
        re-estimated (of weights for which the curvature held promises less than ``tol``, or that were not tried: what
        it promises).
    n_iter_, objective_, status_, history_
        ``objective_`` is minus the log evidence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import RVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVMClassifier().fit(X, y)
    >>> print(len(model.relevance_vectors_), "relevance vectors, accuracy", round(model.score(X, y), 2))
    6 relevance vectors, accuracy 0.98
    """

    basis: Any = "rbf"
    _: KW_ONLY
    algorithm: str = "fast"
    multiclass: str = "ovr"
    moderate: bool = True
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None

    _lazy = _on_device = True
    _parameter_constraints: ClassVar[dict] = {
        **ClassificationModel._parameter_constraints,
        "algorithm": [StrOptions(set(SEARCHES))],
        "multiclass": [StrOptions({"multinomial", "ovr"})],
        "moderate": ["boolean"],
    }

    def _pose(self, sample: Sample) -> Problem:
        return Problem(sample, Multinomial(reference=sample.k == 1), Jeffreys())

    def _solve(self, problem: Problem) -> Solution:
        """One search for all classes, or one for each class against the rest."""
        search, rounds = SEARCHES[self.algorithm]
        solutions = []
        for part in one_vs_rest(problem) if self.multiclass == "ovr" else [problem]:
            sample = part.sample
            Y = np.asfortranarray(host(sample.Y), dtype=np.float64)
            evidence = LaplaceEvidence(sample.design, Y, sample.weight, sample.offset)
            solution = search(evidence, self.tol, self.max_iter or rounds)
            solutions.append(solution._replace(extra={**solution.extra, "evidence": evidence}))
        found = joined(solutions)
        found.extra["support"] = np.unique(np.concatenate([mode.rows // at.outputs for at, mode in _modes(found)]))
        return found

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        found = _modes(solution)
        gamma = np.concatenate([_variances(*each) for each in found])
        self.gamma_ = gamma[0] if len(gamma) == 1 else gamma
        kept = len(self.support_)
        if found[0][0].outputs > 1:
            self.joint_covariance_ = self._joint_covariance(*found[0])
            self.covariance_ = self._class_covariances(len(self.classes_))
        else:
            self.joint_covariance_ = np.stack([self._score_covariance(*each) for each in found])
            self.covariance_ = self.joint_covariance_[:, :kept, :kept]
        self.center_ = found[0][0].columns.center[self.support_]
        self.evidence_ = float(sum(mode.log_evidence for _, mode in found))
        self.objective_ = -self.evidence_

    def _joint_covariance(self, problem: LaplaceEvidence, mode) -> np.ndarray:
        """Covariance of all weights of a softmax, column by column and class by class, then of its intercepts."""
        scale = np.append(1 / problem.columns.unit[mode.rows // problem.outputs], np.ones(len(problem.Y[0])))
        found = problem.outputs_covariance(mode)
        return found * np.outer(scale, scale)[: len(found), : len(found)]

    def _class_covariances(self, m: int) -> np.ndarray:
        """Covariance of the weights of each class on the support, 0 where a class has no weight."""
        column, owner = self._weights()
        found = np.zeros((m, len(self.support_), len(self.support_)))
        for c in range(m):
            own = np.flatnonzero(owner == c)
            found[c][np.ix_(column[own], column[own])] = self.joint_covariance_[np.ix_(own, own)]
        return found

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The position in the support of the column of each weight of a softmax, and the class of the weight."""
        column, owner = np.nonzero(host(self.gamma_).T)
        return np.searchsorted(self.support_, column), owner

    def _score_covariance(self, problem: LaplaceEvidence, mode) -> np.ndarray:
        """Covariance of the weights of one score and its intercept, on the support of all machines."""
        scale = np.append(1 / problem.columns.unit[mode.rows], np.ones(problem.free))
        where = np.append(np.searchsorted(self.support_, mode.rows), len(self.support_) + np.arange(problem.free))
        size = len(self.support_) + problem.free
        found = np.zeros((size, size))
        found[np.ix_(where, where)] = mode.joint * np.outer(scale, scale)
        return found

    def _centred_columns(self, X) -> tuple[np.ndarray, np.ndarray]:
        """The kept columns about their centres, every row in units of its largest value, and these units."""
        Phi = self._columns(X)
        Phi = Phi.toarray() if hasattr(Phi, "toarray") else host(Phi)
        Phi = np.asarray(Phi, dtype=np.float64) - host(self.center_)
        unit = np.abs(Phi).max(axis=1, initial=1.0, keepdims=True)
        return Phi / unit, unit

    def _score_deviations(self, X) -> np.ndarray:
        """Standard deviation of each score, (n, n_scores)."""
        (Phi, unit), joint = self._centred_columns(X), host(self.joint_covariance_)
        if joint.shape[1] > Phi.shape[1]:
            Phi = np.column_stack([Phi, 1 / unit])
        variances = np.column_stack([((Phi @ block) * Phi).sum(axis=1) for block in joint])
        return unit * np.sqrt(np.maximum(variances, 0.0))

    def decision_function(self, X, offset=None) -> np.ndarray:
        """Scores whose softmax are the probabilities: moderated log odds of the second class, or one for each class."""
        check_is_fitted(self)
        F = with_offset(self._scores(X), offset)
        if F.shape[1] > 1 and self.multiclass == "multinomial":
            return F if not self.moderate else follow(self._moderated(X, host(F)), F)
        if self.moderate:
            F = F / follow(np.hypot(1.0, np.sqrt(np.pi / 8) * self._score_deviations(X)), F)
        if F.shape[1] == 1:
            return F[:, 0]
        return follow(log_expit(host(F)), F)

    def _moderated(self, X, F: np.ndarray) -> np.ndarray:
        """-log sum_d exp(-(f_c - f_d) / sqrt(1 + pi v_cd / 8)), v_cd the variance of f_c - f_d: MacKay's, in pairs."""
        m = F.shape[1]
        if host(self.joint_covariance_).ndim == 3:
            # Model files of older versions have no covariances between classes; each score is then moderated by itself.
            return F / np.hypot(1.0, np.sqrt(np.pi / 8) * m / (m - 1) * self._score_deviations(X))
        (Phi, unit), found = self._centred_columns(X), np.empty_like(F)
        for first in range(0, len(F), max(1, PAIRS_AT_ONCE // m**2)):
            some = slice(first, first + max(1, PAIRS_AT_ONCE // m**2))
            apart = F[some, :, None] - F[some, None, :]
            apart /= np.hypot(1.0, np.sqrt(np.pi / 8) * self._pair_deviations(Phi[some], unit[some], m))
            found[some] = -logsumexp(-apart, axis=2)
        return found

    def _pair_deviations(self, Phi: np.ndarray, unit: np.ndarray, m: int) -> np.ndarray:
        """Standard deviations of the differences between the scores of two classes, (n, m, m)."""
        joint, (column, owner) = host(self.joint_covariance_), self._weights()
        A = Phi[:, column]
        if len(joint) > A.shape[1]:
            A, owner = np.column_stack([A, np.tile(1 / unit, m)]), np.append(owner, np.arange(m))
        covariance = np.zeros((len(A), m, m))
        for c in range(m):
            own = owner == c
            T = (A[:, own] @ joint[own]) * A
            for d in range(m):
                covariance[:, c, d] = T[:, owner == d].sum(axis=1)
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        apart = variance[:, :, None] + variance[:, None, :] - covariance - covariance.transpose(0, 2, 1)
        return unit[:, :, None] * np.sqrt(np.maximum(apart, 0.0))


def _modes(solution: Solution) -> list[tuple[LaplaceEvidence, Any]]:
    """The evidence of each search and the mode it found."""
    return [(part.extra["evidence"], part.extra["mode"]) for part in solution.extra["parts"]]


def _variances(problem: LaplaceEvidence, mode) -> np.ndarray:
    """gamma in the units of the data, (outputs, d), 0 where a weight is not in the model."""
    gamma = np.zeros((problem.outputs, problem.columns.d))
    column = mode.rows // problem.outputs
    found = (1 / (np.sqrt(mode.alpha) * problem.columns.unit[column])) ** 2
    gamma[mode.rows % problem.outputs, column] = np.maximum(found, np.finfo(float).tiny)
    return gamma
