"""Rules for the fields of a fitted model, so that it can predict: one table for each class of models.

A rule states the kind and the shape of a field. Shapes are given by the sizes of the model: its inputs, the columns of
its basis, the columns kept, its classes, and the rows of its weights. The rules of a class hold for its subclasses
too. Fields without a rule are not checked, so that a later version may add some.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator

from ..basis import BASES, KERNELS, GatedKernel, Kernel, Linear, Polynomial, Precomputed, Standardized
from ..decision import CostSensitive, PriorShift, Rejecting
from ..decision.wrapper import Wrapper, thawed
from ..models.adaptive import LaplaceRegressor
from ..models.base import Estimator
from ..models.classification import ClassificationModel
from ..models.jcfo import JCFO
from ..models.jeffreys import JeffreysClassifier
from ..models.kernel_machines import JFSCL
from ..models.regression import RegressionModel, VarianceModel
from ..models.rvm import RVMClassifier
from ..models.type2_classifier import TypeIIClassifier
from ..tuning.evidence_search import EvidenceSearch
from .rules import Rule, Sizes, is_real, is_whole, numbers, one_of, or_none, real, whole

ASYMMETRY = 1e-6  # of a covariance, relative to its largest variance
DEGREE = 100  # largest degree of a polynomial basis, unless it has more columns than this


class FieldError(ValueError):
    """A field of a model file is not what it must be; the message names the field."""


def check(model: Any, where: str) -> None:
    """Refuse a model with fields that break a rule, or with only some of the fields of a fitted model."""
    rules = rules_of(type(model))
    fields = vars(model)
    needed = [name for name, rule in rules.items() if rule.needed and name.endswith("_")]
    missing = [name for name in needed if name not in fields]
    if 0 < len(missing) < len(needed):
        raise FieldError(f"{where} is fitted but lacks {missing[0]}")
    for name, rule in rules.items():
        if name not in fields:
            continue
        sizes = _sizes(fields)
        if not _holds(rule, fields[name], sizes):
            raise FieldError(f"{where}.{name} must be {rule.expected(sizes)}; got {shown(fields[name])}")


def rules_of(cls: type) -> dict[str, Rule]:
    """The rules of a class, those of its parents first."""
    return {name: rule for base in reversed(cls.__mro__) for name, rule in RULES.get(base, {}).items()}


def _holds(rule: Rule, value: Any, sizes: Sizes) -> bool:
    try:
        return bool(rule.holds(value, sizes))
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
        return False  # the value has another type


def shown(value: Any) -> str:
    """A short description of a value, for a message."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        entries = np.asarray(value.data if sparse.issparse(value) else value)
        odd = entries.dtype.kind == "f" and not np.isfinite(entries).all()
        if value.size <= 6 and not sparse.issparse(value):
            return f"{value.tolist()!r}"[:80]
        return f"an array of {value.dtype}, shape {value.shape}" + (", with NaN or infinity" if odd else "")
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"a {type(value).__name__}"


# -- sizes


def _sizes(fields: Mapping[str, Any]) -> Sizes:
    """The sizes of the model, from fields whose own rules are checked first."""
    basis, classes = fields.get("basis_"), fields.get("classes_")
    sides: tuple[int, ...] = getattr(fields.get("coef_"), "shape", ())
    m = len(classes) if isinstance(classes, np.ndarray) and classes.ndim else None
    columns = getattr(basis, "n_columns_", fields.get("n_columns_"))
    return {
        "inputs": fields.get("n_features_in_", _inputs_of(fields)),
        "columns": columns if isinstance(columns, Integral) else None,
        "classes": m,
        "scores": None if m is None else 1 if m == 2 else m,
        "rows": sides[0] if len(sides) == 2 else None,
        "kept": len(fields["support_"]) if isinstance(fields.get("support_"), np.ndarray) else None,
        "fields": fields,
    }


def _inputs_of(fields: Mapping[str, Any]) -> int | None:
    """The number of inputs of a fitted basis, where its fields contain it."""
    for name in ("mean_", "centers_"):
        if getattr(fields.get(name), "ndim", 0) in (1, 2):
            return int(fields[name].shape[-1])
    return fields.get("n_inputs_")


# -- rules of single fields


def _labels(classes) -> bool:
    if not (isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2):
        return False
    entries = classes.tolist()
    return all(isinstance(label, (str, bytes, bool)) or is_real(label) for label in entries) and (
        len(set(entries)) == len(entries)
    )


def _is_label(label) -> bool:
    return isinstance(label, (str, bytes, bool, np.bool_)) or is_real(label)


def _basis_parameter(basis) -> bool:
    return isinstance(basis, tuple(BASIS_INPUTS)) if not isinstance(basis, str) else basis in BASES


