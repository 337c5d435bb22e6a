"""A shell command of the user's, run in the project root: its end and the end of its output."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from claude_iterate.agent.command.environment import run_environment
from claude_iterate.agent.processes.child import ChildProcess
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.supervision import Orders, Supervisor
from claude_iterate.errors import ExpectedError

_TAIL = 4000
_LINES = 200


class CommandEnd(NamedTuple):
    """How a command ended: `problem` if it could not be started, `cut` if it was ended, else its exit code."""

    output: str = ""
    code: int = 0
    cut: Cut | None = None
    problem: str = ""


class ShellCommand:
    """One command. `decide` says at any moment how long it may go on."""

    def __init__(self, plan: Plan, supervisor: Supervisor, line: str, decide: Callable[[float], Wait | Cut]) -> None:
        self._plan = plan
        self._supervisor = supervisor
        self._line = line
        self._decide = decide
        self._tail: deque[str] = deque(maxlen=_LINES)
        self._cut: Cut | None = None

    def run(self) -> CommandEnd:
        """From its start to its end."""
        plan = self._plan
        environment = run_environment(plan.environ, plan.settings.claude, plan.run, plan.layout.folder)
        # One stream, so that what a command prints stays in its order.
        shell = ["/bin/sh", "-c", 'exec 2>&1; eval "$1"', "check", self._line]
        try:
            process = ChildProcess(
                shell, environment, plan.layout.root, b"", None, self._supervisor.post, label="The shell"
            )
        except ExpectedError as problem:
            return CommandEnd(problem=problem.message)
        code = self._supervisor.attend(process, Orders(self._hear, self._decide, self._cutting))
        return CommandEnd("\n".join(self._tail)[-_TAIL:], code, self._cut)

    def _hear(self, _stream: str, lines: list[bytes]) -> None:
        self._tail.extend(text[-_TAIL:].decode("utf-8", "replace") for text in lines)

    def _cutting(self, cut: Cut, _now: float) -> None:
        self._cut = cut
