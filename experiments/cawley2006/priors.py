"""Section 3.1 of Cawley, Talbot and Girolami (2006): a balanced training set, and operation at quite other priors.

The training set of Covtype has as many samples of each class; the test set is all the rest, as in the paper. Table 2
has the error and the cross-entropy of the raw outputs and of those corrected for the priors that Saerens' method
estimates from the unlabelled test samples; Figure 1, the priors themselves.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import Report, write
from smaller import SBMLR, datasets
from smaller.decision import PriorShift, estimate_priors, shift_priors

PER_CLASS = 300  # training samples of each class; our sample of the data has 398 of the rarest
DRAWS = 10  # random training sets
PICTURE = Path(__file__).with_name("priors.svg")
COVERS = ("Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen", "Douglas-fir", "Krummholz")
BARS = {"training": "0.75", "test": "tab:blue", "estimated": "tab:orange"}


def classifier() -> Any:
    """The linear classifier whose outputs are corrected."""
    return SBMLR()


class Draw(NamedTuple):
    """What one random training set gave."""

    error: dict[str, float]  # of the raw outputs, and corrected by estimated and by true priors
    entropy: dict[str, float]
    by_class: dict[str, np.ndarray]  # fraction wrong among the test samples of each class
    priors: dict[str, np.ndarray]  # the three groups of bars of Figure 1
    gain: dict[str, float]  # log-likelihood ratio of the estimate, by algorithm
    gap: float
    p_value: float


def balanced(y: np.ndarray, per_class: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of a training set with as many samples of each class, and of all the others."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(np.flatnonzero(y == k), per_class, replace=False) for k in np.unique(y)]
    train = np.sort(np.concatenate(rows))
    return train, np.setdiff1d(np.arange(len(y)), train)


def draw(X: np.ndarray, y: np.ndarray, seed: int) -> Draw:
    """Train, estimate the priors of the test samples without their labels, correct, and count."""
    train, test = balanced(y, PER_CLASS, seed)
    model = PriorShift(classifier()).fit(X[train], y[train])
    P, truth, K = model.predict_proba(X[test]), y[test], len(model.classes_)
    model.adapt(X[test])
    actual = np.bincount(truth, minlength=K) / len(truth)
    outputs = {
        "raw": P,
        "corrected": model.predict_proba(X[test]),
        "true-priors": shift_priors(P, actual, model.training_priors_),
    }
    wrong = {name: Q.argmax(axis=1) != truth for name, Q in outputs.items()}
    em = estimate_priors(P, model.training_priors_, algorithm="em", tol=1e-6)
    return Draw(
        error={name: float(mask.mean()) for name, mask in wrong.items()},
        entropy={name: cross_entropy(Q, truth) for name, Q in outputs.items()},
        by_class={name: np.bincount(truth, mask, K) / np.bincount(truth) for name, mask in wrong.items()},
        priors={"training": model.training_priors_, "test": actual, "estimated": model.priors_},
        gain={"newton": model.estimate_.log_likelihood_ratio / len(test), "em": em.log_likelihood_ratio / len(test)},
        gap=model.estimate_.gap,
        p_value=model.shift_.p_value,
    )


def cross_entropy(P: np.ndarray, y: np.ndarray) -> float:
    """Mean of -log P_i,y(i), in nats."""
    with np.errstate(divide="ignore"):
        return float(-np.log(P[np.arange(len(y)), y]).mean())


def table2(report: Report, quick: bool) -> None:
    """Table 2 and Figure 1, over several random training sets; a full run also draws the figure."""
    if (bunch := report.load("Covtype", datasets.load_covtype_sample)) is None:
        return
    found = [draw(bunch.data, bunch.target, seed) for seed in range(2 if quick else DRAWS)]
    for name in found[0].error:
        report.add(
            f"covtype/{name}",
            **{
                "error": spread([one.error[name] for one in found]),
                "cross-entropy": spread([one.entropy[name] for one in found]),
            },
        )
    mean = {group: np.mean([one.priors[group] for one in found], axis=0) for group in BARS}
    for k, cover in enumerate(COVERS):
        figures = {group: spread([float(one.priors[group][k]) for one in found]) for group in BARS}
        report.add(f"covtype/prior/{cover}", **figures)
        errors = {name: spread([float(one.by_class[name][k]) for one in found]) for name in found[0].error}
        report.add(f"covtype/error/{cover}", **errors)
    check(report, found)
    if not quick:
        write(PICTURE, picture(mean))


def check(report: Report, found: list[Draw]) -> None:
    """What must hold in every draw."""
    better = all(one.error["corrected"] < one.error["raw"] - 0.05 for one in found)
    report.check("Covtype: the correction lowers the error by more than 5 points in every draw", better)
    likelier = all(one.entropy["corrected"] < one.entropy["raw"] for one in found)
    report.check("Covtype: the correction lowers the cross-entropy in every draw", likelier)
    nearer = all(distance(one, "estimated") < distance(one, "training") / 2 for one in found)
    report.check(
        "Covtype: the estimated priors are less than half as far from the test set's as those of training", nearer
    )
    report.check(
        "Covtype: the shift is significant (p < 0.001) in every draw", all(one.p_value < 1e-3 for one in found)
    )
    report.check(
        "Covtype: the likelihood is within 1e-8 nats per sample of its maximum", all(one.gap <= 1e-8 for one in found)
    )
    same = all(0 <= one.gain["newton"] - one.gain["em"] + 1e-8 <= 2e-6 for one in found)
    report.check("Covtype: EM, as in the paper, ends at the same likelihood", same)


def distance(one: Draw, group: str) -> float:
    """Total variation between a group of bars and the test set's priors."""
    return float(np.abs(one.priors[group] - one.priors["test"]).sum() / 2)


def spread(values: list[float]) -> list[float]:
    """Mean, least and greatest."""
    return [float(np.mean(values)), min(values), max(values)]


def picture(priors: dict[str, np.ndarray]) -> str:
    """Figure 1 as SVG: for each class, three bars."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    places, width = np.arange(len(COVERS)), 0.27
    for shift, (group, colour) in enumerate(BARS.items()):
        axes.bar(places + (shift - 1) * width, priors[group], width, color=colour, label=group)
    axes.set_xticks(places, [cover.replace("/", "/\n").replace(" ", "\n") for cover in COVERS], fontsize="small")
    axes.set_ylabel("Prior probability")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "smaller", "svg.fonttype": "path"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
