"""Section 4 of Figueiredo (2003): variable selection, linear models, kernel regression, and classification.

Every method sees the same draws and splits. An SVM's parameters are chosen by cross-validation on the training samples;
where the paper does not give the kernel's width, the SVM's choice is used by all. README.md says what the paper leaves
open and how it was filled in.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import smaller
from experiments.figueiredo2003 import pictures
from experiments.harness import Part, Report
from smaller import JeffreysClassifier, JeffreysRegressor, datasets
from smaller.basis import Kernel
from smaller.data.synthetic import DESIGNS, make_gaussians, make_sinc, make_sparse_linear, make_tibshirani

HERE = Path(__file__).parent
WIDTHS = 2.0 ** np.arange(-8, 3, 2)  # times 1 / (number of features): the kernel's gamma
STRENGTHS = 10.0 ** np.arange(0, 4)
SINC_GAMMA, RIPLEY_GAMMA = 1 / 3.0**2, 1 / 0.5**2  # widths 3 and 0.5
DIMENSIONS = (2, 5, 10, 15, 20)
NOT_RUN = "not run"


# Linear regression


def selection(report: Report, quick: bool) -> None:
    """How many of 20 weights are kept when so many are not zero."""
    kept = {}
    for k in range(0, 21, 2):
        coef = np.where(np.arange(20) < k, 3.0, 0.0)
        draws = [make_sparse_linear(50, coef, random_state=seed) for seed in range(10 if quick else 50)]
        counts = [len(_quiet(JeffreysRegressor(), draw).support_) for draw in draws]
        kept[k] = float(np.mean(counts))
        report.add(f"selection/{k}", kept=[kept[k], int(min(counts)), int(max(counts))])
    report.check(
        "variable selection: on average no more than 2.5 columns too many or too few are kept",
        max(abs(count - k) for k, count in kept.items()) <= 2.5,
    )
    if not quick:
        pictures.selection(kept, HERE / "selection.svg")


def tibshirani(report: Report, quick: bool) -> None:
    """Median modelling errors, and their improvement on least squares in per cent."""
    for design in DESIGNS:
        errors: dict[str, list[float]] = {"least squares": [], "LassoCV": [], "Jeffreys": []}
        for seed in range(20 if quick else 100):
            draw = make_tibshirani(design, random_state=seed)
            for name, model in zip(errors, (LinearRegression(), LassoCV(), JeffreysRegressor()), strict=True):
                miss = _quiet(model, draw).coef_ - draw.coef
                errors[name].append(float(miss @ draw.covariance @ miss))
        base = np.median(errors["least squares"])
        for name, values in errors.items():
            median = float(np.median(values))
            report.add(f"tibshirani/{design}/{name}", error=median, improvement=float(100 * (1 - median / base)))
    gain = {design: report.results[f"tibshirani/{design}/Jeffreys"]["improvement"] for design in DESIGNS}
    report.check("Tibshirani's examples 1 and 3, of few weights: better than least squares", min(gain[1], gain[3]) > 0)


# Kernel regression


def sinc(report: Report, quick: bool) -> None:
    """Root mean squared error against the truth, and kernels."""
    draws = [make_sinc(random_state=seed) for seed in range(3 if quick else 25)]
    grid = {"C": 10.0 ** np.arange(-1, 3), "epsilon": [0.01, 0.03, 0.1, 0.2]}

    def support_vectors(draw):
        return GridSearchCV(SVR(gamma=SINC_GAMMA), grid, scoring="neg_mean_squared_error").fit(draw.data, draw.target)

    methods = {"SVM": support_vectors, **_kernel_methods(Kernel("rbf", gamma=SINC_GAMMA), "Regressor")}
    fitted = {name: [fit(draw) for draw in draws] for name, fit in methods.items() if fit}
    for name in methods:
        if name not in fitted:
            report.add(f"sinc/{name}", error=NOT_RUN, kernels=NOT_RUN)
            continue
        pairs = list(zip(fitted[name], draws, strict=True))
        errors = [np.sqrt(np.mean((model.predict(draw.data) - draw.truth) ** 2)) for model, draw in pairs]
        report.add(f"sinc/{name}", error=float(np.mean(errors)), kernels=float(np.mean([*map(_kernels, fitted[name])])))
    _check_fewer(report, "sinc")
    if not quick:
        pictures.sinc(draws[0], fitted["Jeffreys"][0], HERE / "sinc.svg")


def boston(report: Report, quick: bool) -> None:
    """Mean squared error and kernels, on random partitions into 481 and 25."""
    if (bunch := report.load("Boston housing", datasets.load_boston)) is None:
        return
    found: dict[str, list[tuple[float, float]]] = {}
    for train, test in ShuffleSplit(2 if quick else 10, test_size=25, random_state=report.seed).split(bunch.data):
        X, y = StandardScaler().fit(bunch.data[train]).transform(bunch.data), bunch.target
        grid = {"C": STRENGTHS, "gamma": WIDTHS[1:] / X.shape[1], "epsilon": [1.0]}
        machine = GridSearchCV(SVR(), grid, cv=3, scoring="neg_mean_squared_error").fit(X[train], y[train])
        basis = Kernel("rbf", gamma=machine.best_params_["gamma"])
        methods = {"SVM": lambda draw, machine=machine: machine, **_kernel_methods(basis, "Regressor")}
        for name, fit in methods.items():
            if fit:
                model = fit(_Draw(X[train], y[train]))
                error = float(np.mean((model.predict(X[test]) - y[test]) ** 2))
                found.setdefault(name, []).append((error, _kernels(model)))
    for name in ("SVM", "RVM", "Jeffreys"):
        error, kernels = np.mean(found[name], axis=0).tolist() if name in found else (NOT_RUN, NOT_RUN)
        report.add(f"boston/{name}", error=error, kernels=kernels)
    _check_fewer(report, "boston")


# Classification


def gaussians(report: Report, quick: bool) -> None:
    """Test errors of linear and quadratic classifiers as useless inputs are added."""
    setups: dict[str, tuple[int, Any, Any]] = {
        "linear": (50, LinearDiscriminantAnalysis(), JeffreysClassifier()),
        "quadratic": (100, QuadraticDiscriminantAnalysis(), JeffreysClassifier(basis="quadratic")),
    }
    curves: dict[str, dict[str, list[float]]] = {}
    for kind, (per_class, plug_in, ours) in setups.items():
        curves[kind] = {"plug-in": [], "Jeffreys": []}
        for p in DIMENSIONS:
            errors: dict[str, list[float]] = {"plug-in": [], "Jeffreys": []}
            for seed in range(3 if quick else 25):
                draw = make_gaussians(2 * per_class, p, random_state=seed)
                new = make_gaussians(2000, p, random_state=10_000 + seed)
                for name, model in (("plug-in", plug_in), ("Jeffreys", ours)):
                    errors[name].append(100 * float(np.mean(_quiet(model, draw).predict(new.data) != new.target)))
            for name, values in errors.items():
                curves[kind][name].append(float(np.mean(values)))
                report.add(f"gaussians/{kind}/{p}/{name}", error=float(np.mean(values)))
        rise = {name: curve[-1] - curve[0] for name, curve in curves[kind].items()}
        report.check(
            f"Gaussians, {kind}: with 20 inputs the error has risen less than the plug-in classifier's",
            rise["Jeffreys"] < rise["plug-in"],
        )
    if not quick:
        pictures.gaussians(DIMENSIONS, curves, HERE / "gaussians.svg")


def classify(report: Report, key: str, bunch, splits: Iterable, gamma: float | None = None, rate: bool = False) -> None:
    """Errors on the test samples, on average or as a rate in per cent, and kernels; a width where one is given."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    splits = list(splits)
    if not splits:
        report.skip(key, f"{bunch.source} does not carry the training and test samples of the literature")
        return
    for train, test in splits:
        X, y = bunch.data, bunch.target
        X = X if gamma else StandardScaler().fit(X[train]).transform(X)
        machine = _svc(X[train], y[train], gamma)
        basis = Kernel("rbf", gamma=gamma or machine.best_params_["estimator__gamma"])
        methods = {"SVM": lambda draw, machine=machine: machine, **_kernel_methods(basis, "Classifier")}
        for name, fit in methods.items():
            if fit:
                model = fit(_Draw(X[train], y[train]))
                wrong = int((model.predict(X[test]) != y[test]).sum())
                found.setdefault(name, []).append((wrong, len(test), _kernels(model)))
    for name in ("SVM", "RVM", "Jeffreys"):
        if name not in found:
            report.add(f"{key}/{name}", errors=NOT_RUN, kernels=NOT_RUN)
            continue
        wrong, tested, kernels = np.array(found[name]).T
        errors = 100 * wrong.sum() / tested.sum() if rate else wrong.mean()
        report.add(f"{key}/{name}", errors=float(errors), kernels=float(kernels.mean()))
    _check_fewer(report, key)


