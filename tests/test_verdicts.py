"""What the page of results says of a row follows from its figures, and from what is known of the differences."""

import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of a source distribution", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from experiments import verdicts  # noqa: E402

FOLDERS = sorted(path.parent for path in (ROOT / "experiments").glob("*/ours.json"))
BY_NAME = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def row(where="Table 1; out of 100", **figures):
    return {"key": "k", "label": "A", "where": where, **figures}


def rows(folder):
    """Key, columns, row, our figures and verdict of every row of a paper."""
    published, ours, notes = verdicts.read(folder)
    for table in published["tables"]:
        for one in table["rows"]:
            figures = ours["results"].get(one["key"], {})
            yield one, figures, verdicts.verdict(table["columns"], one, figures, notes, ours)


# Figures


@pytest.mark.parametrize(
    ("paper", "ours", "word", "side"),
    [
        (10, 12, "reproduced", ""),
        (10, 30, "differs", "worse"),
        (30, 10, "differs", "better"),
        (0, 0, "reproduced", ""),
        (10, [12.0, 9, 14], "reproduced", ""),
        (10, 16, "close", ""),  # within the interval, 6 points apart
    ],
)
def test_an_error_is_judged_by_its_binomial_interval(paper, ours, word, side):
    found = verdicts.verdict(["errors"], row(errors=paper), {"errors": ours})
    assert (found.word, found.side) == (word, side)


def test_an_error_outside_its_interval_but_within_one_and_a_half_points_is_close():
    many = "Table 1; out of 100000"
    said = [verdicts.verdict(["errors"], row(many, errors=10_000), {"errors": n}) for n in (10_100, 11_400, 11_600)]
    assert [found.word for found in said] == ["reproduced", "close", "differs"]
    assert [found.side for found in said] == ["", "worse", "worse"]


def test_errors_in_per_cent_have_the_same_interval():
    plain = verdicts.interval("error", row("T", trials=300), {"error": 0.2})
    assert verdicts.interval("error", row("T", trials=300, per=100), {"error": 20.0}) == pytest.approx(
        [100 * limit for limit in plain]
    )


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


@pytest.mark.parametrize(
    ("paper", "ours", "sign", "word"),
    [
        (0.9, [1.0, 0.85, 1.1], 0, "reproduced"),
        (0.8, [1.0, 0.85, 1.1], 1, "close"),
        (0.95, 1.0, 0, "reproduced"),
        (2.0, 1.0, -1, "differs"),
    ],
)
def test_repeats_are_judged_by_their_range_and_single_figures_by_a_tenth(paper, ours, sign, word):
    name = "cross-entropy"
    assert verdicts.compare(name, row("Table 2", **{name: paper}), {name: ours}) == sign
    assert verdicts.verdict([name], row("Table 2", **{name: paper}), {name: ours}).word == word


def test_a_row_leads_with_its_error_and_is_close_where_less_is_kept():
    said = verdicts.verdict(["errors", "kept"], row(errors=10, kept=100), {"errors": 11, "kept": 20})
    assert (said.word, said.said) == ("close", "same error, sparser")
    said = verdicts.verdict(["errors", "kept"], row(errors=10, kept=100), {"errors": 11, "kept": 95})
    assert (said.word, said.said) == ("reproduced", "same error, as sparse")


def test_the_number_of_runs_is_no_figure_to_be_judged():
    assert verdicts.verdict(["error", "runs"], row("T", runs=20), {"error": 3.0, "runs": 50}).word == ""


# Words


@pytest.mark.parametrize(
    ("said", "ours", "word"),
    [
        ("more than 1", 0.9, "differs"),
        ("more than 1", 1.1, "reproduced"),
        ("orders of magnitude", "> 739, and 6e-03 off", "reproduced"),
    ],
)
def test_figures_in_words_are_held_against_the_least_they_can_mean(said, ours, word):
    assert verdicts.verdict(["times slower"], row(**{"times slower": said}), {"times slower": ours}).word == word


def held(claim, **figures):
    record = {"results": {"k": {"error": 1.05, "kept": 11.5}, "a": {"error": 1.0}, "b": {"error": 2.0}}, "checks": []}
    record["checks"] = [{"claim": "it holds (3)", "holds": True}, {"claim": "it fails", "holds": False}]
    return verdicts.verdict(
        ["error"], row(), record["results"]["k"], {"claims": {"k": {"says": "so", **claim}}}, record
    )


