"""The run as the user at a terminal sees it. A level changes what is shown, never what is done.

Progress goes to `err`, the closing result to `out`, or to `err` when it is a failure. The console never raises.
What comes before the closing message may begin with a clock: without a terminal it is read later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TextIO, get_args

from claude_iterate.core import events
from claude_iterate.core.events.enums import ENDINGS, Verb
from claude_iterate.core.formats import moment
from claude_iterate.core.outcomes.classes import FINE, RETRIED
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import Tone, tone_of_line
from claude_iterate.sinks.live_line import LiveLine
from claude_iterate.sinks.safe_stream import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Output
from claude_iterate.text import event_lines, local_times, proof_lines, run_lines
from claude_iterate.text.claude_lines import Transcript
from claude_iterate.text.ending_lines import closing
from claude_iterate.text.proof_lines import claim_remarks

STREAM: frozenset[type] = frozenset(get_args(events.StreamEvent))
_COLORS: dict[Tone, str] = {"good": GREEN, "bad": RED, "warning": YELLOW}
_LOOKS = {events.SnapshotTaken, events.WorkMeasured, events.StopScriptsRun, events.HookStarted, events.HookFinished}
"""What is looked at and called after an iteration: what was held before it may still be the end of the run."""


class Console:
    """Shows entries on two streams. `level` is quiet, progress or verbose. `live` asks for the line at the
    bottom, which is drawn on terminals only; `columns` gives the width of the terminal. `attended`: the user is
    asked before each iteration. `program` is how we are called, if the run can give up its terminal: then the console
    says how to look at it, and shows nothing more. `place` makes a path as short as it is from where the user is; empty
    when nothing is there."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        level: str,
        color: bool = False,
        live: bool = False,
        columns: Callable[[], int] = lambda: 80,
        attended: bool = False,
        forced_color: bool = False,
        clock: bool = False,
        keys: bool = False,
        wall: Callable[[], float] = time.time,
        place: Callable[[str], str] = lambda path: path,
        stop: StopSettings | None = None,
        program: Sequence[str] = (),
    ) -> None:
        self._place = place
        self._program = program
        self._left = False
        self._err = Output(err, color, forced_color)
        self._out = Output(out, color, forced_color, beside=self._err)
        self._at = 0.0
        self._level = level
        self._gap = [""] if level == "verbose" else []  # it is long: iterations stand apart
        self._attended = attended
        self._state = RunState()
        self._clock = clock
        self._day = ""
        self._transcript = Transcript(whole=False)
        self._held: list[tuple[events.Entry, RunState]] = []
        """A failure that may be the end of the run, and what came since. The end says why: then both say it once."""
        drawn = live and level != "quiet" and self._err.terminal
        self._live = LiveLine(self._err, columns, wall, keys, stop) if drawn else None
        self.behind = False
        """What comes is long over: the live line is not drawn for it. `tick` draws it as ever."""

    def __call__(self, entry: events.Entry, state: RunState) -> None:
        """Show what there is to show of it, at once."""
        if self._left:
            return
        before, self._state = self._state, state
        event = entry.event
        if type(event) not in _LOOKS:
            self._release(event if isinstance(event, events.RunFinished) else None)
        self._at = entry.at
        if type(event) in STREAM:
            if self._level == "verbose":
                self._block(event)
        elif isinstance(event, events.RunFinished):
            self._finish(event)
        elif self._held or (self._level != "quiet" and _may_end_the_run(event)):
            self._held.append((entry, before))
        elif self._level != "quiet":
            self._show(entry, before)
        if self._program and isinstance(event, events.Requested) and event.verb == Verb.DETACH:
            if self._level != "quiet" and state.started is not None:
                self._say(run_lines.how_to_look(state.started.workspace, self._program))
            self.close()
            return
        if self._live is not None:
            self._live.note(entry)
            if not self.behind:
                self._live.draw(self._state, entry.elapsed)
        self._err.flush()

    def tick(self, now: float) -> None:
        """Show what was held, and redraw the live line."""
        if self._left:
            return
        if self._held and not self._is_followed_up(self._held[0][0].event):
            self._release()
            self._err.flush()
        if self._live is not None:
            self._live.draw(self._state, now)

    def flush(self) -> None:
        """What the streams hold. A failure is held until it is known whether it ended the run."""
        if self._left:
            return
        self._out.flush()
        self._err.flush()

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._left:
            return
        self._left = True
        self._release()
        self._erase_live_line()
        self._live = None
        self._err.flush()  # both may write to one terminal, which is closed once
        self._out.close()
        self._err.close()

    def _is_followed_up(self, held: events.Event) -> bool:
        """The iteration is still being measured, or a hook hears of it: only then it is decided what is next."""
        work = self._state.work
        unmeasured = isinstance(held, events.IterationFinished) and work.measured < held.number
        return (unmeasured and work.snapshot is not None) or bool(self._state.hooks.hook_running)

    def _release(self, ending: events.RunFinished | None = None) -> None:
        """Show what was held: short, if it is the cause of the ending."""
        held, self._held = self._held, []
        for entry, before in held:
            self._at = entry.at
            self._show(entry, before, ending)

    def _show(self, entry: events.Entry, before: RunState, ending: events.RunFinished | None = None) -> None:
        event, run = entry.event, self._state.run
        if isinstance(event, events.IterationStarted):
            first, *rest = run_lines.iteration_started(event, before)
            self._say([*self._gap, first], BOLD)
            self._say(rest)
        elif isinstance(event, events.IterationFinished):
            told = _is_cause(event.outcome, ending)
            self._say([*self._gap, *run_lines.iteration_finished(event, run.mode, run.dry_run, told)])
        elif isinstance(event, events.ReviewFinished) and _is_cause(event.outcome, ending):
            self._say([proof_lines.UNHELD])
        elif isinstance(event, events.VerificationFinished) and ending and ending.reason == "verification_failed":
            return
        elif isinstance(event, events.RunStarted):
            self._say(run_lines.run_started(event, entry.at))
        elif (block := event_lines.lines(entry, before, self._state, self._attended)) is not None:
            self._say(block)
        elif self._level == "verbose" and isinstance(event, events.AgentExited):
            self._say(run_lines.agent_exited(event))

    def _block(self, event: events.Event) -> None:
        """What Claude said or did."""
        block = self._transcript.lines(event)
        if not block:
            return
        self._erase_live_line()
        if not self._err.color:
            self._err.say(block)
        elif isinstance(event, events.Thought):
            self._err.say(block, DIM)
        else:
            # The tool's name and the verdict on it stand out; what follows is quoted.
            title, style = (2, CYAN) if isinstance(event, events.ToolCalled) else (1, "")
            if isinstance(event, events.ToolResult):
                style = RED if event.is_error else GREEN
            self._err.say(block[:title], style)
            self._err.say(block[title:])

    def _erase_live_line(self) -> None:
        if self._live is not None:
            self._live.erase()

    def _say(self, block: list[str], style: str = "") -> None:
        """Lines of the run itself, in the look of the sign they begin with."""
        if not block:
            return
        self._erase_live_line()
        self._transcript.break_paragraph()
        for line in block:
            shown = self._stamp(line) if self._clock else line
            self._err.say([shown], style or _COLORS.get(tone_of_line(line), ""))

    def _stamp(self, line: str) -> str:
        """The line with its local time before it, and with the date when that is a new one."""
        day, _, clock = local_times.whole(moment(self._at)).partition(" ")
        if not line or not clock:  # a damaged journal may have a moment beyond the calendar
            return line
        new, self._day = day != self._day, day
        return f"{day} {clock} {line}" if new else f"{clock} {line}"

    def _finish(self, event: events.RunFinished) -> None:
        good, quiet = ENDINGS[event.reason].good, self._level == "quiet"
        self._erase_live_line()
        self._live = None
        if quiet and good and not claim_remarks(event, self._state):
            return
        log = self._state.run.log
        log = self._place(log) if log and not (quiet and good) else ""
        found = closing(event, self._state, log, brief=quiet)
        # The two streams may be one terminal: what was said before must stand above.
        self._err.flush()
        output = self._out if good and not quiet else self._err
        output.say([found.cause], f"{BOLD};{_COLORS.get(tone_of_line(found.cause), '')}".rstrip(";"))
        for line in found.known:
            output.say([line], _COLORS.get(tone_of_line(line), ""))
        output.say([line for line in (found.log, found.figures) if line], DIM)
        output.say([found.step] if found.step else [], BOLD)
        output.flush()


def _may_end_the_run(event: events.Event) -> bool:
    if isinstance(event, events.IterationFinished):
        return event.outcome.kind not in FINE | RETRIED
    if isinstance(event, events.ReviewFinished):
        return event.outcome is not None and event.outcome.kind not in RETRIED
    return isinstance(event, events.VerificationFinished) and not event.passed


def _is_cause(outcome: events.Outcome | None, ending: events.RunFinished | None) -> bool:
    """The run ended because of this outcome, and says so."""
    return outcome is not None and ending is not None and bool(outcome.message) and outcome.message in ending.detail