def _fitted_basis(basis, sizes: Sizes) -> bool:
    return "n_columns_" in vars(basis) and BASIS_INPUTS[type(basis)](basis, sizes["inputs"])


def _weights(coef, sizes: Sizes) -> bool:
    """Shape (scores, columns) for classifiers; (columns,) or, if sparse or for several targets, (targets, columns)."""
    entries = coef.data if sparse.issparse(coef) else coef
    right = isinstance(entries, np.ndarray) and entries.dtype.kind == "f" and np.isfinite(entries).all()
    rows = coef.shape[:-1]
    allowed = rows == (sizes["scores"],) if sizes["scores"] else len(rows) < 2 and rows != (0,)
    return bool(right and allowed and coef.shape[-1] == sizes["columns"])


def _about_weights(sizes: Sizes) -> str:
    rows = f"({sizes['scores']}, {sizes['columns']})" if sizes["scores"] else f"({sizes['columns']},)"
    return f"finite numbers of shape {rows}, for {sizes['columns']} columns of the basis"


def _intercept(value, sizes: Sizes) -> bool:
    """One for each row of weights; a single number where the weights are a vector, or were one before `sparsify`."""
    coef = sizes["fields"]["coef_"]
    if np.ndim(value) == 0 and not sizes["scores"]:
        single = coef.ndim == 1 or (sparse.issparse(coef) and coef.shape[0] == 1)
        return is_real(value) and math.isfinite(value) and single
    return value.dtype.kind == "f" and np.isfinite(value).all() and value.shape == (sizes["rows"],)


def _support(support, sizes: Sizes) -> bool:
    """The columns that have a weight; in single precision a kept weight may have become 0."""
    coef = sizes["fields"]["coef_"]
    return _support_by_variance(support, sizes) and (
        coef.dtype != np.float64 or len(np.unique(coef.nonzero()[-1])) == len(support)
    )


def _support_by_variance(support, sizes: Sizes) -> bool:
    """Different columns, among them all that have a weight."""
    coef = sizes["fields"]["coef_"]
    if support.dtype.kind not in "iu" or support.ndim != 1 or len(np.unique(support)) != len(support):
        return False
    inside = not len(support) or (support.min() >= 0 and support.max() < coef.shape[-1])
    return bool(inside and np.isin(coef.nonzero()[-1], support).all())


def _covariance(shape: tuple) -> Rule:
    """A symmetric matrix, or one for each row of weights, without a negative variance."""
    plain = numbers(shape)

    def holds(value, sizes):
        if not plain.holds(value, sizes):
            return False
        variances = np.diagonal(value, axis1=-2, axis2=-1)
        largest = variances.max(initial=0.0)
        asymmetry = np.abs(value - value.swapaxes(-1, -2)).max(initial=0.0)
        return bool((variances >= 0).all() and asymmetry <= ASYMMETRY * largest)

    return Rule(lambda sizes: f"symmetric matrices without negative variances, {plain.expected(sizes)}", holds)


def _covariance_of_targets(value, sizes: Sizes) -> bool:
    """Of one target given as a vector a matrix; of several a matrix each."""
    targets = np.shape(sizes["fields"].get("intercept_"))
    return _covariance((*targets, sizes["kept"], sizes["kept"])).holds(value, sizes)


def _joint_covariance(value, sizes: Sizes) -> bool:
    """For each score as wide as the columns kept, or of all weights of a softmax together; or so with intercepts."""
    if value.ndim == 2:
        weights = int(np.count_nonzero(np.asarray(sizes["fields"].get("gamma_"))))
        return any(_covariance((side, side)).holds(value, sizes) for side in (weights, weights + sizes["scores"]))
    sides = sizes["kept"], sizes["kept"] + 1
    return any(_covariance(("scores", side, side)).holds(value, sizes) for side in sides)


def _vectors(value, sizes: Sizes) -> bool:
    """Kept centres, dense or sparse."""
    entries = value.data if sparse.issparse(value) else value
    return value.shape == (sizes["kept"], sizes["inputs"]) and bool(np.isfinite(np.asarray(entries)).all())


def _centers(value, sizes: Sizes) -> bool:
    entries = value.data if sparse.issparse(value) else value
    numeric = isinstance(entries, np.ndarray) and entries.dtype.kind == "f" and np.isfinite(entries).all()
    return bool(numeric and value.ndim == 2 and value.shape[0] == sizes["columns"])


