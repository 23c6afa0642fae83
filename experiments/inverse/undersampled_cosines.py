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
EM_STEPS, PROBES, ACCURACY = 50, 10, 1e-5  # of the script


def tasks():
    """A key and a function for each draw."""
    for seed in range(DRAWS):
        yield f"4096 {seed}", (against_em, seed)


def against_em(seed: int) -> dict:
    """Evidence, error and processor time, the script run before and after; and what other starts reach."""
    Phi, y, x = undersampled(seed, 4096, 1024, 256, NOISE)

    def timed(fit):
        began = time.process_time()
        return fit(), time.process_time() - began

    def ours():
        return TypeIIRegressor(noise=NOISE, fit_intercept=False).fit(Phi, y)

    means, first = timed(lambda: covariance_free_em(Phi, y, NOISE, seed))
    model, seconds = timed(ours)
    second = timed(lambda: covariance_free_em(Phi, y, NOISE, seed))[1]
    seconds = min(seconds, timed(ours)[1])
    early = TypeIIRegressor(noise=NOISE, fit_intercept=False, em_steps=50).fit(Phi, y)
    return {
        "evidence": float(model.evidence_), "best of others": max(other_starts(Phi, y)), "status": model.status_,
        "violation": float(model.violation_), "error": relative(model.coef_, x),
        "em_steps=50": relative(early.coef_, x),
        "script error": relative(means, x), "seconds": seconds, "script seconds": min(first, second),
    }  # fmt: skip


def relative(found: np.ndarray, x: np.ndarray) -> float:
    """Length of the error over that of the truth."""
    return float(np.linalg.norm(found - x) / np.linalg.norm(x))


def other_starts(Phi, y) -> list[float]:
    """Log evidences after Newton and the check of all columns, from EM of 60 and 100 steps and lassos from nothing."""
    problem = GroupedEvidence(Evidence(as_design(Phi), y[:, None]))
    nothing = GroupFit(problem, np.empty(0, dtype=int), np.empty(0), NOISE)
    starts = [strongest(problem, NOISE, steps) for steps in (60, 100)]
    starts.append(after_lassos(strongest(problem, NOISE, 100), 6))
    starts.append(after_lassos(nothing, FROM_NOTHING))
    return [float(newton_and_check(start, 1e-3, 100, 0.0)[0].log_evidence) for start in starts]


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


def summary(found: dict) -> list[str]:
    """A line for each draw."""
    lines = ["| draw | nats below the best | status | error | em_steps=50 | script | time over the script's |"]
    lines.append("|" + "---|" * 7)
    for key, row in found.items():
        below = max(row["best of others"] - row["evidence"], 0.0)
        errors = [f"{row[name]:.2%}" for name in ("error", "em_steps=50", "script error")]
        ratio = row["seconds"] / row["script seconds"]
        lines.append(f"| {key} | {below:.2f} | {row['status']} | {' | '.join(errors)} | {ratio:.2f} |")
    return lines
