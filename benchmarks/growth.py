"""How our time grows with samples, features, classes and non-zeros, what a warm start and float32 save, and what memory
a fit takes beyond its input."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

from . import problems
from .objective import bounds

TOL, FRACTION, MATTER = 1e-6, 0.1, 20  # relative duality gap; lam / lam_max; features that matter
SIZE = {"samples": 4000, "features": 500, "classes": 5}  # where a scan does not vary it
SCANS = {
    "samples": (2000, 4000, 8000, 16_000, 32_000),
    "features": (500, 1000, 2000, 4000, 8000),
    "classes": (3, 6, 12, 24),
    "non-zeros": (160, 320, 640, 1280, 2560),  # in each of 10 000 rows, 20 000 columns
}
STARTS = ("dense", "tall", "wide", "sparse_bin")
NEARBY = 1.1  # times lam: where a warm start comes from
MEMORY = """
import json, os, sys
from benchmarks.growth import memory
print(json.dumps(memory(sys.argv[1])))
"""


def measure(repeats=3):
    """Every scan with its fitted exponent, what warm starts and float32 save, and the memory of four layouts."""
    scans = {name: scan(name, values, repeats) for name, values in SCANS.items()}
    layouts = ("dense, C order", "dense, F order", "sparse, CSR", "sparse, CSC")
    fresh = (
        subprocess.run([sys.executable, "-c", MEMORY, name], check=True, capture_output=True, text=True)
        for name in layouts
    )
    return {
        "load": os.getloadavg()[0],
        "scans": scans,
        "starts": {name: starts(problems.generate(name), repeats) for name in STARTS},
        "memory": {name: json.loads(run.stdout) for name, run in zip(layouts, fresh, strict=True)},
    }


def scan(name, values, repeats):
    points = [timed(*data(name, value), repeats) for value in values]
    sizes = [point.pop("size") for point in points] if name == "non-zeros" else list(values)
    seconds = [point["seconds"] for point in points]
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    return {"sizes": sizes, "points": points, "exponent": float(exponent)}


def data(name, value):
    rng = np.random.default_rng(21)
    if name == "non-zeros":
        return labelled(words(rng, 10_000, 20_000, value), SIZE["classes"], rng)
    size = SIZE | {name: value}
    return labelled(rng.standard_normal((size["features"], size["samples"])).T, size["classes"], rng)


def words(rng, n, p, each):
    """CSC, `each` draws a row; the first MATTER columns hold one in four of the rows at any density, so that what
    is kept stays the same."""
    front = (rng.random((n, MATTER)) < 0.25) * rng.random((n, MATTER))
    rows = np.repeat(np.arange(n), each)
    rest = sp.csc_array((rng.random(n * each), (rows, rng.integers(0, p - MATTER, n * each))), shape=(n, p - MATTER))
    return sp.hstack([sp.csc_array(front), rest], format="csc")


def labelled(X, n_classes, rng):
    W = 2 * rng.standard_normal((MATTER, n_classes))
    return X, np.argmax(X[:, :MATTER] @ W + rng.gumbel(size=(X.shape[0], n_classes)), axis=1)


def strength(X, y):
    Y = np.eye(y.max() + 1)[y]
    return FRACTION * np.abs(X.T @ (Y - 1 / Y.shape[1])).max()


def timed(X, y, repeats):
    from smaller import SMLR

    model, seconds = SMLR(lam=strength(X, y), fit_intercept=False, tol=TOL), []
    for _ in range(repeats):
        seconds.append(clocked(model, X, y))
    point = {"seconds": min(seconds), "kept": int(np.count_nonzero(model.coef_))}
    return point | ({"size": int(X.nnz)} if sp.issparse(X) else {})


def starts(problem, repeats):
    """Seconds of a cold fit, of one that starts at a nearby optimum, and of a cold one in float32, with its excess."""
    from smaller import SMLR

    lam = FRACTION * problem.lam_max
    X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
    cold, warm, single = [], [], []
    for _ in range(repeats):
        model = SMLR(lam=lam, fit_intercept=False, tol=TOL, warm_start=True)
        cold.append(clocked(model, X, problem.y))
        best = bounds(problem, weights(model, problem), lam)[0]
        model.set_params(lam=NEARBY * lam).fit(X, problem.y)
        warm.append(clocked(model.set_params(lam=lam), X, problem.y))
        model = SMLR(lam=lam, fit_intercept=False, tol=TOL)
        single.append(clocked(model, X.astype(np.float32), problem.y))
        excess = bounds(problem, weights(model, problem), lam)[0] / best - 1
    return {"cold": min(cold), "warm": min(warm), "float32": min(single), "excess": excess}


def weights(model, problem):
    return model.coef_[0] if problem.binary else model.coef_.T


def clocked(model, X, y):
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def memory(layout):
    """In a process of its own: the most that a fit adds to what the process holds, in MiB, and the size of X."""
    from smaller import SMLR

    n, p, m = (20_000, 1000, 5) if layout.startswith("dense") else (20_000, 50_000, 5)
    rng = np.random.default_rng(22)
    if layout.startswith("dense"):  # no temporary array: what the process once held would hide the fit
        X = rng.standard_normal((n, p)) if "C order" in layout else rng.standard_normal((p, n)).T
    else:
        X = words(rng, n, p, 300).asformat(layout[-3:].lower())
    X, y = labelled(X, m, rng)
    lam = strength(X, y)
    SMLR(lam=1.0, tol=0.1).fit(X[:50], y[:50])  # imports
    reset_peak()
    before = held("VmRSS")
    model = SMLR(lam=lam, fit_intercept=False, tol=TOL).fit(X, y)
    extra, kept = held("VmHWM") - before, np.flatnonzero(model.coef_.any(axis=0)).size
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {"extra": extra, "X": size / 2**20, "kept": kept, "samples": n, "features": p, "classes": m}


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def held(kind):
    """MiB, from Linux's account of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(kind)) / 1024
