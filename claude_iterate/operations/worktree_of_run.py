"""The worktree that a run works in, if the setting `worktree` asks for one; and which runs share a folder."""

from __future__ import annotations

import os
import shlex

from msgspec.structs import replace

from claude_iterate.agent.command.environment import environment_outside
from claude_iterate.core.events import HeldBack, Warned, WorktreeMade
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.operations.user import User
from claude_iterate.project.worktrees import Worktree, find, remains
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout, named_folders
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock

_USERS = frozenset({"run", "verify"})
_MOST = 500
"""Other workspaces that are looked at."""


def is_asked(settings: Settings, request: RunRequest) -> bool:
    """The run is to work in a worktree."""
    return bool(settings.worktree) and not request.dry_run and request.purpose in _USERS


def found(project: Project, layout: Layout, settings: Settings, request: RunRequest) -> Worktree | None:
    """Where the run is to work; None: in the project. A WorkspaceProblem when it cannot; nothing is written yet."""
    if request.dry_run or request.purpose not in _USERS:
        return None
    if not settings.worktree:
        _refuse_elsewhere(project, layout, request)
        return None
    environ = project.environ
    if settings.sandbox.kind != "none":
        environ = environment_outside(environ, [str(project.root)])
    return find(project.root, layout.name, settings.worktree, environ)


def _refuse_elsewhere(project: Project, layout: Layout, request: RunRequest) -> None:
    """To prove the project says nothing of work that is in a worktree, and was not merged; and a killed run goes on
    where it worked."""
    if request.purpose == "run":
        _refuse_to_go_on_here(layout, request)
        return
    last = reader.last_run(layout, ("run",))
    made = last[1].worktree.made if last is not None else None
    if made is None:
        return
    merge = remains(project.root, made.path, made.branch, project.environ).merge
    if not merge and not os.path.isdir(made.path):  # noqa: PTH112 - Path.is_dir may raise
        return
    there = shlex.join([*request.command_line.program, "verify", layout.name, f"--worktree={made.branch}"])
    raise WorkspaceProblem(
        f"The last run of {layout.name} worked in a worktree, on the branch {made.branch}: its work is not here.",
        f"Prove it there: {there}" + (f"; or merge it first: {merge}" if merge else ""),
    )


def _refuse_to_go_on_here(layout: Layout, request: RunRequest) -> None:
    if not os.path.isdir(layout.root / "claude-iterate" / "worktrees" / layout.name):  # noqa: PTH112 - as above
        return
    last = reader.last_run(layout, ("run",))
    made = last[1].worktree.made if last is not None and last[1].finished is None else None
    reset = metadata.read(layout.metadata).reset_after
    if last is None or made is None or not os.path.isdir(made.path) or reset >= last[0]:  # noqa: PTH112
        return
    program, line = shlex.join(request.command_line.program), request.command_line
    words = [word for option in line.options for word in option]
    there = shlex.join([*line.program, line.verb or "run", layout.name, f"--worktree={made.branch}", *words])
    raise WorkspaceProblem(
        f"The run of {layout.name} that was killed worked in a worktree, on the branch {made.branch}: not here.",
        f"Go on there: {there}; or forget it and start here: {program} reset {layout.name}, then run it.",
    )


def layout_in(layout: Layout, tree: Worktree | None) -> Layout:
    """The workspace as the run uses it: Claude works in the worktree, all else stays where it is."""
    return layout if tree is None else replace(layout, root=tree.place, main=tree.main)


def plan_in(plan: RunSpec, tree: Worktree | None, held: HeldBack | None) -> RunSpec:
    """The plan with what it records at its beginning: that another run holds it back, and its worktree, which is made
    now."""
    if held is not None:
        plan = replace(plan, opening=(held,))
    if tree is None:
        return plan
    made = tree.make()
    return replace(plan, opening=(*plan.opening, made), closing=lambda: (tree.describe_rest(),))


def put_away(tree: Worktree | None, user: User) -> None:
    """After the run: a clean worktree is removed."""
    if tree is not None and (why := tree.remove()):
        user.warn(why)


def warnings(project: Project, layout: Layout, tree: Worktree | None, request: RunRequest) -> list[Warned]:
    """What is not in the worktree; without one, which other run works in the same folder."""
    if request.purpose != "run" or request.dry_run:
        return []
    if tree is None:
        return [_shared(layout.name, other) for other in _others(project, layout)]
    warned = []
    if not tree.found and tree.main_is_changed(layout.own_folders()):
        text = "The project has changes that are not committed. They are not in the worktree."
        warned.append(
            Warned(text, f"If the task needs them: claude-iterate stop {layout.name}, commit, and run again.")
        )
    if tree.behind:
        text = f"The branch {tree.branch} was there already, and does not have all commits of {tree.behind}."
        other = shlex.quote(f"--worktree=NEW-BRANCH:{tree.behind}")
        warned.append(Warned(text, f"To begin there, take a new branch: claude-iterate run {layout.name} {other}"))
    own = tree.main / ".claude" / "settings.local.json"
    if own.is_file() and not (tree.place / ".claude" / "settings.local.json").exists():
        text = f"{own} is not in the worktree, so what it allows is not allowed there."
        warned.append(
            Warned(text, f"Allow it by settings: claude-iterate config -w {layout.name} claude.allowed_tools ...")
        )
    return warned


def _shared(name: str, other: str) -> Warned:
    text = f"{other} runs in the same folder: what the two change can get mixed up."
    return Warned(text, f"Give one a checkout of its own: claude-iterate run {name} --worktree")


def _others(project: Project, layout: Layout) -> list[str]:
    """Workspaces that run in the project itself at this moment."""
    running = []
    for name in named_folders(project.workspaces_folder)[:_MOST]:
        other = Layout(project.root, project.workspaces_folder / name)
        if name != layout.name and _may_run(other) and (holder := run_lock.holder(other.lock)):
            run = str(holder.get("run", ""))
            if run in other.run_ids() and _works_in_project(other, run):
                running.append(name)
    return running


def _may_run(layout: Layout) -> bool:
    """Cheap: a lock file names its holder, and is empty when there is none."""
    try:
        return layout.lock.stat().st_size > 0
    except OSError:
        return False


def _works_in_project(layout: Layout, run: str) -> bool:
    started = reader.beginning(layout.journal(run))
    if started is None or started.dry_run or started.purpose != "run":
        return False
    first = (entry.event for _, entry in zip(range(5), reader.milestones(layout.journal(run)), strict=False))
    return not any(isinstance(event, WorktreeMade) for event in first)
