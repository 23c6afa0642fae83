"""SBMLR: sparse multinomial logistic regression whose strength is integrated out, so that nothing is to be tuned."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from .._sklearn import StrOptions
from ..errors import EmptyModelWarning, Status, choose, warn
from ..objective.posterior import Posterior
from ..objective.problem import Problem
from ..solvers import Solution, null_point
from ..solvers.group_evidence import group_evidence
from ..solvers.l1.integrated import MARGINAL, size
from ..solvers.ridge_evidence import marginal_evidence
from .base import COUNT, without
from .multinomial import SparseMultinomialModel

FIRST_START = 0.01  # of the largest useful strength, as in the paper's experiments
FURTHER_STARTS = (0.3, 1e-4)


@dataclass(eq=False, repr=False)
class SBMLR(SparseMultinomialModel):
    """Sparse Bayesian multinomial logistic regression: SMLR without a parameter to tune.

    The strength of SMLR's Laplace prior is integrated out under a Jeffreys prior, which leaves, over W and b, ::

        M(W, b) = sum_i s_i [ log sum_c exp F_ic - F_i,y(i) ] + N log sum_jl c_jl |W_jl|,     F = Phi W + b,

    N the number of non-zero weights (Cawley, Talbot & Girolami 2006, eq. 4). Its stationary points are those of SMLR
    with ``lam = N / sum c |W|``. M is not convex: the answer depends on the start, and on data without any relation
    all weights vanish. Such an empty model is legal; it predicts the class frequencies, and a warning explains it.

    Parameters
    ----------
    basis, parametrization, penalty_factor, class_weight, fit_intercept
        As in :class:`SMLR`. The intercept is not penalised (the paper has none, or a penalised one).
    solver : {"fixed-point", "component-wise"}, default="fixed-point"
        Certified L1 fits, warm-started, at strengths that follow ``N / sum c |W|``; or the paper's Newton steps on the
        steepest single weight with the strength updated after each. From one start they end at the same point.
    standardize : bool, default=True
        Measure the prior in units of each column's standard deviation; ``coef_`` stays in units of the data.
    n_init : int, default=1
        Starting strengths. The first is a hundredth of the largest useful one; the fit with the greatest evidence is
        kept, an empty one only where all are.
    curvature : {"likelihood", "posterior"}, default="likelihood"
        Hessian of ``evidence_``: the paper's, of the likelihood alone, or of all of M. With groups, whose norms are
        curved, "posterior" is the consistent one.
    tol : float, default=1e-6
        Relative change of the strength, and relative duality gap of the L1 problem, at which the fit is done.
    max_iter : int, default=None
        L1 fits from each start, or single steps; None is 200 fits, or 20 000 steps. The fits from one start read the
        data at most ``50 + 5 max_iter`` times together, with at most 20 Newton steps each time; the last one has the
        accuracy of ``tol`` at the strength reached by then.
    groups, l1_share, group_factor
        Of columns, as in :class:`SMLR`; then S is the sum of the norms (and L1 terms) at strength 1, and a column
        counts in N as one weight less than there are classes (symmetric parametrisation). Where a group leaves, N
        jumps, and ``status_`` is often "jump": the strength is where that happens, and the group is out. Sparse groups
        (``l1_share`` between 0 and 1) have no ``evidence_`` (NaN).

    Attributes
    ----------
    lam_ : float
        The strength found: ``N / sum c |coef_|`` in the units of the prior (the paper's alpha). Where a weight asks for
        a greater strength when it is there and for a smaller one when it is not, no strength is a fixed point:
        ``status_`` is then "jump", ``lam_`` is where that happens, and N is one weight off.
    evidence_ : float
        Laplace's approximation of log p(D); greater is better. Compare bases or kernels by it.
    coef_, intercept_, classes_, support_, relevance_vectors_, objective_
        As in :class:`SMLR` at ``lam=lam_``.
    dual_gap_, violation_, n_iter_, status_, history_
        As in :class:`SMLR` at ``lam=lam_``; ``n_iter_`` counts L1 fits, or single steps.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from smaller import SBMLR
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SBMLR().fit(X, y)
    >>> print(f"lam {model.lam_:.2f}, {(model.coef_ != 0).sum()} of {model.coef_.size} weights kept")
    lam 1.15, 15 of 39 weights kept
    """

    _: KW_ONLY
    basis: Any = "linear"
    parametrization: str = "symmetric"
    solver: str = "fixed-point"
    penalty_factor: Any = None
    class_weight: Any = None
    fit_intercept: bool = True
    standardize: bool = True
    n_init: int = 1
    curvature: str = "likelihood"
    tol: float = 1e-6
    max_iter: int | None = None
    groups: Any = None
    l1_share: float = 0.0
    group_factor: Any = None

    _good_ends: ClassVar[set[Status]] = {Status.CONVERGED, Status.JUMP}
    _parameter_constraints: ClassVar[dict] = {
        **without(SparseMultinomialModel._parameter_constraints, "warm_start", "random_state"),
        "solver": [StrOptions(set(MARGINAL))],
        "n_init": [COUNT],
        "curvature": [StrOptions({"likelihood", "posterior"})],
    }

    def _strengths(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _solve(self, problem: Problem) -> Solution:
        objective = problem.objective
        if self.n_init > 1 and objective.blocks is not None and self.l1_share:
            raise ValueError(
                "n_init > 1 keeps the fit with the greatest evidence, which sparse groups (l1_share between 0 and 1) "
                "do not have in closed form; use n_init=1, or l1_share=0."
            )
        null = null_point(objective)
        largest = objective.largest_strength(null) or 1.0
        starts = largest * np.append(FIRST_START, np.geomspace(*FURTHER_STARTS, self.n_init - 1))
        solver, iterations = MARGINAL[self.solver]
        if objective.remote:
            choose("With Dask input, solver", self.solver, ["fixed-point"])
        fits = [solver(objective, null.W, self.tol, self.max_iter or iterations, lam) for lam in starts]
        kept = [fit for fit in fits if size(objective, fit.weights).N]
        # No fixed point but the empty model, if that is better. Groups leave continuously: their jump is a good end.
        if all(fit.status is Status.JUMP for fit in kept) and (objective.blocks is None or not kept):
            kept.append(solver(objective, null.W, self.tol, 1, 2 * largest))
        evidences = [self._evidence(objective, fit) for fit in kept]
        best = int(np.argmax(evidences))
        return kept[best]._replace(extra={**kept[best].extra, "evidence": evidences[best]})

    def _evidence(self, objective: Posterior, fit: Solution) -> float:
        """The log evidence of a fit; NaN for sparse groups, whose density has no closed form."""
        whole = self.curvature == "posterior"
        if objective.blocks is None:
            return marginal_evidence(objective, fit.weights, fit.scores, whole)
        if getattr(objective.prior, "l1_share", 0.0):
            return np.nan
        return group_evidence(objective, fit.weights, fit.scores, fit.extra["lam"] if whole else None)

    def _warn_of_empty(self, objective: Posterior, predicts: str) -> None:
        warn(
            f"{type(self).__name__} kept no column, so that {predicts}. This is the usual end where the columns have "
            "no relation to the classes. If they have one, other starts (n_init=5) or SMLRCV may find it.",
            EmptyModelWarning,
        )
