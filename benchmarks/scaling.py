"""How fits on Dask collections scale: python -m benchmarks.scaling [PART ...]

Parts: covtype, synthetic, rows, columns, classes, workers, sparse, memory, parquet, search, large-search, block. Each
adds its figures to results/scaling.json; `parquet` writes six GiB into a temporary folder. Seconds are those of a clock
and depend on what else the machine does; CPU seconds do so less.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from scipy import sparse

from smaller import SMLR, SMLRCV, datasets, path
from smaller.basis import Linear
from smaller.rows.dask.block import Task
from smaller.rows.dask.block_moments import find_moments
from smaller.rows.dask.block_sums import evaluate
from smaller.rows.dask.passes import Passes

RESULT = Path(__file__).with_name("results") / "scaling.json"
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
BEGIN, END = "<!-- scaling: written by python -m benchmarks.scaling -->", "<!-- end of scaling -->"
BLOCK = 25_000
FRACTION, TOL = 0.02, 1e-4  # of the largest useful strength; relative duality gap


def weights(p: int, m: int, kept: int = 20) -> np.ndarray:
    """What the labels of artificial data depend on: a few columns."""
    W = np.zeros((p, m))
    W[: min(kept, p)] = np.random.default_rng(0).normal(size=(min(kept, p), m))
    return W


def dense_block(seed: int, rows: int, p: int) -> np.ndarray:
    """Normal inputs with some correlation between neighbours."""
    X = np.random.default_rng(seed).normal(size=(rows, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    return X


def sparse_block(seed: int, rows: int, p: int, each: int = 30) -> sparse.csr_array:
    """Words: column j in proportion to 1 / (j + 10), with counts."""
    rng = np.random.default_rng(seed)
    columns = (10 * (np.exp(rng.random(rows * each) * np.log(1 + p / 10)) - 1)).astype(int).clip(0, p - 1)
    X = sparse.csr_array((np.ones(rows * each), columns, np.arange(rows + 1) * each), shape=(rows, p))
    X.sum_duplicates()
    return X


def labels(X, W: np.ndarray, seed: int) -> np.ndarray:
    """Drawn from a softmax of the scores."""
    F = X @ W
    return (F + np.random.default_rng(seed + 1_000_000).gumbel(size=F.shape)).argmax(axis=1)


def artificial(n: int, p: int, m: int, make=dense_block):
    """Blocks that are made on the workers."""
    sizes = [min(BLOCK, n - i) for i in range(0, n, BLOCK)]
    W = weights(p, m)
    blocks = [dask.delayed(make)(i, rows, p) for i, rows in enumerate(sizes)]
    meta = sparse.csr_array((0, 0)) if make is sparse_block else np.empty((0, 0))
    X = da.concatenate([da.from_delayed(b, (r, p), dtype=float, meta=meta) for b, r in zip(blocks, sizes, strict=True)])
    y = [
        da.from_delayed(dask.delayed(labels)(b, W, i), (r,), dtype=int)
        for i, (b, r) in enumerate(zip(blocks, sizes, strict=True))
    ]
    return X, da.concatenate(y)


def peak() -> float:
    """The largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(client: Client, X, y, solver: str = "auto", lam: float | None = None, **facts) -> dict:
    """Fit at a fraction of the largest strength, and say what it took; rows stay in memory unless lam is given."""
    if lam is None:
        X, y = dask.persist(X, y)
        lam = FRACTION * path(X, y, 1, tol=0.1).lams[0]
    messages: list[int] = []
    whole = Passes.total

    def total(self, function, combine, task):
        found = whole(self, function, combine, task)
        if function is evaluate:
            messages.append(len(pickle.dumps(found)))
        return found

    Passes.total = total  # type: ignore[method-assign]
    began, before = time.perf_counter(), client.run(time.process_time)
    here = time.process_time()
    try:
        model = SMLR(lam, tol=TOL, solver=solver).fit(X, y)
    finally:
        Passes.total = whole  # type: ignore[method-assign]
    seconds, here = time.perf_counter() - began, time.process_time() - here
    after = client.run(time.process_time)
    # A worker that was replaced in between counts from its start.
    busy = sum(spent - before.get(name, 0.0) for name, spent in after.items())
    workers = client.run(peak)
    return {
        **facts,
        "solver": solver,
        "lam": float(lam),
        "passes": model.n_passes_,
        "gap": model.dual_gap_,
        "seconds": round(seconds, 2),
        "worker_cpu_seconds": round(busy, 2),
        "worker_cpu_per_pass": round(busy / model.n_passes_, 3),
        "client_cpu_seconds": round(here, 2),
        "message_bytes": int(np.median(messages)),
        "objective": model.objective_,
        "kept": int((model.coef_ != 0).sum()),
        "worker_peak_gib": round(max(workers.values()), 2),
        "client_peak_gib": round(peak(), 2),
        "load": round(os.getloadavg()[0], 1),
    }


