"""Starts a run: every check first, then the lock, then the sinks (built here and nowhere else), then the engine."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from claude_iterate.agent.command import discovery
from claude_iterate.agent.processes import leftover_processes
from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.cli.terminal import attended, permission_question, person
from claude_iterate.core.events import Warned
from claude_iterate.core.events.reasons import exit_code
from claude_iterate.core.secrets.redact import redactor_for
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.layers import Layer
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.clock import SystemClock
from claude_iterate.engine.loop import Engine
from claude_iterate.engine.plan import ERRANDS, Plan
from claude_iterate.engine.prompt_texts import TextSource, read_instructions
from claude_iterate.engine.recorder import Recorder
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.sinks.console.console import Console
from claude_iterate.sinks.fanout import Fanout
from claude_iterate.sinks.log.text_log import TextLog
from claude_iterate.sinks.sink import Sink
from claude_iterate.workspace import leftover_files, metadata
from claude_iterate.workspace.files import folders
from claude_iterate.workspace.journal.writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import dry_run_files, summary
from claude_iterate.workspace.lifecycle.inheritance import inherit
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import notes, run_lock
from claude_iterate.workspace.settings_files import settings_reader


@dataclass(frozen=True)
class Options:
    """What the command line says beyond settings."""

    flags: Layer
    allow: tuple[str, ...] = ()
    skip_permissions: bool = False
    dry_run: bool = False
    detailed: bool = False
    as_json: bool = False
    color: bool = True
    purpose: str = "run"
    report: str = ""
    errand: Mapping[str, str] = field(default_factory=dict)


class Performed(NamedTuple):
    """A run that is over."""

    run: str
    state: RunState
    exit_code: int


def launch(project: Project, name: str, options: Options) -> int:
    """Run the workspace to its end; the exit code. Nothing is written before every check has passed."""
    layout = project.layout(name)
    read_instructions(layout)
    done = perform(project, layout, options)
    if options.as_json:
        output.document(
            {"workspace": name, "exitCode": done.exit_code, **summary.projected(done.state, done.run, running=False)}
        )
    return done.exit_code


def perform(project: Project, layout: Layout, options: Options) -> Performed:
    """A run of any purpose, from the checks to the end."""
    settings = _settings(project, layout, options)
    if options.dry_run:
        settings = with_fake(settings)
    _refuse_unspeakable(project.root)
    if settings.attended and options.purpose == "run":
        attended.refuse_without_terminal()
    version = discovery.version(settings.claude, project.environ, project.root)
    with run_lock.hold(layout.lock, layout.name, "starting") as held:
        if options.purpose in ERRANDS:
            settings = _may_write(project, settings)
        elif not options.dry_run and not options.skip_permissions and on_terminal():
            permission_question.ask_and_save(project, layout, settings)
            settings = _settings(project, layout, options)
        _tidy_up(layout, options)
        run = new_run_id(layout)
        held.record(run)
        plan = _plan(project, layout, settings, options, run, version)
        try:
            with person.at_terminal(plan) as heeding:
                state = _run(heeding, options, _warnings(project, layout, settings, options))
        finally:
            if options.dry_run:
                with contextlib.suppress(OSError):
                    dry_run_files.end(layout)
    assert state.finished is not None
    detailed = options.detailed or settings.exit_codes == "detailed"
    return Performed(run, state, exit_code(state.finished.reason, detailed))


def new_run_id(layout: Layout) -> str:
    """The name of the next run. The lock must be held."""
    return layout.next_run_id(f"{datetime.now(UTC):%Y%m%d-%H%M%S}")


def _refuse_unspeakable(root: Path) -> None:
    """Claude is told paths in UTF-8; one that cannot be written so would reach it mutilated."""
    try:
        str(root).encode("utf-8")
    except UnicodeEncodeError:
        raise WorkspaceProblem(
            f"The project's path is not valid UTF-8: {str(root).encode('utf-8', 'backslashreplace').decode()}",
            "Rename the folder.",
        ) from None


def _tidy_up(layout: Layout, options: Options) -> None:
    """A dry run leaves no trace for a real one; and how the last run ended is written down, if it was killed too early
    to do so."""
    leftover_files.remove_abandoned_files(layout)
    try:
        summary.catch_up(layout)
        if options.dry_run:
            dry_run_files.begin(layout)
        else:
            dry_run_files.clear_away(layout)
    except OSError as error:
        raise _unwritable(layout, error) from None


def _settings(project: Project, layout: Layout, options: Options) -> Settings:
    settings = project.settings_for(layout, options.flags).settings
    if options.allow:
        allowed = (*settings.claude.allowed_tools, *options.allow)
        settings = dataclasses.replace(settings, claude=dataclasses.replace(settings.claude, allowed_tools=allowed))
    return settings


def with_fake(settings: Settings) -> Settings:
    """The built-in fake instead of Claude, called in the same way."""
    fake = (sys.executable, "-P", "-m", "claude_iterate.fake_claude")
    return dataclasses.replace(settings, claude=dataclasses.replace(settings.claude, command=fake, args=()))


def _may_write(project: Project, settings: Settings) -> Settings:
    """Whoever sends Claude to write the instructions or a report has allowed it to edit files."""
    if permission_question.are_decided(settings, project.root, project.environ):
        return settings
    return dataclasses.replace(settings, claude=dataclasses.replace(settings.claude, permission_mode="acceptEdits"))


def _warnings(project: Project, layout: Layout, settings: Settings, options: Options) -> list[Warned]:
    found = []
    if options.skip_permissions or "--dangerously-skip-permissions" in settings.claude.args:
        found.append(Warned("Claude may do everything, unasked.", "Only do this in a sandbox you can lose."))
    elif not options.dry_run and not permission_question.are_decided(settings, project.root, project.environ):
        found.append(Warned(*permission_question.UNDECIDED))
    if settings.max_iterations == 0 and not (settings.limits.max_cost_usd or settings.limits.max_duration):
        found.append(Warned("This run has no bound.", "Give it one: --max-iterations, --max-cost or --max-duration."))
    if problem := notes.trouble(layout):
        found.append(Warned(f"Notes do not reach Claude: {problem}.", f"Mend that in {layout.folder}"))
    return found


def _plan(project: Project, layout: Layout, settings: Settings, options: Options, run: str, version: str) -> Plan:
    texts = text_source(project, layout, settings)
    before = inherit(layout, options.purpose, options.dry_run)
    if before.killed:
        leftover_processes.end_marked(before.killed)
    return Plan(
        run=run,
        layout=layout,
        mode=texts.mode,
        settings=settings,
        max_iterations=texts.max_iterations,
        environ=dict(project.environ),
        texts=texts
        if options.purpose not in ERRANDS
        else lambda _number, _failure: texts.errand(options.purpose, options.errand),
        review_texts=texts.review,
        report=layout.folder / (options.report or settings.verification.report_filename),
        log=_log_path(layout),
        agent_version=version,
        dry_run=options.dry_run,
        purpose=options.purpose,
        skip_permissions=options.skip_permissions,
        carried=before.carried,
        resumed=before.resumed,
        tick=0.25 if output.is_terminal(sys.stderr) else 1.0,
    )


def text_source(project: Project, layout: Layout, settings: Settings) -> TextSource:
    """Whoever renders the prompts of this workspace: its own come first, then the project's, then the user's."""
    mode = MODES[metadata.read(layout.metadata).mode]
    most = mode.max_iterations if settings.max_iterations is None else settings.max_iterations
    agents = settings.claude.agents_file
    folders = [
        layout.prompts,
        project.root / "claude-iterate" / "prompts",
        settings_reader.user_folder(project.environ) / "prompts",
    ]
    return TextSource(layout, mode, most, folders, project.root / agents if agents else None)


def _log_path(layout: Layout) -> Path:
    """The log's name tells when the run began, in local time; a second run in that second gets `-2`."""
    stem = datetime.now().astimezone().strftime("iterate-%Y%m%d-%H%M%S")
    path, number = layout.folder / f"{stem}.log", 2
    while path.exists():
        path, number = layout.folder / f"{stem}-{number}.log", number + 1
    return path


