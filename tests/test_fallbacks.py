"""The searches for evidence without the compiled core end at a maximum of the evidence, as the compiled ones do.

They are other algorithms: where the evidence has several maxima, they need not end at the same one.
"""

from collections import namedtuple

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from smaller import _core
from smaller._core import reference

TOL, ALIGNED = 1e-3, 1 - 1e-9
End = namedtuple("End", "value alpha rest")  # the log evidence, the precisions, and the noise or the weights


@pytest.fixture
def compiled():
    if not _core.COMPILED:
        pytest.skip("the compiled core is not installed")
    from smaller._core import compiled

    return compiled


@pytest.fixture(params=["compiled", "fallback"])
def module(request):
    """Either implementation."""
    return reference if request.param == "fallback" else request.getfixturevalue("compiled")


def starts_of(module, w, every, inside, precision):
    """From no column, and from every so many of the columns of a coarse working set."""
    coarse = np.arange(0, w, every)
    precisions = np.full((len(coarse), 2), np.inf, order="F")
    precisions[::inside, 1] = precision
    return module.Starts(coarse=coarse, precisions=precisions, follow=2)


def rule_of(module):
    return module.SearchRule(tol=TOL, aligned=ALIGNED, max_steps=10_000)


def regression(k, seed):
    """Columns at random, of which three make the targets, and the targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 60))
    X = np.asfortranarray(X / np.linalg.norm(X, axis=0))
    return X, X[:, [3, 10, 30]] @ (2 + rng.random((3, k))) + 0.1 * rng.standard_normal((150, k))


def climbed(module, X, Z, learn):
    alpha = np.empty(X.shape[1])
    data = module.GaussianData(
        C=np.asfortranarray(X.T @ Z), total=float(len(Z)), yy=float((Z**2).sum()), floor=1e-9 if learn else 0.0
    )
    starts = starts_of(module, X.shape[1], 3, 4, 1.0)
    noise, value = module.climb(X, data, starts, np.array([0.05, 0.05]), alpha, rule_of(module))
    return End(value, alpha, noise)


def marginal(X, Z, alpha, noise):
    """The log evidence from its definition, less the constant of each target."""
    inside = np.isfinite(alpha)
    covariance = noise * np.eye(len(Z)) + (X[:, inside] / alpha[inside]) @ X[:, inside].T
    densities = multivariate_normal(np.zeros(len(Z)), covariance).logpdf(Z.T)
    return float(np.sum(densities)) + Z.size * np.log(2 * np.pi) / 2


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_both_searches_end_at_the_same_evidence_where_it_has_one_clear_maximum(compiled, seed, k, learn):
    X, Z = regression(k, seed)
    ours, other = (climbed(module, X, Z, learn) for module in (compiled, reference))
    for end in (ours, other):
        assert np.isfinite(end.alpha[[3, 10, 30]]).all()
    assert ours.value == pytest.approx(other.value, abs=2 * TOL)  # steps that gain less than TOL are not taken
    assert ours.rest == pytest.approx(other.rest, rel=2e-2)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("k", [1, 2])
def test_the_value_of_a_search_is_the_log_evidence_of_its_model(module, k, learn):
    X, Z = regression(k, 5)
    end = climbed(module, X, Z, learn)
    assert end.value == pytest.approx(marginal(X, Z, end.alpha, end.rest), rel=1e-10)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("k", [1, 2])
def test_a_search_ends_at_a_maximum_of_the_log_evidence(module, k, learn):
    """No precision and no noise nearby has more evidence, and no column gains the tolerance by entering or leaving."""
    X, Z = regression(k, 5)
    value, alpha, noise = climbed(module, X, Z, learn)
    for j in np.flatnonzero(np.isfinite(alpha)):
        for factor in (0.97, 1.03, np.inf):
            other = alpha.copy()
            other[j] *= factor
            assert marginal(X, Z, other, noise) < value
    for factor in (0.99, 1.01) if learn else ():
        assert marginal(X, Z, alpha, factor * noise) < value
    for j in np.flatnonzero(np.isinf(alpha)):
        for precision in 10.0 ** np.arange(-3, 4):
            other = alpha.copy()
            other[j] = precision
            assert marginal(X, Z, other, noise) < value + TOL


def classes(n, seed):
    """Gaussian bumps over the line, as a working set, and the samples of two classes that a few of them make."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-10, 10, n))
    X = np.exp(-0.2 * (x[:, None] - x) ** 2)
    X = np.asfortranarray(X / np.linalg.norm(X, axis=0))
    y = (rng.random(n) < 1 / (1 + np.exp(-6 * np.sinc(x / np.pi)))).astype(float)
    return X, {"y": y, "s": rng.integers(1, 3, n).astype(float), "offset": np.linspace(-0.1, 0.1, n)}


