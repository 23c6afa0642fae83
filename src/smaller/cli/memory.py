"""How much memory the command may use, and how it is shared between the command and its workers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from joblib import cpu_count

SHARE = 0.8  # of the memory that is available, where --memory is not given
TIMES = 3  # a fit in memory takes less than this many arrays of the inputs
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
COMMAND, WORKER = 480 * 10**6, 300 * 10**6  # of a process before it has data: the command with its scheduler, a worker
LEAST_DATA = 120 * 10**6  # of a worker for its data
BLOCKS = 8  # a worker holds two blocks, and what it makes of one of them
LARGEST_BLOCK = 32 * 10**6  # within what a worker keeps for the next one


def size_of(text: str) -> int:
    """The bytes of a size such as 2GB, 1.5GiB or 500MB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?I?)B?\s*", text.upper())
    if not found or found[2] not in UNITS:
        raise ValueError(f"--memory must be a size such as 2GB, 1.5GiB or 500MB; got {text!r}.")
    return int(float(found[1]) * UNITS[found[2]])


def sized(size: float) -> str:
    """A size for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def free_memory() -> int | None:
    """The memory that the system, and the control group of this process, have left; None where that is not told."""
    known = [size for size in (_of_system(), *_of_groups()) if size is not None]
    return min(known) if known else None


def _of_system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # what is free is not told
    except (AttributeError, ValueError, OSError):
        return None


def _of_groups() -> list[int | None]:
    """What the control groups of Linux leave, from that of this process up to the root; both versions."""
    try:
        entries = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines()]
    except OSError:
        return []
    found: list[int | None] = []
    for _, kinds, place in entries:
        if not kinds:
            root, limit, used = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            root, limit, used = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        folder = root / place.strip("/")
        found += [_left(each, limit, used) for each in [folder, *folder.parents] if each.is_relative_to(root)]
    return found


def _left(folder: Path, limit: str, used: str) -> int | None:
    """What one group leaves; pages of files that were read count as free."""
    try:
        most, now = (folder / limit).read_text("ascii").strip(), int((folder / used).read_text("ascii"))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
    except (OSError, ValueError):
        return None
    return max(0, int(most) - now + int(stat.get("inactive_file", 0))) if most.isdigit() else None


class Budget(NamedTuple):
    """The memory of all processes of the command together; None where nothing is known of it."""

    limit: int | None
    given: bool  # by --memory

    def holds(self, size: int) -> bool:
        """Whether a table whose inputs have this size can be fitted in memory."""
        return self.limit is None or COMMAND + TIMES * size <= self.limit


def memory_budget(text: str | None) -> Budget:
    """The memory that was given, or a share of what is available."""
    if text is not None:
        return Budget(size_of(text), True)
    free = free_memory()
    return Budget(None if free is None else int(SHARE * free), False)


class Shares(NamedTuple):
    """The workers, the memory of each, and the size of a block of inputs."""

    workers: int
    worker: int
    block: int


def need_of(portion: int, hessian: int) -> int:
    """The memory that a worker needs at least."""
    return WORKER + max(LEAST_DATA, 2 * portion + 10 * hessian)


def shares(limit: int, portion: int, hessian: int) -> Shares:
    """How memory is shared out; `portion` is the size of the rows that are read at a time, `hessian` of the largest.

    The command holds a few portions while it reads, and a few matrices of second derivatives while it solves; a worker
    holds those of the blocks that it adds up.
    """
    command = COMMAND + max(4 * portion, 4 * hessian)
    least = need_of(portion, hessian)
    workers = min(cpu_count(), (limit - command) // least)
    if workers < 1:
        raise ValueError(
            f"{sized(limit)} of memory is too little to fit this table even in blocks, for which the command and one "
            f"worker need {sized(command + least)}; give that much with --memory."
        )
    worker = (limit - command) // workers
    data = worker - WORKER - 10 * hessian
    return Shares(int(workers), int(worker), min(int(data / BLOCKS), LARGEST_BLOCK))
