"""What `doctor --mend` does: ends what killed runs left alive, takes away what they left half-made, and repairs torn
metadata from the journal. Each thing is told; nothing else is touched, and no workspace that somebody is busy with."""

from __future__ import annotations

import time
from pathlib import Path

from claude_iterate.agent.processes import leftover_processes
from claude_iterate.errors import ExpectedError
from claude_iterate.operations.doctor.computer_checks import Finding
from claude_iterate.operations.doctor.workspace_checks import behind, can_be_repaired, stale_outside, suspects
from claude_iterate.workspace import leftover_files, metadata
from claude_iterate.workspace.files import folders
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import creation, summary
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import liveness, run_lock


def mend(project: Project) -> list[Finding]:
    """Everything that was done, and what could not be done."""
    try:
        layouts = [project.layout(name) for name in project.workspaces()]
    except ExpectedError:
        return []  # the checks tell of it
    found = [finding for layout in layouts for finding in _mend_workspace(layout)]
    return [*found, *_take_away("leftovers", stale_outside(project))]


def _mend_workspace(layout: Layout) -> list[Finding]:
    check = f"workspace {layout.name}"
    if run_lock.holder(layout.lock) is not None:
        return []
    # Asked before the lock is taken: until then its file names the run that was killed.
    names = [run for run in suspects(layout, _last_run(layout)) if _left(layout, run)]
    broken = _is_broken(layout)
    if not (names or broken or _half_made(layout) or behind(layout)):
        return []
    try:
        with run_lock.hold(layout.lock, layout.name, "mending"):
            done = [_repair(check, layout)] if broken else []
            if late := summary.catch_up(layout):
                done.append(Finding(check, "ok", f"wrote into .metadata.json how run {late} ended"))
            done += [
                Finding(check, "ok", f"ended {process}, of run {run}")
                for run in names
                for process in leftover_processes.end_marked(run)
            ]
            return [*done, *_take_away(check, _half_made(layout))]
    except ExpectedError as problem:
        return [Finding(check, "problem", problem.message, problem.hint)]


def _left(layout: Layout, run: str) -> list[int]:
    """What is left of a run whose runner is dead for certain: a workspace may be a copy of one that goes on."""
    return leftover_processes.leftovers(run) if liveness.of_runner(layout, run) == liveness.DEAD else []


def _half_made(layout: Layout) -> list[Path]:
    return [*leftover_files.half_made_runs(layout), *leftover_files.stale_in_workspace(layout, time.time())]


def _last_run(layout: Layout) -> dict[str, object]:
    try:
        return metadata.read(layout.metadata).last_run
    except ExpectedError:
        return {}


def _is_broken(layout: Layout) -> bool:
    try:
        metadata.read(layout.metadata)
    except ExpectedError:
        return can_be_repaired(layout)
    return False


def _repair(check: str, layout: Layout) -> Finding:
    """Torn metadata is made anew from what the journal knows; the torn file is kept."""
    found = reader.last_run(layout, ("run",))
    assert found is not None
    run, state = found
    torn = layout.metadata.exists()
    creation.repair(layout, state.started.mode if state.started else None, {})
    summary.record_run(layout, state, run, running=state.finished is None)
    kept = "; the torn file, with the workspace's own settings, is .metadata.json.bak" if torn else ""
    return Finding(check, "ok", f"made .metadata.json anew from the journal of run {run}{kept}")


def _take_away(check: str, paths: list[Path]) -> list[Finding]:
    found = []
    for path in paths:
        try:
            folders.remove(path)
            found.append(Finding(check, "ok", f"removed {path}"))
        except ExpectedError as problem:
            found.append(Finding(check, "problem", problem.message, problem.hint))
    return found