def cluster(workers: int = 2, memory="0"):
    """Processes of one thread each."""
    return LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=":0")


def forest() -> tuple[np.ndarray, np.ndarray]:
    """Forest cover, standardised."""
    X, y = datasets.load_covtype_sample(return_X_y=True)
    X = np.asarray(X, dtype=float)
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), y


def covtype(client: Client) -> list[dict]:
    """Forest cover, standardised, by both kinds of solver."""
    X, y = forest()
    lam = FRACTION * path(X, y, 1).lams[0]
    known = SMLR(lam, tol=1e-7).fit(X, y).objective_
    dX, dy = da.from_array(X, chunks=(12_000, X.shape[1])), da.from_array(y, chunks=12_000)
    facts = {"part": "covtype", "n": len(y), "p": X.shape[1], "m": 7, "workers": 2, "optimum": known}
    return [measure(client, dX, dy, solver, **facts) for solver in ("newton", "bound")]


def sweep(part: str, shapes: list[tuple[int, int, int]], make=dense_block, solvers=("auto",), workers: int = 2):
    """A part that measures artificial data of several shapes."""

    def run(client: Client) -> list[dict]:
        return [
            measure(client, *artificial(n, p, m, make), solver, part=part, n=n, p=p, m=m, workers=workers)
            for n, p, m in shapes
            for solver in solvers
        ]

    return run


@lru_cache(maxsize=4)
def base_block(seed: int, rows: int, p: int) -> np.ndarray:
    """Rows that a worker need not draw anew each time."""
    return dense_block(seed, rows, p)


def stretched_block(seed: int, rows: int, p: int) -> np.ndarray:
    """Cheap to make again in every pass, as a block that is read from a file would be."""
    return base_block(seed % 4, rows, p) * (1 + 1e-3 * np.sin(seed))


def memory(client: Client) -> list[dict]:
    """Six GiB in blocks that are made anew in every pass, on workers of 1.5 GiB each."""
    n, p, m = 8_100_000, 100, 3
    X, y = artificial(n, p, m, stretched_block)
    facts = {"part": "memory", "n": n, "p": p, "m": m, "workers": 2, "memory_limit": "1.5 GiB"}
    facts["data_gib"] = round(X.nbytes / 2**30, 2)
    return [measure(client, X, y, lam=one_block_strength(n, p, m), **facts)]


def one_block_strength(n: int, p: int, m: int) -> float:
    """The largest strength grows with the rows: that of one block tells it well enough."""
    X = dense_block(0, BLOCK, p)
    return float(FRACTION * path(X, labels(X, weights(p, m), 0), 1).lams[0] * n / BLOCK)


