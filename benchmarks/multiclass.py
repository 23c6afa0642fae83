"""Both forms of the relevance vector machine for several classes, cross-validated: python -m benchmarks.multiclass

Five folds, drawn several times, of standardised inputs, with the default width of the kernel. Forensic glass and crabs
are read by smaller.datasets. Writes the table of docs/evidence.md.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from smaller import SBMLR, RVMClassifier, datasets

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
BEGIN, END = "<!-- multiclass: written by python -m benchmarks.multiclass -->", "<!-- end of multiclass -->"
SETS = {
    "Iris": datasets.load_iris,
    "Wine": datasets.load_wine,
    "Forensic glass": datasets.load_forensic_glass,
    "Crabs": datasets.load_crabs,
}
MODELS = {
    'RVM, `multiclass="multinomial"`': RVMClassifier(),
    'RVM, `multiclass="ovr"`': RVMClassifier(multiclass="ovr"),
    '`SBMLR(basis="rbf")`': SBMLR(basis="rbf"),
}
DRAWS = 3


def judged(model, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Log-loss with its standard error over samples, error, relevance vectors and processor seconds of a fit."""
    losses, wrong, vectors, seconds = np.zeros(len(y)), 0, [], 0.0
    for draw in range(DRAWS):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=draw).split(X, y):
            scaler, began = StandardScaler().fit(X[train]), time.process_time()
            model.fit(scaler.transform(X[train]), y[train])
            seconds += time.process_time() - began
            P = model.predict_proba(scaler.transform(X[test]))
            losses[test] -= np.log(P[np.arange(len(test)), y[test]]) / DRAWS
            wrong += int((P.argmax(axis=1) != y[test]).sum())
            vectors.append(len(model.support_))
    return {
        "loss": losses.mean(),
        "error_of_loss": losses.std() / np.sqrt(len(y)),
        "error": 100 * wrong / (DRAWS * len(y)),
        "vectors": float(np.mean(vectors)),
        "seconds": seconds / (5 * DRAWS),
    }


def main() -> None:
    """Judge all and write the table."""
    warnings.simplefilter("ignore")
    lines = [
        "| data (classes) | model | log-loss | error, % | relevance vectors | seconds |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, load in SETS.items():
        data = load()
        X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
        for label, model in MODELS.items():
            found = judged(model, X, y)
            cells = f"{found['loss']:.3f} ({found['error_of_loss']:.3f})", f"{found['error']:.1f}"
            cells += f"{found['vectors']:.1f}", f"{found['seconds']:.3f}"
            lines.append(f"| {name} ({len(np.unique(y))}) | {label} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    text = f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.split(END)[1]}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
