"""The evidence models in other units: the same model, whatever its inputs and targets are measured in."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from smaller import RVMRegressor, TypeIIRegressor
from smaller.errors import ConvergenceWarning, EmptyModelWarning

ALGORITHMS = ["fast", "em", "mackay", "reweighted-l2", "reweighted-l1"]
MODELS = {
    **{name: lambda noise, name=name: TypeIIRegressor(name, noise=noise) for name in ALGORITHMS},
    "machine": lambda noise: RVMRegressor("linear", noise=noise),
    "original machine": lambda noise: RVMRegressor("linear", algorithm="original", noise=noise),
}
SCALES = [1e-8, 1e-3, 1e4, 1e8]
EXTREMES = [1e-150, 1e-100, 1e100, 1e150]


def problem(n=30, p=8, k=1, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, p)), np.zeros((p, k))
    W[[1, 4, 6]] = rng.standard_normal((3, k)) + 1
    Y = X @ W + 0.3 * rng.standard_normal((n, k))
    return X, Y[:, 0] if k == 1 else Y


def assert_same(model, expected, X, reference, unit, within=1e-6):
    """Support and status, means and error bars of `model` at X, against those of another unit of the targets."""
    assert_array_equal(model.support_, expected.support_)
    assert model.status_ == expected.status_
    assert model.noise_ == pytest.approx(unit**2 * expected.noise_, rel=within)
    mean, std = expected.predict(reference, return_std=True)
    found, bars = model.predict(X, return_std=True)
    assert_allclose(found / unit, mean, atol=within * np.abs(mean).max())
    assert_allclose(bars / unit, std, rtol=within)


@pytest.mark.parametrize("noise", ["learn", 0.09])
@pytest.mark.parametrize("name", MODELS)
def test_targets_in_other_units(name, noise):
    """A given noise is a variance, in the square of the targets' unit."""
    X, y = problem()
    expected = MODELS[name](noise).fit(X, y)
    for scale in SCALES + EXTREMES:
        model = MODELS[name](noise if noise == "learn" else noise * scale**2).fit(X, y * scale)
        assert_same(model, expected, X, X, scale)
        assert model.evidence_ == pytest.approx(expected.evidence_ - (len(y) - 1) * np.log(scale), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", ["fast", "mackay", "machine"])
def test_several_targets_in_other_units(name):
    X, Y = problem(k=3)
    expected = MODELS[name]("learn").fit(X, Y)
    for scale in SCALES + EXTREMES:
        assert_same(MODELS[name]("learn").fit(X, Y * scale), expected, X, X, scale)


def test_targets_of_a_kernel_machine_in_other_units():
    X = np.random.default_rng(0).uniform(-5, 5, (60, 1))
    y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(60)
    expected = RVMRegressor().fit(X, y)
    for scale in SCALES + EXTREMES:
        assert_same(RVMRegressor().fit(X, y * scale), expected, X, X, scale)


@pytest.mark.parametrize("noise", ["learn", 0.09])
@pytest.mark.parametrize("name", MODELS)
def test_columns_in_other_units(name, noise):
    """All in one, or each in its own."""
    X, y = problem()
    expected = MODELS[name](noise).fit(X, y)
    each = 10.0 ** np.random.default_rng(1).integers(-8, 9, X.shape[1])
    for scale in [*SCALES, *EXTREMES, each]:
        model = MODELS[name](noise).fit(X * scale, y)
        assert_same(model, expected, X * scale, X, 1.0)
        assert_allclose(model.coef_ * scale, expected.coef_, atol=1e-6 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_more_columns_than_samples_in_other_units(name):
    X, y = problem(n=25, p=60)
    expected = TypeIIRegressor(name, noise=0.09, tol=1e-4).fit(X, y)
    for scale in SCALES + EXTREMES:
        model = TypeIIRegressor(name, noise=0.09 * scale**2, tol=1e-4).fit(X, y * scale)
        assert_array_equal(model.support_, expected.support_)
        assert model.status_ == expected.status_


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("name", MODELS)
def test_columns_and_targets_that_say_nothing(name, scale):
    """Constant, zero and repeated columns, and constant targets: no overflow, no division by zero."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 4))
    X = np.column_stack([A, A[:, 0], 2 * A[:, 1], np.full(20, 0.1), np.zeros(20)])
    y = A[:, 0] - A[:, 1] + 0.1 * rng.standard_normal(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", EmptyModelWarning)
        for noise in ("learn", 0.01):
            found = MODELS[name](noise).fit(X, y)
            assert np.isfinite(found.predict(X)).all()
        for target in (np.full(20, 0.1), np.zeros(20), np.full(20, scale)):
            constant = MODELS[name]("learn").fit(X * scale, target)
            assert len(constant.support_) == 0
            assert_allclose(constant.predict(X * scale), target)


@pytest.mark.parametrize("name", MODELS)
def test_what_no_number_can_hold_is_refused(name):
    """Weights of 1e300 have variances beyond the largest number; a noise of 1e-300 is lost in the targets' rounding."""
    X, y = problem()
    with pytest.raises(ValueError, match="rounding"):
        MODELS[name](1e-8).fit(X, 1e30 * y)
    with pytest.raises(ValueError, match="variances"):
        MODELS[name]("learn").fit(1e-150 * X, 1e150 * y)
