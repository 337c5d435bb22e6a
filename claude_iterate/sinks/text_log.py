"""The log of a run: `iterate-*.log`. Complete, in order, and never a reason for the run to fail.

Only beyond LARGEST bytes it leaves out what Claude says, and says so.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from claude_iterate.core.events import AgentExited, Entry, IterationFinished, IterationStarted, RunFinished, RunStarted
from claude_iterate.core.formats import cost, duration, first_and_rest, indent, one_line, precise_moment
from claude_iterate.core.outcomes.classes import FINE, RETRIED, WELL
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.endings import with_words
from claude_iterate.core.sanitize import sanitize_lines
from claude_iterate.core.state.run_state import RunState
from claude_iterate.system.restorable_file import RestorableFile
from claude_iterate.text import ending_lines, event_lines, run_lines
from claude_iterate.text.claude_lines import Transcript
from claude_iterate.text.proof_lines import claim_remarks
from claude_iterate.text.run_lines import worktree_left

SIZE = 10 * 1024


def frame(*titles: str) -> list[str]:
    """Lines between two rules."""
    rule = "=" * 80
    return [rule, *titles, rule]


def named_values(**values: object) -> list[str]:
    """`Max Iterations: 5`, one in each line; what is not known or empty is left out."""
    known = {name: value for name, value in values.items() if value not in (None, "")}
    return [f"{name.replace('_', ' ')}: {value}" for name, value in known.items()]


def header(event: RunStarted, at: float) -> list[str]:
    """Everything known when a run begins."""
    begun = precise_moment(at)
    facts = named_values(
        Workspace=event.workspace,
        Mode=event.mode,
        Max_Iterations=event.max_iterations or "no limit",
        Start_Time=begun,
        Run=event.run,
        Claude_Iterate=event.version,
        Claude_Command=shlex.join(event.command),
        Claude_Version=event.agent_version,
        Sandbox=event.sandbox,
        Dry_Run="yes" if event.dry_run else "",
    )
    top = frame("CLAUDE ITERATE - EXECUTION LOG", f"Started: {begun}")
    return [*top, "", *frame("RUN METADATA"), *facts, ""]


def iteration_closing(event: IterationFinished, at: float) -> list[str]:
    """How the iteration ended, and its figures."""
    tokens, status = event.tokens, event.status or Status(complete=False)
    read = tokens.input + tokens.cache_read + tokens.cache_creation
    kind, (first, rest) = event.outcome.kind, first_and_rest(event.outcome.message)
    verdict = f"{kind}: {first}" if first else str(kind)
    if kind in WELL:
        turns = " (stopped at the turn limit)" if kind == "max_turns" else ""
        verdict = f"{'success' if event.reported else 'no report'}{turns}"
    facts = named_values(
        STATUS=verdict,
        Completed=precise_moment(at),
        Duration=duration(event.duration),
        Cost=cost(event.cost_usd, event.cost_is_lower_bound),
        Turns=f"{event.turns}, tools: {event.tools}, tokens: {read:,} in, {tokens.output:,} out",
        Remaining=status.remaining,
        Worked=None if status.worked is None else "yes" if status.worked else "no",
        Summary=one_line(status.summary or ""),
    )
    block = ["", *facts]
    block += [line.strip() for line in run_lines.trouble(event)]
    if kind not in FINE:
        message = named_values(Time=precise_moment(at), Message=first or kind)
        block += ["", f"ERROR (Iteration {event.number}):", *message, *indent(rest)]
    if kind not in FINE | RETRIED:  # else the run itself knows what to do
        block += [f"Advice: {one_line(line)}" for line in event.outcome.advice.splitlines()]
    return [*block, ""]


def run_closing(event: RunFinished, at: float, state: RunState) -> list[str]:
    """Why the run ended, and the totals."""
    block = [*frame("RUN FINISHED"), f"Reason: {event.reason}", f"Cause: {event.cause}"]
    if event.detail:
        first, rest = first_and_rest(event.detail)
        block += [f"Detail: {first}", *indent(rest)]
    block += [f"Advice: {one_line(line)}" for line in event.advice.splitlines()]
    block += [*claim_remarks(event, state), *(line.strip() for line in worktree_left(state))]
    return block + named_values(
        Next=event.next,
        Iterations=event.iterations,
        Cost=ending_lines.cost(event, state),
        Duration=duration(event.duration),
        Finished=precise_moment(at),
    )


OURS = "[claude-iterate] "
"""Marks our own lines among Claude's."""
LONGEST_WAIT = 1.0
LARGEST = 1024 * 1024 * 1024
"""Bytes of Claude's words in one log. A program that prints without end can fill a disk in minutes."""
_BETWEEN = frozenset({IterationStarted, IterationFinished, RunFinished})
"""Claude does not work yet, or any more."""
CUT = f"{OURS}This log is very long. From here on it leaves out what Claude says and does."


