"""Tables as people have them: every column is read as what it is, or refused with what to do; nothing in silence."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from smaller.data import tables as tables_module
from smaller.data.tables import begin_table, frames
from smaller.data.tables.source import source_of
from smaller.tables import read_table

N = 60
RNG = np.random.default_rng(0)
VALUES = RNG.normal(10, 3, N).round(2)
LABELS = np.where(VALUES + RNG.normal(0, 1, N) > 10, "high", "low")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(separator=",", **columns):
    """A file of these columns beside one of plain numbers and the labels."""
    frame = pd.DataFrame({**columns, "plain": VALUES[::-1], "y": LABELS})
    frame.to_csv("table.csv", index=False, sep=separator)
    return "table.csv"


def with_words(words, places=(3, 17, 40)):
    texts = VALUES.astype(str).astype(object)
    texts[list(places)] = [words[i % len(words)] for i in range(len(places))]
    return texts


# -- numbers with words for a missing value


@pytest.mark.parametrize("word", ["?", "-", "--", ".", "na", "Na", "n.a.", "N.A.", "NONE", "missing", "#DIV/0!", " ? "])
def test_a_word_for_a_missing_value_does_not_make_categories_of_numbers(word):
    file = written(dose=with_words([word]))
    found = read_table(file, target="y", impute=True)
    assert found.columns.inputs == ["dose", "plain"]
    known = np.delete(VALUES, [3, 17, 40])
    expected = VALUES.copy()
    expected[[3, 17, 40]] = np.median(known)
    np.testing.assert_array_equal(found.X[:, 0], expected)
    assert found.columns.told() == [f"Column 'dose': numbers; {word!r} (in 3 rows) counts as missing."]
    with pytest.raises(ValueError, match=r"Values are missing, of 60 rows: 'dose' 3.*counts as missing"):
        read_table(file, target="y")


def test_a_new_file_is_read_alike_with_any_of_these_words(monkeypatch):
    columns = read_table(written(dose=VALUES), target="y", impute=True).columns
    monkeypatch.setattr("smaller.data.tables.frames.PORTION", 7)
    found = read_table(written(dose=with_words(["?", "n.a."])), columns=columns)
    assert found.X[3, 0] == found.X[17, 0] == np.median(VALUES)
    with pytest.raises(ValueError, match=r"have text now: 'dose' \(such as 'wide'"):
        read_table(written(dose=with_words(["wide"])), columns=columns)


def test_other_texts_among_numbers_are_refused_with_what_to_do():
    file = written(dose=with_words([">100", "low"]))
    with pytest.raises(ValueError, match=r"numbers but for '>100', 'low' \(3 of 60 values\)\. Use --numeric 'dose'"):
        read_table(file, target="y", impute=True)
    found = read_table(file, target="y", impute=True, numeric=["dose"])
    assert found.columns.inputs == ["dose", "plain"]
    assert found.columns.missing == {"dose": [">100", "low"]}
    assert found.X[3, 0] == np.median(np.delete(VALUES, [3, 17, 40]))
    assert read_table(file, columns=found.columns).X[17, 0] == found.X[3, 0]
    codes = np.where(np.arange(N) % 30 == 0, "x", "1")
    with pytest.raises(ValueError, match=r"numbers but for 'x' \(2 of 60 values"):
        read_table(written(code=codes), target="y")
    assert read_table(written(code=codes), target="y", categorical=["code"]).columns.inputs == ["code=x", "plain"]


def test_columns_of_text_are_said_to_be_categories_and_how_many_numbers_they_have():
    codes = np.where(np.arange(N) % 4 == 0, "x", "1")
    found = read_table(written(code=codes, sex=np.where(VALUES > 9, "f", "m")), target="y")
    assert found.columns.inputs == ["code=x", "sex=m", "plain"]
    assert found.columns.told() == [
        "Column 'code': text, taken as categories, though 75% of the values are numbers.",
        "Column 'sex': text, taken as categories.",
    ]


# -- decimal commas


def commas(values):
    return [str(value).replace(".", ",") for value in values]


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_numbers_with_decimal_commas_are_numbers(separator, monkeypatch):
    monkeypatch.setattr("smaller.data.tables.frames.PORTION", 9)
    found = read_table(written(separator, size=commas(VALUES), other=commas(VALUES.round())), target="y")
    assert found.columns.inputs == ["size", "other", "plain"]
    np.testing.assert_array_equal(found.X, np.column_stack([VALUES, VALUES.round(), VALUES[::-1]]))
    assert found.columns.told() == ["Columns 'size', 'other': numbers with a decimal comma."]
    again = read_table(written(separator, other=VALUES.round(), size=commas(-VALUES)), columns=found.columns)
    np.testing.assert_array_equal(again.X, np.column_stack([-VALUES, VALUES.round(), VALUES[::-1]]))


def test_a_comma_before_three_digits_is_not_guessed_at():
    prices = [f"{1 + i % 9},{i % 10}{i % 7}{i % 3}" for i in range(N)]
    with pytest.raises(ValueError, match="with a decimal comma or a thousands separator; use --decimal ,"):
        read_table(written(";", price=prices), target="y")
    expected = [float(text.replace(",", ".")) for text in prices]
    np.testing.assert_array_equal(read_table(written(";", price=prices), target="y", decimal=",").X[:, 0], expected)
    beside = read_table(written(";", price=prices, size=commas(VALUES)), target="y")  # another column decides it
    np.testing.assert_array_equal(beside.X[:, 0], expected)
    for options in ({"decimal": "."}, {"thousands": ","}):
        found = read_table(written(";", price=prices), target="y", **options)
        np.testing.assert_array_equal(found.X[:, 0], [float(text.replace(",", "")) for text in prices])


@pytest.mark.parametrize(
    ("text", "value", "mark"),
    [
        ("1,234,567", 1234567.0, "commas"),
        ("1,234.5", 1234.5, "commas"),
        ("1.234,5", 1234.5, "points"),
        ("1 234", 1234.0, "spaces"),
        ("1\u202f234,25", 1234.25, "spaces"),
        ("1'234.5", 1234.5, "apostrophes"),
    ],
)
def test_marks_between_thousands_are_recognised_and_said(text, value, mark):
    file = written(";", price=[text, "17"] * (N // 2))
    found = read_table(file, target="y")
    np.testing.assert_array_equal(found.X[:, 0], [value, 17.0] * (N // 2))
    assert f"{mark} between thousands" in found.columns.told()[0]
    np.testing.assert_array_equal(read_table(file, columns=found.columns).X, found.X)


def test_marks_at_other_places_than_between_thousands_are_refused():
    columns = read_table(written(";", price=["1,234,567"] * N), target="y").columns
    with pytest.raises(ValueError, match=r"have text now: 'price' \(such as '12,34,5'"):
        read_table(written(";", price=["12,34,5"] * N), columns=columns)
    with pytest.raises(ValueError, match="has different marks between thousands"):
        read_table(written(";", price=["1,234,567", "1 234 567"] * (N // 2)), target="y")


def test_points_before_three_digits_are_not_guessed_at_beside_decimal_commas():
    people = [f"{1 + i % 9}.{i % 10}{i % 7}{i % 3}" for i in range(N)]
    file = written(";", people=people, size=commas(VALUES))
    with pytest.raises(ValueError, match=r"use --thousands \. if it is a thousand, otherwise --thousands none"):
        read_table(file, target="y")
    thousands = read_table(file, target="y", thousands=".")
    np.testing.assert_array_equal(thousands.X[:, 0], [float(text.replace(".", "")) for text in people])
    np.testing.assert_array_equal(thousands.X[:, 1], VALUES)
    np.testing.assert_array_equal(read_table(file, target="y", thousands="none").X[:, 0], np.array(people, float))


def test_two_decimal_marks_in_a_column_are_refused():
    mixed = [*commas(VALUES[:30] + 0.125), *(VALUES[30:] + 0.25).astype(str)]
    with pytest.raises(ValueError, match="Column 'size' has two decimal marks"):
        read_table(written(";", size=mixed), target="y")


# -- dates


FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%dT%H:%M:%S", "%d %b %Y", "%Y/%m/%d %H:%M", "%d/%m/%Y %I:%M %p"]


@pytest.mark.parametrize("form", FORMS)
def test_dates_become_their_parts(form):
    days = pd.date_range("2024-01-03 10:30", periods=N, freq="11D6h")
    found = read_table(written(when=days.strftime(form)), target="y")
    expected = {"year": days.year, "month": days.month, "weekday": days.day_of_week + 1}
    for part, values in expected.items():
        np.testing.assert_array_equal(found.X[:, found.columns.inputs.index(f"when: {part}")], values)
    elapsed = found.X[:, found.columns.inputs.index("when: days since the first")]
    read = pd.to_datetime(days.strftime(form), format=form)
    np.testing.assert_allclose(elapsed, (read - read.min().normalize()) / pd.Timedelta(days=1), atol=1e-9)
    assert ("when: hour" in found.columns.inputs) == ("%M" in form)
    assert "dates or times, taken as" in found.columns.told()[0]
    assert read_table(written(when=days.strftime(form)), target="y", ignore=["when"]).columns.inputs == ["plain"]
    few = days[:10].strftime(form).to_numpy()[np.arange(N) % 10]
    asked = read_table(written(when=few), target="y", categorical=["when"]).columns
    assert asked.categories["when"] == sorted(set(few))


def test_a_time_of_day_is_its_hour():
    clock = [f"{hour}:15" for hour in np.arange(N) % 24]
    found = read_table(written(at=clock), target="y")
    assert found.columns.inputs == ["at: hour", "plain"]
    np.testing.assert_array_equal(found.X[:, 0], np.arange(N) % 24 + 0.25)


def test_dates_that_may_begin_with_the_day_or_the_month_are_not_guessed_at():
    days = [f"{1 + i % 12}/{1 + i % 7}/2024" for i in range(N)]
    with pytest.raises(ValueError, match="say which with --day-first or --month-first"):
        read_table(written(when=days), target="y")
    first = read_table(written(when=days), target="y", day_first=True)
    other = read_table(written(when=days), target="y", day_first=False)
    place = first.columns.inputs.index("when: month")
    np.testing.assert_array_equal(first.X[:, place], 1 + np.arange(N) % 7)
    np.testing.assert_array_equal(other.X[:, place], 1 + np.arange(N) % 12)


@pytest.mark.parametrize("odd", ["2024-01-03|3 January 2024", "2024-02-30|2024-02-28"])
def test_dates_that_are_not_written_alike_are_refused_with_what_to_do(odd):
    with pytest.raises(ValueError, match=r"Column 'when' has dates or times, such as .* --ignore 'when'"):
        read_table(written(when=odd.split("|") * (N // 2)), target="y")


def test_dates_of_a_file_with_types_are_dates_too():
    pytest.importorskip("pyarrow")
    days = pd.Series(pd.date_range("2024-01-03", periods=5)).iloc[np.arange(N) % 5].reset_index(drop=True)
    pd.DataFrame({"when": days, "plain": VALUES, "y": LABELS}).to_parquet("table.parquet")
    found = read_table("table.parquet", target="y")
    assert found.columns.inputs == ["when: weekday", "when: days since the first", "plain"]
    np.testing.assert_array_equal(found.X[:, 1], np.arange(N) % 5)


def test_numbers_with_zeros_in_front_are_told_to_be_like_codes():
    """Read as a number, the postal code 01067 is 1067."""
    codes = np.resize(["01067", "04109", "10115"], N)
    file = written(place=codes, zero=np.resize(["0", "10", "200"], N), part=np.resize(["0.5", "01.5", "2"], N))
    (said,) = read_table(file, target="y").columns.told()
    assert said.startswith("Column 'place': numbers, some written with zeros in front")
    assert "--categorical 'place'" in said
    found = read_table(file, target="y", categorical=["place"])
    assert found.columns.inputs[:3] == ["place=01067", "place=04109", "place=10115"]
    assert read_table(file, target="y", numeric=["place"]).columns.told() == []


# -- running numbers


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("row", np.arange(N)),
        ("anything", np.arange(N) + 1001),
        ("shuffled", np.random.default_rng(0).permutation(N) + 1),
        ("id", np.cumsum(1 + np.arange(N) % 7) + 842_000),
        ("PatientID", np.arange(N) * 3),
        ("sample no", np.arange(N)[::-1] * 10),
    ],
)
def test_a_number_of_the_row_is_left_out_and_that_is_said(name, values):
    found = read_table(written(**{name: values}), target="y")
    assert found.columns.inputs == ["plain"]
    (said,) = found.columns.told()
    assert said.startswith(f"Column {name!r}: left out, as it numbers the rows ({values.min()} to {values.max()}")
    assert f"take it with --numeric {name!r}" in said
    assert read_table(written(**{name: values}), target="y", numeric=[name]).columns.inputs == [name, "plain"]


def test_whole_numbers_that_measure_something_stay_inputs():
    counts = {"count": np.arange(N) % 50, "id": np.arange(N) // 2, "distinct": np.arange(N) ** 2}
    found = read_table(written(**counts), target="y")
    assert found.columns.inputs == ["count", "id", "distinct", "plain"]
    (said,) = found.columns.told()
    assert said.startswith("Column 'distinct': numbers, a different whole number in every row; if they identify")
    assert read_table(written(**counts), target="y", numeric=["distinct"]).columns.told() == []


def test_a_table_of_nothing_but_row_numbers_says_so():
    pd.DataFrame({"id": range(30), "y": list("ab") * 15}).to_csv("table.csv", index=False)
    with pytest.raises(
        ValueError, match=r"no column beside the target 'y' but columns that were left out\. Column 'id'.*--numeric"
    ):
        read_table("table.csv", target="y")


# -- the target


def test_a_target_of_numbers_is_not_made_classes_by_a_word_or_a_comma():
    with pytest.raises(ValueError, match=r"'dose' is missing in 3 of 60 rows, where it is '\?'"):
        read_table(written(dose=with_words(["?"])), target="dose", ignore=["y"])
    found = read_table(written(";", size=commas(VALUES)), target="size", ignore=["y"])
    np.testing.assert_array_equal(found.y, VALUES)
    again = read_table(written(";", size=commas(VALUES)), columns=found.columns, target="size")
    np.testing.assert_array_equal(again.y, VALUES)


def test_signs_and_words_that_are_classes_stay_classes():
    signs = np.where(VALUES > 10, "+", "-")
    assert read_table(written(sign=signs), target="sign", ignore=["y"]).y.tolist() == signs.tolist()
    assert read_table(written(sign=signs), target="y").columns.inputs == ["sign=-", "plain"]


# -- what is kept and said


def test_a_column_is_numeric_or_categorical():
    with pytest.raises(ValueError, match="either --categorical or --numeric; both were given for 'plain'"):
        read_table(written(), target="y", numeric=["plain"], categorical=["plain"])


def test_the_command_says_what_columns_were_read_as_and_keeps_it_in_the_model(capsys):
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    from smaller.cli import run
    from smaller.persist import load_with_notes

    columns = {"id": np.arange(N), "size": commas(VALUES), "dose": with_words(["?"]), "sex": LABELS}
    written(";", **columns)
    assert run(shlex.split("fit table.csv -o one.model --impute --ignore sex")) == 0
    said = capsys.readouterr().out
    for sentence in (
        "Column 'id': left out, as it numbers the rows (0 to 59, a different one in every row)",
        "Column 'size': numbers with a decimal comma.",
        "Column 'dose': numbers; '?' (in 3 rows) counts as missing.",
    ):
        assert sentence in said
    notes = load_with_notes("one.model")[1]
    assert set(notes["columns"]["remarks"]) == {"id", "size", "dose"}
    assert run(shlex.split("predict one.model table.csv -o out.csv")) == 0
    assert run(shlex.split("report one.model table.csv -o facts.json")) == 0
    assert json.loads(Path("facts.json").read_text())["quality"]["tested"] == N
    assert run(shlex.split("fit table.csv -o two.model --impute --numeric id --decimal , --ignore dose")) == 0
    assert "id" in load_with_notes("two.model")[1]["columns"]["names"]
    assert run(shlex.split("fit table.csv --decimal x")) == 1
    assert "--decimal must be one of" in capsys.readouterr().err


def test_many_different_texts_are_counted_in_bounded_memory(monkeypatch):
    monkeypatch.setattr("smaller.data.tables.text_kinds.TEXTS_KEPT", 25)
    monkeypatch.setattr("smaller.data.tables.column_kinds.CATEGORIES", 20)
    names = read_table(written(name=[f"person {i}" for i in range(N)]), target="y").columns
    assert names.inputs == ["plain"]
    assert "left out, as it has a different text in every row" in names.told()[0]
    twice = read_table(written(name=[f"person {i // 2}" for i in range(N)]), target="y").columns
    assert "hardly any text comes 5 times (more than 25 different texts)" in twice.told()[0]
    with pytest.raises(ValueError, match="was given with --categorical, and hardly any of its values comes 5 times"):
        read_table(written(name=[f"person {i // 2}" for i in range(N)]), target="y", categorical=["name"])
    found = read_table(written(";", size=commas(VALUES)), target="y")  # more different numbers than are remembered
    np.testing.assert_array_equal(found.X[:, 0], VALUES)


def test_decimal_numbers_of_parquet_are_looked_at_until_they_have_a_value(tmp_path, monkeypatch):
    """The file says what they are: only a column without any value has to be told from the others."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(frames, "PORTION", 50)
    monkeypatch.setattr(frames, "WIDE_PORTION", 50)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"]).astype({"c": np.float32})
    table["late"], table["never"], table["count"] = np.nan, np.nan, np.arange(200) % 9
    table.loc[150:, "late"] = 1.5
    table["level"] = pd.array(np.arange(200) % 5, dtype="Int16")
    table["colour"], table["y"] = np.where(table["a"] > 0, "red", "blue"), table["b"] > 0
    table.loc[::9, "b"] = np.nan
    table.to_parquet(tmp_path / "table.parquet", index=False, row_group_size=50)
    known = begin_table(tmp_path / "table.parquet", target="y")
    seen, whole = [], frames.with_text
    monkeypatch.setattr(frames, "with_text", lambda frame, *more: seen.append(list(frame)) or whole(frame, *more))
    found = begin_table(tmp_path / "table.parquet", target="y")
    assert seen[:2] == [list(table), ["late", "never", "count", "level", "colour", "y"]]
    assert sum("a" in names for names in seen) == 1
    monkeypatch.setattr(tables_module, "floating", lambda source: set())
    every = begin_table(tmp_path / "table.parquet", target="y")
    assert known.columns == found.columns == every.columns
    assert known.rows == found.rows == every.rows == 200
    assert "never" not in found.columns.names
    assert "late" in found.columns.names
    table.drop(columns="a").to_parquet(tmp_path / "table2.parquet", index=False)
    with pytest.raises(ValueError, match="lacks 'a'"):
        begin_table([tmp_path / "table.parquet", tmp_path / "table2.parquet"], target="y")
    table.assign(a=table["colour"]).to_parquet(tmp_path / "table2.parquet", index=False)
    monkeypatch.undo()
    assert frames.floating(source_of([tmp_path / "table.parquet", tmp_path / "table2.parquet"])) == {
        "b", "c", "late", "never",
    }  # fmt: skip
