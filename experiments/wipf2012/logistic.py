"""Type II logistic regression against the RVM: "performs nearly identically" (section 5, after Theorem 3).

Both see the same kernels on the same training samples, standardised by these. The width is each model's own choice, by
its evidence; or one for both: that of the RVM's evidence, or of its log-loss in five folds of the training samples.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest, t
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from experiments.harness import Report
from smaller import RVMClassifier, TypeIIClassifier, datasets
from smaller.basis import Kernel
from smaller.design import as_design
from smaller.objective.laplace_evidence import LaplaceEvidence

WIDTHS = 2.0 ** np.arange(-8, 3, 2)  # times 1 / (number of features): the kernel's gamma
SPLITS = 5  # the first ones, where a set has more
NEAR = 1.5  # percentage points of error that count as nearly identical
RULES = ("own", "evidence", "folds")
NAMES = ("RVM", "Type II")


class Alone(TypeIIClassifier):
    """Type II from its own two starts, without the one at a relevance vector machine's variances."""

    def _machines(self, objective) -> np.ndarray:
        return np.zeros((objective.design.d, objective.k))


class Problem(NamedTuple):
    """A set with its splits; how many of these are used."""

    label: str
    load: Callable[[], Any]
    splits: int = SPLITS


SETS = {
    "ripley": Problem("Ripley", datasets.load_ripley),
    "pima": Problem("Pima", datasets.load_pima),
    "crabs": Problem("Crabs", datasets.load_crabs),
    "banana": Problem("Banana", datasets.load_ida_banana),
    "breast_cancer": Problem("Breast cancer (IDA)", datasets.load_ida_breast_cancer),
    "diabetis": Problem("Diabetis", datasets.load_ida_diabetis),
    "flare_solar": Problem("Flare solar", datasets.load_ida_flare_solar),
    "heart": Problem("Heart", datasets.load_ida_heart),
    "image": Problem("Image", datasets.load_ida_image, 2),
    "ringnorm": Problem("Ringnorm", datasets.load_ida_ringnorm),
    "thyroid": Problem("Thyroid", datasets.load_ida_thyroid),
    "waveform": Problem("Waveform (IDA)", datasets.load_ida_waveform),
}


class Data(NamedTuple):
    """One split, in the units of its training samples; labels are 0 and 1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Fitted(NamedTuple):
    """A model of one width with what it is judged by."""

    model: Any
    seconds: float  # of the processor
    samples: int

    @property
    def criterion(self) -> float:
        """Log evidence by Laplace's approximation, or the bound of it that Type II maximises."""
        constant = 0.5 * self.samples * np.log(4) if isinstance(self.model, TypeIIClassifier) else 0.0
        return float(constant - self.model.objective_)


# One split


def split(bunch, number: int) -> Data:
    """The split of this number."""
    train, test = bunch.splits[number]
    scaler, y = StandardScaler().fit(bunch.data[train]), np.unique(bunch.target, return_inverse=True)[1]
    return Data(scaler.transform(bunch.data[train]), y[train], scaler.transform(bunch.data[test]), y[test])


def machines(width: float, d: int) -> tuple[RVMClassifier, TypeIIClassifier, Alone]:
    """The models with one kernel."""
    basis = Kernel("rbf", gamma=width / d)
    return RVMClassifier(basis), TypeIIClassifier(basis, max_iter=2000), Alone(basis, max_iter=2000)


def fit(model, data: Data) -> Fitted:
    """Fit; models without a column are among the widths, and their evidence shows it."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    return Fitted(model, time.process_time() - start, len(data.y))


def by_folds(data: Data) -> int:
    """The width of the RVM's least log-loss in five folds of the training samples."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = [
            -cross_val_score(model, data.X, data.y, cv=folds, scoring="neg_log_loss").mean()
            for model in (machines(width, data.X.shape[1])[0] for width in WIDTHS)
        ]
    return int(np.argmin(losses))


