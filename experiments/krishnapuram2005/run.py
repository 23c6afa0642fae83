"""Table 2 and the remarks of Section 5 of Krishnapuram, Carin, Figueiredo and Hartemink (2005).

As in the paper, the kernel's width is chosen for the SVM by cross-validation on the training samples and then used by
all methods; each method's own strength is chosen by cross-validation on the training samples; SMLR and RMLR have m - 1
weight vectors and, on kernels, no intercept; basis functions are counted as non-zero weights. README.md says what the
paper leaves open and how it was filled in. What follows Table 2 looks for the reasons where our figures differ.
"""

from __future__ import annotations

import numpy as np

from experiments.harness import Part, Report
from experiments.krishnapuram2005 import choices, figure1, own, timing
from experiments.krishnapuram2005.methods import MULTINOMIAL, TOL, Fitted, mean_and_range, on_features, rvm, smlr, svm
from experiments.krishnapuram2005.problems import PROBLEMS, USUAL, VARIANTS, Problem, load, thirty_of_fifty

# Table 2, and the same comparison under other choices


def compare(report: Report, key: str, problem: Problem, quick: bool = False) -> None:
    """Errors in total, and basis functions on average, of SVM, SMLR and RMLR."""
    if (bunch := load(report, problem)) is None:
        return
    repeats = [_one_repeat(problem, bunch, seed, quick) for seed in range(1 if quick else problem.repeats)]
    for method in repeats[0]:
        errors = [sum(errors for errors, _ in repeat[method]) for repeat in repeats]
        kept = np.mean([fitted.kept for repeat in repeats for _, fitted in repeat[method]])
        report.add(f"{key}/{method}", errors=mean_and_range(errors), kept=float(kept))
    gaps = [fitted.gap for repeat in repeats for _, fitted in repeat["SMLR"]]
    report.check(f"{key}: every SMLR is certified to {TOL:g} of its optimum", max(gaps) <= TOL)
    kept = {method: report.results[f"{key}/{method}"]["kept"] for method in MULTINOMIAL}
    report.check(f"{key}: SMLR keeps fewer basis functions than RMLR", kept["SMLR"] < kept["RMLR"])


def _one_repeat(problem: Problem, bunch, seed: int, quick: bool) -> dict[str, list[tuple[int, Fitted]]]:
    """Errors and fit of each method on each split."""
    found: dict[str, list] = {"SVM": [], **{method: [] for method in MULTINOMIAL}}
    for train, test in problem.splits(bunch, seed):
        X, y = problem.prepare(bunch.data, train), bunch.target
        machine, basis = svm(X[train], y[train], problem.kernel, quick)
        fits = {"SVM": machine}
        fits |= {method: fit(X[train], y[train], basis, quick) for method, fit in MULTINOMIAL.items()}
        for method, fitted in fits.items():
            found[method].append((fitted.errors(X[test], y[test]), fitted))
    return found


def compare_rvm(report: Report, key: str, problem: Problem) -> None:
    """The same of the RVM, on the kernels that the SVM chose."""
    if (bunch := load(report, problem)) is None:
        return
    errors, kept = [], []
    for seed in range(problem.repeats):
        errors.append(0)
        for train, test in problem.splits(bunch, seed):
            X, y = problem.prepare(bunch.data, train), bunch.target
            fitted = rvm(X[train], y[train], svm(X[train], y[train], problem.kernel)[1])
            errors[-1] += fitted.errors(X[test], y[test])
            kept.append(fitted.kept)
    report.add(f"{key}/RVM", errors=mean_and_range(errors), kept=float(np.mean(kept)))


# Features chosen directly


def features(report: Report) -> None:
    """SMLR (and RMLR) on the expression values themselves, with an intercept."""
    if (bunch := load(report, USUAL)) is not None:
        for method, fit in MULTINOMIAL.items():
            errors, kept = on_features(USUAL, bunch, bunch.train, bunch.test, fit)
            report.add(f"golub/features/{method}", errors=errors, kept=kept)
    if (bunch := load(report, PROBLEMS["colon"])) is not None:
        found = [on_features(PROBLEMS["colon"], bunch, *split, smlr) for split in thirty_of_fifty(bunch, report.seed)]
        errors, kept = np.mean(found, axis=0).tolist()
        report.add("colon/features/SMLR", errors=errors, kept=kept)


# The parts


def table2(report: Report, quick: bool) -> None:
    """Table 2, or with ``quick`` its Iris column."""
    for name, problem in PROBLEMS.items():
        if quick and name != "iris":
            report.skip(f"Table 2, {problem.label}", "not part of a quick run")
        else:
            compare(report, name, problem, quick)


def relevance(report: Report, quick: bool) -> None:
    """The RVM's row of Table 2; nothing in a quick run."""
    for key, problem in () if quick else PROBLEMS.items():
        compare_rvm(report, key, problem)


def remarks(report: Report, quick: bool) -> None:
    """The remarks of Section 5 on running times, and features chosen directly."""
    for name in ("iris", "crabs"):
        timing.smooth(report, name, limit=1 if quick else 60)
    if not quick:
        timing.warm_start(report)
        features(report)


def reasons(report: Report, quick: bool) -> None:
    """Where differences come from; nothing in a quick run."""
    if quick:
        return
    for key, problem in VARIANTS.items():
        compare(report, key, problem)
    choices.by_width(report, "crabs")
    choices.stopped_early(report)
    choices.without_intercept(report)
    for name in choices.VARIED:
        choices.in_hindsight(report, name)


def other_choices(report: Report, quick: bool) -> None:
    """SMLR with one choice of Table 2 made otherwise, and stopped early; nothing in a quick run."""
    for name in () if quick else choices.VARIED:
        choices.one_at_a_time(report, name)
        choices.early_in_hindsight(report, name)


def own_choice(report: Report, quick: bool) -> None:
    """Table 2 with kernels of each method's own choice; nothing in a quick run."""
    for name, problem in () if quick else PROBLEMS.items():
        own.choose(report, name, problem)


def crabs(report: Report, quick: bool) -> None:
    """Crabs on random splits; nothing in a quick run."""
    if not quick:
        own.random_crabs(report)


def bounded(report: Report, quick: bool) -> None:
    """Figure 1 and the bound for AML/ALL; nothing in a quick run."""
    if not quick:
        figure1.figure(report)


PARTS: dict[str, Part] = {
    "table2": table2,
    "rvm": relevance,
    "own": own_choice,
    "crabs": crabs,
    "remarks": remarks,
    "reasons": reasons,
    "choices": other_choices,
    "figure1": bounded,
}
