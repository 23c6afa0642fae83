"""Every pair of options, of every model, on every kind of data: no surprise, and no claim that a judge refutes.

Rows of the covering arrays that are known to fail, or that take seconds, stand in `crossing/open.json` with what was
found: they are left out of `make test`, and `make test-slow` runs them and reports those that fail. Rows with which
random crossings found something that is mended since stand in `crossing/mended.json`.
"""

import json
from pathlib import Path

import pytest
from crossing.cover import covering_rows
from crossing.tables import TABLES
from crossing.trial import run

AT_ONCE = 10  # crossings of one test
FOLDER = Path(__file__).parent / "crossing"
OPEN = json.loads((FOLDER / "open.json").read_text(encoding="utf-8"))


def crossings(left_out):
    """Parts of the covering array of each model, without the open rows or with only these; the seeds are fixed."""
    for table in TABLES:
        rows = covering_rows(table.factors, lambda row, table=table: not table.refused(row))
        rows = [(seed, row) for seed, row in enumerate(rows) if (str(seed) in OPEN.get(table.name, {})) == left_out]
        for first in range(0, len(rows), AT_ONCE):
            yield pytest.param(table, rows[first : first + AT_ONCE], id=f"{table.name}-{first}")


def found_in(table, rows):
    found = [{"seed": seed, "row": row, "found": run(table, row, seed)} for seed, row in rows]
    return [json.dumps(each) for each in found if each["found"]]


@pytest.mark.parametrize(("table", "rows"), list(crossings(left_out=False)))
def test_every_pair_of_options_gives_what_it_claims(table, rows):
    assert not found_in(table, rows)


@pytest.mark.parametrize(
    "each", json.loads((FOLDER / "mended.json").read_text(encoding="utf-8")), ids=lambda e: e["seed"]
)
def test_what_random_crossings_found_stays_mended(each):
    table = next(table for table in TABLES if table.model == each["model"] and set(each["row"]) <= set(table.factors))
    assert not run(table, each["row"], each["seed"])


@pytest.mark.slow
@pytest.mark.xfail(strict=False, reason="open: crossing/open.json says what was found")
@pytest.mark.parametrize(("table", "rows"), list(crossings(left_out=True)))
def test_open_rows_of_the_covering_arrays(table, rows):
    """A row that passes quickly has been mended, and is to be taken out of `open.json`."""
    assert not found_in(table, rows)
