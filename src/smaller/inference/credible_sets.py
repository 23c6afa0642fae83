"""Credible sets: which features carry an effect, as sets that hold one with a probability (SuSiE)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from .._sklearn import Interval, StrOptions
from ..design.operator import refuse_operator
from ..errors import ConvergenceWarning, EmptyModelWarning, warn
from ..models.adaptive import LaplaceRegressor
from ..models.base import checked_weights, unchanged_on_failure
from ..models.multinomial import SMLR
from ..models.targets import encode
from .class_effects import ClassTarget, contrasts, settle_effects
from .effects import BoundedTarget, Effects, GaussianTarget, ascend
from .feature_selector import FeatureSelector
from .feature_sets import feature_sets
from .sentences import set_in_words
from .standard_columns import StandardColumns, location_and_scale

POSITIVE = Interval(Real, 0, None, closed="neither")
SHARE = Interval(Real, 0, 1, closed="neither")
COUNT = Interval(Integral, 1, None, closed="left")
LASSO_SHARE = 0.5  # of the strength at which noise alone selects nothing, for the sparse model to start from
SETTLED_TOL = 1e-3  # change of the inclusion weights that counts as none


class CredibleSets(FeatureSelector):
    """What the two models share: checks, the prior, sets, the selector, and the sentence about the result."""

    _parameter_constraints: ClassVar[dict] = {
        "n_effects": [COUNT],
        "level": [SHARE],
        "min_purity": [Interval(Real, 0, 1, closed="both")],
        "prior_variance": [StrOptions({"learn"}), POSITIVE],
        "prior_inclusion": ["array-like", None],
        "tol": [POSITIVE, None],
        "max_iter": [COUNT],
    }
    _takes_sparse = True
    n_effects: int
    level: float
    min_purity: float
    prior_variance: Any
    prior_inclusion: Any
    tol: float | None
    max_iter: int

    def fit(self, X, y, sample_weight=None):
        """Find the sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Columns are centred and standardised; a sparse matrix is not made dense.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight 2 counts exactly like the same sample given twice.

        Returns
        -------
        self
        """
        self._validate_params()
        with unchanged_on_failure(self):
            return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        checks = {"accept_sparse": ["csr", "csc"], "dtype": [np.float64, np.float32], "ensure_min_samples": 2}
        refuse_operator(X, type(self).__name__)
        X, y = validate_data(self, X, y, **checks, **self._target_checks)
        weight = checked_weights(sample_weight, X)
        kept = np.flatnonzero(weight)
        if len(kept) < len(weight):
            X, y, weight = X[kept], y[kept], weight[kept]
        with np.errstate(over="ignore", invalid="ignore"):
            Z = StandardColumns(X, weight)
        if not (np.isfinite(Z.mean).all() and np.isfinite(Z.scale[Z.varies]).all()):
            raise ValueError("X has numbers whose squares overflow in float64; divide its columns by their size.")
        effects = self._effects(X, Z, y, self._prior(Z))
        return self._adopt(Z, effects)

    _target_checks: ClassVar[dict] = {}

    def _effects(self, X, Z: StandardColumns, y: np.ndarray, prior: np.ndarray) -> Effects:
        raise NotImplementedError

    def _prior(self, Z: StandardColumns) -> np.ndarray:
        """Prior probabilities of the features, 0 of constant ones."""
        if self.prior_inclusion is None:
            prior = np.ones(Z.d)
        else:
            prior = check_array(self.prior_inclusion, ensure_2d=False, dtype=np.float64, input_name="prior_inclusion")
            if prior.shape != (Z.d,) or (prior < 0).any():
                raise ValueError(
                    f"prior_inclusion must have {Z.d} numbers of at least 0, one for each feature; got shape "
                    f"{prior.shape} with a minimum of {prior.min()}."
                )
        prior = np.where(Z.varies, prior, 0.0)
        total = prior.sum()
        return prior / total if total > 0 else prior

    def _adopt(self, Z: StandardColumns, effects: Effects):
        found = feature_sets(effects, Z, self.level, self.min_purity)
        self.sets_, self.purity_, self.set_probability_ = found.features, found.purity, found.probability
        self.set_effect_ = found.effect
        self.inclusion_ = effects.inclusion_probabilities()
        self.effect_inclusion_, self.prior_variance_ = effects.inclusion, effects.prior_variance
        self.support_ = np.unique(np.concatenate([np.zeros(0, int), *found.features]))
        self.n_iter_, self.converged_ = effects.n_iter, effects.converged
        self.elbo_ = effects.bounds[-1] if effects.bounds else None
        self._adopt_weights(*Z.raw(effects.expected()), effects)
        self._warn(effects)
        return self

    def _adopt_weights(self, B: np.ndarray, shift: np.ndarray, effects: Effects) -> None:
        raise NotImplementedError

    def _warn(self, effects: Effects) -> None:
        name = type(self).__name__
        if not effects.converged:
            warn(
                f"{name} stopped after {effects.n_iter} iterations (max_iter) before the effects settled; raise "
                "max_iter, or tol.",
                ConvergenceWarning,
            )
        if not self.sets_:
            warn(
                f"{name} found no set: no effect is both strong enough and on features that are correlated with each "
                f"other by {self.min_purity:g} or more. This is not evidence that no feature matters.",
                EmptyModelWarning,
            )

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        refuse_operator(X, type(self).__name__)
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)
        return np.asarray(X @ np.atleast_2d(self.coef_).T, dtype=np.float64) + self.intercept_

    def sentence(self, names=None) -> str:
        """The sets in plain words, with names of the features: those given, or those seen in fit."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if names is None else names
        every = zip(self.sets_, self.set_probability_, self.purity_, strict=True)
        lines = [set_in_words(*each, names) for each in every]
        if not lines:
            return "No set was found. This is not evidence that no feature matters."
        all_used = self.prior_variance == "learn" and (self.prior_variance_ != 0).all()
        full = f" All {self.n_effects} effects were used: there may be more; raise n_effects." if all_used else ""
        return (
            " ".join(lines) + " The percentages are probabilities under the model, given one effect for each set, that "
            f"at least one feature of the set matters; within a set the data cannot tell which.{full}"
        )


