"""Progress of a long fit: solvers tell what they have done, and whoever shows it to a user listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def tell(what: str) -> None:
    """Say what has been done; nothing happens where nobody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(what)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Within it, `listener` is called with what the fits of this thread tell."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
