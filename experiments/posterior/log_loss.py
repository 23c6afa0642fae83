"""Log-loss and calibration of probabilities averaged over the posterior, beside those at the mode, on small samples.

``python -m experiments.posterior.log_loss [--problems ripley wine golub simulated pima] [--splits 100] [--save FILE]``.
A split is a random stratified training set; all other samples are the test. All choices are made on the training set
alone:

- mode: `SMLRCV`, the strength with the best log-loss of modes over three folds;
- same: averaged over the posterior at that strength;
- own: averaged over the posterior at the strength with the best log-loss of averages over the same folds, among those
  under which a score has a prior deviation of 1, 3 or 10; "own mode" is the mode there;
- broad: averaged over the posterior at the strength under which a score has a prior deviation of 3, whatever the data;
- learned: averaged over the posterior with the strength drawn too, about that of "broad".
  `sample_posterior` refuses this for classes that can be separated, since the weights then have heavy tails; of
  probabilities, which lie between 0 and 1, every mean exists, and the refusal is left out here;
- horseshoe: averaged over the posterior under the horseshoe, three relevant weights being guessed.

A gain is the log-loss at the mode less that of another way. Its standard error is that of the mean over the splits. The
splits share samples: it says how sure the mean over such splits is, and not what another data set would give. Chains
are short; the Monte Carlo error of the mean gain, from the differences between two chains, is printed beside. It does
not see that both start at the mode: `--longer 5` has chains of five times the length, to compare with.

"simulated" has new weights in every split, of the Laplace prior of "broad", whose averages are right there by
construction.

Calibration is of the predictions of all splits together: ten bins of probabilities, of every class of every test
sample. The reliability is the mean square of (mean probability - share that came true) over the bins, the part of the
Brier score that calibration alone could remove (Murphy 1973); differences to the mode have jackknife standard errors.
`--save` keeps the splits that are done, and a later call goes on after them.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

from smaller import SMLR, SMLRCV
from smaller.datasets import load_golub, load_pima, load_ripley
from smaller.inference import posterior_problem, sample_posterior, sampling


def strength(deviation, d):
    """The rate of d Laplace weights of standardised columns whose score has this deviation."""
    return float(np.sqrt(2 * d) / deviation)


def simulated(seed, d=10):
    """Two classes of 1030 samples, their weights drawn from the prior."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((1030, d)), rng.laplace(size=d) / strength(3.0, d)
    return X, (X @ w + rng.logistic(size=len(X)) > 0).astype(int)


PROBLEMS = {  # samples and labels of a split, training samples, basis, draws of each chain
    "ripley": (lambda seed: load_ripley(return_X_y=True), 30, "quadratic", 300),
    "wine": (lambda seed: load_wine(return_X_y=True), 24, "linear", 200),
    "golub": (lambda seed: load_golub(return_X_y=True), 24, "linear", 100),
    "simulated": (simulated, 30, "linear", 300),
    "pima": (lambda seed: load_pima(return_X_y=True), 30, "linear", 300),
}
DEVIATIONS = (1.0, 3.0, 10.0)  # of a score under the prior
CHAINS, WARMUP = 2, 60
SHORT = {"chains": 1, "warmup": 30, "draws": 60, "max_sweeps": 60}  # of the folds
BINS = 10
WAYS = ("mode", "same", "own mode", "own", "broad", "learned", "horseshoe")


def drawn(model, X, y, **options):
    """Draws without the refusal of separable classes, and without the diagnostics of thousands of weights."""
    with (
        patch.object(posterior_problem, "separates", lambda *given: False),
        patch.object(sampling, "_warn_if_poor", lambda sample: None),
    ):
        return sample_posterior(model, X, y, **options)


