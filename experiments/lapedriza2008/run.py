"""Section 4 of Lapedriza et al. (2008): relevance vector machines, boosted lasso, and gates for the inputs.

Every method sees the same splits and draws. Widths of kernels are chosen by cross-validation on eleven draws that are
used for nothing else, or on the training parts of the first three splits, once for each data set, and shared by the RVM
and the L-RVM; the point of a path is chosen by cross-validation inside every fit or, of the Gaussians, on a draw of its
own. README.md says what the paper leaves open and how it was filled in.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from experiments.harness import Part, Report
from experiments.lapedriza2008 import filters, judge, pictures
from smaller import JCFO, JFSCL, LRVM, RVMClassifier, datasets, tune_width
from smaller.basis import Kernel
from smaller.basis.gated import HALF_OPEN_WIDTH
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.synthetic import make_gaussians

HERE = Path(__file__).parent
SETS = {
    "diabetis": ("PIMA Diabetes", datasets.load_ida_diabetis, 468),
    "breast_cancer": ("Breast Cancer", datasets.load_ida_breast_cancer, 200),
    "heart": ("Heart", datasets.load_ida_heart, 170),
}
SPLITS, JCFO_SPLITS, FILTER_SPLITS = 100, 10, 50
DIMENSIONS = (2, 10, 20, 30, 40)
DISTANCES = (0.25, 0.5, 0.75)  # of a centroid from the middle: what the paper calls the centroid distance
RUNS, SENSITIVITY_RUNS, REASON_RUNS = 50, 20, 20
STEEPNESS, STEPS = (1, 10, 20, 40, 80, 100, 500), (0.4, 0.8, 1.2, 2.0, 5.0, 10.0)
WIDTHS = 2.0 ** np.arange(-5, 2, 2)  # over the number of inputs: of kernels
GATED_WIDTHS = 3 * WIDTHS  # of gated ones, whose gates are half open at first
SPARE = range(10_000, 10_011)  # draws on which the widths for the Gaussians are chosen
PLAIN, GATED = 0.125, 0.375  # what is chosen there, times the number of inputs: for L-RVM and RVM, and for JFSCL
SATURATED = 40.0  # from this product of steepness and step on a step makes a gate exactly 1, or 0
NARROW = 1.0  # a narrower kernel of the L-RVM, in the same units
MINUTES = float(os.environ.get("SMALLER_MINUTES", "inf"))  # after which a part begins no further run
LEAST = 2  # runs that it makes all the same
WALK: dict[str, Any] = {"cv": 3, "rule": "min", "lam_ratio": 0.02}  # of every path


class Half(NamedTuple):
    """Inputs and labels."""

    X: np.ndarray
    y: np.ndarray


def fitted(model, train: Half, held: Half | None = None):
    """The model after its fit, on held-out samples too if it needs them; one that keeps nothing counts as it is."""
    more = {} if held is None or getattr(model, "lam", None) != "validation" else {"X_val": held.X, "y_val": held.y}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(*train, **more)


def error(model, test: Half) -> float:
    """Of 100 test samples."""
    return 100 * float(np.mean(model.predict(test.X) != test.y))


def tuned(model, samples: list[Half]):
    """The model with its width chosen by cross-validation, the median of the choices on these samples; not fitted."""
    factors = GATED_WIDTHS / HALF_OPEN_WIDTH if isinstance(model, JFSCL) else WIDTHS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [tune_width(model, *train, factors=factors).get_params() for train in samples]
    if isinstance(model, JFSCL):
        return clone(model).set_params(gamma=float(np.median([each["gamma"] for each in found])))
    return clone(model).set_params(basis=Kernel("rbf", gamma=float(np.median([each["basis"].gamma for each in found]))))


def rounds(items: Iterable) -> Iterator:
    """Those for which there is time."""
    began = time.monotonic()
    for k, item in enumerate(items):
        if k >= LEAST and time.monotonic() - began > 60 * MINUTES:
            print(f"  {60 * MINUTES:.0f} seconds are over after {k} runs", flush=True)
            return
        yield item


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
    sets = {name: bunch for name, (_, load, _) in SETS.items() if (bunch := report.load(name, load)) is not None}
    fresh = {
        name: list(splits(bunch, SETS[name][2], 2 if quick else SPLITS, report.seed)) for name, bunch in sets.items()
    }
    models = {name: _selectors(pairs) for name, pairs in fresh.items()}
    found: dict[str, dict[str, list[float]]] = {}
    for k in rounds(range(2 if quick else SPLITS)):
        for name, methods in models.items():
            train, test = fresh[name][k]
            for method, model in methods.items():
                if method == "JCFO" and k >= JCFO_SPLITS:
                    continue
                machine = fitted(model, train)
                figures = found.setdefault(f"table5/{name}/{method}", {"error": [], "rejected": []})
                figures["error"].append(error(machine, test))
                figures["rejected"].append(100 * float(np.mean(~machine.get_support())))
    for key, figures in found.items():
        judge.add(report, key, figures)


def _selectors(pairs: list[tuple[Half, Half]]) -> dict[str, Any]:
    """JFSCL with the width that cross-validation on training samples chooses, and JCFO as it comes."""
    return {"JFSCL": tuned(JFSCL(**WALK), [train for train, _ in pairs[:3]]), "JCFO": JCFO(tol=1e-4)}


def filtered(report: Report, quick: bool) -> None:
    """Tables 6 to 8: features chosen first, then the L-RVM."""
    sets = {name: bunch for name, (_, load, _) in SETS.items() if (bunch := report.load(name, load)) is not None}
    count = 1 if quick else FILTER_SPLITS
    fresh = {name: list(splits(bunch, SETS[name][2], max(count, 3), report.seed)) for name, bunch in sets.items()}
    width = {
        name: tuned(LRVM(step=1.0, **WALK), [t for t, _ in pairs[:3]]).basis.gamma for name, pairs in fresh.items()
    }
    found: dict[str, dict[str, list[float]]] = {}
    for k in rounds(range(count)):
        for name, pairs in fresh.items():
            p = pairs[k][0].X.shape[1]
            sizes = (2,) if quick else range(1, p)
            for method, size, wrong in _filter(*pairs[k], p * width[name], sizes):
                found.setdefault(f"filters/{name}/{size}", {}).setdefault(method, []).append(wrong)
    for key, figures in found.items():
        judge.add(report, key, figures)


def _filter(train: Half, test: Half, width: float, sizes) -> Iterator[tuple[str, int, float]]:
    """Method, number of features, and the error of the L-RVM on them; widths go with one over the number."""
    known: dict[tuple[int, ...], float] = {}  # methods often choose the same
    for method, select in filters.METHODS.items():
        for size, columns in select(*train, sizes).items():
            key = tuple(sorted(map(int, columns)))
            if key not in known:
                model = LRVM(Kernel("rbf", gamma=width / size), step=1.0, **WALK)
                machine = fitted(model, Half(train.X[:, key], train.y))
                known[key] = error(machine, Half(test.X[:, key], test.y))
            yield method, size, known[key]


# Gaussians


def draw(d: int, half: float, seed: int) -> tuple[Half, Half, Half]:
    """200 samples for training, 1000 for test and 200 on which points of paths are chosen, half of each class."""
    sizes = (200, 1000, 200)
    parts = [make_gaussians(n, d, distance=2 * half, random_state=3 * seed + k) for k, n in enumerate(sizes)]
    train, test, held = (Half(part.data, part.target) for part in parts)
    return train, test, held


def widths(report: Report, quick: bool) -> None:
    """That cross-validation on spare draws of ten inputs chooses the widths that are used."""
    if quick:
        return
    spare = [draw(10, 1.0, seed)[0] for seed in SPARE]
    chosen = 10 * tuned(LRVM(step=1.0, **WALK), spare).basis.gamma, 10 * tuned(JFSCL(**WALK), spare).gamma
    report.check("Gaussians: the widths used are those chosen on spare draws", np.allclose(chosen, (PLAIN, GATED)))


def machines(d: int) -> dict[str, Any]:
    """L-RVM and JFSCL for d inputs."""
    walk = {"lam": "validation", "lam_ratio": WALK["lam_ratio"]}
    return {"L-RVM": LRVM(Kernel("rbf", gamma=PLAIN / d), step=1.0, **walk), "JFSCL": JFSCL(GATED / d, **walk)}


def figure2(report: Report, quick: bool) -> None:
    """Error against dimension."""
    errors: dict[str, dict[str, list[float]]] = {}
    kept: list[np.ndarray] = []
    dimensions = (2, 10) if quick else DIMENSIONS
    for seed in rounds(range(2 if quick else RUNS)):
        for d in dimensions:
            train, test, held = draw(d, 1.0, seed)
            for method, model in {**machines(d), "RVM": RVMClassifier(Kernel("rbf", gamma=PLAIN / d))}.items():
                machine = fitted(model, train, held)
                errors.setdefault(f"1.0/{method}", {}).setdefault(str(d), []).append(error(machine, test))
                if method == "JFSCL" and d == dimensions[-1]:
                    kept.append(machine.get_support())
    for key, found in errors.items():
        judge.add(report, f"gaussians/{key}", found)
    _check_gates(report, quick, kept)
    _draw(report, quick)


def scaled(report: Report, quick: bool) -> None:
    """JCFO on the draws of Figure 2, beyond the paper."""
    errors: dict[str, list[float]] = {}
    for seed in rounds(range(2 if quick else RUNS)):
        for d in (2, 10) if quick else DIMENSIONS:
            train, test, _ = draw(d, 1.0, seed)
            errors.setdefault(str(d), []).append(error(fitted(JCFO(2.0, 100.0, tol=1e-4), train), test))
    judge.add(report, "gaussians/1.0/JCFO", errors)
    _draw(report, quick)


def _draw(report: Report, quick: bool) -> None:
    """Figure 2, from what this part and those before it found."""
    if quick:
        return
    recorded = HERE / "ours.json"
    known = json.loads(recorded.read_text(encoding="utf-8"))["results"] if recorded.exists() else {}
    pictures.dimensions({**known, **report.results}, DIMENSIONS, HERE / "figure2.svg")


def _check_gates(report: Report, quick: bool, kept: list[np.ndarray]) -> None:
    """Whether JFSCL beats the machines without gates, and which inputs it keeps."""
    both = float(np.mean([mask[:2].all() for mask in kept]))
    claim = f"Figure 2: with {len(kept[0])} inputs JFSCL keeps both that matter in at least 95 of 100 runs"
    report.check(claim, both >= 0.95)
    if quick:
        return
    report.add("gates/40", informative=100 * both, noise=float(np.mean([mask[2:].sum() for mask in kept])))
    last = {name: report.results[f"gaussians/1.0/{name}"]["40"][0] for name in ("RVM", "L-RVM", "JFSCL")}
    claim = "Figure 2: with the most inputs JFSCL makes fewer errors than RVM and L-RVM"
    report.check(claim, last["JFSCL"] < min(last["RVM"], last["L-RVM"]))


def table3(report: Report, quick: bool) -> None:
    """Error against dimension for classes that overlap more."""
    dimensions, distances = ((2, 10), DISTANCES[1:2]) if quick else (DIMENSIONS, DISTANCES)
    errors: dict[str, dict[str, list[float]]] = {}
    for seed in rounds(range(2 if quick else RUNS)):
        for d, half in product(dimensions, distances):
            train, test, held = draw(d, half, seed)
            for method, model in machines(d).items():
                found = errors.setdefault(f"{half}/{method}", {}).setdefault(str(d), [])
                found.append(error(fitted(model, train, held), test))
    for key, found in errors.items():
        judge.add(report, f"gaussians/{key}", found)


def table4(report: Report, quick: bool) -> None:
    """Sensitivity to the steepness of the gates and to the step."""
    steps, steep = ((1.2,), (10, 20)) if quick else (STEPS, STEEPNESS)
    errors: dict[float, dict[str, list[float]]] = {step: {str(k): [] for k in steep} for step in steps}
    for seed in rounds(range(1 if quick else SENSITIVITY_RUNS)):
        train, test, held = draw(40, 1.0, seed)
        known: dict[tuple[float, float], float] = {}
        for step, k in product(steps, steep):
            setting = step, min(k * step, SATURATED)
            if setting not in known:
                model = machines(40)["JFSCL"].set_params(step=step, steepness=float(k))
                known[setting] = error(fitted(model, train, held), test)
            errors[step][str(k)].append(known[setting])
    for step, found in errors.items():
        judge.add(report, f"table4/{step:g}", found)
    if not quick:
        pictures.sensitivity(report.results, STEPS, STEEPNESS, HERE / "table4.svg")


def reasons(report: Report, quick: bool) -> None:
    """What README.md gives as reasons for differences of Table 3, tried."""
    dimensions, distances = ((2, 10), (0.5,)) if quick else (DIMENSIONS, (0.25, 0.5, 1.0))
    errors: dict[str, dict[str, list[float]]] = {}
    for seed in rounds(range(2 if quick else REASON_RUNS)):
        for d, half in product(dimensions, distances):
            train, test, held = draw(d, half, seed)
            for reason, (model, sample) in _alternatives(d, half, seed, held).items():
                found = errors.setdefault(f"{reason}/{half}", {}).setdefault(str(d), [])
                found.append(error(fitted(model, train, sample), test))
    for key, found in errors.items():
        judge.add(report, f"reasons/{key}", found)


def _alternatives(d: int, half: float, seed: int, held: Half) -> dict[str, tuple[Any, Half]]:
    """A narrower kernel of the L-RVM; the point of JFSCL's path chosen on many samples, or by errors."""
    narrow = machines(d)["L-RVM"].set_params(basis=Kernel("rbf", gamma=NARROW / d))
    many = make_gaussians(5000, d, distance=2 * half, random_state=30_000 + seed)
    jfscl = machines(d)["JFSCL"]
    if half == 1.0:
        return {"narrow": (narrow, held)}
    return {
        "narrow": (narrow, held),
        "many": (jfscl, Half(many.data, many.target)),
        "errors": (clone(jfscl).set_params(scoring="accuracy"), held),
    }


PARTS: dict[str, Part] = {
    "widths": widths,
    "table2": table2,
    "figure2": figure2,
    "scaled": scaled,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "filters": filtered,
    "reasons": reasons,
}
