"""A task that is done already: its next run is asked about, announced or left out. It costs money like the first."""

from __future__ import annotations

import time
from datetime import datetime

from claude_iterate.core.formats import duration
from claude_iterate.core.records import Record
from claude_iterate.operations.run_options import Options
from claude_iterate.operations.user import User
from claude_iterate.workspace import metadata
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
    if ended is not None and _changed_at(layout) > ended + 1:
        return None
    return Completed(str(run.get("id") or ""), max(0.0, time.time() - ended) if ended is not None else None)


def may_run_again(layout: Layout, options: Options, user: User) -> bool:
    """False when the user, or `--unless-completed`, says no. Without a terminal the run goes on, with a warning."""
    if options.dry_run or options.if_completed == "run":
        return True
    done = find(layout)
    if done is None:
        return True
    if options.if_completed == "leave":
        user.note(
            f"{done.sentence(layout.name)}: nothing to do. To run it again: claude-iterate run {layout.name} --again"
        )
        return False
    if user.can_answer:
        return user.confirms(f"{done.sentence(layout.name)}. Run it again?")
    return True


def warning(layout: Layout, options: Options, user: User) -> str:
    """One line for those who cannot be asked."""
    if options.dry_run or options.if_completed or user.can_answer:
        return ""
    done = find(layout)
    return f"{done.sentence(layout.name)}; this run works on it again." if done is not None else ""


def _changed_at(layout: Layout) -> float:
    try:
        return layout.instructions.stat().st_mtime
    except OSError:
        return 0.0  # the run itself says that they are missing


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
