"""A local cluster of Dask that the command starts and ends; nothing of Dask is imported before."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .terminal import add_progress, looking

EXTRA = 'A table larger than memory needs Dask; install it with: pip install "smaller[dask]" (or see --memory)'
TERMINATE = 0.95  # of its memory, where a worker is ended and replaced
DEATHS = 5  # workers that may be lost with the same block
# A scheduler always has a server of web pages, by default on a port that another command may have, told in warnings.
NO_PAGES = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
SETTINGS: dict[str, Any] = {
    # Nothing is kept on workers, so that nothing is worth writing to disk, or waiting for.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": TERMINATE,
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.preload": ["smaller.rows.dask.local_worker"],
    # Blocks come and go: memory that is given back to the system at once, and asked for again, takes four times as long
    # as what is done with it. So a worker keeps what a block or two need.
    "distributed.nanny.pre-spawn-environ": {
        "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1,
        "MALLOC_ARENA_MAX": 1, "MALLOC_MMAP_THRESHOLD_": 2**25, "MALLOC_TRIM_THRESHOLD_": 2**26,
    },
}  # fmt: skip


class Terminated(KeyboardInterrupt):
    """The command was asked to end by a signal."""


@contextmanager
def local_cluster(workers: int, memory: int, folder: Path) -> Iterator[Any]:
    """Workers of one thread each, which end with the context, whatever ends it."""
    try:
        import dask
        import distributed
    except ImportError:
        raise ImportError(EXTRA) from None
    for name in ("distributed", "asyncio", "tornado"):  # what happens to workers is told in a sentence, or not at all
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    settings = {**SETTINGS, "temporary-directory": str(folder)}
    with _ended_by_signal(), dask.config.set(settings):
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory, scheduler_kwargs=NO_PAGES,
            silence_logs=logging.CRITICAL + 1, local_directory=str(folder), host="127.0.0.1",
        )  # fmt: skip
        client = None
        try:
            client = distributed.Client(cluster)
            cluster.scheduler.add_plugin(_plugin(distributed), name="progress")
            yield client
        finally:
            with _undisturbed():
                if client is not None:
                    client.close(timeout=5)
                cluster.close(timeout=10)


def _plugin(distributed: Any) -> Any:
    """A plugin of the scheduler that shows how much of the present pass is done."""

    class Progress(distributed.SchedulerPlugin):
        def __init__(self) -> None:
            self.done, self.total = 0, 0

        def update_graph(self, scheduler: Any, *, tasks: Any, **more: Any) -> None:
            self.done, self.total = 0, len(tasks)

        def transition(self, key: Any, start: str, finish: str, *args: Any, **more: Any) -> None:
            if start == "processing" and finish == "memory" and self.total:
                self.done += 1
                add_progress(f"{min(1.0, self.done / self.total):.0%}")

    return Progress()


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Within this context Ctrl-C and the signal to end are exceptions, so that the cluster is ended too.

    An exception in a callback of the garbage collector, of which the scheduler has one, or in a destructor goes no
    further: it is raised again at the next pass, and Python does not report it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[KeyboardInterrupt] = []

    def end(number: int, frame: Any) -> None:
        asked.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise asked[0]

    def again() -> None:
        if asked:
            raise asked[0]

    def report(lost: Any) -> None:
        if lost.exc_value not in asked:
            reported(lost)

    reported, sys.unraisablehook = sys.unraisablehook, report
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with looking(again):
            yield
    finally:
        sys.unraisablehook = reported
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Within this context a second Ctrl-C does not keep the workers from being ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
