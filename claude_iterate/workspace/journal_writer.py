"""Writes the journal of a run: one entry per line, in order. All views and counters are derived from it.

Written with msgspec, because every line of Claude comes through here.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.abridgement import FLOODS, Floods, abridge
from claude_iterate.system import untrusted_files
from claude_iterate.system.files import nameless_file
from claude_iterate.system.restorable_file import RestorableFile
from claude_iterate.workspace.journal_reader import WORDS, kind_of

_MILESTONES = frozenset(
    {
        events.RunStarted,
        events.IterationStarted,
        events.IterationFinished,
        events.WorkMeasured,
        events.StopScriptsRun,
        events.BreakerReset,
        events.ChecksPassed,
        events.ClaimDropped,
        events.ReviewFinished,
        events.VerificationFinished,
        events.OneOffCallFinished,
        events.WaitStarted,
        events.WaitEnded,
        events.RunFinished,
    }
)
_LINE_FEED = 10
SIZE = 32 * 1024
"""Enough for dozens of entries; the end of an iteration and of the run takes three."""
MOST = 16 * 1024 * 1024
"""Bytes that wait for a disk that is full; of more, Claude's words are left out."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class JournalWriter:
    """Appends entries. `write_out` hands them to the system in one write, so that a killed runner loses nothing; `sync`
    makes them safe from a power failure, and does work only after a milestone.

    On a full disk, entries that could not be written are kept and tried again. `secure` says whether there is enough
    space to record how the next call ends. Claude's words may be left out then, milestones never.

    The numbers go on from that of the first entry: what is left out on purpose leaves no gap, so a gap is a damage.

    A journal that was deleted, replaced or emptied (`git stash`, `rm`) is put back before a milestone is written, while
    Claude does not work: a file that appears between `git stash` and `git stash pop` would be in git's way.
    `is_ours` says whether the folder of the workspace is still that of the run.
    """

    def __init__(
        self,
        path: Path,
        on_failure: Callable[[str], None],
        is_ours: Callable[[], bool] = lambda: True,
        on_put_back: Callable[[], None] = lambda: None,
    ) -> None:
        untrusted_files.make_folder(path.parent, parents=True)
        self._path = path
        self._file = RestorableFile(path, 0o644)
        self._is_ours = is_ours
        self._on_put_back = on_put_back
        self._look_due = False
        self._astray = ""
        self.known: Callable[[], events.Entry | None] = lambda: None
        """An entry from which the run so far can be known: what a journal begins with that was emptied."""
        self._encode_lines = msgspec.json.Encoder().encode_lines
        self._buffer = bytearray()
        self._on_failure = on_failure
        self._problem = ""
        self._reported = False
        self._torn = False
        self._left_out = 0
        self._next = 0
        self._milestone = False
        self._folders_synced = False
        self._floods = Floods()
        self._reserve = Reserve(path.parent)

    def append(self, *entries: events.Entry) -> None:
        """Take entries; they are on disk after the next `write_out`."""
        kept: list[events.Entry] = []
        for entry in entries:
            kind = type(entry.event)
            if kind in _MILESTONES:
                self._milestone = self._look_due = True
            if kind in FLOODS:
                kept += self._floods.thin_out(entry)
            else:
                kept.append(abridge(entry))
        self._take(kept)

    def _take(self, entries: Sequence[events.Entry]) -> None:
        for entry in entries:
            self._next = (self._next or entry.seq) + 1
            self._buffer += self._encode_lines([replace(entry, seq=self._next - 1)])

    def write_out(self) -> None:
        """Write all entries. Never raises; the first failure is reported once."""
        if self._look_due:
            self._look_due = False
            self._keep_place()
        try:
            while self._buffer:
                written = os.write(self._file.handle, self._buffer)
                self._file.size += written
                self._torn = self._buffer[written - 1] != _LINE_FEED
                del self._buffer[:written]
        except OSError as error:
            self._problem = error.strerror or str(error)
            if not self._reported:
                self._reported = True
                self._on_failure(f"The journal cannot be written: {self._problem}.")
            if len(self._buffer) > MOST:
                self._leave_out_words()

    def sync(self) -> None:
        """Flush to the disk, if a milestone was written since the last time."""
        if self._milestone:
            self._milestone = False
            with contextlib.suppress(OSError):
                handle = self._file.handle
                os.fdatasync(handle) if hasattr(os, "fdatasync") else os.fsync(handle)
            if not self._folders_synced:
                self._folders_synced = True
                untrusted_files.sync_folder(self._path.parent)
                untrusted_files.sync_folder(self._path.parent.parent)

    def secure(self) -> str:
        """The reason why no call of Claude may begin: the journal cannot be written, or no space can be reserved. Empty
        when all is well; then it does no work.

        The reserve is freed only here and at the end: during a call, Claude's words would fill it.
        """
        if self._astray or self._look_due:
            self._look_due = False
            self._keep_place()
        if self._astray:
            return f"the journal was deleted or replaced, and cannot be written again: {self._astray}"
        self._write_with_reserve()
        return self._problem if self._buffer else self._reserve.take()

    def close(self) -> None:
        """Write, flush and close; report what is missing."""
        self._take(self._floods.rest())
        self._write_with_reserve()
        self.sync()
        self._reserve.give_back()
        deleted = not os.fstat(self._file.handle).st_nlink
        try:
            os.close(self._file.handle)
        except OSError as error:  # network file systems report a failed write only here
            self._on_failure(f"The journal may be incomplete: {error.strerror}.")
        if deleted:
            why = f", and cannot be written again: {self._astray}" if self._astray else ""
            self._on_failure(f"The journal of this run was deleted{why}: {self._path}")
        if self._left_out:
            self._on_failure(f"The journal leaves out {self._left_out} messages of Claude ({self._problem}).")
        if lost := self._buffer.count(b"\n"):
            self._on_failure(f"The last {lost} entries of the journal are lost ({self._problem}): {self._path}")

    def _keep_place(self) -> None:
        """Put the journal back if its name leads elsewhere. In a folder that is not ours nothing is written."""
        if self._file.in_place:
            self._astray = ""
            return
        if not self._is_ours():
            self._astray, self._look_due = "", True  # the folder may come back
            return
        try:
            for folder in (self._path.parent.parent, self._path.parent):  # never the folder of the workspace
                untrusted_files.make_folder(folder)
            known = self.known()
            lost = self._file.put_back(self._encode_lines([known] if known is not None else []))
        except OSError as error:
            self._astray = error.strerror or str(error)
            return
        self._astray = ""
        self._folders_synced = False
        if lost:
            self._on_failure(f"The journal was emptied or cut; the sums of the run are kept: {self._path}")
        self._on_put_back()

    def _write_with_reserve(self) -> None:
        """Write, and on a full disk use the reserve for it; Claude's words are left out if they would fill it."""
        self.write_out()
        if self._buffer:
            self._reserve.give_back()
            if len(self._buffer) > SIZE // 2:
                self._leave_out_words()
            self.write_out()

    def _leave_out_words(self) -> None:
        lines = bytes(self._buffer).splitlines(keepends=True)
        # A line that is half on disk must be completed, whatever it is.
        kept = [line for number, line in enumerate(lines) if (self._torn and number == 0) or kind_of(line) not in WORDS]
        self._left_out += len(lines) - len(kept)
        first = self._next - len(lines)
        self._next = first + len(kept)
        for place in range(int(self._torn), len(kept)):
            kept[place] = b'{"seq":%d%b' % (first + place, kept[place][kept[place].index(b",") :])
        self._buffer = bytearray(b"".join(kept))


class Reserve:
    """Disk space that is freed when the disk is full, so that the end of a run can be recorded: a file without a name
    in the folder, which the system removes when the process ends, even by `kill -9`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    def take(self) -> str:
        """Reserve the space; returns the reason if the disk is full. Other errors are ignored."""
        if self._file is not None:
            return ""
        try:
            self._file = file = nameless_file(self._folder)
            # Random bytes, because some file systems compress everything else.
            if file.write(os.urandom(SIZE)) < SIZE:
                file.write(b"\0")  # a short write does not give the reason; the next one does
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.give_back()
            return (error.strerror or str(error)) if error.errno in _FULL else ""
        return ""

    def give_back(self) -> None:
        """Free the space for the journal."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
