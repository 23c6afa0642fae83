"""What is known of each weight: estimates, intervals and p-values, as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from .sentences import NOTHING

ADJUSTED = {None: "p_value", "holm": "p_holm", "by": "p_by"}
SHOWN = 30  # features in the printed table


@dataclass(frozen=True, eq=False)
class WeightTable:
    """What :func:`debiased` finds: p-values of every feature and, where they are trustworthy, estimates and intervals.

    Attributes
    ----------
    names : list of str
        Of the features.
    contrasts : list of str
        What the rows of the estimates are log odds of: "b against a"; for numbers, the target.
    p_value : ndarray of shape (n_features,)
        Of the test that the feature has no weight given all others, in any contrast. NaN of columns that are constant,
        or that the model excludes.
    p_holm, p_by : ndarray of shape (n_features,)
        Adjusted for the family-wise error (Holm), and for the false discovery rate (Benjamini and Yekutieli).
        p-values of many splits are adjusted from the beginning: there all three are the same.
    estimate, standard_error, lower, upper : ndarray of shape (n_contrasts, n_features) or None
        Estimates without the bias of the penalty in units of the data, and intervals of each; None where no interval is
        given. NaN of constant columns, and of all but one of a set of copies.
    level : float
        Probability with which each interval is to contain the true weight.
    method : {"debiased", "multi-split"}
        Where the p-values come from.
    n_samples, n_distinct : int
        Samples (the sum of their weights), and columns that vary, copies counted once.
    copies : list of ndarray
        Columns that are copies of each other up to sign, scale and shift; they share their p-value.
    reason : str
        Why this method was used, and why there are no intervals where there are none.
    """

    names: list[str]
    contrasts: list[str]
    p_value: np.ndarray
    p_holm: np.ndarray
    p_by: np.ndarray
    estimate: np.ndarray | None
    standard_error: np.ndarray | None
    lower: np.ndarray | None
    upper: np.ndarray | None
    level: float
    method: str
    n_samples: float
    n_distinct: int
    reason: str
    copies: list[np.ndarray] = field(default_factory=list)

    def significant(self, alpha: float = 0.05, adjust: str | None = "holm") -> np.ndarray:
        """Columns whose p-value is at most `alpha`.

        Parameters
        ----------
        alpha : float, default=0.05
        adjust : {"holm", "by", None}, default="holm"
            "holm": the probability of any false column is at most `alpha`. "by": the expected share of false columns
            is. None: each single test errs with that probability, and of many tests some will.
        """
        if not (isinstance(alpha, Real) and 0 < float(alpha) < 1):
            raise ValueError(f"alpha must be a probability between 0 and 1, such as 0.05; got {alpha!r}.")
        if adjust not in ADJUSTED:
            raise ValueError(f"adjust must be 'holm', 'by' or None; got {adjust!r}.")
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(getattr(self, ADJUSTED[adjust]) <= alpha)

    def to_frame(self) -> Any:
        """The table as a pandas frame: a row for each feature, or for each feature and contrast."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('to_frame needs pandas; install it with: pip install "smaller[cli]"') from None
        tests = {"p_value": self.p_value, "p_holm": self.p_holm, "p_by": self.p_by}
        if self.estimate is None:
            return pd.DataFrame(tests, index=pd.Index(self.names, name="feature"))
        parts = ("estimate", "standard_error", "lower", "upper")
        k = len(self.contrasts)
        index = pd.MultiIndex.from_product([self.names, self.contrasts], names=["feature", "contrast"])
        columns = {name: getattr(self, name).T.ravel() for name in parts}
        columns.update({name: np.repeat(values, k) for name, values in tests.items()})
        frame = pd.DataFrame(columns, index=index)
        return frame.droplevel("contrast") if k == 1 else frame

    def sentence(self) -> str:
        """What was found and what is known about it, in plain words."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """The parts of :meth:`sentence`: what was found, and why this method was used."""
        found = len(self.significant())
        if not found:
            return [f"Of {self.n_distinct} features none has a weight that is surely not 0. {NOTHING}", self.reason]
        have, them = ("have", "at least one of them") if found > 1 else ("has", "it")
        by = "Holm" if self.method == "debiased" else "many splits"
        return [
            f"{found} of {self.n_distinct} features {have} a weight that is not 0; the probability that {them} is "
            f"false is at most 5 % ({by}).",
            self.reason,
        ]

    def __str__(self) -> str:
        order = np.argsort(self.p_value, kind="stable")[:SHOWN]
        width = max([7, *(len(self.names[j]) for j in order)])
        lines = [f"{'feature':{width}}  {'p-value':>9}  {'Holm':>9}" + ("" if self.estimate is None else "  intervals")]
        for j in order:
            known = (
                ""
                if self.estimate is None
                else "  " + "; ".join(self._interval(c, j) for c in range(len(self.contrasts)))
            )
            lines.append(f"{self.names[j]:{width}}  {self.p_value[j]:9.2g}  {self.p_holm[j]:9.2g}{known}")
        if len(self.names) > SHOWN:
            lines.append(f"... and {len(self.names) - SHOWN} more features.")
        return "\n".join([*lines, self.sentence()])

    def _interval(self, contrast: int, j: int) -> str:
        estimate, lower, upper = (np.asarray(of)[contrast, j] for of in (self.estimate, self.lower, self.upper))
        label = f"{self.contrasts[contrast]}: " if len(self.contrasts) > 1 else ""
        return f"{label}{estimate:+.3g} [{lower:+.3g}, {upper:+.3g}]"