def parquet(client: Client) -> list[dict]:
    """Six GiB of Parquet on workers of 1.5 GiB each."""
    n, p, m = 8_050_000, 100, 3
    W = weights(p, m)
    with tempfile.TemporaryDirectory() as folder:

        def write(i: int) -> int:
            X = dense_block(i, BLOCK, p)
            frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]).assign(label=labels(X, W, i))
            frame.to_parquet(f"{folder}/{i:05d}.parquet", compression=None)
            return X.nbytes

        size = sum(client.gather(client.map(write, range(n // BLOCK))))
        table = dd.read_parquet(folder)
        facts = {"part": "parquet", "n": n, "p": p, "m": m, "workers": 2, "memory_limit": "1.5 GiB"}
        facts["data_gib"] = round(size / 2**30, 2)
        lam = one_block_strength(n, p, m)
        return [measure(client, table.drop(columns="label"), table["label"], lam=lam, **facts)]


def searched(client: Client, X, y, lams: int, **facts) -> dict:
    """SMLRCV beside a path on the same strengths: passes and CPU of the workers."""
    X, y = dask.persist(X, y)
    spent, settings = [], {"lams": lams, "eps": FRACTION, "tol": TOL}
    reads: list[int] = []
    whole = Passes.total

    def total(self, function, combine, task):
        reads.append(self.blocks[0][0] is not None)  # labels are found without reading X
        return whole(self, function, combine, task)

    Passes.total = total  # type: ignore[method-assign]
    try:
        for fit in (lambda: path(X, y, **settings), lambda: SMLRCV(cv=5, **settings).fit(X, y)):
            before, count, here = client.run(time.process_time), sum(reads), time.process_time()
            found = fit()
            busy = sum(now - before.get(name, 0.0) for name, now in client.run(time.process_time).items())
            spent.append((sum(reads) - count, busy, time.process_time() - here))
            print(facts["part"], spent[-1], flush=True)
    finally:
        Passes.total = whole  # type: ignore[method-assign]
    (single, busy_single, client_single), (passes, busy, client_busy) = spent
    return {
        **facts, "strengths": lams, "folds": 5, "path_passes": single, "passes": passes,
        "path_worker_cpu_seconds": round(busy_single, 1), "worker_cpu_seconds": round(busy, 1),
        "path_client_cpu_seconds": round(client_single, 1), "client_cpu_seconds": round(client_busy, 1),
        "lam": found.lam_, "objective": found.objective_, "scores": found.scores_.mean(axis=0).tolist(),
        "worst_gap": float(found.path_.dual_gaps.max()),
        "worker_peak_gib": round(max(client.run(peak).values()), 2), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def beside_memory(row: dict, X, y) -> dict:
    """The same search in memory beside it."""
    known = SMLRCV(row["strengths"], cv=row["folds"], eps=FRACTION, tol=TOL).fit(X, y)
    apart = np.abs(np.array(row["scores"]) - known.scores_.mean(axis=0)).max()
    found = {"lam_in_memory": known.lam_, "objective_in_memory": known.objective_, "scores_apart": float(apart)}
    return row | found


def search(client: Client) -> list[dict]:
    """Forest cover, standardised, and the same search in memory."""
    X, y = forest()
    dX, dy = da.from_array(X, chunks=(12_000, X.shape[1])), da.from_array(y, chunks=12_000)
    return [beside_memory(searched(client, dX, dy, 20, part="search", n=len(y), p=X.shape[1], m=7, workers=2), X, y)]


def large_search(client: Client) -> list[dict]:
    """Two million rows; fewer strengths, for the sake of the time."""
    n, p, m = 2_000_000, 100, 3
    X, y = artificial(n, p, m)
    row = searched(client, X, y, 5, part="large-search", n=n, p=p, m=m, workers=2)
    return [beside_memory(row, X.compute(), y.compute())]


def block(client: Client) -> list[dict]:
    """CPU nanoseconds that one row of one block costs in a pass, without Dask around it."""
    shapes = [(25_000, 100, m, dense_block) for m in (2, 3, 10)] + [(5_000, 1_000, 10, dense_block)]
    shapes += [(25_000, 100_000, 3, sparse_block), (25_000, 100_000, 10, sparse_block)]
    return [block_cost(*shape) for shape in shapes]


def block_cost(n: int, p: int, m: int, make, unknowns: int = 300) -> dict:
    """Of the pass that measures columns, of a gradient, and of a Hessian of so many unknowns on top."""
    X, k = make(0, n, p), 1 if m == 2 else m
    y, W, basis = labels(X, weights(p, m), 0), weights(p, k) / 3, Linear().fit(X, np.ones(n))
    told = {"center": np.zeros(p), "far": False, "W": W, "b": np.zeros(k)}
    task = Task(basis, np.arange(m), np.ones(m), k, **told)
    active = np.zeros((p + 1, k), dtype=bool)
    active[: min(p, unknowns // k)] = active[-1] = True
    curved = task._replace(active=active)
    cost = {}
    kinds = {"moments": (find_moments, task), "gradient": (evaluate, task), "both": (evaluate, curved)}
    for name, (function, asked) in kinds.items():
        spent = []
        for _ in range(3):
            began = time.process_time()
            function(X, y, None, None, asked)
            spent.append(time.process_time() - began)
        cost[name] = min(spent) / n * 1e9
    return {
        "part": "block",
        "kind": make.__name__.partition("_")[0],
        "n": n,
        "p": p,
        "m": m,
        "entries": float(X.nnz / n) if sparse.issparse(X) else p,
        "unknowns": int(active.sum()),
        "ns_moments": round(cost["moments"]),
        "ns_gradient": round(cost["gradient"]),
        "ns_hessian": round(cost["both"] - cost["gradient"]),
    }


PARTS = {
    "covtype": (covtype, 2, "0"),
    "synthetic": (sweep("synthetic", [(2_000_000, 100, 3)], solvers=("newton", "bound")), 2, "0"),
    "rows": (sweep("rows", [(n, 50, 3) for n in (50_000, 100_000, 200_000, 400_000)]), 2, "0"),
    "columns": (sweep("columns", [(50_000, p, 3) for p in (25, 50, 100, 200, 400)]), 2, "0"),
    "classes": (sweep("classes", [(50_000, 50, m) for m in (2, 4, 8, 16)]), 2, "0"),
    "workers": (sweep("workers", [(200_000, 50, 3)], workers=1), 1, "0"),
    "sparse": (sweep("sparse", [(100_000, 20_000, 3), (100_000, 100_000, 3)], sparse_block), 2, "0"),
    "memory": (memory, 2, "1.5GiB"),
    "parquet": (parquet, 2, "1.5GiB"),
    "search": (search, 2, "0"),
    "large-search": (large_search, 2, "0"),
    "block": (block, 1, "0"),
}


def table(found: list[dict]) -> str:
    """The figures, a row for each fit."""
    lines = [
        "| | rows | columns | classes | workers | solver | passes | gap | CPU s / pass | message | worker memory |",
        "|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    searches = ("search", "large-search")
    for part in (part for part in PARTS if part not in ("block", *searches)):
        for row in (row for row in found if row["part"] == part):
            shape = f"{row['n']:,} | {row['p']:,} | {row['m']} | {row['workers']}"
            reached = f"{row['solver']} | {row['passes']} | {row['gap']:.0e}"
            cost = f"{row['worker_cpu_per_pass']:.2f} | {row['message_bytes'] / 1024:,.0f} KiB"
            lines.append(f"| {part} | {shape} | {reached} | {cost} | {row['worker_peak_gib']:.2f} GiB |")
    lines += [
        "",
        "| | rows | columns | classes | folds | strengths | passes of SMLRCV | of path | CPU s of SMLRCV | of path "
        "| objective apart |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in (row for row in found if row["part"] in searches):
        shape = f"{row['part']} | {row['n']:,} | {row['p']} | {row['m']} | {row['folds']} | {row['strengths']}"
        cost = f"{row['worker_cpu_seconds']:.0f} | {row['path_worker_cpu_seconds']:.0f}"
        apart = abs(row["objective"] / row["objective_in_memory"] - 1)
        lines.append(f"| {shape} | {row['passes']} | {row['path_passes']} | {cost} | {apart:.0e} |")
    lines += [
        "",
        "| one block, CPU ns / row | columns | entries | classes | moments | gradient | Hessian | of unknowns |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in (row for row in found if row["part"] == "block"):
        size = f"{row['kind']} | {row['p']:,} | {row['entries']:.0f} | {row['m']}"
        lines.append(
            f"| {size} | {row['ns_moments']:,} | {row['ns_gradient']:,} | {row['ns_hessian']:,} | {row['unknowns']} |"
        )
    return "\n".join(lines)


def write_table() -> None:
    """Into the documentation."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    rows = table(json.loads(RESULT.read_text(encoding="utf-8")))
    PAGE.write_text(f"{before}{BEGIN}\n{rows}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> None:
    """Run the parts named, or all, and keep their figures."""
    for name in sys.argv[1:] or PARTS:
        run, workers, memory = PARTS[name]
        with cluster(workers, memory) as local, Client(local) as client:
            rows = run(client)
        found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else []
        found = [row for row in found if row["part"] != name] + rows
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        for row in rows:
            print(row, flush=True)
    write_table()


if __name__ == "__main__":
    main()
