"""The figures of the comparison, as SVG files beside the README."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

matplotlib.rcParams["svg.hashsalt"] = "figueiredo2003"  # the same picture is the same file
LINES = {"plug-in": "s--", "Jeffreys": "o-"}


def selection(kept: dict[int, float], path: Path) -> None:
    """Mean number of weights kept against their true number."""
    figure, axes = _figure("Weights that are not zero", "Weights kept, on average")
    axes.plot([0, 20], [0, 20], ":", color="0.5", label="identity")
    axes.plot(list(kept), list(kept.values()), "o-", label="JeffreysRegressor")
    _save(figure, axes, path)


def sinc(draw, model, path: Path) -> None:
    """One draw, the curve with its band of two standard deviations, and the kernels kept."""
    figure, axes = _figure("x", "y")
    x = np.linspace(-10, 10, 400)[:, None]
    mean, std = model.predict(x, return_std=True)
    axes.fill_between(x[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.15, linewidth=0)
    axes.plot(draw.data, draw.target, ".", color="0.5", markersize=4, label="observed")
    axes.plot(draw.data, draw.truth, ":", color="black", label="sin(x) / x")
    axes.plot(x, mean, color="C0", label="JeffreysRegressor")
    at = model.support_
    centers = model.relevance_vectors_
    axes.plot(centers, model.predict(centers), "o", color="C3", fillstyle="none", label=f"{len(at)} kernels kept")
    _save(figure, axes, path)


def gaussians(dimensions, curves: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Test error against the number of inputs."""
    figure, axes = _figure("Inputs, of which two matter", "Test error, per cent")
    for shade, (kind, methods) in zip(("C0", "C1"), curves.items(), strict=True):
        for name, errors in methods.items():
            axes.plot(dimensions, errors, LINES[name], color=shade, label=f"{kind}, {name}")
    axes.axhline(15.87, color="0.5", linestyle=":", label="best possible")
    _save(figure, axes, path)


def _figure(x: str, y: str):
    figure = Figure(figsize=(5.2, 3.8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, axes, path: Path) -> None:
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
