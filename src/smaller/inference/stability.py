"""Stability selection: the features that half-samples select again and again, and how many of them may be false."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from .._sklearn import HasMethods, Interval, StrOptions
from ..errors import EmptyModelWarning, warn
from ..models.base import unchanged_on_failure
from ..rows.dask.collections import is_lazy
from .checked_input import Rows, checked_rows
from .false_bounds import ASSUMED, BOUNDS, COUNTED, UNLIKELY, count_of, expected_false, least_threshold, most_selected
from .feature_selector import FeatureSelector, in_parallel
from .first_features import first_features
from .half_samples import complementary_pairs
from .halves_in_passes import checked_collection, entries_in_passes
from .reused_rows import remember_kept
from .sentences import NOTHING, list_of

USUAL_THRESHOLD = 0.9  # at which the default of n_selected must be allowed
FEWEST, ROWS_FOR_EACH = 5, 8  # the default of n_selected: one for every 8 rows, at least 5


@dataclass(eq=False, repr=False)
class StabilitySelection(FeatureSelector):
    """Features that are selected on most half-samples, with a bound on how many of them are false.

    The samples are divided into two halves, B times. On each half the first q features to enter the estimator's
    regularisation path are selected, and a feature is kept if a share ``tau`` of the 2 B halves selects it. Then ::

        E |kept features of low selection probability| <= bound(p, q, tau, B),

    where p is the number of features and low means: selected on a half with a probability of at most q / p, no more
    often than chance would (Meinshausen & Buehlmann 2010; complementary pairs: Shah & Samworth 2013). Name two of q,
    tau and the bound and get the third; :func:`expected_false` has the formulas. Features that are correlated with a
    relevant one are not always of low selection probability: they may stand in for it.

    Parameters
    ----------
    estimator : sparse model, default=None
        None is ``SMLR(standardize=True)`` for labels and ``LaplaceRegressor()`` for numbers (y with fractions). `SMLR`,
        `SMLRCV`, `SBMLR` and `LaplaceRegressor` select the first q features of their path, so that their strength plays
        no part. Any other model with ``get_support`` and a weight for each column is fitted on each half, and its q
        largest weights, in units of the columns' standard deviations, are selected.
    n_pairs : int, default=50
        B, pairs of halves.
    n_selected : int, default=None
        q, features selected on each half. None is the largest that `threshold` and `max_false` allow; where `threshold`
        is None too, one for every 8 samples, at least 5, and at most what `max_false` allows at a threshold of 0.9.
    threshold : float, default=None
        tau, above 0.5 and at most 1. None is the smallest that `n_selected` and `max_false` allow.
    max_false : float or None, default=1.0
        The number of false features that is allowed in expectation. Where both others are given, a bound above it is
        refused; None accepts every bound.
    bound : {"unimodal", "worst-case", "r-concave", "meinshausen-buehlmann"}, default="unimodal"
        See :func:`expected_false`. "worst-case" assumes nothing.
    random_state : int, RandomState instance or None, default=None
        Draws the halves; the result does not depend on `n_jobs`.
    n_jobs : int, default=None
        Halves at a time. With Dask input, where `SMLR`, `SMLRCV` and `SBMLR` are the estimators, the halves share their
        passes over the data, whatever it is.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features,)
        Share of the halves that selected each feature: not the probability that a feature is relevant. 0 of constant
        columns, NaN of columns that the estimator does not penalise (``penalty_factor`` of 0).
    support_ : ndarray
        Columns whose frequency is at least ``threshold_``.
    expected_false_ : float
        The bound on the expected number of false features among them.
    n_selected_ : int
    threshold_ : float
    n_distinct_ : int
        p of the bound: columns that may enter, without constant ones and with copies (up to sign, scale and shift)
        counted once.
    copies_ : list of ndarray
        Columns that are copies of each other. They share their frequency, and are kept or left out together.
    group_support_ : ndarray or None
        Where the estimator has labelled ``groups`` of columns, which are then the features (p, q and the bound count
        groups, and the columns of a group share their frequency): the labels of the groups that are kept.
    n_entered_ : ndarray of shape (2 * n_pairs,)
        Features selected on each half: ``n_selected_``, but where a path ends before, or features enter together.
    entries_ : sparse array of shape (2 * n_pairs, n_features)
        The largest lam at which each feature is on each half's path, relative to the largest lam of that path, or the
        size of its weight relative to the largest; 0 where the half did not select it.
    estimator_ : estimator
        The one whose features were selected.
    n_passes_ : int
        With Dask input, how often the rows of X were read.
    row_marks_ : ndarray of shape (n_samples,)
        A number for each sample, by which :func:`debiased` and :func:`smaller.report` recognise samples that assess
        what they selected.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller.inference import StabilitySelection
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = StabilitySelection(n_selected=5, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['mean concave points', 'worst radius', 'worst texture', 'worst perimeter', 'worst concave points']
    >>> print(f"expected to be false: at most {selector.expected_false_:.2f}")
    expected to be false: at most 0.97
    """

    estimator: Any = None
    n_pairs: int = 50
    n_selected: int | None = None
    threshold: float | None = None
    max_false: float = 1.0
    bound: str = "unimodal"
    random_state: Any = None
    n_jobs: int | None = None

    _takes_sparse = True
    __metadata_request__fit = {"sample_weight": None, "offset": None}

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "get_support"]), None],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "n_selected": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0.5, 1, closed="right"), None],
        "max_false": [Interval(Real, 0, None, closed="neither"), None],
        "bound": [StrOptions(set(BOUNDS))],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def fit(self, X, y, *, groups=None, **fit_params):
        """Select features.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two or more classes, each of at least 4 samples, or numbers.
        groups : array-like of shape (n_samples,), optional
            Samples that belong together, such as those of one patient: a group is never divided between halves.
        **fit_params
            ``sample_weight`` and ``offset`` of the estimator, a row for each sample. A sample goes into a half as one
            unit, whatever its weight; samples of weight 0 are left out.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            return self._fit(X, y, groups, fit_params)

    def _fit(self, X, y, groups, fit_params):
        self._validate_params()
        check = checked_collection if is_lazy(X) else checked_rows
        rows = check(self, X, y, groups, fit_params)
        self.row_marks_ = rows.marks
        p = int(rows.candidates.sum())
        q, tau = self._numbers(p, len(rows.y))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        codes = np.unique(rows.y, return_inverse=True)[1] if is_classifier(rows.estimator) else None
        pairs = complementary_pairs(codes, rows.groups, len(rows.y), self.n_pairs, rng)
        entries = self._select(rows, [half for pair in pairs for half in pair], q)
        return self._adopt(rows, entries, p, q, tau)

    # -- the numbers

    def _numbers(self, p: int, n: int) -> tuple[int, float]:
        """q and tau: the two given, or found from the bound."""
        if p < 2:
            raise ValueError(
                f"StabilitySelection chooses between at least 2 columns that vary and differ; X has {p} such column(s)."
            )
        known = self.n_pairs, self.bound
        q, tau, allowed = self.n_selected, self.threshold, self.max_false
        if allowed is None and (q is None or tau is None):
            raise ValueError(
                "Name two of n_selected, threshold and max_false, so that the third can be found; got "
                f"n_selected={q}, threshold={tau}, max_false=None."
            )
        if q is None and tau is None:
            q = min(max(n // ROWS_FOR_EACH, FEWEST), most_selected(p, USUAL_THRESHOLD, allowed, *known))
        elif q is None:
            q = most_selected(p, tau, allowed, *known)
        if tau is None:
            return int(q), least_threshold(p, q, allowed, *known)
        found = expected_false(p, q, tau, *known)
        if allowed is not None and found > allowed * (1 + 1e-9):
            raise ValueError(
                f"n_selected={q} and threshold={tau:g} allow {found:.3g} false features in expectation, more than "
                f"max_false={allowed:g}; raise threshold, lower n_selected, or give max_false=None to accept that."
            )
        return int(q), count_of(tau, self.n_pairs) / (2 * self.n_pairs)

    # -- the work

    def _select(self, rows: Rows, halves: list[np.ndarray], q: int) -> sparse.csr_array:
        """The strengths at which the columns kept entered on each half."""
        self.__dict__.pop("n_passes_", None)  # of an earlier fit
        if is_lazy(rows.given):
            entries, self.n_passes_ = entries_in_passes(rows, halves, q)
            return entries
        work = (delayed(_on_half)(rows, half, q) for half in halves)
        told = f"stability selection: {{done}} of {len(halves)} half-samples done"
        found = in_parallel(work, self.n_jobs, told, EmptyModelWarning)  # a half may well select nothing
        return sparse.csr_array(sparse.vstack(found))

    def _adopt(self, rows: Rows, entries: sparse.csr_array, p: int, q: int, tau: float):
        unit, kept = rows.unit, rows.unit >= 0
        counts = np.bincount(entries.indices, minlength=len(rows.candidates))
        frequencies = np.where(rows.candidates, counts / entries.shape[0], np.nan)
        self.frequencies_ = np.where(kept, frequencies[unit], 0.0)
        self.support_ = np.flatnonzero(self.frequencies_ >= tau - 1e-9)
        self.n_selected_, self.threshold_, self.n_distinct_ = q, tau, p
        self.expected_false_ = expected_false(p, q, tau, self.n_pairs, self.bound)
        self.n_entered_ = np.diff(entries.indptr)
        self.entries_ = sparse.csr_array(sparse.csc_array(entries)[:, np.where(kept, unit, 0)] * kept)
        self.entries_.eliminate_zeros()
        self.copies_, self.estimator_ = rows.copies(), rows.estimator
        self.group_support_ = None if rows.labels is None else rows.labels[np.unique(unit[self.support_])]
        if not len(self.support_):
            warn(
                f"{type(self).__name__} selected no feature: none was among the first {q} on {tau:.0%} of the "
                "half-samples. This is not evidence that no feature matters; more samples, or a larger max_false, may "
                "show some.",
                EmptyModelWarning,
            )
        if not is_lazy(rows.given):
            remember_kept(self, rows.given)
        return self

    # -- the result

    def frequency_path(self, levels=None) -> tuple[np.ndarray, np.ndarray]:
        """How the frequencies grow as the strength falls.

        Parameters
        ----------
        levels : array-like, optional
            Strengths relative to the largest of each half, between 0 and 1; 50 down to the smallest entry by default.

        Returns
        -------
        levels : ndarray of shape (L,)
            From strong to weak.
        frequencies : ndarray of shape (L, n_features)
            Share of the halves that selected each feature among the first ``n_selected_`` and at this strength or a
            greater one; at the last level it is ``frequencies_``.
        """
        check_is_fitted(self)
        if levels is None:
            levels = np.geomspace(1.0, self.entries_.data.min(initial=1.0), 50)
            levels[-1] = self.entries_.data.min(initial=1.0)
        levels = np.sort(np.asarray(levels, dtype=np.float64))[::-1]
        entries = self.entries_.tocsc()
        counts = [np.diff((entries >= level).indptr) if level > 0 else np.diff(entries.indptr) for level in levels]
        frequencies = np.array(counts) / entries.shape[0]
        frequencies[:, np.isnan(self.frequencies_)] = np.nan
        return levels, frequencies

    def sentence(self, short: bool = False) -> str:
        """What was selected and what is known about it, in plain words; `short` is the first sentence alone."""
        check_is_fitted(self)
        p, q, few = self.n_distinct_, self.n_selected_, self.expected_false_
        fewer = np.count_nonzero(self.n_entered_ < q)
        listed = list_of(self.support_, p) if self.group_support_ is None else list_of(self.group_support_, p, "group")
        first = f"{listed}, at most {few:.2g} {'is' if float(f'{few:.2g}') <= 1 else 'are'} expected to be false."
        if not len(self.support_):
            first = f"Of {p} features none was selected. {NOTHING}"
        if short:
            return first
        parts = [
            first,
            f"False are {COUNTED.get(self.bound, UNLIKELY.format(q=q, p=p))}.",
            "Features that are correlated with a relevant one may stand in for it.",
            f"Selected are those that at least {self.threshold_:.0%} of {len(self.n_entered_)} half-samples "
            f"(complementary pairs, random_state={self.random_state}) have among their first {q} features by "
            f"{type(self.estimator_).__name__}; on {fewer} of them fewer features entered.",
            f"The bound is the {self.bound} one; {ASSUMED[self.bound]}.",
        ]
        return " ".join(parts)


def _on_half(rows: Rows, half: np.ndarray, q: int) -> sparse.csr_array:
    """The strengths at which the first q columns entered on some rows, (1, n_columns)."""
    sample = rows.X[half], rows.y[half], {name: values[half] for name, values in rows.extra.items()}
    labels = None if rows.labels is None else rows.unit
    return sparse.csr_array(first_features(rows.estimator, sample, q, rows.candidates, labels)[None])
