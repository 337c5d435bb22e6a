"""Makes the plan of a run, for which it only reads; then the id, the folders and the log file of the run, for which the
lock of the workspace must be held."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.command_line import NOT_ASKED, Known
from claude_iterate.core.events import PlanRead
from claude_iterate.core.events.enums import ONE_OFF, Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import MODES, Mode
from claude_iterate.engine.run_spec import RunSpec, Texts
from claude_iterate.operations import permissions
from claude_iterate.operations.project_commands import find_test_command
from claude_iterate.operations.prompt_texts import TextSource
from claude_iterate.operations.run_checks import find_to_leave
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.workspace import creation, leftover_files, metadata, metadata_updates, plan_file, settings_reader
from claude_iterate.workspace.files.folders import explain_write_errors
from claude_iterate.workspace.inheritance import Inheritance
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import dry_run_files


class Agent(msgspec.Struct, frozen=True):
    """The Claude that a run calls: its version, and the options that it knows."""

    version: str
    known: Known = NOT_ASKED


def plan_run(
    project: Project,
    layout: Layout,
    settings: Settings,
    request: RunRequest,
    run: str,
    agent: Agent,
    before: Inheritance,
) -> RunSpec:
    """The plan of the run with the id `run`, which goes on where `before` ended."""
    texts = text_source(project, layout, settings, request.mode)
    before = _accepted(before) if request.accept_changes else before
    report = _report(layout, request.report or settings.verification.report_filename)
    one_off_values = {"report_path": str(report), **request.prompt_values}
    return RunSpec(
        run=run,
        layout=layout,
        mode=texts.mode,
        settings=settings,
        max_iterations=texts.max_iterations,
        environ=dict(project.environ),
        texts=_texts(texts, request.purpose, one_off_values),
        review_texts=functools.partial(texts.review, report),
        grading_texts=functools.partial(texts.grading, one_off_values),
        report=report,
        log=log_path(layout),
        agent_version=agent.version,
        known=agent.known,
        permission_mode="" if permissions.mode_is_decided(settings, project) else "default",
        judges_settings=permissions.own_settings_file(settings, project),
        project_has_login=permissions.project_has_login(project),
        dry_run=request.dry_run,
        purpose=Purpose(request.purpose),
        skip_permissions=request.skip_permissions,
        **_taken_over(before, settings),
        prompt_folders=tuple(texts.folders),
        command_line=_typed(project, layout, request),
        checks_only=request.checks_only,
        test_command=find_test_command(settings, project.root),
        look_at_plan=_plan_reader(layout, texts.mode, request.purpose),
    )


def _typed(project: Project, layout: Layout, request: RunRequest) -> CommandLine:
    """What was typed; after a dry run of a completed task, the same without `--dry-run` needs `--again`."""
    line, real = request.command_line, replace(request, dry_run=False)
    if request.dry_run and request.purpose == Purpose.RUN and find_to_leave(project, layout, real) is not None:
        return replace(line, options=(*line.options, ("--again",)))
    return line


def _taken_over(before: Inheritance, settings: Settings) -> dict[str, Any]:
    """What the run knows of those before it; of their calls only if a pace is set."""
    return {
        "carried": before.carried if settings.limits.calls_per_hour else replace(before.carried, calls=()),
        "resumed": before.resumed,
        "defined": before.resumed.defined if before.resumed is not None else before.defined,
        "reset_by": before.reset_by,
    }


def _texts(source: TextSource, purpose: str, values: Mapping[str, str]) -> Callable[[int, str, str], Texts]:
    """The prompts of an iteration, or of a one-off call."""
    if purpose in ONE_OFF:
        return lambda _number, _failure, _identity: source.one_off(purpose, values)
    return source


def _plan_reader(layout: Layout, mode: Mode, purpose: str) -> Callable[[], PlanRead | None]:
    if not mode.reads_plan or purpose != Purpose.RUN:
        return lambda: None
    return functools.partial(plan_file.read_plan, layout)


def _accepted(before: Inheritance) -> Inheritance:
    """Without what earlier runs changed of the definition of the proof."""
    resumed = replace(before.resumed, defined=None, changes=()) if before.resumed is not None else None
    carried = replace(before.carried, changes=(), refuses=False, replaced=())
    return replace(before, carried=carried, resumed=resumed, defined=None)


def _report(layout: Layout, name: str) -> Path:
    """Where a report goes: relative to the workspace; in a dry run always into its copy."""
    return layout.agent_folder / (Path(name).name if layout.dry_run_folder is not None else name)


def text_source(project: Project, layout: Layout, settings: Settings, mode_of_run: str = "") -> TextSource:
    """Renders the prompts of this workspace: its own come first, then the project's, then the user's."""
    mode = MODES[mode_of_run or metadata.read(layout.metadata).mode]
    most = mode.max_iterations if settings.max_iterations is None else settings.max_iterations
    folders = [
        layout.prompts,
        project.root / "claude-iterate" / "prompts",
        settings_reader.user_folder(project.environ) / "prompts",
    ]
    source = TextSource(layout, mode, most, folders, settings)
    if settings.sandbox.kind != "none" and layout.dry_run_folder is None:
        source.confine()
    return source


def tidy_up(layout: Layout, dry_run: bool) -> None:
    """Record how a killed last run ended, if it could not."""
    leftover_files.remove_abandoned_files(layout)
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
    while path.exists():
        path, number = layout.folder / f"{stem}-{number}.log", number + 1
    return path


def make_folders(layout: Layout, run: str, keep_raw_runs: int, played: str = "") -> None:
    """Make the folders of this run, and delete what Claude printed in old runs and what the fake wrote there; not in
    the run that is `played`."""
    with explain_write_errors(layout.name, layout.folder):
        Path(layout.raw(run, "")).parent.mkdir(parents=True)
        if layout.dry_run_folder is not None:
            dry_run_files.make_copy(layout)
    runs = layout.run_ids()
    scratches = [layout.scratch(before) for before in runs[-2:-1]]  # it may have been killed during a verification
    for folder in (*scratches, *_old_outputs(layout, runs, keep_raw_runs, played)):
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)


def _old_outputs(layout: Layout, runs: list[str], keep: int, played: str) -> list[Path]:
    """What Claude printed in all runs but the last `keep`, and copies of dry runs. Dry runs are counted apart: however
    many there are, a real night stays."""
    kept = [run for run in runs if (layout.runs / run / "raw").exists()]
    dry = [run for run in kept if layout.dry_run_copy(run).exists()]
    real = sorted(set(kept).difference(dry))
    old = [run for run in (*real[:-keep], *dry[:-keep]) if run != played]
    return [folder for run in old for folder in (layout.runs / run / "raw", layout.dry_run_copy(run))]
