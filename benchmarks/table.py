"""Facts in, markdown out."""

from pathlib import Path

from .latency import OURS, THEIRS

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: written by python -m benchmarks.run -->", "<!-- end of results -->"
ROUNDING = 1e-12  # certificates are not told apart below


def render(facts):
    """The whole report of one run, as far as it went."""
    parts = [machine(facts["machine"])]
    if facts.get("fits"):
        parts += ["## One fit", seconds_table(facts["fits"]), "### Times our time", ratio_table(facts["fits"])]
    if facts.get("paths"):
        parts += ["## A path", seconds_table(facts["paths"]), "### Times our time", ratio_table(facts["paths"])]
    if facts.get("latency"):
        parts += ["## Latency", latency_table(facts["latency"])]
    return "\n\n".join(parts)


def machine(m):
    present = ", ".join(f"{name} {version}" for name, version in m["present"].items())
    absent = ", ".join(m["absent"]) or "none"
    return (
        f"{m['date']}, {m['cpu']}, {m['cores']} cores shared, one thread each; load {m['load'][0]:.1f} at the start, "
        f"{m['load'][1]:.1f} at the end; {m['minutes']:.0f} minutes. Python {m['python']}, {present}. "
        f"Not installed here, so not measured: {absent}."
    )


def rows(races):
    """Solver names in their order of appearance, and each race's facts by solver."""
    by_race = [{solver["solver"]: solver for solver in race["solvers"]} for race in races]
    return list(dict.fromkeys(name for race in by_race for name in race)), by_race


def grid(races, cell):
    names, by_race = rows(races)
    lines = ["| | " + " | ".join(race["label"] for race in races) + " |", "|---|" + "---:|" * len(races)]
    for name in names:
        cells = [cell(race[name], race) if name in race else "–" for race in by_race]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def seconds_table(races):
    def cell(solver, race):
        if solver["reached"]:
            return f"{solver['seconds']:.4f}"
        if solver["rungs"]:
            return f"no ({min(rung['excess'] for rung in solver['rungs']):.0e})"
        return "no"

    certified = "| *certified to* | " + " | ".join(f"{max(race['certified'], ROUNDING):.0e}" for race in races) + " |"
    return "\n".join([*grid(races, cell), certified])


def ratio_table(races):
    def cell(solver, race):
        ours = race.get("smaller")
        if not (solver["reached"] and ours and ours["reached"]):
            return "–"
        return f"{solver['seconds'] / ours['seconds']:.2f}"

    return "\n".join([*grid(races, cell), best_peer(races)])


def best_peer(races):
    """The fastest other solver of each race, against ours: above 1 we are faster."""
    cells = []
    for race in races:
        reached = {solver["solver"]: solver["seconds"] for solver in race["solvers"] if solver["reached"]}
        ours = reached.pop("smaller", None)
        peer = min(reached, key=reached.get, default=None)
        cells.append("–" if ours is None or peer is None else f"**{reached[peer] / ours:.2f}** ({peer})")
    return "| *the best peer* | " + " | ".join(cells) + " |"


def latency_table(latency):
    times = latency["times"]
    heads = "| milliseconds | processor, median | wall clock, median | wall clock, least | repeats |"
    lines = [heads, "|---|" + "---:|" * 4]
    for name, t in times.items():
        processor, wall, least = (1e3 * t[kind] for kind in ("processor", "wall", "least"))
        lines.append(f"| {name} | {processor:.1f} | {wall:.1f} | {least:.1f} | {t['repeats']} |")
    processor, wall = (times[THEIRS][kind] / times[OURS][kind] for kind in ("processor", "wall"))
    sentence = (
        f"A warm fit of Iris by scikit-learn's default takes {processor:.2f} times ours ({wall:.2f} by the wall clock)."
    )
    return "\n".join([*lines, "", sentence])


def write(report):
    """Put the report between the markers of README.md."""
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{report}\n{END}{after}")
