"""Section 3 of Cawley, Talbot and Girolami (2006): one module for each part."""

from __future__ import annotations

from experiments.cawley2006 import priors
from experiments.harness import Report


def run(report: Report, quick: bool) -> None:
    """Everything, or with ``quick`` a small part of it."""
    priors.table2(report, quick)
