"""Artificial data are what they are said to be, and the same for the same seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from smaller.data.synthetic import DESIGNS, make_gaussians, make_sinc, make_sparse_linear, make_tibshirani

MAKERS = [make_sinc, make_gaussians, make_tibshirani, lambda **seed: make_sparse_linear(20, [1, 0], **seed)]


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_is_a_draw(make):
    one, same, other = (make(random_state=seed) for seed in (1, 1, 2))
    assert_array_equal(one.data, same.data)
    assert_array_equal(one.target, same.target)
    assert not np.array_equal(np.column_stack([one.data, one.target]), np.column_stack([other.data, other.target]))


def test_sinc_is_sin_x_over_x_and_noise():
    data = make_sinc(20_000, noise=0.3, random_state=0)
    x = data.data[:, 0]
    assert_allclose(data.truth * x, np.sin(x), atol=1e-12)
    assert_allclose(np.std(data.target - data.truth), 0.3, rtol=0.03)


@pytest.mark.parametrize("p", [2, 7])
def test_the_best_error_of_the_gaussians_does_not_depend_on_their_dimension(p):
    data = make_gaussians(40_000, p, random_state=0)
    wrong = (data.data[:, :2].sum(axis=1) > 0) != data.target
    assert_allclose(wrong.mean(), norm.cdf(-1), atol=0.006)
    assert_allclose(np.cov(data.data[data.target == 1].T), np.eye(p), atol=0.05)


@pytest.mark.parametrize("distance", [0.5, 3.0])
def test_the_best_error_of_the_gaussians_follows_from_their_distance(distance):
    data = make_gaussians(40_000, 3, distance=distance, random_state=0)
    means = [data.data[data.target == c].mean(axis=0) for c in (0, 1)]
    assert_allclose(np.linalg.norm(means[1] - means[0]), distance, atol=0.03)
    wrong = (data.data[:, :2].sum(axis=1) > 0) != data.target
    assert_allclose(wrong.mean(), norm.cdf(-distance / 2), atol=0.008)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_designs_of_tibshirani_have_their_sizes_covariance_and_noise(design):
    draws = [make_tibshirani(design, random_state=seed) for seed in range(400)]
    coef, noise, n = DESIGNS[design]
    assert draws[0].data.shape == (n, len(coef))
    second = np.mean([draw.data.T @ draw.data / n for draw in draws], axis=0)
    assert_allclose(second, draws[0].covariance, atol=0.1)
    residuals = np.concatenate([draw.target - draw.data @ draw.coef for draw in draws])
    assert_allclose(residuals.std(), noise, rtol=0.04)


def test_what_there_is_not_is_refused():
    with pytest.raises(ValueError, match="design must be one of 1, 2, 3, 4"):
        make_tibshirani(5)
    with pytest.raises(ValueError, match="n_features must be at least 2"):
        make_gaussians(10, 1)
