"""How near the fit is to its optimum, in words that hold for the kind of model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Status

ABOUT = " The certificate says that this objective was minimised, not that the model is right."

SMALLEST_GAP = 1e-12  # smaller gaps are rounding

UNKNOWN = "the status {status!r} is unknown to this version of smaller, so the fit counts as not converged; fit again"


def certificate(inner) -> dict[str, Any]:
    """The objective, gap, violation and status, with their meaning in words."""
    objective, violation = float(inner.objective_), float(inner.violation_)
    gap = float(inner.dual_gap_) if hasattr(inner, "dual_gap_") else None
    type_one = hasattr(inner, "lambda_")
    convex = gap is not None and (type_one or not hasattr(inner, "gamma_"))
    meaning = _convex if convex else _evidence if hasattr(inner, "evidence_") and not type_one else _local
    return {
        "objective": objective,
        "gap": gap if convex else None,
        "violation": violation if np.isfinite(violation) else None,
        "status": inner.status_,
        "iterations": int(inner.n_iter_),
        "ended": _ended(inner, violation, gap),
        "meaning": meaning(inner, objective, violation, gap) + ABOUT,
    }


def _ended(inner, violation: float, gap: float | None) -> str:
    """The sentence of the status; empty if the fit converged."""
    status = Status.__members__.get(inner.status_.upper())
    if status is Status.CONVERGED:
        return ""
    if status is None:  # from a later version, or from a changed file
        return UNKNOWN.format(status=inner.status_)
    known = {"n_iter": inner.n_iter_, "gap": np.nan if gap is None else gap, "violation": violation, "tol": inner.tol}
    known |= {name: getattr(inner, f"{name}_", np.nan) for name in ("lam", "noise")}
    return status.sentence(**known)


def _convex(inner, objective: float, violation: float, gap) -> str:
    found = [name for name in ("lam", "noise") if hasattr(inner, f"{name}_") and not hasattr(inner, "lambda_")]
    words = {"lam": "strength", "noise": "noise"}
    at = f" at the {' and the '.join(words[name] for name in found)} found" if found else ""
    if not gap < 1:
        return f"It is not known how far the objective{at} is from its minimum: there is no finite duality gap."
    if blend_of(inner):
        return (
            f"The weights are {blend_of(inner)}. Each fit is at its optimum: no other weights can lower its "
            f"objective by more than {_part(gap)}."
        )
    near = "The fit is at the optimum: no" if _has_converged(inner) else "No"
    return f"{near} other weights can lower the objective{at} by more than {_part(gap)}."


def _has_converged(inner) -> bool:
    return inner.status_ == Status.CONVERGED.name.lower()


def blend_of(inner) -> str:
    """What the weights of a relaxed model are; empty for other models."""
    share = getattr(inner, "lasso_share_", 1.0)
    if share == 1:
        return ""
    free = "a fit without a penalty"
    return f"those of {free}" if share == 0 else f"{share:.0%} those of an L1 fit and {1 - share:.0%} those of {free}"


def _part(gap: float) -> str:
    """A relative gap in words, rounded up to a power of ten: 3e-7 is one part in a million."""
    power = int(np.floor(-np.log10(max(gap, SMALLEST_GAP))))
    sizes = {3: "thousand", 6: "million", 9: "billion", 12: "trillion"}
    words = {0: "its own value", **{power: f"one part in a {size}" for power, size in sizes.items()}}
    return words.get(power, f"one part in {10**power:,}".replace(",", " "))


def _evidence(inner, objective: float, violation: float, gap) -> str:
    near = "The fit is at" if _has_converged(inner) else "The fit has not reached"
    return (
        f"{near} a maximum of the evidence (its largest slope is {violation:.1e}; at a maximum all are 0). There may "
        "be several maxima, and another may be higher."
    )


def _local(inner, objective: float, violation: float, gap) -> str:
    return (
        f"The objective is not convex. The weights kept are stationary to {violation:.1e}: this is a local minimum, "
        "and another may be lower."
    )
