"""The log of a run: `iterate-*.log`. Complete, in order, and never a reason for the run to fail.

Only beyond LARGEST bytes it leaves out what Claude says, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from claude_iterate.core.events import AgentExited, Entry, IterationFinished, IterationStarted, RunFinished, RunStarted
from claude_iterate.core.harmless import harmless_lines
from claude_iterate.core.rules.endings import in_words
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.log import log_sections
from claude_iterate.sinks.log.log_file import LogFile
from claude_iterate.text import event_lines, run_lines
from claude_iterate.text.line_blocks import WHOLE
from claude_iterate.text.transcript import Transcript

OURS = "[claude-iterate] "
"""Marks our own lines among Claude's."""
LONGEST_WAIT = 1.0
LARGEST = 1024 * 1024 * 1024
"""Bytes of Claude's words in one log. A program that prints without end can fill a disk in minutes."""
_BETWEEN = frozenset({IterationStarted, IterationFinished, RunFinished})
"""Claude does not work yet, or any more."""
CUT = f"{OURS}This log is very long. From here on it leaves out what Claude says and does."


class TextLog:
    """Writes entries to a new file; FileExistsError if there is one. `on_failure` is called once at most.

    `attended`: the user is asked before each iteration. A log that was deleted or replaced is put back before and after
    an iteration if the folder `is_ours`."""

    def __init__(
        self,
        path: Path,
        on_failure: Callable[[str], None],
        largest: int = LARGEST,
        attended: bool = False,
        is_ours: Callable[[], bool] = lambda: True,
        on_put_back: Callable[[], None] = lambda: None,
    ) -> None:
        self._file = LogFile(path, on_failure)
        self._is_ours = is_ours
        self._on_put_back = on_put_back
        self._largest = largest
        self._attended = attended
        self._state = RunState()
        self._cut = False
        self._written_at = 0.0
        self._logged: dict[str, str] = {}
        self._transcript = Transcript(WHOLE)
        self._framed: dict[type, Callable[[Any, float], list[str]]] = {
            RunStarted: log_sections.header,
            IterationStarted: self._iteration_started,
            IterationFinished: log_sections.iteration_closing,
            RunFinished: lambda event, at: log_sections.run_closing(in_words(event, self._state), at, self._state),
        }

    def __call__(self, entry: Entry, state: RunState) -> None:
        """Log an entry."""
        before, self._state = self._state, state
        block = self._transcript.lines(entry.event)
        between = False
        if not block:
            block = self._of_the_run(entry, before)
            between = type(entry.event) in _BETWEEN
        elif self._file.size >= self._largest:
            block, self._cut = [] if self._cut else [CUT], True
        written = bool(block) and self._file.append(harmless_lines([*block, ""]))
        if between or written:
            if self._file.keep_place(self._is_ours):
                self._on_put_back()
            self._file.flush()
            self._written_at = entry.elapsed

    def tick(self, now: float) -> None:
        """Nothing stays in memory for much more than a second."""
        if now - self._written_at >= LONGEST_WAIT:
            self._file.flush()
            self._written_at = now

    def flush(self) -> None:
        """Write what is buffered."""
        self._file.flush()

    def close(self) -> None:
        """Write what is buffered and close the file."""
        self._file.close()

    def _of_the_run(self, entry: Entry, before: RunState) -> list[str]:
        frame = self._framed.get(type(entry.event))
        if frame is not None:
            block = frame(entry.event, entry.at)
        else:
            found = event_lines.lines(entry, before, self._state, self._attended, whole=True)
            if found is None:
                left = entry.event if isinstance(entry.event, AgentExited) else None
                found = [*run_lines.exited(left), *run_lines.amount_printed(left)] if left is not None else []
            block = [OURS + line.strip() for line in found]
        if block:
            self._transcript.interrupted()
        return block

    def _iteration_started(self, event: IterationStarted, at: float) -> list[str]:
        """Texts that every iteration shares are logged once, and again only when they changed."""
        block: list[str] = []
        for title, text in (
            ("INSTRUCTIONS", event.instructions),
            ("SYSTEM PROMPT", event.system_prompt),
            ("STATUS INSTRUCTIONS", event.status_instructions),
        ):
            before = self._logged.get(title)
            if text and text != before:
                block += log_sections.section(title if before is None else f"{title} (changed)", text)
                self._logged[title] = text
        return block + log_sections.iteration_opening(event.number, at, event.notes)
