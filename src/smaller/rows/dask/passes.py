"""Passes over the blocks of rows of Dask collections, computed on a cluster that may be lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ...errors import FitInterrupted
from ...progress import tell
from .block_tasks import BlockGraph


class Passes:
    """Blocks of rows, (X, y, weight, offset) each, with a count of the passes over them."""

    def __init__(self, blocks: list[tuple[Any, ...]]):
        self.blocks = blocks
        self.count = 0
        self.client = _active_client()

    @cached_property
    def _graph(self) -> BlockGraph:
        return BlockGraph(self.blocks)

    def total(self, function: Callable, combine: Callable, task: Any) -> Any:
        """combine([...]) over function(X, y, weight, offset, task) of every block."""
        self.count += 1
        tell(f"pass {self.count} over the data")
        return self._compute(self._graph.of_pass(function, combine, task))

    def keep(self, blocks: list[Any]) -> list[Any]:
        """Small blocks that every pass needs, computed once; a worker that loses one computes it again."""
        import dask

        with _large_graphs():
            return list(dask.persist(*blocks) if self.client is None else self.client.persist(blocks))

    def _compute(self, root: Any) -> Any:
        import dask

        if self.client is not None and self.client.status != "running":
            raise FitInterrupted(_sentence(self.count, "the Dask client is closed"))
        try:
            with _large_graphs():
                return dask.compute(root, scheduler=self.client)[0]
        except Exception as error:
            if not self._lost(error):
                raise
            raise FitInterrupted(_sentence(self.count, f"{type(error).__name__}: {error}")) from error

    def _lost(self, error: Exception) -> bool:
        """Whether the error came from the cluster and not from the computation."""
        if self.client is None:
            return False
        foreign = type(error).__module__.partition(".")[0] == "distributed"
        return foreign or isinstance(error, CancelledError | TimeoutError) or self.client.status != "running"


@contextmanager
def _large_graphs() -> Iterator[None]:
    """Without Dask's warning: the weights of wide problems, or the folds of many rows, exceed the size named."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


def _sentence(count: int, why: str) -> str:
    return (
        f"The cluster was lost in pass {count} over the data ({why.strip().splitlines()[0]}). This error's `model`, "
        "where it is not None, is the model after the last whole pass, from which SMLR and RMLR continue: "
        "error.model.set_params(warm_start=True).fit(X, y)."
    )


def _active_client() -> Any:
    """The distributed client that computes by default, or None for the schedulers of one machine."""
    from dask.base import get_scheduler

    get = get_scheduler()
    owner = getattr(get, "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None
