"""Knockoffs: features that beat copies of themselves that know nothing of the target, at a false discovery rate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_array, check_is_fitted

from .._sklearn import HasMethods, Interval, StrOptions
from ..errors import EmptyModelWarning, SmallClassWarning, warn
from ..models.base import unchanged_on_failure
from .checked_input import Rows, checked_rows
from .feature_selector import FeatureSelector, in_parallel
from .gaussian_knockoffs import CONSTRUCTIONS, GaussianKnockoffs, estimated_law
from .knockoff_filter import e_bh, e_values, knockoff_threshold
from .knockoff_statistics import STATISTICS, standardised, tuned
from .reused_rows import remember_kept
from .sentences import NOTHING, list_of

RATE = Interval(Real, 0, 1, closed="neither")


@dataclass(eq=False, repr=False)
class Knockoffs(FeatureSelector):
    """Features selected at a false discovery rate, by comparison with knockoffs of them (Candes et al. 2018).

    Knockoffs are columns with the same correlations as those of X that know nothing of y. A sparse model is fitted to
    the columns and their knockoffs together, and ``W_j`` says by how much column j beats its knockoff. Features with
    ``W_j >= T`` are selected, T the smallest t > 0 with ::

        (1 + #{W <= -t}) / max(1, #{W >= t}) <= q                                        (knockoff+)

    so that on average at most a share q of the selected features is irrelevant given all others. That needs the law of
    X, here normal: with an estimated covariance it holds approximately, and the samples must be independent. One set of
    knockoffs is a lottery; M of them are combined by e-values (Ren & Barber 2024): with T at q / 2 ::

        e_j = mean over copies of  p 1{W_j >= T} / (1 + #{W <= -T}),    select the k largest, e_(k) >= p / (q k).

    Parameters
    ----------
    estimator : sparse model, default=None
        None is ``SMLRCV(standardize=True)`` for labels, and `LaplaceRegressorCV` for numbers (y with fractions). Any
        linear model with ``coef_`` will do for the statistic "weight"; "entry" needs `SMLR`, `SMLRCV`, `SBMLR` or
        `LaplaceRegressor`.
    fdr : float, default=0.1
        q, the false discovery rate.
    n_copies : int, default=10
        M, sets of knockoffs. 1 is the plain knockoff filter.
    random_state : int, RandomState instance or None, default=None
        Draws the knockoffs; the result does not depend on `n_jobs`.
    n_jobs : int, default=None
        Copies at a time.
    statistic : {"weight", "entry"}, default="weight"
        ``|beta_j| - |beta_kj|``, norms over the classes of the weights of standardised columns; or ``max(Z_j, Z_kj)
        sign(Z_j - Z_kj)`` with Z the strength at which a column enters the path, which is far less powerful for several
        classes.
    construction : {"mvr", "equicorrelated"}, default="mvr"
        How far the knockoffs are from the columns: minimum variance-based reconstructability (Spector & Janson 2022),
        or the same distance for all.
    covariance : array-like of shape (n_features, n_features), default=None
        The covariance of the columns where it is known. None is Ledoit and Wolf's shrunk estimate, which has an inverse
        even for more columns than samples; then the rate holds approximately.
    mean : array-like of shape (n_features,), default=None
        With `covariance`; None is the mean of X.
    sampler : callable, default=None
        ``sampler(X, rng)`` gives knockoffs of X, for columns that are not normal; `rng` is a NumPy generator. X is
        without constant columns and without copies of columns, and cannot be written to.
    plus : bool, default=True
        Whether the 1 is added in the numerator. False (n_copies=1 only) controls a modified rate.

    Attributes
    ----------
    support_ : ndarray
        Columns that were selected.
    statistics_ : ndarray of shape (n_copies, n_features)
        W of each set of knockoffs; 0 of constant columns.
    thresholds_ : ndarray of shape (n_copies,)
        T of each set of knockoffs; infinite where nothing passes.
    e_values_ : ndarray of shape (n_features,)
        Means over the copies; not probabilities that a feature is relevant.
    copies_ : list of ndarray
        Columns that are the same up to sign, scale and shift; they are selected or left out together.
    n_distinct_ : int
        Columns that vary, such copies counted once.
    distances_ : ndarray of shape (n_distinct,) or None
        s: the covariance of a column and its knockoff is ``1 - s`` in units of its variance. None with a sampler.
    estimator_ : estimator
        The one that was fitted to the columns and their knockoffs.
    row_marks_ : ndarray of shape (n_samples,)
        As in :class:`StabilitySelection`.

    Examples
    --------
    >>> import numpy as np
    >>> from smaller.inference import Knockoffs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 40))
    >>> y = (X[:, :12].sum(axis=1) + rng.logistic(size=300) > 0).astype(int)
    >>> Knockoffs(fdr=0.2, n_copies=5, random_state=0).fit(X, y).support_.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    """

    estimator: Any = None
    fdr: float = 0.1
    n_copies: int = 10
    random_state: Any = None
    n_jobs: int | None = None
    _: KW_ONLY
    statistic: Any = "weight"
    construction: str = "mvr"
    covariance: Any = None
    mean: Any = None
    sampler: Any = None
    plus: bool = True

    __metadata_request__fit = {"sample_weight": None, "offset": None}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"]), None],
        "fdr": [RATE],
        "n_copies": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "statistic": [StrOptions(set(STATISTICS))],
        "construction": [StrOptions(set(CONSTRUCTIONS))],
        "covariance": ["array-like", None],
        "mean": ["array-like", None],
        "sampler": [callable, None],
        "plus": ["boolean"],
    }

    def fit(self, X, y, **fit_params):
        """Select features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Independent samples. Sparse matrices are refused: their columns are not normal, and knockoffs are dense.
        y : array-like of shape (n_samples,)
            Labels of two or more classes, or numbers.
        **fit_params
            ``sample_weight`` and ``offset`` of the estimator. Samples of weight 0 are left out.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            return self._fit(X, y, fit_params)

    def _fit(self, X, y, fit_params):
        self._validate_params()
        self._check_options(fit_params)
        rows = checked_rows(
            self, X, y, None, fit_params, accept_sparse=False, ensure_min_features=1, ensure_min_samples=4
        )
        rows = rows._replace(X=np.asarray(rows.X, dtype=np.float64))
        self.row_marks_ = rows.marks
        p = rows.X.shape[1]
        if not p:
            raise ValueError("Every column of X is constant: there is nothing to choose from.")
        if self.estimator is None and self.statistic == "weight":
            rows = rows._replace(estimator=tuned(rows.estimator, len(rows.y), 2 * p))
        sampler = self._sampler(rows)
        statistics = self._compare(rows, sampler)
        return self._adopt(rows, statistics, getattr(sampler, "s", None))

    def _check_options(self, fit_params: dict) -> None:
        if fit_params.get("groups") is not None:
            raise ValueError(
                "Knockoffs need samples that are independent of each other, and take no groups of them; use "
                "StabilitySelection, which halves groups whole."
            )
        if not self.plus and self.n_copies > 1:
            raise ValueError(
                f"plus=False is for a single set of knockoffs, but n_copies={self.n_copies}: e-values need the 1 that "
                "knockoff+ adds. Give n_copies=1, or plus=True."
            )
        if self.sampler is not None and (self.covariance is not None or self.mean is not None):
            raise ValueError("A sampler knows the law of X itself; give either sampler, or covariance and mean.")
        if self.mean is not None and self.covariance is None:
            raise ValueError("mean is taken with a known covariance only; give covariance, or leave mean out.")
        if getattr(self.estimator, "groups", None) is not None:
            raise ValueError("Knockoffs compare single columns; give an estimator without groups of columns.")
        if getattr(self.estimator, "penalty_factor", None) is not None:
            raise ValueError(
                "Knockoffs compare columns that are penalised alike; give an estimator without penalty_factor."
            )

    # -- knockoffs

    def _sampler(self, rows: Rows):
        """A function of X and a generator that draws knockoffs of the columns that differ."""
        if self.sampler is not None:
            return self.sampler
        if self.covariance is None:
            return GaussianKnockoffs(*estimated_law(rows.X), self.construction)
        d = len(rows.unit)
        covariance = check_array(self.covariance, dtype=np.float64, input_name="covariance")
        mean = None if self.mean is None else np.asarray(self.mean, dtype=np.float64)
        if covariance.shape != (d, d) or not np.allclose(covariance, covariance.T) or (np.diag(covariance) <= 0).any():
            raise ValueError(
                f"covariance must be a symmetric matrix of shape ({d}, {d}) with a positive diagonal, as X has {d} "
                f"columns; got shape {covariance.shape}."
            )
        if mean is not None and (mean.shape != (d,) or not np.isfinite(mean).all()):
            raise ValueError(f"mean must have {d} finite numbers, one for each column of X; got {self.mean!r}.")
        if rows.X.shape[1] < d:
            chosen = rows.chosen
            covariance, mean = covariance[np.ix_(chosen, chosen)], None if mean is None else mean[chosen]
        return GaussianKnockoffs(rows.X.mean(axis=0) if mean is None else mean, covariance, self.construction)

    def _compare(self, rows: Rows, sampler) -> np.ndarray:
        """W of every set of knockoffs, (n_copies, n_columns)."""
        seed = check_random_state(self.random_state).randint(2**31)
        generators = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(self.n_copies)]
        work = (delayed(_compared)(rows, sampler, rng, STATISTICS[self.statistic]) for rng in generators)
        told = f"knockoffs: {{done}} of {self.n_copies} copies done"
        # A copy may well select nothing.
        return np.array(in_parallel(work, self.n_jobs, told, EmptyModelWarning, SmallClassWarning))

    # -- the result

    def _adopt(self, rows: Rows, statistics: np.ndarray, distances: np.ndarray | None):
        p, rate = rows.X.shape[1], self._copy_fdr()
        thresholds = np.array([knockoff_threshold(W, rate, self.plus) for W in statistics])
        e = np.mean([e_values(W, knockoff_threshold(W, rate)) for W in statistics], axis=0)
        selected = np.flatnonzero(statistics[0] >= thresholds[0]) if self.n_copies == 1 else e_bh(e, self.fdr)
        kept = rows.unit >= 0
        self.statistics_ = np.where(kept, statistics[:, rows.unit], 0.0)
        self.e_values_ = np.where(kept, e[rows.unit], 0.0)
        self.thresholds_, self.distances_, self.n_distinct_ = thresholds, distances, p
        self.support_ = np.flatnonzero(kept & np.isin(rows.unit, selected))
        self.copies_, self.estimator_ = rows.copies(), rows.estimator
        if not len(selected):
            warn(f"{type(self).__name__} selected no feature. {NOTHING} {self._why_empty()}", EmptyModelWarning)
        remember_kept(self, rows.given)
        return self

    def _copy_fdr(self) -> float:
        """The rate at which each copy's threshold is taken."""
        return self.fdr if self.n_copies == 1 else self.fdr / 2

    def _why_empty(self) -> str:
        """What an empty list does not mean."""
        least = int(np.ceil(1 / self._copy_fdr() - 1e-9))
        size = f"A set of knockoffs selects at least {least} features at this rate or none: fewer cannot be found. "
        remedy = "Raise fdr, give more samples, or use StabilitySelection."
        return f"{size if self.plus else ''}{remedy}"

    def sentence(self, short: bool = False) -> str:
        """What was selected and what is known about it, in plain words; `short` is the first sentence alone."""
        check_is_fitted(self)
        first = (
            f"{list_of(self.support_, self.n_distinct_)}, at most {self.fdr:.0%} are expected to be false, on average"
        )
        first = f"{first} over such lists."
        if not len(self.support_):
            first = f"Of {self.n_distinct_} features none was selected. {NOTHING}"
        if short:
            return first
        law = "the sampler draws from the law of the columns"
        if self.sampler is None:
            law = "the columns have a normal distribution with the covariance that was given"
            if self.covariance is None:
                law = "the columns behave like a normal distribution with the estimated covariance (approximately true)"
        failed = np.count_nonzero(np.isinf(self.thresholds_))
        parts = [
            first,
            f"Assumed: {law}, and the samples are independent.",
            f"{self.n_copies} set(s) of knockoffs (random_state={self.random_state}); {failed} have no threshold.",
        ]
        return " ".join(parts if len(self.support_) else [*parts, self._why_empty()])


def _compared(rows: Rows, sampler, rng: np.random.Generator, statistic) -> np.ndarray:
    """W of one set of knockoffs; each column and its knockoff change places at random, so that no order helps."""
    X = rows.X
    shown = X.view()
    shown.flags.writeable = False  # a sampler that changes X would change what its copies are compared with
    copies = np.asarray(sampler(shown, rng), dtype=np.float64)
    if copies.shape != X.shape or not np.isfinite(copies).all():
        found = f"shape {copies.shape}" if copies.shape != X.shape else "NaN or infinity"
        raise ValueError(
            f"sampler must give finite numbers of the shape of X, {X.shape} (without constant columns and copies of "
            f"columns); got {found}."
        )
    swapped = rng.random(X.shape[1]) < 0.5
    both = np.hstack([np.where(swapped, copies, X), np.where(swapped, X, copies)])
    W = statistic(rows.estimator, (standardised(both), rows.y, rows.extra))
    return np.where(swapped, -W, W)
