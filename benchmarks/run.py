"""Run the benchmarks: python -m benchmarks.run [--quick] [--parts fits,paths,latency] [--problems ...] [--solvers ...]

A full run writes results/*.json and the tables of README.md; any other leaves both alone and writes results/partial/.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from pathlib import Path

import numpy as np

from . import latency, problems, race, table
from .solvers import adapters
from .worker import Worker

RESULTS = Path(__file__).with_name("results")
PATH_PROBLEMS = ("wide", "dense")
PATH_POINTS = 100
PATH_PATIENCE = 3  # times the limit of a single fit


def main(arguments=None):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that workers are ended too
    start, load = time.perf_counter(), os.getloadavg()[0]
    contestants = [adapter() for adapter in adapters() if wanted(adapter.name, options.solvers)]
    present = [adapter for adapter in contestants if adapter.available()]
    absent = [adapter.name for adapter in contestants if not adapter.available()]
    print("absent:", ", ".join(absent) or "none", flush=True)
    facts = {"fits": [], "paths": []}
    if {"fits", "paths"} & set(options.parts):
        for name in options.problems:
            compete(problems.generate(name), present, options, facts)
    if "latency" in options.parts:
        facts["latency"] = latency.measure(options.quick)
    facts["machine"] = machine(present, absent, load, time.perf_counter() - start)
    save(facts, full=arguments_are_default(options))


def parse(arguments):
    names = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="dense problems, few repeats, 5 s a solver")
    parser.add_argument("--parts", type=names, default=["fits", "paths", "latency"], help="of fits,paths,latency")
    parser.add_argument("--problems", type=names, default=list(problems.NAMES), help="of " + ",".join(problems.NAMES))
    parser.add_argument("--solvers", type=names, help="parts of names, such as smaller,glmnet; all if not given")
    parser.add_argument("--limit", type=float, default=12.0, help="processor seconds for a solver's ladder in a race")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args(arguments)
    if options.quick:
        quick = ["dense", "dense_bin"]
        options.problems = [name for name in options.problems if name in quick] or options.problems
        options.limit, options.repeats = min(options.limit, 5.0), min(options.repeats, 3)
    if unknown := set(options.problems) - set(problems.NAMES):
        parser.error(f"unknown problems {sorted(unknown)}; they are {', '.join(problems.NAMES)}.")
    if unknown := set(options.parts) - {"fits", "paths", "latency"}:
        parser.error(f"unknown parts {sorted(unknown)}; they are fits, paths, latency.")
    return options


def arguments_are_default(options):
    default = parse([])
    return all(getattr(options, name) == getattr(default, name) for name in ("quick", "parts", "problems", "solvers"))


def wanted(name, parts):
    return parts is None or any(part in name for part in parts)


def compete(problem, present, options, facts):
    """All races on one problem, with one worker per solver kept from race to race."""
    workers = [Worker(adapter, problem) for adapter in present if adapter.supports(problem)]
    try:
        for kind, contest in races(problem, options.parts):
            able = [worker for worker in workers if kind == "fits" or getattr(worker.adapter, "path", None)]
            limit = options.limit * (1 if kind == "fits" else PATH_PATIENCE)
            facts[kind].append(race.run(contest, [race.Runner(worker) for worker in able], options.repeats, limit))
            show(facts[kind][-1])
    finally:
        for worker in workers:
            worker.close()


def races(problem, parts):
    if "fits" in parts:
        for ratio, known in zip(problems.RATIOS, problems.KNOWN[problem.name], strict=True):
            yield "fits", race.Race(problem, f"{problem.name} {ratio:g}", [ratio * problem.lam_max], np.array([known]))
    if "paths" in parts and problem.name in PATH_PROBLEMS:
        lams = np.geomspace(problem.lam_max, problems.RATIOS[-1] * problem.lam_max, PATH_POINTS).tolist()
        yield "paths", race.Race(problem, f"{problem.name}, {PATH_POINTS} points", lams, np.full(PATH_POINTS, np.inf))


def show(result):
    label, best, load = result["label"], result["best"][-1], result["load"]
    print(f"\n{label}: best {best:.9f}, certified to {result['certified']:.0e}, load {load[0]:.1f} to {load[1]:.1f}")
    for solver in result["solvers"]:
        print(f"  {solver['solver']:30}", outcome(solver), flush=True)


def outcome(solver):
    if not solver["reached"]:
        return f"not reached: {solver['failure']}"
    times = (solver[kind] for kind in ("seconds", "median", "wall", "tol"))
    return "{:9.4f} s (median {:.4f}, wall clock {:.4f}) at tol {:.0e}".format(*times)


def machine(present, absent, load, seconds):
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": [load, os.getloadavg()[0]],
        "minutes": seconds / 60,
        "absent": absent,
        "present": {"NumPy": np.__version__}
        | {adapter.name.partition(",")[0]: adapter.available() for adapter in present},
    }


def cpu():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def save(facts, full):
    folder = RESULTS if full else RESULTS / "partial"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("fits", "paths", "latency"):
        if facts.get(part):
            document = {"machine": facts["machine"], part: facts[part]}
            (folder / f"{part}.json").write_text(json.dumps(document, indent=1) + "\n")
    report = table.render(facts)
    print("\n" + report)
    if full:
        table.write(report)


if __name__ == "__main__":
    main()
