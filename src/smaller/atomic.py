"""Files that are either whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path) -> Iterator[Path]:
    """A name to write to; on success it replaces `path` at once, on any failure (Ctrl-C too) it is removed."""
    path = Path(path).resolve()  # a link stays a link
    if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
        yield path
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        with open(beside, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
