"""One call of Claude, whatever it is for: the command, the conversation, the events. Its evidence is in the state."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from claude_iterate.agent.command import command_line, discovery
from claude_iterate.agent.command.command_line import Looking, file_if_long
from claude_iterate.agent.command.environment import call_environment
from claude_iterate.agent.command.sandbox import Command
from claude_iterate.agent.processes.child import ChildProcess, Printed, Recording
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.agent.protocol.usage import Used
from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.core.outcomes.evidence import Evidence, Granted
from claude_iterate.core.rules.absence import patiently
from claude_iterate.core.rules.breaker import budget
from claude_iterate.core.rules.during import decide_running
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.core.state.call_state import Call, busy_with
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.supervisor import ProcessCallbacks, Supervisor
from claude_iterate.engine.time_zones import zone
from claude_iterate.errors import AgentProblem, ExpectedError

_SUSPENDED = 2.5
"""The engine looks once a second; a longer gap means that it could not."""


class AgentCall:
    """Calls Claude once and stays until it is gone. `look` gets what it prints."""

    def __init__(
        self,
        plan: RunSpec,
        recorder: Recorder,
        supervisor: Supervisor,
        look: Callable[[Sequence[events.Event]], None] = lambda _printed: None,
    ) -> None:
        self._plan = plan
        self._look = look
        self._recorder = recorder
        self._supervisor = supervisor
        self._last_heard = self._last_look = 0.0
        self._printed = {"stdout": 0, "stderr": 0}

    def make(
        self, system: str, prompt: bytes, raw_name: str, session: str | None = None, looking: Looking | None = None
    ) -> None:
        """From the start of the process to its end. An AgentProblem when it cannot even be started.

        `session` and `looking` as in `command_line.arguments`; reviews and one-off calls always have fresh context.
        """
        before = self._recorder.state.session
        resumed = Used(before.session_cost_usd, before.session_tokens) if session else None
        read = Translator(resumed, paid=not self._plan.dry_run).read
        path = self._plan.layout.raw(self._plan.run, raw_name)
        with _raw(path) as raw, file_if_long(system, f"{path}.system.md") as file:
            command = self._command(system, file, session, looking)
            root = self._plan.layout.root
            try:
                process = ChildProcess(
                    command, root, prompt, raw, self._supervisor.post, read, closed_in=self._plan.closed_in
                )
            finally:
                self._keep(prompt, raw_name)  # not before: Claude starts meanwhile
            self._last_heard = self._last_look = self._recorder.elapsed()
            self._recorder.record(events.AgentStarted(process.pid))
            code = self._supervisor.attend(process, ProcessCallbacks(self._on_output, self._verdict, self._cutting))
            self._recorder.record(events.AgentExited(code, self._printed["stdout"], self._printed["stderr"]))

    def _keep(self, prompt: bytes, raw_name: str) -> None:
        with _raw(self._plan.layout.sent(self._plan.run, raw_name)) as kept:
            if kept is not None:
                with contextlib.suppress(OSError):
                    kept.write(prompt)

    def _command(self, system: str, file: Path | None, session: str | None, looking: Looking | None) -> Command:
        plan = self._plan
        claude = plan.settings.claude
        facts = plan.facts(self._recorder.elapsed(), self._recorder.wall())
        spendable = budget(self._recorder.state, facts)
        argv = command_line.arguments(
            claude,
            system,
            file,
            skip_permissions=plan.skip_permissions,
            budget_usd=spendable,
            session=session,
            looking=looking,
            known=plan.known,
            folders=plan.layout.beside,
            mode=plan.permission_mode,
        )
        environment = call_environment(plan.environ, claude, plan.run, plan.layout.agent_folder)
        return discovery.prepare(argv, environment, plan.layout.root, plan.sandbox, given=claude.env)

    def _on_output(self, printed: Printed) -> None:
        self._last_heard = self._recorder.elapsed()
        self._printed[printed.stream] += printed.size
        self._recorder.record_printed(printed.events)
        self._look(printed.events)

    def _verdict(self, now: float) -> Wait | Cut:
        if now - self._last_look > _SUSPENDED:
            # We were stopped (Ctrl-Z) or starved; Claude may have talked all the while.
            self._last_heard = now
        self._last_look = now
        facts = replace(self._plan.facts(now, self._recorder.wall()), last_heard=self._last_heard)
        return decide_running(self._recorder.state, facts)

    def _cutting(self, verdict: Cut, now: float) -> None:
        call = self._recorder.state.call
        self._recorder.record(events.CutStarted(verdict.cause, busy_with(call, now) if call else "", verdict.after))


def evidence(
    call: Call | None, *, wrote_report: bool, now: float, patterns: tuple[str, ...], granted: Granted
) -> Evidence:
    """What the state knows of the call that just ended."""
    if call is None:
        return Evidence()
    return Evidence(
        result=call.result,
        exit_code=call.exit_code or 0,
        cut=call.cut,
        rejected=call.rejected,
        error_said=call.error_said,
        error_sort=call.error_sort,
        stderr=call.stderr,
        wrote_status=wrote_report,
        now=now,
        zones=zone,
        patterns=patterns,
        resumed=bool(call.resumes),
        began=bool(call.session),
        retrying=call.retrying,
        granted=granted,
    )


def outcome_of_problem(recorder: Recorder, problem: ExpectedError) -> events.Outcome:
    """The class of a call that could not be made: Claude or the instructions went away in mid-run, or a prompt was
    edited into nonsense."""
    outcome = events.Outcome(Kind.CONFIG, problem.message, problem.hint, called=False)
    return patiently(outcome, recorder.state) if isinstance(problem, AgentProblem) else outcome


def outcome_of_call(plan: RunSpec, recorder: Recorder, *, wrote_report: bool) -> events.Outcome:
    """The class of the call that just ended."""
    call, patterns = recorder.state.call, plan.settings.limits.patterns
    outcome = classify(
        evidence(call, wrote_report=wrote_report, now=recorder.wall(), patterns=patterns, granted=_granted(plan))
    )
    return patiently(outcome, recorder.state) if outcome.kind == Kind.AUTH else outcome


def _granted(plan: RunSpec) -> Granted:
    claude, root = plan.settings.claude, plan.layout.root
    mode = "bypassPermissions" if plan.skip_permissions else claude.permission_mode or ""
    program = shlex.join(plan.command_line.program)
    return Granted(plan.layout.name, mode, claude.allowed_tools, _spellings(str(root)), program)


@lru_cache(maxsize=1)
def _spellings(root: str) -> tuple[str, str]:
    """How Claude may write the project's folder: as it was given, and without links."""
    return root, os.path.realpath(root)


def _raw(path: str) -> contextlib.AbstractContextManager[BinaryIO | None]:
    """The file that keeps what Claude prints; None when it cannot be made: the call matters more. Its folder is made
    again if it was deleted."""
    with contextlib.suppress(OSError):
        try:
            return Recording(path)
        except FileNotFoundError:
            Path(path).parent.mkdir()
            return Recording(path)
    return contextlib.nullcontext()
