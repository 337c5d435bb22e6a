"""Our own checks: shell commands that must succeed before a claim counts, run as a person would in the project root."""

from __future__ import annotations

from collections import deque

from claude_iterate.agent.command.environment import run_environment
from claude_iterate.agent.processes.child import ChildProcess
from claude_iterate.core.events import CheckFinished
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Orders, Supervisor
from claude_iterate.errors import ExpectedError

_TAIL = 4000
_LINES = 200


class Check:
    """Runs one check. It is red unless it is known to have ended with 0."""

    def __init__(self, plan: Plan, recorder: Recorder, supervisor: Supervisor, line: str) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor
        self._line = line
        self._began = recorder.elapsed()
        self._tail: deque[str] = deque(maxlen=_LINES)
        self._cut: Cut | None = None

    def run(self) -> str:
        """What it found, for the next prompt; empty when it is green."""
        plan = self._plan
        environment = run_environment(plan.environ, plan.settings.claude, plan.run, plan.layout.folder)
        # One stream, so that what a check prints stays in its order.
        shell = ["/bin/sh", "-c", 'exec 2>&1; eval "$1"', "check", self._line]
        try:
            process = ChildProcess(shell, environment, plan.layout.root, b"", None, self._supervisor.post)
        except ExpectedError as problem:
            self._recorder.record(CheckFinished(self._line, None, 0.0, problem.message))
            return f"The check `{self._line}` could not be started: {problem.message}"
        code = self._supervisor.attend(process, Orders(self._hear, self._verdict, self._cutting))
        output = "\n".join(self._tail)[-_TAIL:]
        taken = self._recorder.elapsed() - self._began
        cause = self._cut.cause if self._cut else ""
        self._recorder.record(CheckFinished(self._line, None if cause else code, taken, output, cause))
        if not cause and code == 0:
            return ""
        return f"The check `{self._line}` {self._how(cause, code)}. The end of its output:\n{output}"

    def _how(self, cause: str, code: int) -> str:
        if cause == "timeout":
            return f"did not end within {self._plan.settings.verification.check_timeout:.0f} seconds"
        return "was stopped" if cause else f"failed with exit code {code}"

    def _hear(self, _stream: str, lines: list[bytes]) -> None:
        self._tail.extend(text[-_TAIL:].decode("utf-8", "replace") for text in lines)

    def _verdict(self, now: float) -> Wait | Cut:
        if self._recorder.state.stop is not None:
            return Cut("stopped")
        patience = self._plan.settings.verification.check_timeout
        bounds = [(self._began + patience, Cut("timeout", patience))]
        whole = self._plan.settings.limits.max_duration
        if whole is not None:
            bounds.append((whole - self._recorder.state.elapsed_before, Cut("duration", whole)))
        at, cut = min(bounds, key=lambda bound: bound[0])
        return cut if now >= at else Wait(at)

    def _cutting(self, cut: Cut, _now: float) -> None:
        self._cut = cut
