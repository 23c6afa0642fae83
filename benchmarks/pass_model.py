"""What a fit should take by passes, bytes and bandwidth, beside what it took: python -m benchmarks.pass_model

Reads results/scaling.json, results/larger_than_memory.json and results/gpu.json, and writes tables into
docs/scaling.md: the command on a large file, predictions beside measurements, and what fits where. Nothing is fitted
here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scaling.md"
BEGIN, END = "<!-- {}: written by python -m benchmarks.pass_model -->", "<!-- end of {} -->"
ROWS_PER_UNKNOWN, HESSIAN = 200, 3000  # as in smaller.rows.dask and smaller.solvers
STEPS, READS = 40, 2  # of the first fit in benchmarks/gpu.md: gradient steps, and how often each reads X


def results(name: str) -> list | dict:
    """The figures of one benchmark."""
    return json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))


class Cost(NamedTuple):
    """Processor nanoseconds for each row in one pass; of a Hessian for each row in it and unknown squared."""

    moments: float
    gradient: float
    hessian: float


def cost_of(columns: int, classes: int) -> Cost:
    """From the part `block` of benchmarks.scaling: dense rows, at the nearest shape that was measured."""
    rows = [row for row in results("scaling") if row["part"] == "block" and row["kind"] == "dense"]
    near = min(rows, key=lambda row: (abs(row["p"] - columns), abs(row["m"] - classes)))
    wide = columns / near["p"]
    return Cost(near["ns_moments"] * wide, near["ns_gradient"] * wide, near["ns_hessian"] / near["unknowns"] ** 2)


def passes_cpu(rows: int, columns: int, classes: int, passes: int) -> float:
    """Processor seconds of a fit: the first pass measures the columns, the others have gradients and Hessians."""
    cost, unknowns = cost_of(columns, classes), columns * (1 if classes == 2 else classes)
    unknowns = min(unknowns, HESSIAN)
    share = min(1.0, ROWS_PER_UNKNOWN * unknowns / rows)
    return rows * (cost.moments + (passes - 1) * (cost.gradient + share * unknowns**2 * cost.hessian)) / 1e9


def checked() -> list[tuple]:
    """What was predicted and measured at three points."""
    kept = next(r for r in results("scaling") if r["part"] == "synthetic" and r["solver"] == "newton")
    found = [
        (
            f"Dask, rows in the memory of workers: {kept['n']:,} × {kept['p']} × {kept['m']}",
            f"{kept['passes']} passes × CPU of blocks",
            passes_cpu(kept["n"], kept["p"], kept["m"], kept["passes"]), kept["worker_cpu_seconds"], "CPU s",
        )
    ]  # fmt: skip
    file = results("larger_than_memory")[-1]
    fit = passes_cpu(file["rows"], file["columns"], 2, file["passes_of_fit"])
    found.append((
        f"Parquet through the command: {file['rows']:,} × {file['columns']} × 2",
        f"{file['passes']} passes × CPU of reading, and {file['passes_of_fit']} × CPU of blocks",
        file["passes"] * file["reading_once"]["cpu_seconds"] + fit, file["cpu_seconds"], "CPU s",
    ))  # fmt: skip
    gpu = results("gpu")
    n, p, m = gpu["size"]
    rate = gpu["floor"][0]["TB/s"] * 1e12
    found.append((
        f"one H200: {n:,} × {p:,} × {m}, float32",
        f"{STEPS} steps × {READS} × {4 * n * p / 1e9:.0f} GB / {rate / 1e12:.1f} TB/s",
        STEPS * READS * 4 * n * p / rate, gpu["fit"][0]["seconds"], "s",
    ))  # fmt: skip
    return found


def check_table() -> str:
    """Predictions beside measurements."""
    lines = ["| | model | predicted | measured | measured / predicted |", "|---|---|---:|---:|---:|"]
    for what, model, predicted, measured, unit in checked():
        shown = [f"{value:.2g} {unit}" if value < 10 else f"{value:,.0f} {unit}" for value in (predicted, measured)]
        lines.append(f"| {what} | {model} | {' | '.join(shown)} | {measured / predicted:.1f} |")
    return "\n".join(lines)


def file_table() -> str:
    """Memory and time of the command on a table larger than memory."""
    row = results("larger_than_memory")[-1]
    once, bound = row["reading_once"], row["bounds_mb"]
    lines = [
        "| inputs | `--memory` | passes | all together | reading so often, two processes | ratio |",
        "|---:|---:|---:|---:|---:|---:|",
        f"| {row['inputs_gb']} GB, {row['rows']:,} × {row['columns']} | {row['memory']} | {row['passes']} "
        f"| {row['seconds']:.0f} s, CPU {row['cpu_seconds']:.0f} s "
        f"| {row['passes'] * once['seconds']:.0f} s, CPU {row['passes'] * once['cpu_seconds']:.0f} s "
        f"| {row['ratio']}, of CPU {row['ratio_cpu']} |",
        "",
        "| process | peak | bound |",
        "|---|---:|---:|",
    ]
    for each in row["peak_mb"]:
        if each["process"] in bound:
            lines.append(f"| {each['process']} | {each['mb']} MB | {bound[each['process']]} MB |")
    return "\n".join([*lines, f"| all at one time | {row['together_mb']} MB | {row['memory']} |"])


class Place(NamedTuple):
    """Memory for rows, bytes that are read in a second where rows do not stay in it, cores."""

    name: str
    memory: float
    rate: float
    cores: int
    width: int  # bytes of a value


PLACES = [
    Place("memory, 64 GB", 64e9, 0.0, 1, 8),
    Place("Dask, 16 cores, Parquet at 2 GB/s", 0.0, 2e9, 16, 8),
    Place("one H200, 141 GB", 141e9, 0.0, 0, 4),
    Place("32 nodes of 16 cores and 128 GB, rows kept", 32 * 100e9, 0.0, 512, 4),
    Place("32 nodes of 16 cores, read at 1 GB/s each", 0.0, 32e9, 512, 4),
]
SHAPES = [(10**6, 100, 3), (10**7, 100, 3), (10**8, 100, 3), (10**8, 1000, 10), (10**9, 1000, 10)]
PASSES = 8


def seconds(place: Place, n: int, p: int, m: int) -> float | None:
    """The model's time of a fit; None where the rows do not fit."""
    size = place.width * n * p
    if place.memory and size + 40 * n * m > place.memory:
        return None
    if not place.cores:
        return STEPS * READS * size / (results("gpu")["floor"][0]["TB/s"] * 1e12)
    work = passes_cpu(n, p, m, PASSES) / place.cores
    return work + (PASSES * size / place.rate if place.rate else 0.0)


def spoken(time: float | None) -> str:
    """A time for people."""
    if time is None:
        return "–"
    for limit, unit in ((100, "s"), (6000, "min"), (360_000, "h")):
        if time < limit:
            return f"{time / {'s': 1, 'min': 60, 'h': 3600}[unit]:.2g} {unit}"
    return f"{time / 86400:.2g} days"


def place_table() -> str:
    """What fits where, and the model's time."""
    shapes = [f"{n:.0e} × {p} × {m}".replace("e+0", "e") for n, p, m in SHAPES]
    lines = [f"| | {' | '.join(shapes)} |", "|---|" + "---:|" * len(shapes)]
    for place in PLACES:
        lines.append(f"| {place.name} | " + " | ".join(spoken(seconds(place, *shape)) for shape in SHAPES) + " |")
    return "\n".join(lines)


def main() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("file", file_table()), ("model", check_table()), ("places", place_table())):
        begin, end = BEGIN.format(name), END.format(name)
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
        print(table)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
