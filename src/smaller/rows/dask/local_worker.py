"""What a worker of the command line does before its work: Dask imports this module, and calls `dask_setup`."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes of the command, to the command itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
