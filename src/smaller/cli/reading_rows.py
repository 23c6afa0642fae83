"""Reading the table to fit: into memory, or in blocks, by workers of a local cluster, where it is too large."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..data.tables import Table, begin_table
from ..data.tables.blocks import parts_in_place, parts_written
from ..data.tables.frames import rows_of_portion
from ..data.tables.last_pass import Learned
from ..data.tables.source import Source
from ..solvers.l1.newton import HESSIAN
from .cluster import local_cluster
from .memory import SHARE, TIMES, Budget, Shares, need_of, shares, sized
from .terminal import say, working
from .training_rows import RowsInBlocks, RowsInMemory

CLASSES = 3  # assumed before the classes are counted


class FitOptions(NamedTuple):
    """What the options say about the fit, as far as its memory depends on it."""

    task: str | None
    basis: str
    limit: Budget
    output: Path

    def hessian(self, inputs: int, classes: int) -> int:
        """The size of the largest matrix of second derivatives."""
        columns = inputs * (inputs + 3) // 2 if self.basis == "quadratic" else inputs
        return 8 * min(HESSIAN, columns * (1 if classes == 2 else classes)) ** 2


def read_rows(
    source: Source, wanted: dict[str, Any], asked: FitOptions, stack: ExitStack
) -> RowsInMemory | RowsInBlocks:
    """The rows to fit; a cluster that they need ends with the stack. Prints how columns were read."""
    with working(f"Reading {source.name}") as tick:
        found = begin_table(source, progress=tick, **wanted)
        if isinstance(found, Learned) and asked.limit.holds(found.bytes):
            found = found.table()
    rows = RowsInMemory(found) if isinstance(found, Table) else _in_blocks(source, found, asked, stack)
    if rows.dropped:
        say(f"{rows.dropped} of {rows.dropped + rows.shape[0]} rows have no target and were left out.")
    for sentence in rows.columns.told():
        say(sentence)
    return rows


def _in_blocks(source: Source, found: Learned, asked: FitOptions, stack: ExitStack) -> RowsInBlocks:
    if asked.basis not in ("linear", "quadratic"):
        raise ValueError(
            f"--basis {asked.basis} needs all rows in one place, and the inputs take {sized(found.bytes)}, {TIMES} "
            "times that while they are fitted: leave --basis out, give more with --memory, or a random part of the "
            "rows."
        )
    limit, inputs = int(asked.limit.limit or 0), len(found.columns.inputs)
    together = len(found.columns.names) + 1
    portion = 8 * rows_of_portion(together) * together
    shared = shares(limit, portion, asked.hessian(inputs, CLASSES))
    most_rows = max(1, shared.block // (8 * inputs))
    beside = {"prefix": f".{asked.output.name}.", "suffix": ".part", "dir": str(asked.output.parent)}
    folder = Path(stack.enter_context(TemporaryDirectory(**beside, ignore_cleanup_errors=True)))
    parts = parts_in_place(source, most_rows)
    anew = parts is None
    if parts is None:
        with working(f"Writing {source.name} anew in blocks") as tick:
            parts = parts_written(found._replace(wanted=found.wanted._replace(progress=tick)), folder, most_rows)
    _explain(found, asked, shared, len(parts), anew)
    stack.enter_context(local_cluster(shared.workers, shared.worker, folder))
    with working(f"Measuring {source.name}"):
        rows = RowsInBlocks(parts, found)
    rows.check(asked.task or rows.task())
    classes = len(rows.counts)
    need = need_of(portion, asked.hessian(inputs, classes))
    if need > shared.worker:
        raise ValueError(
            f"{classes} classes and {inputs} inputs need {sized(need)} in each of {shared.workers} workers, which have "
            f"{sized(shared.worker)}; give {sized(limit + shared.workers * (need - shared.worker))} with --memory."
        )
    return rows


def _explain(found: Learned, asked: FitOptions, shared: Shares, blocks: int, anew: bool) -> None:
    limit, output = asked.limit, asked.output
    whence = "--memory" if limit.given else f"{SHARE:.0%} of what is available; --memory changes it"
    copied = f" They were written anew, as they are not in blocks of this size, beside {output}." if anew else ""
    say(
        f"The inputs take {sized(found.bytes)}, and a fit in memory {TIMES} times that, which is more than the "
        f"{sized(float(limit.limit or 0))} allowed ({whence}). So {shared.workers} "
        f"worker{'s' if shared.workers > 1 else ''} of at most {sized(shared.worker)} each read the {found.rows} rows "
        f"in {blocks} blocks, in every pass of the fit.{copied}"
    )
