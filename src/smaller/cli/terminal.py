"""What goes to the terminal: tables and facts to standard output, progress and problems to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

WIDE = 200  # characters of a table that goes to a file or to another program

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(text: str, kind: str = "error") -> None:
    """A problem, as one sentence on standard error."""
    colour = "red" if kind == "error" else "yellow"
    err.print(f"[bold {colour}]{kind}:[/] {escape(text)}")


def say(text: str = "") -> None:
    """A line of the answer."""
    out.print(escape(text))


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Progress of something that may take longer than a second; the value is called with what is done so far."""
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    columns += [BarColumn(), MofNCompleteColumn()] if total else []
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(escape(what), total=total)

        def tick(done: int | None = None) -> None:
            if total:
                progress.advance(task)
            elif done is not None:
                progress.update(task, description=f"{escape(what)}, {done:,} rows".replace(",", " "))

        yield tick


def grid(headings: list[str], rows: list[list[Any]], texts: tuple[int, ...] = (0,)) -> None:
    """A table; the columns numbered in `texts` are words, which may be folded, the others numbers."""
    table = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for number, heading in enumerate(headings):
        words = number in texts
        table.add_column(heading, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    out.print(table)


def show(facts: dict[str, Any], limit: int = 15) -> None:
    """The facts of a report, in brief."""
    kept, quality, proof = facts["kept"], facts["quality"], facts["certificate"]
    say(f"Kept {kept['number']} of {kept['of']} {kept['what']}.")
    if kept["weights"]:
        rows = [
            [r["name"], r["class"], f"{r['standard']:+.3g}", f"{r['weight']:+.3g}"] for r in kept["weights"][:limit]
        ]
        grid(["", "speaks for", "per std. deviation", "per unit"], rows)
        if kept["weights_number"] > limit:
            say(f"... and {kept['weights_number'] - limit} more weights; smaller report shows them.")
    low, high = quality["interval"]
    say(
        f"{quality['wrong']} of {quality['tested']} wrong ({quality['error']:.1%}, 95 % interval {low:.1%} to "
        f"{high:.1%}; always the most frequent class: {quality['baseline']:.1%}), log-loss {quality['log_loss']:.3f}, "
        f"calibration error {quality['calibration_error']:.3f}."
    )
    if facts["data"]["note"]:
        say(facts["data"]["note"])
    say(
        f"Certificate: relative duality gap {proof['gap']:.1e}, violation {proof['violation']:.1e} ({proof['status']})."
    )
