"""A program of the user, such as a check: run under the same supervision as Claude, with a time limit that a rule sets.

It has its own session and the run's mark in its environment, so it and what it starts are found and ended. Everything
that a run starts except Claude and its own small tools goes through here.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import run_environment
from claude_iterate.agent.processes.child import ChildProcess
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.rules.during import CHECK_RULES, Running, decide_running
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError

TAIL = 4000
"""Characters that are kept of the end of a program's output, unless more are asked for."""


class Program(msgspec.Struct, frozen=True):
    """What to start. `called` names it in messages that say why it could not be started; `environment` is put on top of
    that of the run; `input` is what it reads; `tail` is how many characters of the end of its output are kept;
    `interrupts`: SIGINT goes first when it is ended."""

    argv: tuple[str, ...]
    called: str
    environment: Mapping[str, str] = {}
    input: bytes = b""
    tail: int = TAIL
    interrupts: bool = True


class ProgramEnd(msgspec.Struct, frozen=True):
    """What became of a program. `code` is None when it did not end by itself: then it was not started, which `problem`
    explains, or it was cut."""

    code: int | None
    duration: float = 0.0
    output: str = ""
    cut: Cut | None = None
    problem: str = ""

    @property
    def how(self) -> str:
        """For people, after the program's name."""
        if self.problem:
            return f"could not be started: {self.problem}"
        if self.cut is None:
            return f"failed with exit code {self.code}" if self.code else "ended well"
        late = self.cut.cause == Cause.TIMEOUT
        return f"did not end within {self.cut.after:.0f} seconds" if late else "was stopped"


def shell_program(line: str, name: str, environment: Mapping[str, str] | None = None, tail: int = TAIL) -> Program:
    """The program that runs a line of shell; `name` is what the shell calls itself in its own messages."""
    # One stream, so that what a command prints stays in its order.
    argv = ("/bin/sh", "-c", 'exec 2>&1; eval "$1"', name, line)
    return Program(argv, "The shell", environment or {}, tail=tail)


def run_program(supervisor: Supervisor, program: Program, rules: tuple[Running, ...] = CHECK_RULES) -> ProgramEnd:
    """Run it in the project root until it has ended, and nothing that it started is left; `rules` say when to end it.
    Never an exception for what the program does."""
    spec, recorder = supervisor.spec, supervisor.recorder
    environment = run_environment(spec.environ, spec.settings.claude, spec.run, spec.layout.folder)
    environment |= program.environment
    began, tail = recorder.now(), _Tail(program.tail)
    cut: Cut | None = None

    def verdict(_now: float) -> Wait | Cut:
        nonlocal cut
        found = decide_running(recorder.state, replace(supervisor.facts(), program_began=began), rules)
        cut = found if isinstance(found, Cut) else None
        return found

    try:
        command = discovery.prepare(
            program.argv, environment, spec.layout.root, spec.sandbox, for_claude=False, given=program.environment
        )
        process = ChildProcess(
            command,
            spec.layout.root,
            program.input,
            None,
            supervisor.post,
            tail.take,
            label=program.called,
            in_own_sandbox=spec.in_own_sandbox,
        )
    except ExpectedError as problem:
        return ProgramEnd(None, problem=problem.message)
    code = supervisor.attend(process, verdict, interrupts=program.interrupts)
    return ProgramEnd(None if cut else code, recorder.now() - began, tail.text(), cut)


class _Tail:
    """The end of what a program printed, kept by the thread that reads it. What is longer is dropped as it comes: a
    program may print a gigabyte."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()

    def take(self, _stream: str, lines: list[bytes]) -> tuple[()]:
        self._kept += b"".join(line + b"\n" for line in lines)
        most = 4 * self._most + 1  # a character has at most four bytes
        if len(self._kept) > 2 * most:
            del self._kept[:-most]
        return ()

    def text(self) -> str:
        # The thread may still read, if the program's pipes were left to an unknown process.
        return bytes(self._kept).decode("utf-8", "replace").removesuffix("\n")[-self._most :]
