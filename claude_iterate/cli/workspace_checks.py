"""What `doctor` finds wrong in workspaces: damage, what a killed run left behind, settings that nobody can read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.workspace import config_files, lock, metadata, remains
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.repository import Project

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
    if lock.holder(layout.lock) is None:
        yield from _left_behind(layout, check, about.last_run)


def _left_behind(layout: Layout, check: str, last_run: dict[str, object]) -> Iterator[Trouble]:
    """Nobody holds the lock; what still says otherwise is of a run that was killed."""
    from claude_iterate.agent.sweep import leftovers

    if _killed(layout, last_run):
        # It needs no mending: the next one goes on.
        yield Trouble(check, "its last run was killed", f"Go on: claude-iterate run {layout.name}", "warning")
    for run in suspects(layout, last_run):
        alive = leftovers(run)
        if alive:
            by_hand = f"kill {' '.join(map(str, alive))}"
            yield Trouble(check, f"processes of run {run} still live", f"{MEND} (or: {by_hand})")
    for path in remains.half_made_runs(layout):
        yield Trouble(check, f"run {path.name} was killed before it began", MEND, "warning")
    for path in remains.stale_files(layout.folder, time.time()):
        yield Trouble(check, f"{path.name} was left by a killed command", MEND, "warning")


def suspects(layout: Layout, last_run: dict[str, object]) -> list[str]:
    """Runs of which something may still live. One that ended well swept up after itself; looking through all
    processes for each of them would take long."""
    return sorted((_killed(layout, last_run) or set(layout.run_ids()[-1:] if not last_run else [])) - {""})


def can_be_repaired(layout: Layout) -> bool:
    """The metadata is damaged or missing, and the journal still knows the numbers."""
    from claude_iterate.workspace import journal

    return os.access(layout.folder, os.W_OK) and journal.last_run(layout, ("run",)) is not None


def stale_outside(project: Project) -> list[Path]:
    """What killed commands left outside of any workspace."""
    now = time.time()
    folders = (project.workspaces_folder, project.templates_folder, project.global_templates_folder)
    return [
        *(path for folder in folders for path in remains.stale_folders(folder, now)),
        *remains.stale_files(project.archive_folder, now),
        *remains.stale_files(config_files.user_folder(project.environ), now),
        *remains.stale_settings(project.root, now),
    ]


def _killed(layout: Layout, last_run: dict[str, object]) -> set[str]:
    said = {str(last_run.get("id", ""))} if last_run.get("state") == "running" else set()
    return said | _named_in_lock(layout)


def _named_in_lock(layout: Layout) -> set[str]:
    """The run that a lock file still names: one that ends well empties it."""
    try:
        found = json.loads(layout.lock.read_bytes())
    except (OSError, ValueError):
        return set()
    run = found.get("run") if isinstance(found, dict) else None
    return {run} if isinstance(run, str) and run in layout.run_ids() else set()


def _strangers(project: Project, known: set[str]) -> Iterator[Trouble]:
    """Folders that no command can name: made by the original with other rules, or left by a killed `init`."""
    if not project.workspaces_folder.is_dir():
        return
    for entry in sorted(project.workspaces_folder.iterdir()):
        if entry.is_dir() and entry.name not in known and (entry / ".metadata.json").exists():
            mend = "Rename it to letters, digits, '.', '_' and '-', beginning with a letter or digit; or delete it."
            yield Trouble("workspaces", f"{entry} has a name that cannot be used", mend)
