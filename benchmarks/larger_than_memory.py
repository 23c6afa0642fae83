"""The command on Parquet larger than memory: python -m benchmarks.larger_than_memory [--rows N] [--memory 1.5GB]

Makes the files in a temporary folder, fits them with `smaller fit`, watches the memory of every process of the command,
reads the files with plain pyarrow in two processes for comparison, between the fits, writes
results/larger_than_memory.json and deletes the files. 8 GB of inputs need 10 GB of disk and, on two free cores, some
five minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from smaller.cli.memory import size_of
from smaller.persist import load_with_notes

RESULT = Path(__file__).with_name("results") / "larger_than_memory.json"
COLUMNS, GROUP, GROUPS = 100, 25_000, 10  # inputs; rows of a row group; row groups of a file
PASSES = 2  # over all rows besides those that the model counts: gaps and labels, and means


def write(folder: Path, rows: int) -> int:
    """Correlated inputs and a binary target that depends on ten of them; the bytes of the inputs."""
    names = [f"x{j}" for j in range(COLUMNS)]
    weights = np.random.default_rng(0).normal(size=10)
    for number in range(rows // (GROUP * GROUPS)):
        rng = np.random.default_rng(number)
        path = folder / f"part-{number:04d}.parquet"
        schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.string())])
        with pq.ParquetWriter(path, schema) as file:
            for _ in range(GROUPS):
                X = rng.standard_normal(size=(GROUP, COLUMNS))
                X[:, 1:] += 0.5 * X[:, :-1]
                y = np.where(X[:, :10] @ weights + rng.logistic(size=GROUP) > 0, "yes", "no")
                file.write_table(pa.table([*X.T.copy(), y], schema=schema), row_group_size=GROUP)
    return rows * COLUMNS * 8


def read(paths: list[str]) -> float:
    """Read files with pyarrow, one row group at a time; the seconds of the processor."""
    pa.set_cpu_count(1)
    before = time.process_time()
    for path in paths:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            file.read_row_group(group).to_pandas()
    return time.process_time() - before


def reading(folder: Path) -> dict[str, float]:
    """What reading all files once takes, by two processes."""
    paths = [str(path) for path in sorted(folder.glob("*.parquet"))]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(read, [[], []]))  # the processes have started, and imported this module
        began = time.perf_counter()
        spent = sum(pool.map(read, [paths[::2], paths[1::2]]))
        return {"seconds": round(time.perf_counter() - began, 1), "cpu_seconds": round(spent, 1)}


def watch(command: list[str], log: Path) -> dict:
    """Run a command and note the largest memory of each of its processes, and of all together."""
    began = time.perf_counter()
    with open(log, "wb") as stream:
        root = psutil.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    peaks: dict[int, int] = {}
    spent: dict[int, float] = {}
    names: dict[int, str] = {}
    together = 0
    while root.poll() is None:
        total = 0
        for process in [root, *_children(root)]:
            try:
                used, times = process.memory_info().rss, process.cpu_times()
                names.setdefault(process.pid, _role(process, root.pid))
            except psutil.Error:
                continue
            total += used
            peaks[process.pid] = max(used, peaks.get(process.pid, 0))
            spent[process.pid] = times.user + times.system
        together = max(together, total)
        time.sleep(0.05)
    return {
        "code": root.returncode,
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(sum(spent.values()), 1),
        "peak_mb": [{"process": names[pid], "mb": round(peak / 1e6)} for pid, peak in sorted(peaks.items())],
        "together_mb": round(together / 1e6),
    }


def _children(root: psutil.Process) -> list[psutil.Process]:
    try:
        return root.children(recursive=True)
    except psutil.Error:
        return []


def _role(process: psutil.Process, root: int) -> str:
    line = " ".join(process.cmdline())
    return "command" if process.pid == root else "tracker" if "resource_tracker" in line else "worker"


def bounds(told: str, memory: str) -> dict[str, int]:
    """The share of each process, from what the command says of its workers."""
    found = re.search(r"So (\d+) workers? of at most ([\d.]+) (MB|GB)", told)
    if found is None:
        return {}
    worker = float(found[2]) * (1e9 if found[3] == "GB" else 1e6)
    return {"worker": round(worker / 1e6), "command": round((size_of(memory) - int(found[1]) * worker) / 1e6)}


def main() -> None:
    """Make, read, fit, read, fit, ..., read, delete."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_250_000)
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--options", default="--model smlr --lam 20000")
    parser.add_argument("--rounds", type=int, default=2, help="fits, each between two readings")
    parser.add_argument("--keep", help="a folder in which the files are made where they are not there, and kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.keep or temporary)
        folder.mkdir(exist_ok=True)
        if not list(folder.glob("*.parquet")):
            write(folder, asked.rows)
        before = reading(folder)
        for _ in range(asked.rounds):
            row = fitted(folder, asked)
            after = reading(folder)
            keep(row | compared(row, before, after))
            before = after


def fitted(folder: Path, asked: argparse.Namespace) -> dict:
    """One fit by the command."""
    model, log = folder / "big.model", folder / "log.txt"
    command = [sys.executable, "-m", "smaller", "fit", str(folder / "*.parquet"), "--target", "y"]
    found = watch([*command, *asked.options.split(), "--memory", asked.memory, "-o", str(model)], log)
    told = log.read_text(encoding="utf-8")
    print(told)
    if found["code"]:
        raise SystemExit(found["code"])
    fit, _ = load_with_notes(model)
    return {
        "rows": asked.rows, "columns": COLUMNS, "inputs_gb": round(asked.rows * COLUMNS * 8e-9, 2),
        "memory": asked.memory, "bounds_mb": bounds(told, asked.memory), "options": asked.options,
        "load": round(os.getloadavg()[0], 1), **found, "gap": fit.dual_gap_, "objective": fit.objective_,
        "passes_of_fit": fit.n_passes_, "passes": fit.n_passes_ + PASSES,
    }  # fmt: skip


def compared(row: dict, before: dict, after: dict) -> dict:
    """The time of a fit beside that of reading the files as many times, by the mean of the readings around it."""
    once = {name: round((before[name] + after[name]) / 2, 1) for name in before}
    ratios = {name: round(row[name] / (once[name] * row["passes"]), 2) for name in once}
    around = {"reading_before_and_after": [before, after], "reading_once": once}
    return around | {"ratio": ratios["seconds"], "ratio_cpu": ratios["cpu_seconds"]}


def keep(row: dict) -> None:
    """Among the results."""
    print(json.dumps(row, indent=1), flush=True)
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else []
    RESULT.write_text(json.dumps([*known, row], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
