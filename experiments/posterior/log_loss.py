"""Log-loss of probabilities averaged over the posterior, beside that at the mode, on small training sets.

``python -m experiments.posterior.log_loss [--problems ripley pima wine golub] [--splits 100] [--save FILE]``. A split
is a random stratified training set; all other samples are the test. All choices are made on the training set alone:

- mode: `SMLRCV`, the strength with the best log-loss of modes over three folds;
- same: averaged over the posterior at that strength;
- own: averaged over the posterior at the strength with the best log-loss of averages over the same folds, among those
  under which a score has a prior deviation of 1, 3, 10 or 30;
- horseshoe: averaged over the posterior under the horseshoe, three relevant weights being guessed.

A gain is the log-loss at the mode less that of an average. Its standard error is that of the mean over the splits. The
splits share samples: it says how sure the mean over such splits is, and not what another data set would give. `--save`
keeps the splits that are done, and a later call goes on after them.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

from smaller import SMLR, SMLRCV
from smaller.datasets import load_golub, load_pima, load_ripley
from smaller.inference import sample_posterior

PROBLEMS = {  # samples and labels, training samples, basis, draws of each chain
    "ripley": (lambda: load_ripley(return_X_y=True), 30, "quadratic", 1000),
    "pima": (lambda: load_pima(return_X_y=True), 30, "linear", 1000),
    "wine": (lambda: load_wine(return_X_y=True), 24, "linear", 1000),
    "golub": (lambda: load_golub(return_X_y=True), 24, "linear", 150),
}
DEVIATIONS = (1.0, 3.0, 10.0, 30.0)
SAMPLING = {"chains": 2, "warmup": 200}
SHORT = {"chains": 1, "warmup": 60, "draws": 100, "max_sweeps": 100}  # of the folds
AVERAGES = ("same", "own", "horseshoe")


def overconfidence(y, P, classes):
    """Mean confidence less the fraction right: above 0 where probabilities promise too much."""
    return float(P.max(axis=1).mean() - (classes[P.argmax(axis=1)] == y).mean())


def own_strength(X, y, basis, d):
    """The strength whose averaged probabilities have the best log-loss over three folds."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def loss(lam):
        model = SMLR(lam, basis=basis, standardize=True)
        parts = []
        for train, test in folds:
            sample = sample_posterior(model.fit(X[train], y[train]), X[train], y[train], random_state=0, **SHORT)
            parts.append(log_loss(y[test], sample.predict_proba(X[test]), labels=model.classes_))
        return np.mean(parts)

    return min((np.sqrt(2 * d) / deviation for deviation in DEVIATIONS), key=loss)


def split(X, y, size, basis, draws, seed):
    """Log-losses and overconfidence of one split, the strengths, and whether the chains converged."""
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=seed)
    fixed = {**SAMPLING, "draws": draws, "max_sweeps": draws, "random_state": seed}
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = SMLRCV(basis=basis, standardize=True, cv=3).fit(X[train], y[train])
        own = own_strength(X[train], y[train], basis, tuned.coef_.shape[1])
        found = {"lam": float(tuned.lam_), "own_lam": float(own)}
        predicted = {"mode": tuned.predict_proba(X[test])}
        horseshoe = {"prior": "horseshoe", "n_relevant": 3}
        for name, lam, options in zip(AVERAGES, (tuned.lam_, own, own), ({}, {}, horseshoe), strict=True):
            model = SMLR(lam, basis=basis, standardize=True).fit(X[train], y[train])
            sample = sample_posterior(model, X[train], y[train], **fixed, **options)
            found[f"{name}_converged"] = sample.converged
            predicted[name] = sample.predict_proba(X[test])
    for name, P in predicted.items():
        found[name] = float(log_loss(y[test], P, labels=tuned.classes_))
        found[f"{name}_over"] = overconfidence(y[test], P, tuned.classes_)
    return {**found, "seconds": time.process_time() - began}


def lines(problem, size, rows):
    """Lines of the table: means over the splits, and gains with their standard errors."""
    found = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    for name in ("mode", *AVERAGES):
        gain = found["mode"] - found[name]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        told = "" if name == "mode" else f"{gain.mean():.3f} ± {error:.3f}"
        better = "" if name == "mode" else f"{(gain > 0).sum()} of {len(gain)}"
        agreed = "" if name == "mode" else f"{found[f'{name}_converged'].sum()} of {len(gain)}"
        cells = problem, size, name, f"{found[name].mean():.3f}", told, better, f"{found[f'{name}_over'].mean():+.3f}"
        yield f"| {' | '.join(map(str, [*cells, agreed]))} |"


def main():
    """Print a table with a line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--save", type=Path, help="a JSON file of the splits that are done")
    options = parser.parse_args()
    done = json.loads(options.save.read_text()) if options.save and options.save.exists() else {}
    print("| problem | training samples | probabilities | log-loss | gain | better on | overconfidence | converged |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.problems:
        load, size, basis, draws = PROBLEMS[name]
        X, y = load()
        rows = done.setdefault(name, [])
        for seed in range(len(rows), options.splits):
            rows.append(split(np.asarray(X, dtype=float), np.asarray(y), size, basis, draws, seed))
            if options.save:
                options.save.write_text(json.dumps(done))
        print("\n".join(lines(name, size, rows)))


if __name__ == "__main__":
    main()
