"""The entries of a journal, from its first to the last that is written: a few megabytes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from claude_iterate.core.events import Entry
from claude_iterate.workspace.journal.tail import entries_since, size_of


class JournalSource:
    """One journal that may still grow. With `whole` only that many bytes at its end are read whole; of what lies before
    them only the milestones are, without what Claude said in between."""

    def __init__(self, path: Path, whole: int | None = None) -> None:
        self._path = path
        self._whole_from = max(0, size_of(path) - whole) if whole is not None else 0
        self.cursor = 0
        """Bytes that were read."""

    def added(self) -> Iterator[Entry]:
        """What was added since the last time. A half-written line waits for the next time; one that cannot be read is
        left out. A journal that was replaced by a shorter one is read from its beginning: entries come again then."""
        while True:
            found = entries_since(self._path, self.cursor, self._whole_from)
            moved = found.cursor != self.cursor
            self.cursor = found.cursor
            if found.begins_again:
                self._whole_from = 0
            yield from found.entries
            if not moved:
                return
