"""One call of Claude, whatever it is for: the command, the conversation, the events. Its evidence is in the state."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from claude_iterate.agent.command import command_line, discovery
from claude_iterate.agent.command.command_line import ReadOnlyCall, call_environment, system_prompt_words
from claude_iterate.agent.command.sandbox import Command
from claude_iterate.agent.processes.child import ChildProcess, Printed, Recording
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.agent.protocol.usage import Used
from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.outcomes.call import Call, busy_with
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.core.outcomes.denials import Granted
from claude_iterate.core.outcomes.evidence import Evidence
from claude_iterate.core.rules.breaker import budget
from claude_iterate.core.rules.during import decide_running
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.core.rules.waits import retry_if_temporary
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import AgentProblem, ExpectedError
from claude_iterate.system import untrusted_files

_SUSPENDED = 2.5
"""The engine looks once a second; a longer gap means that it could not."""


def call_claude(
    supervisor: Supervisor,
    system: str,
    prompt: bytes,
    raw_name: str,
    session: str | None = None,
    read_only: ReadOnlyCall | None = None,
    listen: Callable[[Sequence[events.Event]], None] = lambda _printed: None,
) -> None:
    """Call Claude once, and stay until it is gone. An AgentProblem when it cannot even be started.

    `session` and `read_only` as in `command_line.arguments`; reviews and one-off calls always have fresh context.
    `listen` gets what Claude prints, as it was recorded.
    """
    spec, layout, recorder = supervisor.spec, supervisor.spec.layout, supervisor.recorder
    last_heard = last_look = recorder.now()
    sizes = {"stdout": 0, "stderr": 0}

    def on_output(printed: Printed) -> None:
        nonlocal last_heard
        last_heard = recorder.now()
        sizes[printed.stream] += printed.size
        listen(recorder.record_printed(printed.events))

    def verdict(now: float) -> Wait | Cut:
        nonlocal last_heard, last_look
        if now - last_look > _SUSPENDED:
            # We were stopped (Ctrl-Z) or starved; Claude may have talked all the while.
            last_heard = now
        last_look = now
        state = recorder.state
        found = decide_running(state, replace(supervisor.facts(), now=now, last_heard=last_heard))
        if isinstance(found, Cut):
            busy = busy_with(state.call, now) if state.call else ""
            recorder.record(events.CutStarted(found.cause, busy, found.after))
        return found

    before = recorder.state.session
    resumed = Used(before.session_cost_usd, before.session_tokens) if session else None
    read = Translator(resumed, paid=not spec.request.dry_run, redactor=recorder.redactor).read
    path = layout.raw(spec.run, raw_name)
    with _open_recording(path) as raw, system_prompt_words(system, f"{path}.system.md") as words:
        command = _command(supervisor, words, session, read_only)
        with _open_recording(layout.sent(spec.run, raw_name)) as kept, contextlib.suppress(OSError):
            if kept is not None:
                kept.write(prompt)
        process = ChildProcess(
            command, layout.root, prompt, raw, supervisor.post, read, in_own_sandbox=spec.in_own_sandbox
        )
        last_heard = last_look = recorder.now()
        recorder.record(events.AgentStarted(process.pid, raw_name))
        code = supervisor.attend(process, verdict, on_output)
        recorder.record(events.AgentExited(code, sizes["stdout"], sizes["stderr"]))


def _command(
    supervisor: Supervisor, system_prompt: list[str], session: str | None, read_only: ReadOnlyCall | None
) -> Command:
    spec, claude = supervisor.spec, supervisor.spec.settings.claude
    argv = command_line.arguments(
        claude,
        system_prompt,
        skip_permissions=spec.request.skip_permissions,
        budget_usd=budget(supervisor.recorder.state, supervisor.facts()),
        session=session,
        read_only=read_only,
        known=spec.known,
        folders=spec.layout.beside,
        mode="" if spec.permissions.mode_is_decided else "default",
    )
    environment = call_environment(spec.environ, claude, spec.run, spec.layout.agent_folder)
    return discovery.prepare(argv, environment, spec.layout.root, spec.sandbox, given=claude.env)


def outcome_of_problem(recorder: Recorder, problem: ExpectedError) -> events.Outcome:
    """The class of a call that could not be made: Claude or the instructions went away in mid-run, or a prompt was
    edited into nonsense."""
    outcome = events.Outcome(Kind.CONFIG, problem.message, problem.hint, called=False)
    return retry_if_temporary(outcome, recorder.state) if isinstance(problem, AgentProblem) else outcome


def outcome_of_call(supervisor: Supervisor, *, wrote_report: bool) -> events.Outcome:
    """The class of the call that just ended."""
    spec, recorder = supervisor.spec, supervisor.recorder
    claude, root = spec.settings.claude, str(spec.layout.root)
    granted = Granted(
        spec.layout.name,
        "bypassPermissions" if spec.request.skip_permissions else claude.permission_mode or "",
        claude.allowed_tools,
        # How Claude may write the project's folder: as it was given, and without links.
        (root, os.path.realpath(root)),
        shlex.join(spec.request.command_line.program),
        str(spec.tree.main) if spec.tree is not None else "",
    )
    call, patterns = recorder.state.call or Call(0, 0.0), spec.settings.limits.patterns
    outcome = classify(Evidence(call, wrote_report, recorder.wall_time(), patterns, granted))
    return retry_if_temporary(outcome, recorder.state) if outcome.kind == Kind.AUTH else outcome


def _open_recording(path: str) -> contextlib.AbstractContextManager[BinaryIO | None]:
    """The file that keeps what Claude prints; None when it cannot be made: the call matters more. Its folder is made
    again if it was deleted."""
    with contextlib.suppress(OSError):
        untrusted_files.make_folder(Path(path).parent)
        return Recording(path)
    return contextlib.nullcontext()
