"""What the library says when something is wrong: warnings, statuses and the wording of input errors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from enum import Enum

from sklearn.exceptions import ConvergenceWarning


class CompiledCoreWarning(UserWarning):
    """The compiled core is missing, so that the slower NumPy twins do the work."""


class EmptyModelWarning(UserWarning):
    """Every penalised weight is zero: the model predicts the class frequencies, or the mean."""


class RejectionWarning(UserWarning):
    """A target of the reject option cannot be met: every sample will be rejected."""


class SmallClassWarning(UserWarning):
    """A class has too few samples for the folds of cross-validation: there are fewer folds, or one without it."""


class FitInterrupted(RuntimeError):  # noqa: N818 (it is not the fit's error)
    """The cluster that a fit ran on is gone; ``model`` is the model after the last pass over the data, or None."""

    model = None


class ModelFileError(ValueError):
    """A file is not a model that this version can read, or a model has parts that no file can hold."""


class Status(Enum):
    """How a solve ended; each value is the sentence that the user reads."""

    CONVERGED = "converged"
    MAX_ITER = (
        "stopped after {n_iter} iterations (max_iter) at a relative duality gap of {gap:.1e} and an optimality "
        "violation of {violation:.1e}, where tol={tol:.1e} was asked for; raise max_iter, or raise tol"
    )
    STALLED = (
        "stopped after {n_iter} iterations at a relative duality gap of {gap:.1e} and an optimality violation of "
        "{violation:.1e}, where tol={tol:.1e} was asked for: rounding errors leave nothing to gain; raise tol, or "
        "scale the columns of X"
    )
    WANDERING = (
        "the strength still moved at lam={lam:.4g} after {n_iter} L1 fits or single steps (the limit is max_iter, or "
        "50 + 5 max_iter passes over the data); the weights are those of this strength, to a relative duality gap of "
        "{gap:.1e}; raise max_iter, or raise tol"
    )
    INTERRUPTED = "the cluster was lost after {n_iter} passes over the data; fit again with warm_start=True to go on"
    JUMP = (
        "no strength is a fixed point: at lam={lam:.4g} a weight appears that asks for more than its absence does; the "
        "better side is kept, where lam is N / S but for the count of that weight"
    )
    SLOPING = (
        "stopped after {n_iter} iterations (max_iter) while the evidence still had a slope of {violation:.1e}, where "
        "tol={tol:.1e} was asked for; raise max_iter, or raise tol"
    )
    INTERPOLATES = (
        "the columns fit the targets exactly, so the noise cannot be learned from these data and was held at the "
        "smallest value allowed, a tiny fraction of the targets' variance; give noise a value, or use fewer columns"
    )
    SEPARABLE = (
        "the unpenalised columns separate the classes, so the likelihood has no maximum and the weights would grow "
        "without limit (stopped after {n_iter} iterations); use lam > 0, or a positive penalty_factor for these columns"
    )
    UNSETTLED = (
        "stopped after {n_iter} iterations at an optimality violation of {violation:.1e}, where tol={tol:.1e} was "
        "asked for; raise max_iter if it was reached, else tol: rounding errors leave nothing to gain"
    )
    COLLAPSED = (
        "the noise variance collapses (learning it was stopped at {noise:.1e}), since the kept columns can fit the "
        "target exactly; if the target is not free of noise, give its variance as noise=..., or a stronger prior"
    )

    UNFINISHED = (
        "the path stopped after {n_iter} moves (max_iter) at lam={lam:.4g}, before its end; raise max_iter, or step"
    )

    def sentence(self, **facts: float) -> str:
        """The status with its numbers filled in."""
        return self.value.format(**facts)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line that led here, however many frames of the package and scikit-learn lie between."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("smaller", "sklearn", "joblib"):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def choose(what: str, key: object, table: Iterable[str]) -> None:
    """Refuse a key that is not in the table, naming those that are."""
    names = list(table)
    if key not in names:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, names))}; got {key!r}.")


__all__ = [
    "CompiledCoreWarning",
    "ConvergenceWarning",
    "EmptyModelWarning",
    "FitInterrupted",
    "ModelFileError",
    "RejectionWarning",
    "SmallClassWarning",
    "Status",
    "choose",
    "warn",
]
