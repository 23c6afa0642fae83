"""Several fits in the same passes: each runs in a thread of the client, and one pass answers what all have asked.

A fit sees some of the rows: of each division of the rows (a fold of cross-validation, a half-sample) those that it is
trained on. A pass begins when every fit that is not yet done waits for one, so that together they take as many passes
as the slowest of them alone (more where their Hessians are large). Blocks are read and computed once for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from .block import matrix
from .collections import cut
from .passes import Passes

ROOM = 2**28  # bytes of Hessians that a block may send in one pass: a worker has several blocks' at a time
TRAIN, TEST = 1, 2  # bits: the roles of a row in a division


class Wanted(NamedTuple):
    """A sum over some rows: what is computed from them in each block, and how blocks are combined."""

    division: int
    role: int
    function: Callable
    combine: Callable
    task: Any


class SomeRows:
    """The rows of one role in one division, or all rows (division -1), as one fit sees them: see Passes.total."""

    def __init__(self, line: SimpleQueue, division: int, role: int = TRAIN):
        self.line, self.division, self.role = line, division, role
        self.count = 0

    def total(self, function: Callable, combine: Callable, task: Any) -> Any:
        """combine([...]) over function(X, y, weight, offset, task) of every block, in a pass shared with other fits."""
        answer: Future = Future()
        self.count += 1
        self.line.put((Wanted(self.division, self.role, function, combine, task), answer))
        return answer.result()

    def others(self) -> SomeRows:
        """The rows that this division tests on."""
        return SomeRows(self.line, self.division, TEST)


class SharedPasses:
    """Passes that several fits share.

    Parameters
    ----------
    passes : Passes
        Over all rows; their count grows by the passes made here.
    sizes : sequence of int
        Rows of each block.
    roles : ndarray of shape (n, n_divisions)
        The roles of each row in each division, as bits.
    """

    def __init__(self, passes: Passes, sizes: Sequence[int], roles: np.ndarray):
        self.passes = passes
        self.line: SimpleQueue[Any] = SimpleQueue()
        kept = passes.keep(cut(roles, tuple(sizes), "the division into folds"))
        self.shared = Passes([(*block, own) for block, own in zip(passes.blocks, kept, strict=True)])
        self.shared.count = passes.count  # progress goes on from there

    def part(self, division: int = -1) -> SomeRows:
        """The rows that a division trains on; by default all rows."""
        return SomeRows(self.line, division)

    def run(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """The results of functions that ask parts for sums, each in a thread of its own; all end if one fails."""
        with ThreadPoolExecutor(max(1, len(works))) as threads:
            begun = [threads.submit(work) for work in works]
            for each in begun:
                each.add_done_callback(self.line.put)
            going, waiting = len(works), []
            try:
                while going:
                    news = self.line.get()
                    if isinstance(news, Future):
                        going -= 1
                        news.result()  # raises its error
                    else:
                        waiting.append(news)
                    if going and len(waiting) == going:
                        waiting = self._after_a_pass(waiting)
            except BaseException as error:
                self._release(going, waiting, error)
                raise
        return [each.result() for each in begun]

    def _after_a_pass(self, waiting: list[tuple[Wanted, Future]]) -> list[tuple[Wanted, Future]]:
        """Answer as many as one pass has room for, those that have waited longest first; the others wait on."""
        sizes = np.cumsum([_size(each) for each, _ in waiting])
        count = max(1, int(np.count_nonzero(sizes <= ROOM)))
        asked = [each for each, _ in waiting[:count]]
        found = self.shared.total(_each_part, partial(_combined, [each.combine for each in asked]), asked)
        self.passes.count = self.shared.count
        for (_, answer), result in zip(waiting[:count], found, strict=True):
            answer.set_result(result)
        return waiting[count:]

    def _release(self, going: int, waiting: list[tuple[Wanted, Future]], error: BaseException) -> None:
        """End the threads that wait for an answer, now or later."""
        while True:
            for _, answer in waiting:
                answer.set_exception(RuntimeError(f"Another fit in the same passes ended with {error!r}."))
            if not going:
                return
            news = self.line.get()
            ended = isinstance(news, Future)
            going, waiting = going - ended, [] if ended else [news]


def _size(asked: Wanted) -> int:
    """Bytes of the Hessian that a block sends; all else is small beside it."""
    active = getattr(asked.task, "active", None)
    return 0 if active is None else 8 * int(np.count_nonzero(active)) ** 2


def _each_part(X, y, weight, offset, roles, asked: list[Wanted]) -> list[Any]:
    """What each fit asks of one block."""
    X, y = matrix(X), np.asarray(y)
    if len(y) != len(roles):
        raise ValueError(
            f"A block of y has {len(y)} rows where it had {len(roles)} before; the data must not change during a fit."
        )
    values = [None if each is None else np.asarray(each) for each in (weight, offset)]
    return [each.function(*_rows(each, roles, X, y, *values), each.task) for each in asked]


def _rows(asked: Wanted, roles: np.ndarray, *values: Any) -> tuple[Any, ...]:
    if asked.division < 0:
        return values
    rows = np.flatnonzero(roles[:, asked.division] & asked.role)
    return tuple(None if each is None else each[rows] for each in values)


def _combined(combines: list[Callable], found: list[list[Any]]) -> list[Any]:
    """The results of several blocks, for each fit by its own function."""
    return [combine(list(each)) for combine, each in zip(combines, zip(*found, strict=True), strict=True)]
