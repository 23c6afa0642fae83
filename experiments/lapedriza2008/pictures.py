"""The figures of the comparison, as SVG files beside the README."""

from __future__ import annotations

from pathlib import Path

import numpy as np

COLOURS = {"RVM": "#8c8c8c", "L-RVM": "#1f77b4", "JFSCL": "#d95f02", "JCFO": "#1b9e77"}
MARKS = {"RVM": "s--", "L-RVM": "^-", "JFSCL": "o-", "JCFO": "D:"}
BAYES = 15.87


def dimensions(results: dict[str, dict], inputs: tuple[int, ...], path: Path) -> None:
    """Test error against the number of inputs, with 95 % intervals of the means; of the methods that have run."""
    figure, axes = _figure("Inputs, of which two matter", "Test error, per cent")
    for shift, (name, colour) in enumerate(COLOURS.items()):
        if not (found := results.get(f"gaussians/1.0/{name}")):
            continue
        mean, low, high = np.array([found[str(d)] for d in inputs]).T
        at = np.array(inputs) + 0.3 * (shift - 1.5)
        style = {"fmt": MARKS[name], "color": colour, "markersize": 5, "capsize": 2, "linewidth": 1.3}
        axes.errorbar(at, mean, [mean - low, high - mean], label=name, **style)
    axes.axhline(BAYES, color="0.3", linestyle=":", linewidth=1, label="best possible")
    axes.set_xticks(inputs)
    axes.legend(frameon=False, fontsize="small")
    _save(figure, path)


def sensitivity(results: dict[str, dict], steps, steepness, path: Path) -> None:
    """Test error for every step and steepness, a line for each step; the steepnesses side by side."""
    from matplotlib import colormaps

    figure, axes = _figure("Steepness of the gates, k", "Test error, per cent")
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, len(steps)))
    for step, shade, mark in zip(steps, shades, "osD^vP", strict=True):
        means = [results[f"table4/{step:g}"][str(k)][0] for k in steepness]
        axes.plot(means, f"{mark}-", color=shade, markersize=4, linewidth=1.2, label=f"step {step:g}")
    axes.axhline(BAYES, color="0.3", linestyle=":", linewidth=1, label="best possible")
    axes.set_xticks(range(len(steepness)), [str(k) for k in steepness])
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    _save(figure, path)


def _figure(x: str, y: str):
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "lapedriza2008"  # the same picture is the same file
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
