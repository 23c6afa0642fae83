"""What happens to the command when workers are killed, the disk is full, or it is told to end: real processes."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

for package in ("typer", "rich", "pyarrow", "distributed", "dask.dataframe"):
    pytest.importorskip(package)
pd = pytest.importorskip("pandas")
psutil = pytest.importorskip("psutil")

import smaller
from smaller import progress
from smaller.cli import cluster, memory, run, terminal
from smaller.persist import load_with_notes
from smaller.report import paths
from smaller.rows.dask.passes import Passes

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.filterwarnings("ignore"),  # Dask and its servers are not ours to keep free of warnings
]

# Every table is too large for memory; each pass is told on standard output before it begins.
IN_BLOCKS = """
import sys
if __name__ == "__main__":
    from smaller.cli import memory
    from smaller.report import paths
    from smaller.rows.dask.passes import Passes
    from smaller.__main__ import main
    memory.Budget.holds, memory.LARGEST_BLOCK, paths.PATH_SIZE = lambda self, size: False, 200_000, 0
    whole = Passes.total
    def total(self, function, combine, task):
        print("PASS", function.__name__, self.count, flush=True)
        return whole(self, function, combine, task)
    Passes.total = total
    sys.exit(main())
"""
FIT = "fit table.parquet --impute --memory 1.5GB -o my.model"
SMLR = "--model smlr --lam 30"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a table and two scripts that run the command."""
    import warnings

    monkeypatch.chdir(tmp_path)
    write_table(6_000)
    Path("in_blocks.py").write_text(IN_BLOCKS)
    Path("plain.py").write_text("import sys\nfrom smaller.__main__ import main\nsys.exit(main())\n")
    with warnings.catch_warnings():
        yield tmp_path


