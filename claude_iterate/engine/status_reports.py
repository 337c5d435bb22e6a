"""Looks at the agent's report when it may have changed, once the file has been quiet for a moment."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events import StatusChanged
from claude_iterate.core.reports import fallbacks
from claude_iterate.core.reports.status import Change, Reading, Status, compare
from claude_iterate.core.settings.declared import StatusWatchSettings
from claude_iterate.engine.recorder import Recorder
from claude_iterate.workspace.files import foreign
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import status_file
from claude_iterate.workspace.running.status_file import Seen

_PATIENCE = 5
"""A report that changes all the time is read after this many times the quiet that is wanted."""


class StatusReports:
    """Knows the last report, records news once, and judges whether a report is of this iteration."""

    def __init__(self, layout: Layout, settings: StatusWatchSettings, recorder: Recorder) -> None:
        self._path = path = layout.status
        self._todo = layout.todo
        self._settings = settings
        self._recorder = recorder
        self._last = status_file.look(path)
        found = self._last.reading.status if self._last.reading else None
        # A finished report is the end of an earlier story; the deltas of a new one begin at nothing.
        self._known: Status | None = found if found is not None and not found.complete else None
        self._before = self._last
        self.due = float("inf")
        self._first_touch = 0.0
        self._changed: float | None = None

    def touched(self, now: float) -> None:
        """The file may have changed. Every change restarts the wait for quiet; but one that never comes is not waited
        for."""
        changed = status_file.changed_at(self._path)
        if changed == self._changed:
            return
        self._changed = changed
        quiet = self._settings.debounce_ms / 1000
        # The quiet counts from the change, however late it is noticed.
        age = self._recorder.wall() - changed if changed is not None else 0.0
        since = now - min(max(age, 0.0), quiet)
        if self.due == float("inf"):
            self._first_touch = since
        self.due = min(since + quiet, self._first_touch + _PATIENCE * quiet)

    def look_if_due(self, now: float) -> None:
        """Look when the file has been quiet for long enough."""
        if now >= self.due:
            self._look()

    def iteration_begins(self) -> None:
        """Remember how the file is now: only what differs from it is a report of this iteration."""
        self._before = self._look()

    def iteration_ends(self, last_message: str) -> Reading | None:
        """The report of this iteration: the file if the agent wrote it, else a block in its last message, else the
        boxes of TODO.md. The last change of the file is recorded without waiting for quiet."""
        seen = self._look()
        fresh = seen.fingerprint is None or seen.fingerprint != self._before.fingerprint
        written = seen.reading if fresh else None
        if written is not None and written.status is not None:
            return written
        problems = written.problems if written is not None else ()
        block = fallbacks.from_block(last_message)
        if block is not None:
            return Reading(block.status, (*problems, *block.problems))
        boxes = fallbacks.from_boxes(_text(self._todo))
        return Reading(boxes, problems) if boxes is not None or problems else None

    def _look(self) -> Seen:
        self.due = float("inf")
        seen = status_file.look(self._path)
        written = seen.fingerprint != self._last.fingerprint
        self._last = seen
        now = seen.reading.status if seen.reading else None
        if written and now is not None:
            change = compare(self._known, now)
            self._known = now
            if change is None and not self._settings.notify_only_meaningful:
                change = Change()
            if change is not None:
                self._recorder.record(StatusChanged(now, change))
        return seen


def _text(path: Path) -> str:
    try:
        return foreign.look(path).data.decode("utf-8", "replace")
    except OSError:
        return ""
