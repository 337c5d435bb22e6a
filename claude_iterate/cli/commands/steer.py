"""`pause`, `resume`, `stop`, `skip`, `reboot` and `retry`: one way to ask, one table of what can be asked for.

A request is a file that the runner takes away; before that it writes down what the request means. So a run with a huge
journal answers as quickly as any other.
"""

from __future__ import annotations

import time

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.state.requests import UNCHANGED
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import control, run_lock

_PATIENCE = 10.0
_POLL = 0.02
_LOOK = 0.5
_SAYINGS = {
    "answered": "The run has taken the request.",
    "over": "The run ended before it could answer.",
    "silent": "No answer from process {pid} yet; it will find the request. If it is suspended, continue it: fg",
}
_HELP = {
    "pause": "Let the running iteration of NAME finish, then hold until `resume`.",
    "resume": "Let a paused run of NAME go on.",
    "stop": "End the run of NAME after its running iteration, or with --now at once. Nothing is lost.",
    "skip": "End the running iteration of NAME now and begin the next; also ends a wait or a delay.",
    "reboot": "End the running iteration of NAME now and do it again with fresh context.",
    "retry": "End a wait of NAME (for a limit, after an error) and try again now.",
}


def _command(verb: str, text: str) -> click.Command:
    @options.command(verb)
    def command(invocation: Invocation, name: str, as_json: bool, now: bool = False) -> int:
        return _steer(invocation, name, verb, now, as_json)

    command.help = text
    if verb == "stop":
        options.flag("--now", help="End Claude at once instead of after this iteration.")(command)
    return command


commands = {verb: _command(verb, text) for verb, text in _HELP.items()}


def _steer(invocation: Invocation, name: str, verb: str, now: bool, as_json: bool) -> int:
    """Ask, wait for the answer, print it."""
    layout = invocation.project.layout(name)
    run, pid = _running(layout)
    started = reader.beginning(layout.journal(run)) if verb != "stop" else None
    if started is not None and started.purpose != "run":
        busy = f"{started.purpose} runs in {name!r}, and can only be stopped."
        raise WorkspaceProblem(busy, f"claude-iterate stop {name}")
    identity = control.post(layout, run, verb, now)
    came = _await_answer(layout, run, identity)
    done = came == "answered"
    said = output.printable(control.answer(layout, identity)) if done else ""
    words = said or _SAYINGS[came].format(pid=pid)
    if as_json:
        output.document({"name": name, "run": run, "verb": verb, "answered": done, "message": words})
    elif said in UNCHANGED:
        output.result(words)
    elif done:
        output.done(words)
    else:
        output.warn(words)
    return 0 if done or (came == "over" and verb == "stop") else 1


def _running(layout: Layout) -> tuple[str, int]:
    """The run that is asked, and the process that runs it."""
    name = layout.name
    who = run_lock.holder(layout.lock)
    if who is None:
        raise WorkspaceProblem(f"Nothing runs in the workspace {name!r}.", f"Start it: claude-iterate run {name}")
    if not who:
        busy = f"A run of {name!r} is on, but its lock and its journal were deleted, so it cannot be asked."
        raise WorkspaceProblem(
            busy, "It writes them again when its iteration ends; or end it with Ctrl-C where it runs."
        )
    run, pid = str(who.get("run", "")), who.get("pid")
    if not isinstance(pid, int) or not (layout.runs / run).is_dir() or not run:
        busy = f"The workspace {name!r} is busy ({output.printable(run) or 'unknown'}), but no run has begun."
        raise WorkspaceProblem(busy, "Try again in a moment.")
    return run, pid


def _await_answer(layout: Layout, run: str, identity: str) -> str:
    """answered, over (the run ended before it could answer) or silent (the request waits for a suspended run)."""
    began = time.monotonic()
    looked = began
    while (now := time.monotonic()) < began + _PATIENCE:
        if control.answered(layout, identity):
            return "answered"
        if now >= looked + _LOOK:
            looked = now
            if (run_lock.holder(layout.lock) or {}).get("run") != run:
                # It may have been answered in its last moment.
                return "over" if control.withdraw(layout, identity) else "answered"
        time.sleep(_POLL)
    return "silent"
