"""`attach NAME`: a run that goes on elsewhere, on this terminal: its lines, its keys; Ctrl-C asks what is wanted."""

from __future__ import annotations

import contextlib
import select
import shlex
import sys
import time
from collections.abc import Iterator, Sequence

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.terminal_user import Keys, listen_for_keys
from claude_iterate.core.events import Entry
from claude_iterate.core.events.enums import Verb, exit_code
from claude_iterate.core.rules.next_steps import CommandLine, continue_command
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.operations.playback import AttachedRun, ShownRun, find_run, recorded_console
from claude_iterate.sinks.console import Console
from claude_iterate.system import signals, terminals
from claude_iterate.text.run_lines import how_to_look
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout

KILLED = 1
_QUESTION = "Leave it (l), stop after this iteration (s), stop now (n), or look on (any other key)? "
_ENDS_NOW = {"SIGTERM": 143, "SIGHUP": 129}
_PAUSE = 0.1


@options.command("attach", json="")
@options.verbose_option
@options.quiet_option
@options.detailed_option
def command(invocation: Invocation, name: str, verbose: bool, quiet: bool, detailed: bool) -> int:
    """Show the run of NAME as the terminal does that it was started on, wherever that was; keys steer it.

    Ctrl-C asks whether to leave, and then the run goes on, or to stop it. Without a terminal it prints plain lines
    until the end. Of a run that is over it shows how it ended. The exit code is that of the run, 0 when you leave.
    """
    level = options.output_level(verbose, quiet) or ""
    layout = invocation.project.layout(name)
    return AttachedTerminal(layout, invocation.program, level, invocation.color, detailed).show()


class AttachedTerminal:
    """Shows the run of a workspace until it ends or the user leaves. `program` is how we are called."""

    def __init__(self, layout: Layout, program: Sequence[str], level: str, color: bool, detailed: bool) -> None:
        self._layout = layout
        self._line = CommandLine(tuple(program))
        self._level = level
        self._color = color
        self._detailed = detailed
        self._signals: list[str] = []
        self._asking = False
        self._left = False

    def show(self) -> int:
        """The exit code: that of the run, or 0 when the user left."""
        found = find_run(self._layout)
        self._heed_settings(found)
        if not found.is_alive:
            return self._show_past(found)
        with contextlib.ExitStack() as afterwards:
            # Before the first look: a signal must not break off a line.
            afterwards.callback(signals.on_stop_signals(self._signals.append))
            keys = afterwards.enter_context(_keys())
            attached = AttachedRun(self._layout, found.run, self._console(found, keys is not None))
            afterwards.callback(attached.close)
            attached.catch_up()
            code = self._follow(attached, keys)
        if code is not None:
            return code
        return self._exit_code(attached.state) if attached.finished is not None else self._report_killed(found)

    def leave(self) -> int:
        """After the user looked at it in another way: it goes on, or how it ended."""
        found = find_run(self._layout)
        self._heed_settings(found)
        return self._report_left() if found.is_alive else self._show_past(found)

    def _heed_settings(self, found: ShownRun) -> None:
        self._detailed = self._detailed or recorded_settings(found.started).exit_codes == "detailed"

    def _show_past(self, found: ShownRun) -> int:
        state = fold(journal_reader.milestones(self._layout.journal(found.run)))
        if state.finished is None:
            return self._report_killed(found)
        output.note(f"{self._layout.name} does not run. How its last run ended:")
        with contextlib.closing(self._console(found, keys=False)) as console:
            console(Entry(0, 0.0, 0.0, state.finished), state)
        return self._exit_code(state)

    def _console(self, found: ShownRun, keys: bool) -> Console:
        level = self._level or recorded_settings(found.started).output
        return recorded_console(found.started, sys.stdout, sys.stderr, level, self._color, keys=keys)

    def _exit_code(self, state: RunState) -> int:
        assert state.finished is not None
        return exit_code(state.finished.reason, self._detailed, state.finished.known_by)

    def _report_killed(self, found: ShownRun) -> int:
        name, folder = self._layout.name, self._layout.folder
        if not folder.is_dir():
            output.warn(f"The run of {name} ended, because its folder is gone, and its record with it: {folder}")
            output.note(f"  See what there is: {shlex.join((*self._line.program, 'list'))}")
            return KILLED
        state = fold(journal_reader.milestones(self._layout.journal(found.run)))
        step = continue_command(state if state.started is not None else RunState(started=found.started))
        output.warn(f"The run was killed: its process (pid {found.started.pid}) is gone, and its journal has no end.")
        output.note(f"  Go on: {step}")
        return KILLED

    def _follow(self, attached: AttachedRun, keys: Keys | None) -> int | None:
        """Until it is over, or the user leaves: then the exit code."""
        while attached.look(live=not self._asking):
            while self._signals:
                if (code := self._on_signal(self._signals.pop(0), keys)) is not None:
                    return code
            if keys is not None:
                self._steer(attached, keys)
            if self._left:
                return self._report_left()
            self._pause(keys)
        if self._asking:
            output.note("")
        if attached.finished is not None:
            attached.await_release()
        return None

    def _pause(self, keys: Keys | None) -> None:
        """A key is heard at once."""
        if keys is not None:
            select.select([sys.stdin], [], [], _PAUSE)
        else:
            time.sleep(_PAUSE)

    def _on_signal(self, name: str, keys: Keys | None) -> int | None:
        """The exit code, if we end."""
        if name != "SIGINT":
            return _ENDS_NOW.get(name, 143)
        if keys is None or self._asking:
            return self._report_left()
        self._asking = True
        output.try_note(f"\r\n{_QUESTION}")
        return None

    def _steer(self, attached: AttachedRun, keys: Keys) -> None:
        if self._asking:
            self._answer(attached)
            return
        for request in keys(attached.state):
            if request.verb == Verb.DETACH:
                self._left = True
            else:
                attached.ask(request.verb, request.now)

    def _answer(self, attached: AttachedRun) -> None:
        typed = (terminals.read_keys(sys.stdin.fileno()) or b"").decode("utf-8", "replace").lower()
        if not typed:
            return
        self._asking = False
        self._left = typed[0] == "l"
        if typed[0] in "sn":
            attached.ask(Verb.STOP, now=typed[0] == "n")

    def _report_left(self) -> int:
        name = self._layout.name
        for line in (f"Left: {name} goes on.", *how_to_look(name, self._line.program)):
            output.note(line)
        return 0


@contextlib.contextmanager
def _keys() -> Iterator[Keys | None]:
    if not on_terminal():
        yield None
        return
    with listen_for_keys(detaches=True) as keys:
        yield keys
