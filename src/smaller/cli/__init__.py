"""The command line: from a file to a model, to predictions, to a report."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Sequence

import typer

from .commands import app
from .terminal import Stopped, complain

FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", None))
NO_ROOM = "There is no room left on the disk: make room, or name a file on another disk. No file was changed."
INTERRUPTED = 130  # as shells report a program that Ctrl-C ended


def run(arguments: Sequence[str]) -> int:
    """Run a command: 0 is success, 1 a problem with data or model, 2 wrong usage, 130 Ctrl-C."""
    warnings.showwarning = _note
    warnings.simplefilter("default")
    for category in (DeprecationWarning, FutureWarning, RuntimeWarning):  # messages for programmers
        warnings.simplefilter("ignore", category)
    try:
        code = app(args=list(arguments), prog_name="smaller", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # the program that reads the output ended early, as head does
        sys.stderr.close()
        return 0
    except Exception as error:
        return _failed(error)
    if code == INTERRUPTED:  # some versions of typer return this code, others raise Abort
        complain("Interrupted; no file was changed.")
    return code


def _failed(error: Exception) -> int:
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # an error of the parser: wrong usage
        if error.format_message():  # empty if the help was shown
            complain(f"{error.format_message()} See smaller --help.")
        return 2
    if isinstance(error, Stopped):
        complain(str(error))
        return error.code
    if not isinstance(error, (ValueError, OSError, MemoryError, ImportError)):
        raise error
    full = isinstance(error, OSError) and error.errno in FULL
    complain(NO_ROOM if full else str(error) or type(error).__name__)
    return 1


def _note(message, category, filename, lineno, file=None, line=None) -> None:
    complain(str(message), "note")


__all__ = ["app", "run"]
