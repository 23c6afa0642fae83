"""The base class of the meta-estimators: fit the classifier inside, and decide on its probabilities.

Decisions are made in the order shift, cost, reject, so the wrappers nest as Rejecting(CostSensitive(PriorShift(...))).
Each is a function of the *raw* probabilities, those of the innermost classifier: `_probabilities` maps them to the
probabilities at the operational priors, `_decisions` to decisions.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._sklearn import fit_context, raise_for_params, routing_enabled
from . import checks
from .costs import Decisions, likeliest_classes

ORDER = "decisions are made in the order shift, cost, reject, as in Rejecting(CostSensitive(PriorShift(classifier)))"


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier around another one that has predict_proba."""

    _stage: ClassVar[int]  # place in the order of decisions; the wrapper inside must have a lower one
    estimator: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **params):
        """Fit the classifier inside, and the thresholds or priors that the decisions need.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs, as the classifier inside takes them.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the classifier inside, and used for thresholds and priors.
        **params
            Passed to the classifier inside by metadata routing.

        Returns
        -------
        self
        """
        self._refuse_misfits()
        self._refuse_early(y, sample_weight)
        routed = self._routed(sample_weight, params)
        inner = clone(self.estimator).fit(X, y, **routed)
        if not isinstance(inner.classes_, np.ndarray):
            raise ValueError(f"y has several targets, {np.shape(y)}; decisions are about one, of shape (n_samples,).")
        learnt = {**self._settings(inner.classes_), **self._learn(inner, X, y, sample_weight, routed)}
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self.estimator_, self.classes_ = inner, inner.classes_
        for name, value in learnt.items():
            setattr(self, name, value)
        return self

    def _settings(self, classes: np.ndarray) -> dict[str, Any]:
        """Attributes that follow from the parameters, once the classes are known; refuses those that do not fit."""
        return {}

    def _learn(self, inner, X, y, sample_weight, routed) -> dict[str, Any]:
        """Attributes that follow from the data. Nothing is set before all attributes are known."""
        return {}

    def _refuse_early(self, y, sample_weight) -> None:
        """Refuse wrong parameters before the fit starts, where the classes follow from y alone."""
        if sample_weight is not None or is_frozen(self.estimator):
            return
        y = np.asarray(y)
        plain = y.dtype.kind in "biufU" or (y.dtype.kind == "O" and all(isinstance(label, str) for label in y.flat))
        if not plain or y.ndim != 1:  # the classifier itself checks other kinds of labels
            return
        classes = np.unique(y)
        if len(classes) > 1:
            self._settings(classes)

    # -- using it

    def predict(self, X) -> np.ndarray:
        """The decision for each sample: a class, or the reject label."""
        check_is_fitted(self)
        codes = self._decisions(self._raw(X)).codes
        return self.classes_[codes]

    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities at the operational priors, (n_samples, n_classes); rejection has no column."""
        check_is_fitted(self)
        return self._probabilities(self._raw(X))

    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithms of the class probabilities; -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def adapt(self, X):
        """Estimate the priors of unlabelled operational samples, and decide by them from now on.

        Needs a :class:`PriorShift` inside. A clone does not keep the estimate.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Operational samples.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        adapt(self.estimator_, X)
        return self

    def _raw(self, X) -> np.ndarray:
        """Probabilities of the innermost classifier."""
        inner = thawed(self.estimator_)
        return inner._raw(X) if isinstance(inner, Wrapper) else checks.probabilities(inner.predict_proba(X))

    def _probabilities(self, P: np.ndarray) -> np.ndarray:
        inner = thawed(self.estimator_)
        return inner._probabilities(P) if isinstance(inner, Wrapper) else P

    def _decisions(self, P: np.ndarray) -> Decisions:
        return likeliest_classes(self._probabilities(P))

    # -- the contract

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
            tags.classifier_tags.multi_label = False
        return tags

    def get_metadata_routing(self):
        """Where metadata of fit go: to this estimator, and to the one inside."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def _routed(self, sample_weight, params) -> dict[str, Any]:
        """Arguments of fit that are for the classifier inside."""
        if routing_enabled():
            given = params if sample_weight is None else {**params, "sample_weight": sample_weight}
            return dict(process_routing(self, "fit", **given).estimator.fit)
        raise_for_params(params, self, "fit")
        if sample_weight is None or isinstance(self.estimator, FrozenEstimator):
            return {}
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight. If a step inside does, enable metadata "
                "routing, sklearn.set_config(enable_metadata_routing=True), and let the step request it."
            )
        return {"sample_weight": sample_weight}

    def _refuse_misfits(self) -> None:
        """Refuse classifiers without predict_proba, and wrappers in the wrong order or inside other estimators."""
        inner = thawed(self.estimator)
        if not hasattr(inner, "predict_proba"):
            raise ValueError(
                f"{type(inner).__name__} has no predict_proba, and decisions need probabilities; use a probabilistic "
                "classifier, or wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        name = type(self).__name__
        if isinstance(inner, Wrapper):
            if inner._stage >= self._stage:
                raise ValueError(f"{name} cannot be around {type(inner).__name__}: {ORDER}.")
            return
        last = innermost(inner)
        if isinstance(last, Wrapper):  # the outer wrapper would ignore its decisions and priors
            raise ValueError(
                f"{name} cannot use the {type(last).__name__} inside a {type(inner).__name__}; put the "
                f"{type(inner).__name__} innermost: {ORDER}."
            )


def adapt(model, X) -> Any:
    """Estimate the priors of unlabelled operational samples for the PriorShift in a model, which may be a pipeline.

    The same as ``model.adapt(X)`` where the model has that method; a pipeline has not.

    Parameters
    ----------
    model : estimator
        A fitted meta-estimator of this module, or a pipeline that ends in one.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Operational samples, as the model's ``predict`` takes them.

    Returns
    -------
    model

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from smaller import SMLR
    >>> from smaller.decision import PriorShift, adapt
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PriorShift(SMLR())).fit(X, y)
    >>> adapt(model, X[20:])[-1].priors_.round(2)  # 30, 50 and 50 flowers
    array([0.23, 0.39, 0.38])
    """
    inner = thawed(model)
    if hasattr(inner, "steps"):
        before = inner[:-1]
        adapt(inner[-1], before.transform(X) if len(before) else X)
    elif isinstance(inner, Wrapper):
        inner.adapt(X)
    else:
        raise ValueError(
            f"There is no PriorShift around {type(inner).__name__}, so there are no priors to adapt; wrap it, "
            f"PriorShift({type(inner).__name__}(...))."
        )
    return model


def thawed(model) -> Any:
    """The estimator inside a FrozenEstimator, or the model itself."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    return model


def is_frozen(model) -> bool:
    """Whether the classifier inside is frozen: fitted already, and not fitted again."""
    while model is not None and not isinstance(model, FrozenEstimator):
        model = within(model)
    return model is not None


def innermost(model) -> Any:
    """The wrapper that a pipeline ends in, or that another meta-estimator is around; else what is innermost."""
    while not isinstance(model, Wrapper) and within(model) is not None:
        model = within(model)
    return model


def within(model) -> Any:
    """The last step of a pipeline, what another meta-estimator is around, or None."""
    steps = getattr(model, "steps", None)
    return steps[-1][1] if steps else getattr(model, "estimator", None)