def write_table(rows, plain=False):
    """Numbers with gaps, a category (not where all is to be plain), and three classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 8)), columns=list("abcdefgh"))
    frame["colour"] = rng.choice(["red", "green", "blue"], len(frame))
    score = frame["a"] - frame["b"] + (frame["colour"] == "red") + rng.logistic(size=len(frame))
    frame["y"] = np.where(score > 1, "high", np.where(score < -1, "low", "middle"))
    frame.loc[::50, "c"] = np.nan
    frame = frame.drop(columns="colour") if plain else frame
    frame.to_parquet("table.parquet", index=False, row_group_size=2000)


def begin(arguments, script="in_blocks.py", **limits):
    """The command as a process with a group of its own, as a terminal gives it one."""
    environment = {**os.environ, "PYTHONPATH": str(Path(smaller.__file__).parents[1])}

    def prepare():
        import resource

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, name), (limit, limit))

    return subprocess.Popen(
        [sys.executable, script, *shlex.split(arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, start_new_session=True, preexec_fn=prepare,
    )  # fmt: skip


def wait_for(process, words):
    """Read what the process says until a line begins so."""
    for line in process.stdout:
        if line.startswith(words):
            return
    raise AssertionError(process.stderr.read())


def left(processes):
    """Those that still run; one that has ended and was not asked for its status is gone too."""
    deadline = time.monotonic() + 10
    while True:
        running = [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        if not running or time.monotonic() > deadline:
            return running
        time.sleep(0.2)


def nothing_half_written():
    return not [name for name in os.listdir() if ".part" in name]


def optimum():
    """The model in memory."""
    assert run(shlex.split(f"fit table.parquet --impute {SMLR} -o memory.model")) == 0
    return load_with_notes("memory.model")[0]


# -- a worker is killed

PHASES = {"reading": ("survey_part", 1), "measuring": ("find_moments", 1), "first step": ("evaluate", 1),
          "certificate": ("evaluate", -1), "means": ("_look", 1)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_a_worker_killed_in_any_phase_does_not_change_the_answer(phase, monkeypatch, capsys):
    """By a signal, while a pass is on its way. The last pass over the data is the one that gives the certificate."""
    name, number = PHASES[phase]
    write_table(60_000)
    monkeypatch.setattr(paths, "PATH_SIZE", 0)
    known = optimum()
    monkeypatch.setattr(memory.Budget, "holds", lambda self, size: False)
    monkeypatch.setattr(memory, "LARGEST_BLOCK", 200_000)
    assert number > 0 or run(shlex.split(f"{FIT} {SMLR}")) == 0
    last = None if number > 0 else load_with_notes("my.model")[0].n_passes_
    whole, seen, killed = Passes.total, [], []

    def total(self, function, combine, task):
        seen.extend([function.__name__] if function.__name__ == name else [])
        if function.__name__ == name and not killed and (self.count == last - 1 if last else len(seen) == number):
            killed.append(next(iter(self.client.run(os.getpid).values())))
            threading.Timer(0.1, os.kill, (killed[0], signal.SIGKILL)).start()
        return whole(self, function, combine, task)

    monkeypatch.setattr(Passes, "total", total)
    assert run(shlex.split(f"{FIT} {SMLR}")) == 0, capsys.readouterr().err
    assert len(killed) == 1
    assert not psutil.pid_exists(killed[0])
    found, about = load_with_notes("my.model")
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-6)
    assert found.dual_gap_ <= found.tol
    assert about["training"]["samples"] == 60_000


# -- Ctrl-C and the signal to end

SIGNALS = {
    "Ctrl-C": (signal.SIGINT, os.killpg, 130, "Interrupted"),
    "Ctrl-C of the command alone": (signal.SIGINT, os.kill, 130, "Interrupted"),
    "SIGTERM": (signal.SIGTERM, os.kill, 143, "Ended by a signal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIGNALS)
def test_an_interrupted_fit_leaves_no_process_and_can_be_continued(kind, capsys):
    number, send, code, said = SIGNALS[kind]
    write_table(60_000)
    Path("my.model").write_bytes(b"what was there")
    process = begin(f"{FIT} {SMLR}")
    wait_for(process, "PASS evaluate 2")
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 2
    send(process.pid, number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert len(err.strip().splitlines()) == 1
    assert f"error: {said} after" in err
    assert "--continue my.model.unfinished" in err
    assert not left(family)
    assert nothing_half_written()
    assert Path("my.model").read_bytes() == b"what was there"
    unfinished = load_with_notes("my.model.unfinished")[0]
    assert unfinished.status_ == "interrupted"
    assert unfinished.dual_gap_ > 1e-6
    assert run(shlex.split("predict my.model.unfinished table.parquet -o out.csv")) == 0
    process = begin("fit table.parquet --continue my.model.unfinished --memory 1.5GB -o my.model")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    found = load_with_notes("my.model")[0]
    assert found.objective_ == pytest.approx(optimum().objective_, rel=1e-6)
    assert not found.warm_start


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["survey_part", "evaluate 3"])
def test_an_interrupted_fit_that_cannot_be_continued_leaves_nothing(phase):
    """Before the first pass of the fit, and in SBMLR, whose answer depends on where it starts."""
    write_table(60_000)
    process = begin(FIT)
    wait_for(process, f"PASS {phase}")
    family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert err.strip() == "error: Interrupted; no file was changed."
    assert not left(family)
    assert nothing_half_written()
    assert not list(Path().glob("my.model*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_lost_in_a_callback_counts_at_the_next_pass(number):
    """As in a callback of the garbage collector, whose exceptions Python does not pass on."""
    with cluster._ended_by_signal(), terminal.working("Fitting"):
        progress.tell("pass 1")
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            progress.tell("pass 2")
    with terminal.working("Fitting"):
        progress.tell("pass 1")


LOST = """
import os, signal, time
from smaller.cli import cluster, terminal
from smaller import progress

class Ended:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(1)

