"""Checks of options that commands share, made before the work starts."""

from __future__ import annotations

from pathlib import Path

from ..errors import choose
from ..tuning.ranking import CLASSIFICATION, REGRESSION


def check_place(output: Path | None, *inputs: Path) -> None:
    """Refuse an output file in a missing folder, or one that is also an input, before the work starts."""
    if output is None:
        return
    if not output.parent.is_dir():
        raise ValueError(f"There is no folder {output.parent} to write {output.name} to; create it first.")
    if output.is_dir() or any(output.resolve() == file.resolve() for file in inputs):
        raise ValueError(f"{output} is a folder or an input file; name another file to write to.")


def check_class_weight(class_weight: str | None) -> None:
    if class_weight is not None:
        choose("--class-weight", class_weight, ("balanced",))


def check_task(task: str | None) -> None:
    if task is not None:
        choose("--task", task, (CLASSIFICATION, REGRESSION))
