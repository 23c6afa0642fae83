"""Effective draws from a posterior for each second of processor time: smaller beside NUTS of numpyro and bayes-bridge.

    python -m benchmarks.posterior [PROBLEM ...]

One core, the same posterior (Laplace prior of fixed strength on standardised columns, flat intercepts), one chain each,
after warm-up and compilation; of each only the drawing is timed. The figure is the smallest bulk effective sample size
over all weights, each less its mean over the classes, divided by the seconds. bayes-bridge has numbers and two classes
only, and its prior of numbers does not scale with the noise: there its strength is that of the model divided by the
deviation of the noise found. Needs numpyro and polyagamma beside smaller; bayesbridge 0.2.6, which builds with Cython
below 3, is left out where it is not installed.
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
REPEATS, ENOUGH = 3, 10.0  # runs of which the fastest counts, and seconds after which there is no other
RESULTS = Path(__file__).parent / "results" / "posterior.json"


def standardised(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def of_training(load):
    """The training samples of a data set with a fixed split."""
    data = load()
    return data.data[data.train].astype(float), data.target[data.train]


PROBLEMS = {  # data, strength, sweeps of smaller, draws of NUTS and of bayes-bridge
    "pima": (lambda: of_training(load_pima), 3.0, 10_000, 1000, 5000),
    "diabetes": (lambda: load_diabetes(return_X_y=True), 5.0, 10_000, 1000, 5000),
    "golub": (lambda: of_training(load_golub), 1.0, 2000, 40, 2000),
    "iris": (lambda: load_iris(return_X_y=True), 1.0, 5000, 1000, 0),
    "wine": (lambda: load_wine(return_X_y=True), 1.0, 5000, 500, 0),
}


def least_ess(W):
    """(1, draws, rows, columns) to the smallest effective sample size of the weights less their class means."""
    W = W - W.mean(axis=2, keepdims=True) if W.shape[2] > 1 else W
    return float(agreement(W.reshape(*W.shape[:2], -1)).bulk.min())


def timed(run, prepare=lambda: None):
    """What a run returns, and the least processor seconds of a few that are all alike: other work only adds to them."""
    found, times = None, []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        ready = prepare()
        begin = time.process_time()
        found = run() if ready is None else run(ready)
        times.append(time.process_time() - begin)
    return found, min(times)


def gibbs(X, y, lam, sweeps):
    kind = LaplaceRegressor(lam) if y.dtype.kind == "f" else SMLR(lam, standardize=True)
    options = {"prior": None, "rate": "fixed", "rate_prior": None}
    problem = posterior_problem(kind.fit(X, y), Given(X, y), **options)

    def warm():
        rng = np.random.default_rng(0)
        chain = problem.chain(problem.mode, rng)
        for _ in range(WARMUP):
            chain.sweep()
        chain.warming = False
        return chain

    def draw(chain):
        kept = []
        for _ in range(sweeps):
            chain.sweep()
            kept.append(chain.state())
        return kept

    kept, took = timed(draw, warm)
    return least_ess(problem.in_units([kept])[0]), took


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
    chain.run(jax.random.PRNGKey(1))  # compiles

    def run():
        chain.run(jax.random.PRNGKey(2))
        return np.asarray(chain.get_samples()["w"])

    W, took = timed(run)
    return least_ess(W.transpose(0, 2, 1)[None]), took


def bridge(X, y, lam, draws):
    from bayesbridge import BayesBridge, RegressionCoefPrior, RegressionModel

    numbers = y.dtype.kind == "f"
    if numbers:
        lam = lam / float(np.sqrt(LaplaceRegressor(lam).fit(X, y).noise_))
    model = RegressionModel(y if numbers else np.unique(y, return_inverse=True)[1], X, "linear" if numbers else "logit")
    sampler = BayesBridge(model, RegressionCoefPrior(bridge_exponent=1.0))
    way = {"coef_sampler_type": "cg" if X.shape[1] > len(X) else "cholesky", "global_scale_update": None}
    fixed = {"init": {"global_scale": 1 / lam}, "options": way, "params_to_save": ("coef",)}
    # It passes tol to conjugate gradients, which SciPy has renamed.
    with patch.object(linalg, "cg", lambda *given, tol=1e-5, **more: conjugate_gradients(*given, rtol=tol, **more)):
        sampler.gibbs(20, 10, seed=0, **fixed)
        runs = (timed(lambda count=count: sampler.gibbs(100 + count, 100, seed=1, **fixed)) for count in (10, draws))
        (_, warming), ((found, _), took) = runs  # the difference leaves the warm-up out
    return least_ess(np.asarray(found["coef"])[1:].T[None, :, None, :]), took - warming


def main(chosen):
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen or PROBLEMS:
        data, lam, sweeps, draws, others = PROBLEMS[name]
        X, y = data()
        X = standardised(X)
        y = y.astype(float) if name == "diabetes" else y
        row = {}
        for who, run, count in (("smaller", gibbs, sweeps), ("nuts", nuts, draws), ("bridge", bridge, others)):
            if not count or (who == "bridge" and find_spec("bayesbridge") is None):
                continue
            size, took = run(X, y, lam, count)
            row[who] = {"ess": round(size, 1), "seconds": round(took, 3), "ess_per_second": round(size / took, 2)}
            print(name, who, row[who], flush=True)
        for who in [each for each in row if each != "smaller"]:
            row[f"ratio_{who}"] = round(row["smaller"]["ess_per_second"] / row[who]["ess_per_second"], 2)
            print(name, "smaller /", who, row[f"ratio_{who}"], flush=True)
        found[name] = row
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
