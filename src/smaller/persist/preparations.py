"""What of scikit-learn a model file may contain beside models: pipelines of scalers, encoders and imputers.

Their fitted attributes are kept as they are, the private ones that they predict with included. These may differ between
versions of scikit-learn, so that a file with such a part is loaded with a warning by another version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ..data.tables import Columns, TableTransformer
from ..data.tables.dates import from_notes
from .model_rules import RULES
from .rules import Rule, Sizes, numbers, one_of, or_none, whole

# The private attributes of each class that a file holds beside the public ones.
_ENCODER = (
    *("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings", "_missing_indices"),
    *("_drop_idx_after_grouping", "_n_features_outs"),
)
PRIVATE: dict[type, tuple[str, ...]] = {
    Pipeline: (),
    ColumnTransformer: (
        *("_columns", "_transformer_to_input_indices", "_remainder", "_n_features", "_name_to_fitted_passthrough"),
        "_is_fitted",
    ),
    FunctionTransformer: (),
    **dict.fromkeys((StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler), ()),
    SimpleImputer: ("_fit_dtype", "_fill_dtype"),
    MissingIndicator: ("_n_features", "_precomputed"),
    **dict.fromkeys((OneHotEncoder, OrdinalEncoder), _ENCODER),
}


def _steps(value: Any) -> bool:
    """Pairs of a name and an estimator; "passthrough" and None stand for a step that does nothing."""
    return bool(value) and all(
        isinstance(name, str) and (isinstance(step, BaseEstimator) or step in (None, "passthrough"))
        for name, step in value
    )


def _categories(value: Any, sizes: Sizes) -> bool:
    return len(value) == sizes["inputs"] and all(
        isinstance(part, np.ndarray) and part.ndim == 1 and len(part) for part in value
    )


def _columns(value: Any) -> bool:
    """Columns of a table whose inputs have names, and whose dates have known parts."""
    for dates in value.dates.values():
        from_notes(dates)
    return isinstance(value, Columns) and all(isinstance(name, str) for name in value.inputs)


INPUTS = {"n_features_in_": whole(1, needed=False)}
CATEGORIES = Rule(lambda sizes: f"{sizes['inputs']} lists of categories", _categories, needed=False)
PER_INPUT = or_none(numbers(("inputs",), needed=False))
RULES.update(
    {
        Pipeline: {"steps": one_of("pairs of a name and an estimator", _steps)},
        StandardScaler: {**INPUTS, "mean_": PER_INPUT, "scale_": PER_INPUT},
        MinMaxScaler: {**INPUTS, "min_": PER_INPUT, "scale_": PER_INPUT},
        MaxAbsScaler: {**INPUTS, "scale_": PER_INPUT},
        RobustScaler: {**INPUTS, "center_": PER_INPUT, "scale_": PER_INPUT},
        SimpleImputer: {
            **INPUTS,
            "statistics_": Rule(
                lambda sizes: f"{sizes['inputs']} values", lambda value, sizes: value.shape == (sizes["inputs"],), False
            ),
        },
        OneHotEncoder: {**INPUTS, "categories_": CATEGORIES},
        OrdinalEncoder: {**INPUTS, "categories_": CATEGORIES},
        TableTransformer: {**INPUTS, "columns_": one_of("the columns of a table", _columns, needed=False)},
    }
)
