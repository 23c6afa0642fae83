"""What the page of results says of a row follows from its figures."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of a source distribution", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from experiments import verdicts  # noqa: E402

FOLDERS = sorted(path.parent for path in (ROOT / "experiments").glob("*/ours.json"))


def row(where="Table 1; out of 100", **figures):
    return {"key": "k", "label": "A", "where": where, **figures}


@pytest.mark.parametrize(
    ("paper", "ours", "word"),
    [(10, 12, "agrees"), (10, 30, "worse"), (30, 10, "better"), (0, 0, "agrees"), (10, [12.0, 9, 14], "agrees")],
)
def test_an_error_is_judged_by_its_binomial_interval(paper, ours, word):
    assert verdicts.verdict(["errors"], row(errors=paper), {"errors": ours})[0] == word


def test_the_interval_is_that_of_clopper_and_pearson():
    """Of 100 samples none wrong: the upper limit p has (1 - p)^100 = 0.025."""
    low, high = verdicts.interval("errors", row(), {"errors": 0})
    assert low == 0
    assert (1 - high / 100) ** 100 == pytest.approx(0.025)


def test_the_number_of_test_samples_comes_from_what_is_known():
    assert verdicts.trials(row(), {}) == 100
    assert verdicts.trials(row("Section 5", trials=34), {}) == 34
    assert verdicts.trials(row("Table 1"), {"wrong": 7, "error": 0.035}) == 200
    assert verdicts.trials(row("Table 1"), {"error": 0.035}) is None


def test_repeats_are_judged_by_their_range_and_single_figures_by_a_tenth():
    bare = "Table 2"
    assert (
        verdicts.compare("cross-entropy", row(bare, **{"cross-entropy": 0.9}), {"cross-entropy": [1.0, 0.85, 1.1]}) == 0
    )
    assert (
        verdicts.compare("cross-entropy", row(bare, **{"cross-entropy": 0.8}), {"cross-entropy": [1.0, 0.85, 1.1]}) == 1
    )
    assert verdicts.compare("cross-entropy", row(bare, **{"cross-entropy": 0.95}), {"cross-entropy": 1.0}) == 0
    assert verdicts.compare("cross-entropy", row(bare, **{"cross-entropy": 2.0}), {"cross-entropy": 1.0}) == -1


def test_a_row_leads_with_its_error_and_goes_on_with_what_was_kept():
    said = verdicts.verdict(["errors", "kept"], row(errors=10, kept=100), {"errors": 11, "kept": 20})
    assert said == ("agrees", "same error, sparser")


@pytest.mark.parametrize(
    ("said", "ours", "word"),
    [
        ("more than 1", 0.9, "worse"),
        ("more than 1", 1.1, "agrees"),
        ("orders of magnitude", "> 739, and 6e-03 off", "agrees"),
    ],
)
def test_claims_in_words_are_held_against_the_least_they_can_mean(said, ours, word):
    assert verdicts.verdict(["times slower"], row(**{"times slower": said}), {"times slower": ours})[0] == word


def test_rows_without_figures_are_not_judged():
    assert verdicts.verdict(["errors"], row(), {"errors": 3}) == ("", "no figure in the paper")
    assert verdicts.verdict(["errors"], row(errors=3), {}) == ("", "not run")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_paper_can_be_shown(folder):
    citation, text, words = verdicts.paper(folder)
    assert citation.split(":")[0] in verdicts.overview(FOLDERS)
    assert text.count("**") == 2 * words.total()


def test_an_experiment_may_judge_its_rows_itself():
    assert verdicts.verdict(["errors"], row(errors=3), {"errors": 90, "verdict": "reproduced"}) == (
        "agrees",
        "reproduced",
    )
    said = "too few to judge (3)"
    assert verdicts.verdict(["errors"], row(errors=3), {"errors": 3, "verdict": said}) == ("", said)
