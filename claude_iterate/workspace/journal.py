"""The journal of a run: one entry per line, appended in order. It is the truth; all else is derived from it.

Written with msgspec because it is on the hot path; read with the ndjson package, which goes on after a bad line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from claude_iterate.core.abridge import abridged
from claude_iterate.core.events import Entry, IterationFinished, IterationStarted, RunFinished, RunStarted
from claude_iterate.core.state import RunState, fold
from claude_iterate.workspace.layout import Layout

_MILESTONES = frozenset({RunStarted, IterationStarted, IterationFinished, RunFinished})
_KEPT_IN_MEMORY = 16 * 1024 * 1024


class JournalWriter:
    """Appends entries. `write_out` hands what has gathered to the system in one write, so that a killed runner loses
    nothing; `sync` makes it safe from a loss of power, and costs something only after a milestone.

    A full disk loses nothing while the run lives: what could not be written is kept and tried again.
    """

    def __init__(self, path: Path, on_failure: Callable[[str], None]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._encode = msgspec.json.Encoder().encode
        self._buffer = bytearray()
        self._on_failure = on_failure
        self._failed = False
        self._milestone = False

    def append(self, entry: Entry) -> None:
        """Take an entry; it is on disk after the next `write_out`."""
        if len(self._buffer) < _KEPT_IN_MEMORY:
            self._buffer += self._encode(abridged(entry))
            self._buffer += b"\n"
        if type(entry.event) in _MILESTONES:
            self._milestone = True

    def write_out(self) -> None:
        """Put everything gathered on disk. Never raises; the first failure is told once."""
        if not self._buffer:
            return
        try:
            while self._buffer:
                written = os.write(self._handle, self._buffer)
                del self._buffer[:written]
        except OSError as error:
            if not self._failed:
                self._failed = True
                self._on_failure(f"The journal cannot be written: {error.strerror}.")

    def sync(self) -> None:
        """Put it on the disk itself, if something of weight was written since the last time."""
        if self._milestone:
            self._milestone = False
            with contextlib.suppress(OSError):
                os.fdatasync(self._handle) if hasattr(os, "fdatasync") else os.fsync(self._handle)

    def close(self) -> None:
        """Write out, sync and close."""
        self.write_out()
        self.sync()
        os.close(self._handle)


_WORDS = frozenset(
    {"Said", "Thought", "Told", "ToolCalled", "ToolAnswered", "AgentNoted", "ApiRetried", "GarbageSeen", "ErrorPrinted"}
)
"""What fills a journal and decides nothing once a call is over."""


def milestones(path: Path) -> Iterator[Entry]:
    """The entries that a state is folded from, without what Claude said in between: fast, however long the journal."""

    def weighty(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            start = line.find('"event":{"event":"', 0, 120) + 18
            if start < 18 or line[start : line.find('"', start)] not in _WORDS:
                yield line

    return read(path, weighty)


def read(path: Path, choose: Callable[[Iterable[str]], Iterable[str]] = lambda lines: lines) -> Iterator[Entry]:
    """The entries of a journal. A torn or foreign line is passed over: a crash may leave one at the end."""
    import ndjson

    # newline="\n": text in entries may hold U+2028 and friends, which must not split a line.
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        rows = ndjson.reader(iter(choose(file)))
        while True:
            try:
                row = next(rows)
                yield msgspec.convert(row, Entry)
            except StopIteration:
                return
            except (ValueError, RecursionError):  # msgspec.ValidationError is a ValueError
                continue


def last_run(layout: Layout, purposes: Collection[str] = ()) -> tuple[str, RunState] | None:
    """The newest run that has begun, folded; of these purposes, if any are named. An empty journal is no run."""
    for run in reversed(layout.run_ids()):
        path = layout.journal(run)
        if path.is_file():
            state = fold(milestones(path))
            if state.started is not None and (not purposes or state.started.purpose in purposes):
                return run, state
    return None
