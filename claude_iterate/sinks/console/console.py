"""The run as a person at a terminal sees it. A level changes what is shown, never what is done.

Progress goes to `err`, the closing result to `out`, or to `err` when it is a failure. The console never raises.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TextIO, get_args

from claude_iterate.core.events import (
    AgentExited,
    CheckFinished,
    CutStarted,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    LeftoversEnded,
    Requested,
    ReviewFinished,
    ReviewStarted,
    RunFinished,
    RunStarted,
    StatusChanged,
    StopRequested,
    StreamEvent,
    Thought,
    ToolAnswered,
    ToolCalled,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
    Warned,
)
from claude_iterate.core.events.reasons import ENDINGS
from claude_iterate.core.formats import counted
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import reduce
from claude_iterate.sinks.console.live_line import LiveLine
from claude_iterate.sinks.console.safe_stream import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Output
from claude_iterate.text import run_lines, steering_lines, verification_lines, wait_lines
from claude_iterate.text.ending_lines import ending, log_place, totals
from claude_iterate.text.excerpt_limits import CONSOLE
from claude_iterate.text.transcript import Transcript

PLAIN: dict[type, Callable[[Any], list[str]]] = {
    StatusChanged: run_lines.status_changed,
    CutStarted: run_lines.cut_started,
    LeftoversEnded: run_lines.leftovers_ended,
    VerificationStarted: verification_lines.verification_started,
    CheckFinished: verification_lines.check_finished,
    ReviewStarted: verification_lines.review_started,
    ReviewFinished: verification_lines.review_finished,
    VerificationFinished: verification_lines.verification_finished,
}
STREAM: frozenset[type] = frozenset(get_args(StreamEvent))
SIGNS = {"✓": GREEN, "✗": RED, "❌": RED, "⚠": YELLOW}


def _eighty() -> int:
    return 80


def _title_style(event: Event) -> str:
    if isinstance(event, ToolCalled):
        return CYAN
    if isinstance(event, ToolAnswered):
        return RED if event.is_error else GREEN
    return ""


class Console:
    """Shows entries on two streams. `level` is quiet, progress or verbose. `live` asks for the line at the
    bottom, which is drawn on terminals only; `columns` tells how wide the terminal is. `attended`: a person is asked
    before each iteration."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        level: str,
        color: bool = False,
        live: bool = False,
        columns: Callable[[], int] = _eighty,
        attended: bool = False,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._out = Output(out, color)
        self._err = Output(err, color)
        self._level = level
        self._attended = attended
        self._state = RunState()
        self._transcript = Transcript(CONSOLE)
        drawn = live and level == "progress" and self._err.terminal
        self._live = LiveLine(self._err, columns, wall) if drawn else None
        self._shows_stream = drawn or level == "verbose"

    def __call__(self, entry: Entry) -> None:
        """Show what there is to show of an entry."""
        event = entry.event
        if type(event) in STREAM and not self._shows_stream:
            return
        before, self._state = self._state, reduce(self._state, entry)
        if isinstance(event, RunFinished):
            self._finish(event)
        elif isinstance(event, Warned):
            self._say(run_lines.warned(event))
        elif isinstance(event, Requested) and self._level != "quiet":
            self._say(steering_lines.requested(event, before, self._attended))
        elif self._level != "quiet":
            self._show(entry)
        if self._live is not None:
            self._live.note(entry)
            self._live.draw(self._state, entry.elapsed)

    def tick(self, now: float) -> None:
        """Redraw the live line."""
        if self._live is not None:
            self._live.draw(self._state, now)

    def flush(self) -> None:
        """Nothing is held back but what the streams hold."""
        self._out.flush()
        self._err.flush()

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._live is not None:
            self._live.erase()
            self._live = None
        self._out.close()
        self._err.close()

    def _show(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, IterationStarted):
            notes = f" (with {counted(event.notes, 'note')})" if event.notes else ""
            self._say([*self._gap(), f"Running iteration {event.number}...{notes}"], BOLD)
        elif isinstance(event, IterationFinished):
            mode = self._state.started.mode if self._state.started is not None else ""
            self._say([*self._gap(), *run_lines.iteration_finished(event, mode)])
        elif isinstance(event, WaitStarted):
            self._say(wait_lines.announced(event, entry.at, self._state))
        elif isinstance(event, RunStarted):
            self._say(run_lines.started(event, entry.at))
        elif isinstance(event, WaitEnded):
            self._say(wait_lines.ended(event, self._state.paused))
        elif isinstance(event, StopRequested):
            self._say(run_lines.stop_requested(event, self._state.call is not None))
        elif type(event) in PLAIN:
            self._say(PLAIN[type(event)](event))
        elif self._level == "verbose":
            self._block(entry)

    def _gap(self) -> list[str]:
        """Verbose output is long: iterations stand apart."""
        return [""] if self._level == "verbose" else []

    def _block(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, AgentExited):
            self._say(run_lines.exited(event))
            return
        block = self._transcript.lines(event)
        if isinstance(event, Thought):
            self._err.say(block, DIM)
        else:
            # The tool's name and the verdict on it stand out; what follows is quoted.
            title = 1 if isinstance(event, ToolCalled) else 0
            style = _title_style(event)
            self._err.say(block[: title + 1], style)
            self._err.say(block[title + 1 :])
        self._err.flush()

    def _say(self, block: list[str], style: str = "") -> None:
        """Lines of the run itself, in the look of the sign they begin with."""
        if not block:
            return
        if self._live is not None:
            self._live.erase()
        self._transcript.interrupted()
        for line in block:
            self._err.say([line], style or SIGNS.get(line.lstrip()[:1], ""))
        self._err.flush()

    def _finish(self, event: RunFinished) -> None:
        good = ENDINGS[event.reason].good
        if self._live is not None:
            self._live.erase()
            self._live = None
        if good and self._level == "quiet":
            return
        figures = log_place(self._state) if self._level == "quiet" else totals(event, self._state)
        first, *rest = ending(event, self._state)
        # The two streams may be one terminal: what was said before must stand above.
        self._err.flush()
        output = self._out if good else self._err
        output.say([first], SIGNS.get(first[:1], ""))
        output.say([*rest, *figures])
        output.flush()
