"""What is checked before a run: some things refuse it, some only warn. Nothing is written here."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.command_line import Known, tuning
from claude_iterate.agent.command.permissions import read_permissions
from claude_iterate.agent.command.sandbox_host import probe
from claude_iterate.core import claude_versions
from claude_iterate.core.events import Warned
from claude_iterate.core.events.enums import ONE_OFF, Purpose, exit_code
from claude_iterate.core.formats import duration
from claude_iterate.core.rules import breaker
from claude_iterate.core.rules.next_steps import ACCEPT, CommandLine
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.tones import CHANGED, UNPROVEN
from claude_iterate.engine.prompt_texts import read_instructions
from claude_iterate.engine.run_request import PreparedRun, RunRequest
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.operations.project_commands import detect
from claude_iterate.operations.user import User
from claude_iterate.views.story import RunRecords
from claude_iterate.views.workspace_view import WorkspaceState
from claude_iterate.workspace import journal_reader, metadata, plan_file, task_file
from claude_iterate.workspace.inheritance import Inheritance
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.plan_file import refuse_bad_plan
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes, run_lock


def prepare(project: Project, layout: Layout, request: RunRequest, user: User) -> PreparedRun:
    """The run with its settings, which are resolved here and nowhere else; an ExpectedError for what makes it
    impossible."""
    if request.purpose != "setup":
        read_instructions(layout)
    configured = project.settings_for(layout, request.layer).settings
    settings, mode = request.apply_to(configured), request.mode_for(layout)
    if request.purpose == "run":
        refuse_bad_plan(layout, mode)
    _refuse_path_not_utf8(project)
    if request.checks_only and not settings.verification.checks:
        raise UsageProblem(
            "There are no checks, so --checks-only would prove nothing.",
            f"Add one, for example: {CommandLine(workspace=layout.name).add_check()}",
        )
    if settings.attended and request.purpose == "run" and not user.can_answer:
        raise UsageProblem(
            "Attended mode asks before each iteration, and there is no terminal to ask on.",
            "Run it on a terminal, or without --attended (setting `attended`).",
        )
    permissions = read_permissions(settings.claude, project.environ, project.root)
    if request.purpose in ONE_OFF and not permissions.are_decided:
        # A call that grades only looks; the others have to write a text.
        kind = "default" if request.purpose == "validate" else "acceptEdits"
        return prepare(project, layout, request.with_settings({"claude.permission_mode": kind}), user)
    return PreparedRun(project, layout, request, configured, settings, mode, permissions)


def _refuse_path_not_utf8(project: Project) -> None:
    """Prompts name paths in UTF-8; any other path would reach Claude damaged."""
    path = str(project.root)
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        readable = path.encode("utf-8", "backslashreplace").decode()
        raise WorkspaceProblem(f"The project's path is not valid UTF-8: {readable}", "Rename the folder.") from None


def lacks_permissions(run: PreparedRun) -> bool:
    """Nothing decides what Claude may do in a run that works on the task."""
    return run.request.is_real_run and not (run.permissions.are_decided or run.request.skip_permissions)


def ask_for_permissions(run: PreparedRun, user: User) -> dict[str, Any]:
    """The user's answer as settings. The lock is not held meanwhile: an open question must not block other commands."""
    run_lock.refuse_if_held(run.layout.lock, run.name)
    # The sandbox that can be offered: the one that the settings name, or bwrap where it works.
    sandbox = run.settings.sandbox.kind
    if sandbox == "none":
        sandbox = "" if probe("bwrap", run.project.environ).problem else "bwrap"
    return user.choose_permissions(detect(run.project.root).suggested, sandbox)


