"""What `doctor` finds wrong in workspaces: damage, what a killed run left behind, settings that nobody can read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.workspace import lock, metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.repository import Project

KILLED = "its last run was killed"
Trouble = tuple[str, str, str]


def workspace_findings(project: Project) -> Iterator[Trouble]:
    """Check, message and remedy of everything that is wrong."""
    names = project.workspaces()
    for name in names:
        yield from _examine(project, project.layout(name))
    yield from _strangers(project, set(names))


def _examine(project: Project, layout: Layout) -> Iterator[Trouble]:
    check = f"workspace {layout.name}"
    try:
        about = metadata.read(layout.metadata)
        project.settings_for(layout)
    except WorkspaceProblem as problem:
        yield check, problem.message, problem.hint
        return
    except ExpectedError as problem:
        mend = f"{problem.hint} Or: claude-iterate config KEY --unset --workspace {layout.name}"
        yield check, problem.message, mend
        return
    if not os.access(layout.folder, os.W_OK | os.X_OK):
        yield check, f"{layout.folder} cannot be written", "Check its permissions."
    if lock.holder(layout.lock) is None:
        yield from _left_behind(layout, check, about.last_run)


def _left_behind(layout: Layout, check: str, last_run: dict[str, object]) -> Iterator[Trouble]:
    """Nobody holds the lock; what still says otherwise is of a run that was killed."""
    from claude_iterate.agent.sweep import leftovers

    killed = {str(last_run.get("id", ""))} if last_run.get("state") == "running" else set()
    killed |= _named_in_lock(layout)
    if killed:
        yield check, KILLED, f"Go on: claude-iterate run {layout.name}"
    # A run that ended well swept up after itself; looking through all processes for each of them takes long.
    suspects = killed or set(layout.run_ids()[-1:] if not last_run else [])
    for run in sorted(suspects - {""}):
        alive = leftovers(run)
        if alive:
            yield check, f"processes of run {run} still live", f"End them: kill {' '.join(map(str, alive))}"


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
            yield "workspaces", f"{entry} has a name that cannot be used", mend
