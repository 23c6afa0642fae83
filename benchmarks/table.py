"""Facts in, markdown out."""

import math
from pathlib import Path

from .latency import OURS, THEIRS
from .race import ACCURACIES

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: written by python -m benchmarks.run -->", "<!-- end of results -->"
OURS_NAME, SAGA, BINARY_ONLY = "smaller", "scikit-learn saga", "scikit-learn liblinear"
ACCURACY_NAMES = [f"{accuracy:g}" for accuracy in ACCURACIES]
ROUNDING = 1e-12  # certificates are not told apart below


def render(facts):
    """The whole report of one run, as far as it went."""
    parts = [machine(facts["machine"])]
    if races := facts.get("fits"):
        parts += ["## One fit", summary(races)]
        for title, chosen in (("several", several(races)), ("two", two(races))):
            if chosen:
                parts += [f"### {title.capitalize()} classes, to 1e-6", main_table(chosen)]
        parts += ["### The best peer at each accuracy", accuracies_table(races)]
    if facts.get("paths"):
        parts += ["## A path", main_table(facts["paths"]), accuracies_table(facts["paths"])]
    if facts.get("growth"):
        parts += ["## Growth and memory", growth_table(facts["growth"])]
    if facts.get("latency"):
        parts += ["## Latency", latency_table(facts["latency"])]
    return "\n\n".join(parts)


def machine(m):
    present = ", ".join(f"{name} {version}" for name, version in m["present"].items())
    absent = ", ".join(m["absent"]) or "none"
    return (
        f"{m['date']}, {m['cpu']}, {m['cores']} cores shared, one thread each; load {m['load'][0]:.1f} at the start, "
        f"{m['load'][1]:.1f} at the end; {m['minutes']:.0f} minutes. Python {m['python']}, {present}. "
        f"Not here, so not measured: {absent}."
    )


def two(races):
    return [race for race in races if any(solver["solver"] == BINARY_ONLY for solver in race["solvers"])]


def several(races):
    return [race for race in races if race not in two(races)]


def seconds(race, accuracy="1e-06"):
    """By solver, of those that got there."""
    return {s["solver"]: s["to"][accuracy] for s in race["solvers"] if accuracy in s["to"]}


def best(race, accuracy="1e-06"):
    """The fastest other solver and its time in times of ours, None without either."""
    found = seconds(race, accuracy)
    ours = found.pop(OURS_NAME, None)
    peer = min(found, key=found.get, default=None)
    return None if ours is None or peer is None else (found[peer] / ours, peer)


def mean(ratios):
    """Geometric, and of how many."""
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} ({len(ratios)})" if ratios else "–"


def summary(races):
    """The geometric means and each loss, in sentences."""
    found = {race["label"]: best(race) for race in races}
    ratios = {label: ratio for label, (ratio, _) in ((k, v) for k, v in found.items() if v)}
    losses = [f"{label} {found[label][0]:.2f} ({found[label][1]})" for label, ratio in ratios.items() if ratio < 1]
    alone = [label for label, peer in found.items() if not peer]
    saga = [seconds(race)[SAGA] / seconds(race)[OURS_NAME] for race in races if SAGA in seconds(race)]
    tried = [race for race in races if any(solver["solver"] == SAGA for solver in race["solvers"])]
    means = ", ".join(
        f"{kind} {mean([ratios[r['label']] for r in part if r['label'] in ratios])}"
        for kind, part in (("several classes", several(races)), ("two classes", two(races)))
    )
    sentences = [
        f"The best peer of each race needs {mean(list(ratios.values()))} times our time to 1e-6, as a geometric mean "
        f"over the races (their number in brackets) that some peer finishes: {means}.",
        f"Slower than the best peer: {', '.join(losses) or 'nowhere'}.",
        f"No peer got there within its time: {', '.join(alone) or 'nowhere'}.",
        f"scikit-learn's saga needs {mean(saga)} times our time where it gets there, "
        f"which it does in {len(saga)} of {len(tried)} races.",
    ]
    return " ".join(sentences)


def main_table(races):
    """One line a race: our seconds, then each peer in times of ours, the best in bold."""
    peers = [name for name in dict.fromkeys(s["solver"] for r in races for s in r["solvers"]) if name != OURS_NAME]
    heads = "| | smaller, seconds | " + " | ".join(peers) + " | *certified to* |"
    lines = [heads, "|---|" + "---:|" * (len(peers) + 2)]
    for race in races:
        by_name = {solver["solver"]: solver for solver in race["solvers"]}
        cells = [ratio(race, by_name.get(name)) for name in peers]
        ours = by_name[OURS_NAME]["to"].get("1e-06")
        certified = f"{max(race['certified'], ROUNDING):.0e}"
        lines.append(f"| {race['label']} | " + " | ".join([f"{ours:.4f}" if ours else "no", *cells, certified]) + " |")
    return "\n".join(lines)


def ratio(race, solver):
    if solver is None:
        return "–"
    found = seconds(race)
    if solver["solver"] not in found or OURS_NAME not in found:
        reached = min((rung["excess"] for rung in solver["rungs"]), default=None)
        return "no" if reached is None else f"no ({reached:.0e})"
    text = f"{found[solver['solver']] / found[OURS_NAME]:.2f}"
    return f"**{text}**" if best(race)[1] == solver["solver"] else text


def accuracies_table(races):
    lines = [
        "| | " + " | ".join(f"to {a}, seconds | best peer" for a in ACCURACY_NAMES) + " |",
        "|---|" + "---:|---|" * 3,
    ]
    for race in races:
        cells = []
        for accuracy in ACCURACY_NAMES:
            ours, peer = seconds(race, accuracy).get(OURS_NAME), best(race, accuracy)
            cells += [f"{ours:.4f}" if ours else "no", f"{peer[0]:.2f} {peer[1]}" if peer else "–"]
        lines.append(f"| {race['label']} | " + " | ".join(cells) + " |")
    means = [mean([peer[0] for race in races if (peer := best(race, a))]) for a in ACCURACY_NAMES]
    return "\n".join([*lines, "| *geometric mean (races)* | " + " | ".join(f"| {text}" for text in means) + " |"])


def growth_table(growth):
    lines = ["| time against | sizes | seconds | weights kept | fitted exponent |", "|---|---|---|---|---:|"]
    for name, scan in growth["scans"].items():
        sizes = ", ".join(f"{size:,}".replace(",", " ") for size in scan["sizes"])
        times = ", ".join(f"{point['seconds']:.3f}" for point in scan["points"])
        kept = ", ".join(str(point["kept"]) for point in scan["points"])
        lines.append(f"| {name} | {sizes} | {times} | {kept} | {scan['exponent']:.2f} |")
    lines += ["", "| input | MiB of X | MiB that a fit adds at its peak | times X |", "|---|---:|---:|---:|"]
    for name, m in growth["memory"].items():
        lines.append(f"| {name} | {m['X']:.0f} | {m['extra']:.1f} | {m['extra'] / m['X']:.2f} |")
    return "\n".join(lines)


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
