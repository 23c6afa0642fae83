"""The command on tables larger than memory: read in blocks they give the model that they give in memory."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

for package in ("typer", "rich", "pyarrow", "distributed", "dask.dataframe"):
    pytest.importorskip(package)
pd = pytest.importorskip("pandas")

import dask
import messy as messy_tables
from rich.console import Console

from smaller import progress
from smaller.cli import memory, reading_rows, run, terminal
from smaller.cli.memory import shares, size_of
from smaller.data.tables import blocks, frames, medians
from smaller.data.tables.source import source_of
from smaller.persist import load_with_notes
from smaller.report import paths
from smaller.tables import Columns, read_table

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def flowers(n=3000, seed=0):
    """Numbers with gaps, categories, dates and a target of three classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=["size", "weight", "dose", "age"])
    frame["colour"] = rng.choice(["red", "green", "blue"], n)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")
    frame["visit"] = days.strftime("%Y-%m-%d")
    score = frame["size"] - frame["weight"] + (frame["colour"] == "red") + rng.logistic(size=n)
    frame["y"] = np.where(score > 1, "high", np.where(score < -1, "low", "middle"))
    frame.loc[rng.random(n) < 0.05, "dose"] = np.nan
    return frame


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every command runs in a folder of its own; warnings go where they went before."""
    import warnings

    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        yield tmp_path


@pytest.fixture
def in_blocks(monkeypatch):
    """A function after which every table counts as too large; this process then does the work of the workers."""

    @contextmanager
    def no_cluster(*about):
        with dask.config.set(scheduler="synchronous"):
            yield

    def begin(block=40_000, portion=None):
        monkeypatch.setattr(memory.Budget, "holds", lambda self, size: False)
        monkeypatch.setattr(memory, "LARGEST_BLOCK", block)
        monkeypatch.setattr(paths, "PATH_SIZE", 0)
        monkeypatch.setattr(reading_rows, "local_cluster", no_cluster)

    return begin


def command(text, capsys, code=0):
    returned = run(shlex.split(text))
    said = capsys.readouterr()
    assert returned == code, said.err
    return said.out, said.err


def same(one, other, file, **opening):
    """Two model files hold the same model: columns to the letter, the objective to 1e-6, and alike probabilities."""
    (a, about_a), (b, about_b) = load_with_notes(one), load_with_notes(other)
    assert about_a["columns"] == about_b["columns"]
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-6)
    X = read_table(file, columns=Columns(**about_a["columns"]), **opening).X
    np.testing.assert_allclose(b.predict_proba(X), a.predict_proba(X), atol=2e-3)
    assert about_a["training"]["priors"] == about_b["training"]["priors"]
    assert about_a["training"]["samples"] == about_b["training"]["samples"]
    return a, b


# -- the same model


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_a_table_read_in_blocks_gives_the_model_of_memory(ending, capsys, in_blocks):
    frame, file = flowers(), f"table.{ending}"
    if "csv" in ending:
        frame.to_csv(file, index=False)
    elif ending == "parquet":
        frame.to_parquet(file, index=False, row_group_size=400)
    else:
        frame.to_feather(file)
    fit = f"fit {file} --impute --model smlr --lam 30"
    command(f"{fit} -o memory.model", capsys)
    in_blocks()
    out, _ = command(f"{fit} --memory 1.5GB -o blocks.model", capsys)
    assert re.search(r"workers? of at most [\d.]+ [MG]B each read the 3000 rows in \d+ blocks", out)
    assert ("written anew" in out) == (ending != "parquet")
    _, blocks = same("memory.model", "blocks.model", file)
    assert blocks.n_passes_ > 2
    assert not list(Path().glob(".*.part"))
    for name in ("memory", "blocks"):
        command(f"predict {name}.model {file} -o {name}.csv", capsys)
        command(f"explain {name}.model {file} --row 3", capsys)
        command(f"report {name}.model {file} -o {name}.json", capsys)
    memory_frame, blocks_frame = (pd.read_csv(f"{name}.csv") for name in ("memory", "blocks"))
    np.testing.assert_allclose(memory_frame.iloc[:, 1:], blocks_frame.iloc[:, 1:], atol=1e-3)


@pytest.mark.parametrize("number", range(10))
def test_messy_tables_are_read_alike_in_blocks(number, here, capsys, in_blocks, monkeypatch):
    """Portions of 60 rows, so that each of the tables has several: what a column is must not depend on the portion."""
    table = messy_tables.tables(here)[number]
    monkeypatch.setattr(frames, "PORTION", 60)
    monkeypatch.setattr(frames, "WIDE_PORTION", 60)
    fit = f"fit {table.file} -t y {table.options} --model smlr --lam 2"
    told, _ = command(f"{fit} -o memory.model", capsys)
    in_blocks(block=2_000 if number < 8 else 300_000)
    out, _ = command(f"{fit} --memory 2GB -o blocks.model", capsys)
    same("memory.model", "blocks.model", table.file, sheet="data" if table.file.endswith("xlsx") else None)
    sentences = [line for line in told.splitlines() if line.startswith(("Column", "4 of"))]
    assert all(sentence in out for sentence in sentences)


@pytest.mark.parametrize("labels", [[0, 1], [0.5, 1.5, 2.5], [1.0, 2.0], ["=a", "b"], [True, False]])
def test_labels_are_those_of_memory(labels, capsys, in_blocks):
    frame = flowers(600).drop(columns=["dose", "visit"])
    frame["y"] = np.array(labels)[np.arange(600) % len(labels)]
    frame.to_parquet("table.parquet", index=False, row_group_size=100)
    command("fit table.parquet --model smlr --lam 1 -o memory.model", capsys)
    in_blocks(block=10_000)
    command("fit table.parquet --model smlr --lam 1 --memory 2GB -o blocks.model", capsys)
    a, b = same("memory.model", "blocks.model", "table.parquet")
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.classes_.dtype.kind == b.classes_.dtype.kind


@pytest.mark.parametrize("target", ["text", "whole numbers", "categories of Arrow"])
def test_numbers_alone_take_the_short_way(target, capsys, in_blocks, monkeypatch):
    """Columns of numbers go from the file to the inputs without a frame between: whole ones, gaps and float32 too."""
    frame = flowers(900).drop(columns=["colour", "visit"])
    frame["count"] = np.arange(900) % 7
    frame["level"] = pd.array(np.arange(900) % 5, dtype="Int16")
    frame.loc[::90, "level"] = pd.NA
    frame["size"] = frame["size"].astype(np.float32)
    if target == "whole numbers":
        frame["y"] = (frame["y"] == "high").astype(int)
    elif target == "categories of Arrow":
        frame["y"] = frame["y"].astype("category")
    frame.to_parquet("table.parquet", index=False, row_group_size=90)
    command("fit table.parquet --impute --model smlr --lam 5 -o memory.model", capsys)
    in_blocks(block=10_000)
    monkeypatch.setattr(blocks, "fill_rows", None)  # the long way
    command("fit table.parquet --impute --model smlr --lam 5 --memory 2GB -o blocks.model", capsys)
    same("memory.model", "blocks.model", "table.parquet")


@pytest.mark.parametrize("options", ["", "--model rmlr --lam 5", "--class-weight balanced", "--basis quadratic"])
def test_models_and_options_in_blocks(options, capsys, in_blocks):
    flowers(1500).drop(columns="visit").to_parquet("table.parquet", index=False, row_group_size=300)
    command(f"fit table.parquet --impute {options} -o memory.model", capsys)
    in_blocks()
    command(f"fit table.parquet --impute {options} --memory 2GB -o blocks.model", capsys)
    (a, _), (b, _) = load_with_notes("memory.model"), load_with_notes("blocks.model")
    assert type(a) is type(b)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-6 if options else 1e-4)


def test_files_by_a_pattern_are_one_table(capsys, in_blocks):
    frame = flowers(1200)
    frame.to_parquet("whole.parquet", index=False)
    Path("visits").mkdir()
    for number in range(4):
        part = frame.iloc[300 * number : 300 * (number + 1)]
        part[part.columns[:: -1 if number % 2 else 1]].to_parquet(f"visits/{number}.parquet", index=False)
    fit = "--impute --model smlr --lam 9 -o"
    command(f"fit whole.parquet {fit} whole.model", capsys)
    out, _ = command(f"fit 'visits/*.parquet' {fit} pattern.model", capsys)
    assert "1200 samples of 0.parquet and 3 more files" in out
    command(f"fit visits/0.parquet visits/1.parquet visits/2.parquet visits/3.parquet {fit} listed.model", capsys)
    in_blocks()
    command(f"fit 'visits/*.parquet' --memory 2GB {fit} blocks.model", capsys)
    for name in ("pattern", "listed", "blocks"):
        same("whole.model", f"{name}.model", "whole.parquet")
    frame.drop(columns="age").to_parquet("visits/4.parquet", index=False)
    _, err = command("fit 'visits/*.parquet' -o none.model", capsys, code=1)
    assert "4.parquet lacks 'age': every file must have the columns of" in err
    _, err = command("fit 'visits/*.csv' -o none.model", capsys, code=1)
    assert "No file matches visits/*.csv" in err


def test_progress_says_which_pass_it_is(capsys, in_blocks, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=screen, force_terminal=True, width=150))
    flowers(900).to_parquet("table.parquet", index=False, row_group_size=300)
    in_blocks()
    command("fit table.parquet --impute --model smlr --lam 9 --memory 2GB -o my.model", capsys)
    for words in (
        "Reading table.parquet, 900 rows",
        "Measuring table.parquet, pass 1",
        r"Fitting SMLR on 900 x \d+ values, pass",
    ):
        assert re.search(words, screen.getvalue())
    with terminal.working("Fitting"):
        progress.tell("pass 3")
        terminal.add_progress("45%")
    assert "Fitting, pass 3: 45%" in screen.getvalue()


# -- exact medians


def test_medians_of_blocks_are_exact(monkeypatch):
    """Ties, both zeros, gaps, huge and tiny numbers: the bits of the median are those of NumPy."""
    monkeypatch.setattr(medians, "FETCHED", 20)
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 999, 1000):
        X = np.column_stack([
            rng.normal(size=n), rng.integers(0, 3, n) - 1.0, 1e300 * rng.normal(size=n), rng.integers(0, 2, n),
            10 + 1e-9 * rng.normal(size=n), -np.exp(20 * rng.normal(size=n)), np.where(np.arange(n) % 2, -0.0, 5.0),
        ])  # fmt: skip
        X[rng.random(X.shape) < 0.1] = np.nan
        X[0] = 1.0
        passes, blocks = [], np.array_split(X, 3)

        def total(function, combine, blocks=blocks, passes=passes):
            passes.append(function)
            return combine([function(block) for block in blocks])

        present = (~np.isnan(X)).sum(axis=0)
        found = medians.medians(np.nanmin(X, axis=0), np.nanmax(X, axis=0), present, total)
        np.testing.assert_array_equal(found, np.nanmedian(X, axis=0))
        assert len(passes) <= 8


# -- refusals


REFUSED = {
    "numbers to predict": ("--target size", "whose models need the table in memory"),
    "a kernel": ("--basis rbf --no-standardize", "needs all rows in one place"),
    "another model": ("--model rvm", "RVMClassifier needs the table in memory"),
    "draws": ("--posterior --model smlr --lam 3", "--posterior needs the table in memory"),
    "gaps": ("", "'dose' 32. Fit with --impute"),
    "too little": ("--memory 600MB", "600 MB of memory is too little"),
    "no size": ("--memory much", "--memory must be a size such as 2GB"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_blocks_cannot_do_is_refused_with_the_remedy(kind, capsys, in_blocks):
    options, said = REFUSED[kind]
    flowers(600).to_parquet("table.parquet", index=False, row_group_size=100)
    in_blocks()
    imputed = "" if kind == "gaps" else "--impute"
    limit = "" if "--memory" in options else "--memory 2GB"
    _, err = command(f"fit table.parquet {imputed} {options} {limit} -o none.model", capsys, code=1)
    assert said in " ".join(err.split())
    assert len(err.strip().splitlines()) == 1
    assert not Path("none.model").exists()
    assert not list(Path().glob(".*.part"))


def test_sizes_and_shares():
    assert size_of("2GB") == 2 * 10**9
    assert size_of("1.5 GiB") == 3 * 2**29
    assert size_of("500mb") == 5 * 10**8
    assert memory.free_memory() > 10**8
    found = shares(15 * 10**8, portion=5 * 10**6, hessian=8 * 300**2)
    assert found.workers * found.worker + memory.COMMAND <= 15 * 10**8
    assert memory.memory_budget(None).limit < memory.free_memory() * 1.1
    assert memory.Budget(10**9, True).holds(10**8)
    assert not memory.Budget(10**9, True).holds(2 * 10**8)


def test_the_limit_of_a_control_group_counts(tmp_path):
    for name, text in {
        "memory.max": "5000",
        "memory.current": "3000",
        "memory.stat": "anon 9\ninactive_file 700",
    }.items():
        (tmp_path / name).write_text(text)
    assert memory._left(tmp_path, "memory.max", "memory.current") == 2700
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._left(tmp_path, "memory.max", "memory.current") is None


# -- files that change, or end early


def change_after(monkeypatch, file, portions, change):
    """Do something to a file after so many of its portions were read."""
    whole = frames.with_text if file.endswith("parquet") else frames.as_read
    seen = []

    def counted(*args):
        seen.append(1)
        if len(seen) == portions:
            change(Path(file))
        return whole(*args)

    monkeypatch.setattr(frames, whole.__name__, counted)


CHANGES = {
    "written to": lambda path: path.write_bytes(path.read_bytes() + b"1,2\n"),
    "cut short": lambda path: os.truncate(path, path.stat().st_size // 2),
    "replaced": lambda path: (path.rename("old"), path.write_bytes(Path("old").read_bytes())),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("portions", [2, 12])
def test_a_file_that_changes_while_it_is_read_is_refused(change, ending, portions, capsys, in_blocks, monkeypatch):
    """Under workers, and on the short way: tests/test_interrupted_commands.py."""
    frame, file = flowers(600), f"table.{ending}"
    monkeypatch.setattr(frames, "PORTION", 60)
    monkeypatch.setattr(frames, "WIDE_PORTION", 60)
    frame.to_csv(file, index=False) if ending == "csv" else frame.to_parquet(file, index=False, row_group_size=60)
    in_blocks(block=10_000)
    change_after(monkeypatch, file, portions, CHANGES[change])
    _, err = command(f"fit {file} --impute --model smlr --lam 3 --memory 2GB -o none.model", capsys, code=1)
    said = "was removed while it was read" if change == "removed" else "changed while it was read"
    assert f"{file} {said}" in " ".join(err.split())
    assert len(err.strip().splitlines()) == 1
    assert not Path("none.model").exists()
    assert not list(Path().glob(".*.part"))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_file_that_ends_early_is_refused(ending, capsys):
    file = Path(f"table.{ending}")
    frame = flowers(6000)
    frame.to_csv(file, index=False) if "csv" in ending else frame.to_parquet(file, index=False)
    half = file.stat().st_size // 2
    os.truncate(file, file.read_bytes().index(b"\n", half) - 20 if ending == "csv" else half)  # within a line
    for words in (f"fit {file} --impute -o none.model", f"describe {file}"):
        _, err = command(words, capsys, code=1)
        assert str(file) in err
        assert len(err.strip().splitlines()) == 1
    assert not Path("none.model").exists()


# -- predictions of any size


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_predictions_in_portions_are_those_of_the_whole(ending, capsys, monkeypatch):
    frame = flowers(900)
    frame["note"] = np.where(np.arange(900) < 500, None, "=late")
    frame["ward"] = [f"{i:04d}" for i in range(900)]
    frame.to_csv("table.csv", index=False)
    command("fit table.csv --ignore note --impute --model smlr --lam 3 -o my.model", capsys)
    predict = "predict my.model table.csv --keep note --keep ward --reject 0.5 --prior-shift estimate"
    out, _ = command(f"{predict} -o whole.{ending}", capsys)
    shown, _ = command(predict, capsys)
    monkeypatch.setattr(frames, "PORTION", 70)
    monkeypatch.setattr(frames, "WIDE_PORTION", 70)
    parts, _ = command(f"{predict} -o parts.{ending}", capsys)
    assert out.replace("whole", "parts") == parts
    assert command(predict, capsys)[0] == shown
    read = pd.read_parquet if ending == "parquet" else pd.read_csv
    pd.testing.assert_frame_equal(read(f"whole.{ending}"), read(f"parts.{ending}"))


PEAK = """
import re, sys
from smaller.__main__ import main
code = main()
print("peak", re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="where Linux tells the peak of a process")
def test_the_memory_of_predictions_does_not_grow_with_the_rows(capsys):
    """Of 400 000 rows more, whose inputs take 128 MB; what grows a little is what the allocator keeps."""
    rng, peaks = np.random.default_rng(0), []
    for rows in (100_000, 500_000):
        frame = pd.DataFrame(rng.normal(size=(rows, 40)), columns=[f"q{j}" for j in range(40)])
        frame.to_parquet(f"{rows}.parquet", index=False, row_group_size=5000)
        if not peaks:
            frame[:500].assign(y=np.arange(500) % 2).to_csv("few.csv", index=False)
            command("fit few.csv --model rmlr --lam 1 -o my.model", capsys)
        words = ["predict", "my.model", f"{rows}.parquet", "-o", "out.csv"]
        done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True)
        assert f"{rows} rows predicted" in done.stdout
        peaks.append(int(done.stdout.rpartition("peak ")[2]) * 1024)
    assert peaks[1] - peaks[0] < 64e6


def test_gaps_in_a_later_portion_are_counted_to_the_end_and_nothing_is_written(capsys, monkeypatch):
    flowers(900).drop(columns="dose").to_csv("table.csv", index=False)
    command("fit table.csv --model smlr --lam 3 -o my.model", capsys)
    new = flowers(900, seed=1)
    new.loc[[300, 600, 899], "age"] = np.nan
    new.to_csv("new.csv", index=False)
    Path("out.csv").write_text("before")
    monkeypatch.setattr(frames, "PORTION", 70)
    monkeypatch.setattr(frames, "WIDE_PORTION", 70)
    _, err = command("predict my.model new.csv -o out.csv", capsys, code=1)
    assert "Values are missing, of 900 rows: 'age' 3." in " ".join(err.split())
    assert Path("out.csv").read_text() == "before"


def test_a_source_knows_its_files():
    Path("b.csv").write_text("x,y\n1,0\n")
    Path("a.csv").write_text("x,y\n1,0\n")
    assert [path.name for path in source_of("*.csv").paths] == ["a.csv", "b.csv"]
    assert source_of("*.csv").name == "a.csv and 1 more file"
    assert read_table(["b.csv", "a.csv"], target="y").X.shape == (2, 1)