def searched(module, X, samples, level, every=4):
    w = X.shape[1]
    alpha, v = np.empty(w), np.empty(w + 1)
    starts = starts_of(module, w, every, 5, 1e-2)
    weights = np.zeros((len(np.arange(0, w, every)) + 1, 2), order="F")
    data, modes = module.BinaryData(**samples, level=level), module.ModeRule(change=1e-5, near=1e-7)
    value = module.logistic(X, data, starts, weights, alpha, v, rule_of(module), modes)
    return End(value, alpha, v)


@pytest.mark.parametrize("level", [0.0, 1e-4])
@pytest.mark.parametrize("seed", range(4))
def test_both_searches_for_laplaces_evidence_end_at_the_same_model(compiled, seed, level):
    X, samples = classes(80, seed)
    ours, other = (searched(module, X, samples, level) for module in (compiled, reference))
    np.testing.assert_allclose(ours.value, other.value, rtol=1e-6)  # where log precisions change by less than 1e-5
    np.testing.assert_allclose(ours.rest, other.rest, rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(np.isfinite(ours.alpha), np.isfinite(other.alpha))
    assert np.isfinite(ours.alpha).any()


@pytest.mark.parametrize("level", [0.0, 1e-4])
def test_the_value_of_a_search_is_laplaces_evidence_of_its_model(module, level):
    """At weights whose gradient is 0: log p(y, v) + q log(2 pi) / 2 - log det H / 2; the intercept's prior is 1."""
    X, samples = classes(80, 1)
    value, alpha, v = searched(module, X, samples, level)
    y, s, offset = samples.values()
    inside = np.isfinite(alpha)
    A, w, precision = X[:, inside], v[:-1][inside], alpha[inside]
    if level:
        A, w, precision = np.column_stack([A, np.ones(len(X))]), np.append(w, v[-1]), np.append(precision, level)
    F = A @ w + offset
    P = 1 / (1 + np.exp(-F))
    np.testing.assert_allclose(A.T @ (s * (y - P)), precision * w, atol=1e-4)
    H = (A.T * (s * P * (1 - P))) @ A + np.diag(precision)
    prior = 0.5 * np.log(alpha[inside]).sum() + (0.5 * np.log(2 * np.pi) if level else 0.0)
    joint = s @ (y * F - np.logaddexp(0, F)) - 0.5 * precision @ w**2 + prior
    assert value == pytest.approx(joint - 0.5 * np.linalg.slogdet(H)[1], rel=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_samples_without_any_curvature_do_not_break_a_search(module, seed):
    """Offsets of a million decide every label; a column may then be offered precision 0, with a singular Hessian."""
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((24, 2)))
    samples = {"y": np.arange(24) % 3 // 2 * 1.0, "s": np.ones(24), "offset": 1e6 * rng.standard_normal(24)}
    value, alpha, v = searched(module, X, samples, 1e-4, every=1)
    assert np.isfinite(value)
    assert np.isfinite(v).all()
    assert (alpha > 0).all()