@dataclass(eq=False, repr=False)
class CredibleSetsRegressor(RegressorMixin, CredibleSets):
    """Sets of features that hold an effect on a number, each with a probability (SuSiE; Wang et al. 2020).

    The sum of single effects ``y = b0 + sum_l b_l z_(j_l) + noise`` on standardised columns z, in which each of L
    effects is on one unknown feature j_l with a normal weight b_l of variance v_l. Where columns are near copies of
    each other, a sparse model picks one of them by chance; here each effect has a probability for every feature, and
    the smallest set that has `level` of it is reported.

    Parameters
    ----------
    n_effects : int, default=10
        L, the largest number of effects. Those that the data do not ask for are switched off.
    level : float, default=0.95
        Probability of each set.
    min_purity : float, default=0.5
        Sets with a correlation below this between two of their features are not reported: the effect is diffuse.
    prior_variance : "learn" or float, default="learn"
        v, in squared units of y for each standard deviation of a column; learned for each effect by maximising its
        Bayes factor, or one number for all effects.
    prior_inclusion : array-like of shape (n_features,), default=None
        Relative prior probabilities of the features; None is the same for all.
    noise : "learn" or float, default="learn"
        Variance of the noise.
    tol : float, default=None
        The fit ends when the bound on the log evidence rises by less than this, in nats; None is 1e-4.
    max_iter : int, default=100

    Attributes
    ----------
    sets_ : list of ndarray
        Features of each set, the most probable first.
    set_probability_, purity_ : ndarray of shape (n_sets,)
        Inclusion weight of each set (at least `level`), and the least absolute correlation between its features.
    set_effect_ : ndarray of shape (n_sets,)
        The effect that each set belongs to.
    inclusion_ : ndarray of shape (n_features,)
        Posterior probability that a feature carries at least one of the effects.
    effect_inclusion_ : ndarray of shape (n_effects, n_features)
        Inclusion weights of each effect.
    prior_variance_ : ndarray of shape (n_effects,)
        0 of effects that are switched off.
    support_ : ndarray
        Features that are in a set.
    coef_, intercept_
        Expected weights on the columns of X, and the intercept.
    noise_ : float
    elbo_ : float
        Bound on the log evidence, in nats.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from smaller.inference import CredibleSetsRegressor
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.standard_normal((100, 20))
    >>> X = np.repeat(factors, 3, axis=1) + 0.1 * rng.standard_normal((100, 60))  # three near copies of each factor
    >>> y = X[:, 4] - X[:, 30] + rng.standard_normal(100)
    >>> model = CredibleSetsRegressor().fit(X, y)
    >>> sorted(sorted(features.tolist()) for features in model.sets_)
    [[3, 4, 5], [30, 31, 32]]
    """

    n_effects: int = 10
    level: float = 0.95
    min_purity: float = 0.5
    _: KW_ONLY
    prior_variance: Any = "learn"
    prior_inclusion: Any = None
    noise: Any = "learn"
    tol: float | None = None
    max_iter: int = 100

    _parameter_constraints: ClassVar[dict] = {
        **CredibleSets._parameter_constraints,
        "noise": [StrOptions({"learn"}), POSITIVE],
    }
    _target_checks: ClassVar[dict] = {"y_numeric": True}

    def _effects(self, X, Z: StandardColumns, y: np.ndarray, prior: np.ndarray) -> Effects:
        y = column_or_1d(y).astype(np.float64)
        mean, unit = location_and_scale(y, Z)
        learn, target = self.prior_variance == "learn", (y - mean) / unit
        variance = 0.2 if learn else float(self.prior_variance) / unit**2
        noise = None if self.noise == "learn" else float(self.noise) / unit**2

        def run(weights=None):
            effects = Effects.empty(self.n_effects, Z, 1, prior, variance)
            if weights is not None:
                effects = effects.begin_at(Z, weights)
            return ascend(GaussianTarget(Z, target, noise), effects, prior, learn, self.tol or 1e-4, self.max_iter)

        def sparse_weights():
            strength = LASSO_SHARE * np.sqrt(2 * Z.total * np.log(max(Z.d, 2)))
            return LaplaceRegressor(strength, tol=1e-3).fit(X, target, Z.weight).coef_ * Z.scale

        effects = best_start(run, sparse_weights, Z, prior)
        effects.bounds = [bound - Z.total * np.log(unit) for bound in effects.bounds]
        effects.mean, effects.fits = effects.mean * unit, effects.fits * unit
        effects.variance, effects.prior_variance = effects.variance * unit**2, effects.prior_variance * unit**2
        effects.noise, effects.intercept = effects.noise * unit**2, np.array([mean])
        return effects

    def _adopt_weights(self, B: np.ndarray, shift: np.ndarray, effects: Effects) -> None:
        self.coef_, self.intercept_ = B[:, 0], float(effects.intercept[0] + shift[0])
        self.noise_ = effects.noise

    def predict(self, X) -> np.ndarray:
        """The expected target."""
        return self._scores(X)[:, 0]