class TextLog:
    """Writes entries to a new file; an OSError if it cannot be made. `on_failure` is called once at most.

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
        self._path = path
        self._on_failure = on_failure
        self._buffer = bytearray()
        self._size = 0
        """What was written so far."""
        self._is_ours = is_ours
        self._on_put_back = on_put_back
        self._largest = largest
        self._attended = attended
        self._state = RunState()
        self._cut = False
        self._written_at = 0.0
        self._logged: dict[str, str] = {}
        self._transcript = Transcript(whole=True)
        self._file: RestorableFile | None = RestorableFile(path, 0o666, new=True)

    def __call__(self, entry: Entry, state: RunState) -> None:
        """Log an entry."""
        before, self._state = self._state, state
        block = self._transcript.lines(entry.event)
        between = False
        if not block:
            block = self._of_the_run(entry, before)
            between = type(entry.event) in _BETWEEN
        elif self._size >= self._largest:
            block, self._cut = [] if self._cut else [CUT], True
        if block and self._file is not None:
            self._buffer += sanitize_lines([*block, ""])
        if between or len(self._buffer) >= SIZE:
            self._keep_place()
            self.flush()
            self._written_at = entry.elapsed

    def tick(self, now: float) -> None:
        """Nothing stays in memory for much more than a second."""
        if now - self._written_at >= LONGEST_WAIT:
            self.flush()
            self._written_at = now

    def flush(self) -> None:
        """Write what is buffered: in one call, unless the system takes less at a time."""
        # The buffer is let go first: whatever happens below, no byte of it is written again.
        left, self._buffer = memoryview(self._buffer), bytearray()
        self._size += len(left)
        try:
            while left and self._file is not None:
                left = left[os.write(self._file.handle, left) :]
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Write what is buffered and close the file."""
        self.flush()
        file, self._file = self._file, None
        if file is not None:
            try:
                os.close(file.handle)
            except OSError as error:  # network file systems report a failed write only here
                self._fail(error)

    def _keep_place(self) -> None:
        """Put the file back if its name leads elsewhere and its folder is still ours."""
        if self._file is None or self._file.in_place or not self._is_ours():
            return
        try:
            self._file.put_back()
        except OSError as error:
            self._fail(error)
        else:
            self._on_put_back()

    def _fail(self, error: OSError) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file.handle)
        self._on_failure(
            f"The log cannot be written ({error.strerror or error}); the run continues without it: {self._path}"
        )

    def _of_the_run(self, entry: Entry, before: RunState) -> list[str]:
        match event := entry.event:
            case RunStarted():
                block = header(event, entry.at)
            case IterationStarted():
                block = self._iteration_started(event, entry.at)
            case IterationFinished():
                block = iteration_closing(event, entry.at)
            case RunFinished():
                block = run_closing(with_words(event, self._state), entry.at, self._state)
            case AgentExited():
                printed = f"{event.stdout_bytes:,} bytes on stdout and {event.stderr_bytes:,} bytes on stderr"
                block = _mark([*run_lines.agent_exited(event), f"Claude printed {printed}"])
            case _:
                block = _mark(event_lines.lines(entry, before, self._state, self._attended, whole=True) or [])
        if block:
            self._transcript.break_paragraph()
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
                block += [*frame(title if before is None else f"{title} (changed)"), text.rstrip("\n"), ""]
                self._logged[title] = text
        notes = [f"Notes: {event.notes}"] if event.notes else []
        return [
            *block,
            *frame(f"ITERATION {event.number}", f"Started: {precise_moment(at)}", *notes),
            "",
            "CLAUDE OUTPUT:",
        ]


def _mark(lines: list[str]) -> list[str]:
    return [OURS + line.strip() for line in lines]
