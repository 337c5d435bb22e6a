"""Starts a run: every check first, then the lock, then the leftovers of a killed run, then the engine."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import NOT_ASKED
from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.agent.processes.leftovers import end_containers, end_marked
from claude_iterate.core.events import Warned
from claude_iterate.core.events.enums import ONE_OFF, Purpose, exit_code
from claude_iterate.core.redact import redactor_for
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.loop import Engine
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import AgentProblem
from claude_iterate.operations import permissions, run_checks, run_plan, sandboxing, worktree_of_run
from claude_iterate.operations.cassettes import Cassette, choose_cassette
from claude_iterate.operations.permissions import Permissions
from claude_iterate.operations.run_plan import Agent, plan_run
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.operations.user import User, ask_first_questions, save_answers, were_asked
from claude_iterate.sinks.console.console import Console
from claude_iterate.sinks.console.safe_stream import forces_color
from claude_iterate.sinks.fanout import Fanout, Sink
from claude_iterate.sinks.notifications.notifier import Notifier
from claude_iterate.sinks.text_log import TextLog
from claude_iterate.system.files import near
from claude_iterate.workspace import metadata, metadata_updates
from claude_iterate.workspace.inheritance import Inheritance, inherit
from claude_iterate.workspace.journal.writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import dry_run_files, run_folder, run_lock
from claude_iterate.workspace.run_folder.run_folder import RunFolder


class Performed(msgspec.Struct, frozen=True):
    """A run that is over. `agent_folder` is where the agent worked, `report` what a review or a validation wrote."""

    run: str
    state: RunState
    exit_code: int
    agent_folder: Path
    report: Path

    @property
    def said(self) -> str:
        """Claude's last words in a one-off call."""
        return self.state.one_off.text if self.state.one_off else ""


def launch(project: Project, layout: Layout, request: RunRequest, user: User) -> Performed:
    """A run of any purpose, from the checks to the end. Nothing is written before every check has passed."""
    settings = run_checks.settings_checked(project, layout, request, user)
    cassette = _cassette(project, layout, request)
    with contextlib.ExitStack() as stack:
        sandbox, agent = _claude(stack, project, layout, settings, request)
        asks = request.purpose == Purpose.RUN and not were_asked(layout)
        chosen = (
            None if request.checks_only else run_checks.missing_permissions(project, layout, settings, request, user)
        )
        answers = ask_first_questions(project, settings, user) if asks and chosen is not None else {}
        if request.checks_only:
            pass  # Claude is not called
        elif chosen is None:
            run_checks.refuse_doomed(project, layout, settings, request, agent.version)
        elif chosen.sandbox:
            settings = permissions.with_permissions(settings, chosen)
            sandbox, agent = _claude(stack, project, layout, settings, request)
        return _launch(project, layout, request, user, settings, sandbox, agent, chosen, answers, cassette)


def _cassette(project: Project, layout: Layout, request: RunRequest) -> Cassette | None:
    """The recorded run that is to be played, if one is."""
    if not request.cassette:
        return None
    return choose_cassette(project, layout, request.cassette, request.mode or metadata.read(layout.metadata).mode)


def _claude(
    stack: contextlib.ExitStack, project: Project, layout: Layout, settings: Settings, request: RunRequest
) -> tuple[Sandbox | None, Agent]:
    """The sandbox, if one is asked for, and the Claude that answers in it."""
    sandbox = None
    if settings.sandbox.kind != "none":
        elsewhere = worktree_of_run.is_asked(settings, request)
        sandbox = stack.enter_context(sandboxing.opened(project, layout, settings, request.dry_run, elsewhere))
    if request.checks_only:
        return sandbox, Agent("")
    if sandbox is None or not sandbox.is_container:
        return sandbox, _ask_claude(project, settings, sandbox)
    asking = replace(sandbox, run=f"version-{os.getpid()}")
    try:
        agent = _ask_claude(project, settings, asking)
    except AgentProblem:
        end_containers(sandbox.program, asking.run)  # it may have given no answer, and go on
        raise
    if agent.known is NOT_ASKED:
        end_containers(sandbox.program, asking.run)
    return sandbox, agent


def _ask_claude(project: Project, settings: Settings, sandbox: Sandbox | None) -> Agent:
    about = settings.claude, project.environ, project.root
    version = discovery.version(*about, sandbox=sandbox)
    return Agent(version, discovery.known_options(version, *about, sandbox))


def _launch(
    project: Project,
    layout: Layout,
    request: RunRequest,
    user: User,
    settings: Settings,
    sandbox: Sandbox | None,
    agent: Agent,
    chosen: Permissions | None,
    answers: dict[str, Any],
    cassette: Cassette | None,
) -> Performed:
    tree = worktree_of_run.found(project, layout, settings, request)
    with run_lock.hold(layout.lock, layout.name, "starting") as held:
        before = run_checks.may_go_on(layout, settings, request, _inherited(layout, request))
        if chosen is not None:
            settings = _with_answers(project, layout, request, user, chosen, answers)
        run_plan.tidy_up(layout, request.dry_run)
        run = run_plan.new_run_id(layout)
        held.record(run)
        if before.killed:
            end_marked(before.killed, sandbox.containers if sandbox is not None else "")
        used = dry_run_files.layout_for(layout, run) if request.dry_run else worktree_of_run.layout_in(layout, tree)
        plan = plan_run(project, used, settings, request, run, agent, before)
        plan = worktree_of_run.plan_in(plan, tree, request.held)
        plan = cassette.plan_in(plan) if cassette is not None else plan
        if sandbox is not None:
            plan = _boxed(plan, sandbox, layout, None if tree is None else tree.place)
        warnings = run_checks.warnings(project, layout, settings, request)
        warnings += run_checks.agent_warnings(settings, agent.version, agent.known)
        warnings += run_checks.trial_warning(layout, request, before)
        warnings += cassette.warnings(settings) if cassette is not None else []
        warnings += worktree_of_run.warnings(project, layout, tree, request)
        works_off_plan, writes = plan.mode.judged_by == "plan", request.purpose in {Purpose.SETUP, Purpose.EDIT}
        place = RunFolder(layout, run, held, plan.prompt_folders, works_off_plan, writes_instructions=writes)
        with user.steers(plan) as steered:
            state = _run(steered, request, warnings, user, place, cassette)
        worktree_of_run.put_away(tree, user)
    assert state.finished is not None
    detailed = request.detailed or settings.exit_codes == "detailed"
    code = exit_code(state.finished.reason, detailed, state.finished.known_by)
    return Performed(run, state, code, used.agent_folder, plan.report)


