"""Undersampled cosines (1024 of 4096, 256 non-zeros): five draws beside covariance-free EM."""

import time

import numpy as np

from smaller import TypeIIRegressor
from smaller.design import as_design
from smaller.objective.evidence import Evidence
from smaller.solvers.type2.auto import newton_and_check
from smaller.solvers.type2.bulk_lasso import FROM_NOTHING, after_lassos
from smaller.solvers.type2.covariance_free import strongest
from smaller.solvers.type2.grouped import GroupedEvidence, GroupFit

from .problems import undersampled

DRAWS, NOISE = 5, 1e-4
REPEATS = 2
EM_STEPS, PROBES, ACCURACY = 50, 10, 1e-5  # of the script
EM = 2  # of the other starts: 300 steps of EM, and no lasso


def tasks():
    """A key and a function for each draw: first what is timed, then what other starts reach."""
    for seed in range(DRAWS):
        yield f"timed {seed}", (against_em, seed)
    for seed in range(DRAWS):
        yield f"others {seed}", (other_ends, seed)


def against_em(seed: int) -> dict:
    """Evidence, error and processor time, the least of runs in turn with the script."""
    Phi, y, x = undersampled(seed, 4096, 1024, 256, NOISE)

    def timed(fit):
        began = time.process_time()
        return fit(), time.process_time() - began

    theirs, ours = [], []
    for _ in range(REPEATS):
        theirs.append(timed(lambda: covariance_free_em(Phi, y, NOISE, seed)))
        ours.append(timed(lambda: TypeIIRegressor(noise=NOISE, fit_intercept=False).fit(Phi, y)))
    model, early = ours[0][0], TypeIIRegressor(noise=NOISE, fit_intercept=False, em_steps=50).fit(Phi, y)
    return {
        "evidence": float(model.evidence_), "status": model.status_, "violation": float(model.violation_),
        "error": relative(model.coef_, x), "em_steps=50": relative(early.coef_, x),
        "script error": relative(theirs[0][0], x),
        "seconds": min(time for _, time in ours), "script seconds": min(time for _, time in theirs),
    }  # fmt: skip


def other_ends(seed: int) -> dict:
    """The best evidence that other starts lead to, and the error of the weights where EM itself leads."""
    Phi, y, x = undersampled(seed, 4096, 1024, 256, NOISE)
    ends = other_starts(Phi, y)
    best = max(float(fit.log_evidence) for fit in ends)
    return {"best of others": best, "error at the optimum of EM": relative(coefficients(ends[EM]), x)}


def relative(found: np.ndarray, x: np.ndarray) -> float:
    """Length of the error over that of the truth."""
    return float(np.linalg.norm(found - x) / np.linalg.norm(x))


def coefficients(fit: GroupFit) -> np.ndarray:
    """The weights of all columns."""
    x = np.zeros(fit.problem.columns.d)
    x[fit.columns] = fit.mean[:, 0] / fit.problem.columns.unit[fit.columns]
    return x


def other_starts(Phi, y) -> list[GroupFit]:
    """After Newton and the check of all columns: from EM of 60, 100 and 300 steps, from lassos after it or alone."""
    problem = GroupedEvidence(Evidence(as_design(Phi), y[:, None]))
    nothing = GroupFit(problem, np.empty(0, dtype=int), np.empty(0), NOISE)
    starts = [strongest(problem, NOISE, steps) for steps in (60, 100, 300)]
    starts.append(after_lassos(strongest(problem, NOISE, 100), 6))
    starts.append(after_lassos(nothing, FROM_NOTHING))
    return [newton_and_check(start, 1e-3, 100, 0.0)[0] for start in starts]


def covariance_free_em(Phi, y: np.ndarray, noise: float, seed: int) -> np.ndarray:
    """EM whose variances come from random signs (Lin et al. 2022): what one writes in forty lines of NumPy."""
    rng = np.random.default_rng(seed)
    p, beta = Phi.shape[1], 1 / noise
    alpha, signal = np.ones(p), beta * Phi.rmatvec(y)

    def times(V):
        return beta * Phi.rmatmat(Phi.matmat(V)) + alpha[:, None] * V

    for _ in range(EM_STEPS):
        signs = rng.choice([-1.0, 1.0], (p, PROBES))
        right = np.column_stack([signal, signs])
        scale = 1 / (beta * Phi.shape[0] / p + alpha)[:, None]
        V, residual = np.zeros_like(right), right.copy()
        direction = scale * residual
        size = now = (residual * direction).sum(axis=0)
        while (now > ACCURACY**2 * size).any():
            along = times(direction)
            length = now / (direction * along).sum(axis=0)
            V, residual = V + length * direction, residual - length * along
            new = (residual * scale * residual).sum(axis=0)
            direction, now = scale * residual + new / now * direction, new
        variance = np.maximum((signs * V[:, 1:]).mean(axis=1), 0.0)
        alpha = 1 / np.maximum(V[:, 0] ** 2 + variance, 1e-12)
    return V[:, 0]


ERRORS = "error", "error at the optimum of EM", "em_steps=50", "script error"


def summary(found: dict) -> list[str]:
    """A line for each draw."""
    lines = ["| draw | nats below the best | status | error | optimum of EM | em_steps=50 | script | time over its |"]
    lines.append("|" + "---|" * 8)
    for seed in range(DRAWS):
        row = found.get(f"timed {seed}", {}) | found.get(f"others {seed}", {})
        if not {"seconds", "best of others"} <= row.keys():
            continue
        below = max(row["best of others"] - row["evidence"], 0.0)
        errors = [f"{row[name]:.2%}" for name in ERRORS]
        ratio = row["seconds"] / row["script seconds"]
        lines.append(f"| {seed + 1} | {below:.2f} | {row['status']} | {' | '.join(errors)} | {ratio:.2f} |")
    return lines
