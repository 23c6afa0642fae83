"""The reference cases that lie here: whole, small, and the same as where they came from."""

import os
from pathlib import Path

import numpy as np
import pytest
from reference_cases import BUILT_IN, FOLDER, case

NAMES = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
LARGEST = 2.5 * 2**20  # bytes of all cases together


@pytest.mark.parametrize("name", NAMES)
def test_a_case_has_finite_inputs_and_says_what_it_is(name):
    data, reference = case(name)
    assert reference["case"] == name
    assert all(np.isfinite(values).all() for values in data.values())
    assert f"{name}" in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert (name in BUILT_IN) != (FOLDER / name / "input.npz").exists()


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"bounds_tables", "group_units", "select_bounds"}))
def test_inputs_that_are_built_are_those_of_the_case(name):
    elsewhere = os.environ.get("SMALLER_CASES")
    if not elsewhere:
        pytest.skip("SMALLER_CASES names no folder with the inputs that the references were computed with")
    built, given = case(name)[0], np.load(Path(elsewhere) / name / "input.npz")
    for key in given:
        np.testing.assert_allclose(built[key], given[key], rtol=1e-13, atol=1e-13, err_msg=key)


def test_the_cases_are_small():
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < LARGEST


def test_a_case_that_is_nowhere_is_skipped_by_name(monkeypatch):
    monkeypatch.delenv("SMALLER_CASES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="the case smlr_crabs4 is not among tests/cases"):
        case("smlr_crabs4")
