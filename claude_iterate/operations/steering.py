"""Asks the run of a workspace for something, and waits for its answer.

A request is a file that the runner takes away; before that it writes down what the request means. So a run with a huge
journal answers as quickly as any other.
"""

from __future__ import annotations

import time

import msgspec

from claude_iterate.core.rules.steering import UNCHANGED
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import control, run_lock

_PATIENCE = 10.0
_POLL = 0.02
_LOOK = 0.5
_SAYINGS = {
    "answered": "The run has taken the request.",
    "over": "The run ended before it could answer.",
    "silent": "No answer from process {pid} yet; it will find the request. If it is suspended, continue it: fg",
}


class Reply(msgspec.Struct, frozen=True):
    """What a run said to a request. `answered`: it has taken the request; `over`: it ended before it could; else it is
    silent, and will find the request. `effective` is False when there was nothing to do."""

    run: str
    verb: str
    answered: bool
    over: bool
    text: str
    effective: bool


def ask(layout: Layout, verb: str, now: bool = False) -> Reply:
    """Ask the run that is under way. A WorkspaceProblem when there is none, or it cannot be asked that."""
    name, who = layout.name, run_lock.holder(layout.lock)
    if who is None:
        raise WorkspaceProblem(f"Nothing runs in the workspace {name!r}.", f"Start it: claude-iterate run {name}")
    run = who.run
    if not who.pid:
        cannot = "A run works there that cannot be named; it can be asked when its iteration ends,"
        raise WorkspaceProblem(f"The workspace {name!r} is busy.", f"{cannot} or press Ctrl-C where it runs.")
    if not run or not untrusted_files.is_folder(layout.runs / run):
        busy = f"The workspace {name!r} is busy ({_printable(run) or 'unknown'}), but no run has begun."
        raise WorkspaceProblem(busy, "Try again in a moment.")
    started = journal_reader.beginning(layout.journal(run)) if verb != "stop" else None
    if started is not None and started.purpose != "run":
        busy = f"{started.purpose} runs in {name!r}, and can only be stopped."
        raise WorkspaceProblem(busy, f"claude-iterate stop {name}")
    identity = control.post(layout, run, verb, now)
    came = _await_answer(layout, run, identity)
    answered = came == "answered"
    said = _printable(control.take_answer(layout, identity)) if answered else ""
    text = said or _SAYINGS[came].format(pid=who.pid)
    return Reply(run, verb, answered, came == "over", text, effective=answered and said not in UNCHANGED)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)


def _await_answer(layout: Layout, run: str, identity: str) -> str:
    """answered, over (the run ended before it could answer) or silent (the request waits for a suspended run)."""
    began = time.monotonic()
    looked = began
    while (now := time.monotonic()) < began + _PATIENCE:
        if control.is_taken(layout, identity):
            return "answered"
        if now >= looked + _LOOK:
            looked = now
            if (holder := run_lock.holder(layout.lock)) is None or holder.run != run:
                # It may have been answered in its last moment.
                return "over" if control.withdraw(layout, identity) else "answered"
        time.sleep(_POLL)
    return "silent"
