"""A task that is done already: it is run again only with `--again`, because that costs money like the first time.

In the modes plan and build the plan says more: `plan` may make another one at any time, and `build` works off what is
open in it and runs its checks.
"""

from __future__ import annotations

import time
from datetime import datetime

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.reasons import exit_code
from claude_iterate.core.formats import duration
from claude_iterate.core.rules import next_steps
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.tones import CHANGED, UNPROVEN
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.operations.user import User
from claude_iterate.views.listing_view import known_by, standing
from claude_iterate.workspace import metadata, plan_file, task_file
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project


class Completed(msgspec.Struct, frozen=True):
    """The run that completed the task, how long ago in seconds and how that is known, as far as it is. A run that
    leaves the task ends with the exit code of that run."""

    run: str
    ago: float | None
    known_by: str | None = None
    exit_code: int = 0

    def sentence(self, name: str) -> str:
        """`my-task was completed 2h 03m ago`."""
        return f"{name} was completed{'' if self.ago is None else f' {duration(self.ago)} ago'}"


def find(layout: Layout) -> Completed | None:
    """How the task was completed; None when it was not, or when its instructions were changed since: that is a new
    task."""
    about = metadata.read(layout.metadata)
    known = about.status == "completed" or about.last_run.get("state") == "running"
    if not known and not metadata.is_behind(about, str(layout.folder)):
        return None
    found = standing(about, str(layout.folder))
    run = found.about.last_run
    kept = run.get("completion")  # of a run that did no work: the one before it completed the task
    if found.status != "completed" or run.get("dryRun") is True:
        return None
    if isinstance(kept, dict):
        run = kept
    elif run.get("reason") != "completed":
        return None
    ended = _moment(run.get("finished"))
    ago = max(0.0, time.time() - ended) if ended is not None else None
    return Completed(str(run.get("id") or ""), ago, known_by(found))


def find_to_leave(project: Project, layout: Layout, request: RunRequest) -> Completed | None:
    """The completed task, if this run is not to work on it again."""
    if request.dry_run or request.again or not task_file.is_readable(layout.instructions):
        return None  # a run says what is wrong with the instructions
    done = find(layout)
    mode = MODES[request.mode or metadata.read(layout.metadata).mode] if done is not None else None
    if done is None or mode is None or mode.makes_plan:
        return None
    settings = request.settings_for(project, layout)
    if mode.judged_by == "plan":
        plan = plan_file.look(layout)
        if plan.left or not plan.tasks or settings.verification.checks:
            return None
    detailed = request.detailed or settings.exit_codes == "detailed"
    return replace(done, exit_code=exit_code("completed", detailed, done.known_by))


def to_leave(project: Project, layout: Layout, request: RunRequest, user: User) -> Completed | None:
    """The completed task, if this run is not to work on it again; then the user hears how to, or how to prove it."""
    done = find_to_leave(project, layout, request)
    if done is not None:
        line = request.command_line
        again = f"To run it again: {next_steps.command(line, line.verb or 'run', layout.name, '--again')}"
        if done.known_by in UNPROVEN and project.settings_for(layout).settings.verification.checks:
            accept = (next_steps.ACCEPT,) if done.known_by == CHANGED else ()
            verify = next_steps.in_place(line, "verify", layout.name, "--checks-only", *accept)
            user.note(f"{done.sentence(layout.name)} ({UNPROVEN[done.known_by]}). Prove it: {verify}\n  {again}")
        else:
            user.note(f"{done.sentence(layout.name)}: nothing to do. {again}")
    return done


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
