"""Races on an accelerator, against plain PyTorch and scikit-learn: python -m benchmarks.gpu_race OUT [--parts ...]

Every competitor gets the same tensors and is run with ever more work. What counts is the time of the first run whose
solution violates the optimality conditions by at most the target, relative to the strength, as one judge in float64
measures it. Times are wall-clock seconds with the device waited for, after a first run that does not count. Peers get
columns with their means taken away beforehand, which costs them nothing; `smaller` gets the columns as they are.

scikit-learn takes tensors where SCIPY_ARRAY_API=1 is set in the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from smaller import RMLR, SMLR, SMLRCV, path
from smaller._core import COMPILED

from .gpu import DEVICE, FRACTION, LARGE, posed, sparse_softmax, table, wait

TARGETS = (1e-2, 1e-3, 1e-4)
RIDGE = 100.0
LONGEST = 40.0  # seconds of one run, after which a competitor gets no more work
PROBLEMS = {"independent": 0.0, "correlated 0.9, mean 3": 0.9}
Weights = tuple[torch.Tensor, torch.Tensor]


def judged(X: torch.Tensor, y: torch.Tensor, W: torch.Tensor, b: torch.Tensor, l1: float, l2: float) -> float:
    """The largest violation of the optimality conditions, in float64, relative to the strength.

    That of an intercept is relative to the number of samples, as a mean residual.
    """
    W, b = (torch.as_tensor(each, dtype=torch.float64, device=X.device) for each in (W, b))
    G, tilt = torch.zeros_like(W), torch.zeros_like(b)
    for rows in torch.arange(len(X), device=X.device).split(100_000):
        Z = X[rows].double()
        U = torch.softmax(Z @ W + b, dim=1)
        U[torch.arange(len(rows)), y[rows]] -= 1.0
        G, tilt = G + Z.T @ U, tilt + U.sum(0)
    if l1:
        misses = torch.where(W != 0, (G + l1 * W.sign()).abs(), (G.abs() - l1).clamp(min=0)) / l1
    else:
        misses = (G + l2 * W).abs() / l2
    return max(float(misses.max()), float(tilt.abs().max()) / len(X))


# -- The competitors: from data and an amount of work to weights (d, k) and intercepts (k,)


def ours_l1(X, y, lam: float, work: float) -> Weights:
    """SMLR at tol = work."""
    model = SMLR(lam, tol=work).fit(X, y)
    return model.coef_.T, model.intercept_


def ours_l2(X, y, lam: float, work: float) -> Weights:
    """RMLR at tol = work."""
    model = RMLR(lam, tol=work).fit(X, y)
    return model.coef_.T, model.intercept_


def loss_gradient(X, y, W, b) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The loss and its gradients, in the precision of X."""
    F = X @ W + b
    loss = torch.nn.functional.cross_entropy(F, y, reduction="sum")
    U = torch.softmax(F, dim=1)
    U[torch.arange(len(y), device=X.device), y] -= 1.0
    return loss, X.T @ U, U.sum(0)


def start(X, y) -> Weights:
    """Weights and intercepts of 0."""
    k = int(y.max()) + 1
    return torch.zeros(X.shape[1], k, device=X.device), torch.zeros(k, device=X.device)


def fista(X, y, lam: float, work: float) -> Weights:
    """Accelerated proximal gradients, restarted, the step found by growing estimates of the curvature."""
    W, b = start(X, y)
    V, c, t, L = W, b, 1.0, float(len(X)) / 100
    for _ in range(int(work)):
        loss, G, g = loss_gradient(X, y, V, c)
        while True:
            Z = V - G / L
            A, a = Z.sign() * (Z.abs() - lam / L).clamp(min=0), c - g / L
            move, shift = A - V, a - c
            bound = loss + (G * move).sum() + (g * shift).sum() + 0.5 * L * (move.square().sum() + shift.square().sum())
            F = X @ A + a
            if torch.nn.functional.cross_entropy(F, y, reduction="sum") <= bound + 1e-6 * loss.abs():
                break
            L *= 2.0
        after = 0.5 * (1 + (1 + 4 * t * t) ** 0.5)
        if float(((V - A) * (A - W)).sum() + ((c - a) * (a - b)).sum()) > 0:
            after, V, c = 1.0, A, a
        else:
            V, c = A + (t - 1) / after * (A - W), a + (t - 1) / after * (a - b)
        W, b, t = A, a, after
    return W, b


