"""Relevance vector machines: ours and fastrvm on the same data, in turn: python -m benchmarks.rvm

Kernel evaluation counts. Log evidence, without intercept, is computed for both by our own code: that of fastrvm from
the relevance vectors it selected, with variances (and noise) settled on them. Needs fastrvm, which is not an extra.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from smaller import RVMClassifier, RVMRegressor
from smaller.basis import Kernel
from smaller.design import as_design
from smaller.objective.evidence import Evidence
from smaller.objective.laplace_evidence import LaplaceEvidence
from smaller.solvers.type2 import sequential as gaussian
from smaller.solvers.type2 import sequential_laplace as laplace

RESULT = Path(__file__).with_name("results") / "rvm.json"
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- rvm: written by python -m benchmarks.rvm -->", "<!-- end of rvm -->"
SIZES = {250: (20, 5), 1000: (20, 3), 4000: (2, 1)}  # data sets and repeats
ROUNDING = 1e-6  # nats
WIDTH = {"regression": 0.2, "classification": 4.0}


def sinc(n: int, seed: int):
    """sin(x) / x on [-10, 10] with noise of standard deviation 0.1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-10, 10, n)
    return x[:, None], np.sinc(x / np.pi) + 0.1 * rng.standard_normal(n)


def mixture(n: int, seed: int):
    """Ripley's two classes of two Gaussians each, variance 0.03."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    centres = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
    return centres[y, rng.integers(0, 2, n)] + np.sqrt(0.03) * rng.standard_normal((n, 2)), y


def contestants(task: str):
    """Ours and the peer, by name."""
    import fastrvm

    gamma = WIDTH[task]
    if task == "regression":
        ours = RVMRegressor(Kernel("rbf", gamma=gamma), fit_intercept=False)
        return {"smaller": ours, "fastrvm": fastrvm.RVR(kernel="rbf", gamma=gamma)}
    ours = RVMClassifier(Kernel("rbf", gamma=gamma), fit_intercept=False)
    return {"smaller": ours, "fastrvm": fastrvm.RVC(kernel="rbf", gamma=gamma)}


def settled_evidence(task: str, X, y, vectors) -> float:
    """Log evidence of the best variances on these relevance vectors."""
    design = as_design(rbf_kernel(X, vectors, gamma=WIDTH[task]))
    rows = np.arange(design.d)
    if task == "regression":
        evidence = Evidence(design, y[:, None])
        begin = np.full(len(rows), 10 / evidence.yy), 0.1 * evidence.variance
        return gaussian.settled(evidence, rows, *begin, 1e-9, 1e-6).log_evidence
    evidence = LaplaceEvidence(design, y[:, None].astype(float))
    return laplace.settled(evidence, rows, np.full(len(rows), 1e-3), 1e-4, 1e-6).log_evidence


def race(task: str, n: int) -> dict:
    """Least processor seconds of each on each data set, repeats in turn."""
    sets, repeats = SIZES[n]
    rows = []
    for seed in range(sets):
        X, y = (sinc if task == "regression" else mixture)(n, seed)
        models = contestants(task)
        seconds = dict.fromkeys(models, np.inf)
        for _ in range(repeats):
            for name, model in models.items():
                began = time.process_time()
                model.fit(X, y)
                seconds[name] = min(seconds[name], time.process_time() - began)
        found = {name: model.relevance_vectors_ for name, model in models.items()}
        evidence = {name: settled_evidence(task, X, y, vectors) for name, vectors in found.items()}
        rows.append(
            {"seed": seed, "seconds": seconds, "vectors": {k: len(v) for k, v in found.items()}, "evidence": evidence}
        )
        print(task, n, rows[-1], flush=True)
    return {"task": task, "n": n, "sets": rows}


def table(results: list[dict]) -> str:
    """Ratios of times, relevance vectors, and differences of log evidence."""
    lines = [
        "| | n | data sets | seconds, ours | times our time, fastrvm | vectors, ours / fastrvm | "
        "log evidence, ours - theirs: least, median, most | below theirs |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        sets = result["sets"]
        ours = np.mean([s["seconds"]["smaller"] for s in sets])
        ratio = np.mean([s["seconds"]["fastrvm"] for s in sets]) / ours
        vectors = " / ".join(f"{np.mean([s['vectors'][name] for s in sets]):.1f}" for name in ("smaller", "fastrvm"))
        gains = [s["evidence"]["smaller"] - s["evidence"]["fastrvm"] for s in sets]
        gained = ", ".join(f"{g:+.2f}" for g in (min(gains), np.median(gains), max(gains)))
        cells = result["task"], result["n"], len(sets), f"{ours:.4f}", f"{ratio:.2f}", vectors, gained
        lines.append(f"| {' | '.join(map(str, cells))} | {sum(g < -ROUNDING for g in gains)} |")
    return "\n".join(lines)


def main() -> None:
    """Run all, write the facts and the table."""
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0]
    results = [race(task, n) for n in SIZES for task in WIDTH]
    loads = f"Load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} cores, one thread."
    RESULT.write_text(json.dumps({"load": loads, "results": results}, indent=1) + "\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{loads}\n\n{table(results)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