def require_permissions(run: PreparedRun, version: str) -> None:
    """A UsageProblem for a run that could write nothing: it would pay for iterations in which all is denied.

    Only Claude Code is judged. A program of the user's own in `claude.command` may allow what it likes; it is warned
    about.
    """
    if not lacks_permissions(run):
        return
    name, program = run.name, run.settings.claude.command
    # The program itself, or the shim of a version manager that calls it.
    if len(program) > 1 or Path(program[0]).name != "claude" or not claude_versions.is_claude_code(version):
        return
    raise UsageProblem(
        "No permissions are configured, so Claude would be denied every edit and command. Nothing was started.",
        f"Decide: claude-iterate run {name} --permission-mode acceptEdits (for commands --allow 'Bash(npm test:*)');"
        f" or for good: claude-iterate config -w {name} claude.permission_mode acceptEdits",
    )


def warnings(run: PreparedRun, before: Inheritance) -> list[Warned]:
    """What the user should know before the run; it begins all the same."""
    request, settings = run.request, run.settings
    found = []
    why = "" if request.skip_permissions else run.permissions.unrestricted
    boxed = settings.sandbox.kind != "none" and not request.dry_run and bool(request.skip_permissions or why)
    if request.checks_only or boxed:
        pass  # Claude is not called, or the sandbox is what the warning asks for
    elif request.skip_permissions or (why and not request.dry_run):
        off = f"Permission checks are off{f' ({why})' if why else ''}: Claude can run any command."
        found.append(Warned(f"{off} Use this only in a disposable sandbox."))
    elif request.purpose != "verify" and not request.dry_run and not run.permissions.are_decided:
        text = "No permissions are configured, so Claude will be denied every edit and command."
        hint = "Allow some: --permission-mode acceptEdits, --allow 'Bash(npm test:*)', or"
        found.append(Warned(text, f"{hint} --dangerously-skip-permissions."))
    unlimited = settings.max_iterations == 0 and not (settings.limits.max_cost_usd or settings.limits.max_duration)
    if unlimited and request.purpose == "run":
        hint = "Set a limit: --max-iterations, --max-cost or --max-duration."
        found.append(Warned("This run has no limit.", hint))
    proves = request.purpose in {"run", "verify"} and request.command_line.verb != "plan"
    if request.dry_run and not request.cassette and proves and run.configured.verification.checks:
        hint = "The stand-in for Claude does no work, so their result would say nothing about it."
        found.append(Warned("This is a dry run: checks are not run.", hint))
    if problem := notes.trouble(run.layout):
        found.append(Warned(f"Notes do not reach Claude: {problem}.", f"Fix that in {run.layout.folder}"))
    if before.trip is not None and request.is_real_run:
        hint = "stop.cooldown is over, so one trial iteration is allowed. If it makes no progress, the run ends."
        found.append(Warned(breaker.refusal(run.name, before.trip), hint))
    return found


def agent_warnings(settings: Settings, version: str, known: Known) -> list[Warned]:
    """That Claude Code is too old, or does not know what a setting needs. The run continues without it."""
    found = []
    if claude_versions.is_older(version):
        text = f"{version} is older than {claude_versions.OLDEST}, the oldest that claude-iterate was tested with."
        found.append(Warned(text, "Update it: claude update"))
    for option in tuning(settings.claude):
        if known.lacks(option):
            key = "claude." + option.removeprefix("--").replace("-", "_")
            text = f"This Claude does not know {option}, so {key} has no effect."
            found.append(Warned(text, "Update it: claude update"))
    return found


def check_breaker(run: PreparedRun, before: Inheritance) -> Inheritance:
    """What the run takes over, if it may begin. Only `run` is refused: all other commands look, or change the task."""
    if not run.request.is_real_run:
        return before
    _refuse_plan_of_another_task(run)
    if run.request.reset:
        return replace(before, reset_by="run")
    trip = before.trip
    left = breaker.cooldown_left(trip, run.settings.stop.cooldown, time.time()) if trip is not None else None
    if trip is None or (left is not None and left <= 0):
        return before
    hint = f"Continue: {run.command_line.repeat(('--reset',))}"
    if left is not None:
        hint += f" One trial iteration is allowed in {duration(left)} (stop.cooldown)."
    refused = WorkspaceProblem(breaker.refusal(run.name, trip), hint)
    refused.exit_code = exit_code(trip.reason, run.detailed_exit_code)
    raise refused


