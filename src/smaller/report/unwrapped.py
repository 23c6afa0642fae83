"""The model of this package inside meta-estimators."""

from __future__ import annotations

from typing import Any

INSIDE = ("best_estimator_", "estimator_", "estimator")  # attributes in which meta-estimators keep their model


def core(model) -> Any:
    """The model of this package inside a meta-estimator."""
    for name in INSIDE:
        if hasattr(model, name) and not hasattr(model, "coef_"):
            return core(getattr(model, name))
    if not hasattr(model, "coef_") or not hasattr(model, "support_"):
        raise ValueError(
            f"A fitted model of smaller is needed here; got {type(model).__name__}. Fit it first; of a pipeline give "
            "the last step, and the columns that this step gets."
        )
    return model
