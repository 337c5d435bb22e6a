"""Attended mode: before each iteration the user says go, skip or stop, and may leave a note.

Asking never blocks: the engine polls for the answer, and meanwhile handles signals and requests.
"""

from __future__ import annotations

import sys

import click

from claude_iterate.cli import output
from claude_iterate.core.events import Requested
from claude_iterate.core.events.vocabulary import Verb
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import ExpectedError
from claude_iterate.system import terminals
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes

_CHOICES = "Enter go · n skip it · m TEXT leave a note · s stop"
_VERBS = {"": "go", "g": "go", "go": "go", "n": "skip", "skip": "skip", "s": "stop", "stop": "stop"}
_NOTE = frozenset({"m", "note"})


class Question:
    """Asks on the terminal before each iteration."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._handle = sys.stdin.fileno()
        self._asked = 0
        self._unread = b""

    def __call__(self, number: int) -> list[Requested]:
        """What was answered about iteration `number`; nothing as long as nothing was."""
        if self._asked != number:
            self._asked = number
            self._unread = b""
            terminals.discard_keys(self._handle)  # what was typed before the question does not answer it
            self._prompt()
        typed = terminals.read_keys(self._handle)
        if typed is None:
            # The terminal is gone, so no answer can come: the run must not go on without one.
            return [Requested(Verb.STOP, "answer")]
        *lines, self._unread = (self._unread + typed).split(b"\n")
        for line in lines:
            if verb := self._understood(line.decode("utf-8", "replace").strip()):
                # Ask again if the same iteration comes up again, for example after a pause.
                self._asked = 0
                return [Requested(Verb(verb), "answer")]
            self._prompt()
        return []

    def held(self, state: RunState) -> list[Requested]:
        """After a pause the question is asked again; what was typed during the pause does not count."""
        if state.paused:
            self._asked = 0
        return []

    def _prompt(self) -> None:
        click.echo(f"Iteration {self._asked}? {_CHOICES}: ", err=True, nl=False)

    def _understood(self, line: str) -> str:
        """The verb, or nothing when the question stays open."""
        word, _, rest = line.partition(" ")
        if word.lower() in _NOTE:
            try:
                notes.add(self._layout, rest)
                output.note("Noted for this iteration.")
            except ExpectedError as problem:
                output.warn(f"{problem.message} {problem.hint}")
            return ""
        verb = _VERBS.get(line.lower(), "")
        if not verb:
            output.warn(f"{output.printable(line)!r} is not one of the answers.")
        return verb
