"""What `doctor --fix` does: ends processes and removes files that killed runs left, and rebuilds torn metadata (from
the journal, if there is one). Every fix is reported. Nothing else is touched, and no workspace that is in use."""

from __future__ import annotations

import time
from pathlib import Path

from claude_iterate.agent.processes import leftover_processes
from claude_iterate.errors import ExpectedError, NewerFormat
from claude_iterate.operations.doctor.workspace_checks import Finding, behind, can_be_repaired, stale_outside, suspects
from claude_iterate.workspace import creation, leftover_files, metadata, metadata_updates
from claude_iterate.workspace.files import folders
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock, runner


def fix(project: Project) -> list[Finding]:
    """What was fixed, and what could not be."""
    try:
        layouts = [project.layout(name) for name in project.workspaces()]
    except ExpectedError:
        return []  # the checks report it
    found = [finding for layout in layouts for finding in _fix_workspace(layout)]
    return [*found, *_remove("leftovers", stale_outside(project))]


def _fix_workspace(layout: Layout) -> list[Finding]:
    check = f"workspace {layout.name}"
    if run_lock.holder(layout.lock) is not None:
        return []
    last_run: dict[str, object] = {}
    broken = False
    try:
        last_run = metadata.read(layout.metadata).last_run
    except NewerFormat:
        return []  # the checks report it
    except ExpectedError:
        broken = can_be_repaired(layout)
    # Before the lock is taken: until then its file names the run that was killed.
    names = [run for run in suspects(layout, last_run) if _left(layout, run)]
    if not (names or broken or _incomplete(layout) or behind(layout)):
        return []
    try:
        with run_lock.hold(layout.lock, layout.name, "doctor"):
            done = [_repair(check, layout)] if broken else []
            if late := metadata_updates.catch_up(layout):
                done.append(Finding(check, "ok", f"wrote into .metadata.json how run {late} ended"))
            done += [
                Finding(check, "ok", f"ended {process}, of run {run}")
                for run in names
                for process in leftover_processes.end_marked(run)
            ]
            return [*done, *_remove(check, _incomplete(layout))]
    except ExpectedError as problem:
        return [Finding(check, "problem", problem.message, problem.hint)]


def _left(layout: Layout, run: str) -> list[int]:
    """Processes of a run whose runner is certainly dead: a workspace may be a copy of one that is running."""
    return leftover_processes.leftovers(run) if runner.fate_of(layout, run) == runner.DEAD else []


def _incomplete(layout: Layout) -> list[Path]:
    return [*leftover_files.half_made_runs(layout), *leftover_files.stale_in_workspace(layout, time.time())]


def _repair(check: str, layout: Layout) -> Finding:
    """Rebuild torn metadata from the journal, or make new metadata if there is none; the torn file is kept."""
    found = reader.last_run(layout, ("run",))
    torn = layout.metadata.exists()
    if found is None:
        creation.repair(layout, None, {})
        kept = "; the torn file is .metadata.json.bak" if torn else ""
        return Finding(check, "ok", f"made a new .metadata.json, with mode loop and all counters at 0{kept}")
    run, state = found
    creation.repair(layout, state.started.mode if state.started else None, {})
    metadata_updates.record_run(layout, state, run, running=state.finished is None)
    kept = "; the torn file, with the workspace's own settings, is .metadata.json.bak" if torn else ""
    return Finding(check, "ok", f"rebuilt .metadata.json from the journal of run {run}{kept}")


def _remove(check: str, paths: list[Path]) -> list[Finding]:
    found = []
    for path in paths:
        try:
            folders.remove(path)
            found.append(Finding(check, "ok", f"removed {path}"))
        except ExpectedError as problem:
            found.append(Finding(check, "problem", problem.message, problem.hint))
    return found
