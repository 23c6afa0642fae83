"""Repeat the experiments of the papers named, or of all: ``python -m experiments [paper ...] [--part p] [--quick]``."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from experiments.harness import carry_out

HERE = Path(__file__).parent


def papers() -> list[str]:
    """Every folder that has a run.py."""
    return sorted(path.parent.name for path in HERE.glob("*/run.py"))


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 1 when a check failed."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__.split(":")[0] + ".")
    parser.add_argument(
        "papers", nargs="*", metavar="paper", help=f"one of {', '.join(papers())}; all if none is named"
    )
    parser.add_argument("--quick", action="store_true", help="a small part in a minute; prints, and writes no file")
    parser.add_argument("--part", action="append", help="only this part of one paper; may be repeated")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.papers) - set(papers()))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(papers())}")
    chosen = {name: import_module(f"experiments.{name}.run").PARTS for name in options.papers or papers()}
    parts = [part for each in chosen.values() for part in each]
    if missing := sorted(set(options.part or ()) - set(parts)):
        parser.error(f"unknown part: {', '.join(missing)}; there are {', '.join(parts)}")
    if options.part and len(chosen) > 1:
        parser.error("--part needs the one paper that it is a part of")
    passed = [carry_out(HERE / name, each, options.quick, options.part) for name, each in chosen.items()]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
