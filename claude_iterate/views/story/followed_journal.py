"""Follows the journal of a run, from its first entry to the last that is written: in steps, with bounded memory."""

from __future__ import annotations

from claude_iterate.views.story.story import Story
from claude_iterate.workspace.journal.follower import JournalFollower
from claude_iterate.workspace.layout import Layout

WHOLE = 1024 * 1024
"""Bytes at the end of a long journal that are read whole. Of what lies before them only the milestones are: what Claude
said hours ago has no effect on any figure."""


class FollowedJournal:
    """One journal and its story so far."""

    def __init__(self, layout: Layout, run: str, whole: int = WHOLE) -> None:
        self.journal = JournalFollower(layout.journal(run), whole)
        self.story = Story(run)

    def read(self, pieces: int = 0) -> bool:
        """Take what was added since the last time; True if there was anything. `pieces` as in `JournalFollower`."""
        before = self.story.last
        for entry in self.journal.entries(pieces):
            self.story.take(entry)
        return self.story.last is not before
