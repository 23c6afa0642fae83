"""How near boosted lasso comes to the lasso: python examples/blasso.py docs/images/blasso.svg

For several steps, the excess of the penalised loss over the certified optimum of the same strength, along the path.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from pictures import SIZE, svg
from sklearn.datasets import load_breast_cancer

from smaller import SMLR
from smaller.design import as_design
from smaller.likelihoods import Multinomial
from smaller.moves import WeightMoves
from smaller.solvers.blasso import blasso

STEPS = (0.2, 0.1, 0.05, 0.025)


def excess(X, y, step: float, lams, best) -> np.ndarray:
    """Penalised loss of the walk at each strength, less the optimum."""
    problem = WeightMoves(as_design(X, intercept=True), y[:, None], Multinomial(reference=True), step)
    path, _ = blasso(problem, 0.0, end=0.99 * lams[-1])
    points = np.array([path.point_at(lam) for lam in lams])
    return path.losses[points] + lams * path.penalties[points] - best


def picture(X, y) -> Figure:
    """One line for each step, both axes logarithmic."""
    lams = np.geomspace(60.0, 2.0, 25)
    best = np.array([SMLR(lam=lam, tol=1e-9).fit(X, y).objective_ for lam in lams])
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for step in STEPS:
        above = excess(X, y, step, lams, best)
        axes.plot(lams, above, linewidth=2, label=f"step {step}")
        print(f"step {step}: median excess {np.median(above):.2e}, largest {above.max():.2e}")
    axes.set(xscale="log", yscale="log", xlabel="Strength of the prior, lam (weaker to the right)")
    axes.set_ylabel("Penalised loss above the optimum, nats")
    axes.invert_xaxis()
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


if __name__ == "__main__":
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10]
    X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    Path(sys.argv[1]).write_text(svg(picture(X, y)), encoding="utf-8")
