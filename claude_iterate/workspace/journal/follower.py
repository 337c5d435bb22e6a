"""Follows a journal that grows, in steps of a few megabytes. The file is never written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.events import Entry
from claude_iterate.workspace.journal.reader import as_entry, milestone_lines

_AT_ONCE = 4 * 1024 * 1024
_DECODER = msgspec.json.Decoder(Entry)


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
        self.caught_up = False

    def entries(self, pieces: int = 0) -> Iterator[Entry]:
        """What was added since the last time, without lines that cannot be read and events of a later version.
        `pieces`: at most so many steps, for readers that cannot be away for long; 0 means all."""
        for line in self._lines(pieces):
            entry = _entry(line)
            if entry is not None and entry.seq > self._last:
                self._last = entry.seq
                yield entry

    def documents(self) -> Iterator[dict[str, Any]]:
        """The same as plain documents; those of a later version are among them."""
        for line in self._lines():
            with contextlib.suppress(ValueError, RecursionError):
                document = msgspec.json.decode(line, type=dict[str, Any])
                number = document.get("seq")
                if not isinstance(number, int):
                    yield document
                elif number > self._last:
                    self._last = number
                    yield document

    @property
    def share(self) -> float:
        """How much of the journal was read, from 0 to 1."""
        return 1.0 if self.caught_up else min(1.0, self.cursor / max(1, size_of(self._path)))

    def _lines(self, pieces: int = 0) -> Iterator[bytes]:
        taken = 0
        self.caught_up = False
        while not self.caught_up and (not pieces or taken < pieces):
            before = self.cursor
            yield from self._step()
            self.caught_up = self.cursor == before
            taken += 1

    def _step(self) -> Iterable[bytes]:
        try:
            with self._path.open("rb") as file:
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
        return milestone_lines(lines) if milestones else lines


def size_of(path: Path) -> int:
    """Bytes of the journal; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _entry(line: bytes) -> Entry | None:
    """The entry; None for a torn line, or an event of a later version."""
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        with contextlib.suppress(ValueError, RecursionError):  # bytes that are no text are replaced, as `reader` does
            return as_entry(msgspec.json.decode(line.decode("utf-8", "replace")))
    return None
