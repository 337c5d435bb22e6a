"""Looks at the agent's report when it may have changed, once the file has been quiet for a moment, and judges whether
it is a report of this iteration."""

from __future__ import annotations

import os

from msgspec.structs import replace

from claude_iterate.core.events import ClaimDropped, StatusChanged
from claude_iterate.core.reports import fallbacks, status
from claude_iterate.core.reports.status import Change, Reading, Status, compare
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.project import git
from claude_iterate.system import untrusted_files
from claude_iterate.workspace.run_folder import status_file
from claude_iterate.workspace.run_folder.status_file import StatusSnapshot

_PATIENCE = 5
"""A report that changes all the time is read after this many times the quiet that is wanted."""
_WITHDRAWN = (
    "Your report `complete: true` was withdrawn after the run was killed. Find out what is missing, then report again."
)


class StatusReports:
    """Knows the last report and records news once. Only what is written while an iteration is under way can be one."""

    def __init__(self, spec: RunSpec, recorder: Recorder) -> None:
        self._spec = spec
        self._settings = spec.settings.notification.status_watch
        self._recorder = recorder
        self._path = spec.layout.status
        self._last = self._before = status_file.look(self._path)
        found = self._last.reading.status if self._last.reading else None
        # A finished report is the end of an earlier story; the deltas of a new one begin at nothing.
        self._known: Status | None = found if found is not None and not found.complete else None
        self._judged: Reading | None = None
        self._texts: dict[int, str] = {}
        """What was seen in the file, the hash of each text with the id of the iteration that it first came in."""
        self._asked = ""
        self._began = 0.0
        self.due = float("inf")
        self._first_touch = 0.0

    def drop_withdrawn_claim(self) -> None:
        """A run does not take over a killed one's claim that the file no longer makes."""
        claim, found = self._recorder.state.last_status, self._last.reading
        stands = found is not None and found.status is not None and found.status.complete
        if claim is not None and claim.complete and claim.source == "file" and not stands:
            why = "since the run was killed, .status.json no longer says `complete: true`"
            self._recorder.record(ClaimDropped(why, findings=_WITHDRAWN))

    def expect_change(self, now: float) -> None:
        """The file may have changed. Every change restarts the wait for quiet; but one that never comes is not waited
        for."""
        quiet = self._settings.debounce_ms / 1000
        if self.due == float("inf"):
            self._first_touch = now
        self.due = min(now + quiet, self._first_touch + _PATIENCE * quiet)

    def look_if_due(self, now: float) -> None:
        """Look when the file has been quiet for long enough. Between iterations no one reports."""
        if now >= self.due:
            self.due = float("inf")
            if self._asked:
                self._look()

    def iteration_begins(self, number: int) -> str:
        """Remember how the file is now: only what differs from it can be a report of this iteration. Returns the id
        that the report is asked to have."""
        self._before = self._last = status_file.look(self._path)
        if self._before.file is not None:
            self._texts.setdefault(hash(self._before.file.data), "")
        self._judged, self.due = None, float("inf")
        self._began = self._recorder.wall_time()
        self._asked = status.iteration_id(number, os.urandom(4))
        return self._asked

    def iteration_ends(self, last_message: str) -> Reading | None:
        """The report of this iteration: the file if the agent wrote it, else a block in its last message, else the
        boxes of TODO.md. The last change of the file is recorded without waiting for quiet."""
        written = self._look()
        self._asked = ""
        if written is not None and written.status is not None:
            return written
        problems = written.problems if written is not None else ()
        block = fallbacks.from_block(last_message)
        if block is not None:
            return Reading(block.status, (*problems, *block.problems))
        todo = untrusted_files.read(self._spec.layout.todo) or b""
        boxes = fallbacks.from_boxes(todo.decode("utf-8", "replace"))
        return Reading(boxes, problems) if boxes is not None or problems else None

    def _look(self) -> Reading | None:
        """What the file says if it was written in this iteration. News of it are recorded."""
        self.due = float("inf")
        seen = status_file.look(self._path)
        if seen.file is None or seen.file != self._last.file:
            self._last, self._judged = seen, self._judge(seen)
            if self._judged is not None and self._judged.status is not None:
                self._tell(self._judged.status)
        return self._judged

    def _judge(self, seen: StatusSnapshot) -> Reading | None:
        found = seen.reading
        if found is None or seen.file is None or seen.file == self._before.file:
            return found if seen.file is None else None
        self._texts.setdefault(hash(seen.file.data), self._asked)
        claims = found.status is not None and found.status.complete
        known = self._is_known(seen.file, found)
        why = status.why_not_ours(found.identity, self._asked, found.dated, known, claims)
        # Where checks decide about a claim, one that has no id is none the less a claim.
        if why == status.OLD and claims and self._spec.settings.verification.checks:
            return replace(found, problems=(*found.problems, status.UNSIGNED.format(id=self._asked)))
        return replace(found, status=None, problems=(why,)) if why and found.status is not None else found

    def _is_known(self, file: untrusted_files.Found, found: Reading) -> bool:
        """True for a text that was there before. Git is asked about claims only, because that takes time."""
        if self._texts[hash(file.data)] != self._asked:
            return True
        if found.identity or found.status is None or not found.status.complete:
            return False
        return git.has_had_text(self._spec.layout.root, file.data, self._began, self._spec.own_environ)

    def _tell(self, now: Status) -> None:
        change = compare(self._known, now)
        self._known = now
        if change is None and not self._settings.notify_only_meaningful:
            change = Change()
        if change is not None:
            self._recorder.record(StatusChanged(now, change))