def _run(plan: Plan, options: Options, warnings: list[Warned]) -> RunState:
    _make_room(plan)
    troubles: list[Warned] = []
    writer = JournalWriter(plan.layout.journal(plan.run), lambda text: troubles.append(Warned(text)))
    audience = Fanout(_sinks(plan, options, troubles), lambda sink, error: troubles.append(_broken(sink, error)))
    recorder = Recorder(SystemClock(), writer, audience, redactor_for(plan.environ, plan.settings), troubles)
    try:
        return Engine(plan, recorder, audience, warnings).run(
            lambda state, running: summary.record_run(plan.layout, state, plan.run, running)
        )
    finally:
        audience.close()
        writer.close()
        for trouble in troubles:  # what went wrong after the last entry
            output.warn(trouble.text + (f"\n  {trouble.hint}" if trouble.hint else ""))


def _make_room(plan: Plan) -> None:
    """Folders for this run; the raw output of old runs goes."""
    layout = plan.layout
    try:
        Path(layout.raw(plan.run, "")).parent.mkdir(parents=True)
    except OSError as error:
        raise _unwritable(layout, error) from None
    for before in layout.run_ids()[-2:-1]:  # it may have been killed in the middle of a proof
        shutil.rmtree(layout.scratch(before), ignore_errors=True)
    for old in layout.run_ids()[: -plan.settings.keep_raw_runs]:
        shutil.rmtree(layout.runs / old / "raw", ignore_errors=True)


def _unwritable(layout: Layout, error: OSError) -> WorkspaceProblem:
    why, hint = folders.reason(error, layout.folder)
    return WorkspaceProblem(f"The workspace {layout.name!r} cannot be written: {why}.", hint)


def _sinks(plan: Plan, options: Options, troubles: list[Warned]) -> list[Sink]:
    """Who looks on. With `--json` standard output belongs to the document alone."""
    color = options.color and plan.settings.colors
    console = Console(
        sys.stderr if options.as_json else sys.stdout,
        sys.stderr,
        plan.settings.output,
        color,
        # It would be drawn over the question.
        live=plan.environ.get("TERM") != "dumb" and not plan.settings.attended,
        columns=lambda: shutil.get_terminal_size().columns,
        attended=plan.settings.attended,
    )
    onlookers: list[Sink] = [console]
    try:
        onlookers.insert(0, TextLog(plan.log, lambda text: troubles.append(Warned(text))))
    except OSError as error:
        troubles.append(Warned(f"There will be no log: {plan.log} cannot be written: {error.strerror}."))
    if plan.settings.notify.url:
        from claude_iterate.sinks.notifications.notification_sink import Notifier

        hint = f"Try it: claude-iterate notify test --workspace {plan.layout.name}"
        onlookers.append(Notifier(plan.settings, plan.environ, lambda text: troubles.append(Warned(text, hint))))
    return onlookers


def _broken(sink: str, error: Exception) -> Warned:
    return Warned(f"{sink} failed and is left out: {type(error).__name__}: {error}", "The run goes on without it.")
