"""All workspaces at a glance: each metadata file is read once, plainly, because there may be thousands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.rules.next_steps import renamed
from claude_iterate.workspace import metadata_updates, task_file
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import (
    COMPLETED_TASK,
    REPORT_IS_OLD,
    RESET_AFTER,
    VERIFIED_BY,
    Metadata,
    is_behind,
)
from claude_iterate.workspace.run_folder import run_lock, runner, status_file
from claude_iterate.workspace.run_summary import PlanCounts, Progress, RunSummary, Waiting, progress

STATUSES = ("in_progress", "completed", "error", "running", "interrupted", "damaged")
"""The original's three words, and what they cannot say: running now, cut off by a crash, unreadable."""
STATES = (
    "new",
    "new_task",
    "starting",
    "verifying",
    "waiting",
    "paused",
    "stopping",
    "killed",
    "copy",
    "unfinished",
    "planned",
)
"""What `state` can say beside the words of `status` and the reasons."""
COPIED = "It is a copy of a workspace that is running now."
_DONE = frozenset({"completed", "stagnation"})
"""Reasons after which the original says `completed`."""


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
    """Always false: a dry run changes nothing that is told here."""
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


class Standing(msgspec.Struct, frozen=True):
    """How a workspace stands: `about` is its metadata as the journal has it, `run` the run that it says is running."""

    status: str
    state: str
    about: Metadata
    run: RunSummary | None = None


def listing(root: Path, folder: Path, names: list[str]) -> ListingView:
    """One row per workspace."""
    base = str(folder) + os.sep
    rows = (_row(name, _document(base + name + os.sep + ".metadata.json"), base + name) for name in names)
    return ListingView(str(root), tuple(rows))


def standing(about: Metadata, folder: str) -> Standing:
    """Whether the workspace runs, and if not how its last run left it.

    The lock and the journal are asked only if the metadata says `running`, as it is then as old as the start of the
    run, or tells of a dry run, as earlier versions did, or if there are runs that it does not know.
    """
    run = None
    if is_behind(about, folder):
        about = Metadata(dict(about.document))
        metadata_updates.with_newer_runs(_layout(folder), about)
    if about.last_run.get("dryRun") is True:
        about = Metadata(dict(about.document))
        metadata_updates.without_dry_run(_layout(folder), about)
    if about.last_run.get("state") == "running":
        about = Metadata(dict(about.document))
        run = metadata_updates.as_journal_has_it(_layout(folder), about)
        if _is_held(folder):
            return Standing("running", _doing(run), about, run)
        if run is None or run.state != "finished":
            copied = runner.is_copy(_layout(folder), str(about.last_run.get("id", "")))
            return Standing("interrupted", "copy" if copied else "killed", about, run)
    if task_file.is_another(Path(folder, "INSTRUCTIONS.md"), about.document.get(COMPLETED_TASK)):
        return Standing("in_progress", "new_task", about, run)
    status = about.status if about.status in STATUSES else "in_progress"
    return Standing(status, _left(status, about), about, run)


def state_of(folder: str) -> tuple[str, str | None]:
    """The one word for the workspace in this folder, and how it is known that its task is done."""
    document = _document(folder + os.sep + ".metadata.json")
    if document is None:
        return "damaged", None
    found = standing(Metadata(document), folder)
    return found.state, known_by(found)


def _doing(run: RunSummary | None) -> str:
    """What a run does that holds the lock. One that has recorded its end is about to leave."""
    if run is None:
        return "running"
    return run.condition if run.reason is None else "stopping"


def _left(status: str, about: Metadata) -> str:
    """How the last run left it. A `verify` since then may have judged otherwise."""
    reason = _text(about.last_run.get("reason"))
    if status == "in_progress" and reason == "completed" and about.last_run.get("mode") == "plan":
        return "planned"
    if reason and (status == "completed") == (reason in _DONE):
        return reason
    if status != "in_progress":
        return status
    return reason if reason == "stagnation" else _begun(about)


def _begun(about: Metadata) -> str:
    return "unfinished" if about.last_run or about.count("executionIterations") else "new"


def _layout(folder: str) -> Layout:
    return Layout(Path(folder), Path(folder))