def _boxed(plan: RunSpec, sandbox: Sandbox, layout: Layout, place: Path | None) -> RunSpec:
    """The folder of all runs is made by now, and Claude has no business in it; `place` is the worktree."""
    sandbox = sandbox if place is None else sandboxing.with_folder(sandbox, place)
    kept = tuple(dict.fromkeys((*sandbox.kept, str(layout.runs))))
    closing = lambda: (*plan.closing(), *sandboxing.created(sandbox, layout.root))  # noqa: E731
    return replace(plan, sandbox=replace(sandbox, run=plan.run, kept=kept), closing=closing)


def _inherited(layout: Layout, request: RunRequest) -> Inheritance:
    mode = request.mode or metadata.read(layout.metadata).mode
    return inherit(layout, request.purpose, request.dry_run, mode)


def _with_answers(
    project: Project, layout: Layout, request: RunRequest, user: User, chosen: Permissions, answers: dict[str, Any]
) -> Settings:
    """The settings with the permissions that were missing, and what else was asked. Read again, because the lock was
    free while the questions were open: what another command set meanwhile wins."""
    settings = run_checks.settings_checked(project, layout, request, user)
    if permissions.are_decided(settings, project):
        user.note("The permissions were set by another command meanwhile; your answers were not saved.")
        return settings
    if request.purpose not in ONE_OFF:
        user.note(permissions.save(layout, chosen))
    if request.purpose == Purpose.RUN:
        save_answers(layout, answers)
        return request.settings_for(project, layout)
    return permissions.with_permissions(settings, chosen)


def _run(
    plan: RunSpec, request: RunRequest, warnings: list[Warned], user: User, place: RunFolder, cassette: Cassette | None
) -> RunState:
    run_plan.make_folders(plan.layout, plan.run, plan.settings.keep_raw_runs, plan.cassette)
    if cassette is not None:
        cassette.insert(plan)
    troubles: list[Warned] = []
    writer = JournalWriter(
        plan.layout.journal(plan.run),
        lambda text: troubles.append(Warned(text)),
        place.is_ours,
        lambda: place.note(run_folder.JOURNAL),
    )
    audience = sinks_for_run(plan, request, troubles, place)
    recorder = Recorder(writer, audience, redactor_for(plan.environ, plan.settings), troubles)
    writer.known = recorder.known
    try:
        return Engine(plan, recorder, audience, place, warnings).run(
            lambda state, running: metadata_updates.record_run(plan.layout, state, plan.run, running)
        )
    finally:
        audience.close()
        writer.close()
        troubles += [Warned(*news) for news in place.news()]
        for trouble in troubles:  # what went wrong after the last entry
            user.warn(trouble.text + (f"\n  {trouble.hint}" if trouble.hint else ""))


def sinks_for_run(plan: RunSpec, request: RunRequest, troubles: list[Warned], place: RunFolder) -> Fanout:
    """All sinks as one. What goes wrong in a sink becomes one of the `troubles`; the run goes on."""
    sinks: list[Sink] = [] if request.silent else [_console(plan, request)]
    try:
        log = TextLog(
            plan.log,
            lambda text: troubles.append(Warned(text)),
            attended=plan.settings.attended,
            is_ours=place.is_ours,
            on_put_back=lambda: place.note(run_folder.LOG),
        )
        sinks.insert(0, log)
    except OSError as error:
        troubles.append(Warned(f"There will be no log: {plan.log} cannot be written: {error.strerror}."))
    if plan.settings.notify.url:
        hint = f"Try it: claude-iterate notify test --workspace {plan.layout.name}"
        project = plan.layout.project.name
        sinks.append(Notifier(plan.settings, plan.environ, lambda text: troubles.append(Warned(text, hint)), project))

    def broken(sink: str, error: Exception) -> None:
        text = f"{sink} failed and is left out: {type(error).__name__}: {error}"
        troubles.append(Warned(text, "The run goes on without it."))

    return Fanout(sinks, broken)


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _console(plan: RunSpec, request: RunRequest) -> Console:
    """With `--json` standard output holds the document and nothing else."""
    return Console(
        sys.stderr if request.as_json else sys.stdout,
        sys.stderr,
        plan.settings.output,
        request.color and plan.settings.colors,
        # In attended mode the live line would cover the question.
        live=plan.environ.get("TERM") != "dumb" and not plan.settings.attended,
        columns=_columns,
        attended=plan.settings.attended,
        forced_color=forces_color(plan.environ),
        clock=not sys.stderr.isatty(),
        keys=plan.keys,
        program=plan.command_line.program if plan.detaches else (),
        is_there=os.path.isfile,
        place=near,
        stop=stop_settings(plan.settings, plan.mode.name),
    )
