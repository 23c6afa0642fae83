"""Log evidence and processor time beside MNE's gamma-MAP on simulated leadfields, alone and in groups of three."""

import time
from importlib.util import find_spec

import numpy as np

from smaller import TypeIIRegressor

from .problems import leadfield, log_evidence

DRAWS, DECIBELS, REPEATS = 20, (0, 10, 20), 2


def tasks():
    """A key and a function for each leadfield."""
    if find_spec("mne") is None:
        print("mne is not installed")
        return
    for seed in range(DRAWS):
        for decibels in DECIBELS:
            for size in (1, 3):
                yield f"{size} {decibels} {seed}", (compared, size, decibels, seed)


def compared(size: int, decibels: int, seed: int) -> dict:
    """Both evidences by NumPy from the variances; the faster of two runs of each, one after the other."""
    from mne.inverse_sparse._gamma_map import _gamma_map_opt

    data = leadfield(seed, decibels)
    places = data.Phi.shape[1] // 3
    groups = np.repeat(np.arange(places), 3) if size == 3 else None
    ours, theirs = [], []
    for _ in range(REPEATS):
        began = time.process_time()
        model = TypeIIRegressor(noise=data.noise, groups=groups, fit_intercept=False).fit(data.Phi, data.Y)
        ours.append(time.process_time() - began)
        began = time.process_time()
        gamma = their_variances(_gamma_map_opt, data, size)
        theirs.append(time.process_time() - began)
    return {
        "ours": log_evidence(data.Phi, data.Y, model.gamma_, data.noise), "status": model.status_,
        "mne": log_evidence(data.Phi, data.Y, gamma, data.noise), "seconds": min(ours), "mne seconds": min(theirs),
    }  # fmt: skip


def their_variances(gamma_map, data, size: int) -> np.ndarray:
    """MNE returns means mu = gamma Phi^T S^-1 Y; S^-1 Y is what they leave, over the noise, and gives gamma back."""
    X, active = gamma_map(data.Y.copy(), data.Phi.copy(), data.noise, group_size=size, verbose=False)
    G = data.Phi[:, active]
    A = G.T @ (data.Y - G @ X) / data.noise
    square, pulled = ((values**2).sum(axis=1).reshape(-1, size).sum(axis=1) for values in (X, A))
    gamma = np.zeros(data.Phi.shape[1])
    gamma[active] = np.repeat(np.sqrt(square / pulled), size)
    return gamma


def summary(found: dict) -> list[str]:
    """The least lead in evidence, and ratios of the times."""
    lines = ["| group size | dB | leadfields | least and median lead, nats | time of MNE over ours, least and median |"]
    lines.append("|" + "---|" * 5)
    for size in (1, 3):
        for decibels in DECIBELS:
            rows = [row for key, row in found.items() if key.startswith(f"{size} {decibels} ")]
            if rows:
                lead = [row["ours"] - row["mne"] for row in rows]
                ratio = [row["mne seconds"] / row["seconds"] for row in rows]
                leads, ratios = (f"{min(v):.3g}, {np.median(v):.3g}" for v in (lead, ratio))
                lines.append(f"| {size} | {decibels} | {len(rows)} | {leads} | {ratios} |")
    return lines
