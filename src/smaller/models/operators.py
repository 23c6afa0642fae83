"""Inputs that are known by products alone: checks of a LinearOperator where others check a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..basis import Linear, as_basis
from ..design import host, is_operator
from ..design.operator import checked_operator
from ..design.tensors import columns_of


class TakesOperators:
    """Models whose X may be a LinearOperator, on the linear basis: columns are formed only where a fit keeps them."""

    basis: Any
    basis_: Any
    support_: np.ndarray
    n_features_in_: int
    _targets: Any

    def _check_inputs(self, X, y) -> tuple[Any, Any]:
        if not is_operator(X):
            return super()._check_inputs(X, y)  # type: ignore[misc]
        operator = _real(self, checked_operator(X))
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        several = self._targets.get("multi_output", False)
        y = check_array(host(y), ensure_2d=False, dtype=np.float64, input_name="y")
        if y.ndim > (2 if several else 1):
            raise ValueError(f"y must have one column{' for each target' if several else ''}; got shape {y.shape}.")
        check_consistent_length(operator, y)
        self.n_features_in_ = operator.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        return operator, y

    def _new_inputs(self, X) -> Any:
        if not is_operator(X):
            return super()._new_inputs(X)  # type: ignore[misc]
        check_is_fitted(self)
        operator = _real(self, checked_operator(X))
        if operator.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {operator.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        return operator

    def _columns(self, X):
        if not is_operator(X):
            return super()._columns(X)  # type: ignore[misc]
        return columns_of(self._new_inputs(X), self.support_)


def _real(model: Any, operator: Any) -> Any:
    """Refuse operators of complex numbers, and bases that need the entries of X."""
    if np.issubdtype(operator.dtype, np.complexfloating):
        raise ValueError("Complex data not supported: X is a complex operator; TypeIIRegressor(complex=True) takes it.")
    if not isinstance(as_basis(model.basis), Linear):
        raise ValueError(f"X is known by products alone, which suits basis='linear' only; got {model.basis!r}.")
    return operator
