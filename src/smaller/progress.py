"""Progress of a long fit: solvers report it, and a listener (the command line) shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def tell(what: str) -> None:
    """Report progress to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(what)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Within this context, `listener` is called with the progress of the fits of this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
