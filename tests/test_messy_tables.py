"""Ten messy tables go through describe, fit, predict and report; each column is read as what it is."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("openpyxl")

from messy import tables

from smaller.cli import run
from smaller.persist import load_with_notes
from smaller.tables import describe_table, read_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("messy")


@pytest.fixture(scope="module")
def messy(folder):
    return {table.file: table for table in tables(folder)}


@pytest.fixture(autouse=True)
def here(folder, messy, monkeypatch):
    monkeypatch.chdir(folder)


FILES = ["commas.csv", "marks.csv", "dates.csv", "identifiers.csv", "mark.csv", "windows.csv", "book.xlsx",
         "unlabelled.csv", "rare.csv", "texts.csv"]  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_a_messy_table_is_described_fitted_predicted_and_reported(file, messy, capsys):
    table = messy[file]
    assert run(shlex.split(f"describe {file} -t y {table.options}")) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in table.said:
        assert words in said
    assert "need an option" not in said
    assert run(shlex.split(f"fit {file} -t y -o one.model {table.options}")) == 0
    assert run(shlex.split(f"predict one.model {file} -o out.csv {table.opening}")) == 0
    rest = table.opening + (" --drop-missing-target" if "--drop" in table.options else "")
    assert run(shlex.split(f"report one.model {file} -o facts.json {rest}")) == 0
    facts = json.loads(Path("facts.json").read_text())
    assert facts["quality"]["error"] <= facts["quality"]["baseline"]
    columns = load_with_notes("one.model")[1]["columns"]
    kinds = {name: _kind(name, columns) for name in table.kinds}
    assert kinds == table.kinds
    rows = len(pd.read_csv("out.csv"))
    assert rows == (4_000 if file == "texts.csv" else 2_000 if file == "rare.csv" else 240)


def _kind(name, columns):
    for kind in ("categories", "dates"):
        if name in columns[kind]:
            return kind
    return "numbers" if name in columns["names"] else "left out"


@pytest.mark.parametrize("file", FILES)
def test_the_description_says_what_the_model_will_be_given(file, messy):
    table = messy[file]
    options = {"target": "y", "sheet": "data" if file == "book.xlsx" else None}
    options["encoding"] = "cp1252" if file == "windows.csv" else None
    options["na"] = ["-999"] if file == "marks.csv" else ()
    described = {column.name: column for column in describe_table(file, **options)}
    assert {name: described[name].read_as for name in table.kinds} == table.kinds
    found = read_table(file, **options, impute=True, drop_missing_target=True)
    assert sum(column.inputs for column in described.values()) == found.X.shape[1]
    assert np.isfinite(found.X).all()


def test_without_its_option_each_table_is_refused_with_the_remedy(messy, capsys):
    for command, remedy in (
        ("fit windows.csv -t y", "--encoding cp1252"),
        ("fit book.xlsx -t y", "Name one with --sheet"),
        ("fit unlabelled.csv -t y", "--drop-missing-target"),
        ("fit marks.csv -t y", "--impute"),
        ("fit windows.csv -t y --encoding nonsense", "--encoding must be known"),
        ("fit book.xlsx -t y --sheet none", "its sheets are 'notes', 'data'"),
    ):
        assert run(shlex.split(command)) == 1
        assert remedy in " ".join(capsys.readouterr().err.split())


def test_values_are_those_that_were_written(messy):
    commas = read_table("commas.csv", target="y").X
    mark = read_table("mark.csv", target="y").X
    np.testing.assert_allclose(commas, mark)
    windows = read_table("windows.csv", target="y", encoding="cp1252")
    assert windows.columns.categories["town"] == ["Köln", "Málaga", "Zürich"]
    marks = read_table("marks.csv", target="y", impute=True, na=["-999"])
    assert marks.X[:, 1].min() > 0
    assert np.isclose(marks.X[0, 1], np.median(np.delete(mark[:, 1], np.arange(0, 240, 31))))


def test_a_new_file_in_utf8_is_read_by_a_model_of_a_windows_file(messy):
    columns = read_table("windows.csv", target="y", encoding="cp1252").columns
    text = Path("windows.csv").read_text("cp1252")
    Path("new.csv").write_text(text, "utf-8")
    np.testing.assert_array_equal(
        read_table("new.csv", columns=columns).X, read_table("windows.csv", columns=columns).X
    )


def test_rare_and_new_texts_share_one_input(messy):
    found = read_table("texts.csv", target="y")
    inputs = found.columns.inputs_of("place")
    assert inputs[-1] == "place=(other)"
    counts = pd.read_csv("texts.csv")["place"].value_counts()
    assert len(inputs) == 1 + min(50, (counts >= 5).sum())
    np.testing.assert_array_equal(found.X[:, 1:].sum(axis=1), 1.0)
    frame = pd.read_csv("texts.csv").head(3)
    frame["place"] = "a place that is new"
    frame.to_csv("new.csv", index=False)
    np.testing.assert_array_equal(read_table("new.csv", columns=found.columns).X[:, -1], 1.0)


def test_dates_are_counted_from_the_first_of_training_and_other_texts_are_refused(messy):
    found = read_table("dates.csv", target="y")
    frame = pd.read_csv("dates.csv")
    when = pd.to_datetime(frame["visit"], format="%d.%m.%Y")
    place = found.columns.inputs.index("visit: year")
    assert found.columns.inputs[place : place + 4] == [
        *("visit: year", "visit: month", "visit: weekday", "visit: days since the first")
    ]
    expected = np.column_stack([when.dt.year, when.dt.month, when.dt.day_of_week + 1, (when - when.min()).dt.days])
    np.testing.assert_array_equal(found.X[:, place : place + 4], expected)
    new = frame.assign(visit="01.01.2030")
    new.to_csv("new.csv", index=False)
    again = read_table("new.csv", columns=found.columns)
    assert (again.X[:, place] == 2030).all()
    frame.assign(visit="soon").to_csv("new.csv", index=False)
    with pytest.raises(
        ValueError, match=r"were dates when the model was fitted have text now: 'visit' \(such as 'soon'"
    ):
        read_table("new.csv", columns=found.columns)
    empty = frame.assign(visit=np.where(np.arange(len(frame)) < 5, None, frame["visit"]))
    empty.to_csv("new.csv", index=False)
    filled = read_table("new.csv", target="y", impute=True)
    assert filled.X[0, place + 3] == np.median(filled.X[5:, place + 3])


def test_nothing_of_which_95_in_100_are_numbers_becomes_categories_in_silence():
    rng = np.random.default_rng(0)
    for odd in ("?", "12,5x", "low", "1.1.2020", "-", "1 234 x"):
        texts = rng.normal(size=200).round(3).astype(str).astype(object)
        texts[rng.choice(200, 10, replace=False)] = odd
        pd.DataFrame({"dose": texts, "y": np.arange(200) % 2}).to_csv("new.csv", index=False)
        if odd in ("?", "-"):
            assert read_table("new.csv", target="y", impute=True).columns.inputs == ["dose"]
        else:
            with pytest.raises(ValueError, match="--numeric 'dose'"):
                read_table("new.csv", target="y", impute=True)


ROW = np.arange(60)
TROUBLE = {
    "a unit": ([f"{50 + i % 40} kg" for i in ROW], "problem", "numbers with the unit 'kg', such as '50 kg'"),
    "per cent": ([f"{i % 9} %" for i in ROW], "problem", "numbers with the unit '%'"),
    "money": ([f"$ {i % 9}.50" for i in ROW], "problem", "numbers with the unit '$'"),
    "stages": ([f"{1 + i % 3}{'abc'[i % 2]}" for i in ROW], "categories", "text, taken as categories"),
    "two spellings": (["Rome", "Oslo", "oslo "] * 20, "categories", "'Oslo' and 'oslo ' differ only in case"),
    "no value": ([""] * 60, "left out", "no row has a value"),
    "only question marks": (["?"] * 60, "left out", "no row has a value"),
    "minus signs": ([f"\N{MINUS SIGN}{i % 7}.5" for i in ROW], "numbers", "numbers"),
    "compact dates": ([20230101 + 100 * (i % 12) + i % 28 for i in ROW], "numbers", "write them as 2024-01-31"),
    "below a limit": (["<0.5" if i % 9 == 0 else f"{i}.25" for i in ROW], "problem", "numbers but for '<0.5'"),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_column_that_could_be_misread_is_read_right_or_refused_with_the_remedy(trouble):
    values, read_as, said = TROUBLE[trouble]
    pd.DataFrame({"size": ROW / 7, "odd": values, "y": np.where(ROW % 2, "a", "b")}).to_csv("trouble.csv", index=False)
    _, column, _ = describe_table("trouble.csv", target="y")
    assert column.read_as == read_as
    assert said in column.remark
    if read_as == "problem":
        with pytest.raises(ValueError, match="Column 'odd' has numbers"):
            read_table("trouble.csv", target="y")
        kept = read_table("trouble.csv", target="y", ignore=["odd"]).columns
        assert kept.inputs == ["size"]


def test_labels_that_differ_only_in_spelling_need_a_word_from_the_user():
    pd.DataFrame({"size": ROW / 7, "y": ["well", "sick", "well "] * 20}).to_csv("labels.csv", index=False)
    with pytest.raises(ValueError, match="differ only in case or in spaces at their ends, such as 'well' and 'well '"):
        read_table("labels.csv", target="y")
    assert len(set(read_table("labels.csv", target="y", categorical=["y"]).y)) == 3


def test_a_table_with_a_line_above_its_names_or_a_ragged_line_says_so():
    Path("title.csv").write_text("Exported by a program\n\nsize,y\n1,a\n2,b\n")
    with pytest.raises(ValueError, match="Its first line must have the names of the columns"):
        read_table("title.csv", target="y")
    Path("ragged.csv").write_text("size,y\n1,a\n2,b,3\n")
    with pytest.raises(ValueError, match=r"ragged.csv is not a table: Expected 2 fields in line 3, saw 3\."):
        read_table("ragged.csv", target="y")
