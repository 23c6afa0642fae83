"""Section 3 of Cawley, Talbot and Girolami (2006): one function for each part."""

from __future__ import annotations

from experiments.cawley2006 import priors, table1
from experiments.harness import Part

PARTS: dict[str, Part] = {
    "table1": table1.table1,
    "cost": table1.cost,
    "cost_of_isolet": table1.cost_of_isolet,
    "table2": priors.table2,
}
