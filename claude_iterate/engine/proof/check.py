"""A check of the user's: a shell command in the project root that must succeed before a claim of completion counts."""

from __future__ import annotations

from collections import deque

from claude_iterate.agent.command.environment import run_environment
from claude_iterate.agent.processes.child import ChildProcess
from claude_iterate.core.events import CheckFinished
from claude_iterate.core.events.vocabulary import Cause
from claude_iterate.core.formats import listed
from claude_iterate.core.rules.during import decide_check
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Orders, Supervisor
from claude_iterate.errors import ExpectedError

_TAIL = 4000
_LINES = 200


class Check:
    """Runs one check. It is red unless it is known to have ended with 0."""

    def __init__(
        self,
        plan: Plan,
        recorder: Recorder,
        supervisor: Supervisor,
        line: str,
        project: str,
        gone: tuple[str, ...] = (),
    ) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor
        self._line = line
        self._project = project
        self._gone = gone
        self._began = recorder.elapsed()
        self._tail: deque[str] = deque(maxlen=_LINES)
        self._cut: Cut | None = None
        self.found = ""
        """What it found, for the next prompt; empty when it is green."""
        self.finished = CheckFinished(line, None)

    def run(self) -> None:
        """From its start to `CheckFinished`."""
        try:
            process = self._start()
        except ExpectedError as problem:
            self._record(None, problem.message)
            self.found = f"The check `{self._line}` could not be started: {problem.message}"
            return
        code = self._supervisor.attend(process, Orders(self._hear, self._verdict, self._cutting))
        output = "\n".join(self._tail)[-_TAIL:]
        self._record(code if self._cut is None else None, output)
        if self._cut is not None or code != 0:
            gone = f" It uses {listed(self._gone)}: there when the run began, gone now." if self._gone else ""
            self.found = f"The check `{self._line}` {self._how(code)}.{gone} The end of its output:\n{output}"

    def _start(self) -> ChildProcess:
        plan = self._plan
        environment = run_environment(plan.environ, plan.settings.claude, plan.run, plan.layout.folder)
        # One stream, so that what a command prints stays in its order.
        shell = ["/bin/sh", "-c", 'exec 2>&1; eval "$1"', "check", self._line]
        post = self._supervisor.post
        return ChildProcess(shell, environment, plan.layout.root, b"", None, post, label="The shell")

    def _record(self, code: int | None, output: str) -> None:
        duration, cut = self._recorder.elapsed() - self._began, self._cut.cause if self._cut else ""
        self.finished = CheckFinished(self._line, code, duration, output, cut, self._project, self._gone)
        self._recorder.record(self.finished)

    def _how(self, code: int) -> str:
        if self._cut is None:
            return f"failed with exit code {code}"
        late = self._cut.cause == Cause.TIMEOUT
        return f"did not end within {self._cut.after:.0f} seconds" if late else "was stopped"

    def _hear(self, _stream: str, lines: list[bytes]) -> None:
        self._tail.extend(text[-_TAIL:].decode("utf-8", "replace") for text in lines)

    def _verdict(self, now: float) -> Wait | Cut:
        facts = self._plan.facts(now, self._recorder.wall())._replace(check_began=self._began)
        return decide_check(self._recorder.state, facts)

    def _cutting(self, cut: Cut, _now: float) -> None:
        self._cut = cut