@pytest.mark.parametrize(
    ("claim", "word"),
    [
        ({"check": "it holds*"}, "reproduced"),
        ({"check": "it fails"}, "differs"),
        ({"check": "nobody checked this"}, "differs"),
        ({"column": "error", "against": ["b"]}, "reproduced"),
        ({"column": "error", "against": ["a", "b"]}, "close"),
        ({"column": "error", "against": ["a", "b"], "slack": 0.1}, "reproduced"),
        ({"values": {"kept": 12}}, "reproduced"),
        ({"values": {"kept": 10}}, "close"),
        ({"values": {"kept": 3}}, "differs"),
        ({"check": "it holds*", "values": {"kept": 3}}, "differs"),  # the worst part counts
    ],
)
def test_what_a_paper_says_in_words_is_held_against_checks_rows_and_values(claim, word):
    found = held(claim)
    assert (found.word, found.said) == (word, "the paper says: so")


def test_rows_without_figures_are_not_judged_but_say_so():
    assert verdicts.verdict(["errors"], row(), {"errors": 3}) == verdicts.Verdict("", "no published figure")
    alone = row("not in the paper")
    assert verdicts.verdict(["errors"], alone, {"errors": 3}).said == "ours alone: not in the paper"
    assert verdicts.verdict(["errors"], row(), {"errors": 3}, {"without": {"*": "drawn"}}).said == "drawn"
    assert verdicts.verdict(["errors"], row(errors=3), {}) == verdicts.Verdict("", "not run")
    late = {"without": {"k": "not run: too long"}}
    assert verdicts.verdict(["errors"], row(errors=3), {}, late).said == "not run: too long"
    assert verdicts.verdict(["errors"], row(errors=3), {"errors": 3}, late).word == "reproduced"
    assert verdicts.verdict(["errors"], row(errors=3), {}, {"without": {"*": "drawn"}}).said == "not run"


def test_an_experiment_may_judge_its_rows_itself():
    assert verdicts.verdict(["errors"], row(errors=3), {"errors": 90, "verdict": "reproduced"}).word == "reproduced"
    said = verdicts.verdict(["errors"], row(errors=3), {"errors": 9, "verdict": "differs (by +6.0)"})
    assert (said.word, said.said, said.side) == ("differs", "by +6.0", "worse")
    few = "too few to judge (1)"
    assert verdicts.verdict(["errors"], row(errors=3), {"errors": 3, "verdict": few}) == verdicts.Verdict("", few)
    known = row("T", trials=100, errors=3)  # but with the number of samples there is an interval
    assert verdicts.verdict(["errors"], known, {"errors": 3, "verdict": few}).word == "reproduced"


def test_a_difference_carries_the_first_reason_that_fits():
    notes = {"because": {"k*": "of this", "*": "of that"}}
    found = verdicts.verdict(["errors"], row(errors=10), {"errors": 30}, notes)
    assert str(found) == "**differs** (ours is worse): more errors; because of this"
    assert verdicts.verdict(["errors"], row(errors=10), {"errors": 10}, notes).because == ""


# The record


@BY_NAME
def test_every_row_that_differs_says_why(folder):
    missing = [one["key"] for one, _, found in rows(folder) if found.word == "differs" and not found.because]
    assert not missing, f"give a reason in experiments/{folder.name}/verdicts.json"


@BY_NAME
def test_every_row_with_a_published_figure_has_a_verdict_and_the_others_say_what_they_are(folder):
    for one, figures, found in rows(folder):
        published = [name for name in figures if name in one and name not in verdicts.UNJUDGED]
        assert found.word in verdicts.WORDS or not published, one["key"]
        assert found.word or found.said.startswith(("no published figure", "ours alone", "not run")), one["key"]
        assert found.said or found.word == "reproduced", one["key"]


@BY_NAME
def test_notes_are_about_rows_and_checks_that_exist(folder):
    published, ours, notes = verdicts.read(folder)
    keys = [one["key"] for table in published["tables"] for one in table["rows"]]
    for patterns in notes.values():
        for pattern in patterns:
            assert any(fnmatchcase(key, pattern) for key in keys), pattern
    for claim in notes.get("claims", {}).values():
        assert "check" not in claim or any(fnmatchcase(c["claim"], claim["check"]) for c in ours["checks"])
        assert {"check", "against", "values"} & set(claim)


@BY_NAME
def test_every_paper_can_be_shown(folder):
    citation, text, found = verdicts.paper(folder)
    assert citation.split(":")[0] in verdicts.overview(FOLDERS)
    words, _ = verdicts.count(found)
    assert text.count("**") == 2 * words.total() > 0
