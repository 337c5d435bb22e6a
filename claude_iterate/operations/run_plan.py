"""Makes the plan of a run. It only reads: nothing is written, started or ended here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.command_line import NOT_ASKED, Known
from claude_iterate.core.events import PlanRead
from claude_iterate.core.events.vocabulary import ONE_OFF, Purpose
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import MODES, Mode
from claude_iterate.engine.plan import Plan, Texts
from claude_iterate.operations import permissions, run_folders
from claude_iterate.operations.completed_task import find_to_leave
from claude_iterate.operations.detection.project_commands import test_command
from claude_iterate.operations.prompt_texts import TextSource
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.workspace import metadata
from claude_iterate.workspace.inheritance import Inheritance
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.plan_file import PlanFile
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.settings_files import settings_reader


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
) -> Plan:
    """The plan of the run with the id `run`, which goes on where `before` ended."""
    texts = text_source(project, layout, settings, request.mode)
    before = _accepted(before) if request.accept_changes else before
    report = _report(layout, request.report or settings.verification.report_filename)
    one_off_values = {"report_path": str(report), **request.prompt_values}
    return Plan(
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
        log=run_folders.log_path(layout),
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
        test_command=test_command(settings, project.root),
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
    return PlanFile(layout).look


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
