"""Warnings, errors, the statuses of fits with their sentences, and the wording of errors about options."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from enum import Enum

from sklearn.exceptions import ConvergenceWarning


class CandidatesWarning(UserWarning):
    """A relevance vector machine chose its relevance vectors from some of the rows, since there are very many."""


class CompiledCoreWarning(UserWarning):
    """The compiled core is not installed: fits run on the NumPy functions, which are many times slower."""


class EmptyModelWarning(UserWarning):
    """Every penalised weight is zero: the model predicts the class frequencies, or the mean."""


class IntervalWarning(UserWarning):
    """There are fewer samples for each weight than intervals need: those of strong effects cover too little."""


class OutsideWarning(UserWarning):
    """Samples are far from all training samples, where the error bars of a kernel model are too small."""


class RejectionWarning(UserWarning):
    """No threshold keeps the error at most as large as requested: every sample will be rejected."""


class SameRowsWarning(UserWarning):
    """Features are assessed on samples that were used to select them: the assessment is too good."""


class SmallClassWarning(UserWarning):
    """A class has fewer samples than there are folds: the number of folds is reduced, or a fold lacks the class."""


class FitInterrupted(RuntimeError):  # noqa: N818 (the fit itself made no error)
    """The cluster was lost during a fit; ``model`` is the model after the last pass over the data, or None."""

    model = None


class UnidentifiedNoiseWarning(UserWarning):
    """The evidence cannot find the noise, since the columns are as many as the samples: another rule chose it."""


class ModelFileError(ValueError):
    """A file is not a model file that this version can read, or a model has parts that a file cannot hold."""


class Status(Enum):
    """How a fit ended: the name in lower case is ``status_``, the value is the sentence of the warning."""

    CONVERGED = "converged"
    MAX_ITER = (
        "the fit stopped after {n_iter} iterations (max_iter) before it reached tol={tol:.1e}: the relative duality "
        "gap is {gap:.1e} and the optimality violation {violation:.1e}; raise max_iter, or raise tol"
    )
    STALLED = (
        "the fit stopped after {n_iter} iterations because rounding errors allow no further progress: the relative "
        "duality gap is {gap:.1e} and the optimality violation {violation:.1e}, for tol={tol:.1e}; raise tol, or scale "
        "the columns of X"
    )
    WANDERING = (
        "the strength had not settled after {n_iter} L1 fits or single steps (the limit is max_iter, or 50 + 5 "
        "max_iter passes over the data): the weights are the solution at lam={lam:.4g}, with a relative duality gap of "
        "{gap:.1e}; raise max_iter, or raise tol"
    )
    INTERRUPTED = "the cluster was lost after {n_iter} passes over the data; fit again with warm_start=True to continue"
    JUMP = (
        "no strength satisfies lam = N / S exactly: at lam={lam:.4g} one weight enters, and its entry reverses the "
        "inequality; the side with the smaller criterion was kept, and nothing needs to be done"
    )
    SLOPING = (
        "the search stopped after {n_iter} iterations before the evidence reached a maximum: its largest slope, or the "
        "gain that a column left out promises, is {violation:.1e}, for tol={tol:.1e}; raise max_iter if it was "
        "reached, otherwise raise tol"
    )
    STOPPED = (
        "the fit stopped after {n_iter} EM steps, as em_steps asks, before the evidence reached a maximum: its largest "
        "slope, or the gain that columns left out promise, is {violation:.1e}; leave em_steps out to reach the maximum"
    )
    INTERPOLATES = (
        "the columns fit the targets exactly, so the noise cannot be learned from these data and was held at the "
        "smallest value allowed, a tiny fraction of the targets' variance; give noise a value, measured or chosen by "
        "cross-validation"
    )
    SEPARABLE = (
        "the unpenalised columns separate the classes, so the likelihood has no maximum and the weights would grow "
        "without limit (stopped after {n_iter} iterations); use lam > 0, or a positive penalty_factor for these columns"
    )
    UNSETTLED = (
        "the fit stopped after {n_iter} iterations at an optimality violation of {violation:.1e}, for tol={tol:.1e}; "
        "raise max_iter if it was reached; otherwise rounding errors allow no further progress, so raise tol"
    )
    COLLAPSED = (
        "the kept columns can fit the target exactly, so the learned noise variance falls towards 0 (it was held at "
        "{noise:.1e}); if the target has noise, give its variance as noise=..., or use a stronger prior"
    )
    UNFINISHED = (
        "the path stopped after {n_iter} moves (max_iter) at lam={lam:.4g}, before its end; raise max_iter, or raise "
        "step"
    )

    def sentence(self, **facts: float) -> str:
        """The status with its numbers filled in."""
        return self.value.format(**facts)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code: frames of smaller, scikit-learn and joblib are skipped."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("smaller", "sklearn", "joblib"):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def choose(what: str, key: object, table: Iterable[str]) -> None:
    """Refuse a key that is not in the table, with a list of the keys that are."""
    names = list(table)
    if key not in names:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, names))}; got {key!r}.")


__all__ = [
    "CandidatesWarning",
    "CompiledCoreWarning",
    "ConvergenceWarning",
    "EmptyModelWarning",
    "FitInterrupted",
    "IntervalWarning",
    "ModelFileError",
    "OutsideWarning",
    "RejectionWarning",
    "SameRowsWarning",
    "SmallClassWarning",
    "Status",
    "UnidentifiedNoiseWarning",
    "choose",
    "warn",
]
