"""Section 4 of Lapedriza et al. (2008): relevance vector machines, boosted lasso, and gates for the inputs.

Every method sees the same splits and draws. Widths of kernels are chosen by cross-validation on three draws that are
used for nothing else, or on the training parts of the first three splits, once for each data set, and shared by the RVM
and the L-RVM; the point of a path is chosen by cross-validation inside every fit. README.md says what the paper
leaves open and how it was filled in.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from experiments.harness import Part, Report
from experiments.lapedriza2008 import filters, judge, pictures
from smaller import JCFO, JFSCL, LRVM, RVMClassifier, datasets, tune_width
from smaller.basis import Kernel
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.synthetic import make_gaussians

HERE = Path(__file__).parent
SETS = {
    "diabetis": ("PIMA Diabetes", datasets.load_ida_diabetis, 468),
    "breast_cancer": ("Breast Cancer", datasets.load_ida_breast_cancer, 200),
    "heart": ("Heart", datasets.load_ida_heart, 170),
}
SPLITS, JCFO_SPLITS, FILTER_SPLITS = 100, 10, 8
DIMENSIONS = (2, 10, 20, 30, 40)
DISTANCES = (0.25, 0.5, 0.75)  # of a centroid from the middle: what the paper calls the centroid distance
RUNS, OTHER_RUNS, SENSITIVITY_RUNS = 20, 8, 3
STEEPNESS, STEPS = (1, 10, 20, 40, 80, 100, 500), (0.4, 0.8, 1.2, 2.0, 5.0, 10.0)
WIDTHS = 2.0 ** np.arange(-5, 2, 2)  # times a model's default
SPARE = range(10_000, 10_003)  # draws on which widths are chosen
WALK: dict[str, Any] = {"cv": 3, "lam_ratio": 0.02}  # of every path


class Half(NamedTuple):
    """Inputs and labels."""

    X: np.ndarray
    y: np.ndarray


def fitted(model, train: Half):
    """The model after its fit; a model that keeps nothing, or stops early, counts as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(*train)


def error(model, test: Half) -> float:
    """Of 100 test samples."""
    return 100 * float(np.mean(model.predict(test.X) != test.y))


