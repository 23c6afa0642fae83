"""Figure 1 and Theorem 2 of Wipf and Wu (2012), and the agreement of the Type II algorithms.

Figure 1 learns the trade-off parameter of Type I estimation and compares its error with that of the best fixed value.
Theorem 2 is checked on clustered dictionaries of several sizes, on which plain L1 fails.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.harness import Part, Report, write
from experiments.wipf2012.logistic import logistic
from smaller import TypeIIRegressor, TypeIRegressor, maximally_sparse
from smaller.errors import EmptyModelWarning
from smaller.priors import Power

HERE = Path(__file__).parent
TRIALS, QUICK_TRIALS = 1000, 10
LAMS = 10.0 ** np.concatenate([[-4, -3, -2, -1.5], np.arange(-1, 2.01, 0.25)])
POWERS = (1.0, 0.01)
TOL = 1e-5


# Figure 1


def simulate(rng: np.random.Generator, n: int = 100, m: int = 50, k: int = 10):
    """A random dictionary with unit columns, ten unit Gaussian coefficients, noise at 0 dB (section 3)."""
    Phi = rng.standard_normal((n, m))
    Phi /= np.linalg.norm(Phi, axis=0)
    x = np.zeros(m)
    x[rng.choice(m, k, replace=False)] = rng.standard_normal(k)
    signal, noise = Phi @ x, rng.standard_normal(n)
    return Phi, x, signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise)


def error_and_size(Phi, x, y, p: float, noise) -> tuple[float, int, float]:
    """Normalised squared error, non-zeros, and the trade-off parameter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)  # the largest values keep nothing
        model = TypeIRegressor(Power(p), noise=noise, fit_intercept=False, tol=TOL).fit(Phi, y)
    error = ((model.coef_ - x) ** 2).sum() / (x**2).sum()
    return error, len(model.support_), model.lambda_


def figure_one(report: Report, trials: int, draw: bool) -> None:
    """Mean error and sparsity at fixed and at learned values."""
    rng = np.random.default_rng(report.seed)
    fixed = np.zeros((len(POWERS), len(LAMS), 2))
    learned = np.zeros((len(POWERS), 3))
    for _ in range(trials):
        Phi, x, y = simulate(rng)
        for i, p in enumerate(POWERS):
            fixed[i] += [error_and_size(Phi, x, y, p, lam)[:2] for lam in LAMS]
            error, size, lam = error_and_size(Phi, x, y, p, "learn")
            learned[i] += error, size, lam
    fixed, learned = fixed / trials, learned / trials
    for i, p in enumerate(POWERS):
        best = int(np.argmin(fixed[i, :, 0]))
        report.add(
            f"figure1/p={p:g}",
            best_fixed_error=float(fixed[i, best, 0]),
            best_lambda=float(LAMS[best]),
            learned_error=float(learned[i, 0]),
            learned_lambda=float(learned[i, 2]),
            kept=float(learned[i, 1]),
        )
        curve = [[float(lam), float(e), float(s)] for lam, (e, s) in zip(LAMS, fixed[i], strict=True)]
        report.results[f"figure1/p={p:g}"]["curve"] = curve
        claim = f"p = {p:g}: the error at the learned lambda is at or below the minimum of the curve ({trials} trials)"
        if trials >= TRIALS:  # it is a claim about means, which a few trials do not show
            report.check(claim, learned[i, 0] <= fixed[i, best, 0])
    if draw:
        picture(fixed, learned)


