"""Follows the journal of a run, from its first entry to the last that is written: in steps, with bounded memory."""

from __future__ import annotations

from claude_iterate.views.story.story import Story
from claude_iterate.workspace.journal.tail import entries_since, size_of
from claude_iterate.workspace.layout import Layout

WHOLE = 1024 * 1024
"""Bytes at the end of a long journal that are read whole. Of what lies before them only the milestones are: what Claude
said hours ago has no effect on any figure."""


class FollowedJournal:
    """One journal and its story so far. A journal that was replaced by a shorter one is told from its beginning."""

    def __init__(self, layout: Layout, run: str, whole: int = WHOLE) -> None:
        self._path = layout.journal(run)
        self._whole = whole
        self._whole_from = -1
        self.cursor = 0
        """Bytes that were read."""
        self.caught_up = False
        self.story = Story(run)

    def read(self, steps: int = 0) -> bool:
        """Take what was added since the last time; True if there was anything. A half-written line waits. `steps`: at
        most so many pieces of a few megabytes, for readers that cannot be away for long; 0 means all."""
        if self._whole_from < 0:
            self._whole_from = max(0, size_of(self._path) - self._whole)
        before, taken = self.cursor, 0
        self.caught_up = False
        while not self.caught_up and (not steps or taken < steps):
            self.caught_up = not self._step()
            taken += 1
        return self.cursor != before

    @property
    def share(self) -> float:
        """How much of the journal was read, from 0 to 1."""
        return 1.0 if self.caught_up else min(1.0, self.cursor / max(1, size_of(self._path)))

    def _step(self) -> bool:
        found = entries_since(self._path, self.cursor, self._whole_from)
        if found.cursor < self.cursor or found.begins_again:
            self.story, self._whole_from = Story(self.story.run), 0
        for entry in found.entries:
            self.story.take(entry)
        moved = found.cursor != self.cursor
        self.cursor = found.cursor
        return moved
