"""Simulations of sparse inverse problems: ``python -m experiments.inverse.studies NAME [--seconds 600]``.

Each study runs its draws in order until its processor time is spent, keeps what is done in ours.json, and goes on from
there when it is called again; without a name the tables of all that is kept are printed.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

from . import error_bars, large_cosines, leadfields, noise, recovery, starts, undersampled_cosines

STUDIES = {
    "noise": noise, "error_bars": error_bars, "recovery": recovery, "leadfields": leadfields, "starts": starts,
    "cosines": undersampled_cosines, "large": large_cosines,
}  # fmt: skip
FOLDER = Path(__file__).parent


def kept(name: str) -> dict:
    """The rows of a study that are done."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def carry_out(name: str, seconds: float) -> None:
    """Draws that are not done yet, one by one."""
    found, began = kept(name), time.process_time()
    for key, (function, *arguments) in STUDIES[name].tasks():
        if key in found:
            continue
        if time.process_time() - began > seconds:
            print("stopped: the time is spent")
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[key] = rounded(function(*arguments))
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in found.items())
        (FOLDER / f"{name}.json").write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


def rounded(row: dict) -> dict:
    """Six digits (evidences nine) are all that is told."""
    return {name: float(f"{value:.9g}") if isinstance(value, float) else value for name, value in row.items()}


def main() -> None:
    """Run what is named, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="study", help=f"one of {', '.join(STUDIES)}")
    parser.add_argument("--seconds", type=float, default=600.0, help="processor time of each study")
    options = parser.parse_args()
    for name in options.names:
        carry_out(name, options.seconds)
    for name in options.names or STUDIES:
        print(f"\n{name}\n", *STUDIES[name].summary(kept(name)), sep="\n")


if __name__ == "__main__":
    main()
