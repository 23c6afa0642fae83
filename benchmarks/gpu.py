"""Fits on an accelerator: python -m benchmarks.gpu OUT [--parts floor,step,fit,agree,rvm,more] [--cuts]

Prints a Markdown table for each part and writes all figures to OUT/gpu.json. Times are wall-clock seconds, the device
waited for, medians of several runs after a first one that does not count.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from smaller import RMLR, SBMLR, SMLR, RVMClassifier, RVMRegressor, path
from smaller._core import COMPILED
from smaller.basis import Kernel
from smaller.design import as_design, host
from smaller.design.loss_gradient import LossGradient
from smaller.likelihoods import Multinomial
from smaller.models.base import problem_of
from smaller.objective.sample import Sample
from smaller.priors import Laplace
from smaller.rows.device_rows import AcceleratedPosterior, placed
from smaller.solvers.l1.warm_path import null_point

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LARGE = (1_000_000, 1000, 10) if DEVICE == "cuda" else (20_000, 100, 5)
FRACTION = 0.02
CUTS = [
    {}, {"scores": (64, 128, 4, 3)}, {"scores": (128, 64, 4, 3)}, {"products": (32, 128, 4, 5)},
    {"products": (32, 128, 4, 3)}, {"products": (16, 256, 4, 4)}, {"products": (32, 256, 8, 4)},
    {"programs": 3}, {"programs": 6}, {"programs": 8},
    {"precision": "tf32"},
]  # fmt: skip


def wait() -> None:
    """Until the device has done all it was given."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def seconds(work: Callable, repeats: int = 5) -> tuple[float, list[float]]:
    """The median time of some runs after one that does not count, and all of them, that one first."""
    times = []
    for _ in range(repeats + 1):
        wait()
        began = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - began)
    return float(np.median(times[1:])), times


