"""The benchmarks at a glance: every solver's time, in times of ours, and how time grows, drawn from results/.

The documentation draws it when it is built; by hand: python -m benchmarks.picture FILE.svg
"""

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

from .table import seconds

RESULTS = Path(__file__).with_name("results")
SHOWN = ("dense 0.01", "wide_bin 0.01", "covtype 0.1")  # races whose ladders are drawn
FLOOR = 1e-10  # rungs better than that are drawn there


def ratios(races):
    """For each race its label and, by solver, seconds over our seconds; None where a solver did not arrive."""
    for race in races:
        reached = {s["solver"]: None for s in race["solvers"]} | seconds(race)
        if ours := reached.pop("smaller", None):
            yield race["label"], {name: t and t / ours for name, t in reached.items()}


def draw(folder: Path = RESULTS) -> Figure:
    """All races at one accuracy; below, time against accuracy in some of them, and against the size of the problem."""
    fits, paths = (json.loads((folder / f"{part}.json").read_text())[part] for part in ("fits", "paths"))
    scans = json.loads((folder / "growth.json").read_text())["growth"]["scans"]
    figure = Figure(figsize=(12, 10), layout="constrained")
    names = list(dict.fromkeys(solver["solver"] for race in fits for solver in race["solvers"]))
    look = {name: ("o^sDvP*Xd<>hp"[k % 13], f"C{k % 10}") for k, name in enumerate(n for n in names if n != "smaller")}
    panels = figure.subplot_mosaic([["races"] * 4, [*SHOWN, "growth"]], height_ratios=(3, 2))
    draw_races(panels["races"], [*ratios(fits), *ratios(paths)], look)
    for label in SHOWN:
        draw_ladder(panels[label], next(race for race in fits if race["label"] == label), look)
    draw_growth(panels["growth"], scans)
    panels[SHOWN[0]].set_ylabel("Seconds")
    figure.legend(*panels["races"].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def draw_races(axes, columns, look):
    """A column for each problem, a dot for each peer; those that did not arrive stand on top."""
    top = 3 * max(t for _, found in columns for t in found.values() if t)
    for rank, (name, (mark, colour)) in enumerate(look.items()):
        points = [(x, found[name] or top) for x, (_, found) in enumerate(columns) if name in found]
        place = 0.5 * (rank / max(len(look) - 1, 1) - 0.5)
        x, y = [x + place for x, _ in points], [y for _, y in points]
        axes.plot(x, y, mark, color=colour, markersize=5, label=name)
    axes.axhline(1, color="black", linewidth=1)
    axes.axhspan(top / 1.5, top * 1.5, color="0.92")
    axes.set(yscale="log", ylabel="Time to 1e-6, in times of ours", ylim=(None, top * 1.5), xlim=(-1, len(columns)))
    axes.annotate("on grey: did not reach the accuracy", (1, 1), xycoords="axes fraction", ha="right", va="bottom")
    axes.set_xticks(range(len(columns)), [label for label, _ in columns], rotation=60, ha="right", fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)


def draw_ladder(axes, race, look):
    """Seconds against the accuracy that they buy, a line for each solver, ours in black."""
    for solver in race["solvers"]:
        rungs = [(max(rung["excess"], FLOOR), rung["seconds"]) for rung in solver["rungs"]]
        if rungs:
            mark, colour = look.get(solver["solver"], ("", "black"))
            width = 1 if mark else 2.5
            axes.plot(*zip(*rungs, strict=True), mark + "-", color=colour, linewidth=width, markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="Relative suboptimality", title=race["label"], xlim=(1, FLOOR))
    axes.spines[["top", "right"]].set_visible(False)


def draw_growth(axes, scans):
    """Our seconds against the size of the problem, both in times of the smallest."""
    for (name, scan), mark in zip(scans.items(), "ovsD", strict=True):
        times = [point["seconds"] / scan["points"][0]["seconds"] for point in scan["points"]]
        sizes = [size / scan["sizes"][0] for size in scan["sizes"]]
        axes.plot(sizes, times, mark + "-", label=f"{name}, exponent {scan['exponent']:.2f}")
    axes.set(xscale="log", yscale="log", xlabel="Size, in times of the smallest", title="Growth of our time")
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    draw().savefig(sys.argv[1])
