"""The remarks of Section 5 on running time: warm starts, and general-purpose optimisers on a smoothed objective."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

from experiments.harness import Report
from experiments.krishnapuram2005.smooth import objective, optimise
from smaller import SMLR, datasets
from smaller.basis import Precomputed

TOL = 1e-6
LAM = 0.1
LOADERS = {"iris": datasets.load_iris, "crabs": datasets.load_crabs}


def warm_start(report: Report) -> None:
    """Thirty fits to thirty training sets of Colon, each from zero or from the estimate before it."""
    if (bunch := report.load("Colon", datasets.load_colon)) is None:
        return
    y, every = bunch.target, np.arange(len(bunch.target))
    X = datasets.golub_preprocess(bunch.data, every, floor=None, ceiling=None) / np.sqrt(bunch.data.shape[1])
    rows = [train for train, _ in ShuffleSplit(30, test_size=12, random_state=report.seed).split(X)]
    for solver in ("component-wise", "newton"):
        seconds, objectives = {}, {}
        for warm in (False, True):
            model = SMLR(lam=LAM, solver=solver, parametrization="reference", tol=TOL, warm_start=warm)
            start = time.perf_counter()
            objectives[warm] = [model.fit(X[train], y[train]).objective_ for train in rows]
            seconds[warm] = time.perf_counter() - start
        same = np.allclose(objectives[True], objectives[False], rtol=2 * TOL)
        report.check(f"Colon, {solver}: a warm start ends at the same objective as a cold one", same)
        report.add(f"warm-start/{solver}", **{"times slower": round(seconds[False] / seconds[True], 2)})


def smooth(report: Report, name: str, limit: float) -> None:
    """CG and BFGS on the smoothed objective of an RBF classifier (gamma = 1 / p), to 1e-6 of the optimum."""
    if (bunch := report.load(name.title(), LOADERS[name])) is None:
        return
    rows = bunch.get("train", np.arange(len(bunch.target)))
    X, y, lam = StandardScaler().fit_transform(bunch.data[rows]), bunch.target[rows], LAM
    H = rbf_kernel(X, gamma=1 / X.shape[1])
    model = SMLR(lam=lam, basis=Precomputed(), parametrization="reference", fit_intercept=False, tol=TOL / 10)
    ours = min(_seconds(lambda: model.fit(H, y)) for _ in range(5))
    W, Y = _weights_and_labels(model, y, len(H))
    best = objective(W, H, Y, lam)
    report.check(f"{name.title()}: SMLR's own objective is what the formula gives", np.isclose(best, model.objective_))
    for method in ("CG", "BFGS"):
        trace = optimise(method, H, Y, lam, target=best * (1 + TOL), limit=limit)
        report.check(f"{name.title()}: {method} finds nothing better than SMLR", trace.objective >= best * (1 - TOL))
        ratio = (trace.seconds_to_target or trace.seconds) / ours
        text = f"{ratio:.0f}" if trace.seconds_to_target else f"> {ratio:.0f}, and {trace.objective / best - 1:.0e} off"
        report.add(f"smooth/{name}/{method}", **{"times slower": text})


def _weights_and_labels(model: SMLR, y, n: int) -> tuple[np.ndarray, np.ndarray]:
    """W, (n, m - 1), on all training samples, and one-hot labels with the reference class last.

    Of two classes the first is the reference; repeated samples share one centre.
    """
    m = len(model.classes_)
    coef = model.coef_[: max(1, m - 1)]
    W = np.zeros((n, len(coef)))
    W[model.basis_.center_index_] = coef.T
    return W, np.eye(m)[1 - y if m == 2 else y]


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
