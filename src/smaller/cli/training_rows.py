"""The rows that a model is fitted on: in memory, or in blocks that workers read. Both answer the same questions."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..data.tables import Columns, Table
from ..data.tables.blocks import (
    Preparation,
    Survey,
    TablePart,
    inputs_of,
    join_surveys,
    load_inputs,
    load_labels,
    survey_part,
)
from ..data.tables.last_pass import Learned, imputing, refuse_gaps, refuse_no_rows, to_impute
from ..data.tables.medians import medians
from ..models.multinomial import MultinomialModel
from ..report import mean_columns
from ..rows.dask.passes import Passes
from ..tuning.ranking import CLASSIFICATION, REGRESSION, target_for, task_of
from .memory import TIMES, sized

SAMPLE_ROWS, SAMPLE_BYTES = 100_000, 2**25  # of the rows from which the facts about a fit in blocks are computed


class RowsInMemory(NamedTuple):
    """The rows of a table in memory."""

    table: Table

    @property
    def columns(self) -> Columns:
        """How the columns of the table become inputs."""
        return self.table.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and inputs."""
        return self.table.X.shape

    @property
    def dropped(self) -> int:
        """Rows without a target that were left out."""
        return self.table.dropped

    @property
    def inputs(self) -> Any:
        """The inputs."""
        return self.table.X

    def task(self) -> str:
        """Classes, or numbers to predict."""
        return task_of(self.table.y)

    def target(self, task: str) -> Any:
        """The target of each row."""
        return target_for(task, self.table.y)

    def class_counts(self) -> np.ndarray:
        """How many rows have each class, in the order of the classes."""
        return np.unique(self.target(CLASSIFICATION), return_counts=True)[1]

    def means(self, model: Any, inputs: Callable[[Any], Any]) -> np.ndarray:
        """The means of the columns that a model kept."""
        return mean_columns(model, inputs(self.table.X))

    def sample(self) -> Table:
        """The rows from which facts are computed: all."""
        return self.table

    def check(self, task: str) -> None:
        """Refuse a task that these rows are not for."""

    def check_model(self, model: Any) -> None:
        """Refuse a model that these rows are not for."""


