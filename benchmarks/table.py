"""Facts in, markdown out."""

import math
from pathlib import Path

from .latency import OURS, THEIRS
from .race import ACCURACIES, ACCURACY

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: written by python -m benchmarks.run -->", "<!-- end of results -->"
OURS_NAME, SAGA, BINARY_ONLY = "smaller", "scikit-learn saga", "scikit-learn liblinear"
GROWTH = (
    "Around 4000 samples, 500 features and 5 classes, normal and independent, 20 features that matter; for non-zeros "
    "sparse, 10 000 × 20 000. At a tenth of the largest useful strength, to a duality gap of 1e-6; least of three, "
    "processor seconds. Memory by the system's account of a fresh process: 20 000 × 1000 dense, "
    "20 000 × 50 000 sparse, 5 classes."
)
ROUNDING = 1e-12  # certificates are not told apart below


def render(facts, groups=None):
    """The whole report of one run, as far as it went; problems with groups may have been raced in another one."""
    parts = []
    if "machine" in facts:
        parts.append(machine(facts["machine"], [*facts.get("fits", []), *facts.get("paths", [])]))
    if races := facts.get("fits"):
        parts += ["## One fit", summary(races)]
        for title, chosen in (("several", several(races)), ("two", two(races))):
            if chosen:
                parts += [f"### {title.capitalize()} classes, to 1e-6", main_table(chosen)]
        parts += ["### The best peer at each accuracy", accuracies_table(races)]
    if facts.get("paths"):
        parts += ["## A path", main_table(facts["paths"]), accuracies_table(facts["paths"])]
    if groups and "groups" in groups:
        parts += ["## Groups", *grouped(groups["machine"], groups["groups"]), *cost_table(groups["cost"])]
    if facts.get("growth"):
        parts += ["## Growth and memory", growth_table(facts["growth"])]
    if facts.get("latency"):
        parts += ["## Latency", latency_table(facts["latency"])]
    return "\n\n".join(parts)


def machine(m, races):
    present = ", ".join(f"{name} {version}" for name, version in m["present"].items())
    absent = ", ".join(m["absent"]) or "none"
    loads = [load for race in races for load in race["load"]] or m["load"]
    return (
        f"{m['date']}, {m['cpu']}, {m['cores']} cores shared, one thread each; load {min(loads):.1f} to "
        f"{max(loads):.1f} in the course of it. Python {m['python']}, {present}. Not here, so not measured: {absent}."
    )


def grouped(where, races):
    """Fits and paths beside each other: machine, the sentence that counts, each peer, each accuracy."""
    ratios = {race["label"]: found[0] for race in races if (found := best(race))}
    slower = [f"{label} {ratio:.2f}" for label, ratio in ratios.items() if ratio < 1]
    close = [f"{label} {ratio:.2f}" for label, ratio in ratios.items() if 1 <= ratio < 2]
    open_ = [race["label"] for race in races if best(race) is None and at_least(race) < 2]
    sentence = (
        f"The best peer needs {mean(list(ratios.values()))} times our time to 1e-6; slower than that peer: "
        f"{', '.join(slower) or 'nowhere'}; at less than twice our time: {', '.join(close) or 'nowhere'}. No peer got "
        f"there, and some peer's last rung took less than twice our time: {', '.join(open_) or 'nowhere'}."
    )
    return machine(where, races), sentence, main_table(races, bounds=True), accuracies_table(races)


def at_least(race):
    """What every peer that was tried needs, in times of ours: as long as its longest rung, none being accurate."""
    tried = [s["rungs"] for s in race["solvers"] if s["solver"] != OURS_NAME and s["failure"] != "not tried"]
    longest = [max((rung["seconds"] for rung in rungs), default=0.0) for rungs in tried]
    return min(longest, default=0.0) / seconds(race)[OURS_NAME]


def cost_table(facts):
    """A fit with groups beside an L1 fit of the same size."""
    if not facts:
        return
    lines = [
        "| to a gap of 1e-6 | weights kept | seconds | weights kept by L1 | seconds | ratio |",
        "|---|" + "---:|" * 5,
    ]
    for f in facts:
        cells = f["kept"], f"{f['seconds']:.4f}", f["plain_kept"], f"{f['plain_seconds']:.4f}"
        ratio = f"{f['seconds'] / f['plain_seconds']:.2f}"
        lines.append(" | ".join(["| " + f["label"], *map(str, cells), ratio]) + " |")
    yield "\n".join(lines)


def two(races):
    return [race for race in races if any(solver["solver"] == BINARY_ONLY for solver in race["solvers"])]


