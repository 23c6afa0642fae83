"""The path of regression: each point is the fit at that strength, and it begins where nothing is kept."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from smaller import LaplaceRegressor, laplace_path
from smaller.errors import EmptyModelWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6)) * [1, 10, 0.1, 1, 1, 1] + 5
Y = X[:, 0] - 0.2 * X[:, 1] + RNG.normal(0, 0.5, 80)


@pytest.mark.parametrize(
    "settings",
    [{}, {"standardize": False}, {"noise": 0.3}, {"fit_intercept": False}, {"basis": "quadratic"}],
    ids=str,
)
def test_each_point_of_the_path_is_the_fit_at_its_strength(settings):
    found = laplace_path(X, Y, 8, eps=0.05, **settings)
    assert len(found) == 8
    for lam, coef, intercept, noise in zip(found.lams, found.coefs, found.intercepts, found.noises, strict=True):
        alone = fitted(LaplaceRegressor(lam, **settings))
        assert_allclose(coef[0], alone.coef_, atol=1e-9)
        assert_allclose(intercept[0], alone.intercept_, atol=1e-9)
        assert_allclose(noise, alone.noise_)


def fitted(model):
    """A fit that may keep nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        return model.fit(X, Y)


@pytest.mark.parametrize("settings", [{}, {"standardize": False}, {"noise": 0.3}, {"fit_intercept": False}], ids=str)
def test_the_first_strength_is_the_least_that_keeps_nothing(settings):
    first = laplace_path(X, Y, 2, **settings).lams[0]
    assert laplace_path(X, Y, [first * 1.0001], **settings).n_kept.tolist() == [0]
    assert laplace_path(X, Y, [first * 0.999], **settings).n_kept[0] > 0


def test_a_weight_is_a_repetition():
    weight = np.tile([1.0, 2.0, 0.0, 1.0], 20)
    repeated = np.repeat(np.arange(80), weight.astype(int))
    weighted, plain = laplace_path(X, Y, 5, sample_weight=weight), laplace_path(X[repeated], Y[repeated], 5)
    assert_allclose(weighted.lams, plain.lams)
    assert_allclose(weighted.coefs, plain.coefs, atol=1e-8)


def test_the_path_ends_before_the_noise_collapses():
    wide = RNG.normal(size=(30, 120))
    found = laplace_path(wide, wide[:, 0] + RNG.normal(size=30))
    assert 3 < len(found) < 50
    assert found.noises.min() > 0
    nothing = laplace_path(wide, wide[:, 0] + RNG.normal(size=30), lams=[1e-9])
    assert nothing.sparse_coefs == []
    assert nothing.coefs.shape == (0, 1, 120)


def test_a_target_that_nothing_is_related_to_and_a_strength_are_refused():
    with pytest.raises(ValueError, match="no path to follow"):
        laplace_path(X, np.ones(80))
    with pytest.raises(ValueError, match="takes no lam"):
        laplace_path(X, Y, lam=3.0)