def picture(fixed: np.ndarray, learned: np.ndarray) -> None:
    """Figure 1, as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "wipf2012"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for column, (axis, title) in enumerate(
        zip(axes, ("normalised squared error", "non-zero coefficients"), strict=True)
    ):
        for i, p in enumerate(POWERS):
            (line,) = axis.semilogx(LAMS, fixed[i, :, column], label=f"p = {p:g}")
            axis.plot(learned[i, 2], learned[i, column], "+", color=line.get_color(), markersize=14, markeredgewidth=2)
        axis.set(xlabel="λ", title=title)
    axes[1].axhline(10, color="0.6", linewidth=0.8)
    axes[0].set_ylim(0, 2)
    axes[0].legend()
    figure.savefig(HERE / "figure1.svg", metadata={"Date": None})
    plt.close(figure)
    text = (HERE / "figure1.svg").read_text(encoding="utf-8")
    write(HERE / "figure1.svg", "\n".join(line.rstrip() for line in text.splitlines()) + "\n")


# Theorem 2


class Setting(NamedTuple):
    """A clustered dictionary: n rows, clusters of `per` columns within `angle`; `active` of them have `inside` each."""

    n: int
    clusters: int
    per: int
    angle: float
    active: int
    inside: int


# The theorem wants the columns of the active clusters together to be no more than the rows; here they are 80 % of them.
SETTINGS = tuple(
    Setting(n, clusters, per, angle, 4, inside)
    for n, clusters, per, inside in ((35, 12, 7, 4), (40, 15, 8, 4), (50, 20, 10, 4))
    for angle in (0.01, 0.003)
)


def clustered(rng: np.random.Generator, s: Setting):
    """Definition 1; the coefficients of a cluster have random signs and sizes, and sums of at least 1/2 in size."""
    centres = rng.standard_normal((s.n, s.clusters))
    centres /= np.linalg.norm(centres, axis=0)
    Phi = np.repeat(centres, s.per, axis=1) + s.angle / np.sqrt(s.n) * rng.standard_normal((s.n, s.clusters * s.per))
    Phi /= np.linalg.norm(Phi, axis=0)
    x = np.zeros(s.clusters * s.per)
    for cluster in rng.choice(s.clusters, s.active, replace=False):
        chosen = cluster * s.per + rng.choice(s.per, s.inside, replace=False)
        while abs(x[chosen].sum()) < 0.5:
            x[chosen] = rng.choice([-1.0, 1.0], s.inside) * rng.uniform(0.5, 1.5, s.inside)
    return Phi, x


def theorem_two(report: Report, trials: int) -> None:
    """How often plain L1 and ours find the support."""
    for number, setting in enumerate(SETTINGS):
        rng = np.random.default_rng([report.seed, number])
        ours = plain = 0
        for _ in range(trials):
            Phi, x = clustered(rng, setting)
            found = maximally_sparse(Phi, Phi @ x)
            ours += np.array_equal(found.support, np.flatnonzero(x))
            plain += np.array_equal(np.flatnonzero(found.plain), np.flatnonzero(x))
        key = f"theorem2/{number + 1}"
        report.add(key, plain=plain / trials, ours=ours / trials, **setting._asdict())
        report.check(
            f"setting {number + 1}: L1 finds less than 20 % of the supports, ours more than 95 %",
            plain < 0.2 * trials and ours > 0.95 * trials,
        )


# The algorithms


def algorithms(report: Report, trials: int) -> None:
    """One objective, five algorithms: how far apart they end."""
    names = ("fast", "em", "mackay", "reweighted-l2", "reweighted-l1")
    rng = np.random.default_rng(report.seed)
    apart = []
    for _ in range(trials):
        Phi, _, y = simulate(rng)
        reached = [TypeIIRegressor(name, fit_intercept=False, tol=1e-6).fit(Phi, y).evidence_ for name in names]
        apart.append(max(reached) - min(reached))
    same = float(np.mean(np.array(apart) < 1e-5))
    report.add("algorithms", same=same, apart=[float(np.mean(apart)), float(min(apart)), float(max(apart))])


PARTS: dict[str, Part] = {
    "figure1": lambda report, quick: figure_one(report, QUICK_TRIALS if quick else TRIALS, draw=not quick),
    "theorem2": lambda report, quick: theorem_two(report, 3 if quick else 50),
    "algorithms": lambda report, quick: algorithms(report, 2 if quick else 20),
    "logistic": logistic,
}
