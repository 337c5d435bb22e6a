"""`attach NAME`: a run under way elsewhere, on this terminal: its lines, its keys; Ctrl-C asks what to do."""

from __future__ import annotations

import contextlib
import select
import shlex
import signal
import sys
import time

from claude_iterate.cli import options, output, run_options
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.terminal_user import Keys, listen_for_keys
from claude_iterate.core.events import Entry
from claude_iterate.core.events.enums import Verb, exit_code
from claude_iterate.core.rules.next_steps import continue_command
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.operations.playback import AttachedRun, find_run, recorded_console
from claude_iterate.sinks.console import Console
from claude_iterate.system import signals, terminals, untrusted_files
from claude_iterate.text.run_lines import how_to_look
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout

KILLED = 1
_QUESTION = "Leave the run (l), stop after this iteration (s), end it now (e), or keep watching (any other key)? "
_ANSWERS = {"l": [(Verb.DETACH, False)], "s": [(Verb.STOP, False)], "e": [(Verb.STOP, True)]}
_PAUSE = 0.1


@options.command("attach", json="")
@options.verbose_option
@options.quiet_option
@run_options.detailed_option
def command(invocation: Invocation, name: str, verbose: bool, quiet: bool, detailed: bool) -> int:
    """Show the run of NAME as on the terminal it was started on; its keys work here, too.

    Ctrl-C asks whether to leave the run, which then continues, or to stop it. Without a terminal it prints plain lines
    until the end. A run that is over shows how it ended. The exit code is that of the run, 0 when you leave.
    """
    level = run_options.output_level(verbose, quiet) or ""
    return AttachedTerminal(invocation, invocation.project.layout(name), detailed, level).show()


class AttachedTerminal:
    """Shows the run of a workspace until it ends or the user leaves."""

    def __init__(self, invocation: Invocation, layout: Layout, detailed: bool, level: str = "") -> None:
        self._invocation = invocation
        self._layout = layout
        self._run = find_run(layout)
        settings = recorded_settings(self._run.started)
        self._detailed = detailed or settings.exit_codes == "detailed"
        self._level = level or settings.output

    def show(self) -> int:
        """The exit code: that of the run, or 0 when the user left."""
        if not self._run.is_alive:
            return self._show_past()
        heard: list[str] = []
        with contextlib.ExitStack() as afterwards:
            # Before the first look: a signal must not break off a line.
            afterwards.callback(signals.on_stop_signals(heard.append))
            keys = afterwards.enter_context(listen_for_keys(detaches=True)) if on_terminal() else None
            attached = AttachedRun(self._layout, self._run.run, self._console(keys is not None))
            afterwards.callback(attached.close)
            attached.catch_up()
            code = self._follow(attached, keys, heard)
        if code is not None:
            return code
        return self._exit_code(attached.state) if attached.state.finished is not None else self._report_killed()

    def leave(self) -> int:
        """After the user watched it in another way: say that it continues, or how it ended."""
        return self._report_left() if self._run.is_alive else self._show_past()

    def _follow(self, attached: AttachedRun, keys: Keys | None, heard: list[str]) -> int | None:
        """Until it is over, or the user leaves: then the exit code."""
        asking = False
        while attached.look(live=not asking):
            while heard:
                if (name := heard.pop(0)) != "SIGINT":
                    return 128 + signal.Signals[name]
                if keys is None or asking:
                    return self._report_left()
                asking = True
                output.try_note(f"\r\n{_QUESTION}")
            if keys is None:
                time.sleep(_PAUSE)
                continue
            if asking:
                typed = (terminals.read_keys(sys.stdin.fileno()) or b"").decode("utf-8", "replace").lower()[:1]
                asking = not typed
                requests = _ANSWERS.get(typed, [])
            else:
                requests = [(request.verb, request.now) for request in keys(attached.state)]
            for verb, now in requests:
                if verb == Verb.DETACH:
                    return self._report_left()
                attached.ask(verb, now)
            select.select([sys.stdin], [], [], _PAUSE)  # a key is heard at once
        if asking:
            output.note("")
        if attached.state.finished is not None:
            attached.await_release()
        return None

    def _console(self, keys: bool) -> Console:
        color = self._invocation.color
        return recorded_console(self._run.started, sys.stdout, sys.stderr, self._level, color, keys=keys)

    def _exit_code(self, state: RunState) -> int:
        assert state.finished is not None
        return exit_code(state.finished.reason, self._detailed, state.finished.known_by)

    def _show_past(self) -> int:
        state = journal_reader.fold_journal(self._layout, self._run.run)
        if state.finished is None:
            return self._report_killed()
        output.note(f"{self._layout.name} is not running. How its last run ended:")
        with contextlib.closing(self._console(keys=False)) as console:
            console(Entry(0, 0.0, 0.0, state.finished), state)
        return self._exit_code(state)

    def _report_killed(self) -> int:
        name, folder, started = self._layout.name, self._layout.folder, self._run.started
        if not untrusted_files.is_folder(folder):
            output.warn(f"The run of {name} ended: its folder is gone, and its record with it: {folder}")
            output.note(f"  See what there is: {shlex.join((*self._invocation.program, 'list'))}")
            return KILLED
        state = journal_reader.fold_journal(self._layout, self._run.run)
        step = continue_command(state if state.started is not None else RunState(started=started))
        output.warn(f"The run was killed: its process (pid {started.pid}) is gone, and its journal has no end.")
        output.note(f"  Continue: {step}")
        return KILLED

    def _report_left(self) -> int:
        name = self._layout.name
        for line in (f"Left: {name} continues.", *how_to_look(name, self._invocation.program)):
            output.note(line)
        return 0
