"""Random crossings with fresh seeds: python -m crossing --minutes 5, or --trials 1000, of all models or of some."""

import argparse
import json
import signal
import sys
import time
from collections import Counter

import numpy as np

from .cover import random_row
from .tables import TABLES
from .trial import run

SLOW, LIMIT = 10.0, 20.0  # processor seconds of one trial: worth a line; given up
TELL = 1000  # crossings between two lines of progress


def give_up(*_):
    """Ends a trial from outside."""
    raise TimeoutError(f"no end after {LIMIT:.0f} s of processor time")


def main():
    """Try, print every finding as it comes, and end with a count; the exit code says whether there was any."""
    parser = argparse.ArgumentParser(prog="crossing", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--trials", type=int, default=10**9)
    parser.add_argument("--models", nargs="*", default=None)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    tables = [t for t in TABLES if options.models is None or {t.model, t.name} & set(options.models)]
    seed = int(np.random.SeedSequence(options.seed).generate_state(1)[0])
    print(f"seed {seed}", flush=True)
    rng, end = np.random.default_rng(seed), time.monotonic() + 60 * options.minutes
    tried, found, slow = Counter(), Counter(), Counter()
    signal.signal(signal.SIGPROF, give_up)
    while time.monotonic() < end and tried.total() < options.trials:
        table = tables[rng.integers(len(tables))]
        row, each = random_row(table.factors, lambda row, t=table: not t.refused(row), rng), int(rng.integers(2**31))
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        complaints = run(table, row, each)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        took = time.process_time() - began
        false = [told for told in complaints if not told.startswith("TimeoutError")]
        for counter, counts in ((tried, True), (found, bool(false)), (slow, took > SLOW)):
            counter[table.name] += counts
        if false or took > SLOW:
            told = [*false, f"{took:.0f} s"]
            print(json.dumps({"model": table.model, "seed": each, "row": row, "complaints": told}), flush=True)
        if tried.total() % TELL == 0:
            print(summary(tried, found, slow), flush=True)
    print(summary(tried, found, slow))
    return 1 if found or slow else 0


def summary(tried, found, slow):
    """Counts of what was tried, of false claims or surprises, and of trials that took long or were given up."""
    counts = f"{tried.total()} crossings, {found.total()} with findings, {slow.total()} slow"
    return f"{counts}; tried: {dict(tried)}; with findings: {dict(found)}; slow: {dict(slow)}"


if __name__ == "__main__":
    sys.exit(main())