def _centers_asked(value) -> bool:
    """The parameter of a kernel that says what its centres are."""
    if value is None or isinstance(value, str):
        return value is None or value == "auto"
    entries = value.data if sparse.issparse(value) else value
    if not isinstance(entries, np.ndarray):
        return is_whole(value) and value >= 1
    return value.ndim == 2 and entries.dtype.kind in "iuf" and bool(np.isfinite(entries).all())


def _names(value, sizes: Sizes) -> bool:
    return value.shape == (sizes["inputs"],) and all(isinstance(name, str) for name in value.tolist())


def _degree(value, sizes: Sizes) -> bool:
    return is_whole(value) and 1 <= value <= max(DEGREE, sizes["columns"] or 0)


def _products(value, sizes: Sizes) -> bool:
    """The number of products of up to `degree` inputs."""
    fields = sizes["fields"]
    p, degree = fields["n_inputs_"], fields["degree"]
    if not fields["interaction_only"]:
        return value == math.comb(p + degree, degree) - 1
    return value == sum(math.comb(p, i) for i in range(1, min(p, degree) + 1))


def _of_polynomial(rule: Rule) -> Callable[[Any, Sizes], bool]:
    """A rule for the parameters of a polynomial kernel, which other kernels do not use."""
    return lambda value, sizes: sizes["fields"]["kernel"] != "poly" or rule.holds(value, sizes)


def _of_the_same_classes(model, sizes: Sizes) -> bool:
    """A fitted classifier inside another: of the same classes, and of as many inputs."""
    inner, fields = thawed(model), sizes["fields"]
    return (
        is_classifier(inner)
        and bool(np.array_equal(inner.classes_, fields["classes_"]))
        and inner.n_features_in_ == fields.get("n_features_in_", inner.n_features_in_)
    )


def _winner(model, sizes: Sizes) -> bool:
    if is_classifier(model):
        return _of_the_same_classes(model, sizes)
    return isinstance(model, BaseEstimator) and model.n_features_in_ == sizes["inputs"]


# Whether a basis takes the inputs of its model, p of them.
BASIS_INPUTS: dict[type, Callable[[Any, int], bool]] = {
    Linear: lambda basis, p: basis.n_columns_ == p,
    Polynomial: lambda basis, p: basis.n_inputs_ == p,
    Kernel: lambda basis, p: basis.centers_.shape[1] == p,
    Precomputed: lambda basis, p: basis.center_index_.max(initial=-1) < p,
    Standardized: lambda basis, p: len(basis.mean_) == p,
    GatedKernel: lambda basis, p: basis.centers_.shape[1] == p,
}

POSITIVE_NUMBER = real(0.0, above=True)
CLASSES = one_of("an array of at least two different labels", _labels)
ESTIMATOR = one_of("a model", lambda value: isinstance(value, BaseEstimator))
MULTICLASS = one_of("'multinomial' or 'ovr'", lambda value: value in ("multinomial", "ovr"))
SWITCH = one_of("True or False", lambda value: isinstance(value, (bool, np.bool_)))
LABEL = one_of("a label", _is_label)
NAMES = Rule(lambda sizes: f"the names of {sizes['inputs']} inputs", _names, needed=False)
PLACES = numbers(("columns",), low=0, integers=True)
KEPT_BY_VARIANCE = Rule(lambda _: "different columns of coef_, among them all that are not 0", _support_by_variance)