def tuned(model, samples: list[Half]):
    """The model with its width chosen by cross-validation, the median of the choices on these samples; not fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [tune_width(model, *train, factors=WIDTHS).get_params() for train in samples]
    if isinstance(model, JFSCL):
        return clone(model).set_params(gamma=float(np.median([each["gamma"] for each in found])))
    return clone(model).set_params(basis=Kernel("rbf", gamma=float(np.median([each["basis"].gamma for each in found]))))


# The three data sets


def splits(bunch, size: int, count: int, seed: int) -> Iterator[tuple[Half, Half]]:
    """Random partitions, as the published ones are; the data are standardised as a whole, as published."""
    X, y = bunch.data, bunch.target
    for k in range(count):
        order = np.random.default_rng((seed, k)).permutation(len(y))
        train, test = order[:size], order[size:]
        yield Half(X[train], y[train]), Half(X[test], y[test])


def published(bunch) -> list[tuple[Half, Half]]:
    """The partitions that come with the data."""
    X, y = bunch.data, bunch.target
    return [(Half(X[train], y[train]), Half(X[test], y[test])) for train, test in bunch.splits]


def table2(report: Report, quick: bool) -> None:
    """The RVM and the L-RVM."""
    for name, (_, load, size) in SETS.items():
        if (bunch := report.load(name, load)) is None:
            continue
        fresh = list(splits(bunch, size, 3 if quick else SPLITS, report.seed))
        lrvm = tuned(LRVM(step=1.0, **WALK), [train for train, _ in fresh[:3]])
        models = {"RVM": RVMClassifier(lrvm.basis), "L-RVM": lrvm}
        for method, model in models.items():
            for kind, pairs in (("", fresh), ("/published", published(bunch)[: 2 if quick else None])):
                ended = [(fitted(model, train), test) for train, test in pairs]
                errors = [error(machine, test) for machine, test in ended]
                kept = float(np.mean([len(machine.support_) for machine, _ in ended]))
                judge.add(report, f"table2/{name}/{method}{kind}", {"error": errors}, kernels=kept)
        means = [np.mean(report.results[f"table2/{name}/{method}"]["error"][0]) for method in models]
        if not quick:
            report.check(f"Table 2, {name}: the RVM and the L-RVM differ by at most 1.5 points", np.ptp(means) <= 1.5)


def table5(report: Report, quick: bool) -> None:
    """Rejected features, by gates and, beyond the paper, by scalings."""
    for name, (_, load, size) in SETS.items():
        if (bunch := report.load(name, load)) is None:
            continue
        fresh = list(splits(bunch, size, 2 if quick else SPLITS, report.seed))
        grid = {"lam": [1.0, 2.0], "lam_theta": [10.0, 100.0]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jcfo = GridSearchCV(JCFO(tol=1e-4), grid, cv=3).fit(*fresh[0][0]).best_params_
        models = {
            "JFSCL": (tuned(JFSCL(**WALK), [train for train, _ in fresh[:3]]), fresh),
            "JCFO": (JCFO(tol=1e-4, **jcfo), fresh[:JCFO_SPLITS]),
        }
        for method, (model, pairs) in models.items():
            ended = [(fitted(model, train), test) for train, test in pairs]
            errors = [error(machine, test) for machine, test in ended]
            rejected = [100 * float(np.mean(~machine.get_support())) for machine, _ in ended]
            judge.add(report, f"table5/{name}/{method}", {"error": errors, "rejected": rejected})


def filtered(report: Report, quick: bool) -> None:
    """Tables 6 to 8: features chosen first, then the L-RVM."""
    for name, (_, load, size) in SETS.items():
        if (bunch := report.load(name, load)) is None:
            continue
        fresh = list(splits(bunch, size, 1 if quick else FILTER_SPLITS, report.seed))
        p = bunch.data.shape[1]
        sizes = range(1, p) if not quick else (2,)
        width = tuned(LRVM(step=1.0, **WALK), [train for train, _ in fresh[:3]]).basis.gamma * p
        errors: dict[int, dict[str, list[float]]] = {k: {method: [] for method in filters.METHODS} for k in sizes}
        for train, test in fresh:
            for method, select in filters.METHODS.items():
                for k, columns in select(*train, sizes).items():
                    model = LRVM(Kernel("rbf", gamma=width / k), step=1.0, **WALK)
                    machine = fitted(model, Half(train.X[:, columns], train.y))
                    errors[k][method].append(error(machine, Half(test.X[:, columns], test.y)))
        for k, found in errors.items():
            judge.add(report, f"filters/{name}/{k}", found)


# Gaussians


def draw(d: int, half: float, seed: int) -> tuple[Half, Half]:
    """200 samples for training and 1000 for test, half of each class."""
    train, test = (
        make_gaussians(n, d, distance=2 * half, random_state=s) for n, s in ((200, 2 * seed), (1000, 2 * seed + 1))
    )
    return Half(train.data, train.target), Half(test.data, test.target)


def machines(d: int) -> dict[str, Any]:
    """L-RVM and JFSCL with widths over d; which, is chosen by cross-validation on spare draws of ten inputs."""
    spare = [draw(10, 1.0, seed)[0] for seed in SPARE]
    lrvm, jfscl = tuned(LRVM(step=1.0, **WALK), spare), tuned(JFSCL(**WALK), spare)
    basis = Kernel("rbf", gamma=10 * lrvm.basis.gamma / d)
    return {"L-RVM": lrvm.set_params(basis=basis), "JFSCL": jfscl.set_params(gamma=10 * jfscl.gamma / d)}


def figure2(report: Report, quick: bool) -> None:
    """Error against dimension."""
    errors: dict[str, dict[str, list[float]]] = {}
    kept: list[np.ndarray] = []
    dimensions = (2, 10) if quick else DIMENSIONS
    for d in dimensions:
        models = machines(d)
        models |= {"RVM": RVMClassifier(models["L-RVM"].basis), "JCFO": JCFO(2.0, 100.0, tol=1e-4)}
        for seed in range(2 if quick else RUNS):
            train, test = draw(d, 1.0, seed)
            for method, model in models.items():
                machine = fitted(model, train)
                errors.setdefault(f"1.0/{method}", {}).setdefault(str(d), []).append(error(machine, test))
                if method == "JFSCL" and d == dimensions[-1]:
                    kept.append(machine.get_support())
    for key, found in errors.items():
        judge.add(report, f"gaussians/{key}", found)
    _check_gates(report, quick, kept)
    if not quick:
        pictures.dimensions(errors, HERE / "figure2.svg")


def _check_gates(report: Report, quick: bool, kept: list[np.ndarray]) -> None:
    """Whether JFSCL beats the machines without gates, and which inputs it keeps."""
    most = str(len(kept[0]))
    last = {name: report.results[f"gaussians/1.0/{name}"][most][0] for name in ("RVM", "L-RVM", "JFSCL")}
    claim = "Figure 2: with the most inputs JFSCL makes fewer errors than RVM and L-RVM"
    report.check(claim, last["JFSCL"] < min(last["RVM"], last["L-RVM"]))
    if quick:
        return
    both = float(np.mean([mask[:2].all() for mask in kept]))
    report.add("gates/40", informative=100 * both, noise=float(np.mean([mask[2:].sum() for mask in kept])))
    report.check("Figure 2: with 40 inputs JFSCL keeps both that matter in at least 95 of 100 runs", both >= 0.95)


def table3(report: Report, quick: bool) -> None:
    """Error against dimension for classes that overlap more."""
    dimensions, distances = ((2, 10), DISTANCES[1:2]) if quick else (DIMENSIONS, DISTANCES)
    errors: dict[str, dict[str, list[float]]] = {}
    for d in dimensions:
        models = machines(d)
        for half in distances:
            for seed in range(2 if quick else OTHER_RUNS):
                train, test = draw(d, half, seed)
                for method, model in models.items():
                    found = errors.setdefault(f"{half}/{method}", {}).setdefault(str(d), [])
                    found.append(error(fitted(model, train), test))
    for key, found in errors.items():
        judge.add(report, f"gaussians/{key}", found)


def table4(report: Report, quick: bool) -> None:
    """Sensitivity to the steepness of the gates and to the step."""
    steps, steep = ((1.2,), (10, 20)) if quick else (STEPS, STEEPNESS)
    width = machines(40)["JFSCL"].gamma
    grid = {}
    for step in steps:
        found: dict[str, list[float]] = {str(k): [] for k in steep}
        for seed in range(1 if quick else SENSITIVITY_RUNS):
            train, test = draw(40, 1.0, seed)
            for k in steep:
                machine = fitted(JFSCL(width, step=step, steepness=float(k), **WALK), train)
                found[str(k)].append(error(machine, test))
        judge.add(report, f"table4/{step:g}", found)
        grid[step] = [float(np.mean(values)) for values in found.values()]
    if not quick:
        pictures.sensitivity(grid, STEEPNESS, HERE / "table4.svg")


PARTS: dict[str, Part] = {
    "table2": table2,
    "figure2": figure2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "filters": filtered,
}
