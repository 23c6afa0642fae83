"""Means and 95 % ends of the posterior of Iris by many independent chains of NUTS, with errors from their differences.

``python -m experiments.posterior.long_chains symmetric`` (or ``reference``) prints what
`tests/cases/posterior_multinomial_iris/reference.json` has as "nuts_long": softmax, Laplace prior of rate 1 on the
weights of standardised columns, flat intercepts, the last of them 0. Needs numpyro, and nothing of smaller.

Every chain has a warm-up and a random start of its own (numpyro's, uniform in -2 ... 2), so that the chains are
independent. A value is that of all draws together; its error is the standard deviation of what the chains say by
themselves, divided by the root of their number. Nothing is assumed about correlations within a chain, neither for
means nor for ends.
"""

import argparse
import json
import os
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import numpy as jnp
from numpyro.infer import MCMC, NUTS
from sklearn.datasets import load_iris

LAM, CLASSES = 1.0, 3
WARMUP, ACCEPTED = 1000, 0.9


def posterior(X, y, columns):
    """Weights of all classes, or of all but the last."""
    W = numpyro.sample("w", dist.Laplace(0, 1 / LAM).expand([X.shape[1], columns]).to_event(2))
    b = numpyro.sample("b", dist.ImproperUniform(dist.constraints.real, (CLASSES - 1,), ()))
    fixed = jnp.zeros((len(X), CLASSES - columns))
    scores = jnp.concatenate([X @ W, fixed], axis=1) + jnp.append(b, 0.0)
    numpyro.sample("y", dist.Categorical(logits=scores), obs=y)


def chains(columns, count, draws):
    """The draws of so many chains by their names, (count, draws, ...), and how many ended in divergences."""
    X, y = load_iris(return_X_y=True)
    X = jnp.asarray((X - X.mean(axis=0)) / X.std(axis=0))
    sampler = MCMC(NUTS(posterior, target_accept_prob=ACCEPTED), num_warmup=WARMUP, num_samples=draws,
                   progress_bar=False)  # fmt: skip
    found, divergences = [], 0
    for seed in range(count):
        sampler.run(jax.random.PRNGKey(seed), X, y, columns, extra_fields=("diverging",))
        found.append({name: np.asarray(values) for name, values in sampler.get_samples().items()})
        divergences += int(sampler.get_extra_fields()["diverging"].sum())
    return {name: np.array([each[name] for each in found]) for name in found[0]}, divergences


def summary(draws):
    """Means, deviations and 95 % ends of (chains, draws, ...), and the errors of means and ends."""

    def values(some, axes):
        low, high = np.quantile(some, [0.025, 0.975], axis=axes)
        return {"mean": some.mean(axis=axes), "q025": low, "q975": high, "sd": some.std(axis=axes)}

    found = values(draws, (0, 1))
    for name, apart in values(draws, 1).items():
        found[f"mcse_{name}"] = apart.std(axis=0, ddof=1) / np.sqrt(len(draws))
    return {name: each.round(7).tolist() for name, each in found.items()}


def main():
    """Print the numbers of a parametrisation as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parametrization", choices=["symmetric", "reference"])
    parser.add_argument("--chains", type=int, default=40)
    parser.add_argument("--draws", type=int, default=8000, help="of each chain")
    options = parser.parse_args()
    numpyro.enable_x64()
    began = time.process_time()
    columns = CLASSES if options.parametrization == "symmetric" else CLASSES - 1
    draws, divergences = chains(columns, options.chains, options.draws)
    told = {"chains": options.chains, "draws_per_chain": options.draws, "warmup": WARMUP}
    told |= {"target_accept_prob": ACCEPTED, "divergences": divergences}
    told |= {name: summary(values) for name, values in draws.items()}
    print(json.dumps(told | {"seconds": round(time.process_time() - began)}, indent=1))


if __name__ == "__main__":
    main()
