"""Tables read by the columns of a fitted model, portion by portion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .columns import Columns, Reading
from .frames import FRAMES, ending_of, portions
from .last_pass import Gaps, close_gaps, fill_rows, gaps_of, mark_of, refuse_gaps, refuse_missing_columns
from .matrices import MATRICES
from .source import Source, source_of


class Applied:
    """The inputs of a table in portions, each with the columns to keep as they are; may be gone through several times.

    Parameters
    ----------
    path : path
    columns : Columns
        Those of the model.
    keep : sequence of str
        Columns of the file that come with the inputs, as text.
    **reading
        Further fields of `Reading`.
    """

    def __init__(self, path: Any, columns: Columns, keep: Sequence[str] = (), **reading: Any):
        self.source, self.columns, self.keep = source_of(path), columns, list(dict.fromkeys(keep))
        self.reading = Reading(columns=columns, **reading)
        self.matrix = ending_of(self.source.paths[0]) not in FRAMES
        if keep:
            refuse_matrix(self.source, "--keep")

    def __iter__(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        if self.matrix:
            path = self.source.paths[0]
            yield MATRICES[ending_of(path)](path, self.reading).X, {}
            return
        yield from self._together() if self.keep else ((X, {}) for X in self._inputs())

    def _inputs(self) -> Iterator[np.ndarray]:
        """The inputs; missing values that cannot be replaced are counted to the end of the table, then refused."""
        columns, frames = self.columns, portions(self.source, self.reading)
        refuse_missing_columns(self.source, columns, None, list(next(iter(frames())).columns))
        gaps = Gaps(0, Counter(), Counter(), Counter())
        for frame in frames(columns.names, columns.as_text, mark_of(columns)):
            X, unseen = np.empty((len(frame), len(columns.inputs)), order="F"), Counter[str]()
            fill_rows(X, frame, columns, unseen)
            gaps += gaps_of(X, columns, unseen)
            if not (gaps.infinite or (gaps.missing and not columns.fill)):
                close_gaps(X, columns)
                yield X
        refuse_gaps(gaps, columns, impute=False)
        if not gaps.rows:
            raise ValueError(f"{self.source} has no rows.")

    def _together(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The inputs with the columns to keep, which are read by themselves, in portions of another size."""
        import pandas as pd

        kept = as_text(self.source, self.reading, self.keep, "--keep")
        waiting: list[Any] = []
        for X in self._inputs():
            while sum(map(len, waiting)) < len(X):
                waiting.append(next(kept))
            whole = pd.concat(waiting, ignore_index=True)
            waiting = [whole.iloc[len(X) :]]
            yield X, {name: whole[name].to_numpy()[: len(X)] for name in self.keep}


def refuse_matrix(source: Source, asked: str) -> None:
    """Refuse an option that names columns where the file has no names."""
    if ending_of(source.paths[0]) not in FRAMES:
        raise ValueError(f"{asked} needs a file with named columns, and {source.name} is a matrix.")


def column_as_text(path: Any, name: str, asked: str, **reading: Any) -> np.ndarray:
    """One column of a file as it is."""
    source = source_of(path)
    refuse_matrix(source, asked)
    return np.concatenate([part[name].to_numpy() for part in as_text(source, Reading(**reading), [name], asked)])


def as_text(source: Source, reading: Reading, names: Sequence[str], asked: str) -> Iterator:
    """Some columns of files as they are, in portions; `asked` is the option that names them."""
    try:
        yield from portions(source, reading)(names, names)
    except ValueError as error:
        raise ValueError(f"{asked}: {error}") from None
