"""Starts a run: every check first, then the lock, then the leftovers of a killed run, then the engine."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import asdict, replace

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import NOT_ASKED, Known
from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.agent.processes.leftovers import end_containers, end_marked
from claude_iterate.core.events import Warned
from claude_iterate.core.events.enums import Purpose, exit_code
from claude_iterate.core.redact import redactor_for
from claude_iterate.core.settings.declared import value_of
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine import trust
from claude_iterate.engine.loop import Engine
from claude_iterate.engine.prompt_texts import TextSource
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_request import PreparedRun, RunRequest
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.operations import isolation, run_checks
from claude_iterate.operations.cassettes import Cassette, choose_cassette
from claude_iterate.operations.playback import console_for
from claude_iterate.operations.project_commands import find_test_command
from claude_iterate.operations.user import User, ask_first_questions, save_answers
from claude_iterate.project.worktrees import Worktree
from claude_iterate.sinks.fanout import Fanout, Sink
from claude_iterate.sinks.notifier import Notifier
from claude_iterate.sinks.safe_stream import forces_color
from claude_iterate.sinks.text_log import TextLog
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_write_errors
from claude_iterate.workspace import creation, metadata, metadata_updates
from claude_iterate.workspace.inheritance import Inheritance, inherit
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_folder, run_lock
from claude_iterate.workspace.run_folder.run_folder import RunFolder


class RunResult(msgspec.Struct, frozen=True):
    """A run that is over. `agent_folder` is where the agent worked, `report` what a review or a validation wrote."""

    run: str
    state: RunState
    exit_code: int
    agent_folder: Path
    report: Path


class Agent(msgspec.Struct, frozen=True):
    """The Claude that a run calls: its version, the options that it knows, the sandbox and the worktree that it is
    in."""

    version: str
    known: Known = NOT_ASKED
    sandbox: Sandbox | None = None
    tree: Worktree | None = None


def launch(project: Project, layout: Layout, request: RunRequest, user: User) -> RunResult:
    """A run of any purpose, from the checks to the end. Nothing is written before every check has passed."""
    run = isolation.name_branch(run_checks.prepare(project, layout, request, user))
    if not request.dry_run:
        trust.require_trust(project, layout)
    cassette = choose_cassette(layout, request.cassette, run.mode.name) if request.cassette else None
    with contextlib.ExitStack() as stack:
        agent = _find_claude(stack, run)
        if run_checks.lacks_permissions(run) and user.can_answer:
            sandbox = run.settings.sandbox
            run = _ask(run, user)
            if run.settings.sandbox != sandbox:
                agent = _find_claude(stack, run)
        run_checks.require_permissions(run, agent.version)
        with run_lock.hold(layout.lock, layout.name, "starting") as held:
            inherited = inherit(layout, request.purpose, request.dry_run, run.mode.name)
            before = run_checks.check_breaker(run, inherited)
            return _start(run, held, agent, before, cassette, user)


def _find_claude(stack: contextlib.ExitStack, run: PreparedRun) -> Agent:
    """The Claude that answers, where it is to work, and in the sandbox that is asked for."""
    tree, about = isolation.find_worktree(run), (run.project, run.layout, run.settings, run.request.dry_run)
    sandbox = stack.enter_context(isolation.open_sandbox(*about, elsewhere=tree is not None))
    if run.request.checks_only:
        return Agent("", sandbox=sandbox, tree=tree)
    claude, asked = (run.settings.claude, run.project.environ, run.project.root), sandbox
    with contextlib.ExitStack() as afterwards:
        if sandbox is not None and sandbox.is_container:
            asked = replace(sandbox, run=f"version-{os.getpid()}")
            afterwards.callback(end_containers, sandbox.program, asked.run)  # it may have given no answer, and go on
        version = discovery.version(*claude, sandbox=asked)
        return Agent(version, discovery.known_options(version, *claude, asked), sandbox, tree)


def _ask(run: PreparedRun, user: User) -> PreparedRun:
    """The run with the user's answers, which are saved. Its settings are read again: what other commands set while the
    questions were open wins."""
    project, layout = run.project, run.layout
    asked = metadata.read(layout.metadata).asked
    permissions = run_checks.ask_for_permissions(run, user)
    others = ask_first_questions(project, run.settings, user) if not asked else {}
    with run_lock.hold(layout.lock, layout.name, "setup"):  # a run writes the same file
        now = run_checks.prepare(project, layout, run.request, user)
        decided = now.permissions.are_decided
        others = {key: value for key, value in others.items() if not value_of(now.settings, key)}
        save_answers(layout, others if decided else permissions | others)
    change = f"claude-iterate config -w {layout.name} claude.permission_mode MODE"
    saved = "Permissions were set meanwhile, so that answer was not saved" if decided else f"Saved for {layout.name}"
    user.note(f"{saved}. Change it: {change}")
    return run_checks.prepare(project, layout, run.request, user)


def _start(
    run: PreparedRun,
    held: run_lock.RunLock,
    agent: Agent,
    before: Inheritance,
    cassette: Cassette | None,
    user: User,
) -> RunResult:
    """The lock is held, so this run is the only one that writes here."""
    layout, request, tree = run.layout, run.request, agent.tree
    tidy_up(layout, request.dry_run)
    identity = new_run_id(layout)
    held.record(identity)
    if before.killed:
        end_marked(before.killed, agent.sandbox.containers if agent.sandbox is not None else "")
    used = creation.layout_of_dry_run(layout, identity) if request.dry_run else layout
    if tree is not None:  # Claude works there; all else of the workspace stays where it is
        used = replace(layout, root=tree.place, main=tree.main)
    spec = make_spec(replace(run, layout=used), identity, agent, before)
    if tree is not None:
        spec = replace(spec, tree=tree, opening=(*spec.opening, tree.make()))
    if cassette is not None:
        spec = cassette.play_in(spec)
    if agent.sandbox is not None:
        spec = isolation.enclose(spec, agent.sandbox)
    warnings = run_checks.warnings(run, before)
    warnings += run_checks.agent_warnings(run.settings, agent.version, agent.known)
    warnings += cassette.warnings(run.settings) if cassette is not None else []
    warnings += isolation.place_warnings(run, tree)
    works_off_plan, writes = run.mode.judged_by == "plan", request.purpose in {Purpose.SETUP, Purpose.EDIT}
    place = RunFolder(layout, identity, held, spec.texts.folders, works_off_plan, writes_instructions=writes)
    with user.steering(spec) as steered:
        state = _run_engine(steered, warnings, user, place, cassette)
    if tree is not None and (why := tree.remove()):
        user.warn(why)
    assert state.finished is not None
    code = exit_code(state.finished.reason, run.detailed_exit_code, state.finished.known_by)
    return RunResult(identity, state, code, used.agent_folder, spec.report)


def make_spec(run: PreparedRun, identity: str, agent: Agent, before: Inheritance) -> RunSpec:
    """What the run with this id is to do. It continues where `before` ended. Nothing is written."""
    project, layout, settings, request = run.project, run.layout, run.settings, run.request
    texts = TextSource(project, layout, settings, run.mode)
    if not settings.limits.calls_per_hour:  # calls of earlier runs count only if a pace is set
        before = replace(before, carried=replace(before.carried, calls=()))
    resumed = before.resumed
    if request.accept_changes:  # what earlier runs changed of the definition of the proof is forgotten
        resumed = replace(resumed, defined=None, changes=()) if resumed is not None else None
        carried = replace(before.carried, changes=(), refuses=False)
        before = replace(before, carried=carried, resumed=resumed, defined=None)
    elif resumed is not None:
        before = replace(before, defined=resumed.defined)
    name = request.report or settings.verification.report_filename  # a dry run writes it into its copy
    return RunSpec(
        **asdict(run),
        run=identity,
        texts=texts,
        max_iterations=texts.max_iterations,
        environ=dict(project.environ),
        report=layout.agent_folder / (Path(name).name if layout.dry_run_folder is not None else name),
        log=log_path(layout),
        agent_version=agent.version,
        known=agent.known,
        before=before,
        opening=(request.held,) if request.held is not None else (),
        test_command=find_test_command(settings, project.root),
    )


def tidy_up(layout: Layout, dry_run: bool) -> None:
    """Record how a killed last run ended, if it could not."""
    layout.abandoned(remove=True)
    with explain_write_errors(layout.name, layout.folder):
        metadata_updates.catch_up(layout)
        if not dry_run:
            creation.add_git_ignore(layout)  # a workspace of the original has none


def new_run_id(layout: Layout) -> str:
    """The id of the next run."""
    return layout.next_run_id(f"{datetime.now(UTC):%Y%m%d-%H%M%S}")


def log_path(layout: Layout) -> Path:
    """Named after the local time at which the run begins; a second run in that second gets `-2`."""
    stem = datetime.now().astimezone().strftime("iterate-%Y%m%d-%H%M%S")
    path, number = layout.folder / f"{stem}.log", 2
    while untrusted_files.exists(path):
        path, number = layout.folder / f"{stem}-{number}.log", number + 1
    return path


def make_folders(layout: Layout, run: str, keep_raw_runs: int, played: str = "") -> None:
    """Make the folders of this run, and delete what Claude printed in old runs and what the fake wrote there; not in
    the run that is `played`."""
    with explain_write_errors(layout.name, layout.folder):
        untrusted_files.make_folder(Path(layout.raw(run, "")).parent, parents=True)
        if layout.dry_run_folder is not None:
            creation.copy_for_dry_run(layout)
    runs = layout.run_ids()
    scratches = [layout.scratch(before) for before in runs[-2:-1]]  # it may have been killed during a verification
    for folder in (*scratches, *_old_outputs(layout, runs, keep_raw_runs, played)):
        untrusted_files.remove_folder(folder, ignore_errors=True)


def _old_outputs(layout: Layout, runs: list[str], keep: int, played: str) -> list[Path]:
    """What Claude printed in all runs but the last `keep`, and copies of dry runs. Dry runs are counted apart: however
    many there are, a real night stays."""
    kept = [run for run in runs if untrusted_files.exists(layout.runs / run / "raw")]
    dry = [run for run in kept if untrusted_files.exists(layout.dry_run_copy(run))]
    real = sorted(set(kept).difference(dry))
    old = [run for run in (*real[:-keep], *dry[:-keep]) if run != played]
    return [folder for run in old for folder in (layout.runs / run / "raw", layout.dry_run_copy(run))]


def _run_engine(
    spec: RunSpec, warnings: list[Warned], user: User, place: RunFolder, cassette: Cassette | None
) -> RunState:
    make_folders(spec.layout, spec.run, spec.settings.keep_raw_runs, spec.cassette)
    if cassette is not None:
        cassette.insert(spec)
    troubles: list[Warned] = []

    def warn(text: str, hint: str = "") -> None:
        troubles.append(Warned(text, hint))

    writer = JournalWriter(spec.layout.journal(spec.run), warn, place.is_ours, lambda: place.note(run_folder.JOURNAL))
    sinks = _sinks_for_run(spec, warn, place)
    recorder = Recorder(writer, sinks, redactor_for(spec.environ, spec.settings), troubles)
    try:
        return Engine(spec, recorder, place, warnings).run()
    finally:
        sinks.close()
        writer.close()
        troubles += [Warned(*news) for news in place.news()]
        for trouble in troubles:  # what went wrong after the last entry
            user.warn(recorder.redactor.clean(trouble.text + (f"\n  {trouble.hint}" if trouble.hint else "")))


def _sinks_for_run(spec: RunSpec, warn: Callable[[str, str], None], place: RunFolder) -> Fanout:
    """All sinks as one. What goes wrong in a sink becomes a warning; the run continues."""
    settings, request, sinks = spec.settings, spec.request, list[Sink]()
    try:
        log = TextLog(
            spec.log,
            lambda text: warn(text, ""),
            attended=settings.attended,
            is_ours=place.is_ours,
            on_put_back=lambda: place.note(run_folder.LOG),
        )
        sinks.append(log)
    except OSError as error:
        warn(f"There will be no log: {spec.log} cannot be written: {error.strerror}.", "")
    if not request.silent:
        console = console_for(
            settings,
            spec.mode.name,
            sys.stderr if request.as_json else sys.stdout,  # with --json it holds the document and nothing else
            sys.stderr,
            spec.environ,
            color=request.color and settings.colors,
            forced_color=forces_color(spec.environ),
            keys=spec.user.keys,
            program=request.command_line.program if spec.user.detaches else (),
        )
        sinks.append(console)
    if settings.notify.url:
        hint = f"Try it: claude-iterate notify test --workspace {spec.layout.name}"
        sinks.append(Notifier(settings, spec.environ, lambda text: warn(text, hint), spec.layout.project.name))

    def report_failure(sink: str, error: Exception) -> None:
        text = f"{sink} failed and is left out: {type(error).__name__}: {error}"
        warn(text, "The run continues without it.")

    return Fanout(sinks, report_failure)
