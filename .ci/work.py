"""Whether fits take the steps that they took: python .ci/work.py, and --write to record the counts anew.

Work is counted and not timed, so that a busy machine changes nothing: the iterations of a fit; the Newton steps, sweeps
and Hessians of all L1 fits in it; and the calls of Python functions of the package. More than a tenth (and two) above
`work.json` is an error.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.preprocessing import scale

import smaller
from smaller import _core
from smaller.basis import Kernel
from smaller.solvers.l1.compiled import WORK

RECORD = Path(__file__).with_name("work.json")
PACKAGE = str(Path(smaller.__file__).parent)
MARGIN, SPARE = 1.1, 2


def problems() -> dict:
    """Name: (model, X, y)."""
    iris, cancer, diabetes = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
    wide = make_classification(100, 2000, n_informative=20, n_classes=3, random_state=0)
    rare, many = rare_classes(), many_classes()
    return {
        "SMLR on Iris": (smaller.SMLR(0.1), *iris),
        "SMLR on breast cancer": (smaller.SMLR(1.0, standardize=True), *cancer),
        "SMLR, wide": (smaller.SMLR(2.0), *wide),
        "SMLR, elastic net": (smaller.SMLR(2.0, l2=1.0), *wide),
        "SMLR, rare classes, lam 10": (smaller.SMLR(10.0), *rare),
        "SMLR, rare classes, lam 0.1": (smaller.SMLR(0.1), *rare),
        "SMLR, rare classes, lam 0.01": (smaller.SMLR(0.01), *rare),
        "SMLR, many classes, lam 30": (smaller.SMLR(30.0), *many),
        "SMLR, many classes, lam 3": (smaller.SMLR(3.0), *many),
        "SMLRCV on breast cancer": (smaller.SMLRCV(lams=20, cv=3), scale(cancer[0]), cancer[1]),
        "SBMLR on Iris": (smaller.SBMLR(), *iris),
        "SBMLR, wide": (smaller.SBMLR(), *wide),
        "RMLR by evidence": (smaller.RMLR("evidence"), scale(cancer[0]), cancer[1]),
        "LaplaceRegressor on diabetes": (smaller.LaplaceRegressor(), *diabetes),
        "RVMRegressor on diabetes": (smaller.RVMRegressor("linear"), *diabetes),
        "RVMRegressor, few candidates": (smaller.RVMRegressor(Kernel(centers=100)), scale(diabetes[0]), diabetes[1]),
        "RVMClassifier on Iris": (smaller.RVMClassifier(), scale(iris[0]), iris[1]),
    }


def rare_classes() -> tuple[np.ndarray, np.ndarray]:
    """4000 x 9, nearly collinear; 7 classes, two of them of ten rows."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat([5, 6], 10), rng.choice(5, 3980, p=[0.78, 0.16, 0.05, 0.008, 0.002])])
    factors = 3.0 * rng.standard_normal((7, 4))[y] + rng.standard_normal((4000, 4))
    return scale(10 * factors @ rng.standard_normal((4, 9)) + 0.3 * rng.standard_normal((4000, 9))), y


def many_classes() -> tuple[np.ndarray, np.ndarray]:
    """8000 x 16; 26 classes around centres of their own."""
    rng = np.random.default_rng(0)
    y = rng.integers(26, size=8000)
    centres, mixing = rng.standard_normal((26, 16)), rng.standard_normal((16, 16))
    return scale(4 * centres[y] + 1.4 * rng.standard_normal((8000, 16)) @ mixing), y


def work(model, X, y) -> dict[str, int]:
    """The iterations of a fit, the work of its compiled L1 fits, and its calls of functions of the package.

    Comprehensions and the like do not count as functions.
    """
    model.fit(X, y)  # whatever is made at the first use is made now
    calls, compiled = 0, np.zeros(len(WORK), dtype=int)

    def count(frame, event, _):
        nonlocal calls
        code = frame.f_code
        calls += event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")

    def counted(kernel):
        def run(*arguments):
            nonlocal compiled
            found = kernel(*arguments)
            compiled += found[0][:, 2 : 2 + len(WORK)].sum(axis=0).astype(int)  # after status and iterations
            return found

        return run

    with ExitStack() as stack:
        for name in ("minimise", "minimise_by_rows"):
            stack.enter_context(patch.object(_core, name, counted(getattr(_core, name))))
        sys.setprofile(count)
        try:
            model.fit(X, y)
        finally:
            sys.setprofile(None)
    within = dict(zip(WORK, compiled.tolist(), strict=True)) if compiled.any() else {}
    return {"iterations": int(np.sum(model.n_iter_)), **within, "calls": calls}


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
            print(
                f"{name:30} {what:16} {number:7} was {before[name][what]:7}{'   MORE WORK' if number > limit else ''}"
            )
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
