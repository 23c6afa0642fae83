"""Fits that were interrupted: what was reached is kept beside the output, and a later fit goes on from there."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..data.tables.source import Source
from ..errors import FitInterrupted
from . import models
from .cluster import Terminated
from .terminal import Stopped

ENDING = ".unfinished"
FROM_MODEL = ("categorical", "numeric", "ignore", "impute", "na", "decimal", "thousands", "day_first")


@contextmanager
def interrupted(output: Path, source: Source) -> Iterator[None]:
    """An interruption within this context leaves the unfinished model, where there is one, and one sentence."""
    try:
        yield
    except (KeyboardInterrupt, FitInterrupted) as error:
        why, code = _about(error)
        reached = getattr(error, "unfinished", None)
        if reached is None:
            raise Stopped(f"{why}; no file was changed.", code) from None
        place = output.with_name(output.name + ENDING)
        reached.save(place)
        more = " ..." if len(source.paths) > 1 else ""
        raise Stopped(
            f"{why} after {reached.model.n_passes_} passes over the data; the model so far is in {place}. To go on:  "
            f"smaller fit {source.paths[0]}{more} --continue {place} -o {output}",
            code,
        ) from None


def _about(error: BaseException) -> tuple[str, int]:
    """What happened, and the exit code."""
    if isinstance(error, Terminated):
        return "Ended by a signal", 128 + signal.SIGTERM
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted", 128 + signal.SIGINT
    return "The workers were lost, perhaps since they need more memory (--memory)", 1


def begun_model(path: Path, given: dict[str, Any]) -> models.Fitted:
    """The model to continue; options that it has itself are refused."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ValueError(f"--continue goes on with the settings of {path}; leave out {', '.join(named)}.")
    begun = models.load_fitted(path)
    if "warm_start" not in begun.model.get_params(deep=False) or begun.scaling is not None:
        raise ValueError(
            f"--continue needs a model that can start from its weights, SMLR or RMLR on columns, and {path} has a "
            f"{type(begun.model).__name__}; fit without --continue."
        )
    begun.model.densify().set_params(warm_start=True)
    return begun


def how_to_continue(begun: models.Fitted, reading: dict[str, Any]) -> dict[str, Any]:
    """How the table is read: as for the unfinished model."""
    named = [f"--{name.replace('_', '-')}" for name in FROM_MODEL if reading.get(name)]
    if named:
        raise ValueError(f"--continue reads the table as before; leave out {', '.join(named)}.")
    new = {name: value for name, value in reading.items() if name not in FROM_MODEL}
    return {**new, "columns": begun.columns, "target": begun.columns.target}
