"""Effective draws from a posterior for each second of processor time: smaller beside NUTS of numpyro and bayes-bridge.

    python -m benchmarks.posterior [PROBLEM ...]

One core, the same posterior (Laplace prior of fixed strength on standardised columns, flat intercepts), one chain each,
after warm-up and compilation; of each only the drawing is timed. The samplers take turns, since other work on the
machine slows all of them in one round: rates are medians over the rounds, ratios medians of those within a round. The
figures are the smallest effective sample sizes over all weights, each less its mean over the classes, divided by the
seconds: of bulks (means), and of tails (the indicators of 5 % and 95 % quantiles). bayes-bridge has numbers and two
classes only, and its prior of numbers does not scale with the noise: there its strength is that of the model divided by
the deviation of the noise found. Needs numpyro and polyagamma beside smaller; bayesbridge 0.2.6, which builds with
Cython below 3, is left out where it is not installed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from scipy.sparse import linalg  # noqa: E402
from sklearn.datasets import load_diabetes, load_iris, load_wine  # noqa: E402

from smaller import SMLR, LaplaceRegressor  # noqa: E402
from smaller.datasets import load_golub, load_pima  # noqa: E402
from smaller.inference.diagnostics import agreement  # noqa: E402
from smaller.inference.posterior_problem import posterior_problem  # noqa: E402
from smaller.models.base import Given  # noqa: E402

WARMUP = 500  # sweeps of smaller
conjugate_gradients = linalg.cg
ROUNDS, ENOUGH = 5, 15.0  # runs of each sampler, and seconds after which it has no other
FEW = 100  # draws
RATES = ("ess_per_second", "tail_per_second")
RESULTS = Path(__file__).parent / "results" / "posterior.json"


def standardised(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def of_training(load):
    """The training samples of a data set with a fixed split."""
    data = load()
    return data.data[data.train].astype(float), data.target[data.train]


PROBLEMS = {  # data, strength, sweeps of smaller, draws of NUTS and of bayes-bridge
    "pima": (lambda: of_training(load_pima), 3.0, 10_000, 20_000, 5000),
    "diabetes": (lambda: load_diabetes(return_X_y=True), 5.0, 10_000, 5000, 5000),
    "golub": (lambda: of_training(load_golub), 1.0, 2000, 40, 1000),
    "iris": (lambda: load_iris(return_X_y=True), 1.0, 3000, 5000, 0),
    "wine": (lambda: load_wine(return_X_y=True), 1.0, 3000, 3000, 0),
}


def least_ess(W):
    """(1, draws, rows, columns) to the smallest sizes of bulks and tails of the weights less their class means."""
    W = W - W.mean(axis=2, keepdims=True) if W.shape[2] > 1 else W
    found = agreement(W.reshape(*W.shape[:2], -1))
    return float(found.bulk.min()), float(found.tail.min())


def timed(run):
    """What a run returns, and its processor seconds."""
    begin = time.process_time()
    return run(), time.process_time() - begin


def gibbs(X, y, lam, sweeps):
    kind = LaplaceRegressor(lam) if y.dtype.kind == "f" else SMLR(lam, standardize=True)
    options = {"prior": None, "rate": "fixed", "rate_prior": None}
    problem = posterior_problem(kind.fit(X, y), Given(X, y), **options)

    chain = problem.chain(problem.mode, np.random.default_rng(0))
    for _ in range(WARMUP):
        chain.sweep()
    chain.warming = False

    def draw():
        kept = []
        for _ in range(sweeps):
            chain.sweep()
            kept.append(chain.state())
        return kept

    def run(seed):
        kept, took = timed(draw)
        return *least_ess(problem.in_units([kept])[0]), took

    return run


def nuts(X, y, lam, draws):
    import jax
    import numpyro
    import numpyro.distributions as dist
    from jax import numpy as jnp
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    d = X.shape[1]
    numbers = y.dtype.kind == "f"
    classes, codes = (None, y) if numbers else np.unique(y, return_inverse=True)
    k = 1 if numbers or len(classes) == 2 else len(classes)

    def model():
        w = numpyro.sample("w", dist.Laplace(0, 1 / lam).expand([d, k]).to_event(2))
        if numbers:
            b = numpyro.sample("b", dist.ImproperUniform(dist.constraints.real, (), ()))
            log = numpyro.sample("log", dist.ImproperUniform(dist.constraints.real, (), ()))  # log of the deviation
            sigma = jnp.exp(log)
            numpyro.sample("y", dist.Normal(b + X @ w[:, 0] * sigma, sigma), obs=y)
            return
        free = k if k == 1 else k - 1
        b = numpyro.sample("b", dist.ImproperUniform(dist.constraints.real, (free,), ()))
        F = X @ w
        if k == 1:
            numpyro.sample("y", dist.Bernoulli(logits=F[:, 0] + b[0]), obs=codes)
        else:
            numpyro.sample("y", dist.Categorical(logits=F + jnp.append(b, 0.0)), obs=codes)

    X = jnp.asarray(X)
    chain = MCMC(NUTS(model), num_warmup=min(500, 4 * draws), num_samples=draws, num_chains=1, progress_bar=False)
    chain.warmup(jax.random.PRNGKey(0))
    warm, step = chain.post_warmup_state, chain.sampler.sample

    @jax.jit
    def trace(state):  # `chain.run` would compile its loop anew in every call, which takes two seconds
        def draw(state, _):
            state = step(state, (), {})
            return state, state.z["w"]

        return jax.lax.scan(draw, state, None, length=draws)[1]

    def run(seed):
        W, took = timed(lambda: np.asarray(trace(warm._replace(rng_key=jax.random.PRNGKey(2 + seed)))))
        # Fewer draws than FEW show no effective size: each counts as independent, which is more than it is worth.
        sizes = (float(draws), float(draws)) if draws < FEW else least_ess(W.transpose(0, 2, 1)[None])
        return *sizes, took

    run(-1)  # compiles
    return run


def bridge(X, y, lam, draws):
    from bayesbridge import BayesBridge, RegressionCoefPrior, RegressionModel

    numbers = y.dtype.kind == "f"
    if numbers:
        lam = lam / float(np.sqrt(LaplaceRegressor(lam).fit(X, y).noise_))
    model = RegressionModel(y if numbers else np.unique(y, return_inverse=True)[1], X, "linear" if numbers else "logit")
    sampler = BayesBridge(model, RegressionCoefPrior(bridge_exponent=1.0))
    way = {"coef_sampler_type": "cg" if X.shape[1] > len(X) else "cholesky", "global_scale_update": None}
    fixed = {"init": {"global_scale": 1 / lam}, "options": way, "params_to_save": ("coef",)}

    def draw(count, seed):
        # It passes tol to conjugate gradients, which SciPy has renamed.
        with patch.object(linalg, "cg", lambda *given, tol=1e-5, **more: conjugate_gradients(*given, rtol=tol, **more)):
            return sampler.gibbs(100 + count, 100, seed=seed, **fixed)

    def run(seed):
        (_, warming), (found, took) = (timed(lambda count=count: draw(count, 1 + seed)) for count in (10, draws))
        # The difference of the times leaves the warm-up out.
        return *least_ess(np.asarray(found[0]["coef"])[1:].T[None, :, None, :]), took - warming

    draw(10, 0)
    return run


def rounds(samplers):
    """(effective sizes of bulk and tail, seconds) of each sampler in each round that it takes part in."""
    found = {who: [] for who in samplers}
    for seed in range(ROUNDS):
        for who, run in samplers.items():
            if sum(took for *_, took in found[who]) < ENOUGH:
                found[who].append(run(seed))
                print(who, *(round(each, 3) for each in found[who][-1]), flush=True)
    return found


def summary(found):
    """Medians of sizes, seconds and rates, and of the ratios within a round, with the least and the greatest."""
    found = {who: np.array(triples) for who, triples in found.items()}
    rates = {who: sizes[:, :2] / sizes[:, 2:] for who, sizes in found.items()}
    row = {}
    for who, triples in found.items():
        bulk, tail, took = np.median(triples, axis=0).round(3).tolist()
        row[who] = {"ess": bulk, "ess_tail": tail, "seconds": took, "rounds": len(triples)}
        row[who] |= dict(zip(RATES, np.median(rates[who], axis=0).round(2).tolist(), strict=True))
    for who in [each for each in rates if each != "smaller"]:
        count = min(len(rates[who]), len(rates["smaller"]))
        ratio = rates["smaller"][:count] / rates[who][:count]
        for name, each in zip(RATES, ratio.T, strict=True):
            ends = np.median(each), each.min(), each.max()
            row[f"{name}_ratio_{who}"] = [round(float(value), 2) for value in ends]
    return row


def main(chosen):
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen or PROBLEMS:
        data, lam, sweeps, draws, others = PROBLEMS[name]
        X, y = data()
        X = standardised(X)
        y = y.astype(float) if name == "diabetes" else y
        samplers = {"smaller": gibbs(X, y, lam, sweeps), "nuts": nuts(X, y, lam, draws)}
        if others and find_spec("bayesbridge") is not None:
            samplers["bridge"] = bridge(X, y, lam, others)
        found[name] = summary(rounds(samplers))
        print(name, found[name], flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
