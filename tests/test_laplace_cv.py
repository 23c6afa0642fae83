"""LaplaceRegressorCV: the model of LaplaceRegressor at a strength that cross-validation chooses."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, KFold

from smaller import LaplaceRegressor, LaplaceRegressorCV, laplace_path
from smaller.errors import EmptyModelWarning
from smaller.models.cross_validated_choice import choose_strength

RNG = np.random.default_rng(4)
X = RNG.normal(size=(90, 8)) * np.array([1.0, 10.0, 0.1, 1, 1, 1, 1, 1])
Y = 2 * X[:, 0] - 0.2 * X[:, 1] + RNG.normal(size=90) + 5


@pytest.mark.parametrize("rule", ["min", "1se"])
def test_the_model_is_that_of_the_strength_with_the_best_score(rule):
    model = LaplaceRegressorCV(lams=12, rule=rule, cv=4).fit(X, Y)
    scores = []
    for train, test in KFold(4).split(X):
        errors = []
        for lam in model.lams_:
            with warnings.catch_warnings(action="ignore", category=EmptyModelWarning):
                part = LaplaceRegressor(lam).fit(X[train], Y[train])
            errors.append(-np.mean((Y[test] - part.predict(X[test])) ** 2))
        scores.append(errors)
    assert_allclose(model.scores_, scores, rtol=1e-5)
    assert model.lam_ == model.lams_[choose_strength(np.array(scores), rule)]
    assert model.lam_ == (model.lam_min_ if rule == "min" else model.lam_1se_)
    single = LaplaceRegressor(model.lam_).fit(X, Y)
    assert_array_equal(model.coef_, single.coef_)
    assert model.noise_ == single.noise_
    assert model.dual_gap_ <= model.tol
    assert_allclose(model.path_.at(model.lam_).coef[0], model.coef_)
    assert_array_equal(model.path_.n_kept, laplace_path(X, Y, model.lams_).n_kept)


def test_units_weights_groups_and_offsets():
    model = LaplaceRegressorCV(lams=10, cv=3).fit(X, Y)
    scaled = LaplaceRegressorCV(lams=10, cv=3).fit(1e3 * X, 1e-2 * Y)
    assert_allclose(scaled.lam_, model.lam_)
    assert_allclose(scaled.coef_, 1e-5 * model.coef_, rtol=1e-5, atol=1e-12)
    moved = LaplaceRegressorCV(lams=10, cv=3).fit(X, Y + 7.0 * X[:, 3], offset=7.0 * X[:, 3])
    assert_allclose(moved.coef_, model.coef_, atol=1e-8)
    weight = np.where(np.arange(90) < 60, 1.0, 0.0)
    part = LaplaceRegressorCV(lams=10, cv=3).fit(X[:60], Y[:60])
    assert_allclose(LaplaceRegressorCV(lams=10, cv=3).fit(X, Y, weight).coef_, part.coef_, atol=1e-8)
    groups = np.repeat(np.arange(9), 10)
    grouped = LaplaceRegressorCV(lams=10, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    by_hand = LaplaceRegressorCV(lams=10, cv=list(GroupKFold(3).split(X, Y, groups))).fit(X, Y)
    assert_array_equal(grouped.coef_, by_hand.coef_)


def test_more_columns_than_samples_and_bad_input():
    wide = RNG.normal(size=(30, 60))
    y = wide[:, 0] + 0.3 * RNG.normal(size=30)
    model = LaplaceRegressorCV(lams=15).fit(wide, y)
    assert 0 in model.support_
    assert len(model.path_) <= 15
    assert np.isfinite(model.scores_).all()
    with pytest.raises(ValueError, match="Cross-validation needs two samples at least"):
        LaplaceRegressorCV(lams=[1.0]).fit(X[:2], Y[:2], sample_weight=[1.0, 0.0])
    with pytest.raises(ValueError, match="rule"):
        LaplaceRegressorCV(rule="best").fit(X, Y)