def criteria(fitted: Fitted, data: Data) -> tuple[float, float]:
    """Laplace's evidence and the bound (24) at the variances of a model, whichever of the two it maximised."""
    model = fitted.model
    Phi = np.asfortranarray(model.basis_.transform(data.X))
    evidence = LaplaceEvidence(as_design(Phi, intercept=True), data.y[:, None].astype(float))
    rows = np.flatnonzero(model.gamma_)
    alpha = 1 / (model.gamma_[rows] * evidence.columns.unit[rows] ** 2)
    mode = evidence.mode(rows, alpha, evidence.take(rows))
    inside = mode.Phi[:, : len(rows)] / np.sqrt(alpha)
    inside = inside - inside.mean(axis=0)
    F = mode.F[:, 0]
    bound = -float(np.logaddexp(0, F).sum() - data.y @ F + 0.5 * alpha @ mode.mean[:, 0] ** 2)
    return mode.log_evidence, bound - 0.5 * float(np.linalg.slogdet(np.eye(len(rows)) + inside.T @ inside / 4)[1])


def on_test(fitted: Fitted, data: Data, width: int) -> dict[str, Any]:
    """Which test samples are wrong, the log-loss, what is kept, the seconds, and which width it is."""
    model = fitted.model
    found = {
        "wrong": model.predict(data.X_test) != data.y_test,
        "log-loss": log_loss(data.y_test, model.predict_proba(data.X_test)),
        "kept": len(model.support_),
        "width": width,
        "seconds": fitted.seconds,
    }
    if isinstance(model, RVMClassifier):
        model.set_params(moderate=False)
        found["plug-in"] = log_loss(data.y_test, model.predict_proba(data.X_test))
        model.set_params(moderate=True)
    return found


# One set