with cluster._ended_by_signal(), terminal.working("Fitting"):
    ended = Ended()
    del ended
    print("goes on", flush=True)
    try:
        progress.tell("pass 2")
    except KeyboardInterrupt:
        print("ends")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_is_lost_in_a_destructor_is_not_reported_by_python(name):
    done = subprocess.run([sys.executable, "-c", LOST.format(name=name)], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["goes on", "ends"]
    assert done.stderr == ""


# -- two commands at a time


def test_a_second_command_on_the_same_machine_says_nothing_of_ports():
    """Nothing listens but on this machine, and the port on which Dask shows its pages may be taken."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # another process has it: as good
            taken.bind(("0.0.0.0", 8787))
            taken.listen()
        process = begin(f"{FIT} {SMLR}")
        wait_for(process, "PASS evaluate 1")
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        found = [each.laddr.ip for one in family for each in one.net_connections() if each.status == psutil.CONN_LISTEN]
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err == ""
    assert set(found) == {"127.0.0.1"}


# -- a file that changes, or ends early, while workers read it

CHANGES = {
    "written to": (lambda path: path.write_bytes(path.read_bytes() + b"more"), "changed while it was read"),
    "cut short": (lambda path: os.truncate(path, path.stat().st_size // 2), "changed while it was read"),
    "removed": (lambda path: path.unlink(), "was removed while it was read"),
}


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_under_the_workers_ends_the_fit_with_a_sentence(change, plain):
    write_table(60_000, plain)
    process = begin(f"{FIT} {SMLR}")
    wait_for(process, "PASS evaluate 2")
    family = psutil.Process(process.pid).children(recursive=True)
    act, said = CHANGES[change]
    act(Path("table.parquet"))
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert len(err.strip().splitlines()) == 1
    assert f"table.parquet {said}" in err
    assert not left(family)
    assert nothing_half_written()
    assert not list(Path().glob("my.model*"))


def test_what_is_continued_has_its_own_settings(capsys):
    optimum()
    for more, said in (
        ("--model smlr --lam 3", "leave out --model, --lam"),
        ("--impute", "--continue reads the table as before; leave out --impute"),
    ):
        capsys.readouterr()
        assert run(shlex.split(f"fit table.parquet --continue memory.model {more} -o my.model")) == 1
        assert said in " ".join(capsys.readouterr().err.split())
    assert run(shlex.split("fit table.parquet --continue memory.model -o again.model")) == 0
    again, known = load_with_notes("again.model")[0], load_with_notes("memory.model")[0]
    assert again.objective_ == pytest.approx(known.objective_, rel=1e-6)
    assert again.n_iter_ <= known.n_iter_
    assert run(shlex.split("fit table.parquet --impute -o sb.model")) == 0
    capsys.readouterr()
    assert run(shlex.split("fit table.parquet --continue sb.model -o my.model")) == 1
    assert "needs a model that can start from its weights" in " ".join(capsys.readouterr().err.split())


# -- a full disk

FULL = "error: There is no room left on the disk"


def limited(arguments, script, size):
    """Run the command where no file may be larger than this: writing fails as it does on a full disk."""
    process = begin(arguments, script, RLIMIT_FSIZE=size)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert len(err.strip().splitlines()) == 1
    assert err.startswith(FULL), err
    assert nothing_half_written()


def test_predictions_that_find_no_room_are_not_written():
    assert run(shlex.split(f"fit table.parquet --impute {SMLR} -o memory.model")) == 0
    for ending in ("csv", "csv.gz", "parquet"):
        Path(f"out.{ending}").write_bytes(b"what was there")
        limited(f"predict memory.model table.parquet -o out.{ending}", "plain.py", 100_000)
        assert Path(f"out.{ending}").read_bytes() == b"what was there"


def test_a_model_that_finds_no_room_is_not_written():
    Path("my.model").write_bytes(b"what was there")
    limited(f"fit table.parquet --impute {SMLR} -o my.model", "plain.py", 5_000)
    assert Path("my.model").read_bytes() == b"what was there"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_is_told(capsys):
    assert run(shlex.split(f"fit table.parquet --impute {SMLR} -o memory.model")) == 0
    capsys.readouterr()
    assert run(shlex.split("predict memory.model table.parquet -o /dev/full")) == 1
    assert capsys.readouterr().err.startswith(FULL)


@pytest.mark.slow
def test_blocks_that_find_no_room_are_removed():
    write_table(60_000)
    pd.read_parquet("table.parquet").to_csv("table.csv", index=False)
    limited(f"fit table.csv --impute {SMLR} --memory 1.5GB -o my.model", "in_blocks.py", 50_000)
    assert not list(Path().glob("my.model*"))