# The order matters: sizes come from fields that are checked earlier.
RULES: dict[type, dict[str, Rule]] = {
    Estimator: {
        "basis": one_of(f"one of {', '.join(map(repr, BASES))}, or a basis", _basis_parameter),
        "n_features_in_": whole(1),
        "feature_names_in_": NAMES,
        "classes_": CLASSES._replace(needed=False),
        "basis_": Rule(lambda sizes: f"a fitted basis of {sizes['inputs']} inputs", _fitted_basis),
        "coef_": Rule(_about_weights, _weights),
        "intercept_": Rule(lambda _: "a finite number for each row of coef_", _intercept),
        "support_": Rule(lambda _: "the columns of coef_ that are not 0", _support),
        "relevance_vectors_": Rule(
            lambda sizes: f"finite numbers of shape {(sizes['kept'], sizes['inputs'])}", _vectors, needed=False
        ),
        "status_": one_of("a text", lambda value: isinstance(value, str), needed=False),
        "objective_": one_of("a number", lambda value: isinstance(value, Real), needed=False),
        "violation_": one_of("a number", lambda value: isinstance(value, Real), needed=False),
        "dual_gap_": one_of("a number", lambda value: isinstance(value, Real), needed=False),
        "evidence_": one_of("a number", lambda value: isinstance(value, Real), needed=False),
        "n_iter_": whole(0, needed=False),
    },
    ClassificationModel: {"classes_": CLASSES},
    RegressionModel: {
        "noise_": real(0.0),
        "covariance_": _covariance(("kept", "kept")),
        "center_": numbers(("kept",)),
        "center_variance_": real(0.0),
    },
    LaplaceRegressor: {
        "covariance_": Rule(lambda _: "symmetric matrices without negative variances", _covariance_of_targets)
    },
    VarianceModel: {"support_": KEPT_BY_VARIANCE, "gamma_": numbers(("columns",), low=0.0)},
    JeffreysClassifier: {
        "covariance_": _covariance(("scores", "kept", "kept")),
        "center_": numbers(("scores", "kept")),
        "center_variance_": numbers(("scores",), low=0.0),
    },
    RVMClassifier: {
        "multiclass": MULTICLASS,
        "support_": KEPT_BY_VARIANCE,
        "moderate": SWITCH,
        "gamma_": numbers(("columns",), ("classes", "columns"), low=0.0),
        "center_": numbers(("kept",)),
        "joint_covariance_": Rule(lambda _: "symmetric matrices without negative variances", _joint_covariance),
    },
    TypeIIClassifier: {"gamma_": numbers(("columns",), ("classes", "columns"), low=0.0)},
    JCFO: {"theta_": numbers(("scores", "inputs"), low=0.0)},
    JFSCL: {
        "multiclass": MULTICLASS,
        "gates_": numbers(("inputs",), ("classes", "inputs"), low=0.0),
        "features_": one_of("positions of inputs", lambda value: value.dtype.kind in "iu" and value.ndim == 1),
    },
    Wrapper: {
        "estimator": ESTIMATOR,
        "n_features_in_": whole(1, needed=False),
        "classes_": CLASSES,
        "estimator_": Rule(lambda _: "a fitted classifier of the same inputs and classes", _of_the_same_classes),
    },
    PriorShift: {
        "priors_": numbers(("classes",), low=0.0),
        "training_priors_": numbers(("classes",), low=0.0, above=True),
    },
    CostSensitive: {
        "cost_": numbers(("classes", "classes"), low=0.0),
        "reject_cost_": or_none(numbers(("classes",), low=0.0)),
        "reject_label_": or_none(LABEL),
    },
    Rejecting: {"threshold_": real(finite=False), "reject_label_": LABEL},
    EvidenceSearch: {
        "estimator": ESTIMATOR,
        "n_features_in_": whole(1),
        "classes_": CLASSES._replace(needed=False),
        "best_estimator_": Rule(lambda _: "a fitted model of the same inputs and classes", _winner),
    },
    FrozenEstimator: {"estimator": ESTIMATOR},
    Linear: {"n_columns_": whole(1)},
    Polynomial: {
        "n_inputs_": whole(1),
        "degree": Rule(lambda _: "a whole number of at least 1", _degree),
        "interaction_only": SWITCH,
        "n_columns_": Rule(lambda _: "the number of products of the inputs", _products),
    },
    Kernel: {
        "kernel": one_of(f"one of {', '.join(map(repr, KERNELS))}", lambda value: value in KERNELS),
        "degree": Rule(lambda _: "a number of at least 1", _of_polynomial(real(1.0))),
        "coef0": Rule(lambda _: "a finite number", _of_polynomial(real())),
        "centers": one_of("None, 'auto', a whole number of at least 1, or a matrix of finite numbers", _centers_asked),
        "n_distinct_": whole(1, needed=False),
        "gamma_": POSITIVE_NUMBER,
        "n_columns_": whole(1),
        "center_index_": PLACES,
        "centers_": Rule(lambda sizes: f"{sizes['columns']} rows of finite numbers", _centers),
    },
    Precomputed: {"n_columns_": whole(1), "center_index_": PLACES},
    Standardized: {
        "mean_": one_of("finite numbers", lambda value: value.ndim == 1 and np.isfinite(value).all()),
        "scale_": numbers(("inputs",), low=0.0, above=True),
        "basis_": Rule(lambda sizes: f"a fitted basis of {sizes['inputs']} inputs", _fitted_basis),
        "n_columns_": Rule(lambda sizes: f"{sizes['columns']}", lambda value, sizes: value == sizes["columns"]),
    },
    GatedKernel: {
        "gamma_": POSITIVE_NUMBER,
        "n_columns_": whole(1),
        "center_index_": PLACES,
        "mean_": one_of("finite numbers", lambda value: value.ndim == 1 and np.isfinite(value).all()),
        "scale_": numbers(("inputs",), low=0.0, above=True),
        "centers_": Rule(lambda sizes: f"{sizes['columns']} rows of finite numbers", _centers),
        "gates_": numbers(("inputs",), low=0.0),
    },
}
