"""A workspace that is being watched: finds its newest run, and takes from its journal what was added since."""

from __future__ import annotations

from typing import NamedTuple

from claude_iterate.views.story.followed_journal import FollowedJournal
from claude_iterate.views.story.story import Story
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import notes, run_lock


class Seen(NamedTuple):
    """What was seen of a workspace. `story` is None when it never ran; `gone`: its folder was deleted."""

    name: str
    story: Story | None = None
    alive: bool = False
    notes: int = 0
    gone: bool = False

    @property
    def condition(self) -> str:
        """What it is doing, in one word; of one that does not run, how its last run ended."""
        if self.gone:
            return "gone"
        if self.story is None or self.story.started is None:
            return "starting" if self.alive else "new"
        return self.story.condition(alive=self.alive)


class WatchedWorkspace:
    """Follows one workspace over all its runs."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._followed: FollowedJournal | None = None

    def look(self) -> Seen:
        """What is there now. Nothing that happens to the folder is an error."""
        layout = self.layout
        try:
            if not layout.folder.is_dir():
                return Seen(layout.name, gone=True)
            holder = run_lock.holder(layout.lock)
            run = str(holder.get("run", "")) if holder else ""
            if not run or not layout.journal(run).is_file():
                run = next(reader.newest(layout), "")
            if run and (self._followed is None or self._followed.story.run != run):
                self._followed = FollowedJournal(layout, run)
            if self._followed is not None:
                self._followed.read()
            story = self._followed.story if self._followed is not None else None
            return Seen(layout.name, story, holder is not None, len(notes.names(layout)))
        except OSError:
            return Seen(layout.name, gone=not layout.folder.is_dir())
