"""Models that switch columns or inputs off: which were kept, and the data reduced to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._sklearn import check_feature_names_in
from ..basis import Linear, finite_columns
from ..rows.dask.collections import is_frame
from .predictions import blockwise, note_inputs

# Names by which other packages call them.
P_VALUES = tuple(f"{name}{end}" for name in ("p_value", "p_values", "pvalue", "pvalues") for end in ("", "_"))


class KeepsPrecision(TransformerMixin):
    """Transformers that return columns of X as they are, in the precision of X."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Selector(KeepsPrecision):
    """Models that switch columns of their basis off: which were kept, and the data reduced to them.

    On a linear basis these are the inputs; on a kernel basis, similarities to the relevance vectors.
    """

    basis_: Any
    coef_: Any
    support_: np.ndarray
    _new_inputs: Any

    def __getattr__(self, name: str) -> Any:
        if name in P_VALUES:
            raise AttributeError(
                f"{type(self).__name__} has no {name}: the weight of a sparse fit was selected and shrunk by the same "
                "samples, so that it has no p-value of its own. Use smaller.inference.debiased(None, X, y)."
            )
        return object.__getattribute__(self, name)  # raises the usual error

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Mask, or indices, of the basis columns with a non-zero weight."""
        check_is_fitted(self)
        if indices:
            return self.support_.copy()
        mask = np.zeros(self.coef_.shape[-1], dtype=bool)
        mask[self.support_] = True
        return mask

    def transform(self, X):
        """The basis columns that were kept."""
        check_is_fitted(self)
        if is_frame(X) and isinstance(self.basis_, Linear):
            note_inputs(self, X, reset=False)
            return X.iloc[:, self.support_]
        return self._columns_kept(X)

    @blockwise(lambda model: len(model.support_))
    def _columns_kept(self, X):
        return finite_columns(self.basis_, self._new_inputs(X), self.support_)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the basis columns that were kept."""
        check_is_fitted(self)
        names = input_names(self, input_features)
        return self.basis_.names(names)[self.support_]


class InputSelector(KeepsPrecision):
    """Models that switch inputs off inside their kernel: which were kept, and the data reduced to them."""

    _new_inputs: Callable[[Any], Any]

    def _inputs_kept(self) -> np.ndarray:
        """Mask of the inputs that the model looks at."""
        raise NotImplementedError

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Mask, or indices, of the inputs that were kept."""
        check_is_fitted(self)
        mask = self._inputs_kept()
        return np.flatnonzero(mask) if indices else mask

    def transform(self, X):
        """The inputs that were kept."""
        check_is_fitted(self)
        return self._new_inputs(X)[:, self.get_support(indices=True)]

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the inputs that were kept."""
        check_is_fitted(self)
        return input_names(self, input_features)[self.get_support()]


def input_names(model, input_features=None) -> np.ndarray:
    """Names of the inputs: those given, those seen in fit, or x0, x1, ..."""
    return check_feature_names_in(model, input_features)
