"""`pause`, `resume`, `stop`, `skip`, `reboot` and `retry`: one way to ask, one table of what can be asked for.

A request is a file that the runner takes away; that it is gone is the answer. What it means is told from the journal.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, name_argument
from claude_iterate.errors import WorkspaceProblem

_PATIENCE = 3.0
_POLL = 0.02
_HELP = {
    "pause": "Let the running iteration of NAME finish, then hold until `resume`.",
    "resume": "Let a paused run of NAME go on.",
    "stop": "End the run of NAME after its running iteration, or with --now at once. Nothing is lost.",
    "skip": "End the running iteration of NAME now and begin the next; also ends a wait or a delay.",
    "reboot": "End the running iteration of NAME now and do it again with fresh context.",
    "retry": "End a wait of NAME (for a limit, after an error) and try again now.",
}


class Running(NamedTuple):
    """The run that is asked, and who runs it."""

    run: str
    pid: int


def _command(verb: str, text: str) -> click.Command:
    @click.command(verb, help=text)
    @name_argument
    @json_option
    @click.pass_obj
    def command(invocation: Invocation, name: str, as_json: bool, now: bool = False) -> int:
        return _steer(invocation, name, verb, now, as_json)

    if verb == "stop":
        click.option("--now", is_flag=True, help="End Claude at once instead of after this iteration.")(command)
    return command


commands = {verb: _command(verb, text) for verb, text in _HELP.items()}


def _steer(invocation: Invocation, name: str, verb: str, now: bool, as_json: bool) -> int:
    """Ask, wait for the answer, tell what it means."""
    from claude_iterate.core.state import fold
    from claude_iterate.sinks.steering_lines import answer
    from claude_iterate.workspace import control, journal

    layout = invocation.project.layout(name)
    running = _running(invocation, name)
    path = layout.journal(running.run)
    state = fold(journal.read(path)) if path.is_file() else fold(())
    if state.started is not None and state.started.purpose != "run" and verb != "stop":
        purpose = state.started.purpose
        raise WorkspaceProblem(f"{purpose} runs in {name!r}, and can only be stopped.", f"claude-iterate stop {name}")
    identity = control.post(layout, running.run, verb, now)
    deadline = time.monotonic() + _PATIENCE
    while not (done := control.answered(layout, identity)) and time.monotonic() < deadline:
        time.sleep(_POLL)
    words = answer(verb, state, now) if done else _unanswered(invocation, name, running, identity)
    if as_json:
        output.document({"name": name, "run": running.run, "verb": verb, "answered": done, "message": words})
    else:
        output.done(words) if done else output.warn(words)
    return 0 if done else 1


def _running(invocation: Invocation, name: str) -> Running:
    from claude_iterate.workspace import lock

    layout = invocation.project.layout(name)
    who = lock.holder(layout.lock)
    if who is None:
        raise WorkspaceProblem(f"Nothing runs in the workspace {name!r}.", f"Start it: claude-iterate run {name}")
    run, pid = str(who.get("run", "")), who.get("pid")
    if not isinstance(pid, int) or not (layout.runs / run).is_dir() or not run:
        busy = f"The workspace {name!r} is busy ({output.printable(run) or 'unknown'}), but no run has begun."
        raise WorkspaceProblem(busy, "Try again in a moment.")
    return Running(run, pid)


def _unanswered(invocation: Invocation, name: str, running: Running, identity: str) -> str:
    """Nobody took it in time. A run that is over never will; one that is suspended will when it goes on."""
    from claude_iterate.workspace import control, lock

    layout = invocation.project.layout(name)
    if (lock.holder(layout.lock) or {}).get("run") != running.run:
        control.withdraw(layout, identity)
        return "The run ended before it could answer."
    return (
        f"No answer from process {running.pid} within {_PATIENCE:.0f} s; the request waits for it. "
        "If it is suspended, wake it: fg"
    )