def difference(pairs: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Errors of Type II less those of the RVM, in points of per cent, with a 95 % interval.

    From the samples on which only one is wrong, where there is one split (exact); else Student's, over the splits.
    """
    if len(pairs) == 1:
        rvm, ours = pairs[0]
        only, either = int((ours & ~rvm).sum()), int((ours ^ rvm).sum())
        if not either:
            return [0.0, 0.0, 0.0]
        limits = binomtest(only, either).proportion_ci(method="exact")
        return [100 * (2 * share - 1) * either / len(rvm) for share in (only / either, limits.low, limits.high)]
    return students([100 * (ours.mean() - rvm.mean()) for rvm, ours in pairs])


def students(each: list[float]) -> list[float]:
    """The mean and its 95 % interval."""
    mean = round(float(np.mean(each)), 9)  # as many errors in all are no difference
    half = float(t.ppf(0.975, len(each) - 1) * np.std(each, ddof=1) / np.sqrt(len(each)))
    return [mean, mean - half, mean + half]


def error(wrong: list[np.ndarray]) -> list[float]:
    """Errors in per cent, with a 95 % interval: Clopper and Pearson's of one split, else Student's over the splits."""
    if len(wrong) > 1:
        return students([100 * one.mean() for one in wrong])
    limits = binomtest(int(wrong[0].sum()), len(wrong[0])).proportion_ci(method="exact")
    return [100 * float(share) for share in (wrong[0].mean(), limits.low, limits.high)]


def judge(mean: float, low: float, high: float) -> str:
    """Nearly identical, as a verdict: no difference that chance does not explain, and none of more than 1.5 points."""
    chance, small = low <= 0 <= high, abs(mean) <= NEAR
    if chance and small:
        return "reproduced"
    if chance or small:
        why = f"more than {NEAR} points, within chance" if chance else f"beyond chance, within {NEAR} points"
        return f"close ({why})"
    return f"differs (by {mean:+.1f} points, beyond chance)"


def compare(report: Report, key: str, problem: Problem, bunch, quick: bool) -> None:
    """All rules for one set, and what must hold of every fit."""
    found: dict[str, list[dict[str, dict]]] = {rule: [] for rule in (*RULES, "alone")}
    settled, nats = [], []
    for number in range(min(1 if quick else problem.splits, len(bunch.splits))):
        data = split(bunch, number)
        fits = [
            {name: fit(model, data) for name, model in zip(NAMES, machines(width, data.X.shape[1]), strict=False)}
            for width in WIDTHS
        ]
        settled += [each.model.status_ == "converged" for pair in fits for each in pair.values()]
        nats += [_nats(pair, data) for pair in fits]
        best, folds = [int(np.argmax([pair[name].criterion for pair in fits])) for name in NAMES], by_folds(data)
        for rule, at in zip(RULES, (best, best[:1] * 2, [folds] * 2), strict=True):
            found[rule].append({name: on_test(fits[i][name], data, i) for name, i in zip(NAMES, at, strict=True)})
        alone = fit(machines(WIDTHS[folds], data.X.shape[1])[2], data)
        found["alone"].append(found["folds"][-1] | {"Type II": on_test(alone, data, folds)})
    for rule, each in found.items():
        row = figures(each)
        report.add(
            f"logistic/{rule}/{key}",
            **{name: value for name, value in row.items() if name != "verdict" or rule in RULES},
        )
    laplace, bound = np.array(nats).T
    report.add(f"logistic/nats/{key}", laplace=_range(laplace), bound=_range(bound), fits=len(nats))
    report.check(f"{problem.label}: every fit of both models converged", all(settled))
    report.check(f"{problem.label}: no RVM's variances have a higher bound than Type II's", bool(bound.min() > -1e-3))


def _nats(pair: dict[str, Fitted], data: Data) -> tuple[float, float]:
    """By how much each model is the better of the two by what it maximises: the RVM first."""
    (laplace, bound), (laplace_too, bound_too) = criteria(pair["RVM"], data), criteria(pair["Type II"], data)
    return laplace - laplace_too, bound_too - bound


def _range(values: np.ndarray) -> list[float]:
    return [float(values.mean()), float(values.min()), float(values.max())]


def figures(found: list[dict[str, dict]]) -> dict[str, Any]:
    """Means over the splits, the difference of the errors, and the verdict."""
    apart = difference([(one["RVM"]["wrong"], one["Type II"]["wrong"]) for one in found])
    row: dict[str, Any] = {"verdict": judge(*apart), "difference": apart}
    for name in NAMES:
        row[f"{name} error"] = error([one[name]["wrong"] for one in found])
    for name in NAMES:
        row[f"{name} log-loss"] = float(np.mean([one[name]["log-loss"] for one in found]))
    row["RVM log-loss, not moderated"] = float(np.mean([one["RVM"]["plug-in"] for one in found]))
    for what in ("kept", "width", "seconds"):
        for name in NAMES:
            values = [one[name][what] for one in found]
            row[f"{name} {what}"] = float(np.median(WIDTHS[values]) if what == "width" else np.mean(values))
    return row | {"splits": len(found), "tested": len(found[0]["RVM"]["wrong"])}


# All sets


def logistic(report: Report, quick: bool) -> None:
    """Every set, and whether either model has fewer errors on more sets than chance allows."""
    for key, problem in SETS.items():
        if quick and key not in ("crabs", "thyroid"):
            continue
        if (bunch := report.load(problem.label, problem.load)) is not None:
            compare(report, key, problem, bunch, quick)
    if not quick:
        over_sets(report)


def over_sets(report: Report) -> None:
    """Sign tests over the sets."""
    for rule in RULES:
        rows = [row for key, row in report.results.items() if key.startswith(f"logistic/{rule}/")]
        apart = np.array([row["difference"][0] for row in rows])
        fewer, unlike = int((apart < 0).sum()), int((apart != 0).sum())
        p = binomtest(fewer, unlike).pvalue if unlike else 1.0
        report.add(
            f"logistic/sets/{rule}",
            fewer=fewer,
            more=unlike - fewer,
            same=len(apart) - unlike,
            p=float(p),
            median=float(np.median(apart)),
            verdict="reproduced" if p > 0.05 else "differs (one of the two is better on more sets than chance allows)",
        )