def _is_held(folder: str) -> bool:
    """A run is under way. A dry run may be, after a run that was killed."""
    holder = run_lock.holder(Path(folder, ".lock"))
    if holder is None:
        return False
    started = reader.beginning(_layout(folder).journal(str(holder.get("run", ""))))
    return started is None or not started.dry_run


def _row(name: str, document: dict[str, Any] | None, folder: str) -> WorkspaceRow:
    if document is None:
        return WorkspaceRow(name, folder, "damaged", "damaged")
    found = standing(Metadata(document), folder)
    document, run = found.about.document, found.about.last_run
    return WorkspaceRow(
        name,
        folder,
        found.status,
        found.state,
        _text(document.get("mode", "loop")),
        found.about.count("executionIterations"),
        _row_progress(found, folder),
        _text(run.get("reason")),
        known_by(found),
        COPIED if found.state == "copy" else _text(run.get("cause")) if found.status != "running" else "",
        _row_next(name, found),
        _number(run.get("costUsd")),
        False,
        found.run.waiting if found.run is not None and found.status == "running" else None,
        _text(document.get("created")),
        _text(document.get("lastRun")),
        run.get("costIsLowerBound") is True,
        _branch(run),
        _text(run.get("mode")),
        _plan(run.get("plan")),
        not run and bool(document.get(RESET_AFTER)),
    )


def _row_next(name: str, found: Standing) -> str | None:
    document, run = found.about.document, found.about.last_run
    if found.state == "copy":
        return f"claude-iterate reset {name}"
    nothing = found.status == "running" or (found.status == "completed" and _newer_proof(document, run))
    return "" if nothing else _next(name, document, run)


def _branch(run: dict[str, Any]) -> str | None:
    tree = run.get("worktree")
    return _text(tree.get("branch")) if isinstance(tree, dict) else None


def _plan(counts: object) -> PlanCounts | None:
    """As the metadata has it; it may have been changed by hand."""
    if not isinstance(counts, dict):
        return None
    known = [number for name in PlanCounts.__struct_fields__ if type(number := counts.get(name)) is int]
    return PlanCounts(*known) if len(known) == len(PlanCounts.__struct_fields__) else None


def _reported(folder: str, believed: bool) -> Progress | None:
    """What the report says: the original kept no progress of its runs. A claim that is not `believed` is none."""
    reading = status_file.look(Path(folder, ".status.json")).reading
    status = reading.status if reading is not None else None
    return None if status is not None and status.complete and not believed else progress(status)


def _row_progress(found: Standing, folder: str) -> Progress | None:
    """As the last run has it, else as the report does; of a new task nothing is known, nor where `verify` refuted
    what was claimed."""
    run = found.about.last_run
    refuted = found.state == "unfinished" and run.get("reason") == "completed"
    if found.state in {"new", "new_task"} or refuted or run.get(REPORT_IS_OLD) is True:
        return None
    if found.status == "completed" and isinstance(kept := run.get("completion"), dict):
        return _progress(kept.get("progress"))
    return _progress(run.get("progress")) or (
        _reported(folder, found.status == "completed") if run.get("plan") is None else None
    )


def known_by(found: Standing) -> str | None:
    """How it is known that a completed task is done: what the newer of the last `verify` and the last run that worked
    says."""
    if found.status != "completed":
        return None
    run = found.about.last_run
    kept = run.get("completion")
    run_that_worked = kept if isinstance(kept, dict) else run
    return _text((_newer_proof(found.about.document, run) or run_that_worked).get("knownBy"))


def _newer_proof(document: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """What the last `verify` found, if it came after the last run; else nothing."""
    proof = document.get("verification")
    later = isinstance(proof, dict) and str(proof.get(VERIFIED_BY, "")) > str(run.get("id", ""))
    return proof if later and isinstance(proof, dict) else {}


def _next(name: str, document: dict[str, Any], run: dict[str, Any]) -> str | None:
    step, before = _text(run.get("next")), document.get("name")
    if not step or not isinstance(before, str) or before == name:
        return step
    return renamed(step, before, name)


def _document(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path for each of thousands costs more than the reading
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _progress(value: Any) -> Progress | None:
    try:
        return msgspec.convert(value, Progress) if value is not None else None
    except ValueError:
        return None
