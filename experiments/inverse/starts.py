"""72 random problems of three kinds: the evidence of "auto" below the best of all algorithms and of random starts."""

import time

import numpy as np

from smaller import TypeIIRegressor
from smaller.design import as_design
from smaller.objective.evidence import Evidence
from smaller.solvers.type2.auto import newton_and_check
from smaller.solvers.type2.grouped import GroupedEvidence, GroupFit

from .problems import KINDS, drawn

SEEDS, DECIBELS = 24, (10, 20, 30)
OTHERS = ("fast", "mackay", "reweighted-l2", "reweighted-l1", "em")
RANDOM = 10  # random starts, each followed to a maximum


def tasks():
    """A key and a function for each problem; the signal-to-noise ratio goes around."""
    for seed in range(SEEDS):
        for kind in KINDS:
            yield f"{kind} {DECIBELS[seed % 3]} {seed}", (shortfall, kind, DECIBELS[seed % 3], seed)


def shortfall(kind: str, decibels: int, seed: int) -> dict:
    """Log evidences of 40 samples and 160 columns, ten of them true."""
    data = drawn(kind, decibels, seed, n=40, p=160, k=10)
    found = {}
    for name in ("auto", *OTHERS):
        steps = 2000 if name == "em" else None
        began = time.process_time()
        model = TypeIIRegressor(name, noise=data.noise, fit_intercept=False, max_iter=steps).fit(data.Phi, data.Y[:, 0])
        found[name] = float(model.evidence_)
        found[f"{name} seconds"] = time.process_time() - began
    found["random starts"] = max(random_starts(data, seed))
    return found


def random_starts(data, seed: int) -> list[float]:
    """Evidences after Newton's method and the check of all columns from variances drawn over eight decades."""
    problem = GroupedEvidence(Evidence(as_design(data.Phi), data.Y))
    rng, ends = np.random.default_rng([25, seed]), []
    for _ in range(RANDOM):
        groups = np.sort(rng.choice(len(problem), 40, replace=False))
        gamma = 10 ** rng.uniform(-6, 1, len(groups))
        fit = GroupFit(problem, groups, gamma, data.noise)
        ends.append(float(newton_and_check(fit, 1e-5, 100, 0.0)[0].log_evidence))
    return ends


def summary(found: dict) -> list[str]:
    """Nats below the best: mean and largest, and how often within 0.01."""
    names = ("auto", *OTHERS, "random starts")
    lines = ["| kind | problems | " + " | ".join(names) + " |", "|" + "---|" * (2 + len(names))]
    for kind in (*KINDS, ""):
        rows = [row for key, row in found.items() if key.startswith(kind)]
        if not rows:
            continue
        best = np.array([max(row[name] for name in names) for row in rows])
        cells = []
        for name in names:
            short = best - [row[name] for row in rows]
            cells.append(f"{short.mean():.2f} ({short.max():.1f}), {(short < 0.01).mean():.0%}")
        lines.append(f"| {kind or 'all'} | {len(rows)} | {' | '.join(cells)} |")
    return lines
