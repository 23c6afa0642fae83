"""Figure 1 of the paper, bound and test error against lambda, and its bound for AML/ALL.

Mines (22 933 sonar samples, 119 of them mines) is not public. Two tasks of its size take its place, from the forest
cover data: cells of cottonwood and willow, as rare as the mines, and of krummholz, less rare, where the classifiers do
more than to say no. A bound holds only if nothing was fitted to the training cells beforehand, so columns are
standardised by the statistics of the cells that are in neither half, there is no intercept but a column of ones, and
the strengths are fixed. ``python -m experiments.krishnapuram2005.figure1`` runs this alone and draws figure1.svg.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.harness import Report, write
from smaller import SMLR, bounds, datasets

TRAIN, TEST = 11_467, 11_466  # as many as Mines has
TASKS = {"cottonwood": ("4", "cottonwood and willow"), "krummholz": ("7", "krummholz")}
LAMS = 2.0 ** np.arange(-2, 11)
DELTA = 0.05
STRENGTHS = 10.0 ** np.linspace(-2, 1, 7)  # for AML/ALL
FIGURE = Path(__file__).with_name("figure1.svg")
COLOURS = {"bound": "#0b5394", "sharper": "#38761d", "test": "#b45f06"}


class Curves(NamedTuple):
    """What is drawn for a task: a number for each strength."""

    label: str
    bound: list[float]
    sharper: list[float]
    test: list[float]
    never: float  # test error of never saying yes


def forest(seed: int, bunch: Any, task: str) -> tuple[tuple, tuple]:
    """Training and test cells, with a column of ones, scaled by the cells in neither."""
    order = np.random.default_rng(seed).permutation(len(bunch.data))
    train, test, others = np.split(order, [TRAIN, TRAIN + TEST])
    X = np.asarray(bunch.data, dtype=float)
    spread = X[others].std(axis=0)
    X = (X - X[others].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    X = np.column_stack([X, np.ones(len(X))])
    y = (np.asarray(bunch.target_names)[bunch.target] == TASKS[task][0]).astype(int)
    return (X[train], y[train]), (X[test], y[test])


def curves(report: Report, task: str) -> Curves | None:
    """Bounds and test errors over the grid, all bounds at once with probability 0.95."""
    if (bunch := report.load("Forest cover", datasets.load_covtype_sample)) is None:
        return None
    train, test = forest(report.seed, bunch, task)
    found = bounds.choose(SMLR(fit_intercept=False), *train, LAMS, DELTA)
    sharper = [_sharper(model, *train) for model in found.models]
    errors = [float((model.predict(test[0]) != test[1]).mean()) for model in found.models]
    for lam, result, model, narrow, error in zip(LAMS, found.results, found.models, sharper, errors, strict=True):
        figures = {"bound": result.bound, "bound, narrower": narrow, "test error": error}
        report.add(f"figure1/{task}/{lam:g}", **figures, kept=len(model.support_))
    _compare(report, task, found, errors, test)
    return Curves(TASKS[task][1], [r.bound for r in found.results], sharper, errors, float(test[1].mean()))


def _sharper(model, X, y) -> float:
    return bounds.pac_bayes(model, X, y, DELTA / len(LAMS), rates="least-bound").bound


def _compare(report: Report, task: str, found, errors: list[float], test) -> None:
    """The strength that the bound chooses, beside the best in hindsight and a bound from the test cells."""
    at_choice, best = errors[int(np.flatnonzero(found.lams == found.lam)[0])], min(errors)
    held_out = bounds.test_set(found.model, *test, DELTA)
    report.add(
        f"figure1/{task}/chosen", lam=found.lam, bound=found.bound, **{"test error": at_choice, "best test error": best}
    )
    report.add(f"figure1/{task}/held-out", bound=held_out.bound, **{"test error": at_choice})
    claim = f"{task}: the test error at the strength of the least bound is within 1 percentage point of the best"
    report.check(f"{claim} ({100 * (at_choice - best):.2f})", at_choice - best <= 0.01)
    report.check(f"{task}: no test error exceeds its bound", all(np.array(errors) <= [r.bound for r in found.results]))


def arrays(report: Report) -> None:
    """AML/ALL on all expression values, each array standardised by itself, which looks at no other array."""
    if (bunch := report.load("AML/ALL", datasets.load_golub)) is None:
        return
    X = np.log10(np.clip(bunch.data, 100, 16_000))
    X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    train, test = (X[bunch.train], bunch.target[bunch.train]), (X[bunch.test], bunch.target[bunch.test])
    for form in ("langford-seeger", "maurer"):
        found = bounds.pac_bayes(SMLR(1.0, fit_intercept=False).fit(*train), *train, DELTA, form=form)
        report.add(
            f"golub/bound/{form}", bound=found.gibbs_bound, doubled=found.bound, **{"of 34": 34 * found.gibbs_bound}
        )
        report.check(f"golub: the Gibbs bound ({form}) is below 1", found.gibbs_bound < 1)
    found = bounds.choose(SMLR(fit_intercept=False), *train, STRENGTHS, DELTA, form="langford-seeger")
    least = found.best.gibbs_bound
    report.add("golub/bound/chosen", bound=least, doubled=found.bound, **{"of 34": 34 * least})
    coin = bounds.kl_inverse(0.5, bounds.budget(0.0, len(bunch.train), DELTA, "langford-seeger"))
    report.add("golub/bound/coin", bound=coin, **{"of 34": 34 * coin})
    model = SMLR(1.0, fit_intercept=False).fit(*train)
    held_out = bounds.test_set(model, *test, DELTA)
    report.add("golub/bound/held-out", bound=held_out.bound, **{"of 34": 34 * held_out.bound})


def draw(found: list[Curves]) -> str:
    """The figure as SVG."""
    import io

    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "figure1", "font.family": "sans-serif", "font.size": 9}):
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        for ax, task in zip(figure.subplots(1, len(found), sharey=True, squeeze=False)[0], found, strict=True):
            ax.plot(LAMS, task.bound, "o-", ms=3, color=COLOURS["bound"], label="PAC-Bayes bound")
            ax.plot(LAMS, task.sharper, "s-", ms=3, color=COLOURS["sharper"], label="the same, narrower posterior")
            ax.plot(LAMS, task.test, "^-", ms=3, color=COLOURS["test"], label="test error")
            ax.axhline(task.never, color="0.5", lw=0.8, ls=":", label="test error of never saying yes")
            ax.set(xscale="log", yscale="log", xlabel="lambda", title=f"Forest cover: {task.label}")
        figure.axes[0].set_ylabel("error rate")
        figure.axes[0].legend(frameon=False, fontsize=8)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def figure(report: Report) -> None:
    """Both tasks, the drawing, and AML/ALL."""
    found = [task for task in (curves(report, name) for name in TASKS) if task is not None]
    if found:
        try:
            write(FIGURE, draw(found))
        except ImportError:
            print("  figure1.svg was not drawn: matplotlib is missing", flush=True)
    arrays(report)
