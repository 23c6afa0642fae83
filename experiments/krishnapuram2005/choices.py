"""Where the differences from Table 2 come from: our figures under other choices that the paper leaves open."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from experiments.harness import Report
from experiments.krishnapuram2005.methods import (
    EPS,
    LAMS,
    TOL,
    WIDTHS,
    Fitted,
    inner_folds,
    mean_and_range,
    on_features,
    smlr,
    svm,
)
from experiments.krishnapuram2005.problems import (
    PROBLEMS,
    USUAL,
    Problem,
    as_they_are,
    genes_standardised,
    load,
)
from smaller import SMLR, path
from smaller.basis import Kernel
from smaller.errors import EmptyModelWarning


def by_width(report: Report, name: str) -> None:
    """SMLR's test errors for every width of the kernel, lambda chosen by cross-validation as ever."""
    problem = PROBLEMS[name]
    if (bunch := load(report, problem)) is None:
        return
    X, y = problem.prepare(bunch.data, bunch.train), bunch.target
    for width in WIDTHS:
        fitted = smlr(X[bunch.train], y[bunch.train], Kernel("rbf", gamma=width / X.shape[1]))
        report.add(f"{name}/width/{width:g}", errors=fitted.errors(X[bunch.test], y[bunch.test]), kept=int(fitted.kept))


def stopped_early(report: Report) -> None:
    """AML/ALL on features: the paper's component-wise algorithm on its way to the optimum, at one strength."""
    if (bunch := load(report, USUAL)) is None:
        return
    X, y = USUAL.prepare(bunch.data, bunch.train), bunch.target
    stages = {str(sweeps): {"solver": "component-wise", "max_iter": sweeps} for sweeps in (10, 30, 100)}
    for stage, options in {**stages, "optimum": {}}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # that is the point
            model = SMLR(lam=0.003, tol=TOL, **options).fit(X[bunch.train], y[bunch.train])
        fitted = Fitted(model, len(model.support_))
        report.add(f"golub/sweeps/{stage}", errors=fitted.errors(X[bunch.test], y[bunch.test]), kept=fitted.kept)
    report.check(
        "golub: at the optimum no more features are kept than there are arrays", fitted.kept <= len(bunch.train)
    )


def without_intercept(report: Report) -> None:
    """AML/ALL on features, as the paper's equation (1) has it."""
    if (bunch := load(report, USUAL)) is not None:
        errors, kept = on_features(USUAL, bunch, bunch.train, bunch.test, smlr, intercept=False)
        report.add("golub/features/no-intercept", errors=errors, kept=kept)


def in_hindsight(report: Report, name: str) -> None:
    """Total test errors of the best single width and strength: a bound for every honest choice, not a result."""
    problem = PROBLEMS[name]
    if (bunch := load(report, problem)) is None:
        return
    least = []
    for seed in range(problem.repeats):
        totals = sum(_errors_on_grid(problem, bunch, *split) for split in problem.splits(bunch, seed))
        least.append(int(totals.min()))
    report.add(f"{name}/hindsight", errors=mean_and_range(least))


def _errors_on_grid(problem: Problem, bunch, train, test) -> np.ndarray:
    """Test errors of SMLR, (widths, strengths)."""
    return np.array([_errors_on_path(H, bunch.target, train, test) for H in _kernels(problem, bunch, train)])


def _kernels(problem: Problem, bunch, train) -> list[np.ndarray]:
    """Kernels between all samples and the training samples, one for each width."""
    X = problem.prepare(bunch.data, train)
    if problem.kernel == "linear":
        return [linear_kernel(X, X[train])]
    return [rbf_kernel(X, X[train], gamma=width / X.shape[1]) for width in WIDTHS]


def _errors_on_path(H, y, train, test) -> list[int]:
    found = path(H[train], y[train], lams=LAMS, eps=EPS, parametrization="reference", fit_intercept=False, tol=1e-4)
    scores = [coef @ H[test].T for coef in found.sparse_coefs]  # (m, n), or (1, n) for two classes
    guesses = [found.classes[F.argmax(axis=0) if len(F) > 1 else (F[0] > 0).astype(int)] for F in scores]
    return [int((guess != y[test]).sum()) for guess in guesses]


# One choice at a time

VARIED = ("iris", "forensic_glass", "yeast")  # where our SMLR makes more errors than the paper's
OTHERWISE = {
    "errors": {"scoring": "accuracy"},
    "ten-folds": {"cv": inner_folds(10)},
    "intercept": {"fit_intercept": True},
    "symmetric": {"parametrization": "symmetric"},
}
UNITS = {"iris": as_they_are, "forensic_glass": as_they_are, "yeast": genes_standardised}
SWEEPS, STRENGTHS = (10, 30, 100), (0.001, 0.01, 0.1, 1.0)


def one_at_a_time(report: Report, name: str) -> None:
    """SMLR on the first set of splits, with one of the choices of Table 2 made otherwise."""
    problem = PROBLEMS[name]
    if (bunch := load(report, problem)) is None:
        return
    _vary(report, name, problem, bunch, {"as-it-is": {}, **OTHERWISE})
    _vary(report, name, problem._replace(prepare=UNITS[name]), bunch, {"units": {}})


def _vary(report: Report, name: str, problem: Problem, bunch, choices: dict[str, dict]) -> None:
    found: dict[str, list] = {choice: [] for choice in choices}
    for train, test in problem.splits(bunch, report.seed):
        X, y = problem.prepare(bunch.data, train), bunch.target
        basis = svm(X[train], y[train], problem.kernel)[1]
        for choice, changes in choices.items():
            fitted = smlr(X[train], y[train], basis, **{"tol": 1e-4, **changes})
            found[choice].append((fitted.errors(X[test], y[test]), fitted.kept))
    for choice, pairs in found.items():
        errors, kept = zip(*pairs, strict=True)
        report.add(f"{name}/choice/{choice}", errors=sum(errors), kept=float(np.mean(kept)))


def early_in_hindsight(report: Report, name: str) -> None:
    """The component-wise algorithm stopped early: least errors for any width and strength, and what it kept there."""
    problem = PROBLEMS[name]
    if (bunch := load(report, problem)) is None:
        return
    for sweeps in SWEEPS:
        splits = problem.splits(bunch, report.seed)
        totals = sum(_stopped_after(sweeps, problem, bunch, *split) for split in splits)
        errors, kept = min(map(tuple, totals.reshape(-1, 3)[:, :2].tolist()))
        report.add(f"{name}/sweeps/{sweeps}", errors=int(errors), kept=kept / totals[0, 0, 2])


def _stopped_after(sweeps: int, problem: Problem, bunch, train, test) -> np.ndarray:
    """Errors, weights kept, and 1 to count the splits: (widths, strengths, 3)."""
    y = bunch.target
    return np.array(
        [[_one_stopped(sweeps, lam, H, y, train, test) for lam in STRENGTHS] for H in _kernels(problem, bunch, train)]
    )


def _one_stopped(sweeps: int, lam: float, H, y, train, test) -> tuple[int, int, int]:
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, EmptyModelWarning):
            warnings.simplefilter("ignore", category)
        model = SMLR(
            lam, solver="component-wise", max_iter=sweeps, parametrization="reference", fit_intercept=False, tol=TOL
        ).fit(H[train], y[train])
    return int((model.predict(H[test]) != y[test]).sum()), np.count_nonzero(model.coef_), 1
