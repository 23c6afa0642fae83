"""The two pictures of a sparse model's strength: the regularisation path and the cross-validation curve.

Run as a program it draws the picture of the README: python examples/pictures.py docs/images/path.svg
"""

import io
import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from smaller import SMLRCV, path

GREY = "0.8"
LINES = ("-", "--", "-.")
SIZE = (5.2, 4.4)  # inches; small, so that the letters stay readable on a narrow screen


def path_picture(found, unit, names, chosen: float) -> Figure:
    """The weights, each per standard deviation of its feature, against lam; in colour, those kept at the chosen lam."""
    weights = found.coefs[:, 0] * unit
    at_chosen = weights[np.argmin(np.abs(np.log(found.lams / chosen)))]
    kept = sorted(np.flatnonzero(at_chosen), key=lambda j: -abs(at_chosen[j]))
    figure, axes = _figure("Strength of the prior, lam (weaker to the right)", "Weight, per standard deviation")
    axes.plot(found.lams, np.delete(weights, kept, axis=1), color=GREY, linewidth=1)
    for rank, j in enumerate(kept):
        line = LINES[rank // 10 % len(LINES)]  # matplotlib has ten colours
        axes.plot(found.lams, weights[:, j], line, linewidth=2, label=names[j])
    axes.axvline(chosen, color="black", linestyle=":", linewidth=1)
    axes.annotate("chosen", (chosen, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    axes.set_xlim(found.lams[0], found.lams[-1])
    axes.set_ylim(*_limits(weights[:, kept]))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def curve_picture(lams, scores, n_kept, chosen: float) -> Figure:
    """Log-loss of the folds, mean and one standard error, against lam; above, how many features are kept."""
    mean, error = -scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    best = np.argmin(mean)
    figure, axes = _figure("Strength of the prior, lam (weaker to the right)", "Log-loss of the folds, nats")
    axes.fill_between(lams, mean - error, mean + error, color="tab:blue", alpha=0.2, linewidth=0)
    axes.plot(lams, mean, color="tab:blue", linewidth=2, label="mean, and one standard error")
    axes.axhline(mean[best] + error[best], color="0.5", linestyle="--", linewidth=1, label="one error above the best")
    axes.axvline(lams[best], color="tab:orange", linewidth=1.5, label="the best mean")
    axes.axvline(chosen, color="black", linestyle=":", linewidth=1.5, label="chosen")
    axes.set_xlim(lams[0], lams[-1])
    above = axes.secondary_xaxis("top")
    ticks = np.linspace(0, len(lams) - 1, 7).round().astype(int)
    above.set_xticks(lams[ticks], [str(n) for n in n_kept[ticks]])
    above.minorticks_off()
    above.set_xlabel("Features kept")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def svg(figure: Figure, salt: str = "smaller", text: str = "path") -> str:
    """The figure as SVG, the same for the same figure; text is "path" (drawn) or "none" (the reader's own font)."""
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": text, "font.family": "sans-serif"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def _figure(x: str, y: str):
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Room for these curves; the others, which grow without limit as the prior fades, may leave the picture."""
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    margin = 0.1 * max(high - low, 1.0)
    return low - margin, high + margin


def main(file: Path) -> None:
    """Draw the path on scikit-learn's breast cancer data."""
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    model = SMLRCV(lams=60, rule="1se", standardize=True).fit(X, y)
    found = path(X, y, model.lams_[model.lams_ > 5e-3 * model.lams_[0]], standardize=True)
    file.write_text(svg(path_picture(found, X.std(axis=0), data.feature_names, model.lam_)), encoding="utf-8")
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
