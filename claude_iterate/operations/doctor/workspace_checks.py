"""What `doctor` finds wrong in workspaces: damage, what a killed run left behind, settings that nobody can read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.workspace import leftover_files, metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import summary
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.running import liveness, run_lock
from claude_iterate.workspace.settings_files import settings_reader

MEND = "Mend it: claude-iterate doctor --mend"


class Trouble(NamedTuple):
    """What is wrong, how to mend it, and whether it must be mended (problem) or may stay (warning)."""

    check: str
    message: str
    mend: str
    state: str = "problem"


def workspace_findings(project: Project) -> Iterator[Trouble]:
    """Check, message and remedy of everything that is wrong."""
    names = project.workspaces()
    for name in names:
        yield from _examine(project, project.layout(name))
    yield from _strangers(project, set(names))
    yield from _torn(project)
    for path in stale_outside(project):
        yield Trouble("leftovers", f"{path} was left half-made by a killed command", MEND, "warning")


def _examine(project: Project, layout: Layout) -> Iterator[Trouble]:
    check = f"workspace {layout.name}"
    try:
        about = metadata.read(layout.metadata)
        project.settings_for(layout)
    except WorkspaceProblem as problem:
        yield Trouble(check, problem.message, MEND if can_be_repaired(layout) else problem.hint)
        return
    except ExpectedError as problem:
        mend = f"{problem.hint} Or: claude-iterate config KEY --unset --workspace {layout.name}"
        yield Trouble(check, problem.message, mend)
        return
    if not os.access(layout.folder, os.W_OK | os.X_OK):
        yield Trouble(check, f"{layout.folder} cannot be written", "Check its permissions.")
    if run_lock.holder(layout.lock) is None:
        yield from _last_run(layout, check, about)
        yield from _left_behind(layout, check, suspects(layout, about.last_run))


def _last_run(layout: Layout, check: str, about: Metadata) -> Iterator[Trouble]:
    """Nobody holds the lock; what still says otherwise is of a run that was killed, or of the one we are a copy of."""
    for run in sorted(_named(layout, about.last_run)):
        if is_over(layout, run):
            continue
        if liveness.of_runner(layout, run) == liveness.LIVES:
            pid = liveness.pid_of(layout, run)
            mend = f"Wait for that one, or begin afresh here: claude-iterate reset {layout.name}"
            yield Trouble(check, f"it is a copy of a workspace that is running now (pid {pid})", mend, "warning")
        else:
            # It needs no mending: the next one goes on.
            yield Trouble(check, "its last run was killed", f"Go on: claude-iterate run {layout.name}", "warning")
    if behind(layout):
        message = "its last run ended and was killed before it could write that into .metadata.json"
        yield Trouble(check, message, MEND, "warning")


def _left_behind(layout: Layout, check: str, runs: list[str]) -> Iterator[Trouble]:
    from claude_iterate.agent.processes.leftover_processes import leftovers

    for run in runs:
        fate = liveness.of_runner(layout, run)
        alive = leftovers(run) if fate != liveness.LIVES else []
        if alive:
            by_hand = f"kill {' '.join(map(str, alive))}"
            mend = f"{MEND} (or: {by_hand})" if fate == liveness.DEAD else f"If nobody runs it elsewhere: {by_hand}"
            yield Trouble(check, f"processes of run {run} still live", mend)
    for path in leftover_files.half_made_runs(layout):
        yield Trouble(check, f"run {path.name} was killed before it began", MEND, "warning")
    for path in leftover_files.stale_in_workspace(layout, time.time()):
        yield Trouble(check, f"{path.name} was left by a killed command", MEND, "warning")


def suspects(layout: Layout, last_run: dict[str, object]) -> list[str]:
    """Runs of which something may still live. One that ended well swept up after itself; looking through all
    processes for each of them would take long."""
    return sorted(_named(layout, last_run) or set(layout.run_ids()[-1:] if not last_run else []))


def is_over(layout: Layout, run: str) -> bool:
    """The journal is the truth: a run was killed if it does not tell of an end."""
    from claude_iterate.core.events import RunFinished
    from claude_iterate.workspace.journal import reader

    path = layout.journal(run)
    return path.is_file() and any(isinstance(entry.event, RunFinished) for entry in reader.milestones(path))


def behind(layout: Layout) -> bool:
    """The journal tells of an end that the summary does not know of."""
    try:
        about = metadata.read(layout.metadata)
    except ExpectedError:
        return False
    state = summary.as_journal_has_it(layout, about)
    return state is not None and state.finished is not None


def can_be_repaired(layout: Layout) -> bool:
    """The metadata is damaged or missing, and the journal still knows the numbers."""
    from claude_iterate.workspace.journal import reader

    return os.access(layout.folder, os.W_OK) and reader.last_run(layout, ("run",)) is not None


def stale_outside(project: Project) -> list[Path]:
    """What killed commands left outside of any workspace."""
    now = time.time()
    folders = (project.workspaces_folder, project.templates_folder, project.global_templates_folder)
    return [
        *(path for folder in folders for path in leftover_files.stale_folders(folder, now)),
        *leftover_files.stale_files(project.archive_folder, now),
        *leftover_files.stale_files(settings_reader.user_folder(project.environ), now),
        *leftover_files.stale_settings(project.root, now),
    ]


def _named(layout: Layout, last_run: dict[str, object]) -> set[str]:
    """Runs that seem to be under way: one that ends well says so, in its summary and in the lock's file."""
    said = {str(last_run.get("id", ""))} if last_run.get("state") == "running" else set()
    return (said | _named_in_lock(layout)) - {""}


def _named_in_lock(layout: Layout) -> set[str]:
    """The run that a lock file still names: one that ends well empties it."""
    try:
        found = json.loads(layout.lock.read_bytes())
    except (OSError, ValueError):
        return set()
    run = found.get("run") if isinstance(found, dict) else None
    return {run} if isinstance(run, str) and run in layout.run_ids() else set()


def _strangers(project: Project, known: set[str]) -> Iterator[Trouble]:
    """Folders that no command can name: made by the original with other rules. Half-made ones are told elsewhere."""
    if not project.workspaces_folder.is_dir():
        return
    for entry in sorted(project.workspaces_folder.iterdir()):
        unknown = entry.is_dir() and entry.name not in known and not leftover_files.is_aside(entry.name)
        if unknown and (entry / ".metadata.json").exists():
            mend = "Rename it to letters, digits, '.', '_' and '-', beginning with a letter or digit; or delete it."
            yield Trouble("workspaces", f"{entry} has a name that cannot be used", mend)


def _torn(project: Project) -> Iterator[Trouble]:
    for folder in (project.workspaces_folder, project.templates_folder, project.global_templates_folder):
        for path, name in leftover_files.torn_folders(folder).items():
            mend = f"Rename the form that you want to {folder / name}, and delete the other."
            yield Trouble("leftovers", f"{path} was left when a killed command replaced {name!r}", mend)
