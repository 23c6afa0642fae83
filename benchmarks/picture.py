"""The benchmarks at a glance: every solver's time, in times of ours, drawn from results/fits.json and paths.json.

The documentation draws it when it is built; by hand: python -m benchmarks.picture FILE.svg
"""

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

RESULTS = Path(__file__).with_name("results")


def ratios(races):
    """For each race its label and, by solver, seconds over our seconds; None where a solver did not arrive."""
    for race in races:
        reached = {s["solver"]: s["seconds"] if s["reached"] else None for s in race["solvers"]}
        if ours := reached.pop("smaller", None):
            yield race["label"], {name: t and t / ours for name, t in reached.items()}


def draw(folder: Path = RESULTS) -> Figure:
    """A column for each problem, a dot for each peer; those that did not arrive stand on top."""
    facts = [json.loads((folder / f"{part}.json").read_text()) for part in ("fits", "paths")]
    columns = [*ratios(facts[0]["fits"]), *ratios(facts[1]["paths"])]
    names = list(dict.fromkeys(name for _, found in columns for name in found))
    top = 3 * max(t for _, found in columns for t in found.values() if t)
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.subplots()
    for rank, name in enumerate(names):
        points = [(x, found[name] or top) for x, (_, found) in enumerate(columns) if name in found]
        place = 0.5 * (rank / max(len(names) - 1, 1) - 0.5)
        mark = "o^sDvP*Xd<>hp"[rank % 13]
        axes.plot([x + place for x, _ in points], [y for _, y in points], mark, markersize=6, label=name)
    axes.axhline(1, color="black", linewidth=1)
    axes.axhspan(top / 1.5, top * 1.5, color="0.92")
    axes.set(yscale="log", ylabel="Time, in times of ours", ylim=(None, top * 1.5))
    axes.annotate("on grey: did not reach the accuracy", (1, 1), xycoords="axes fraction", ha="right", va="bottom")
    axes.set_xticks(range(len(columns)), [label for label, _ in columns], rotation=40, ha="right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure


if __name__ == "__main__":
    draw().savefig(sys.argv[1])
