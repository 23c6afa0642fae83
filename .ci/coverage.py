"""The share of statements and branches that the tests reach, for each sub-package: python .ci/coverage.py FILE.json.

Where a sub-package is below 95 %, the files that are below it are named with what they miss.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import PurePath

LEAST = 95.0
PARTS = (("covered_lines", "num_statements"), ("covered_branches", "num_branches"))


def percent(summaries: list[dict]) -> float:
    """Statements and branches together, as coverage itself counts them."""
    reached, there = (sum(each[pair[i]] for each in summaries for pair in PARTS) for i in (0, 1))
    return 100.0 * reached / there if there else 100.0


def room(name: str) -> str:
    """The sub-package of a file, or the package itself."""
    inside = PurePath(name).parts
    inside = inside[inside.index("smaller") :]
    return ".".join(inside[:2]) if len(inside) > 2 else "smaller"


def main(report: str) -> None:
    with open(report, encoding="utf-8") as stream:
        files = json.load(stream)["files"]
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in sorted(files):
        rooms[room(name)].append(name)
    for title, names in sorted(rooms.items()):
        share = percent([files[name]["summary"] for name in names])
        print(f"{title:24} {share:6.1f} %{'' if share >= LEAST else f'   below {LEAST:g} %:'}")
        for name in names if share < LEAST else []:
            own = percent([files[name]["summary"]])
            if own < LEAST:
                missed = files[name]["summary"]
                print(
                    f"    {name:44} {own:6.1f} %   {missed['missing_lines']} statements, "
                    f"{missed['missing_branches']} branches"
                )
    print(f"{'all':24} {percent([each['summary'] for each in files.values()]):6.1f} %")


if __name__ == "__main__":
    main(sys.argv[1])
