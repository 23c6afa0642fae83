"""The models that can be chosen by name, and which of them suit a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ...errors import choose
from ...models.adaptive import LaplaceRegressor
from ...models.jeffreys import JeffreysClassifier, JeffreysRegressor
from ...models.multinomial import RMLR, SMLR
from ...models.rvm import RVMClassifier, RVMRegressor
from ...models.sbmlr import SBMLR
from ..cross_validation import SMLRCV
from .number_scores import Mean

CLASSIFICATION, REGRESSION = "classification", "regression"
KERNEL_SAMPLES = 2_000  # samples up to which kernel models are tried by default
PRODUCTS = 50  # inputs up to which their products are tried by default
HEAVY = 2_000_000  # entries of a table up to which the slower models are tried by default


class Settings(NamedTuple):
    """Settings of a model that a user may choose."""

    lam: float | None = None
    basis: str = "linear"
    standardize: bool = True
    class_weight: str | None = None
    scoring: str | None = None  # a name of SCORERS
    groups: Any = None  # of columns: "features", or the label of each


# The measures that a strength can be chosen by, and scikit-learn's names for them.
SCORERS = {
    "log-loss": None,
    "error": "accuracy",
    "balanced-error": "balanced_accuracy",
    "auc": "roc_auc_ovr",
}


class Offer(NamedTuple):
    """A model that can be chosen by name."""

    build: Callable[[Settings], Any]
    about: str
    heavy: bool = False  # slow on large or sparse tables


def _smlr(s: Settings) -> Any:
    if s.lam is None:
        scoring = SCORERS[s.scoring or "log-loss"]
        return SMLRCV(lams=50, rule="1se", scoring=scoring, basis=s.basis, standardize=s.standardize)
    return SMLR(s.lam, basis=s.basis, standardize=s.standardize)


def _rmlr(s: Settings) -> Any:
    return RMLR("evidence" if s.lam is None else s.lam, basis=s.basis, standardize=s.standardize)


def _laplace(s: Settings) -> Any:
    if s.lam is None and not s.standardize:
        raise ValueError("--model laplace finds its strength in standardised units; give --lam with --no-standardize.")
    return LaplaceRegressor("universal" if s.lam is None else s.lam, basis=s.basis, standardize=s.standardize)


def _without_strength(name: str, build: Callable[..., Any], instead: str) -> Callable[[Settings], Any]:
    def checked(s: Settings) -> Any:
        if s.lam is not None:
            raise ValueError(f"--model {name} finds its strength itself, so it takes no --lam; use --model {instead}.")
        return build(s)

    return checked


# A new model is a line here; the first of each task is the default. Jeffreys' prior and variances of their own have no
# unit, so that these models have nothing to standardise.
MODELS: dict[str, dict[str, Offer]] = {
    CLASSIFICATION: {
        "sbmlr": Offer(
            _without_strength("sbmlr", lambda s: SBMLR(basis=s.basis, standardize=s.standardize), "smlr"),
            "sparse, nothing to tune: the strength is integrated out",
        ),
        "smlr": Offer(_smlr, "sparse, at a given strength or at one chosen by cross-validation"),
        "rmlr": Offer(_rmlr, "ridge, not sparse: at a given strength or at the one of greatest evidence"),
        "rvm": Offer(
            _without_strength("rvm", lambda s: RVMClassifier(s.basis), "smlr"),
            "sparse: every weight has a variance of its own, found by the evidence",
            heavy=True,
        ),
        "jeffreys": Offer(
            _without_strength("jeffreys", lambda s: JeffreysClassifier(basis=s.basis), "smlr"),
            "sparse probit, nothing to tune: a prior without a parameter",
            heavy=True,
        ),
    },
    REGRESSION: {
        "rvm": Offer(
            _without_strength("rvm", lambda s: RVMRegressor(s.basis), "laplace"),
            "sparse, nothing to tune: every weight has a variance of its own, found by the evidence",
        ),
        "jeffreys": Offer(
            _without_strength("jeffreys", lambda s: JeffreysRegressor(basis=s.basis), "laplace"),
            "sparse, nothing to tune: a prior without a parameter",
        ),
        "laplace": Offer(_laplace, "the lasso with its noise learned, at a given strength or at the universal one"),
    },
}
GROUPED = "sbmlr", "smlr", "laplace"  # models that take groups of columns
NAMES = list(dict.fromkeys(name for offers in MODELS.values() for name in offers))


def task_of(y: np.ndarray) -> str:
    """Classes, or numbers to predict: many different numbers, not whole or hardly ever the same twice."""
    if y.dtype.kind in "biuUSO":
        distinct = len(np.unique(y))
        numbers = y.dtype.kind in "iu" and distinct > max(50, len(y) // 4)
        return REGRESSION if numbers else CLASSIFICATION
    return REGRESSION if len(np.unique(y)) > 10 else CLASSIFICATION


def model_for(task: str, name: str | None, settings: Settings) -> Any:
    """The model of this name, or the default for the task; refused with what exists."""
    offered = MODELS[task]
    if name is None and settings.groups is not None:
        name = next(each for each in offered if each in GROUPED)
    if name in NAMES and name not in offered:
        raise ValueError(
            f"--model {name} is not for {task}, as which this target was read; take one of {', '.join(offered)}, or "
            "give --task if the target was read wrongly."
        )
    if name is not None:
        choose("--model", name, offered)
    model = offered[name or next(iter(offered))].build(settings)
    _check_scoring(model, settings)
    return _weighted(_grouped(model, settings.groups), settings.class_weight, task)


def _check_scoring(model, settings: Settings) -> None:
    if settings.scoring is None:
        return
    choose("--scoring", settings.scoring, SCORERS)
    if not isinstance(model, SMLRCV):
        raise ValueError(
            f"--scoring chooses the strength of --model smlr by cross-validation, and {type(model).__name__} finds its "
            "strength in another way; use --model smlr without --lam, or leave --scoring out."
        )


def _grouped(model, groups: Any) -> Any:
    """The model with groups of columns, where it takes them."""
    if groups is None:
        return model
    if "groups" not in model.get_params() or not hasattr(model, "l1_share"):
        raise ValueError(
            f"--groups is for models that take groups of columns, and {type(model).__name__} does not; leave it out, "
            f"or use --model {', '.join(GROUPED)}."
        )
    return model.set_params(groups=groups)


def _weighted(model, class_weight: str | None, task: str) -> Any:
    """The model with weights of the classes, where it takes them."""
    if class_weight is None:
        return model
    if task != CLASSIFICATION or "class_weight" not in model.get_params():
        raise ValueError(
            f"--class-weight is for classifiers that take it, and {type(model).__name__} does not; leave it out, or "
            "use --model sbmlr or smlr."
        )
    return model.set_params(class_weight=class_weight)


def target_for(task: str, y: np.ndarray) -> np.ndarray:
    """Labels, or numbers."""
    if task == CLASSIFICATION:
        return as_classes(y)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"The target has text such as {str(y[0])!r}, and {REGRESSION} needs numbers; give --task {CLASSIFICATION}."
        )
    return y.astype(np.float64)


def as_classes(y: np.ndarray) -> np.ndarray:
    """Labels; numbers that are not whole become text."""
    return np.array([f"{value:g}" for value in y]) if y.dtype.kind == "f" else y


def candidates(
    task: str, X, standardize: bool = True, class_weight: str | None = None, groups: Any = None
) -> dict[str, Any]:
    """Every model that suits the data, by name; the model without inputs comes last. Some take groups of columns."""
    thin, size = sparse.issparse(X), X.shape[0] * X.shape[1]
    settings = Settings(standardize=standardize)
    found = {
        name: offer.build(settings)
        for name, offer in MODELS[task].items()
        if not (offer.heavy and (thin or size > HEAVY)) and (standardize or name != "laplace")
    }
    for name in found.keys() & set(GROUPED) if groups is not None else ():
        _grouped(found[name], groups)
    machine = SBMLR if task == CLASSIFICATION else RVMRegressor
    first = next(iter(MODELS[task]))
    if task == REGRESSION and X.shape[1] <= PRODUCTS and size * X.shape[1] <= HEAVY and not thin:
        found[f"{first}, quadratic"] = machine(basis="quadratic")
    if X.shape[0] <= KERNEL_SAMPLES and not thin:
        found[f"{first}, rbf"] = make_pipeline(StandardScaler(with_std=standardize), machine(basis="rbf"))
    nothing: dict[str, Any] = (
        {"class frequencies": DummyClassifier(strategy="prior")} if task == CLASSIFICATION else {"the mean": Mean()}
    )
    for model in found.values() if class_weight is not None else ():
        last = model[-1] if hasattr(model, "steps") else model
        if "class_weight" in last.get_params():
            last.set_params(class_weight=class_weight)
    return {**found, **nothing}