@dataclass(eq=False, repr=False)
class CredibleSetsClassifier(ClassifierMixin, CredibleSets):
    """Sets of features that hold an effect on the class, each with a probability (SuSiE for two or more classes).

    The model of :class:`CredibleSetsRegressor` for the scores of a softmax: each effect is on one unknown feature, with
    normal weights for the m - 1 contrasts between the classes, so that the answer does not depend on the order of the
    classes. Two classes have one weight, a log odds for each standard deviation of the column.

    Parameters
    ----------
    n_effects, level, min_purity, prior_inclusion
        As in :class:`CredibleSetsRegressor`.
    method : {"laplace", "variational"}, default="laplace"
        "laplace" fits every feature alone given the other effects, with Laplace's approximation of its Bayes factor
        (generalised iterative Bayesian stepwise selection), and ends when the inclusion weights no longer change.
        "variational" (two classes) climbs a bound on the evidence, which `elbo_` then has; its intervals are narrower
        and its inclusion weights less accurate.
    prior_variance : "learn" or float, default="learn"
        v, of the log odds of two classes, or of each orthonormal contrast of several.
    tol : float, default=None
        Change of the inclusion weights at which the fit ends, None being 1e-3; with "variational" the rise of the
        bound, None being 1e-4.
    max_iter : int, default=100

    Attributes
    ----------
    sets_, set_probability_, purity_, set_effect_, inclusion_, effect_inclusion_, prior_variance_, support_
        As in :class:`CredibleSetsRegressor`.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Expected weights; the rows of several classes sum to 0.
    intercept_ : ndarray
    classes_ : ndarray
    elbo_ : float or None
        Bound on the log evidence with ``method="variational"``.
    n_iter_, converged_
        As in :class:`CredibleSetsRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from smaller.inference import CredibleSetsClassifier
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.standard_normal((150, 20))
    >>> X = np.repeat(factors, 3, axis=1) + 0.1 * rng.standard_normal((150, 60))
    >>> scores = np.outer(X[:, 4], [2, 0, -2]) + np.outer(X[:, 30], [0, 2, -2])
    >>> y = (scores + rng.gumbel(size=(150, 3))).argmax(axis=1)
    >>> model = CredibleSetsClassifier().fit(X, y)
    >>> sorted(sorted(features.tolist()) for features in model.sets_)
    [[4, 5], [30, 31, 32]]
    """

    n_effects: int = 10
    level: float = 0.95
    min_purity: float = 0.5
    _: KW_ONLY
    method: str = "laplace"
    prior_variance: Any = "learn"
    prior_inclusion: Any = None
    tol: float | None = None
    max_iter: int = 100

    _parameter_constraints: ClassVar[dict] = {
        **CredibleSets._parameter_constraints,
        "method": [StrOptions({"laplace", "variational"})],
    }

    def _effects(self, X, Z: StandardColumns, y: np.ndarray, prior: np.ndarray) -> Effects:
        self.classes_, codes = encode(column_or_1d(y))
        m = len(self.classes_)
        learn = self.prior_variance == "learn"
        variance = 1.0 if learn else float(self.prior_variance)
        if self.method == "laplace":
            effects = Effects.empty(self.n_effects, Z, m - 1, prior, variance)
            return settle_effects(
                ClassTarget(Z, codes, m), effects, prior, learn, self.tol or SETTLED_TOL, self.max_iter
            )
        if m > 2:
            raise ValueError(f"method='variational' is for two classes, and y has {m}; use method='laplace'.")

        def run(weights=None):
            effects = Effects.empty(self.n_effects, Z, 1, prior, variance)
            if weights is not None:
                effects = effects.begin_at(Z, weights)
            return ascend(BoundedTarget(Z, codes), effects, prior, learn, self.tol or 1e-4, self.max_iter)

        def sparse_weights():
            strength = LASSO_SHARE * np.sqrt(0.5 * Z.total * np.log(max(Z.d, 2)))
            return SMLR(strength, standardize=True, tol=1e-3).fit(X, codes, Z.weight).coef_[0] * Z.scale

        return best_start(run, sparse_weights, Z, prior)

    def _adopt_weights(self, B: np.ndarray, shift: np.ndarray, effects: Effects) -> None:
        m = len(self.classes_)
        C = np.ones((1, 1)) if m == 2 else contrasts(m)
        self.coef_, self.intercept_ = C @ B.T, C @ (effects.intercept + shift)

    def decision_function(self, X) -> np.ndarray:
        """Scores: log odds of the second class, (n_samples,), or one column for each class."""
        F = self._scores(X)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities at the expected weights, (n_samples, n_classes)."""
        F = self._scores(X)
        return softmax(np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F, axis=1)

    def predict(self, X) -> np.ndarray:
        """The most probable class of each sample."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def best_start(run, sparse_weights, Z: StandardColumns, prior: np.ndarray) -> Effects:
    """From no effect and from a sparse model: of the two ends the one with the greater bound on the evidence."""
    first = run()
    if not Z.varies.any():
        return first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a sparse model that is only a start
        weights = np.where(Z.varies & (prior > 0), sparse_weights(), 0.0)
    if not weights.any():
        return first
    second = run(weights)
    return second if second.bounds[-1] > first.bounds[-1] + 1e-9 * abs(first.bounds[-1]) else first
