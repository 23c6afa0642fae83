"""The command on Parquet larger than memory: python -m benchmarks.larger_than_memory [--rows N] [--memory 1.5GB]

Makes the files in a temporary folder, fits them with `smaller fit`, watches the memory of every process of the command,
reads the files with plain pyarrow in two processes for comparison, writes results/larger_than_memory.json and deletes
the files. 8 GB need 9 GB of disk and, on two free cores, some ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
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

from smaller.persist import load_with_notes

RESULT = Path(__file__).with_name("results") / "larger_than_memory.json"
COLUMNS, GROUP, GROUPS = 100, 25_000, 10  # inputs; rows of a row group; row groups of a file
PASSES = 3  # over all rows besides those that the model counts: gaps, means, and that of the command itself


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


def main() -> None:
    """Make, fit, read, delete."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_250_000)
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--options", default="--model smlr --lam 20000")
    parser.add_argument("--keep", help="a folder in which the files are made where they are not there, and kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.keep or temporary)
        folder.mkdir(exist_ok=True)
        size = asked.rows * COLUMNS * 8 if list(folder.glob("*.parquet")) else write(folder, asked.rows)
        model, log = folder / "big.model", folder / "log.txt"
        command = [sys.executable, "-m", "smaller", "fit", str(folder / "*.parquet"), "--target", "y"]
        command += [*asked.options.split(), "--memory", asked.memory, "-o", str(model)]
        once = reading(folder)
        found = watch(command, log)
        print(log.read_text(encoding="utf-8"))
        passes = 0
        if found["code"] == 0:
            fitted, _ = load_with_notes(model)
            found |= {"gap": fitted.dual_gap_, "passes_of_fit": fitted.n_passes_, "objective": fitted.objective_}
            passes = fitted.n_passes_ + PASSES
    row = {
        "rows": asked.rows, "columns": COLUMNS, "inputs_gb": round(size / 1e9, 2), "memory": asked.memory,
        "options": asked.options, "load": round(os.getloadavg()[0], 1), **found, "passes": passes,
        "reading_once": once, "ratio": round(found["seconds"] / (once["seconds"] * max(passes, 1)), 2),
        "ratio_cpu": round(found["cpu_seconds"] / (once["cpu_seconds"] * max(passes, 1)), 2),
    }  # fmt: skip
    print(json.dumps(row, indent=1))
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else []
    RESULT.write_text(json.dumps([*known, row], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
