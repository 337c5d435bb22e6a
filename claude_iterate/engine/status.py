"""The status desk: looks at the agent's report when it may have changed, once it has been quiet for a moment."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events import StatusChanged
from claude_iterate.core.settings import StatusWatchSettings
from claude_iterate.core.status import Change, Reading, Status, compare
from claude_iterate.engine.recorder import Recorder
from claude_iterate.workspace import status_file
from claude_iterate.workspace.status_file import Seen


class StatusDesk:
    """Knows the last report, tells of news once, and judges whether a report is of this iteration."""

    def __init__(self, path: Path, settings: StatusWatchSettings, recorder: Recorder) -> None:
        self._path = path
        self._settings = settings
        self._recorder = recorder
        self._last = status_file.look(path)
        found = self._last.reading.status if self._last.reading else None
        # A finished report is the end of an earlier story; the deltas of a new one begin at nothing.
        self._known: Status | None = found if found is not None and not found.complete else None
        self._before = self._last
        self.due = float("inf")

    def touched(self, now: float) -> None:
        """Every touch restarts the wait for quiet."""
        self.due = now + self._settings.debounce_ms / 1000

    def look_if_due(self, now: float) -> None:
        """Look when the file has been quiet for long enough."""
        if now >= self.due:
            self._look()

    def iteration_begins(self) -> None:
        """Remember how the file is now: only what differs from it is a report of this iteration."""
        self._before = self._look()

    def iteration_ends(self) -> Reading | None:
        """The report, if the agent wrote one in this iteration. The last change is told without waiting for quiet."""
        seen = self._look()
        if seen.fingerprint is not None and seen.fingerprint == self._before.fingerprint:
            return None
        return seen.reading

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
