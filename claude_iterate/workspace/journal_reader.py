"""Reads the journal of a run: all entries, the milestones, the beginning, the age; and follows one that grows.

Read with the ndjson package, because it goes on after a bad line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import ndjson

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.core.events.run import JOURNAL_FORMAT
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.system.untrusted_files import is_file, open_file, status
from claude_iterate.workspace import metadata
from claude_iterate.workspace.layout import Layout

_AT_ONCE = 4 * 1024 * 1024
_TAIL = 4 * 1024 * 1024
"""Bytes in which the last entry is found, even a very long one."""
FINISHED = b'"event":{"event":"RunFinished"'
"""What the last lines of the journal of a run have that is over."""
_END = 64 * 1024
WHOLE = 1024 * 1024
"""Bytes at the end of a long journal that who follows it reads whole: what Claude said hours ago has no effect on any
figure."""
_HEAD = 240
"""Bytes of a line in which its event begins."""
WORDS = frozenset(
    {
        "AssistantText",
        "Thought",
        "PromptSent",
        "ToolCalled",
        "ToolResult",
        "AgentNoted",
        "ApiRetried",
        "UnparsedLine",
        "ErrorPrinted",
    }
)
"""Events that fill a journal and have no effect once a call is over."""


def kind_of(line: bytes) -> str:
    """The event's name; empty when it cannot be seen."""
    start = line.find(b'"event":{"event":"', 0, _HEAD) + 18
    return line[start : line.find(b'"', start)].decode("latin-1") if start >= 18 else ""


def read(path: Path, choose: Callable[[Iterable[bytes]], Iterable[bytes]] = lambda lines: lines) -> Iterator[Entry]:
    """The entries of a journal. A line that cannot be read is skipped: a crash may leave one at the end."""
    with open_file(path) as file:
        yield from _entries(choose(file))


def milestones(path: Path) -> Iterator[Entry]:
    """The entries that a state is folded from, without what Claude said in between: fast, however long the journal.
    Where there is no journal, there are none."""
    return read(path, _milestone_lines) if is_file(path) else iter(())


def story_entries(path: Path, whole: int) -> Iterator[Entry]:
    """The entries that make a story: the milestones, and of a run without an end all of the last `whole` bytes, which
    say what its last call did. Where there is no journal, there are none."""
    if not is_file(path):
        return
    with contextlib.suppress(FileNotFoundError), open_file(path) as file:
        ended, size = FINISHED in _tail(file, _END), file.tell()
        file.seek(0)
        yield from _entries(_milestone_lines(_lines_up_to(file, size if ended else size - whole)))
        yield from _entries(file)


def _lines_up_to(file: IO[bytes], place: int) -> Iterator[bytes]:
    while file.tell() < place and (line := file.readline()):
        yield line


def as_entry(document: Any) -> Entry | None:
    """The entry; None for what is not one, or has an event of a later version."""
    try:
        return msgspec.convert(document, Entry)
    except (ValueError, RecursionError):  # msgspec.ValidationError is a ValueError
        return None


def _entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    return (entry for row in _parse(lines) if (entry := as_entry(row)) is not None)


def _parse(lines: Iterable[bytes]) -> Iterator[Any]:
    rows = ndjson.reader(line.decode("utf-8", "replace") for line in lines)
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except (ValueError, RecursionError):
            continue


