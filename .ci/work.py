"""Whether fits take the steps that they took: python .ci/work.py, and --write to record the counts anew.

Work is counted and not timed, so that a busy machine changes nothing: the steps of the solver, and the calls of Python
functions of the package. More than a tenth (and two) above `work.json` is an error.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.preprocessing import scale

import smaller

RECORD = Path(__file__).with_name("work.json")
PACKAGE = str(Path(smaller.__file__).parent)
MARGIN, SPARE = 1.1, 2


def problems() -> dict:
    """Name: (model, X, y)."""
    iris, cancer, diabetes = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
    wide = make_classification(100, 2000, n_informative=20, n_classes=3, random_state=0)
    return {
        "SMLR on Iris": (smaller.SMLR(0.1), *iris),
        "SMLR on breast cancer": (smaller.SMLR(1.0, standardize=True), *cancer),
        "SMLR, wide": (smaller.SMLR(2.0), *wide),
        "SMLR, elastic net": (smaller.SMLR(2.0, l2=1.0), *wide),
        "SBMLR on Iris": (smaller.SBMLR(), *iris),
        "SBMLR, wide": (smaller.SBMLR(), *wide),
        "RMLR by evidence": (smaller.RMLR("evidence"), scale(cancer[0]), cancer[1]),
        "LaplaceRegressor on diabetes": (smaller.LaplaceRegressor(), *diabetes),
        "RVMRegressor on diabetes": (smaller.RVMRegressor("linear"), *diabetes),
        "RVMClassifier on Iris": (smaller.RVMClassifier(), scale(iris[0]), iris[1]),
    }


def work(model, X, y) -> dict[str, int]:
    """The steps of a fit, and the calls of functions of the package (comprehensions and the like do not count)."""
    model.fit(X, y)  # whatever is made at the first use is made now
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        code = frame.f_code
        calls += event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")

    sys.setprofile(count)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return {"steps": int(np.sum(model.n_iter_)), "calls": calls}


def main() -> int:
    warnings.simplefilter("ignore")
    counts = {name: work(*problem) for name, problem in problems().items()}
    if "--write" in sys.argv:
        RECORD.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    before = json.loads(RECORD.read_text(encoding="utf-8"))
    worse = 0
    for name, found in counts.items():
        for what, number in found.items():
            limit = before[name][what] * MARGIN + SPARE
            worse += number > limit
            print(f"{name:30} {what:6} {number:7} was {before[name][what]:7}{'   MORE WORK' if number > limit else ''}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
