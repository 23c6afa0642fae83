"""What a user waits for: imports, the command, a first fit, a small warm fit, a whole cross-validation."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from statistics import median

from smaller import datasets

# In front of every script below; each prints a list of [processor, wall-clock] seconds.
CLOCK = """
import json, time, warnings
warnings.simplefilter("ignore")
def now():
    return time.process_time(), time.perf_counter()
def since(start):
    return [b - a for a, b in zip(start, now())]
"""
IMPORT = """
start = now()
import {module}
print(json.dumps([since(start)]))
"""
IMPORT_AFTER = """
import sklearn.linear_model
start = now()
import {module}
print(json.dumps([since(start)]))
"""
FIRST_FIT = """
from sklearn.datasets import load_iris
from smaller import SMLR
X, y = load_iris(return_X_y=True)
start = now()
SMLR().fit(X, y)
print(json.dumps([since(start)]))
"""
WARM_FIT = """
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from smaller import SMLR
X, y = load_iris(return_X_y=True)
times = [], []
for turn in range({turns} + 5):
    for model, seconds in zip((SMLR(), LogisticRegression()), times):
        start = now()
        model.fit(X, y)
        seconds.append(since(start))
print(json.dumps([seconds[5:] for seconds in times]))
"""
CROSS_VALIDATION = """
from smaller import SMLRCV
from smaller.datasets import load_golub
data = load_golub()
model = SMLRCV(lams=100, cv=10, n_jobs=2)
X, y = data.data[data.train], data.target[data.train]
model.fit(X, y)
start = now()
model.fit(X, y)
print(json.dumps([since(start)]))
"""
COMMAND = """
import os, subprocess, sys
before, start = os.times(), now()
subprocess.run([sys.executable, "-m", "smaller", "--version"], check=True, capture_output=True)
after = os.times()
processor = after.children_user + after.children_system - before.children_user - before.children_system
print(json.dumps([[processor, since(start)[1]]]))
"""
FRESH = {
    "import smaller": IMPORT.format(module="smaller"),
    "import sklearn.linear_model": IMPORT.format(module="sklearn.linear_model"),
    "import smaller after sklearn.linear_model": IMPORT_AFTER.format(module="smaller"),
    "first fit of Iris, fresh process": FIRST_FIT,
}
if find_spec("typer"):
    FRESH["smaller --version, from the shell"] = COMMAND
GOLUB = "SMLRCV on Golub, 10 folds, 100 strengths, 2 processes"
OURS, THEIRS = "warm fit of Iris, SMLR()", "warm fit of Iris, scikit-learn's LogisticRegression()"


def output(code):
    """What a new interpreter prints after running code."""
    return json.loads(
        subprocess.run([sys.executable, "-c", CLOCK + code], check=True, capture_output=True, text=True).stdout
    )


def measure(quick=False):
    """Medians in seconds; the runs behind them alternate between the contestants."""
    output(FIRST_FIT)  # warms the file cache
    rounds = [{name: output(code)[0] for name, code in FRESH.items()} for _ in range(3 if quick else 9)]
    samples = {name: [times[name] for times in rounds] for name in FRESH}
    if datasets.available()["golub"]:
        samples[GOLUB] = [output(CROSS_VALIDATION)[0] for _ in range(1 if quick else 3)]
    samples[OURS], samples[THEIRS] = output(WARM_FIT.format(turns=20 if quick else 200))
    return {"load": os.getloadavg()[0], "times": {name: summary(times) for name, times in samples.items()}}


def summary(times):
    processor, wall = zip(*times, strict=True)
    return {"processor": median(processor), "wall": median(wall), "least": min(wall), "repeats": len(times)}