def several(races):
    return [race for race in races if race not in two(races)]


def seconds(race, accuracy=ACCURACY):
    """By solver, the least over the rungs that are accurate enough, of those solvers that have one."""
    found = {s["solver"]: [r["seconds"] for r in s["rungs"] if r["excess"] <= accuracy] for s in race["solvers"]}
    return {name: min(times) for name, times in found.items() if times}


def best(race, accuracy=ACCURACY):
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


def main_table(races, bounds=False):
    """One line a race: our seconds, then each peer in times of ours, the best in bold.

    With bounds a peer that was not accurate enough has the time of its longest rung, which it needs at least.
    """
    peers = [name for name in dict.fromkeys(s["solver"] for r in races for s in r["solvers"]) if name != OURS_NAME]
    heads = "| | smaller, seconds | " + " | ".join(peers) + " | *limit, seconds* | *certified to* |"
    lines = [heads, "|---|" + "---:|" * (len(peers) + 3)]
    for race in races:
        by_name = {solver["solver"]: solver for solver in race["solvers"]}
        cells = [ratio(race, by_name.get(name), bounds) for name in peers]
        ours = seconds(race).get(OURS_NAME)
        cells += [f"{race['limit']:.0f}", f"{max(race['certified'], ROUNDING):.0e}"]
        lines.append(f"| {race['label']} | " + " | ".join([f"{ours:.4f}" if ours else "no", *cells]) + " |")
    return "\n".join(lines)


def ratio(race, solver, bounds=False):
    if solver is None:
        return "–"
    found = seconds(race)
    if solver["solver"] not in found or OURS_NAME not in found:
        reached = min((rung["excess"] for rung in solver["rungs"]), default=None)
        if reached is None or not (bounds and OURS_NAME in found):
            return "no" if reached is None else f"no ({reached:.0e})"
        return f"≥ {max(rung['seconds'] for rung in solver['rungs']) / found[OURS_NAME]:.1f} ({reached:.0e})"
    text = f"{found[solver['solver']] / found[OURS_NAME]:.2f}"
    return f"**{text}**" if best(race)[1] == solver["solver"] else text


def accuracies_table(races):
    lines = [
        "| | " + " | ".join(f"to {a:.0e}, seconds | best peer" for a in ACCURACIES) + " |",
        "|---|" + "---:|---|" * 3,
    ]
    for race in races:
        cells = []
        for accuracy in ACCURACIES:
            ours, peer = seconds(race, accuracy).get(OURS_NAME), best(race, accuracy)
            cells += [f"{ours:.4f}" if ours else "no", f"{peer[0]:.2f} {peer[1]}" if peer else "–"]
        lines.append(f"| {race['label']} | " + " | ".join(cells) + " |")
    means = [mean([peer[0] for race in races if (peer := best(race, a))]) for a in ACCURACIES]
    return "\n".join([*lines, "| *geometric mean (races)* | " + " | ".join(f"| {text}" for text in means) + " |"])


def growth_table(growth):
    lines = [
        GROWTH,
        "",
        "| time against | sizes | seconds | weights kept | fitted exponent |",
        "|---|---|---|---|---:|",
    ]
    for name, scan in growth["scans"].items():
        sizes = ", ".join(f"{size:,}".replace(",", " ") for size in scan["sizes"])
        times = ", ".join(f"{point['seconds']:.3f}" for point in scan["points"])
        kept = ", ".join(str(point["kept"]) for point in scan["points"])
        lines.append(f"| {name} | {sizes} | {times} | {kept} | {scan['exponent']:.2f} |")
    lines += ["", "| a tenth of the largest strength | cold, seconds | from 1.1 times it | float32 | its excess |"]
    lines.append("|---|" + "---:|" * 4)
    for name, t in growth.get("starts", {}).items():
        cells = f"{t['cold']:.4f} | {t['warm']:.4f} | {t['float32']:.4f} | {max(t['excess'], 0.0):.0e}"
        lines.append(f"| {name} | {cells} |")
    lines += [
        "",
        "| input | MiB of X | MiB that a fit adds at its peak | times X | 8 n m + n kept + p m doubles, MiB |",
    ]
    lines.append("|---|" + "---:|" * 4)
    for name, m in growth["memory"].items():
        n, p, classes = m["samples"], m["features"], m["classes"]
        doubles = 8 * (8 * n * classes + n * m["kept"] + p * classes) / 2**20
        lines.append(f"| {name} | {m['X']:.0f} | {m['extra']:.1f} | {m['extra'] / m['X']:.2f} | {doubles:.1f} |")
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
