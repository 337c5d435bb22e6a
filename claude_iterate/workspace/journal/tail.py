"""Reads a journal that grows: what was added since a cursor, and its latest entries. The file is never written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.events import Entry
from claude_iterate.workspace.journal.reader import as_entry, milestone_lines

_AT_ONCE = 4 * 1024 * 1024
_LATEST = 256 * 1024
_DECODER = msgspec.json.Decoder(Entry)


class Tail(msgspec.Struct, frozen=True):
    """What was added: each line that is a JSON object, as a plain document; and where to go on."""

    documents: list[dict[str, Any]]
    cursor: int

    @property
    def entries(self) -> list[Entry]:
        """The documents as entries, without events of a later version."""
        return [entry for entry in map(as_entry, self.documents) if entry is not None]


def tail(path: Path, cursor: int = 0) -> Tail:
    """What was added since `cursor` (a number of bytes), at most a few megabytes at a time: ask again until the cursor
    stays where it is.

    A half-written last line is left for the next time. A file that is not there has added nothing; one that is shorter
    than the cursor was replaced and is read from its beginning.
    """
    try:
        with path.open("rb") as file:
            if cursor > file.seek(0, os.SEEK_END):
                cursor = 0
            file.seek(cursor)
            data = file.read(_AT_ONCE)
            while b"\n" not in data and (more := file.read(_AT_ONCE)):
                data += more
    except FileNotFoundError:
        return Tail([], 0)
    whole = data[: data.rfind(b"\n") + 1]
    return Tail(_documents(whole), cursor + len(whole))


class Added(msgspec.Struct, frozen=True):
    """Entries that were added, and where to go on. `begins_again`: the file is shorter than it was, so it was read from
    its beginning."""

    entries: list[Entry]
    cursor: int
    begins_again: bool = False


def entries_since(path: Path, cursor: int, whole_from: int = 0) -> Added:
    """As `tail`, with entries for those who fold them. Of what lies before `whole_from` (a number of bytes) only the
    milestones are given. A file that is not there has added nothing: it may be put back."""
    try:
        with path.open("rb") as file:
            begins_again = cursor > file.seek(0, os.SEEK_END)
            cursor = 0 if begins_again else cursor
            file.seek(cursor)
            data = file.read(min(_AT_ONCE, whole_from - cursor) if cursor < whole_from else _AT_ONCE)
            if b"\n" not in data:
                data += file.readline()
    except FileNotFoundError:
        return Added([], cursor)
    whole = data[: data.rfind(b"\n") + 1]
    lines: Iterable[bytes] = whole.split(b"\n")
    lines = milestone_lines(lines) if cursor < whole_from else lines
    entries = [entry for line in lines if line and (entry := _entry(line)) is not None]
    return Added(entries, cursor + len(whole), begins_again)


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


def latest(path: Path, size: int = _LATEST) -> list[Entry]:
    """The entries in the last `size` bytes, however long the journal is."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size))
            data = file.read(size)
    except OSError:
        return []
    begins = data.find(b"\n") + 1 if end > size else 0  # the first line may have lost its beginning
    return Tail(_documents(data[begins : data.rfind(b"\n") + 1]), end).entries


def _documents(data: bytes) -> list[dict[str, Any]]:
    found = []
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            found.append(msgspec.json.decode(line, type=dict[str, Any]))
    return found