def _milestone_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without what Claude said in between. Of reports of usage, which replace each other, the last one before
    anything else."""
    usage: bytes | None = None
    for line in lines:
        kind = kind_of(line)
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


def last_run(layout: Layout, purposes: Collection[str] = ()) -> tuple[str, RunState] | None:
    """The newest run that has begun, folded; of these purposes, if any are named. An empty journal does not count."""
    run = next(newest_runs(layout, purposes), None)
    return (run, fold_journal(layout, run)) if run is not None else None


def fold_journal(layout: Layout, run: str) -> RunState:
    """What the journal of a run comes to."""
    return fold(milestones(layout.journal(run)))


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


class _Place(msgspec.Struct):
    elapsed: float


def refuse_newer(layout: Layout, run: str) -> None:
    """A journal of a newer version may not be readable, so only its first line is read."""
    metadata.refuse_newer(format_of(layout.journal(run)), JOURNAL_FORMAT, f"The journal of run {run}")


def refuse_newer_journals(layout: Layout) -> None:
    """Refuse the newest journal of the workspace if a newer version wrote it."""
    run = next((run for run in reversed(layout.run_ids()) if is_file(layout.journal(run))), None)
    if run is not None:
        refuse_newer(layout, run)


def format_of(path: Path) -> int:
    """The format of a journal; 1 where that cannot be read."""
    with open_file(path) as file:
        try:
            return msgspec.json.decode(file.readline(), type=_First).event.format
        except (ValueError, RecursionError):
            return 1


def beginning(path: Path) -> RunStarted | None:
    """The first event of the run; None when it cannot be read."""
    return next((entry.event for entry in milestones(path) if isinstance(entry.event, RunStarted)), None)


def has_finished(path: Path) -> bool:
    """The journal has an end. Only its last lines are read."""
    with contextlib.suppress(OSError), open_file(path) as file:
        return FINISHED in _tail(file, _END)
    return False


def age(path: Path) -> float:
    """Seconds from the beginning of the run to its last entry, by its entries: a copy changes the times of the file."""
    with open_file(path) as file:
        last = _tail(file, _TAIL)
    for line in reversed(last.split(b"\n")):
        with contextlib.suppress(ValueError, RecursionError):  # cut by a crash, or by where the reading began
            return max(0.0, msgspec.json.decode(line, type=_Place).elapsed)
    return 0.0


def _tail(file: IO[bytes], most: int) -> bytes:
    """The last bytes of a file, which is read to its end."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - most))
    return file.read()


class JournalFollower:
    """Gives each entry once, in order, as it is written. With `whole` only that many bytes at the end of the journal
    are read whole; of what lies before them only the milestones are, without what Claude said in between.

    A half-written line waits for the next time. A journal that is not there has added nothing: it may be put back. One
    that is shorter than it was (`git stash`) is read again, and its entries are not given again.
    """

    def __init__(self, path: Path, whole: int | None = None, cursor: int = 0) -> None:
        self._path = path
        self._whole = whole
        self._whole_from = -1 if whole is not None else 0
        self._last = 0
        self.cursor = cursor
        """Bytes that were read."""

    def entries(self) -> Iterator[Entry]:
        """What was added since the last time, without lines that cannot be read and events of a later version."""
        return (entry for row in self.documents() if (entry := as_entry(row)) is not None)

    def documents(self) -> Iterator[dict[str, Any]]:
        """The same as plain documents; those of a later version are among them."""
        for document in _parse(self._lines()):
            number = document.get("seq") if isinstance(document, dict) else None
            if isinstance(number, int) and number > self._last:
                self._last = number
                yield document

    def _lines(self) -> Iterator[bytes]:
        before = -1
        while self.cursor != before:
            before = self.cursor
            yield from self._step()

    def _step(self) -> Iterable[bytes]:
        try:
            with open_file(self._path) as file:
                size = file.seek(0, os.SEEK_END)
                if self._whole_from < 0:
                    self._whole_from = max(0, size - (self._whole or 0))
                if self.cursor > size:
                    self.cursor = self._whole_from = 0
                milestones = self.cursor < self._whole_from
                file.seek(self.cursor)
                data = file.read(min(_AT_ONCE, self._whole_from - self.cursor) if milestones else _AT_ONCE)
                if b"\n" not in data:
                    data += file.readline()
        except FileNotFoundError:
            return ()
        whole = data[: data.rfind(b"\n") + 1]
        self.cursor += len(whole)
        lines = whole.split(b"\n")[:-1]
        return _milestone_lines(lines) if milestones else lines


def size_of(path: Path) -> int:
    """Bytes of the journal; 0 where there is none."""
    about = status(path)
    return about.st_size if about is not None else 0
