"""Simulation-based calibration (Talts et al. 2018): among draws from a posterior the true value has a uniform rank."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chisquare

from smaller.inference.gibbs import LinearChain, LinearData, SoftmaxChain, SoftmaxData
from smaller.inference.scale_mixtures import HorseshoeScales, LaplaceScales, NormalScales

SETS, DRAWS, THIN, WARMUP, BINS = 240, 31, 8, 100, 8
RATE = (3.0, 3.0)
TAU0, SLAB = 0.5, 2.0

SETTINGS = [  # two classes, three, three with more columns than samples or with sparse columns; numbers
    ("2", "reference", "laplace"),
    ("2", "reference", "horseshoe"),
    ("2", "reference", "normal"),
    ("2", "reference", "learned"),
    ("2", "symmetric", "laplace"),
    ("2", "symmetric", "horseshoe"),
    ("3", "reference", "laplace"),
    ("3", "symmetric", "laplace"),
    ("3", "reference", "horseshoe"),
    ("3", "symmetric", "horseshoe"),
    ("3", "symmetric", "normal"),
    ("3", "reference", "learned"),
    ("3", "symmetric", "learned"),
    ("wide", "symmetric", "laplace"),
    ("wide", "reference", "horseshoe"),
    ("sparse", "symmetric", "laplace"),
    ("numbers", "laplace"),
    ("numbers", "learned"),
    ("numbers", "normal"),
    ("numbers", "horseshoe"),
]


def horseshoe_weights(rng, shape, slab):
    """Weights under the horseshoe with its slab, which weighs scales by sqrt(1 / (1 + tau^2 lam^2 / c^2)) each."""
    while True:
        tau, local = TAU0 * abs(rng.standard_cauchy()), np.abs(rng.standard_cauchy(shape))
        share = 1 / np.sqrt(1 + (tau * local / slab) ** 2)
        if rng.random() < np.prod(share):
            prior = HorseshoeScales(np.ones(shape), TAU0, SLAB)
            prior.tau, prior.local = tau**2, local**2
            prior.nu = (1 + 1 / prior.local) / rng.standard_exponential(shape)
            prior.xi = (1 / TAU0**2 + 1 / prior.tau) / rng.standard_exponential()
            return rng.standard_normal(shape) * tau * local * share, prior


def weights_and_prior(kind, rng, shape, slab=SLAB):
    """True weights drawn from a prior, and the prior as the sampler takes it, with the true scales and strength."""
    ones, zeros = np.ones(shape), np.zeros(shape)
    if kind == "horseshoe":
        return horseshoe_weights(rng, shape, slab)
    if kind == "normal":
        return rng.standard_normal(shape) / np.sqrt(2.0), NormalScales(2.0, ones, None)
    lam = rng.gamma(RATE[0]) / RATE[1] if kind == "learned" else 1.0
    return rng.laplace(size=shape) / lam, LaplaceScales(lam, ones, zeros, RATE if kind == "learned" else None)


def softmax_chain(shape, parametrization, kind, seed):
    """A chain at the true weights of a simulated table, all drawn from the prior; two classes or three."""
    rng = np.random.default_rng(seed)
    classes, (n, d) = 2 if shape == "2" else 3, (5, 8) if shape == "wide" else (25, 2)
    k = classes if parametrization == "symmetric" else classes - 1
    w, prior = weights_and_prior(kind, rng, (d, k))
    V = np.zeros((d + 1, classes))
    V[:, :k] = np.vstack([w, rng.standard_normal(k)])
    A = np.column_stack([rng.standard_normal((n, d)), np.ones(n)])
    Y = np.eye(classes)[(A @ V + rng.gumbel(size=(n, classes))).argmax(axis=1)]
    A = sparse.csr_array(A) if shape == "sparse" else np.asfortranarray(A)
    return SoftmaxChain(SoftmaxData(A, Y, np.ones(n), np.zeros((n, classes)), k, True, 1.0), prior, V[:, :k], rng)


def linear_chain(kind, seed, n=20, d=3, noise=0.5):
    """The same for the linear model of known noise, without an intercept; its slab is not in units of the noise."""
    rng = np.random.default_rng(seed)
    w, prior = weights_and_prior(kind, rng, (d, 1), SLAB / np.sqrt(noise))
    w = w[:, 0] * np.sqrt(noise)
    A = rng.standard_normal((n, d))
    y = A @ w + np.sqrt(noise) * rng.standard_normal(n)
    return LinearChain(LinearData(A, y, float(n), noise, False), prior, w, rng)


def chain_at_truth(*setting):
    """Of a setting and a seed."""
    return linear_chain(*setting[1:]) if setting[0] == "numbers" else softmax_chain(*setting)


def told(chain):
    """Weights, intercepts, log-likelihood and, if it is learned, the strength."""
    state, learned = chain.state(), getattr(chain.prior, "learned", None) is not None
    level = state.intercept if isinstance(chain, SoftmaxChain) else []
    return np.array([*state.weights.ravel(), *level, state.log_likelihood, *[state.lam] * learned])


def ranks(chain):
    """Ranks of the truth, where the chain is, among the draws of one that starts at weights and scales of its own."""
    truth, prior, start = told(chain), chain.prior, np.zeros(3)
    if isinstance(prior, HorseshoeScales):
        prior = HorseshoeScales(prior.unit, TAU0, SLAB)
    if isinstance(chain, SoftmaxChain):
        start = np.zeros((chain.data.A.shape[1], chain.data.columns))
    return (truth > drawn(type(chain)(chain.data, prior, start, chain.rng))).sum(axis=0)


def drawn(chain):
    for _ in range(WARMUP):
        chain.sweep()
    chain.warming = False
    found = []
    for _ in range(DRAWS):
        for _ in range(THIN):
            chain.sweep()
        found.append(told(chain))
    return np.array(found)


def p_values(ranks):
    """Of the chi-square test that ranks 0 ... DRAWS are uniform, for each quantity."""
    bins = ranks * BINS // (DRAWS + 1)
    return np.array([chisquare(np.bincount(column, minlength=BINS)).pvalue for column in bins.T])


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=" ".join)
def test_ranks_of_true_weights_are_uniform(setting):
    found = p_values(np.array([ranks(chain_at_truth(*setting, seed)) for seed in range(SETS)]))
    print(*setting, found.round(3))
    assert found.min() > 0.01 / len(found)


def moved(chain, sweeps=5):
    """What sweeps change: bounded functions of weights, intercepts and strength, and the log-likelihood."""
    chain.warming, chain.step, chain.sweeps = False, 0.5, 1
    moves = getattr(chain, "trajectories", None)
    if moves is not None:  # whitened by the data alone, at weights of 0
        moves.seen, moves.step = 1, 0.4
        moves.whiten()

    def bounded():
        values = told(chain)
        return np.concatenate([values / (1 + np.abs(values)), np.abs(values) / (1 + np.abs(values))])

    before = bounded()
    for _ in range(sweeps):
        chain.sweep()
    return bounded() - before


def z_of_sweeps(setting, tables):
    changes = np.array([moved(chain_at_truth(*setting, seed)) for seed in range(tables)])
    deviation = changes.std(axis=0)
    return np.divide(
        changes.mean(axis=0) * np.sqrt(tables), deviation, out=np.zeros(len(deviation)), where=deviation > 0
    )


@pytest.mark.parametrize("setting", SETTINGS, ids=" ".join)
def test_sweeps_leave_weights_where_the_prior_has_them(setting):
    """From true weights, scales and strength any number of sweeps must end at others of the same distribution."""
    assert np.abs(z_of_sweeps(setting, 200)).max() < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=" ".join)
def test_sweeps_leave_weights_where_the_prior_has_them_to_a_hundredth_of_a_deviation(setting):
    found = z_of_sweeps(setting, 10_000)
    print(*setting, found.round(1))
    assert np.abs(found).max() < 4.5


def test_wrong_scales_are_seen():
    """The test can fail: with a prior of half the strength the ranks are not uniform."""
    rng = np.random.default_rng(0)
    draws = rng.laplace(size=(SETS, DRAWS)) * 2.5
    assert p_values((rng.laplace(size=SETS)[:, None] > draws).sum(axis=1)[:, None])[0] < 1e-3
