"""The files that are read as one table, and whether they stay as they are while they are read."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from .columns import listed

State = tuple[int, int, int]  # size, time of the last change, and number of a file


class Source(NamedTuple):
    """Files with the same columns, one below the other."""

    paths: tuple[Path, ...]
    states: tuple[State, ...]

    def __str__(self) -> str:
        first, more = self.paths[0], len(self.paths) - 1
        return f"{first} and {more} more file{'s' if more > 1 else ''}" if more else str(first)

    @property
    def name(self) -> str:
        """The name without the folder."""
        return str(self).replace(str(self.paths[0]), self.paths[0].name, 1)


def source_of(names) -> Source:
    """The files of these names, or of patterns such as visits/*.parquet; one name may be given by itself."""
    if isinstance(names, Source):
        return names
    given = [names] if isinstance(names, (str, Path)) else list(names)
    paths = tuple(path for name in given for path in matching(Path(name)))
    return Source(paths, tuple(state_of(path) for path in paths))


def matching(path: Path) -> list[Path]:
    """The files that a name or a pattern stands for, in the order of their names."""
    if path.exists() or not has_magic(str(path)):
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        return [path]
    found = sorted(Path(name) for name in glob(str(path), recursive=True))
    files = [each for each in found if each.is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches {path}.")
    return files


def state_of(path: Path) -> State:
    """What differs when a file was written again."""
    known = path.stat()
    return known.st_size, known.st_mtime_ns, known.st_ino


def refuse_changed(path: Path, state: State) -> None:
    """Refuse a file that is no longer what it was when reading began."""
    try:
        same = state_of(path) == state
    except FileNotFoundError:
        raise ValueError(f"{path} was removed while it was read; put it back and run the command again.") from None
    if not same:
        raise ValueError(f"{path} changed while it was read; run the command again when nothing writes to it any more.")


def watched(path: Path, state: State, frames: Iterable) -> Iterator:
    """The portions of a file; refused where the file changes meanwhile, or ends early."""
    try:
        yield from frames
    except (EOFError, zlib.error) as error:
        refuse_changed(path, state)
        raise ValueError(f"{path} is damaged, or ends early ({error}); copy or write it again.") from None
    except (ValueError, OSError):
        refuse_changed(path, state)
        raise
    refuse_changed(path, state)


def below_each_other(source: Source, readers: Sequence[Callable[..., Iterator]]) -> Callable[..., Iterator]:
    """A function of (columns, columns read as text, decimal mark) that reads all files, in portions."""

    def frames(names: Sequence[str] | None = None, text: Sequence[str] = (), decimal: str = ".") -> Iterator:
        first = names
        for path, state, read in zip(source.paths, source.states, readers, strict=True):
            for frame in watched(path, state, read(names, text, decimal)):
                first = list(frame.columns) if first is None else first
                if len(source.paths) > 1:
                    _refuse_others(path, source, list(frame.columns), list(first))
                yield frame if len(source.paths) == 1 else frame[list(first)]

    return frames


def _refuse_others(path: Path, source: Source, found: list[str], wanted: list[str]) -> None:
    lacking, more = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
    if lacking or more:
        what = f"lacks {listed(lacking)}" if lacking else f"has {listed(more)} besides"
        raise ValueError(f"{path} {what}: every file must have the columns of {source.paths[0]}.")
