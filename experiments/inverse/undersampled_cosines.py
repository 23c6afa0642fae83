"""Undersampled cosines (1024 of 4096, 256 non-zeros): five draws beside covariance-free EM."""

import time
from unittest.mock import patch

import numpy as np

from smaller import TypeIIRegressor
from smaller.design import as_design
from smaller.objective.evidence import Evidence
from smaller.solvers.type2.auto import newton_and_check
from smaller.solvers.type2.bulk_lasso import FROM_NOTHING, after_lassos
from smaller.solvers.type2.covariance_free import strongest
from smaller.solvers.type2.grouped import GroupedEvidence, GroupFit

from .problems import undersampled

DRAWS, FRESH, NOISE = 5, range(200, 210), 1e-4  # the draws, and others that no setting was chosen on
REPEATS = 2
EM_STEPS, PROBES, ACCURACY = 50, 10, 1e-5  # of the script
EM, EXACT = 2, 150  # of the other starts: 300 steps of EM, and no lasso; steps of exact EM


def tasks():
    """A key and a function for each draw: what is timed, where other starts end, and exact EM, of a minute."""
    for seed in (*range(DRAWS), *FRESH):
        yield f"timed {seed}", (against_em, seed)
    for name, function in (("others", other_ends), ("exact", exact_end)):
        for seed in range(DRAWS):
            yield f"{name} {seed}", (function, seed)


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
    """The best evidence that other starts lead to; evidence and error of the weights where EM itself leads."""
    Phi, y, x = undersampled(seed, 4096, 1024, 256, NOISE)
    ends = other_starts(Phi, y)
    best = max(float(fit.log_evidence) for fit in ends)
    error = relative(coefficients(ends[EM]), x)
    return {"best of others": best, "after EM": float(ends[EM].log_evidence), "error after EM": error}


def exact_end(seed: int) -> dict:
    """Evidence and error of the weights where EM leads whose variances are all exact."""
    Phi, y, x = undersampled(seed, 4096, 1024, 256, NOISE)
    with patch("smaller.solvers.type2.covariance_free.WORK", np.inf):
        start = strongest(GroupedEvidence(Evidence(as_design(Phi), y[:, None])), NOISE, EXACT)
    end = newton_and_check(start, 1e-3, 100, 0.0)[0]
    return {"after exact EM": float(end.log_evidence), "error after exact EM": relative(coefficients(end), x)}


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


EMS = "EM", "exact EM"
ERRORS = "error", "error after EM", "error after exact EM", "em_steps=50", "script error"


def summary(found: dict) -> list[str]:
    """A line for each draw, and what is known of the time on further ones."""
    heads = "below the best | above EM | above exact EM | status", "error | EM | exact EM | em_steps=50 | script | time"
    lines = [f"| draw | {' | '.join(heads)} |", "|" + "---|" * 11]
    for seed in range(DRAWS):
        row = {**found.get(f"timed {seed}", {}), **found.get(f"others {seed}", {}), **found.get(f"exact {seed}", {})}
        if not {"seconds", "best of others"} <= row.keys():
            continue
        best = max(row.get(name, -np.inf) for name in ("evidence", "best of others", "after exact EM"))
        nats = [best - row["evidence"]] + [row["evidence"] - row.get(f"after {name}", np.nan) for name in EMS]
        cells = [f"{each:.2f}" for each in nats] + [row["status"]]
        cells += [f"{row.get(name, np.nan):.2%}" for name in ERRORS] + [f"{times_over(row):.2f}"]
        lines.append(f"| {seed + 1} | {' | '.join(cells)} |")
    times = [times_over(row) for seed in FRESH if (row := found.get(f"timed {seed}"))]
    if times:
        lines.append(f"\n{len(times)} further draws: time {np.median(times):.2f}, at most {max(times):.2f}")
    return lines


def times_over(row: dict) -> float:
    """Our time over the script's."""
    return row["seconds"] / row["script seconds"]