def _svc(X, y, gamma: float | None):
    """One-versus-rest SVM, its C, and the kernel's width unless it is given, chosen by cross-validation."""
    grid = {"estimator__C": STRENGTHS, "estimator__gamma": [gamma] if gamma else WIDTHS / X.shape[1]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rarest class of the glass data is rarer than the folds are many
        return GridSearchCV(OneVsRestClassifier(SVC()), grid, cv=folds).fit(X, y)


def by_width(report: Report) -> None:
    """Crabs: errors of the SVM, its C chosen by cross-validation, and of ours, for every width of the kernel."""
    if (bunch := report.load("Crabs", datasets.load_crabs)) is None:
        return
    for width in WIDTHS:
        X, y = StandardScaler().fit(bunch.data[bunch.train]).transform(bunch.data), bunch.target
        gamma = width / X.shape[1]
        draw = _Draw(X[bunch.train], y[bunch.train])
        methods = {"SVM": lambda draw, gamma=gamma: _svc(draw.data, draw.target, gamma)}
        for name, fit in {**methods, **_kernel_methods(Kernel("rbf", gamma=gamma), "Classifier")}.items():
            model = fit(draw) if fit else None
            errors = NOT_RUN if model is None else int((model.predict(X[bunch.test]) != y[bunch.test]).sum())
            kernels = NOT_RUN if model is None else _kernels(model)
            report.add(f"crabs/width/{width:g}/{name}", errors=errors, kernels=kernels)


def real_data(report: Report, quick: bool) -> None:
    """Ripley, Pima, crabs, breast cancer and glass."""
    if (bunch := report.load("Ripley", datasets.load_ripley)) is not None:
        rng = np.random.default_rng(report.seed)
        subsets = [rng.choice(bunch.train, 100, replace=False) for _ in range(3 if quick else 20)]
        classify(report, "ripley", bunch, [(subset, bunch.test) for subset in subsets], RIPLEY_GAMMA, rate=True)
    for key, load in {"pima": datasets.load_pima, "crabs": datasets.load_crabs}.items():
        if (bunch := report.load(key.capitalize(), load)) is not None:
            classify(report, key, bunch, bunch.splits)
    bunch = report.load("Breast cancer", datasets.load_breast_cancer)
    halves = ShuffleSplit(2 if quick else 5, train_size=300, random_state=report.seed)
    classify(report, "breast_cancer", bunch, halves.split(bunch.data))
    if (bunch := report.load("Forensic glass", datasets.load_forensic_glass)) is not None:
        classify(report, "glass", bunch, bunch.splits[:2] if quick else bunch.splits, rate=True)


# What the parts share


class _Draw:
    """Training samples, under the names of a Bunch."""

    def __init__(self, data, target):
        self.data, self.target = data, target


def _quiet(model, draw):
    """Fit; that all weights were pruned, or the noise collapsed, shows in the figures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(draw.data, draw.target)


def _kernel_methods(basis: Kernel, kind: str) -> dict[str, Callable | None]:
    """Fits of the RVM, where the library has it, and of ours."""
    ours = {"Regressor": JeffreysRegressor, "Classifier": JeffreysClassifier}[kind]
    rvm = getattr(smaller, f"RVM{kind}", None)
    return {
        "RVM": None if rvm is None else lambda draw: _quiet(rvm(basis=basis), draw),
        "Jeffreys": lambda draw: _quiet(ours(basis=basis), draw),
    }


def _kernels(model) -> int:
    """How many kernels a fit keeps, summed over one-versus-rest machines."""
    model = getattr(model, "best_estimator_", model)
    machines = getattr(model, "estimators_", [model])
    if isinstance(machines[0], (SVC, SVR)):
        return sum(len(machine.support_) for machine in machines)
    return int(np.count_nonzero(model.coef_))


def _check_fewer(report: Report, key: str) -> None:
    kernels = {name: report.results[f"{key}/{name}"]["kernels"] for name in ("Jeffreys", "SVM")}
    report.check(f"{key}: fewer kernels than the SVM has", kernels["Jeffreys"] < kernels["SVM"])


def widths(report: Report, quick: bool) -> None:
    """Crabs for every width of the kernel; nothing in a quick run."""
    if not quick:
        by_width(report)


PARTS: dict[str, Part] = {
    "selection": selection,
    "tibshirani": tibshirani,
    "sinc": sinc,
    "gaussians": gaussians,
    "boston": boston,
    "real_data": real_data,
    "widths": widths,
}
