"""False features and power of selectors, ours and those of peer packages, on the same simulated sets.

``python -m experiments.selection.power [--sets 20]``. Peers are hidimstat and knockpy; those that are not installed are
named and left out. A row is the mean over the sets: the share of false features in the list (0 for an empty list), the
share of the true features that it has, and processor seconds.
"""

import argparse
import time
import warnings
from importlib.util import find_spec

import numpy as np

from smaller import SMLRCV, LaplaceRegressorCV
from smaller.inference import Knockoffs, StabilitySelection, debiased

FDR = 0.2
# Samples, columns, true columns, and the size of the true weights for numbers and for two classes.
KNOCKOFF_SETS = (400, 100, 20, 0.2, 0.6)
TEST_SETS = (400, 50, 10, 0.2, 0.6)
STABILITY_SETS = (200, 500, 10, 0.5, 1.0)


def simulated(setting, classes, seed, rho=0.5):
    """Columns of an autoregressive process, true ones spread evenly with weights of alternating sign."""
    n, p, true, size, odds = setting
    rng = np.random.default_rng([23, seed])
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    columns = np.arange(true) * (p // true)
    score = X[:, columns] @ np.where(np.arange(true) % 2, -1.0, 1.0)
    if classes:
        return X, (odds * score + rng.logistic(size=n) > 0).astype(int), columns
    return X, size * score + rng.standard_normal(n), columns


def plain(X, y, classes, seed):
    """The columns that the best prediction keeps."""
    return (SMLRCV(standardize=True) if classes else LaplaceRegressorCV(lams=30, eps=0.03)).fit(X, y).support_


def knockoffs(copies):
    return lambda X, y, classes, seed: Knockoffs(fdr=FDR, n_copies=copies, random_state=seed).fit(X, y).support_


def stability(X, y, classes, seed):
    return StabilitySelection(max_false=1.0, random_state=seed).fit(X, y).support_


def holm_tests(X, y, classes, seed):
    return debiased(None, X, y, random_state=seed).significant()


def knockpy_filter(X, y, classes, seed):
    """knockpy's filter with its Ledoit-Wolf covariance, MVR knockoffs and lasso, logistic where y has two values."""
    from knockpy.knockoff_filter import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002  knockpy draws from the global generator
    peer = KnockoffFilter(fstat="lasso", ksampler="gaussian")
    return np.flatnonzero(peer.forward(X=X, y=y.astype(float), fdr=FDR, knockoff_kwargs={"method": "mvr"}))


def hidimstat_filter(X, y, classes, seed):
    """hidimstat's knockoffs: its default lasso, and L1 logistic regression for classes."""
    from hidimstat import ModelXKnockoff
    from sklearn.linear_model import LogisticRegressionCV

    logistic = LogisticRegressionCV(penalty="l1", solver="liblinear", Cs=20, cv=5, random_state=seed)
    options = {"estimator": logistic, "preconfigure_lasso_path": False} if classes else {}
    peer = ModelXKnockoff(**options, random_state=seed)
    peer.fit_importance(X, y)
    return np.flatnonzero(peer.fdr_selection(fdr=FDR))


def hidimstat_lasso(X, y, classes, seed):
    """hidimstat's desparsified lasso with Holm's adjustment at 5 %."""
    from hidimstat import DesparsifiedLasso

    peer = DesparsifiedLasso(random_state=seed)
    peer.fit_importance(X, y)
    p = np.asarray(peer.pvalues_).ravel()
    order = np.argsort(p)
    passed = np.cumprod(p[order] * (len(p) - np.arange(len(p))) <= 0.05).astype(bool)
    return order[passed]


# Title, setting, classes, and its methods: a name, a function, and the package that it needs.
COMPARISONS = [
    (f"share of false features at most {FDR}, numbers", KNOCKOFF_SETS, 0, [
        ("LaplaceRegressorCV, no control", plain, None), ("Knockoffs, 1 copy", knockoffs(1), None),
        ("Knockoffs, 5 copies", knockoffs(5), None), ("knockpy, 1 copy", knockpy_filter, "knockpy"),
        ("hidimstat, 1 copy", hidimstat_filter, "hidimstat"),
    ]),
    (f"share of false features at most {FDR}, two classes", KNOCKOFF_SETS, 2, [
        ("SMLRCV, no control", plain, None), ("Knockoffs, 1 copy", knockoffs(1), None),
        ("Knockoffs, 5 copies", knockoffs(5), None), ("knockpy, 1 copy", knockpy_filter, "knockpy"),
        ("hidimstat, 1 copy", hidimstat_filter, "hidimstat"),
    ]),
    ("any false feature with 5 %, numbers", TEST_SETS, 0, [
        ("LaplaceRegressorCV, no control", plain, None), ("debiased, Holm", holm_tests, None),
        ("hidimstat DesparsifiedLasso, Holm", hidimstat_lasso, "hidimstat"),
    ]),
    ("any false feature with 5 %, two classes", TEST_SETS, 2, [
        ("SMLRCV, no control", plain, None), ("debiased, Holm", holm_tests, None),
    ]),
    ("at most 1 false feature expected, numbers", STABILITY_SETS, 0, [
        ("LaplaceRegressorCV, no control", plain, None), ("StabilitySelection", stability, None),
    ]),
    ("at most 1 false feature expected, two classes", STABILITY_SETS, 2, [
        ("SMLRCV, no control", plain, None), ("StabilitySelection", stability, None),
    ]),
]  # fmt: skip


def rates(setting, classes, method, sets):
    """Share of false features, number of false ones, whether there is any, power and seconds, for each set."""
    rows = []
    for seed in range(sets):
        X, y, true = simulated(setting, classes, seed)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method(X, y, classes, seed)
        false = len(np.setdiff1d(found, true))
        power = len(np.intersect1d(found, true)) / len(true)
        rows.append([false / max(len(found), 1), false, false > 0, power, time.process_time() - began])
    return np.array(rows)


def main():
    """Print a table for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--only", default="", help="comparisons whose title has this text")
    options = parser.parse_args()
    for title, setting, classes, methods in COMPARISONS:
        if options.only not in title:
            continue
        print(f"\n{title}; {setting[0]} x {setting[1]}, {setting[2]} true, {options.sets} sets", flush=True)
        print("| method | share false | false | any false | power | seconds |\n|---|---|---|---|---|---|", flush=True)
        for name, method, package in methods:
            if package is not None and find_spec(package) is None:
                print(f"| {name} | not installed |", flush=True)
                continue
            found = rates(setting, classes, method, options.sets)
            share, false, some, power, seconds = found.mean(axis=0)
            error = found.std(axis=0) / np.sqrt(options.sets)
            cells = f"{share:.3f} ± {error[0]:.3f} | {false:.2f} | {some:.2f} | {power:.3f} ± {error[3]:.3f}"
            print(f"| {name} | {cells} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