def _lbfgs(parameters: list[torch.Tensor], objective: Callable[[], torch.Tensor], steps: int) -> None:
    for each in parameters:
        each.requires_grad_(True)
    optimiser = torch.optim.LBFGS(
        parameters, max_iter=steps, max_eval=4 * steps, history_size=20, tolerance_grad=0.0, tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure():
        optimiser.zero_grad()
        value = objective()
        value.backward()
        return value

    optimiser.step(closure)


def lbfgs_l1(X, y, lam: float, work: float) -> Weights:
    """L-BFGS on W = U * U - V * V, whose smooth penalty lam (|U|^2 + |V|^2) / 2 is the L1 norm at its minimum."""
    draw = torch.Generator(device=X.device).manual_seed(0)
    W, b = start(X, y)
    U, V = (0.1 * torch.rand(W.shape, generator=draw, device=X.device) + 0.01 for _ in range(2))

    def objective():
        loss = torch.nn.functional.cross_entropy((X @ (U * U - V * V) + b).double(), y, reduction="sum")
        return (loss + lam * (U.square().sum() + V.square().sum())) / len(X)

    _lbfgs([U, V, b], objective, int(work))
    W = (U * U - V * V).detach()
    return torch.where(W.abs() > 1e-5, W, 0.0), b.detach()


def lbfgs_l2(X, y, lam: float, work: float) -> Weights:
    """L-BFGS as torch.optim has it."""
    W, b = start(X, y)

    def objective():
        loss = torch.nn.functional.cross_entropy((X @ W + b).double(), y, reduction="sum")
        return (loss + 0.5 * lam * W.square().sum()) / len(X)

    _lbfgs([W, b], objective, int(work))
    return W.detach(), b.detach()


def sklearn_l2(X, y, lam: float, work: float) -> Weights:
    """scikit-learn's LogisticRegression on tensors (array_api_dispatch), solver lbfgs."""
    import sklearn
    from sklearn.linear_model import LogisticRegression

    with sklearn.config_context(array_api_dispatch=True):
        model = LogisticRegression(C=1.0 / lam, tol=1e-12, max_iter=int(work)).fit(X, y)
    return model.coef_.T, model.intercept_


TOLS = (1e-3, 1e-4, 1e-5, 1e-6)
L1 = {"smaller SMLR": (ours_l1, TOLS), "PyTorch FISTA": (fista, (25, 50, 100, 200, 400, 800)),
      "PyTorch L-BFGS on U*U - V*V": (lbfgs_l1, (25, 50, 100, 200, 400, 800))}  # fmt: skip
STEPS = (5, 10, 20, 40, 80, 160, 320, 640)
L2 = {"smaller RMLR": (ours_l2, TOLS), "PyTorch L-BFGS": (lbfgs_l2, STEPS),
      "scikit-learn LogisticRegression": (sklearn_l2, STEPS)}  # fmt: skip


def rungs(solve: Callable[..., Weights], X, y, lam: float, works, l1: bool) -> Iterator[tuple[float, float, float]]:
    """The work, seconds and violation of ever longer runs, until the last target is met."""
    solve(X, y, lam, works[0])  # kernels are compiled and memory is taken
    for work in works:
        times = []
        for _ in range(3):
            wait()
            began = time.perf_counter()
            W, b = solve(X, y, lam, work)
            wait()
            times.append(time.perf_counter() - began)
            if sum(times) > LONGEST / 4:
                break
        miss = judged(X, y, W, b, lam if l1 else 0.0, 0.0 if l1 else lam)
        yield work, float(np.median(times)), miss
        if miss <= TARGETS[-1] or times[-1] > LONGEST:
            return


def race(X, y, lam: float, field: dict, l1: bool, columns: str) -> list[dict]:
    """For each competitor the seconds to each target, and its best violation where it never arrives."""
    rows = []
    centred = X - X.double().mean(0).float()
    for name, (solve, works) in field.items():
        try:
            found = list(rungs(solve, X if name.startswith("smaller") else centred, y, lam, works, l1))
        except Exception as error:  # a peer that fails is a line of the table
            rows.append({"columns": columns, "solver": name, "failed": f"{type(error).__name__}: {error}"[:200]})
            print(rows[-1], flush=True)
            continue
        row = {"columns": columns, "solver": name}
        for target in TARGETS:
            reached = [seconds for _, seconds, miss in found if miss <= target]
            row[f"seconds to {target:.0e}"] = round(min(reached), 3) if reached else "–"
        work, _, miss = min(found, key=lambda rung: rung[2])
        rows.append({**row, "least violation": f"{miss:.1e}", "at": work, "rungs": found})
        print(rows[-1], flush=True)
    return rows


def lasso(problem) -> list[dict]:
    """Multinomial regression with a Laplace prior."""
    rows = []
    for columns in PROBLEMS:
        X, y = problem(columns)
        rows += race(X, y, float(posed(X, y).l1.max()), L1, True, columns)
    return rows


def ridge(problem) -> list[dict]:
    """Multinomial regression with a normal prior."""
    return [row for columns in PROBLEMS for row in race(*problem(columns), RIDGE, L2, False, columns)]


def choice(problem) -> list[dict]:
    """A path and a cross-validation on the device."""
    X, y = problem("independent")
    rows = []
    for name, work in {
        "path, 20 strengths": lambda: path(X, y, 20, eps=FRACTION, tol=1e-4),
        "SMLRCV, 20 strengths, 5 folds": lambda: SMLRCV(20, eps=FRACTION, tol=1e-4).fit(X, y),
    }.items():
        wait()
        began = time.perf_counter()
        work()
        wait()
        rows.append({"what": name, "seconds": round(time.perf_counter() - began, 2)})
        print(rows[-1], flush=True)
    return rows


def uncompiled(problem) -> list[dict]:
    """The correlated problem with the compiled core and without it, each in a process of its own."""
    code = "from benchmarks.gpu_race import correlated; print(correlated())"
    rows = []
    for pure in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "SMALLER_PURE": pure},
            capture_output=True,
            text=True,
        )
        told = done.stdout.strip().splitlines() or [done.stderr[-300:]]
        rows.append({"compiled core": "no" if pure else "yes", "seconds, KKT, kept": told[-1]})
        print(rows[-1], flush=True)
    return rows


