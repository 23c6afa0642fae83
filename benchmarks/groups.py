"""Groups of features across classes, ours against adelie's: python -m benchmarks.groups

Each column is a group over all classes, with an intercept, along 100 strengths and at single ones. The time that counts
is that of the loosest tolerance at which the objective, evaluated here in float64, is within 1e-6 (relative) of the
best known at every strength. adelie needs NumPy 1: `--python` names an interpreter of an environment that has it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- groups: written by python -m benchmarks.groups -->", "<!-- end of groups -->"
PROBLEMS = {  # samples, columns, classes, share of values that are not 0
    "dense": (1000, 100, 4, 1.0),
    "tall": (5000, 50, 5, 1.0),
    "wide": (100, 2000, 4, 1.0),
    "sparse": (2000, 2000, 4, 0.01),
}
OURS, THEIRS = 10.0 ** -np.arange(2, 7), 10.0 ** -np.arange(6, 12)
REPEATS, CLOSE = 2, 1e-6


def made(name: str):
    """X and codes of the classes; ten columns matter."""
    n, p, k, density = PROBLEMS[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < density)
    W = np.zeros((p, k))
    W[:10] = 1.5 * rng.standard_normal((10, k))
    y = (X @ W + rng.gumbel(size=(n, k))).argmax(axis=1)
    return np.asfortranarray(X), y


def objectives(X, y, lams, coefs, intercepts):
    """The sum of the losses and lam times the norms of all columns, at each strength."""
    found = []
    for lam, W, b in zip(lams, coefs, intercepts, strict=True):
        F = X @ W.T + b
        found.append(logsumexp(F, axis=1).sum() - F[np.arange(len(y)), y].sum() + lam * np.linalg.norm(W, axis=0).sum())
    return np.array(found)


def ours(X, y, lams, tol):
    """Seconds and objectives of our path at these strengths."""
    from smaller import path

    Z, best = sparse.csc_array(X) if np.mean(X != 0) < 0.5 else X, np.inf
    for _ in range(REPEATS):
        began = time.process_time()
        found = path(Z, y, lams, groups="features", tol=tol)
        best = min(best, time.process_time() - began)
    return best, objectives(X, y, lams, found.coefs, found.intercepts)


def adelie_worker(folder: Path) -> None:
    """In the other interpreter: the path at each tolerance, until it is too slow."""
    import adelie

    with np.load(folder / "problem.npz") as data:
        X, y, lams = data["X"], data["y"], data["lams"]
    n, k = len(y), y.max() + 1
    if np.mean(X != 0) < 0.5:
        matrix = adelie.matrix.sparse(sparse.csc_matrix(X), method="naive")
    else:
        matrix = adelie.matrix.dense(np.asfortranarray(X), method="naive")
    glm = adelie.glm.multinomial(np.asfortranarray(np.eye(k)[y]))
    for i, tol in enumerate(THEIRS):
        best = np.inf
        for _ in range(REPEATS):
            began = time.process_time()
            state = adelie.grpnet(
                X=matrix, glm=glm, lmda_path=lams / (n * k * np.sqrt(k)), tol=tol, irls_tol=10 * tol, early_exit=False,
                adev_tol=1.0, progress_bar=False, n_threads=1,
            )  # fmt: skip
            best = min(best, time.process_time() - began)
        coefs = state.betas.toarray().reshape(len(lams), -1, k).transpose(0, 2, 1)
        np.savez(folder / f"{i}.npz", seconds=best, coefs=coefs, intercepts=np.asarray(state.intercepts))
        if best > 5.0:
            break


def theirs(python: str, X, y, lams):
    """Seconds and objectives of adelie's path, one for each tolerance."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "problem.npz", X=X, y=y, lams=lams)
        subprocess.run([python, __file__, "--worker", name], check=True)
        for i in range(len(THEIRS)):
            if (folder / f"{i}.npz").exists():
                with np.load(folder / f"{i}.npz") as found:
                    yield float(found["seconds"]), objectives(X, y, lams, found["coefs"], found["intercepts"])


def first_close(runs, best) -> float:
    """The least seconds of a run within 1e-6 at every strength."""
    return min((seconds for seconds, values in runs if (values / best - 1).max() <= CLOSE), default=np.nan)


def raced(python: str | None, name: str) -> list[str]:
    """The lines of the table of one problem: the path, and two fits."""
    from smaller import path

    X, y = made(name)
    grid = path(X, y, 100, groups="features", tol=0.1).lams
    lines = []
    for part, lams in (("100 strengths", grid), ("0.1 lam_max", grid[:1] * 0.1), ("0.01 lam_max", grid[:1] * 0.01)):
        best = ours(X, y, lams, 1e-10)[1]
        mine = [ours(X, y, lams, tol) for tol in OURS]
        other = [] if python is None else list(theirs(python, X, y, lams))
        here, there = first_close(mine, best), first_close(other, best)
        certified = min(seconds for seconds, tol in zip((s for s, _ in mine), OURS, strict=True) if tol <= 1.01 * CLOSE)
        lines.append(f"| {name} | {part} | {here:.4f} | {certified:.4f} | {there:.4f} | {there / here:.2f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Race the problems that are named and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--worker")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.worker:
        return adelie_worker(Path(given.worker))
    lines = [
        "| problem | | smaller, s | smaller, certified to 1e-6, s | adelie, s | adelie / smaller |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in given.problems.split(","):
        lines += raced(given.python, name)
    if given.write:
        before, rest = README.read_text(encoding="utf-8").split(BEGIN)
        README.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
