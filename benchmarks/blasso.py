"""The gated kernel machine's walk, ours against vectorised NumPy on all candidate moves: python -m benchmarks.blasso

Both walk the same path of generalised boosted lasso (JFSCL, Gaussians with two inputs that matter).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from smaller.likelihoods import Multinomial
from smaller.moves import GatedMoves
from smaller.solvers.blasso import blasso
from smaller.synthetic import make_gaussians

RESULT = Path(__file__).with_name("results") / "blasso.json"
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- blasso: written by python -m benchmarks.blasso -->", "<!-- end of blasso -->"
RATIO, WIDTH = 0.01, 2.0


class NumpyMoves(GatedMoves):
    """The same walk for two classes, every array operation in NumPy and every move evaluated."""

    def loss_changes(self, coordinates: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
        """All weights at once, then each gate with all its kernel values at once."""
        t = np.where(self.Y > 0, -1.0, 1.0)
        margins = t * self.F
        moves = self.step * t * (self.K - self.center[0])
        weights = [np.logaddexp(0.0, margins + sign * moves).sum(axis=0) for sign in (1, -1)]
        used = np.flatnonzero(self.counts[: self.n_weights])
        if not len(used):
            return np.hstack([weights, np.full((2, self.X.shape[1]), self.loss)]) - self.loss
        gates = [[self._gate_loss(j, sign, used, t) for j in range(self.X.shape[1])] for sign in (1, -1)]
        return np.hstack([weights, gates]) - self.loss

    def _gate_loss(self, j: int, sign: int, used: np.ndarray, t: np.ndarray) -> float:
        rate = self.gamma * (self._gates(sign)[j] ** 2 - self._gates()[j] ** 2)
        K = np.exp(-self.gamma * self.S[:, used] - rate * np.square(self.X[:, j, None] - self.C[used, j]))
        F = (self.base + self.b)[:, 0] + K @ self.weights[used, 0]
        P = expit(F)
        shifted = F - (P - self.Y[:, 0]).sum() / (P * (1 - P)).sum()
        return min(np.logaddexp(0.0, t[:, 0] * f).sum() for f in (F, shifted))

    def _regate(self, j: int, change: float) -> None:
        self.S += change * np.square(self.X[:, j, None] - self.C[:, j])
        np.exp(-self.gamma * self.S, out=self.K)


def walk(kind: type[GatedMoves], n: int, p: int, shortlist: bool, ratio: float, step: float = 1.2):
    """Processor and wall-clock seconds of one walk, and its path."""
    data = make_gaussians(n, p, random_state=0)
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    began, clock = time.process_time(), time.perf_counter()
    problem = kind(X, X, WIDTH / p, 10.0, data.target[:, None], Multinomial(True), step)
    path, status = blasso(problem, 1e-5, ratio=ratio, general=True, shortlist=shortlist)
    return time.process_time() - began, time.perf_counter() - clock, path, status.name


CONTESTANTS = {
    "ours": (GatedMoves, True),
    "ours, every move evaluated": (GatedMoves, False),
    "vectorised NumPy": (NumpyMoves, False),
}


def race(n: int, p: int, step: float, repeats: int) -> dict:
    """Least processor seconds of each, in turn."""
    seconds, paths = dict.fromkeys(CONTESTANTS, np.inf), {}
    for _ in range(repeats):
        for name, (kind, shortlist) in CONTESTANTS.items():
            took, _, path, _ = walk(kind, n, p, shortlist, RATIO, step)
            seconds[name], paths[name] = min(seconds[name], took), path
    moves = {name: len(path) - 1 for name, path in paths.items()}
    same = {
        name: bool(moves[name] == moves["ours"] and np.array_equal(path.coordinates, paths["ours"].coordinates))
        for name, path in paths.items()
    }
    row = {"n": n, "p": p, "step": step, "seconds": seconds, "moves": moves, "same moves as ours": same}
    print(row, flush=True)
    return row


def large(n: int = 2000, p: int = 100) -> dict:
    """A whole path of many samples and inputs, by the wall clock."""
    took, clock, path, status = walk(GatedMoves, n, p, True, RATIO)
    row = {"n": n, "p": p, "processor": took, "wall": clock, "moves": len(path) - 1, "end": status}
    print(row, flush=True)
    return row


def table(rows: list[dict], whole: dict) -> str:
    """Seconds, and times our time."""
    lines = ["| n | inputs | step | moves | " + " | ".join(CONTESTANTS) + " | NumPy, times our time | same moves |"]
    lines.append("|---" * (len(CONTESTANTS) + 6) + "|")
    for row in rows:
        seconds = row["seconds"]
        ratio = seconds["vectorised NumPy"] / seconds["ours"]
        same = "yes" if all(row["same moves as ours"].values()) else "no"
        times = " | ".join(f"{seconds[name]:.3f}" for name in CONTESTANTS)
        lines.append(
            f"| {row['n']} | {row['p']} | {row['step']} | {row['moves']['ours']} | {times} | {ratio:.1f} | {same} |"
        )
    lines.append("")
    lines.append(
        f"A whole path, down to a hundredth of its first strength, at n = {whole['n']} with {whole['p']} inputs: "
        f"{whole['moves']} moves, {whole['wall']:.0f} s by the wall clock, {whole['processor']:.0f} s of one processor."
    )
    return "\n".join(lines)


def main() -> None:
    """Run all, write the facts and the table."""
    load = os.getloadavg()[0]
    rows = [race(500, 50, 1.2, 5), race(500, 50, 0.4, 2)]
    whole = large()
    loads = f"Load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} cores, one thread."
    RESULT.write_text(json.dumps({"load": loads, "race": rows, "large": whole}, indent=1) + "\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{loads}\n\n{table(rows, whole)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    print(table(rows, whole))


if __name__ == "__main__":
    main()