def own_strength(X, y, basis, d):
    """The strength whose averaged probabilities have the best log-loss over three folds."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def loss(lam):
        model = SMLR(lam, basis=basis, standardize=True)
        parts = []
        for train, test in folds:
            sample = drawn(model.fit(X[train], y[train]), X[train], y[train], random_state=0, **SHORT)
            parts.append(log_loss(y[test], sample.predict_proba(X[test]), labels=model.classes_))
        return np.mean(parts)

    return min((strength(deviation, d) for deviation in DEVIATIONS), key=loss)


def of_chain(sample, i):
    """The draws of one chain."""
    lam = None if sample.lam is None else sample.lam[[i]]
    part = {name: getattr(sample, name)[[i]] for name in ("coef", "intercept", "log_likelihood")}
    return replace(sample, lam=lam, **part)


def judged(y, P, classes):
    """Log-loss, overconfidence (mean confidence less the share that is right), and the bins of all probabilities."""
    Y = y[:, None] == classes
    place = np.minimum((P * BINS).astype(int), BINS - 1).ravel()
    bins = [np.bincount(place, each, BINS).tolist() for each in (np.ones(P.size), P.ravel(), Y.ravel().astype(float))]
    over = float(P.max(axis=1).mean() - (classes[P.argmax(axis=1)] == y).mean())
    return {"loss": float(log_loss(y, P, labels=classes)), "over": over, "bins": bins}


def split(X, y, size, basis, draws, warmup, seed):
    """What is found of every way on one split."""
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=seed)
    fixed = {"chains": CHAINS, "warmup": warmup, "draws": draws, "max_sweeps": draws, "random_state": seed}
    tuned = SMLRCV(basis=basis, standardize=True, cv=3).fit(X[train], y[train])
    d, classes = tuned.coef_.shape[1], tuned.classes_
    own, broad = own_strength(X[train], y[train], basis, d), strength(3.0, d)
    models = {lam: SMLR(lam, basis=basis, standardize=True).fit(X[train], y[train]) for lam in (tuned.lam_, own, broad)}
    found = {"mode": judged(y[test], tuned.predict_proba(X[test]), classes)}
    found["own mode"] = judged(y[test], models[own].predict_proba(X[test]), classes)
    averages = {
        "same": (tuned.lam_, {}),
        "own": (own, {}),
        "broad": (broad, {}),
        "learned": (broad, {"rate": "learn", "rate_prior": (3.0, 3.0 / broad)}),
        "horseshoe": (broad, {"prior": "horseshoe", "n_relevant": 3}),
    }
    for name, (lam, options) in averages.items():
        sample = drawn(models[lam], X[train], y[train], **fixed, **options)
        found[name] = judged(y[test], sample.predict_proba(X[test]), classes)
        parts = [of_chain(sample, i).predict_proba(X[test]) for i in range(CHAINS)]
        found[name]["chains"] = [float(log_loss(y[test], P, labels=classes)) for P in parts]
    return {**found, "lam": float(tuned.lam_), "own_lam": own}


def reliability(bins):
    """Mean square of (mean probability - share that came true) over the bins of (..., 3, BINS), by their counts."""
    count, total, true = np.moveaxis(bins, -2, 0)
    return ((total - true) ** 2 / np.maximum(count, 1)).sum(axis=-1) / count.sum(axis=-1)


def calibration(bins, other):
    """The reliability of all splits together, that of another way less it, and the jackknife error of that."""
    together, apart = (reliability(each.sum(axis=0)) for each in (bins, other))
    left_out = [reliability(each.sum(axis=0) - each) for each in (other, bins)]
    change = left_out[0] - left_out[1]
    error = np.sqrt((len(change) - 1) * change.var())
    return float(together), float(apart - together), float(error)


def lines(problem, size, rows):
    """Lines of the table: means over the splits, and gains with their standard errors."""
    n = len(rows)
    loss, over = ({way: np.array([row[way][key] for row in rows]) for way in WAYS} for key in ("loss", "over"))
    bins = {way: np.array([row[way]["bins"] for row in rows]) for way in WAYS}
    for way in WAYS:
        gain = loss["mode"] - loss[way]
        cells = [problem, size, n, way, f"{loss[way].mean():.3f}", "", "", "", f"{over[way].mean():+.3f}"]
        root, less, error = calibration(bins[way], bins["mode"])
        if way != "mode":
            cells[5:7] = f"{gain.mean():.3f} ± {gain.std(ddof=1) / np.sqrt(n):.3f}", f"{(gain > 0).sum()}"
        if "chains" in rows[0][way]:
            apart = np.diff([row[way]["chains"] for row in rows]) / 2
            cells[7] = f"{np.sqrt((apart**2).sum()) / n:.4f}"
        cells += [f"{root:.4f}", "" if way == "mode" else f"{less:.4f} ± {error:.4f}"]
        yield f"| {' | '.join(map(str, cells))} |"


def save(path, done):
    """Replace the file as a whole, so that an interruption leaves the old one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(done))
    new.replace(path)


def main():
    """Print a table with a line for each way on each problem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--save", type=Path, help="a JSON file of the splits that are done")
    parser.add_argument("--longer", type=int, default=1, help="so many times the draws and the warm-up")
    options = parser.parse_args()
    done = json.loads(options.save.read_text()) if options.save and options.save.exists() else {}
    titles = "problem", "training samples", "splits", "probabilities", "log-loss", "gain", "better on"
    titles += "Monte Carlo error", "overconfidence", "reliability", "less than at the mode by"
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for name in options.problems:
        load, size, basis, draws = PROBLEMS[name]
        rows = done.setdefault(name, [])
        for seed in range(len(rows), options.splits):
            began = time.process_time()
            X, y = map(np.asarray, load(seed))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                chains = options.longer * draws, options.longer * WARMUP
                rows.append(split(X.astype(float), y, size, basis, *chains, seed))
            rows[-1]["seconds"] = time.process_time() - began
            if options.save:
                save(options.save, done)
        print("\n".join(lines(name, size, rows)))


if __name__ == "__main__":
    main()
