"""Races of cross-validation: python -m benchmarks.cross_validation [--problems golub,wide,dense,tall].

100 strengths down to 1e-4 of the largest, five folds (the same for all), intercepts. Each solver is timed at several of
its tolerances, in processor seconds of one thread, and the objective of its path on all rows is compared with ours at a
certified gap of 1e-9: the worst excess of any point, and the median.
"""

import argparse
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from sklearn.model_selection import StratifiedKFold

from . import problems

POINTS, EPS, FOLDS = 100, 1e-4, 5
TOLERANCES = {"smaller": (1e-2, 1e-3, 1e-4, 1e-6), "cv.glmnet": (1e-5, 1e-7, 1e-8, 1e-9)}
SCRIPT = Path(__file__).with_suffix(".R")


def smaller(problem, splits, lams, tol, limit):
    """Seconds, and the weights (L, k, p) and intercepts (L, k) of the path on all rows."""
    from smaller import SMLRCV

    start = time.process_time()
    model = SMLRCV(lams=lams, cv=splits, tol=tol).fit(problem.X, problem.y)
    return time.process_time() - start, model.path_.coefs, model.path_.intercepts


def cv_glmnet(problem, splits, lams, tol, limit):
    n, p = problem.X.shape
    folds = np.empty(n, dtype=np.int32)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        problem.X.T.astype(np.float64).tofile(place / "X")
        problem.y.astype(np.int32).tofile(place / "y")
        folds.tofile(place / "folds")
        lams.tofile(place / "lams")
        command = ["Rscript", str(SCRIPT), folder, str(n), str(p), str(tol)]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit).stdout
        W = np.fromfile(place / "W").reshape(-1, len(lams), p + 1)
    return float(told), W[:, :, 1:].transpose(1, 0, 2), W[:, :, 0].T


CONTESTANTS = {"smaller": smaller, "cv.glmnet": cv_glmnet}


def objectives(problem, coefs, intercepts, lams):
    """At each strength, intercepts free."""
    found = []
    for W, b, lam in zip(coefs, intercepts, lams, strict=True):
        F = problem.X @ W.T + b
        F = np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F
        loss = logsumexp(F, axis=1) - F[np.arange(len(F)), problem.y]
        found.append(float(loss.sum() + lam * np.abs(W).sum()))
    return np.array(found)


def race(name, contestants, limit):
    """Rows of the table: solver, tolerance, seconds, worst and median excess."""
    from smaller import path

    problem = problems.generate(name)
    splits = list(StratifiedKFold(FOLDS).split(problem.X, problem.y))
    best = path(problem.X, problem.y, POINTS, eps=EPS, tol=1e-9)
    lams = np.asarray(best.lams)
    least = objectives(problem, best.coefs, best.intercepts, lams)
    for who in contestants:
        for tol in TOLERANCES[who]:
            try:
                seconds, coefs, intercepts = CONTESTANTS[who](problem, splits, lams, tol, limit)
            except (FileNotFoundError, subprocess.SubprocessError) as error:
                print(f"| {name} | {who} | {tol:g} | {type(error).__name__} | | |", flush=True)
                break
            whole = len(coefs) == len(lams)
            excess = objectives(problem, coefs, intercepts, lams) / least - 1 if whole else np.array([np.nan])
            told = f"{excess.max():.0e} | {np.median(excess):.0e}"
            print(f"| {name} | {who} | {tol:g} | {seconds:.2f} | {told} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="golub,wide,dense,tall")
    parser.add_argument("--solvers", default=",".join(CONTESTANTS))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one run of R")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| problem | solver | tolerance | seconds | worst excess | median |\n|---|---|---:|---:|---:|---:|", flush=True
    )
    for name in options.problems.split(","):
        race(name, options.solvers.split(","), options.limit)


if __name__ == "__main__":
    main()
