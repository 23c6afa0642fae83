"""PriorShift: probabilities corrected for the class frequencies of operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._sklearn import HasMethods, Interval, StrOptions
from . import checks
from .class_frequencies import ALGORITHMS, as_test, estimated, shifted
from .wrapper import Wrapper, thawed


@dataclass(eq=False, repr=False)
class PriorShift(Wrapper):
    """A classifier whose probabilities are corrected for other class frequencies in operation than in training.

    ``P_o,ik = P_ik o_k / t_k``, each row divided by its sum, where t are the training priors and o the operational ones
    (Saerens et al. 2002; Cawley et al. 2006, eq. 6). The priors o are given, or estimated from unlabelled operational
    samples by :meth:`adapt`; until then nothing is corrected.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Fitted inside; a fitted one that is to stay as it is comes in a :class:`sklearn.frozen.FrozenEstimator`.
    priors : array-like of shape (n_classes,) or dict, default=None
        Operational priors, in the order of ``classes_`` or by label. None leaves them to :meth:`adapt`.
    training_priors : "fit", "uniform", array-like of shape (n_classes,) or dict, default="fit"
        "fit" is the frequencies of the classes in y, weighted by sample_weight. A frozen estimator, or one with
        class_weight, was trained at other priors: give those ("uniform" for ``class_weight="balanced"``).
    significance : float, default=None
        :meth:`adapt` corrects only if the test of the shift has a p-value of at most this. None always corrects.
    pseudo_count, algorithm
        As in :func:`estimate_priors`.

    Attributes
    ----------
    estimator_ : classifier
    classes_ : ndarray
    training_priors_, priors_ : ndarray of shape (n_classes,)
    estimate_ : PriorEstimate
        After :meth:`adapt`: the estimate with its certificate, whether or not it is used.
    shift_ : ShiftTest
        After :meth:`adapt`: the test of "nothing has shifted".

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import SMLR
    >>> from smaller.decision import PriorShift
    >>> rng = np.random.default_rng(0)
    >>> def draw(n, second):  # two overlapping classes, a fraction `second` of which is the second
    ...     y = (rng.random(n) < second).astype(int)
    ...     return y[:, None] + rng.normal(size=(n, 3)), y
    >>> X_new, y_new = draw(5000, 0.05)
    >>> model = PriorShift(SMLR()).fit(*draw(1000, 0.5))
    >>> print(f"{model.score(X_new, y_new):.3f} right")
    0.814 right
    >>> print(f"{model.adapt(X_new).score(X_new, y_new):.3f} right, at priors", model.priors_.round(2))
    0.954 right, at priors [0.94 0.06]
    """

    estimator: Any
    _: KW_ONLY
    priors: Any = None
    training_priors: Any = "fit"
    significance: float | None = None
    pseudo_count: float = 0.0
    algorithm: str = "newton"

    _stage = 1
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "priors": ["array-like", Mapping, None],
        "training_priors": [StrOptions({"fit", "uniform"}), "array-like", Mapping],
        "significance": [Interval(Real, 0, 1, closed="both"), None],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
        "algorithm": [StrOptions(set(ALGORITHMS))],
    }

    def _settings(self, classes: np.ndarray) -> dict[str, Any]:
        new = None if self.priors is None else checks.priors(self.priors, classes, "priors")
        return {"priors_": new, "training_priors_": self._given_priors(classes), "estimate_": None, "shift_": None}

    def _given_priors(self, classes: np.ndarray) -> np.ndarray | None:
        given = self.training_priors
        if not isinstance(given, str):
            return checks.priors(given, classes, "training_priors", positive=True)
        if given == "uniform":
            return np.full(len(classes), 1.0 / len(classes))
        self._refuse_other_priors()
        return None

    def _learn(self, inner, X, y, sample_weight, routed) -> dict[str, Any]:
        settings = self._settings(inner.classes_)
        training = settings["training_priors_"]
        if training is None:
            training = self._frequencies(inner.classes_, y, sample_weight)
        new = training if settings["priors_"] is None else settings["priors_"]
        return {"training_priors_": training, "priors_": new}

    def _frequencies(self, classes: np.ndarray, y, sample_weight) -> np.ndarray:
        codes = checks.positions(y, classes)
        weight = checks.sample_weights(sample_weight, len(codes))
        counts = np.bincount(codes, weights=weight, minlength=len(classes))
        return checks.priors(counts / counts.sum(), classes, "training_priors", positive=True)

    def _refuse_other_priors(self) -> None:
        """Refuse training_priors="fit" for a classifier that was trained at other class frequencies than y has."""
        if isinstance(self.estimator, FrozenEstimator):
            raise ValueError(
                "The estimator is frozen, and y may differ from its training data; give training_priors, the class "
                'frequencies of its training data, or "uniform" if they were balanced.'
            )
        parameters = self.estimator.get_params() if hasattr(self.estimator, "get_params") else {}
        weighted = [key for key, value in parameters.items() if key.endswith("class_weight") and value is not None]
        if weighted:
            raise ValueError(
                f"The estimator has {weighted[0]}={parameters[weighted[0]]!r}, so its probabilities do not belong to "
                'the class frequencies of y; give training_priors, which are "uniform" for "balanced".'
            )

    def adapt(self, X):
        """Estimate the priors of unlabelled operational samples, and correct the probabilities for them from now on.

        Each call starts anew from the training priors. A clone does not keep the estimate; to keep it,
        give it as the parameter ``priors``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Operational samples, new to the classifier.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self.priors is not None:
            raise ValueError("PriorShift has the parameter priors; set priors=None and fit again to estimate them.")
        P = self._raw(X)
        training, weight = self.training_priors_, np.ones(len(P))
        found = likeliest = estimated(P, training, weight, 0.0, self.algorithm)
        if self.pseudo_count:
            found = estimated(P, training, weight, self.pseudo_count, self.algorithm)
        test = as_test(likeliest)
        kept = self.significance is not None and test.p_value > self.significance
        self.estimate_, self.shift_ = found, test
        self.priors_ = self.training_priors_ if kept else found.priors
        return self

    def _probabilities(self, P: np.ndarray) -> np.ndarray:
        return shifted(super()._probabilities(P), self.priors_, self.training_priors_)


def prior_ratio(model) -> np.ndarray | None:
    """o_k / t_k of the PriorShift inside a fitted model; None where there is none, or no shift."""
    within = thawed(model)
    while isinstance(within, Wrapper):
        if isinstance(within, PriorShift) and not np.array_equal(within.priors_, within.training_priors_):
            return within.priors_ / within.training_priors_
        within = thawed(within.estimator_)
    return None
