"""Draw the recovery curves: ``python -m experiments.inverse.pictures`` writes docs/images/recovery.svg."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

from . import recovery
from .studies import kept

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "recovery.svg"
LOOKS = {
    "TypeIIRegressor": ("tab:blue", "-"), "TypeIIRegressor, noise learned": ("tab:blue", "--"),
    "maximally_sparse": ("tab:green", "-"), "Lasso": ("tab:orange", "-"), "OMP, told k": ("tab:red", "-"),
    "MNE gamma-MAP": ("0.3", ":"),
}  # fmt: skip
TITLES = {"k": "non-zeros, at {} dB", "dB": "signal to noise in dB, at {} non-zeros"}


def main() -> None:
    """Two kinds of columns, against non-zeros and against the signal-to-noise ratio; bars are standard errors."""
    matplotlib.rcParams.update({"svg.hashsalt": "smaller", "svg.fonttype": "path", "font.size": 9})
    figure, panels = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharey=True)
    for axes, ((kind, axis), (values, lines)) in zip(
        panels.flat, recovery.curves(kept("recovery")).items(), strict=True
    ):
        for name, line in lines.items():
            means, errors = np.transpose(line)
            color, style = LOOKS[name]
            axes.errorbar(values, means, errors, color=color, linestyle=style, label=name, elinewidth=0.7)
        at = recovery.AT_DECIBELS if axis == "k" else recovery.AT_NON_ZEROS
        axes.set(title=f"{kind} columns", xlabel=TITLES[axis].format(at), ylim=(0, 1.03))
    for row in panels:
        row[0].set_ylabel("true among the k largest")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
