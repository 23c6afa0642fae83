"""Table 2 again: with kernels that each method chooses itself, and Crabs on random splits."""

from __future__ import annotations

import numpy as np

from experiments.harness import Report
from experiments.krishnapuram2005.methods import MULTINOMIAL, OWN, TOL, Fitted, candidates, mean_and_range, rvm, svm
from experiments.krishnapuram2005.problems import PROBLEMS, Problem, load, twenty_of_each_group

RANDOM_SPLITS = 100


def choose(report: Report, key: str, problem: Problem) -> None:
    """Errors in total and basis functions on average, on kernels that each method chooses; the first set of splits."""
    if (bunch := load(report, problem)) is None:
        return
    splits = [_own_kernels(problem, bunch, *split) for split in problem.splits(bunch, report.seed)]
    for method in OWN:
        errors, kept = sum(one[method][0] for one in splits), [one[method][1].kept for one in splits]
        report.add(f"{key}/{method}/own", errors=errors, kept=float(np.mean(kept)))
    gaps = [one["SMLR"][1].gap for one in splits]
    report.check(f"{key}, own choice: every SMLR is certified to {TOL:g} of its optimum", max(gaps) <= TOL)


def _own_kernels(problem: Problem, bunch, train, test) -> dict[str, tuple[int, Fitted]]:
    """Errors and fit of each method on its own kernel."""
    X, y = problem.prepare(bunch.data, train), bunch.target
    kernels = candidates(X[train], problem.kernel)
    fits = {method: fit(X[train], y[train], kernels) for method, fit in OWN.items()}
    return {method: (fitted.errors(X[test], y[test]), fitted) for method, fitted in fits.items()}


def _kernels_of_the_svm(problem: Problem, bunch, train, test) -> dict[str, tuple[int, Fitted]]:
    """Errors and fit of each method on the SVM's kernel."""
    X, y = problem.prepare(bunch.data, train), bunch.target
    machine, basis = svm(X[train], y[train], problem.kernel)
    fits = {"SVM": machine, "RVM": rvm(X[train], y[train], basis)}
    fits |= {method: fit(X[train], y[train], basis) for method, fit in MULTINOMIAL.items()}
    return {method: (fitted.errors(X[test], y[test]), fitted) for method, fitted in fits.items()}


def random_crabs(report: Report) -> None:
    """Crabs of all sizes in both halves: errors on random splits, on the SVM's width and on each method's own."""
    problem = PROBLEMS["crabs"]
    if (bunch := load(report, problem)) is None:
        return
    found: dict[str, list] = {}
    for train, test in twenty_of_each_group(bunch, report.seed, RANDOM_SPLITS):
        for method, result in _kernels_of_the_svm(problem, bunch, train, test).items():
            found.setdefault(method, []).append(result)
        for method, result in _own_kernels(problem, bunch, train, test).items():
            found.setdefault(f"{method}/own", []).append(result)
    for method, results in found.items():
        errors = [wrong for wrong, _ in results]
        kept = float(np.mean([fitted.kept for _, fitted in results]))
        report.add(f"crabs/random/{method}", errors=mean_and_range(errors), kept=kept)
