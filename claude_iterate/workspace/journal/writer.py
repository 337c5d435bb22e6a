"""The journal of a run: one entry per line, appended in order. It is the truth; all else is derived from it.

Written with msgspec, because it is on the hot path.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from claude_iterate.core.abridgement import FLOODS, Floods, abridged
from claude_iterate.core.events import (
    Entry,
    ErrandFinished,
    IterationFinished,
    IterationStarted,
    ReviewFinished,
    RunFinished,
    RunStarted,
    VerificationFinished,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.journal.reader import WORDS, is_word
from claude_iterate.workspace.journal.reserve import SIZE, Reserve

_MILESTONES = frozenset(
    {
        RunStarted,
        IterationStarted,
        IterationFinished,
        ReviewFinished,
        VerificationFinished,
        ErrandFinished,
        WaitStarted,
        WaitEnded,
        RunFinished,
    }
)
_KEPT_IN_MEMORY = 16 * 1024 * 1024
_LINE_FEED = 10


class JournalWriter:
    """Appends entries. `write_out` hands what has gathered to the system in one write, so that a killed runner loses
    nothing; `sync` makes it safe from a loss of power, and costs something only after a milestone.

    On a full disk what could not be written is kept and tried again. `secure` sees to it that nothing begins that
    could not be recorded: a reserve is held for how it ends. What Claude said may be left out; what counts never is.
    """

    def __init__(self, path: Path, on_failure: Callable[[str], None]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._encode = msgspec.json.Encoder().encode
        self._buffer = bytearray()
        self._on_failure = on_failure
        self._problem = ""
        self._told = False
        self._torn = False
        self._left_out = 0
        self._milestone = False
        self._folders_synced = False
        self._floods = Floods()
        self._reserve = Reserve(path.parent)

    def append(self, entry: Entry) -> None:
        """Take an entry; it is on disk after the next `write_out`."""
        kind = type(entry.event)
        if kind in FLOODS:
            for kept in self._floods.thinned(entry):
                self._take(kept, type(kept.event))
        else:
            self._take(entry, kind)

    def _take(self, entry: Entry, kind: type) -> None:
        if len(self._buffer) >= _KEPT_IN_MEMORY and kind.__name__ in WORDS:
            self._left_out += 1
            return
        self._buffer += self._encode(abridged(entry))
        self._buffer += b"\n"
        if kind in _MILESTONES:
            self._milestone = True

    def write_out(self) -> None:
        """Put everything gathered on disk. Never raises; the first failure is told once."""
        try:
            while self._buffer:
                written = os.write(self._handle, self._buffer)
                self._torn = self._buffer[written - 1] != _LINE_FEED
                del self._buffer[:written]
        except OSError as error:
            self._problem = error.strerror or str(error)
            if not self._told:
                self._told = True
                self._on_failure(f"The journal cannot be written: {self._problem}.")

    def sync(self) -> None:
        """Put it on the disk itself, if something of weight was written since the last time."""
        if self._milestone:
            self._milestone = False
            with contextlib.suppress(OSError):
                os.fdatasync(self._handle) if hasattr(os, "fdatasync") else os.fsync(self._handle)
            if not self._folders_synced:
                self._folders_synced = True
                atomic.sync_folder(self._path.parent)
                atomic.sync_folder(self._path.parent.parent)

    def secure(self) -> str:
        """Why nothing may begin that costs money: what happened is not on disk, or the reserve cannot be taken. Empty
        when all is well, and then it costs nothing.

        The reserve is given back only here and at the end, between calls: within one, Claude's words would eat it up.
        """
        if not self._buffer and self._reserve.held:
            return ""
        self._write_by_all_means()
        return self._problem if self._buffer else self._reserve.take()

    def close(self) -> None:
        """Write out, sync and close; tell what is missing."""
        for kept in self._floods.rest():
            self._take(kept, type(kept.event))
        self._write_by_all_means()
        self.sync()
        self._reserve.give_back()
        try:
            os.close(self._handle)
        except OSError as error:  # network file systems report a failed write only here
            self._on_failure(f"The journal may not be whole: {error.strerror}.")
        if self._left_out:
            self._on_failure(f"The journal has no room for {self._left_out} things that Claude said ({self._problem}).")
        if lost := self._buffer.count(b"\n"):
            self._on_failure(f"The last {lost} entries of the journal are lost ({self._problem}): {self._path}")

    def _write_by_all_means(self) -> None:
        """Give the reserve for it, if there is no other way, and leave out words if they would take it all."""
        self.write_out()
        if self._buffer:
            self._reserve.give_back()
            if len(self._buffer) > SIZE // 2:
                self._leave_out_words()
            self.write_out()

    def _leave_out_words(self) -> None:
        lines = bytes(self._buffer).splitlines(keepends=True)
        # The rest of a line that is half on disk must follow it, whatever it is.
        kept = [
            line
            for number, line in enumerate(lines)
            if (self._torn and number == 0) or not is_word(line[:200].decode("utf-8", "replace"))
        ]
        self._left_out += len(lines) - len(kept)
        self._buffer = bytearray(b"".join(kept))
