"""A transformer from tables to inputs, for pipelines in Python."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .columns import Columns, Reading
from .frames import in_portions
from .last_pass import read_columns


class TableTransformer(TransformerMixin, BaseEstimator):
    """Turn the columns of a data frame into numbers, as the command ``smaller fit`` does with a file.

    Numbers stay numbers, also where they are written with decimal commas, marks between thousands or words for a
    missing value; text becomes categories, and dates become their parts. Columns that number or name the rows are left
    out.

    Parameters
    ----------
    categorical : sequence of str, default=()
        Columns of codes: every value is a category.
    numeric : sequence of str, default=()
        Columns of numbers: other texts count as missing, and row numbers are kept.
    ignore : sequence of str, default=()
        Columns to leave out.
    impute : bool, default=True
        Whether the median, or the most frequent text, takes the place of missing values; otherwise they are refused.
    decimal, thousands : str, default=None
        The decimal mark and the mark between thousands; by default found in the table.
    na : sequence of str, default=()
        Further texts and numbers that mean a missing value.
    day_first : bool, default=None
        Whether dates such as 3/4/2024 begin with the day.

    Attributes
    ----------
    columns_ : Columns
        How the columns become inputs; its ``told()`` says what was done, in sentences.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the table has named columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from smaller import SMLR
    >>> from smaller.tables import TableTransformer
    >>> table = pd.DataFrame({"size": ["1,5", "2,5", "?", "4,0"], "colour": ["red", "blue", "red", "blue"]})
    >>> TableTransformer().set_output(transform="pandas").fit_transform(table)
       size  colour=red
    0   1.5         1.0
    1   2.5         0.0
    2   2.5         1.0
    3   4.0         0.0
    >>> model = make_pipeline(TableTransformer(), SMLR(0.1)).fit(table, ["a", "b", "a", "b"])
    >>> model.predict(table).tolist()
    ['a', 'b', 'a', 'b']
    """

    def __init__(
        self, categorical=(), numeric=(), ignore=(), impute=True, decimal=None, thousands=None, na=(), day_first=None
    ):
        self.categorical = categorical
        self.numeric = numeric
        self.ignore = ignore
        self.impute = impute
        self.decimal = decimal
        self.thousands = thousands
        self.na = na
        self.day_first = day_first

    def fit(self, X, y=None) -> TableTransformer:
        """Find out how the columns of a table become inputs."""
        frame = self._frame(X, reset=True)
        self.columns_ = self._read(frame, None).columns
        return self

    def transform(self, X) -> np.ndarray:
        """The inputs, (n_samples, inputs); refused with a sentence where a column cannot be read as in fit."""
        check_is_fitted(self)
        return self._read(self._frame(X, reset=False), self.columns_).X

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the inputs, such as "age", "colour=red" and "visit: year"."""
        check_is_fitted(self)
        return np.array(self.columns_.inputs, dtype=object)

    def _read(self, frame, columns: Columns | None) -> Any:
        na = [str(word) for word in self.na]
        options: dict[str, Any] = {} if columns is not None else {
            "categorical": self.categorical, "numeric": self.numeric, "ignore": self.ignore, "impute": self.impute,
            "decimal": self.decimal, "thousands": self.thousands, "na": na, "day_first": self.day_first,
        }  # fmt: skip
        frames = partial(_portions, frame, [*na, *(columns.na if columns is not None else ())])
        return read_columns("The table", Reading(columns=columns, **options), frames)

    def _frame(self, X, reset: bool):
        import pandas as pd

        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X.rename(columns=str)
        X = check_array(X, dtype=None, ensure_all_finite="allow-nan")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).infer_objects()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _portions(frame, na: list[str], names=None, text=(), decimal: str = "."):
    return in_portions(frame, names, text, na)
