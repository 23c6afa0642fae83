"""Atomic writing of files: a temporary file beside the target is written, then moved into its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path) -> Iterator[Path]:
    """The name of a temporary file; on success the file replaces `path`, on any failure (Ctrl-C too) it is removed."""
    path = Path(path).resolve()  # the target of a link is replaced, not the link
    if path.exists() and not path.is_file():  # devices and pipes are written to directly
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
