"""What must hold of the papers' experiments: published and own figures side by side, and nothing written by halves."""

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

ROOT = Path(__file__).parents[1]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of a source distribution", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from experiments import __main__ as command  # noqa: E402
from experiments import harness  # noqa: E402
from experiments.krishnapuram2005 import smooth  # noqa: E402

PAPER = {
    "citation": "A. Author: A Paper, 2005",
    "not_yet": {"Oracle": "does not exist"},
    "tables": [
        {
            "title": "Table 1",
            "columns": ["errors", "kept"],
            "rows": [
                {"key": "a/SMLR", "label": "A, SMLR", "where": "Table 1, row 1", "errors": 3, "kept": 10},
                {"key": "a/Oracle", "label": "A, Oracle", "where": "Table 1, row 2", "errors": 0, "kept": 1},
            ],
        }
    ],
}


def good_run(report, quick):
    report.add("a/SMLR", errors=[4.5, 3, 6], kept=12.25)
    report.check("one is one", True)


def failing_run(report, quick):
    good_run(report, quick)
    report.check("one is two", False)


def run_without_data(report, quick):
    good_run(report, quick)
    report.skip("B", "nowhere to be found")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "author2005"
    folder.mkdir()
    (folder / "paper.json").write_text(json.dumps(PAPER))
    (folder / "README.md").write_text(f"Before.\n\n{harness.BEGIN}\n{harness.END}\n\nAfter.\n")
    return folder


@pytest.fixture(autouse=True)
def some_version(monkeypatch):
    """The package may be tested from its source tree, where it has no version."""
    try:
        version("smaller")
    except PackageNotFoundError:
        monkeypatch.setattr(harness, "version", lambda name: "0")


# The harness


def test_a_full_run_writes_its_figures_with_seed_versions_and_seconds(folder):
    assert harness.carry_out(folder, good_run, quick=False)
    ours = json.loads((folder / "ours.json").read_text())
    assert ours["results"] == {"a/SMLR": {"errors": [4.5, 3, 6], "kept": 12.25}}
    assert ours["seed"] == harness.SEED
    assert set(ours["versions"]) == {"python", "numpy", "scipy", "scikit-learn", "smaller"}
    assert ours["seconds"] >= 0


def test_a_full_run_draws_the_comparison_between_the_markers_and_leaves_the_words_around(folder):
    for _ in range(2):
        harness.carry_out(folder, good_run, quick=False)
        text = (folder / "README.md").read_text()
        assert text.startswith("Before.\n\n<!--")
        assert text.endswith("-->\n\nAfter.\n")
        assert text.count("| A, SMLR | 3 | 4.5 (3 to 6) | 10 | 12.2 | Table 1, row 1 |") == 1


def test_what_we_did_not_run_is_named_and_never_filled_in_from_the_paper(folder):
    harness.carry_out(folder, good_run, quick=False)
    text = (folder / "README.md").read_text()
    assert "| A, Oracle | 0 | – | 1 | – | Table 1, row 2 |" in text
    assert "- Oracle: does not exist" in text


def test_a_quick_run_prints_and_writes_nothing(folder, capsys):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert harness.carry_out(folder, good_run, quick=True)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert "| A, SMLR | 3 | 4.5 (3 to 6)" in capsys.readouterr().out


def test_a_run_without_some_data_names_them_and_does_not_overwrite_a_complete_one(folder, capsys):
    harness.carry_out(folder, good_run, quick=False)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert harness.carry_out(folder, run_without_data, quick=False)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    printed = capsys.readouterr().out
    assert "SKIPPED B: nowhere to be found" in printed
    assert "left alone by a run without B" in printed


@pytest.mark.parametrize("quick", [False, True])
def test_a_check_that_fails_is_shown_and_fails_the_run(folder, capsys, quick):
    assert not harness.carry_out(folder, failing_run, quick=quick)
    assert "FAILS: one is two" in capsys.readouterr().out


