"""A workspace that is being watched: finds its newest run, and takes from its journal what was added since."""

from __future__ import annotations

import os

import msgspec

from claude_iterate.core.tones import Tone, state_words, tone
from claude_iterate.views.listing_view import state_of
from claude_iterate.views.story.followed_journal import FollowedJournal
from claude_iterate.views.story.story import Story
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.journal.follower import size_of
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes, run_lock


class Seen(msgspec.Struct, frozen=True):
    """What was seen of a workspace. `story` is None when it never ran; `gone`: its folder was deleted; `cursor` are the
    bytes of the journal that were read, `share` the part of it, from 0 to 1; `stands` is the word of `list` for a
    workspace that does not run, and how it is known that its task is done."""

    name: str
    story: Story | None = None
    alive: bool = False
    notes: int = 0
    gone: bool = False
    cursor: int = 0
    share: float = 1.0
    stands: tuple[str, str | None] = ("", None)

    @property
    def condition(self) -> str:
        """What it is doing, in one word; of one that does not run, what `list` says. `unreadable`: the journals of
        all its runs have lost their beginning."""
        if self.gone:
            return "gone"
        if self.story is None or self.story.started is None:
            return "starting" if self.alive else "new" if self.story is None else "unreadable"
        if self._stands_for_it:
            return self.stands[0]
        return self.story.condition(alive=self.alive)

    @property
    def known_by(self) -> str | None:
        """How it is known that a completed task is done."""
        if self._stands_for_it:
            return self.stands[1]
        finished = self.story.state.finished if self.story is not None and not self.alive else None
        return finished.known_by if finished is not None else None

    @property
    def tone(self) -> Tone:
        """How its condition looks."""
        return tone(self.condition, self.known_by)

    @property
    def words(self) -> str:
        """Its condition as `list` has it."""
        return state_words(self.condition, self.known_by)

    @property
    def _stands_for_it(self) -> bool:
        started = self.story.started if self.story is not None else None
        return bool(self.stands[0]) and not self.alive and started is not None and not started.dry_run


class WatchedWorkspace:
    """Follows one workspace over all its runs, or with `run` that one. `steps`: see `FollowedJournal.read`."""

    def __init__(self, layout: Layout, run: str = "", steps: int = 0) -> None:
        self.layout = layout
        self._run = run
        self._steps = steps
        self._followed: FollowedJournal | None = None
        self._newest: tuple[object, str] = (None, "")
        self._stands: tuple[object, tuple[str, str | None]] = (None, ("", None))

    def look(self) -> Seen:
        """What is there now. Nothing that happens to the folder is an error."""
        layout = self.layout
        try:
            if not layout.folder.is_dir():
                return Seen(layout.name, gone=True)
            holder = run_lock.holder(layout.lock)
            held = str(holder.get("run", "")) if holder else ""
            run = self._run or (held if held and layout.journal(held).is_file() else self._newest_run())
            if run and (self._followed is None or self._followed.story.run != run):
                self._followed = FollowedJournal(layout, run)
            alive = holder is not None and self._run in {"", held}
            found = self._followed
            if found is None:
                return Seen(layout.name, None, alive, len(notes.names(layout)))
            found.read(self._steps)
            stands = self._standing() if not alive and not self._run else ("", None)
            known = len(notes.names(layout))
            return Seen(
                layout.name, found.story, alive, known, False, found.journal.cursor, found.journal.share, stands
            )
        except OSError:
            return Seen(layout.name, gone=not layout.folder.is_dir())

    def _standing(self) -> tuple[str, str | None]:
        """What `list` says, which is looked up only when a file that it depends on was written."""
        layout = self.layout
        stamp = tuple(map(_stamp, (layout.metadata, layout.instructions, layout.runs)))
        if self._stands[0] != stamp:
            found = state_of(layout)
            self._stands = stamp, (found.state, found.known_by) if found is not None else ("damaged", None)
        return self._stands[1]

    def _newest_run(self) -> str:
        """The newest run with a beginning; the newest of all where none has one. It is looked for again only when there
        may be another one: a journal that has lost its beginning would be read to its end."""
        ids = self.layout.run_ids()
        key = (ids, bool(ids) and size_of(self.layout.journal(ids[-1])) > 0)
        if self._newest[0] != key:
            self._newest = key, next(reader.newest(self.layout), ids[-1] if ids else "")
        return self._newest[1]


def _stamp(path: object) -> int:
    try:
        return os.stat(str(path)).st_mtime_ns  # noqa: PTH116 - several times a second
    except OSError:
        return 0
