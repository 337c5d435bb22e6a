"""A run that pages of the dashboard show: it is followed once for all of them, and drawn when something changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from claude_iterate.core.events.run_events import JOURNAL_FORMAT
from claude_iterate.core.rules.trips import counters
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.errors import ExpectedError
from claude_iterate.views.screen.watched_workspace import Seen, WatchedWorkspace
from claude_iterate.views.web.drawn_page import Drawn
from claude_iterate.views.web.run_panels import RunPanels
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes

_STEPS = 4
"""Pieces of a long journal that are read before the page says how far it is."""
_LOG = 24 * 1024
"""Bytes at the end of the log that are shown."""
_RUNS = 20
_NOTES = 5


class RunPicture(msgspec.Struct, frozen=True):
    """All that a page shows of a run. `problem` says what is wrong with its record, and what to do."""

    seen: Seen
    at: float
    chosen: str = ""
    """The run of the page; empty: the newest, whichever that is."""
    runs: tuple[str, ...] = ()
    """The newest runs of the workspace, newest first."""
    log: str = ""
    log_name: str = ""
    notes: tuple[str, ...] = ()
    counters: tuple[tuple[str, int, int], ...] = ()
    problem: str = ""


class WatchedRun:
    """The newest run of a workspace, or a certain one. `draw` is for one thread at a time."""

    def __init__(self, project: Project, layout: Layout, run: str = "") -> None:
        self._project = project
        self._layout = layout
        self._run = run
        self._watched = WatchedWorkspace(layout, run, _STEPS)
        self._panels = RunPanels()
        self._before: tuple[object, ...] = ()
        self._log: tuple[object, str, str] = (None, "", "")
        self._known = ""
        """The run that `_stop` and `_format` are about."""
        self._settings: Settings | None = None
        self._format = 1

    def draw(self) -> Drawn | None:
        """The page as it is now; None when nothing has changed since the last time."""
        seen = self._watched.look()
        ids = self._layout.run_ids()
        stamp = self._log_stamp(seen)
        now = (seen.cursor, seen.share, seen.alive, seen.notes, seen.gone, seen.condition, ids, stamp)
        if now == self._before:
            return None
        self._learn(seen)
        waiting = tuple(note.text for note in notes.pending(self._layout)[:_NOTES]) if seen.notes else ()
        picture = RunPicture(
            seen,
            time.time(),
            self._run,
            tuple(reversed(ids[-_RUNS:])),
            self._log[2],
            self._log[1],
            waiting,
            self._counters(seen),
            self._problem(seen),
        )
        drawn = self._panels.drawn(picture)
        self._before = now
        return drawn

    def _log_stamp(self, seen: Seen) -> object:
        """What shows that the log was written; its end is read then."""
        name = seen.story.started.log if seen.story is not None and seen.story.started is not None else ""
        path = self._layout.folder / Path(name).name if name else None
        try:
            found = path.stat() if path is not None else None
        except OSError:
            found = None
        stamp = (str(path), found.st_size, found.st_mtime_ns) if found is not None else None
        if stamp != self._log[0]:
            self._log = stamp, path.name if path is not None else "", _end_of(path) if path is not None else ""
        return stamp

    def _learn(self, seen: Seen) -> None:
        """What does not change during a run: the settings that it is counted by, the format of its journal."""
        run = seen.story.run if seen.story is not None else self._run
        if run == self._known or not run:
            return
        self._known, self._settings, self._format = run, None, 1
        try:
            self._format = reader.format_of(self._layout.journal(run))
            self._settings = self._project.settings_for(self._layout).settings
        except (OSError, ExpectedError):
            return

    def _counters(self, seen: Seen) -> tuple[tuple[str, int, int], ...]:
        if self._settings is None or seen.story is None or (started := seen.story.started) is None:
            return ()
        return tuple(counters(seen.story.state.streaks, stop_settings(self._settings, started.mode)))

    def _problem(self, seen: Seen) -> str:
        name = self._layout.name
        if seen.gone:
            return f"The folder of the workspace {name} is gone. See what is left: claude-iterate list"
        if self._format > JOURNAL_FORMAT:
            newer = f"A newer version of claude-iterate wrote this journal (format {self._format})."
            return f"{newer} What this version does not know is left out. Install that version to see all of it."
        if seen.story is not None and seen.story.started is None and seen.share >= 1.0 and not seen.alive:
            lost = f"The journal of run {seen.story.run} has lost its beginning, so little can be told of it."
            return f"{lost} Look: claude-iterate doctor"
        return ""


def _end_of(path: Path) -> str:
    """The last lines of a log, however long it is."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG))
            data = file.read(_LOG)
    except OSError:
        return ""
    return data[data.find(b"\n") + 1 if size > _LOG else 0 :].decode("utf-8", "replace")


def exists(layout: Layout, run: str) -> bool:
    """True for a run of this workspace, by its whole id."""
    return run in layout.run_ids()