def correlated() -> tuple[float, float, int]:
    """Seconds, violation and kept weights of one fit of the correlated problem, after one that does not count."""
    X, y = sparse_softmax(*LARGE, correlation=0.9)
    y = torch.unique(y, return_inverse=True)[1]
    model = SMLR(float(posed(X, y).l1.max()), tol=1e-4).fit(X, y)
    wait()
    began = time.perf_counter()
    model.fit(X, y)
    wait()
    took = time.perf_counter() - began
    return round(took, 3), model.violation_, int((model.coef_ != 0).sum())


PARTS = {"lasso": lasso, "ridge": ridge, "choice": choice, "uncompiled": uncompiled}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen.out.mkdir(parents=True, exist_ok=True)
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"
    facts: dict = {"device": device, "torch": torch.__version__, "size": LARGE, "compiled core": COMPILED}
    made: dict = {}

    def problem(columns: str):
        if columns not in made:
            X, y = sparse_softmax(*LARGE, correlation=PROBLEMS[columns])
            made[columns] = X, torch.unique(y, return_inverse=True)[1]
        return made[columns]

    for name in chosen.parts.split(","):
        began = time.perf_counter()
        rows = facts[name] = PARTS[name](problem)
        shown = [{k: v for k, v in row.items() if k != "rungs"} for row in rows]
        print(f"\n## {name} ({time.perf_counter() - began:.1f} s)\n\n{table(shown)}", flush=True)
        (chosen.out / "gpu_race.json").write_text(json.dumps(facts, indent=1, default=str))


if __name__ == "__main__":
    main()
