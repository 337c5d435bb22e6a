"""Reads the journal of a run: all entries, the milestones, the beginning or the age.

Read with the ndjson package, because it goes on after a bad line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import ndjson

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import fold
from claude_iterate.workspace.layout import Layout

_TAIL = 4 * 1024 * 1024
"""Bytes in which the last entry is found, even a very long one."""
FINISHED = b'"event":{"event":"RunFinished"'
"""What the last lines of the journal of a run have that is over."""
_END = 64 * 1024
Line = TypeVar("Line", str, bytes)
_HEAD = 120
"""Characters of a line in which its event begins."""
WORDS = frozenset(
    {"Said", "Thought", "Told", "ToolCalled", "ToolAnswered", "AgentNoted", "ApiRetried", "GarbageSeen", "ErrorPrinted"}
)
"""Events that fill a journal and have no effect once a call is over."""


def is_word(line: str) -> bool:
    """True for a line that has no effect once a call is over."""
    return _kind(line) in WORDS


def _kind(line: str) -> str:
    """The event's name; empty when it cannot be seen."""
    start = line.find('"event":{"event":"', 0, _HEAD) + 18
    return line[start : line.find('"', start)] if start >= 18 else ""


def milestones(path: Path) -> Iterator[Entry]:
    """The entries that a state is folded from, without what Claude said in between: fast, however long the journal.
    Where there is no journal, there are none."""
    return read(path, milestone_lines) if path.is_file() else iter(())


def milestone_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines without what Claude said in between. Of reports of usage, which replace each other, the last one before
    anything else."""
    usage: Line | None = None
    for line in lines:
        kind = _kind(line if isinstance(line, str) else line[: 2 * _HEAD].decode("latin-1"))
        if kind in WORDS:
            continue
        if kind == "UsageReported":
            usage = line
            continue
        if usage is not None:
            yield usage
            usage = None
        yield line
    if usage is not None:
        yield usage


def story_entries(path: Path, whole: int) -> Iterator[Entry]:
    """The entries that a story is told from: the milestones, and of a run without an end all of the last `whole` bytes,
    where what its last call did stands. Where there is no journal, there are none."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END))
        whole_from = size if FINISHED in file.read() else max(0, size - whole)
        file.seek(0)
        lines = chain(milestone_lines(_lines_until(file, whole_from)), file)
        for row in _parse(line.decode("utf-8", "replace") for line in lines):
            if (entry := as_entry(row)) is not None:
                yield entry


def _lines_until(file: IO[bytes], end: int) -> Iterator[bytes]:
    position = 0
    while position < end and (line := file.readline()):
        position += len(line)
        yield line


def read(path: Path, choose: Callable[[Iterable[str]], Iterable[str]] = lambda lines: lines) -> Iterator[Entry]:
    """The entries of a journal. A line that cannot be read is skipped: a crash may leave one at the end."""
    return (entry for row in documents(path, choose) if (entry := as_entry(row)) is not None)


def as_entry(document: Any) -> Entry | None:
    """The entry; None for what is not one, or has an event of a later version."""
    try:
        return msgspec.convert(document, Entry)
    except (ValueError, RecursionError):  # msgspec.ValidationError is a ValueError
        return None


def documents(path: Path, choose: Callable[[Iterable[str]], Iterable[str]] = lambda lines: lines) -> Iterator[Any]:
    """The lines of a journal as plain values, as far as they can be read."""
    # newline="\n": texts may contain characters such as U+2028, which must not split a line.
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        yield from _parse(choose(file))


def _parse(lines: Iterable[str]) -> Iterator[Any]:
    rows = ndjson.reader(iter(lines))
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except (ValueError, RecursionError):
            continue


def last_run(layout: Layout, purposes: Collection[str] = ()) -> tuple[str, RunState] | None:
    """The newest run that has begun, folded; of these purposes, if any are named. An empty journal does not count."""
    run = next(newest_runs(layout, purposes), None)
    return (run, fold(milestones(layout.journal(run)))) if run is not None else None


def newest_runs(layout: Layout, purposes: Collection[str] = ()) -> Iterator[str]:
    """The runs that have begun, newest first; of these purposes, if any are named: then without dry runs."""
    for run in reversed(layout.run_ids()):
        started = beginning(layout.journal(run))
        if started is not None and (not purposes or (started.purpose in purposes and not started.dry_run)):
            yield run


class _Format(msgspec.Struct):
    format: int = 1


class _First(msgspec.Struct):
    event: _Format


def newest_format(layout: Layout) -> tuple[str, int]:
    """The newest run and the format of its journal; 1 where that cannot be read. Nothing else is read of it, because a
    newer one may not be readable."""
    run = next((run for run in reversed(layout.run_ids()) if layout.journal(run).is_file()), "")
    if not run:
        return "", 1
    return run, format_of(layout.journal(run))


def format_of(path: Path) -> int:
    """The format of a journal; 1 where that cannot be read."""
    with path.open("rb") as file:
        try:
            return msgspec.json.decode(file.readline(), type=_First).event.format
        except (ValueError, RecursionError):
            return 1


class _Place(msgspec.Struct):
    elapsed: float


def beginning(path: Path) -> RunStarted | None:
    """The first event of the run; None when it cannot be read."""
    return next((entry.event for entry in milestones(path) if isinstance(entry.event, RunStarted)), None)


def has_finished(path: Path) -> bool:
    """The journal has an end. Only its last lines are looked at."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _END))
        return FINISHED in file.read()
    return False


def age(path: Path) -> float:
    """Seconds from the beginning of the run to its last entry, by its entries: a copy changes the times of the file."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        lines = file.read().split(b"\n")
    for line in reversed(lines):
        with contextlib.suppress(ValueError, RecursionError):  # cut by a crash, or by where the reading began
            return max(0.0, msgspec.json.decode(line, type=_Place).elapsed)
    return 0.0
