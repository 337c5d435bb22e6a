"""A check of the user's: a shell command that must succeed before a claim of completion counts."""

from __future__ import annotations

from claude_iterate.core.events import CheckFinished
from claude_iterate.core.events.vocabulary import Cause
from claude_iterate.core.rules.during import decide_check
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.shell_command import CommandEnd, ShellCommand
from claude_iterate.engine.supervision import Supervisor


class Check:
    """Runs one check. It is red unless it is known to have ended with 0."""

    def __init__(self, plan: Plan, recorder: Recorder, supervisor: Supervisor, line: str) -> None:
        self._plan = plan
        self._recorder = recorder
        self._line = line
        self._began = recorder.elapsed()
        self._command = ShellCommand(plan, supervisor, line, self._verdict)

    def run(self) -> str:
        """What it found, for the next prompt; empty when it is green."""
        end = self._command.run()
        failed = end.problem or end.cut is not None
        self._recorder.record(
            CheckFinished(
                command=self._line,
                code=None if failed else end.code,
                duration=self._recorder.elapsed() - self._began,
                output=end.problem or end.output,
                cut=end.cut.cause if end.cut else "",
            )
        )
        if end.problem:
            return f"The check `{self._line}` could not be started: {end.problem}"
        if not failed and end.code == 0:
            return ""
        return f"The check `{self._line}` {_how(end)}. The end of its output:\n{end.output}"

    def _verdict(self, now: float) -> Wait | Cut:
        facts = self._plan.facts(now, self._recorder.wall(), check_began=self._began)
        return decide_check(self._recorder.state, facts)


def _how(end: CommandEnd) -> str:
    if end.cut is None:
        return f"failed with exit code {end.code}"
    return f"did not end within {end.cut.after:.0f} seconds" if end.cut.cause == Cause.TIMEOUT else "was stopped"
