"""Reads the journal of a run: all entries, the milestones, the beginning, the age; follows one that grows; and knows
what is damaged in it.

Read with the ndjson package, because it goes on after a bad line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, get_args

import msgspec
import ndjson
from msgspec.structs import replace

from claude_iterate.core.events import Entry, Event, RunStarted
from claude_iterate.core.events.run import JOURNAL_FORMAT
from claude_iterate.core.formats import moment
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import Damage, RunState
from claude_iterate.system.untrusted_files import is_file, open_file, status
from claude_iterate.workspace import metadata
from claude_iterate.workspace.layout import Layout

FINISHED = b'"event":{"event":"RunFinished"'
"""What the last lines of the journal of a run have that is over."""
_END = 64 * 1024
WHOLE = 1024 * 1024
"""Bytes at the end of a long journal that who follows it reads whole: what Claude said hours ago has no effect on any
figure."""
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
_FIGURES = frozenset(kind.__name__ for kind in get_args(Event)) - WORDS
"""All other events that this version knows: one of them that cannot be read is missing in a sum."""


class _Kind(msgspec.Struct):
    event: str


class _Stamp(msgspec.Struct):
    """What each line has. Decoding it shows that the whole line is JSON, at the price of a look at it."""

    seq: int
    at: float
    elapsed: float
    event: _Kind


def kind_of(line: bytes) -> str:
    """The name of the event in a line that can be read."""
    return msgspec.json.decode(line, type=_Stamp).event.event


def read(path: Path) -> Iterator[Entry]:
    """The entries of a journal. Where there is none, there are none."""
    return JournalFollower(path).entries()


def milestones(path: Path) -> Iterator[Entry]:
    """The entries that a state is folded from, without what Claude said in between: fast, however long the journal."""
    return JournalFollower(path, 0).entries()


def as_entry(document: Any) -> Entry | None:
    """The entry; None for what is not one, or has an event of a later version."""
    try:
        return msgspec.convert(document, Entry)
    except (ValueError, RecursionError):  # msgspec.ValidationError is a ValueError
        return None


def _parse(lines: Iterable[bytes]) -> Iterator[Any]:
    rows = ndjson.reader(line.decode("utf-8", "replace") for line in lines)
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
    return (run, fold_journal(layout, run)) if run is not None else None


def fold_journal(layout: Layout, run: str) -> RunState:
    """What the journal of a run comes to, how long it is in time, and whether that is all."""
    journal = JournalFollower(layout.journal(run), 0)
    return replace(fold(journal.entries()), elapsed=journal.elapsed, damaged=journal.damage)


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


def _tail(file: IO[bytes], most: int) -> bytes:
    """The last bytes of a file, which is read to its end."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - most))
    return file.read()


class JournalFollower:
    """Gives each entry once, in order, as it is written. With `whole` only that many bytes at the end of the journal
    are read whole; of what lies before them only the milestones are, without what Claude said in between. With `cursor`
    the reading begins there.

    What comes after the last line feed is no line yet: it waits for the next time, and a killed run may leave it behind
    for ever. Any other line that cannot be read is a damage, as is a gap or a repetition in the numbers. A journal that
    is not there has added nothing: it may be put back. One that is shorter than it was (`git stash`) is read again, and
    its entries are not given again.
    """

    def __init__(self, path: Path, whole: int | None = None, cursor: int = 0) -> None:
        self._path = path
        self._whole = whole
        self._whole_from = -1 if whole is not None else 0
        self._given = 0
        self._begin(cursor)

    def _begin(self, cursor: int) -> None:
        self.cursor = cursor
        """Bytes that were read."""
        self._next: int | None = 1 if cursor == 0 else None
        self.elapsed = self._at = 0.0
        """The moment of the last entry, also of one that was left out: on the run's clock, and on the wall."""
        self._unread = self._lost = 0
        self._span = (0.0, 0.0)

    @property
    def damage(self) -> Damage | None:
        """What of the lines read so far is damaged: from the last good entry before it to the first one after it."""
        return Damage(self._lost, *map(moment, self._span)) if self._lost else None

    def entries(self) -> Iterator[Entry]:
        """What was added since the last time, without lines that cannot be read and events of a later version."""
        return (entry for _, entry in self._rows() if entry is not None)

    def documents(self) -> Iterator[dict[str, Any]]:
        """The same as plain documents; those of a later version are among them."""
        return (document for document, _ in self._rows())

    def _rows(self) -> Iterator[tuple[dict[str, Any], Entry | None]]:
        for document in _parse(self._chosen()):
            entry = as_entry(document)
            if entry is None and document["event"]["event"] in _FIGURES:
                self._note(1, document["at"])
            else:
                yield document, entry

    def _chosen(self) -> Iterator[bytes]:
        """The lines that can be read. Where only the milestones are wanted, without Claude's words, and of reports of
        usage, which replace each other, the last one before anything else."""
        usage: bytes | None = None
        for line, milestones_only in self._lines():
            stamp = self._check(line)
            if stamp is None or (milestones_only and stamp.event.event in WORDS):
                continue
            if milestones_only and stamp.event.event == "UsageReported":
                usage = line
                continue
            if usage is not None:
                yield usage
                usage = None
            yield line
        if usage is not None:
            yield usage

    def _lines(self) -> Iterator[tuple[bytes, bool]]:
        """The lines that were added, and whether they lie before the part that is read whole."""
        with contextlib.suppress(FileNotFoundError), open_file(self._path) as file:
            size = file.seek(0, os.SEEK_END)
            if self._whole_from < 0:
                self._whole_from = max(0, size - (self._whole or 0))
            if self.cursor > size:
                self._whole_from = 0
                self._begin(0)
            file.seek(self.cursor)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                before = self.cursor
                self.cursor += len(line)
                yield line, before < self._whole_from

    def _check(self, line: bytes) -> _Stamp | None:
        """The line's stamp; None if it cannot be read, or has been given before. What is damaged is counted."""
        try:
            stamp = msgspec.json.decode(line, type=_Stamp)
        except (ValueError, RecursionError):
            self._unread += 1
            self._note(1, self._at)
            return None
        missing = 0 if self._next is None else stamp.seq - self._next
        if missing or self._unread:  # a line that cannot be read leaves a gap, too, and is counted once
            self._note(max(0, missing - self._unread) if missing >= 0 else 1, stamp.at)
        self._unread = 0
        if missing >= 0:
            self._next, self._at, self.elapsed = stamp.seq + 1, stamp.at, stamp.elapsed
        if stamp.seq <= self._given:
            return None
        self._given = stamp.seq
        return stamp

    def _note(self, lines: int, at: float) -> None:
        """So many lines are damaged; the next good one is of the moment `at`."""
        self._span = (self._span[0] or self._at or at, at)
        self._lost += lines


def size_of(path: Path) -> int:
    """Bytes of the journal; 0 where there is none."""
    about = status(path)
    return about.st_size if about is not None else 0