def _refuse_plan_of_another_task(run: PreparedRun) -> None:
    """A plan belongs to the instructions that it was made for. One that no run made belongs to any."""
    if run.mode.name != "build" or run.request.accept_changes:
        return
    if task_file.is_another(run.layout.instructions, _planned_for(run.layout)):
        again = run.request.command_line.command("plan", run.name)
        raise WorkspaceProblem(
            f"The plan of {run.name} was made for different instructions.",
            f"Plan again: {again}; or use it anyway: {run.command(ACCEPT)}",
        )


def _planned_for(layout: Layout) -> str:
    """The identity of the instructions that the last plan was made for; empty when that is not known."""
    for run in reversed(layout.run_ids()):
        started = journal_reader.beginning(layout.journal(run))
        if started is not None and started.mode == "plan" and started.purpose == "run" and not started.dry_run:
            ended = journal_reader.fold_journal(layout, run).finished
            if ended is not None and ended.reason == "completed":
                return ended.task
    return ""


class CompletedTask(msgspec.Struct, frozen=True):
    """The run that completed the task, how long ago in seconds and how that is known, as far as it is. A run that
    leaves the task ends with the exit code of that run."""

    run: str
    ago: float | None
    known_by: str | None = None
    exit_code: int = 0


def find_completed(layout: Layout) -> CompletedTask | None:
    """How the task was completed; None when it was not, or when its instructions were changed since: that is a new
    task."""
    found = WorkspaceState.load(metadata.read(layout.metadata), RunRecords(layout))
    run = found.about.run
    if found.status != "completed" or run.reason != "completed":
        return None
    try:
        ago = max(0.0, time.time() - datetime.fromisoformat(str(run.finished)).timestamp())
    except ValueError:
        ago = None
    return CompletedTask(run.id, ago, found.known_by)


def find_to_leave(project: Project, layout: Layout, request: RunRequest) -> CompletedTask | None:
    """The completed task, if this run is not to work on it again."""
    if request.dry_run or request.again or not task_file.is_readable(layout.instructions):
        return None  # a run says what is wrong with the instructions
    done, mode = find_completed(layout), request.mode_for(layout)
    if done is None or mode.makes_plan:
        return None
    settings = request.settings_for(project, layout)
    if mode.judged_by == "plan":
        plan = plan_file.read_plan(layout)
        if plan.left or not plan.tasks or settings.verification.checks:
            return None
    detailed = request.detailed or settings.exit_codes == "detailed"
    return replace(done, exit_code=exit_code("completed", detailed, done.known_by))


def leave_completed(project: Project, layout: Layout, request: RunRequest, user: User) -> CompletedTask | RunRequest:
    """The completed task, if this run is not to work on it again; then the user hears how to, or how to prove it. Else
    the request. For `run --accept-changes` of a completed task whose proof was changed, that of `verify`: nothing is
    left to do but to run the checks."""
    done = find_to_leave(project, layout, request)
    if done is None:
        return request
    line = request.command_line.of("run", layout.name)
    checks = project.settings_for(layout, request.layer).settings.verification.checks
    if request.accept_changes and done.known_by == CHANGED and checks:
        options = (option for option in line.options if option[0] in {"--worktree", ACCEPT})
        line = replace(request.command_line, verb="", options=(("--checks-only",), *options))
        return replace(request, purpose=Purpose.VERIFY, checks_only=True, command_line=line)
    again = f"To run it again: {line.command(line.verb, layout.name, '--again')}"
    completed = f"{layout.name} was completed{'' if done.ago is None else f' {duration(done.ago)} ago'}"
    if done.known_by == CHANGED or (done.known_by in UNPROVEN and checks):
        accept = (ACCEPT,) if done.known_by == CHANGED else ()
        verify = line.about("verify", *(("--checks-only",) if checks else ()), *accept)
        user.note(f"{completed} ({UNPROVEN[done.known_by]}). Prove it: {verify}\n  {again}")
    else:
        user.note(f"{completed}: nothing to do. {again}")
    return done
