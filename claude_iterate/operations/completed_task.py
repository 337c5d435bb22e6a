"""A task that is done already: it is run again only with `--again`, because that costs money like the first time."""

from __future__ import annotations

import time
from datetime import datetime

from claude_iterate.core.formats import duration
from claude_iterate.core.records import Record
from claude_iterate.core.rules import next_steps
from claude_iterate.operations.run_options import Options
from claude_iterate.operations.user import User
from claude_iterate.workspace import metadata, task_file
from claude_iterate.workspace.layout import Layout


class Completed(Record):
    """The run that completed the task, and how long ago in seconds, where that is known."""

    run: str
    ago: float | None

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
    from claude_iterate.views.listing_view import standing  # most runs do without it

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
    return Completed(str(run.get("id") or ""), max(0.0, time.time() - ended) if ended is not None else None)


def to_leave(layout: Layout, options: Options, user: User) -> Completed | None:
    """The completed task, if this run is not to work on it again; then the user hears how to."""
    if options.dry_run or options.again or not task_file.is_readable(layout.instructions):
        return None  # a run says what is wrong with the instructions
    done = find(layout)
    if done is not None:
        line = options.command_line
        step = next_steps.command(line, line.verb or "run", layout.name, "--again")
        user.note(f"{done.sentence(layout.name)}: nothing to do. To run it again: {step}")
    return done


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
