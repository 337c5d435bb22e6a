"""How a workspace stands: its metadata, its lock and its journals, each read once. Everything that shows a workspace
starts here."""

from __future__ import annotations

import json

import msgspec

from claude_iterate.views.run_records import RunRecords
from claude_iterate.workspace import metadata, task_file
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.metadata_updates import as_journals_have_it
from claude_iterate.workspace.run_folder import runner
from claude_iterate.workspace.run_summary import RunSummary, summarise

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
_DONE = frozenset({"completed", "stagnation"})
"""Reasons after which the original says `completed`."""


class WorkspaceState(msgspec.Struct, frozen=True):
    """How a workspace stands. `about` is the metadata as the journals have it, `run` the run that it says is under way,
    if its journal can be read."""

    status: str
    state: str
    about: Metadata
    run: RunSummary | None = None

    @classmethod
    def load(cls, about: Metadata, records: RunRecords) -> WorkspaceState:
        """Whether the workspace runs, and if not how its last run left it.

        The lock and the journals are asked only if the metadata says `running`, as it is then as old as the start of
        the run, or if there are runs that it does not know.
        """
        layout, said_running, run = records.layout, about.is_running, None
        if said_running or metadata.is_behind(about, str(layout.folder)):
            about = as_journals_have_it(layout, about, lambda run: records.story(run).state)
        if said_running or about.is_running:
            story = records.story(about.run.id)
            if story.started is not None:
                over = story.state.finished is not None
                run = summarise(RunSummary, story.run, story.state, running=not over)
            if _is_held(records):
                return cls("running", _doing(run), about, run)
            if about.is_running:
                copied = runner.is_copy(layout, about.run.id, story.started)
                return cls("interrupted", "copy" if copied else "killed", about, run)
        if task_file.is_another(layout.instructions, about.completed_task):
            return cls("in_progress", "new_task", about, run)
        status = about.status if about.status in STATUSES else "in_progress"
        return cls(status, _left(status, about), about, run)

    @property
    def known_by(self) -> str | None:
        """How it is known that a completed task is done: what the newer of the last `verify` and the last run that
        worked says."""
        if self.status != "completed":
            return None
        worked = self.about.run.completion or self.about.run
        return (self.about.newer_verification or worked).known_by

    @property
    def report_is_old(self) -> bool:
        """The report is about instructions that were replaced since."""
        return self.state == "new_task" or self.about.run.report_of_task_before


def read_metadata(folder: str) -> Metadata | None:
    """The metadata in this folder, plainly, because there may be thousands; None when it is damaged."""
    try:
        with open(f"{folder}/.metadata.json", "rb") as file:  # noqa: PTH123 - a Path for each would cost more
            document = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return metadata.parse(document) if isinstance(document, dict) else None


def _is_held(records: RunRecords) -> bool:
    """A run is under way. A dry run may be, after a run that was killed."""
    if records.holder is None:
        return False
    started = records.story(str(records.holder.get("run", ""))).started
    return started is None or not started.dry_run


def _doing(run: RunSummary | None) -> str:
    """What a run does that holds the lock. One that has recorded its end is about to leave."""
    if run is None:
        return "running"
    return run.condition if run.reason is None else "stopping"


def _left(status: str, about: Metadata) -> str:
    """How the last run left it. A `verify` since then may have judged otherwise."""
    reason = about.run.reason
    if status == "in_progress" and reason == "completed" and about.run.mode == "plan":
        return "planned"
    if reason and (status == "completed") == (reason in _DONE):
        return reason
    if status != "in_progress":
        return status
    if reason == "stagnation":
        return reason
    return "unfinished" if about.last_run is not None or about.execution_iterations else "new"
