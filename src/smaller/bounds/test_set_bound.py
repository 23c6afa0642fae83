"""The bound from held-out samples."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..models.base import problem_of
from ..models.multinomial import RMLR, MultinomialModel
from ..tuning.relaxed import weights_on_path
from .results import INDEPENDENT, TestSet, check_delta


def test_set(model, X, y, delta: float = 0.05) -> TestSet:  # noqa: PT028
    """The bound from held-out samples: the largest error rate at which so few errors have probability delta.

    sup { p : P(Binomial(n, p) <= errors) >= delta }, exact for every n (Clopper and Pearson 1934; Langford 2005). It
    takes any classifier.

    Parameters
    ----------
    model : classifier
        Fitted.
    X, y : array-like of shape (n_samples, n_features), array-like of shape (n_samples,)
        Samples that had no part in fitting, tuning or choosing the model.
    delta : float, default=0.05

    Returns
    -------
    TestSet

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smaller import SMLR, bounds
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SMLR(standardize=True).fit(X[:300], y[:300])
    >>> print(bounds.test_set(model, X[300:], y[300:]).sentence)
    With probability ≥ 0.95 over test sets, true error ≤ 0.0577 (9 errors in 269 held-out samples).
    """
    check_delta(delta)
    check_is_fitted(model)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    _refuse_training_sample(model, X, y)
    n, errors = len(y), int((model.predict(X) != y).sum())
    limit = 1.0 if errors == n else float(betaincinv(errors + 1, n - errors, 1.0 - delta))
    unseen = "they had no part in fitting, tuning or choosing the model"
    return TestSet(bound=limit, delta=delta, n=n, assumptions=(INDEPENDENT, unseen), errors=errors)


test_set.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test


def _refuse_training_sample(model, X, y) -> None:
    """Refuse the training sample: there the objective equals the model's ``objective_``."""
    ours = isinstance(model, MultinomialModel) and hasattr(model, "objective_")
    if not ours or not np.array_equal(np.unique(y), model.classes_):
        return
    objective = problem_of(clone(model), X, y).objective
    if hasattr(model, "lam_"):
        prior = objective.prior
        strength = prior.with_ridge if isinstance(model, RMLR) else prior.with_strength
        objective = objective.with_prior(strength(model.lam_))
    if hasattr(model, "l2_"):
        objective = objective.with_prior(objective.prior.with_ridge(model.l2_))
    coef, intercept = weights_on_path(model)
    W = coef[: objective.k].T
    W = np.vstack([W, intercept[: objective.k]]) if model.fit_intercept else W
    if W.shape == objective.shape and abs(objective.value(W) - model.objective_) <= 1e-10 * abs(model.objective_):
        raise ValueError(
            "The model was fitted on this very sample, on which its error is too low; pass samples "
            "that were held out, or use pac_bayes."
        )
