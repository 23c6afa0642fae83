"""Rules for the fields of fitted selectors of features: stability selection, knockoffs and credible sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..inference import Knockoffs, StabilitySelection
from ..inference.credible_sets import CredibleSets, CredibleSetsClassifier, CredibleSetsRegressor
from ..inference.false_bounds import BOUNDS
from .model_rules import CLASSES, ESTIMATOR, NAMES, RULES
from .rules import Rule, Sizes, numbers, one_of, real, whole


def _positions(value: Any, sizes: Sizes) -> bool:
    """Different features."""
    inside = not len(value) or (value.min() >= 0 and value.max() < sizes["inputs"])
    return bool(value.dtype.kind in "iu" and value.ndim == 1 and len(np.unique(value)) == len(value) and inside)


def _sets(value: Any, sizes: Sizes) -> bool:
    return isinstance(value, list) and all(len(features) and _positions(features, sizes) for features in value)


def _one_for_each_set(value: Any, sizes: Sizes) -> bool:
    return value.shape == (len(sizes["fields"]["sets_"]),) and bool(np.isfinite(value).all())


def _frequencies(value: Any, sizes: Sizes) -> bool:
    """Shares, or NaN of features that no half-sample could select."""
    known = value[~np.isnan(value)]
    return value.shape == (sizes["inputs"],) and bool(((known >= 0) & (known <= 1)).all())


def _entries(value: Any, sizes: Sizes) -> bool:
    """Strengths relative to the largest: a row for each half-sample."""
    right = sparse.issparse(value) and value.shape == (len(sizes["fields"]["n_entered_"]), sizes["inputs"])
    return bool(right and ((value.data >= 0) & (value.data <= 1)).all())


def _statistics(value: Any, sizes: Sizes) -> bool:
    return value.ndim == 2 and len(value) > 0 and value.shape[1] == sizes["inputs"] and bool(np.isfinite(value).all())


def _thresholds(value: Any, sizes: Sizes) -> bool:
    return value.shape == (len(sizes["fields"]["statistics_"]),) and bool((value > 0).all())


SELECTORS = StabilitySelection, Knockoffs, CredibleSetsRegressor, CredibleSetsClassifier

SUPPORT = Rule(lambda sizes: f"different positions among {sizes['inputs']} features", _positions)
SETS = Rule(lambda _: "a list of sets of features", _sets)
FOR_EACH_SET = Rule(lambda _: "a number for each set", _one_for_each_set)
MARKS = one_of("a number for each sample", lambda value: value.ndim == 1 and value.dtype.kind == "f")
SELECTED = {"n_features_in_": whole(1), "feature_names_in_": NAMES, "support_": SUPPORT}

SELECTOR_RULES: dict[type, dict[str, Rule]] = {
    StabilitySelection: {
        "bound": one_of(f"one of {', '.join(map(repr, BOUNDS))}", lambda value: value in BOUNDS),
        **SELECTED,
        "group_support_": one_of("None, or labels of groups", lambda value: value is None or value.ndim == 1),
        "frequencies_": Rule(lambda sizes: f"a share for each of {sizes['inputs']} features", _frequencies),
        "expected_false_": real(0.0),
        "n_selected_": whole(1),
        "threshold_": real(0.5),
        "n_distinct_": whole(1),
        "n_entered_": one_of("whole numbers", lambda value: value.ndim == 1 and value.dtype.kind in "iu"),
        "entries_": Rule(lambda _: "a sparse array with a row for each half-sample", _entries),
        "copies_": SETS,
        "estimator_": ESTIMATOR,
        "row_marks_": MARKS,
    },
    Knockoffs: {
        "fdr": real(0.0, above=True),
        **SELECTED,
        "statistics_": Rule(lambda sizes: f"rows of {sizes['inputs']} finite numbers", _statistics),
        "thresholds_": Rule(lambda _: "a positive number for each row of statistics_", _thresholds),
        "e_values_": numbers(("inputs",), low=0.0),
        "n_distinct_": whole(1),
        "copies_": SETS,
        "estimator_": ESTIMATOR,
        "row_marks_": MARKS,
    },
    CredibleSets: {
        **SELECTED,
        "inclusion_": numbers(("inputs",), low=0.0),
        "sets_": SETS,
        "purity_": FOR_EACH_SET,
        "set_probability_": FOR_EACH_SET,
    },
    CredibleSetsRegressor: {"coef_": numbers(("inputs",)), "intercept_": real(), "noise_": real(0.0)},
    CredibleSetsClassifier: {
        "classes_": CLASSES,
        "coef_": numbers(("scores", "inputs")),
        "intercept_": numbers(("scores",)),
    },
}
RULES |= SELECTOR_RULES