def test_a_missing_data_set_is_skipped_with_the_reason_and_the_remedy(monkeypatch):
    from smaller import datasets

    monkeypatch.delenv("SMALLER_DATA", raising=False)
    report = harness.Report()
    assert report.load("Colon", datasets.load_colon) is None
    assert "set SMALLER_DATA" in report.skipped["Colon"]


def test_where_data_came_from_is_noted_without_the_folder(monkeypatch, tmp_path):
    from smaller import datasets

    np.savez(tmp_path / "colon_alon.npz", X=np.eye(2), y=[0, 1])
    monkeypatch.setenv("SMALLER_DATA", str(tmp_path))
    report = harness.Report()
    bunch = report.load("Colon", datasets.load_colon)
    assert report.data == {"Colon": {"source": "colon_alon.npz", "sha256": bunch.sha256}}


# The command


@pytest.mark.parametrize(("run", "code"), [(good_run, 0), (failing_run, 1)])
def test_the_command_tells_by_its_exit_code_whether_all_checks_hold(folder, monkeypatch, run, code):
    monkeypatch.setattr(command, "HERE", folder.parent)
    monkeypatch.setattr(command, "import_module", lambda name: type("module", (), {"run": staticmethod(run)}))
    (folder / "run.py").touch()
    assert command.papers() == [folder.name]
    assert command.main(["--quick", folder.name]) == code


def test_the_command_refuses_an_unknown_paper_and_lists_those_there_are(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["nobody1999"])
    assert f"nobody1999; there are {', '.join(command.papers())}" in capsys.readouterr().err


# The folders


@pytest.mark.parametrize("name", command.papers())
class TestFolder:
    def read(self, name, file):
        return json.loads((ROOT / "experiments" / name / file).read_text(encoding="utf-8"))

    def need_record(self, name):
        if not (ROOT / "experiments" / name / "ours.json").exists():
            pytest.skip(f"no full run of {name} is on record yet")

    def test_the_readme_shows_what_ours_json_holds(self, name):
        self.need_record(name)
        text = (ROOT / "experiments" / name / "README.md").read_text(encoding="utf-8")
        drawn = harness.comparison(self.read(name, "paper.json"), self.read(name, "ours.json"))
        assert harness.insert(text, drawn) == text

    def test_every_figure_of_ours_has_its_row_and_each_row_says_where_it_stands(self, name):
        self.need_record(name)
        rows = [row for table in self.read(name, "paper.json")["tables"] for row in table["rows"]]
        assert all(row["where"] for row in rows)
        keys = [row["key"] for row in rows]
        assert len(keys) == len(set(keys))
        assert set(self.read(name, "ours.json")["results"]) <= set(keys)

    def test_all_checks_held_in_the_run_that_is_on_record(self, name):
        self.need_record(name)
        assert all(check["holds"] for check in self.read(name, "ours.json")["checks"])


# Krishnapuram et al. 2005


def test_the_gradient_of_the_smoothed_objective_is_its_derivative():
    rng = np.random.default_rng(0)
    H, Y, W = rng.normal(size=(7, 4)), np.eye(3)[rng.integers(0, 3, 7)], rng.normal(size=(4, 2))

    def value(w):
        return smooth.objective(w.reshape(4, 2), H, Y, 0.3, 0.1)

    assert_allclose(smooth.gradient(W, H, Y, 0.3, 0.1).ravel(), approx_fprime(W.ravel(), value, 1e-7), atol=1e-6)


@pytest.mark.parametrize("method", ["CG", "BFGS"])
def test_a_general_optimiser_reaches_a_lenient_target_and_says_when_it_cannot(method):
    rng = np.random.default_rng(0)
    H, Y = rng.normal(size=(30, 4)), np.eye(3)[rng.integers(0, 3, 30)]
    start = smooth.objective(np.zeros((4, 2)), H, Y, 1.0)
    assert smooth.optimise(method, H, Y, 1.0, target=0.999 * start, limit=10).seconds_to_target is not None
    assert smooth.optimise(method, H, Y, 1.0, target=0.0, limit=0.05).seconds_to_target is None
