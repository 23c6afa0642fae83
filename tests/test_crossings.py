"""Every pair of options, of every model, on every kind of data: no surprise, and no claim that a judge refutes."""

import json

import pytest
from crossing.cover import covering_rows
from crossing.tables import TABLES
from crossing.trial import run

AT_ONCE = 10  # crossings of one test


def crossings():
    """Parts of the covering array of each model; the seeds are fixed."""
    for table in TABLES:
        rows = covering_rows(table.factors, lambda row, table=table: not table.refused(row))
        for first in range(0, len(rows), AT_ONCE):
            part = list(enumerate(rows))[first : first + AT_ONCE]
            yield pytest.param(table, part, id=f"{table.model}-{first}")


@pytest.mark.parametrize(("table", "rows"), list(crossings()))
def test_every_pair_of_options_gives_what_it_claims(table, rows):
    found = [{"seed": seed, "row": row, "found": run(table, row, seed)} for seed, row in rows]
    assert not [json.dumps(each) for each in found if each["found"]]
