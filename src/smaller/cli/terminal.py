"""Output: tables and facts on standard output, progress and errors on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from .. import progress

WIDE = 200  # characters of a table that goes to a file or to another program


class Stopped(Exception):  # noqa: N818 (the command made no error)
    """The command ended before its work was done: a sentence, and the exit code."""

    def __init__(self, sentence: str, code: int):
        super().__init__(sentence)
        self.code = code


out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(text: str, kind: str = "error") -> None:
    """Print an error or a note, as one sentence on standard error."""
    colour = "red" if kind == "error" else "yellow"
    err.print(f"[bold {colour}]{kind}:[/] {escape(text)}")


def say(text: str = "") -> None:
    """Print a line of the result."""
    out.print(escape(text))


_looking: list[Callable[[], None]] = []  # functions that are called whenever progress is told


@contextmanager
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Within this context a function is called whenever progress is told; it may end the work by an exception."""
    _looking.append(look)
    try:
        yield
    finally:
        _looking.remove(look)


_adding: list[Callable[[str], None]] = []  # functions that add to the progress that is shown, the innermost last


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show progress while the context lasts; its value is called with the number of rows or parts done.

    Progress that fits report (:mod:`smaller.progress`) is shown as well.
    """
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    columns += [BarColumn(), MofNCompleteColumn()] if total else []
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(escape(what), total=total)

        last = ""

        def describe(done: str) -> None:
            nonlocal last
            for look in _looking:
                look()
            last = done
            bar.update(task, description=f"{escape(what)}, {escape(done)}")

        def add(share: str) -> None:
            bar.update(task, description=f"{escape(what)}, {escape(f'{last}: {share}' if last else share)}")

        def tick(done: int | None = None) -> None:
            if total:
                bar.advance(task)
            elif done is not None:
                describe(f"{done:,} rows".replace(",", " "))

        _adding.append(add)
        try:
            with progress.listening(describe):
                yield tick
        finally:
            _adding.pop()


def add_progress(share: str) -> None:
    """Add to the progress that is shown how much of it is done; from any thread."""
    if _adding:
        _adding[-1](share)


def grid(headings: list[str], rows: list[list[Any]], texts: tuple[int, ...] = (0,)) -> None:
    """A table; the columns numbered in `texts` are words, which may be wrapped, the others numbers."""
    table = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for number, heading in enumerate(headings):
        words = number in texts
        table.add_column(heading, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    out.print(table)
