"""The problem that a fitted model solved, posed again on rows that may be others than its own."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.base import clone

from .._sklearn import check_feature_names, check_n_features
from ..models.base import Given, problem_of
from ..objective.problem import Problem


def fitted_problem(model: Any, given: Given) -> Problem:
    """The problem on these rows, in the columns of the model's basis as it was fitted."""
    posed, basis = clone(model), copy(model.basis_)
    basis.fit = lambda X, sample_weight: basis
    posed._basis = lambda: basis
    return problem_of(posed, *given[:4])


def check_columns(model: Any, X: Any) -> None:
    """Refuse columns of another number or of other names than those of the fit."""
    check_feature_names(model, X, reset=False)
    check_n_features(model, X, reset=False)