def sparse_softmax(n: int, d: int, m: int, correlation: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Normal inputs, labels from a softmax in which each class has a twentieth of the inputs, weights N(0, 1).

    With a correlation, that of neighbouring columns, which then are away from 0 as well.
    """
    draw = torch.Generator(device=DEVICE).manual_seed(0)
    X = torch.randn(n, d, generator=draw, device=DEVICE, dtype=torch.float32)
    if correlation:
        for j in range(1, d):
            X[:, j] = correlation * X[:, j - 1] + (1 - correlation**2) ** 0.5 * X[:, j]
        X += 3.0
    W = torch.zeros(d, m, device=DEVICE)
    for c in range(m):
        chosen = torch.randperm(d, generator=draw, device=DEVICE)[: max(5, d // 20)]
        W[chosen, c] = torch.randn(len(chosen), generator=draw, device=DEVICE)
    noise = -torch.log(-torch.log(torch.rand(n, m, generator=draw, device=DEVICE, dtype=torch.float64)))
    return X, ((X @ W).double() + noise).argmax(1)


def posed(X, y, intercept: bool = True) -> AcceleratedPosterior:
    """The problem of SMLR at the fraction of the strength that switches every weight off."""
    m = int(y.max()) + 1
    Y = y[:, None] == torch.arange(m, device=X.device)
    s = torch.ones(len(y), dtype=torch.float64, device=X.device)
    sample = placed(Sample(as_design(X, intercept), Y, s))
    objective = AcceleratedPosterior.of(sample, Multinomial(reference=False), Laplace(1.0))
    return objective.with_prior(Laplace(FRACTION * objective.largest_strength(null_point(objective))))


def table(rows: list[dict]) -> str:
    """A Markdown table."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows])


def floor(problem) -> list[dict]:
    """What the memory gives: the least time in which X can be read."""
    X = problem()[0]
    size = X.numel() * X.element_size()
    other = torch.empty_like(X)
    copy, _ = seconds(lambda: other.copy_(X), 10)
    read, _ = seconds(lambda: X.sum(), 10)
    return [
        {"what": "copy of X", "ms": round(1e3 * copy, 3), "TB/s": round(2 * size / copy / 1e12, 2)},
        {"what": "sum of X", "ms": round(1e3 * read, 3), "TB/s": round(size / read / 1e12, 2)},
        {"what": "X read twice at the copy's rate", "ms": round(1e3 * copy, 3)},
    ]


def step(problem, cuts: bool = False) -> list[dict]:
    """One gradient: time, and its largest error against float64, relative to lam (what a KKT residual is)."""
    X, y = problem()
    objective = posed(X, y)
    xp, d, k = objective.design.xp, objective.design.d, objective.k
    W = torch.randn(d, k, dtype=torch.float64, device=X.device) * 0.05
    b = torch.zeros(1, k, dtype=torch.float64, device=X.device)
    given = (objective.Y, objective.s, objective.offset, False)
    exact = LossGradient(xp, X, *given, xp.float64)(W, b)[0]
    lam = float(objective.l1.max())

    def measured(name: str, gradient) -> dict:
        error = float((gradient(W, b)[0] - exact).abs().max()) / lam
        median, _ = seconds(lambda: gradient(W, b), 10)
        return {"gradient": name, "ms": round(1e3 * median, 3), "error / lam": f"{error:.1e}"}

    rows = [measured("the solver's choice", objective.design.loss(*given, xp.float32))]
    rows.append(measured("products, float32", LossGradient(xp, X, *given, xp.float32)))
    rows.append(measured("products, float64", LossGradient(xp, X, *given, xp.float64)))
    if cuts:
        rows += _cuts(X, given, measured)
    return rows


def _cuts(X, given, measured) -> list[dict]:
    from smaller.design.triton_kernels import Cut, KernelGradient

    return [measured(f"kernels {cut}", KernelGradient(X, *given, Cut(**cut))) for cut in CUTS]


def fit(problem) -> list[dict]:
    """Whole fits of SMLR, from a tensor to a certified model."""
    return [*_fits(*problem(), (True, False), (1e-4, 1e-5, 1e-6)), *_correlated()]


def _correlated() -> list[dict]:
    rows = _fits(*sparse_softmax(*LARGE, correlation=0.9), (True,), (1e-4, 1e-5))
    return [{**row, "columns": "correlated 0.9, mean 3"} for row in rows]


def _fits(X, y, intercepts, tolerances) -> list[dict]:
    lam = float(posed(X, y).l1.max())
    rows = []
    for intercept in intercepts:
        for tol in tolerances:
            model = SMLR(lam, tol=tol, fit_intercept=intercept)
            median, times = seconds(lambda model=model: model.fit(X, y), 5)
            rows.append(
                {
                    "columns": "independent", "intercept": intercept, "tol": tol,
                    "seconds": round(median, 4), "gap": f"{model.dual_gap_:.1e}",
                    "KKT": f"{model.violation_:.1e}", "kept": int(np.count_nonzero(host(model.coef_))),
                    "certificates": len(model.history_), "status": model.status_,
                    "history": [round(each.seconds, 4) for each in model.history_],
                    "first and all": [round(t, 4) for t in times],
                }
            )  # fmt: skip
    return rows


def phases(problem) -> list[dict]:
    """Where the time of a fit goes."""
    from smaller.solvers.l1.descent import Descent

    X, y = problem()
    model = SMLR(1.0)
    objective = posed(X, y)
    rows = []

    def note(name: str, work: Callable, repeats: int = 3) -> None:
        rows.append({"phase": name, "ms": round(1e3 * seconds(work, repeats)[0], 3)})

    note("checks, labels, objective", lambda: problem_of(model, X, y).objective)
    note("moments of the columns", lambda: as_design(X, True).moments(objective.s))
    W = objective.start()
    point = objective.evaluate(W)
    note("certificate of the null model", lambda: objective.evaluate(W))
    descent = Descent(objective, False)
    found, steps, _ = descent.run(point.W, 1e-4)
    note(f"{steps} gradient steps", lambda: descent.run(point.W, 1e-4))
    note("preparing them", lambda: Descent(objective, False))
    note("certificate at the end", lambda: objective.evaluate(found))
    note("scores alone", lambda: objective.scores(found))
    return rows


def agree(problem) -> list[dict]:
    """The same small problems on the host in NumPy and on the device in float32 and float64."""
    rows = []
    X, y = sparse_softmax(3000, 40, 4)
    for name, model in {
        "SMLR": SMLR(20.0), "SMLR, standardised, reference": SMLR(10.0, standardize=True, parametrization="reference"),
        "RMLR": RMLR(1.0), "SBMLR": SBMLR(), "SMLR, rbf": SMLR(0.5, basis=Kernel("rbf", gamma=0.02), tol=1e-5),
    }.items():  # fmt: skip
        part = slice(0, 500 if "rbf" in name else 3000)
        there = model.fit(X[part], y[part])
        P, objective = host(there.predict_proba(X[part])), there.objective_
        here = model.fit(host(X[part]).astype(np.float64), host(y[part]))
        rows.append(
            {
                "model": name, "objective, relative": f"{abs(objective / here.objective_ - 1):.1e}",
                "probabilities": f"{np.abs(P - here.predict_proba(host(X[part]))).max():.1e}",
            }
        )  # fmt: skip
    return rows


def rvm(problem) -> list[dict]:
    """Relevance vector machines on all samples as centres."""
    rows = []
    draw = np.random.default_rng(0)
    for n in (2000, 20_000) if DEVICE == "cuda" else (500,):
        x = draw.uniform(-10, 10, (n, 1))
        y = np.sinc(x[:, 0] / np.pi) + 0.1 * draw.standard_normal(n)
        labels = draw.integers(0, 2, n)
        Z = np.array([[-0.3, 0.7], [0.4, 0.7], [-0.7, 0.3], [0.3, 0.3]])[2 * (1 - labels) + draw.integers(0, 2, n)]
        Z = Z + np.sqrt(0.03) * draw.standard_normal((n, 2))
        for model, X, target in (
            (RVMRegressor(Kernel("rbf", gamma=0.2)), x, y),
            (RVMClassifier(Kernel("rbf", gamma=4.0)), Z, labels),
        ):
            X, target = torch.asarray(X, dtype=torch.float32, device=DEVICE), torch.asarray(target, device=DEVICE)
            wait()
            began = time.perf_counter()
            model.fit(X, target)
            wait()
            took = time.perf_counter() - began
            rows.append(
                {
                    "model": type(model).__name__, "n": n, "seconds": round(took, 2),
                    "relevance vectors": len(model.support_), "evidence": round(-float(np.sum(model.objective_)), 3),
                    "status": model.status_,
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def more(problem) -> list[dict]:
    """Other fits on the same data."""
    X, y = problem()
    lam = float(posed(X, y).l1.max())
    rows = []

    def note(name: str, work: Callable, tell: Callable) -> None:
        began = time.perf_counter()
        found = work()
        wait()
        rows.append({"what": name, "seconds": round(time.perf_counter() - began, 3), "found": tell(found)})
        print(rows[-1], flush=True)

    note("path, 20 strengths down to 0.02", lambda: path(X, y, 20, eps=FRACTION, tol=1e-4), lambda p: int(p.n_kept[-1]))
    note("RMLR, lam 100", lambda: RMLR(100.0, tol=1e-4).fit(X, y), lambda m: f"gap {m.dual_gap_:.0e}")
    note("SBMLR, a fifth of the rows", lambda: SBMLR(tol=1e-4).fit(X[: len(X) // 5], y[: len(X) // 5]),
         lambda m: f"{np.count_nonzero(host(m.coef_))} weights, lam {m.lam_:.1f}")  # fmt: skip
    fitted = SMLR(lam, tol=1e-4).fit(X, y)
    note("probabilities of all rows", lambda: fitted.predict_proba(X), lambda P: tuple(P.shape))
    return rows


PARTS = {"floor": floor, "step": step, "phases": phases, "fit": fit, "agree": agree, "rvm": rvm, "more": more}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cuts", action="store_true", help="also time the kernels cut in other ways")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen.out.mkdir(parents=True, exist_ok=True)
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else platform.processor() or "cpu"
    facts = {"device": device, "torch": torch.__version__, "size": LARGE, "compiled core": COMPILED}
    print(facts, flush=True)
    data: list = []

    def problem():
        if not data:
            data.extend(sparse_softmax(*LARGE))
        return data

    for name in chosen.parts.split(","):
        began = time.perf_counter()
        try:
            rows = step(problem, chosen.cuts) if name == "step" else PARTS[name](problem)
        except Exception as error:
            import traceback

            traceback.print_exc()
            rows = [{"failed": f"{type(error).__name__}: {error}"}]
        facts[name] = rows
        print(f"\n## {name} ({time.perf_counter() - began:.1f} s)\n\n{table(rows)}", flush=True)
        (chosen.out / "gpu.json").write_text(json.dumps(facts, indent=1, default=str))


if __name__ == "__main__":
    main()
