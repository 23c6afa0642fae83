"""The application that the commands belong to, and what they check before they work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._version import __version__
from ..errors import choose
from ..tuning.ranking import CLASSIFICATION, REGRESSION
from .terminal import say

app = typer.Typer(
    help="Sparse Bayesian models from the command line: fit a table, predict another, see why.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        say(f"smaller {__version__}")
        raise typer.Exit


@app.callback()
def show_version(
    version: Annotated[
        bool, typer.Option("--version", help="Say the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Sparse Bayesian models from the command line: fit a table, predict another, see why."""


def check_place(output: Path | None, *inputs: Path) -> None:
    """Refuse, before the work starts, to write where that cannot be or would destroy what is read."""
    if output is None:
        return
    if not output.parent.is_dir():
        raise ValueError(f"There is no folder {output.parent} to write {output.name} to; make it first.")
    if output.is_dir() or any(output.resolve() == file.resolve() for file in inputs):
        raise ValueError(f"{output} is a folder, or a file that is read; name another file to write to.")


def check_task(task: str | None) -> None:
    if task is not None:
        choose("--task", task, (CLASSIFICATION, REGRESSION))
