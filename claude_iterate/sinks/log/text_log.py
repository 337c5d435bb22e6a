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
from claude_iterate.core.state.run_state import Batch, RunState
from claude_iterate.sinks.log import log_sections
from claude_iterate.sinks.log.log_file import LogFile
from claude_iterate.text import event_lines, run_lines
from claude_iterate.text.line_blocks import WHOLE
from claude_iterate.text.transcript import SharedBlocks, Transcript

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
    an iteration if the folder `is_ours`. It keeps `blocks` for a verbose console that gets each batch after it."""

    def __init__(
        self,
        path: Path,
        on_failure: Callable[[str], None],
        largest: int = LARGEST,
        attended: bool = False,
        is_ours: Callable[[], bool] = lambda: True,
        on_put_back: Callable[[], None] = lambda: None,
        blocks: SharedBlocks | None = None,
    ) -> None:
        self._blocks = blocks
        self._file = LogFile(path, on_failure)
        self._is_ours = is_ours
        self._on_put_back = on_put_back
        self._largest = largest
        self._attended = attended
        self._state = RunState()
        self._cut = False
        self._written_at = 0.0
        self._logged: dict[str, str] = {}
        self._transcript = Transcript(WHOLE, blocks.kept) if blocks is not None else Transcript(WHOLE)
        self._framed: dict[type, Callable[[Any, float], list[str]]] = {
            RunStarted: log_sections.header,
            IterationStarted: self._iteration_started,
            IterationFinished: log_sections.iteration_closing,
            RunFinished: lambda event, at: log_sections.run_closing(in_words(event, self._state), at, self._state),
        }

    def __call__(self, batch: Batch) -> None:
        """Log a batch."""
        if self._blocks is not None:
            self._blocks.begin()
        said: list[str] = []
        ended = False
        lines, full, before = self._transcript.lines, self._file.size >= self._largest, self._state
        for entry, state in batch:
            block = lines(entry.event)
            if not block:
                self._state = before
                block = self._of_the_run(entry, state)
                ended = ended or type(entry.event) in _BETWEEN
            elif full:
                block, self._cut = [] if self._cut else [CUT], True
            said += block
            before = state
        self._state = before
        if said:
            said.append("")
            ended = self._file.append(harmless_lines(said)) or ended
        if ended:
            if self._file.keep_place(self._is_ours):
                self._on_put_back()
            self._file.flush()
            self._written_at = batch[-1][0].elapsed

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

    def _of_the_run(self, entry: Entry, state: RunState) -> list[str]:
        frame = self._framed.get(type(entry.event))
        if frame is not None:
            block = frame(entry.event, entry.at)
        else:
            found = event_lines.lines(entry, self._state, state, self._attended, whole=True)
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
