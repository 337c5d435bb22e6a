"""How a run is steered from its terminal: by keys while it is shown, or by answers before each iteration."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator

import click

from claude_iterate.cli import output
from claude_iterate.core.events import Requested
from claude_iterate.core.events.enums import Verb
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import ExpectedError
from claude_iterate.system import terminals
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes

HELP = "Keys: p pause, resume · s stop after it · k, n skip it · r retry · {}? help"
DETACH = "d detach · "
_KEYS = {"s": Verb.STOP, "n": Verb.SKIP, "k": Verb.SKIP, "r": Verb.RETRY, "d": Verb.DETACH}
_KNOWN = frozenset("psnkr?")

_CHOICES = "Enter go · n skip it · m TEXT leave a note · s stop"
_ANSWERS = {"": "go", "g": "go", "go": "go", "n": "skip", "skip": "skip", "s": "stop", "stop": "stop"}
_NOTE = frozenset({"m", "note"})


class Keys:
    """Turns what was typed into requests. `leave` is called after the request to detach was dealt with; without it,
    there is no such key."""

    def __init__(self, handle: int, leave: Callable[[], None] | None = None) -> None:
        self._handle = handle
        self._leave = leave
        self._known = _KNOWN | {"d"} if leave is not None else _KNOWN
        self._leaves = False

    def __call__(self, state: RunState) -> list[Requested]:
        """What was asked for since the last time."""
        if self._leaves:
            if self._leave is not None:
                self._leave()
                self._leave = None
            return []
        typed = (terminals.read_keys(self._handle) or b"").decode("utf-8", "replace").lower()
        # Arrow keys, or a text pasted into the wrong window, must not steer anything.
        if not typed or not self._known.issuperset(typed):
            return []
        paused = state.paused
        requests = []
        for key in typed:
            if key == "?":
                # It replaces the live line, which continues below.
                words = HELP.format(DETACH if "d" in self._known else "")
                output.try_note("\r" + words.ljust(shutil.get_terminal_size().columns - 1))
            elif key == "p":
                requests.append(Requested(Verb.RESUME if paused else Verb.PAUSE, "key"))
                paused = not paused
            else:
                requests.append(Requested(_KEYS[key], "key"))
            if key == "d":
                self._leaves = True
                break
        return requests


@contextlib.contextmanager
def listen_for_keys(leave: Callable[[], None] | None = None) -> Iterator[Keys]:
    """Reads the keyboard of the terminal, key by key; until the run has detached, which `leave` does."""
    handle = sys.stdin.fileno()
    with contextlib.ExitStack() as reading:
        reading.enter_context(terminals.single_keys(handle))

        def release() -> None:
            reading.close()
            assert leave is not None
            leave()

        output.try_note("Press ? for keys.")
        yield Keys(handle, release if leave is not None else None)


class Question:
    """Attended mode: before each iteration the user says go, skip or stop, and may leave a note.

    Asking never blocks: the engine polls for the answer, and meanwhile handles signals and requests.
    """

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
            if verb := self._read_answer(line.decode("utf-8", "replace").strip()):
                # Ask again if the same iteration comes up again, for example after a pause.
                self._asked = 0
                return [Requested(Verb(verb), "answer")]
            self._prompt()
        return []

    def ask_again_after_pause(self, state: RunState) -> list[Requested]:
        """After a pause the question is asked again; what was typed during the pause does not count."""
        if state.paused:
            self._asked = 0
        return []

    def _prompt(self) -> None:
        click.echo(f"Iteration {self._asked}? {_CHOICES}: ", err=True, nl=False)

    def _read_answer(self, line: str) -> str:
        """The verb, or nothing when the question stays open."""
        word, _, rest = line.partition(" ")
        if word.lower() in _NOTE:
            try:
                notes.add(self._layout, rest)
                output.note("Noted for this iteration.")
            except ExpectedError as problem:
                output.warn(f"{problem.message} {problem.hint}")
            return ""
        verb = _ANSWERS.get(line.lower(), "")
        if not verb:
            output.warn(f"{output.printable(line)!r} is not one of the answers.")
        return verb


class AtOnce:
    """`run --detach` and `--watch`: asks to go on without the terminal as soon as the run has begun; what is to be said
    about its start has been said then."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        self._asked = False
        self._left = False

    def __call__(self, _state: RunState) -> list[Requested]:
        if not self._asked:
            self._asked = True
            return [Requested(Verb.DETACH)]
        if not self._left:
            self._left = True
            self._leave()
        return []
