"""All workspaces at a glance: each metadata file is read once, plainly, because there may be thousands."""

from __future__ import annotations

from pathlib import Path

import msgspec

from claude_iterate.core.rules.next_steps import renamed
from claude_iterate.views.run_view import RunRecords
from claude_iterate.views.workspace_view import WorkspaceState, read_metadata
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import status_file
from claude_iterate.workspace.run_summary import PlanCounts, Progress, Waiting, progress

COPIED = "It is a copy of a workspace that is running now."


class WorkspaceRow(msgspec.Struct, frozen=True, rename="camel"):
    """One workspace in a list. Of a damaged one only name, status, state and path are known."""

    name: str
    path: str
    status: str
    """in_progress, completed, error, running, interrupted or damaged."""
    state: str
    """The one word for it: while it runs what the run is doing, then the reason why the last run ended; killed, new,
    new_task (the instructions changed since the task was completed), copy (of a workspace that is running), damaged.
    Where no reason is known, because the original ran it or `verify` judged it since: completed, unfinished or
    error."""
    mode: str | None = None
    iterations: int | None = None
    progress: Progress | None = None
    reason: str | None = None
    known_by: str | None = None
    """How it is known that a completed task is done: checks, review, checks_and_review; or not proven: report, plan,
    changed."""
    cause: str | None = None
    """Why the last run ended, in one sentence."""
    next: str | None = None
    """The next step after the last run, as a command for a shell; empty when there is nothing to do."""
    cost_usd: float | None = None
    dry_run: bool = False
    """Always false; kept for the JSON format."""
    waiting: Waiting | None = None
    created: str | None = None
    last_run: str | None = None
    cost_is_lower_bound: bool = False
    """Of some calls of the last run only a part of the cost is known."""
    branch: str | None = None
    """The branch of the worktree that the last run worked in."""
    run_mode: str | None = None
    """The mode of the last run; `plan` and `build` have theirs, whatever the workspace's own is."""
    plan: PlanCounts | None = None
    """The tasks of the plan, as the last run read it."""
    reset: bool = False
    """The command `reset` came after the last run: nothing of it counts any more."""


class ListingView(msgspec.Struct, frozen=True, rename="camel"):
    """The workspaces of a project."""

    root: str
    workspaces: tuple[WorkspaceRow, ...]


def listing(root: Path, folder: Path, names: list[str]) -> ListingView:
    """One row per workspace."""
    return ListingView(str(root), tuple(_row(Layout(root, folder / name)) for name in names))


def state_of(layout: Layout) -> WorkspaceState | None:
    """How this workspace stands; None when its metadata is damaged."""
    about = read_metadata(str(layout.folder))
    return WorkspaceState.load(about, RunRecords(layout)) if about is not None else None


def _row(layout: Layout) -> WorkspaceRow:
    found = state_of(layout)
    if found is None:
        return WorkspaceRow(layout.name, str(layout.folder), "damaged", "damaged")
    about, run = found.about, found.about.run
    return WorkspaceRow(
        name=layout.name,
        path=str(layout.folder),
        status=found.status,
        state=found.state,
        mode=about.written_mode if isinstance(about.written_mode, str) else None,
        iterations=about.execution_iterations,
        progress=_progress(found, layout),
        reason=run.reason,
        known_by=found.known_by,
        cause=COPIED if found.state == "copy" else run.cause if found.status != "running" else "",
        next=_next(found, layout.name),
        cost_usd=run.cost_usd,
        waiting=found.run.waiting if found.run is not None and found.status == "running" else None,
        created=about.created,
        last_run=about.last_run_at,
        cost_is_lower_bound=run.cost_is_lower_bound,
        branch=run.worktree.branch if run.worktree is not None else None,
        run_mode=run.mode,
        plan=run.plan,
        reset=about.last_run is None and bool(about.reset_after),
    )


def _next(found: WorkspaceState, name: str) -> str | None:
    about = found.about
    if found.state == "copy":
        return f"claude-iterate reset {name}"
    if found.status == "running" or (found.status == "completed" and about.newer_verification is not None):
        return ""
    return renamed(about.run.next, about.name, name) if about.run.next and about.name else about.run.next


def _progress(found: WorkspaceState, layout: Layout) -> Progress | None:
    """As the last run has it, else as the report does; of a new task nothing is known, nor where `verify` refuted
    what was claimed."""
    run = found.about.run
    refuted = found.state == "unfinished" and run.reason == "completed"
    if found.state == "new" or refuted or found.report_is_old:
        return None
    if found.status == "completed" and run.completion is not None:
        return run.completion.progress
    return run.progress or (_progress_of_report(layout, found.status == "completed") if run.plan is None else None)


def _progress_of_report(layout: Layout, believed: bool) -> Progress | None:
    """What the report says: the original kept no progress of its runs. A claim that is not `believed` is none."""
    reading = status_file.look(layout.status).reading
    status = reading.status if reading is not None else None
    return None if status is not None and status.complete and not believed else progress(status)
