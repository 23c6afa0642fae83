"""How certain it is that the problem was solved, in a sentence that is true for the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Status

ABOUT = (
    " This is about the optimum, not about the world: it says that the problem was solved, not that the model is right."
)

UNKNOWN = (
    "the status {status!r} is not known to this version of smaller, so the fit counts as one that did not converge; "
    "fit again"
)


def certificate(inner) -> dict[str, Any]:
    """The objective, what is known of its distance from the optimum, and what that means."""
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
    """The sentence of a status other than converged; empty where all is well."""
    status = Status.__members__.get(inner.status_.upper())
    if status is Status.CONVERGED:
        return ""
    if status is None:  # of a later version, or of a file that was changed
        return UNKNOWN.format(status=inner.status_)
    known = {"n_iter": inner.n_iter_, "gap": np.nan if gap is None else gap, "violation": violation, "tol": inner.tol}
    known |= {name: getattr(inner, f"{name}_", np.nan) for name in ("lam", "noise")}
    return status.sentence(**known)


def _convex(inner, objective: float, violation: float, gap) -> str:
    found = [name for name in ("lam", "noise") if hasattr(inner, f"{name}_") and not hasattr(inner, "lambda_")]
    words = {"lam": "strength", "noise": "noise"}
    at = f" at the {' and the '.join(words[name] for name in found)} found" if found else ""
    return (
        f"No weights at all can lower the objective{at}, {objective:.2f} nats, by more than {abs(objective) * gap:.1e} "
        f"nats (the duality gap), rounding aside; and no gradient misses its optimality condition by more than "
        f"{violation:.1e} of the penalty (the violation)."
    )


def _evidence(inner, objective: float, violation: float, gap) -> str:
    return (
        f"The log evidence is {inner.evidence_:.2f} nats, and its slope in the logarithm of every variance is at most "
        f"{violation:.1e}. The evidence may have several maxima: this is one of them, and no proof that none is higher."
    )


def _local(inner, objective: float, violation: float, gap) -> str:
    return (
        f"The objective is not convex: the weights kept are stationary, to {violation:.1e}, and weights that are 0 "
        "stay there, so this is a local optimum, and no proof that none is better."
    )
