"""Run the benchmarks: python -m benchmarks.run [--quick] [--parts fits,paths,...] [--problems dense,...]

A full run writes results/*.json and the tables of README.md; any other leaves both alone and writes results/partial/,
unless --keep asks to put its races among those of results/. Results are written after every race.
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

from . import group_cost, growth, latency, problems, race, table
from .solvers import adapters
from .worker import Worker

RESULTS = Path(__file__).with_name("results")
RACES = ("fits", "paths", "groups")  # groups: fits and paths of the problems that have them
PARTS = (*RACES, "group_cost", "growth", "latency")
PATH_PROBLEMS = ("wide", "dense", "wide_bin", "dense_bin", "tall_bin", "sparse_bin", "golub", "colon")
CHOICES = ("quick", "parts", "problems", "solvers", "ratios")
PATH_POINTS = 100
PATH_PATIENCE = 3  # times the limit of a single fit
BIG_PATIENCE = 3  # the same for the big problems, whose ladders have one rung in two decades
HOPELESS = 1e-4  # a solver that does not get there at the larger lam is not tried at the smaller one


def main(arguments=None):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that workers are ended too
    start, load = time.perf_counter(), os.getloadavg()[0]
    contestants = [adapter() for adapter in adapters() if wanted(adapter.name, options.solvers)]
    present = [adapter for adapter in contestants if adapter.available()]
    absent = [adapter.name for adapter in contestants if not adapter.available()]
    print("absent:", ", ".join(absent) or "none", flush=True)
    facts = {part: [] for part in RACES}
    if set(RACES) & set(options.parts):
        for name in options.problems:
            if reason := problems.missing(name):
                absent.append(f"{name} ({reason})")
                print(f"\n{absent[-1]}", flush=True)
                continue
            for _ in compete(problems.generate(name), present, options, facts):
                facts["machine"] = machine(present, absent, load, time.perf_counter() - start)
                save(facts, options)
    if "group_cost" in options.parts:
        facts["group_cost"] = group_cost.measure(options.problems, options.repeats)
    if "growth" in options.parts and not options.quick:
        facts["growth"] = growth.measure()
    if "latency" in options.parts:
        facts["latency"] = latency.measure(options.quick)
    facts["machine"] = machine(present, absent, load, time.perf_counter() - start)
    save(facts, options)
    report(options)


def parse(arguments):
    names = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="dense problems, few repeats")
    parser.add_argument(
        "--parts", type=names, default=list(PARTS), help="of " + ",".join(PARTS) + "; none: tables only"
    )
    parser.add_argument("--problems", type=names, default=list(problems.NAMES), help="of " + ",".join(problems.NAMES))
    parser.add_argument("--solvers", type=names, help="parts of names, such as smaller,glmnet; all if not given")
    parser.add_argument(
        "--ratios",
        type=lambda text: tuple(float(word) for word in text.split(",")),
        help="lam / lam_max of single fits; by default those of each problem",
    )
    parser.add_argument("--limit", type=float, default=3.0, help="processor seconds for a solver's ladder in a race")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--keep", action="store_true", help="put the races among those of results/")
    options = parser.parse_args(arguments)
    if options.quick:
        quick = ["dense", "dense_bin"]
        options.problems = [name for name in options.problems if name in quick] or options.problems
        options.repeats = min(options.repeats, 3)
    if unknown := set(options.problems) - set(problems.NAMES):
        parser.error(f"unknown problems {sorted(unknown)}; they are {', '.join(problems.NAMES)}.")
    if unknown := set(options.parts) - {*PARTS, "none"}:
        parser.error(f"unknown parts {sorted(unknown)}; they are {', '.join(PARTS)}.")
    return options


def goes_into_results(options):
    default = parse([])
    chosen = any(getattr(options, name) != getattr(default, name) for name in CHOICES)
    return options.keep or not chosen


def wanted(name, parts):
    return parts is None or any(part in name for part in parts)


def compete(problem, present, options, facts):
    """All races on one problem, with one worker per solver kept from race to race; yields after each."""
    workers = [Worker(adapter, problem) for adapter in present if takes_part(adapter, problem)]
    big, hopeless = problem.name in problems.BIG, set()
    try:
        for part, contest in races(problem, options):
            single = len(contest.lams) == 1
            able = [worker for worker in workers if single or getattr(worker.adapter, "path", None)]
            limit = options.limit * (PATH_PATIENCE if not single else BIG_PATIENCE if big else 1)
            runners = [
                race.Runner(worker, 4 if big else 2, not big, "not tried" if single and worker in hopeless else "")
                for worker in able
            ]
            facts[part].append(race.run(contest, runners, options.repeats, limit))
            hopeless |= {runner.worker for runner in runners if runner.first(contest, HOPELESS) is None}
            show(facts[part][-1])
            yield
    finally:
        for worker in workers:
            worker.close()


def takes_part(adapter, problem):
    """Whether it solves the objective; big problems do without those that others stand for or that cannot win."""
    left_out = "R glmnet" if problem.binary else ("R glmnet", "adelie")
    if problem.grouped and not getattr(adapter, "grouped", False):
        return False
    return adapter.supports(problem) and not (problem.name in problems.BIG and adapter.name.startswith(left_out))


def races(problem, options):
    fits, paths = ("groups", "groups") if problem.grouped else ("fits", "paths")
    if fits in options.parts:
        known_at = dict(zip(problems.RATIOS, problems.KNOWN.get(problem.name, (np.inf, np.inf)), strict=True))
        for ratio in options.ratios or problems.ratios_of(problem.name):
            known = known_at.get(ratio, np.inf)
            yield fits, race.Race(problem, f"{problem.name} {ratio:g}", [ratio * problem.lam_max], np.array([known]))
    if paths in options.parts and (problem.grouped or problem.name in PATH_PROBLEMS):
        lams = np.geomspace(problem.lam_max, problems.RATIOS[-1] * problem.lam_max, PATH_POINTS).tolist()
        yield paths, race.Race(problem, f"{problem.name}, {PATH_POINTS} points", lams, np.full(PATH_POINTS, np.inf))


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


def save(facts, options):
    """Write what there is, under --keep among the races of earlier runs, in the order of the problems."""
    folder = RESULTS if goes_into_results(options) else RESULTS / "partial"
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if facts.get(part):
            file, found, where = folder / f"{part}.json", facts[part], facts["machine"]
            if options.keep and part in RACES and file.exists():
                old = json.loads(file.read_text())
                found = merged(old[part], found)
                where = where | {"present": old["machine"]["present"] | where["present"]}
            draft = file.with_suffix(f".{os.getpid()}")  # replaced at once, for runs side by side
            draft.write_text(json.dumps({"machine": where, part: found}, indent=1) + "\n")
            draft.replace(file)


def merged(old, new):
    by_label = {race["label"]: race for race in [*old, *new] if race["problem"] in problems.NAMES}
    return sorted(by_label.values(), key=lambda race: (problems.NAMES.index(race["problem"]), -race["lams"][-1]))


def report(options):
    """The tables of what stands in the folder that this run wrote to; in README.md too if that is results/."""
    folder = RESULTS if goes_into_results(options) else RESULTS / "partial"
    files = [folder / f"{part}.json" for part in reversed(PARTS)]
    found = {file.stem: json.loads(file.read_text()) for file in files if file.exists()}
    groups = found.pop("groups", {}) | {"cost": found.pop("group_cost", {}).get("group_cost", [])}
    text = table.render({k: v for facts in found.values() for k, v in facts.items()}, groups)
    print("\n" + text)
    if folder is RESULTS:
        table.write(text)


if __name__ == "__main__":
    main()
