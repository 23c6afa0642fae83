"""Does the answer depend on the units? Ours beside scikit-learn's ARDRegression: ``python -m benchmarks.units``.

The same regression is fitted as it is, with the target in other units, and with one column in other units. Mathematics
says that the support stays and that the predictions follow the unit of the target; what is printed is how many columns
were kept, which of the true ones are among them, and how far the predictions, back in the old unit, moved.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import ARDRegression

from smaller import JeffreysRegressor, LaplaceRegressor

FACTORS = (1e-4, 1e4)
MODELS = {"JeffreysRegressor": JeffreysRegressor, "LaplaceRegressor": LaplaceRegressor, "ARDRegression": ARDRegression}


def problem(n: int = 100, d: int = 20, seed: int = 0):
    """Four of 20 weights are not zero; the noise has a tenth of the target's variance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, :4] @ np.array([3.0, -2.0, 1.5, 1.0]) + 1.3 * rng.standard_normal(n)
    return X, y


def measure(make, X, y) -> tuple[int, int, np.ndarray]:
    """Columns kept, true ones among them, predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, y)
    kept = np.flatnonzero(model.coef_)
    return len(kept), int(np.isin(np.arange(4), kept).sum()), model.predict(X)


def table() -> str:
    """Markdown: a row for each unit, a column for each model."""
    X, y = problem()
    lines = ["| | " + " | ".join(MODELS) + " |", "|---|" + "---:|" * len(MODELS)]
    base = {name: measure(make, X, y) for name, make in MODELS.items()}
    cells = {"as it is": [f"{kept} ({true})" for kept, true, _ in base.values()]}
    for factor in FACTORS:
        other = X.copy()
        other[:, 0] *= factor
        for what, inputs, unit in ((f"y × {factor:g}", X, factor), (f"first column × {factor:g}", other, 1.0)):
            cells[what] = []
            for name, make in MODELS.items():
                kept, true, predicted = measure(make, inputs, unit * y)
                moved = np.abs(predicted / unit - base[name][2]).max() / y.std()
                cells[what].append(f"{kept} ({true}), {moved:.0e}")
    lines += [f"| {what} | " + " | ".join(row) + " |" for what, row in cells.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
