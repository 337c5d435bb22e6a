"""The user at the terminal: answers questions, and steers a run by keys or by answers before each iteration."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
from msgspec.structs import replace

from claude_iterate.agent.command.permissions import EVERYTHING
from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.core.events import Requested
from claude_iterate.core.events.enums import Purpose, Verb
from claude_iterate.core.settings.kinds import AMOUNT
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.run_spec import RunSpec, UserInput
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.system import terminals
from claude_iterate.system.front_process import Worker
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes

Listener = Callable[[RunState], list[Requested]]

_PERMISSIONS = """\
How much may Claude do in this workspace? It cannot ask during a run, so decide now:
  1  edit files in this project
  2  edit files, and run the commands you name{}
  3  everything{}"""
_BARE = " (only inside a disposable sandbox or container)"
_SANDBOXED = """, in a sandbox ({}): it can write only to this project and cannot see your other files
  4  everything, without a sandbox"""
_SURE = "Everything means any command: Claude could delete your files or send your data away. Are you sure?"

_KEYS_HELP = "Keys: p pause, resume · s stop after this iteration · k skip it · r retry · {}? help"
_KEYS = {"s": Verb.STOP, "k": Verb.SKIP, "r": Verb.RETRY, "d": Verb.DETACH}

_CHOICES = "Enter go · k skip it · n TEXT leave a note · s stop"
_ANSWERS = {"": "go", "g": "go", "go": "go", "k": "skip", "skip": "skip", "s": "stop", "stop": "stop"}


class TerminalUser:
    """Implements `operations.user.User`. `worker`: a front waits for us, so the run can be detached; with `detaches`
    it is, as soon as it has begun."""

    note = staticmethod(output.try_note)

    def __init__(self, worker: Worker | None = None, detaches: bool = False) -> None:
        self._worker = worker
        self._detaches = detaches

    def warn(self, text: str) -> None:
        output.try_note(f"{output.symbol('warning')} {text}")

    @property
    def can_answer(self) -> bool:
        return on_terminal()

    def choose_permissions(self, suggested: tuple[str, ...], sandbox: str) -> dict[str, Any]:
        """Asked once, before the first run: during a run Claude cannot ask. The commands that the project's files
        suggest are offered, because without them Claude cannot test what it did."""
        everything = _SANDBOXED.format(sandbox) if sandbox else _BARE
        output.note(_PERMISSIONS.format(f" (found here: {', '.join(suggested)})" if suggested else "", everything))
        choices = click.Choice(["1", "2", "3", "4"] if sandbox else ["1", "2", "3"])
        while True:
            answer = click.prompt("Your choice", type=choices, default="2" if suggested else "1", err=True)
            if answer == "1":
                return {"claude.permission_mode": "acceptEdits"}
            if answer == "2":
                return {"claude.permission_mode": "acceptEdits", "claude.allowed_tools": _ask_commands(suggested)}
            if answer == "3" and sandbox:
                return {"claude.permission_mode": EVERYTHING, "sandbox.kind": sandbox}
            if click.confirm(_SURE, err=True):
                return {"claude.permission_mode": EVERYTHING}

    def confirm(self, question: str) -> bool:
        return click.confirm(question, default=True, err=True)

    def ask_amount(self, question: str) -> float | None:
        while True:
            text = click.prompt(question, default="", show_default=False, err=True)
            if not text.strip():
                return None
            try:
                return float(AMOUNT.from_text(text))
            except ValueError as refused:
                output.note(f"{text!r} is not {refused}.")

    @contextlib.contextmanager
    def steering(self, spec: RunSpec) -> Iterator[RunSpec]:
        """Only `run` is steered: in attended mode by answers, else by keys unless it is quiet."""
        attended, worker, given = spec.settings.attended, self._worker, UserInput()
        by_user = spec.request.purpose == Purpose.RUN and on_terminal()
        with contextlib.ExitStack() as reading:
            if self._detaches and worker is not None:
                if attended:
                    problem = "The setting `attended` is on: such a run asks on its terminal, so it cannot be detached."
                    raise UsageProblem(problem, f"claude-iterate run {spec.name} --no-attended --detach")
                given = UserInput(listen=lambda _state: [Requested(Verb.DETACH)], detaches=True)
            elif by_user and attended:
                question = Question(spec.layout)
                given = UserInput(question, question.ask_again_after_pause)
            elif by_user and spec.settings.output != "quiet":
                keys = reading.enter_context(listen_for_keys(detaches=worker is not None))
                given = UserInput(listen=keys, keys=True, detaches=worker is not None)
            if worker is not None:
                given = replace(given, listen=_until_left(given.listen, worker, reading))
            tick = 0.25 if output.is_terminal(sys.stderr) else spec.tick  # the live line shows seconds
            yield replace(spec, user=given, tick=tick)


def _ask_commands(suggested: tuple[str, ...]) -> list[str]:
    example = "" if suggested else " (for example: npm test, git commit)"
    offered = ", ".join(suggested)
    while True:
        question = f"Commands, separated by commas{example}"
        text = click.prompt(question, default=offered, show_default=bool(offered), err=True)
        if commands := [command.strip() for command in text.split(",") if command.strip()]:
            return [f"Bash({command}:*)" for command in commands]
        output.note("Name at least one, or press Ctrl-C and choose 1.")


def _until_left(listen: Listener, worker: Worker, reading: contextlib.ExitStack) -> Listener:
    """Listens until the run has detached: the worker leaves at the first look after the request, when the user has
    seen the answer to it. Also ends the run if the shell gave up the front."""
    leaving = False

    def listen_or_leave(state: RunState) -> list[Requested]:
        nonlocal leaving
        worker.end_if_abandoned()
        if not leaving:
            requests = listen(state)
            leaving = any(request.verb == Verb.DETACH for request in requests)
            return requests
        if not worker.has_left:
            reading.close()
            worker.leave()
        return []

    return listen_or_leave


class Keys:
    """Turns what is typed on a terminal into requests."""

    def __init__(self, handle: int, detaches: bool = False) -> None:
        self._handle = handle
        self._help = _KEYS_HELP.format("d detach · " if detaches else "")
        self._known = frozenset("pskr?d" if detaches else "pskr?")

    def __call__(self, state: RunState) -> list[Requested]:
        """What was asked for since the last time."""
        typed = (terminals.read_keys(self._handle) or b"").decode("utf-8", "replace").lower()
        # Arrow keys, or a text pasted into the wrong window, must not steer anything.
        if not typed or not self._known.issuperset(typed):
            return []
        paused = state.paused
        requests = []
        for key in typed:
            if key == "?":
                # It replaces the live line, which continues below.
                output.try_note("\r" + self._help.ljust(shutil.get_terminal_size().columns - 1))
            elif key == "p":
                requests.append(Requested(Verb.RESUME if paused else Verb.PAUSE, "key"))
                paused = not paused
            else:
                requests.append(Requested(_KEYS[key], "key"))
            if key == "d":
                break  # what follows is for the shell
        return requests


@contextlib.contextmanager
def listen_for_keys(detaches: bool) -> Iterator[Keys]:
    """Reads the keyboard of the terminal, key by key."""
    handle = sys.stdin.fileno()
    with terminals.single_keys(handle):
        output.try_note("Press ? for keys.")
        yield Keys(handle, detaches)


class Question:
    """Attended mode: before each iteration the user says go, skip or stop, and may leave a note.

    Asking never blocks: the engine polls for the answer, and meanwhile handles signals and requests.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._handle = sys.stdin.fileno()
        self._asked = 0

    def __call__(self, number: int) -> list[Requested]:
        """What was answered about iteration `number`; nothing as long as nothing was."""
        if self._asked != number:
            self._asked = number
            terminals.discard_keys(self._handle)  # what was typed before the question does not answer it
            self._prompt()
        typed = terminals.read_keys(self._handle)  # a whole line: a terminal hands on no part of one
        if typed is None:
            # The terminal is gone, so no answer can come: the run must not continue without one.
            return [Requested(Verb.STOP, "answer")]
        if not typed:
            return []
        if verb := self._read_answer(typed.decode("utf-8", "replace").strip()):
            # Ask again if the same iteration comes up again, for example after a pause.
            self._asked = 0
            return [Requested(Verb(verb), "answer")]
        self._prompt()
        return []

    def ask_again_after_pause(self, state: RunState) -> list[Requested]:
        """What was typed during a pause does not count."""
        if state.paused:
            self._asked = 0
        return []

    def _prompt(self) -> None:
        click.echo(f"Iteration {self._asked}? {_CHOICES}: ", err=True, nl=False)

    def _read_answer(self, line: str) -> str:
        """The verb, or nothing when the question stays open."""
        word, _, rest = line.partition(" ")
        if word.lower() in {"n", "note"}:
            try:
                notes.add(self._layout, rest)
                output.note("Noted for this iteration.")
            except ExpectedError as problem:
                output.warn(f"{problem.message} {problem.hint}")
            return ""
        verb = _ANSWERS.get(line.lower(), "")
        if not verb:
            output.warn(f"{line!r} is not one of the answers.")
        return verb
