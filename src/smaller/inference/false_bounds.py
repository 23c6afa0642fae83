"""How many false features stability selection may select: the bounds, and each of their numbers from the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np

from ..errors import choose
from .r_concave import largest_tail

SLACK = 1e-12  # relative: a bound that equals max_false but for rounding is met


def _worst_case(p: int, q: int, tau: float, B: int) -> float:
    """``q^2 / (p (2 tau - 1))``: Shah & Samworth 2013 without assumptions; Meinshausen & Buehlmann 2010."""
    return q**2 / (p * (2 * tau - 1))


def _unimodal(p: int, q: int, tau: float, B: int) -> float:
    """Shah & Samworth 2013 under unimodality; infinite where their theorem gives no bound."""
    theta = q / p
    if theta > 1 / np.sqrt(3) or tau <= 0.5 + min(theta**2, 0.5 / B + 0.75 * theta**2):
        return np.inf
    factor = 1 / (2 * (2 * tau - 1 - 0.5 / B)) if tau <= 0.75 else 4 * (1 - tau + 0.5 / B) / (1 + 1 / B)
    return factor * q**2 / p


def _r_concave(p: int, q: int, tau: float, B: int) -> float:
    """``p min{1, D(theta^2, t - B; B, -1/2), D(theta, t; 2B, -1/4)}``, t = 2 B tau: Shah & Samworth 2013, r-concave."""
    theta, t = q / p, count_of(tau, B)
    return p * min(1.0, largest_tail(theta**2 * B, t - B, B, -0.5), largest_tail(theta * 2 * B, t, 2 * B, -0.25))


BOUNDS: dict[str, Callable[[int, int, float, int], float]] = {
    "worst-case": _worst_case,
    "unimodal": _unimodal,
    "r-concave": _r_concave,
    "meinshausen-buehlmann": _worst_case,
}

UNLIKELY = "features that a half-sample selects with a probability of at most {q}/{p}, no more often than chance would"

# What each bound counts, and what has to hold for the bound to be true.
COUNTED = {"meinshausen-buehlmann": "features without any relation to the target"}
ASSUMED = {
    "worst-case": "no assumption is made",
    "unimodal": "assumed: for each such feature the share of pairs that select it twice has a unimodal distribution",
    "r-concave": "assumed: for each such feature the shares of halves and of pairs that select it have r-concave "
    "distributions (r = -1/4 and -1/2)",
    "meinshausen-buehlmann": "assumed: the unrelated features are exchangeable, and the selection on a half-sample is "
    "not worse than guessing",
}


def count_of(threshold: float, n_pairs: int) -> int:
    """How many of the 2 n_pairs half-samples must select a feature."""
    return int(np.ceil(np.round(2 * n_pairs * threshold, 8)))


def expected_false(n_features, n_selected, threshold, n_pairs=50, bound="unimodal") -> float:
    """The most false features that stability selection is expected to select, with complementary pairs.

    With p features, the first q of them selected on each half-sample, B pairs of half-samples and the threshold tau::

        worst-case, meinshausen-buehlmann    q^2 / (p (2 tau - 1))
        unimodal                             C q^2 / p,  C = 1 / (2 (2 tau - 1 - 1/(2B)))    for tau <= 3/4
                                                         C = 4 (1 - tau + 1/(2B)) / (1 + 1/B) for tau > 3/4
        r-concave                            p min{1, D(q^2/p^2, 2 B tau - B; B, -1/2), D(q/p, 2 B tau; 2 B, -1/4)}

    (Shah & Samworth 2013; the first also Meinshausen & Buehlmann 2010, for another count of false features). D is the
    largest tail of an r-concave distribution, found exactly; the values of R's package stabs are up to 9 % below it.

    Parameters
    ----------
    n_features : int
        p, without constant columns and with identical columns counted once.
    n_selected : int
        q, features selected on each half-sample.
    threshold : float
        tau, above 0.5 and at most 1: the share of half-samples that must select a feature. Raised to the next multiple
        of ``1 / (2 n_pairs)``, which selects the same features.
    n_pairs : int, default=50
        B.
    bound : {"unimodal", "worst-case", "r-concave", "meinshausen-buehlmann"}, default="unimodal"
        The first three count features that a half-sample selects with a probability of at most q / p; the last counts
        features without any relation to the target, which it assumes to be exchangeable.

    Returns
    -------
    float

    Examples
    --------
    >>> from smaller.inference import expected_false
    >>> round(expected_false(7129, 20, 0.9), 4)
    0.0242
    """
    p, q, B = _checked(n_features, n_selected, n_pairs, bound)
    _check_threshold(threshold)
    tau = count_of(threshold, B) / (2 * B)
    found = BOUNDS[bound](p, q, tau, B)
    if not np.isfinite(found):
        raise ValueError(
            f"The {bound} bound says nothing about n_selected={q} of {p} features at threshold={tau:g}; select fewer "
            "on each half-sample, raise the threshold, or use bound='worst-case'."
        )
    return float(found)


def most_selected(n_features, threshold, max_false, n_pairs=50, bound="unimodal") -> int:
    """The largest number of features to select on each half-sample with at most `max_false` expected to be false.

    Parameters are those of :func:`expected_false`.

    Examples
    --------
    >>> from smaller.inference import most_selected
    >>> most_selected(7129, threshold=0.9, max_false=1.0)
    128
    """
    p, _, B = _checked(n_features, 1, n_pairs, bound)
    _check_threshold(threshold)
    _check_allowed(max_false)
    tau = count_of(threshold, B) / (2 * B)
    q = bisect_left(range(1, p + 1), True, key=lambda q: not _meets(BOUNDS[bound](p, q, tau, B), max_false))
    if q == 0:
        raise _unattainable(BOUNDS[bound](p, 1, 1.0, B), max_false, f"n_selected=1 of {p} features and threshold=1")
    return q


def least_threshold(n_features, n_selected, max_false, n_pairs=50, bound="unimodal") -> float:
    """The smallest threshold at which at most `max_false` features are expected to be false.

    A multiple of ``1 / (2 n_pairs)`` above 0.5. Parameters are those of :func:`expected_false`.

    Examples
    --------
    >>> from smaller.inference import least_threshold
    >>> least_threshold(7129, n_selected=100, max_false=1.0)
    0.83
    """
    p, q, B = _checked(n_features, n_selected, n_pairs, bound)
    _check_allowed(max_false)
    counts = range(B + 1, 2 * B + 1)
    place = bisect_left(counts, True, key=lambda t: _meets(BOUNDS[bound](p, q, t / (2 * B), B), max_false))
    if place == len(counts):
        raise _unattainable(BOUNDS[bound](p, q, 1.0, B), max_false, f"n_selected={q} of {p} features and threshold=1")
    return counts[place] / (2 * B)


def _meets(found: float, allowed: float) -> bool:
    return found <= allowed * (1 + SLACK)


def _unattainable(smallest: float, allowed: float, where: str) -> ValueError:
    least = f"is {smallest:.3g}, reached with" if np.isfinite(smallest) else "does not exist even with"
    return ValueError(
        f"max_false={allowed:g} cannot be attained: the smallest bound {least} {where}. Raise max_false, lower "
        "n_selected, or choose a sharper bound ('r-concave')."
    )


def _checked(n_features, n_selected, n_pairs, bound) -> tuple[int, int, int]:
    choose("bound", bound, BOUNDS)
    for name, value in (("n_features", n_features), ("n_selected", n_selected), ("n_pairs", n_pairs)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")
    if n_selected > n_features:
        raise ValueError(
            f"n_selected={n_selected} features cannot be selected from {n_features}; give a smaller n_selected."
        )
    return int(n_features), int(n_selected), int(n_pairs)


def _check_threshold(threshold) -> None:
    if not (isinstance(threshold, Real) and 0.5 < float(threshold) <= 1):
        raise ValueError(
            f"threshold must be above 0.5 and at most 1, the share of half-samples that select a feature; got "
            f"{threshold!r}."
        )


def _check_allowed(max_false) -> None:
    if not (isinstance(max_false, Real) and 0 < float(max_false) < np.inf):
        raise ValueError(f"max_false must be a positive number of features; got {max_false!r}.")
