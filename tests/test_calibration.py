"""Simulation-based calibration (Talts et al. 2018): among draws from a posterior the true value has a uniform rank."""

import numpy as np
import pytest
from scipy.stats import chisquare

from smaller.inference.gibbs import LinearChain, LinearData, SoftmaxChain, SoftmaxData
from smaller.inference.scale_mixtures import HorseshoeScales, LaplaceScales, NormalScales

SETS, DRAWS, THIN, WARMUP, BINS = 240, 31, 8, 100, 8
RATE = (3.0, 3.0)
TAU0, SLAB = 0.5, 2.0

KINDS = [
    (2, "reference", "laplace"),
    (2, "reference", "horseshoe"),
    (2, "reference", "normal"),
    (2, "reference", "learned"),
    (2, "symmetric", "laplace"),
    (2, "symmetric", "horseshoe"),
    (3, "reference", "laplace"),
    (3, "symmetric", "laplace"),
    (3, "reference", "horseshoe"),
    (3, "symmetric", "horseshoe"),
    (3, "symmetric", "normal"),
    (3, "reference", "learned"),
    (3, "symmetric", "learned"),
]


def horseshoe_weights(rng, shape):
    """Weights under the horseshoe with its slab, which weighs scales by sqrt(1 / (1 + tau^2 lam^2 / c^2)) each."""
    while True:
        tau = TAU0 * abs(rng.standard_cauchy())
        scale = tau * np.abs(rng.standard_cauchy(shape))
        share = 1 / np.sqrt(1 + (scale / SLAB) ** 2)
        if rng.random() < np.prod(share):
            return rng.standard_normal(shape) * scale * share


def weights_and_prior(kind, rng, shape):
    """True weights drawn from a prior, the prior as the sampler takes it, and the true strength."""
    ones, zeros = np.ones(shape), np.zeros(shape)
    if kind == "horseshoe":
        return horseshoe_weights(rng, shape), HorseshoeScales(ones, TAU0, SLAB), np.nan
    if kind == "normal":
        return rng.standard_normal(shape) / np.sqrt(2.0), NormalScales(2.0, ones, None), np.nan
    lam = rng.gamma(RATE[0]) / RATE[1] if kind == "learned" else 1.0
    return rng.laplace(size=shape) / lam, LaplaceScales(1.0, ones, zeros, RATE if kind == "learned" else None), lam


def softmax_ranks(classes, parametrization, kind, seed, n=25, d=2):
    """Ranks of the true weights, intercepts, log-likelihood (and strength) among the draws of one simulated table."""
    rng = np.random.default_rng(seed)
    k = classes if parametrization == "symmetric" else classes - 1
    w, prior, lam = weights_and_prior(kind, rng, (d, k))
    b = rng.standard_normal(k)
    A = np.column_stack([rng.standard_normal((n, d)), np.ones(n)])
    V = np.zeros((d + 1, classes))
    V[:, :k] = np.vstack([w, b])
    Y = np.eye(classes)[(A @ V + rng.gumbel(size=(n, classes))).argmax(axis=1)]
    data = SoftmaxData(np.asfortranarray(A), Y, np.ones(n), np.zeros((n, classes)), k, True, 1.0)
    chain = SoftmaxChain(data, prior, np.zeros((d + 1, k)), rng)
    truth = SoftmaxChain(data, prior, V[:, :k], rng).log_likelihood()
    draws = drawn(chain, lambda state: [*state.weights.ravel(), *state.intercept, state.log_likelihood, state.lam])
    count = len(draws[0]) if kind == "learned" else len(draws[0]) - 1
    return (np.array([*w.ravel(), *b, truth, lam]) > draws)[:, :count].sum(axis=0)


def drawn(chain, told):
    for _ in range(WARMUP):
        chain.sweep()
    chain.warming = False
    found = []
    for _ in range(DRAWS):
        for _ in range(THIN):
            chain.sweep()
        found.append(told(chain.state()))
    return np.array(found)


def linear_ranks(kind, seed, n=20, d=3):
    """The same for the linear model of known noise, without an intercept."""
    rng = np.random.default_rng(seed)
    w, prior, lam = weights_and_prior(kind, rng, (d, 1))
    noise = 0.5
    A = rng.standard_normal((n, d))
    y = A @ w[:, 0] * np.sqrt(noise) + np.sqrt(noise) * rng.standard_normal(n)
    chain = LinearChain(LinearData(A, y, float(n), noise, False), prior, np.zeros(d), rng)
    draws = drawn(chain, lambda state: [*state.weights.ravel(), state.lam])
    count = d + (kind == "learned")
    return (np.array([*w[:, 0] * np.sqrt(noise), lam]) > draws)[:, :count].sum(axis=0)


def p_values(ranks):
    """Of the chi-square test that ranks 0 ... DRAWS are uniform, for each quantity."""
    bins = ranks * BINS // (DRAWS + 1)
    return np.array([chisquare(np.bincount(column, minlength=BINS)).pvalue for column in bins.T])


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "parametrization", "kind"), KINDS)
def test_ranks_of_softmax_weights_are_uniform(classes, parametrization, kind):
    found = p_values(np.array([softmax_ranks(classes, parametrization, kind, seed) for seed in range(SETS)]))
    print(classes, parametrization, kind, found.round(3))
    assert found.min() > 0.01 / len(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["laplace", "learned", "normal", "horseshoe"])
def test_ranks_of_linear_weights_are_uniform(kind):
    found = p_values(np.array([linear_ranks(kind, seed) for seed in range(SETS)]))
    print("linear", kind, found.round(3))
    assert found.min() > 0.01 / len(found)


def test_wrong_scales_are_seen():
    """The test can fail: with a prior of half the strength the ranks are not uniform."""
    rng = np.random.default_rng(0)
    draws = rng.laplace(size=(SETS, DRAWS)) * 2.5
    assert p_values((rng.laplace(size=SETS)[:, None] > draws).sum(axis=1)[:, None])[0] < 1e-3