class RowsInBlocks:
    """Rows that workers read anew in each pass."""

    def __init__(self, parts: list[TablePart], found: Learned):
        wanted, columns = found.wanted, found.columns
        self.parts, self.size = parts, found.bytes
        self.how = Preparation(columns, str(wanted.target), wanted.drop_missing_target, list(columns.na))
        survey: Survey = self._total(survey_part, join_surveys, self.how)
        refuse_no_rows(sum(survey.rows), wanted.target)
        _refuse_unlabelled(survey, self.how.target)
        refuse_gaps(survey.gaps, columns, wanted.impute)
        if wanted.impute:
            columns = self._imputing(columns, survey)
        self.counts, self.rows = survey.counts, survey.rows
        self.dropped = found.rows - sum(self.rows)
        self.how = self.how._replace(columns=columns, kind=survey.kind)

    def _total(self, function: Callable, combine: Callable, task: Any) -> Any:
        return Passes([(part, None, None, None) for part in self.parts]).total(function, combine, task)

    def _imputing(self, columns: Columns, survey: Survey) -> Columns:
        """The columns with exact medians of the inputs."""
        wanted = to_impute(columns)
        at = np.array([*wanted.values()], dtype=int)
        place = {name: i for i, name in enumerate(wanted)}
        of_input = {source: name for name in columns.names for source in columns.inputs_of(name)}
        missing = np.array([survey.gaps.missing[of_input[source]] for source in wanted], dtype=int)
        for source in np.array([*wanted])[missing == survey.gaps.rows]:
            raise ValueError(f"Column {of_input[source]!r} has no value at all; leave it out with --ignore.")

        def total(function: Callable, combine: Callable) -> Any:
            return self._total(_of_columns, combine, (self.how, at, function))

        found = medians(survey.low[at], survey.high[at], survey.gaps.rows - missing, total)
        return imputing(columns, lambda _, name: float(found[place[name]]))

    @property
    def columns(self) -> Columns:
        """How the columns of the table become inputs."""
        return self.how.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and inputs."""
        return sum(self.rows), len(self.columns.inputs)

    @property
    def inputs(self) -> Any:
        """The inputs, a Dask array."""
        return self._array(load_inputs, self.shape[1:], np.float64, self.how)

    def task(self) -> str:
        """Classes, or numbers to predict."""
        kind = self.how.kind
        many = len(self.counts) > (10 if kind == "f" else max(50, self.shape[0] // 4))
        return REGRESSION if many and kind != "U" else CLASSIFICATION

    def check(self, task: str) -> None:
        """Refuse numbers to predict."""
        if task == REGRESSION:
            raise ValueError(
                f"The target is read as numbers to predict, whose models need the table in memory ({sized(self.size)}, "
                f"and {TIMES} times that while they are fitted): give more with --memory, or a random part of the "
                "rows. If it has classes, give --task classification."
            )

    def check_model(self, model: Any) -> None:
        """Refuse a model that needs all rows in memory."""
        if not isinstance(model, MultinomialModel):
            raise ValueError(
                f"{type(model).__name__} needs the table in memory ({sized(self.size)}, and {TIMES} times that while "
                "it is fitted): use --model sbmlr, smlr or rmlr, give more with --memory, or a random part of the rows."
            )

    def target(self, task: str) -> Any:
        """The class of each row, a Dask array."""
        return self._array(load_labels, (), self._classes().dtype, self.how, partial(target_for, CLASSIFICATION))

    def _classes(self) -> np.ndarray:
        return target_for(CLASSIFICATION, np.array([*self.counts]))

    def class_counts(self) -> np.ndarray:
        """How many rows have each class, in the order of the classes."""
        _, codes = np.unique(self._classes(), return_inverse=True)
        return np.bincount(codes, weights=[*self.counts.values()])

    def _array(self, load: Callable, columns: tuple[int, ...], dtype: Any, *about: Any) -> Any:
        import dask.array as da
        from dask import delayed

        # What is the same for all blocks is one task of its own, so that it is sent once.
        read, about = delayed(load, pure=False), tuple(delayed(each, traverse=False, pure=False) for each in about)
        each = zip(self.parts, self.rows, strict=True)
        return da.concatenate(
            [da.from_delayed(read(part, *about), (rows, *columns), dtype=dtype) for part, rows in each if rows]
        )

    def means(self, model: Any, inputs: Callable[[Any], Any]) -> np.ndarray:
        """The means of the columns that a model kept; the same pass draws the sample."""
        n, p = self.shape
        share = min(1.0, min(SAMPLE_ROWS, SAMPLE_BYTES // (8 * p)) / n)
        total, X, y = self._total(_look, _joined, (self.how, model, share))
        self.drawn = Table(X, y, self.columns)
        return total / n

    def sample(self) -> Table:
        """Rows drawn at random by `means`, in memory."""
        return self.drawn


def _refuse_unlabelled(survey: Survey, target: str) -> None:
    if survey.unlabelled:
        raise ValueError(
            f"The target {target!r} is missing in {survey.unlabelled} of {survey.gaps.rows} rows; leave them out with "
            "--drop-missing-target."
        )


def _of_columns(part: TablePart, _y, _weight, _offset, task: tuple) -> Any:
    how, at, function = task
    return function(inputs_of(part, how)[0][:, at])


def _look(part: TablePart, _y, _weight, _offset, task: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of the kept columns of a part, and some of its rows, drawn at random but reproducibly."""
    how, model, share = task
    X, y = load_inputs(part, how), load_labels(part, how, partial(target_for, CLASSIFICATION))
    sums = len(X) * mean_columns(model, X) if len(X) else np.zeros(len(model.support_))
    seed = zlib.crc32(f"{part.path.name} {part.groups}".encode())
    rows = np.random.default_rng(seed).random(len(X)) < share
    return sums, X[rows], y[rows]


def _joined(found: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sums, X, y = zip(*found, strict=True)
    return np.sum(sums, axis=0), np.concatenate(X), np.concatenate(y)
