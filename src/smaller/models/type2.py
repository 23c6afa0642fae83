"""Type II regression: the variances of the weights by evidence maximisation, after Wipf & Wu (2012)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from .._sklearn import StrOptions
from ..basis import Kernel, Linear, Precomputed
from ..design import Design, OperatorDesign, as_design
from ..errors import Status, UnidentifiedNoiseWarning, warn
from ..objective.evidence import Evidence
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import Jeffreys, as_scale_mixture
from ..solvers import Solution
from ..solvers.type2.auto import EFFORT, after_em, best_evidence
from ..solvers.type2.fixed_point import RULES, check_prior, reweighted_l1, type_two
from ..solvers.type2.sequential import fast, in_own_unit
from ..solvers.type2.sequential_starts import abound, several
from ..solvers.type2.unknown_noise import MANY_TARGETS, abundant, evidence_noise, noise_of_many_columns
from .base import COUNT, Given
from .complex_numbers import Complex, complex_covariance, complex_inputs, complex_weights, embedded
from .operators import TakesOperators
from .regression import VarianceModel

ALGORITHMS = {
    **{"auto": 100, "fast": 1000, "em": 100_000},
    **{"mackay": 10_000, "reweighted-l2": 10_000, "reweighted-l1": 1000},
}


@dataclass(eq=False, repr=False)
class TypeIIRegressor(TakesOperators, VarianceModel):
    """Evidence maximisation: the weights are integrated out before their variances are chosen.

    Minimises over gamma (and the noise), half of ::

        y^T S^-1 y + log|S| + sum_j f(gamma_j) + n f(noise),   S = noise I + Phi Gamma Phi^T,

    (Wipf & Wu 2012, eqs. 5 and 16); ``coef_`` is the posterior mean Gamma Phi^T S^-1 y. Several targets share gamma.
    All algorithms go to stationary points of this one objective, of which there may be many.

    Parameters
    ----------
    algorithm : {"auto", "fast", "em", "mackay", "reweighted-l2", "reweighted-l1"}, default="auto"
        "auto" starts from EM on all columns and from lassos, which let columns in together, goes on by Newton's method,
        and looks at every column before it ends; where samples are few it follows several starts and keeps the best.
        With few columns to a sample it is "fast", and with a prior other than "jeffreys" it is "reweighted-l2". The
        others: the sequential algorithm of Tipping & Faul (2003); EM; MacKay's update; reweighted ridge; reweighted
        lasso (of whole rows, for several targets). The last four start from all columns; those that prune look at what
        they pruned in the end, and take back what would gain.
    prior : {"jeffreys", "laplace", "gaussian", "student", "lp"} or object, default="jeffreys"
        Whose f it is; "jeffreys" has f = 0. With any other the algorithm is "em", "mackay" or "reweighted-l2"; or, if
        f is concave and increases, which only an object of your own may have, "reweighted-l1".
    noise : "learn" or float, default="learn"
        Variance of the noise. Learned by the evidence where columns are few: at most half the samples, or twice these
        for ten targets or more; and on kernel bases. With more columns the evidence would fit the targets exactly.
        There "auto" chooses a model by 5-fold cross-validation, for ten targets or more by a scaled lasso of whole
        rows, and takes what least squares on its columns that are clearly not 0 leaves; from as many columns as samples
        on a warning says so. The other algorithms stay with the evidence, and warn of a noise that is likely too small.
    basis : {"linear", "quadratic", "rbf", "poly", "precomputed"} or basis object, default="linear"
    fit_intercept : bool, default=True
        The intercept has a flat prior and is integrated out.
    groups : array-like of shape (n_columns,), default=None
        A label for each column. Columns of one label share their variance, and so are kept or left out together:
        the three directions of a source, the neighbours of a block. Needs algorithm "auto" and prior "jeffreys".
    complex : bool, default=False
        Whether X and y are complex numbers, with circular noise and weights; ``coef_`` is complex then.
    em_steps : int, default=None
        Stop after so many steps of EM, which reconstructs a signal better than the maximum of the evidence where this
        fits too closely. The columns with the largest variances are kept. Needs a given noise.
    tol : float, default=1e-5
        Largest slope of the objective, in nats, in the logarithm of a variance, and the most nats that the columns
        left out may promise together.
    max_iter : int, default=None
        None is the algorithm's own limit. That of "auto" is 100 rounds of Newton's method and a look at all columns,
        and a work of a few minutes: models of some 4000 columns end there, and say in ``violation_`` how many nats more
        the columns left out promise. With a number of rounds there is no limit to the work.

    Attributes
    ----------
    coef_, intercept_, support_, relevance_vectors_, gamma_, covariance_, noise_, evidence_
        As in :class:`RVMRegressor`.
    objective_ : float
        Half of the above with its constants: minus the log evidence where f = 0.
    violation_ : float
        In nats, over all columns: the largest slope of the objective in a log variance of the model, or what the
        columns left out promise, each at its best variance alone, whichever is more. Of groups of several columns it
        is what they would promise if their columns were orthogonal and seen alike.
    status_ : str
        "converged"; "sloping" where tol was not reached; "interpolates" where the noise cannot be learned; "stopped"
        where `em_steps` ended the fit.
    n_iter_, history_

    Notes
    -----
    X may be a :class:`scipy.sparse.linalg.LinearOperator`, or an operator of PyLops, with products ``matvec`` and
    ``rmatvec``: only columns that the model keeps are formed, and with many samples the variances of EM are estimated
    from ten random vectors, drawn from a fixed seed.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import TypeIIRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> names = ["auto", "fast", "em", "mackay", "reweighted-l2", "reweighted-l1"]
    >>> reached = [TypeIIRegressor(name).fit(X, y).evidence_ for name in names]
    >>> bool(max(reached) - min(reached) < 1e-5)
    True
    """

    algorithm: str = "auto"
    _: KW_ONLY
    prior: Any = "jeffreys"
    noise: Any = "learn"
    basis: Any = "linear"
    fit_intercept: bool = True
    groups: Any = None
    complex: bool = False
    em_steps: int | None = None
    tol: float = 1e-5
    max_iter: int | None = None

    _lazy, _on_device = False, True
    _good_ends: ClassVar[set[Status]] = {Status.CONVERGED, Status.STOPPED}
    _parameter_constraints: ClassVar[dict] = {
        **VarianceModel._parameter_constraints,
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "prior": [str, object],
        "groups": ["array-like", None],
        "complex": ["boolean"],
        "em_steps": [COUNT, None],
    }

    # -- the data

    def _check(self, given: Given) -> Sample:
        self._embedding: Complex | None = None
        if not self.complex:
            return super()._check(given)
        if not isinstance(self._basis(), Linear):
            raise ValueError(f"complex=True needs basis='linear'; got {self.basis!r}.")
        self._embedding = embedded(given, self.fit_intercept)
        sample = super()._check(self._embedding.given)
        self.n_features_in_ //= 2
        sample.basis.n_columns_ //= 2
        return sample

    def _design(self, basis, X) -> Design:
        return as_design(X) if self.complex else super()._design(basis, X)

    def _noise(self) -> float | None:
        """In the units of the real columns: half of the variance of circular noise is that of its real part."""
        noise = super()._noise()
        return noise if noise is None or not self.complex else 0.5 * noise

    def _evidence(self, sample: Sample) -> Evidence:
        taken = None if self._embedding is None or not self.fit_intercept else self._embedding.taken
        return Evidence(sample.design, sample.Y, sample.weight, self._groups(sample), taken)

    def _groups(self, sample: Sample) -> np.ndarray | None:
        """A number for each column of the design; the two parts of a complex weight are a group."""
        count = sample.design.d // 2 if self.complex else sample.design.d
        numbers = np.arange(count) if self.groups is None else group_numbers(self.groups, count)
        if self.complex:
            return np.tile(numbers, 2)
        return None if self.groups is None else numbers

    # -- the search

    def _maximise(self, evidence: Evidence, prior) -> Solution:
        grouped = evidence.columns.groups is not None or isinstance(evidence.columns.design, OperatorDesign)
        self._check_options(prior, grouped)
        # A prior of the variances has a unit of its own, so that the targets keep theirs.
        noise = self._noise()
        if self.algorithm == "auto" and noise is None and isinstance(prior, Jeffreys):
            noise = self._noise_of_many_columns(evidence)
        unitless = isinstance(prior, Jeffreys) or (noise is None and evidence.yy == 0)
        found = in_own_unit(evidence, noise, self._search) if unitless else self._search(evidence, noise)
        if noise is None:
            self._doubt_noise(evidence, found)
        return found

    def _noise_of_many_columns(self, evidence: Evidence) -> float | None:
        """The noise by held-out samples where the evidence would lose it; None where the evidence finds it.

        Columns of a kernel are so alike that few of them fit: there the evidence finds the noise, as in an RVM.
        """
        if isinstance(self._basis(), Kernel | Precomputed) or evidence.columns.design.accelerated:
            return None
        if not abundant(evidence):
            return None
        unit = float(np.sqrt(evidence.variance))
        noise = noise_of_many_columns(evidence.scaled(unit), self.complex) * unit**2
        count = int(evidence.columns.grouped(np.isfinite(evidence.columns.unit)).astype(bool).sum())
        if count >= evidence.total:
            warn(
                "TypeIIRegressor: the noise cannot be identified by the evidence, which could fit "
                f"{evidence.total:.6g} samples exactly with {count} columns; it was chosen by "
                f"{'a scaled lasso' if evidence.k >= MANY_TARGETS else 'cross-validation'} and least squares on the "
                "columns that are clearly not 0. If its variance was measured, give noise that value.",
                UnidentifiedNoiseWarning,
            )
        return noise

    def _check_options(self, prior, grouped: bool) -> None:
        if self.algorithm != "auto":
            check_prior(prior, self.algorithm)
        alone = grouped or self.em_steps is not None
        if alone and not (self.algorithm == "auto" and isinstance(prior, Jeffreys)):
            raise ValueError(
                "groups, complex numbers, operators and em_steps need algorithm='auto' and prior='jeffreys'; got "
                f"algorithm={self.algorithm!r} and prior={self.prior!r}."
            )
        if self.em_steps is not None and self.noise == "learn":
            raise ValueError("em_steps needs the variance of the noise; got noise='learn'.")

    def _search(self, evidence: Evidence, noise: float | None) -> Solution:
        prior, name = as_scale_mixture(self.prior), self.algorithm
        if name == "auto" and not isinstance(prior, Jeffreys):
            name = "reweighted-l2"
        arguments = evidence, noise, self.tol, self.max_iter or ALGORITHMS[name]
        if name == "auto":
            return self._best(evidence, noise)
        if name == "reweighted-l1":
            return reweighted_l1(*arguments, prior)
        if name in RULES:
            return type_two(*arguments, name, prior)
        return fast(*arguments, several(evidence, noise) if noise is not None and abound(evidence) else ())

    def _best(self, evidence: Evidence, noise: float | None) -> Solution:
        """In groups, by products, or of many columns all at once; of few columns to a sample one at a time."""
        columns = evidence.columns
        if self.em_steps is not None and noise is not None:
            return after_em(evidence, noise, self.em_steps)
        alone = columns.groups is None and not isinstance(columns.design, OperatorDesign)
        if noise is None and not alone:
            return evidence_noise(evidence, self.tol, self.max_iter or ALGORITHMS["fast"])
        if noise is None or (alone and (columns.design.accelerated or 2 * columns.d <= evidence.total)):
            return fast(evidence, noise, self.tol, self.max_iter or ALGORITHMS["fast"])
        effort = EFFORT if self.max_iter is None else np.inf
        found = best_evidence(evidence, noise, self.tol, self.max_iter or ALGORITHMS["auto"], effort)
        if not alone or evidence.k > 1 or not abound(evidence):
            return found
        fit = found.extra["fit"]
        starts = [*several(evidence, noise), (fit.rows, fit.alpha, noise)]
        other = fast(evidence, noise, self.tol, self.max_iter or ALGORITHMS["fast"], starts)
        return min(other, found, key=lambda each: each.objective)

    # -- the solution

    def _coefficients(self, problem: Problem, solution: Solution) -> tuple[Any, Any, Solution]:
        if self._embedding is None:
            return super()._coefficients(problem, solution)
        W, known = complex_weights(solution.weights), self._embedding
        extra = {**solution.extra, "support": self._complex_rows(solution)}
        intercept = known.mean - known.center @ W if self.fit_intercept else np.zeros(W.shape[1], dtype=complex)
        vector = problem.sample.vector
        coef = W[:, 0].copy() if vector else W.T.copy()
        return coef, intercept[0] if vector else intercept, solution._replace(extra=extra)

    def _complex_rows(self, solution: Solution) -> np.ndarray:
        rows = solution.extra["fit"].rows
        return rows[: len(rows) // 2].copy()

    def _adopt_more(self, problem: Problem, solution: Solution) -> None:
        super()._adopt_more(problem, solution)
        if self._embedding is not None:
            self.gamma_ = 2 * self.gamma_[: len(self.gamma_) // 2]
            level = self.noise_ * 2 / problem.sample.weight.sum() if self.fit_intercept else 0.0
            self.noise_, self.center_variance_ = 2 * self.noise_, 2 * level
            self.covariance_ = complex_covariance(self.covariance_)
            self.center_ = self._embedding.center[self.support_]
        del self._embedding

    def _new_inputs(self, X) -> Any:
        if not getattr(self, "complex", False):
            return super()._new_inputs(X)
        X = complex_inputs(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but TypeIIRegressor is expecting {self.n_features_in_} features."
            )
        return X


def group_numbers(labels, count: int) -> np.ndarray:
    """0, 1, ... for each column, from one label for each."""
    labels = np.asarray(labels)
    if labels.shape != (count,):
        raise ValueError(f"groups must have one label for each of the {count} columns; got shape {labels.shape}.")
    return np.unique(labels, return_inverse=True)[1].reshape(-1)
