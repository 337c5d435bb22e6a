"""How a workspace stands, its row in `list`, and all there is to know of it for `show`. Only the newest journals are
folded, so the cost does not grow with the number of runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.run import Breaker
from claude_iterate.core.redact import redactor_for
from claude_iterate.core.reports import status as reports
from claude_iterate.core.rules.breaker import counters
from claude_iterate.core.rules.next_steps import rename_workspace
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.condition import CONDITIONS, KILLED, Progress, counted_items
from claude_iterate.core.tones import UNPROVEN
from claude_iterate.project.worktrees import remains
from claude_iterate.system import untrusted_files
from claude_iterate.text.ending_lines import next_run
from claude_iterate.views import history_view, run_view
from claude_iterate.views.run_view import RunView
from claude_iterate.views.settings_view import SettingView, changed_settings
from claude_iterate.views.story import EvidenceView, RunRecords
from claude_iterate.workspace import metadata, task_file
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.metadata_updates import refresh_from_journals
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock, status_file
from claude_iterate.workspace.run_folder.run_lock import Holder
from claude_iterate.workspace.run_summary import CurrentWait, PlanCounts, RunSummary, summarise

STATUSES = ("in_progress", "completed", "error", "running", "interrupted", "damaged")
"""The original's three words, and what they cannot say: running now, cut off by a crash, unreadable."""
STATES = ("new", "new_task", "planned", *CONDITIONS, KILLED, "copy", "unfinished")
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
        """Whether the workspace runs, and if not how its last run left it. Lock and journals are asked only if the
        metadata says `running`, and is as old as the start of the run, or if there are runs that it does not know."""
        layout, said_running, run = records.layout, about.is_running, None
        if said_running or metadata.has_newer_runs(about, layout):
            about = refresh_from_journals(layout, about, lambda run: records.story(run).state)
        if said_running or about.is_running:
            story = records.story(about.run.id)
            if story.started is not None:
                over = story.state.finished is not None
                run = summarise(RunSummary, story.run, story.state, running=not over)
            if _is_held(records):
                # One that has recorded its end is about to leave.
                doing = "running" if run is None else run.condition if run.reason is None else "stopping"
                return cls("running", doing, about, run)
            if about.is_running:
                copied = run_lock.is_copy(layout, about.run.id, story.started)
                return cls("interrupted", "copy" if copied else "killed", about, run)
        if task_file.is_another(layout.instructions, about.completed_task):
            return cls("in_progress", "new_task", about, run)
        status = about.status if about.status in STATUSES else "in_progress"
        return cls(status, _left(status, about), about, run)

    @property
    def known_by(self) -> str | None:
        """How it is known that a completed task is done: what the newer of the last `verify` and the last run says."""
        return self.about.known_by if self.status == "completed" else None

    @property
    def report_is_old(self) -> bool:
        """The report is about instructions that have been replaced since."""
        return self.state == "new_task" or self.about.run.report_of_task_before


def _is_held(records: RunRecords) -> bool:
    """A run is under way. A dry run may be, after a run that was killed."""
    if records.holder is None:
        return False
    started = records.story(records.holder.run).started
    return started is None or not started.dry_run


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


class ReportView(msgspec.Struct, frozen=True, rename="camel"):
    """What `.status.json` says, and what is wrong with it."""

    present: bool = False
    text: str | None = None
    complete: bool | None = None
    completed: int | None = None
    total: int | None = None
    worked: bool | None = None
    summary: str | None = None
    blocked: str | None = None
    problems: tuple[str, ...] = ()


class CountersView(msgspec.Struct, frozen=True, rename="camel"):
    """Iterations and money of all runs."""

    total: int
    setup: int
    execution: int
    cost_usd: float
    cost_is_lower_bound: bool
    """Only part of the cost of some calls is known, or a journal is lost."""


class CounterView(msgspec.Struct, frozen=True, rename="camel"):
    """One counter of the breaker: it ends a run when it reaches its limit."""

    name: str
    count: int
    limit: int


class WorkspaceView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One workspace."""

    name: str
    path: str
    mode: str
    status: str
    """As in the list."""
    state: str
    """As in the list."""
    known_by: str | None
    """As in the list."""
    running_now: Holder | None
    copy_of: Holder | None
    """The process and run of the workspace that this one is a copy of, if that is running."""
    progress: Progress | None
    """As in the list."""
    report: ReportView
    report_of_task_before: bool
    """The report is about instructions that have been replaced since."""
    last_run: RunView | None
    """The last run of `claude-iterate run`, or the one under way; never a dry run."""
    last_dry_run: RunView | None
    """The last dry run of any purpose, if no real run came after it."""
    running_run: RunView | None
    """The run under way, of any purpose; it may be a dry run."""
    proof: EvidenceView | None
    counters: CountersView
    breaker: tuple[CounterView, ...]
    """The counters of the breaker, as the next run inherits them."""
    created: str | None
    last_run_at: str | None
    """When it last ran, even without a journal: the original kept none."""
    next_run: str
    """What the next run would be: mode and bounds, in words."""
    settings: tuple[SettingView, ...]
    files: dict[str, bool]
    log: str | None
    is_reset: bool = False
    """The command `reset` came after the last run: it no longer counts."""
    without_journal: tuple[str, ...] = ()
    """Runs whose journal is gone or empty: what they did is not known."""
    merge: str | None = None
    """The command that commits what is uncommitted in its worktree and merges the branch; null: nothing to merge."""


def workspace_view(project: Project, layout: Layout, at: float) -> WorkspaceView:
    """The view at the moment `at`. A damaged metadata file is a WorkspaceProblem."""
    records = RunRecords(layout)
    found = WorkspaceState.load(metadata.read(layout.metadata), records)
    about, newest = found.about, records.newest()
    now = run_view.run_view(layout, newest, at if records.is_under_way(newest.run) else None) if newest else None
    last = _last(records, now, about)
    log = run_view.log_named(layout, shown.log if (shown := last or now) is not None else "")
    resolved, is_reset = project.settings_for(layout, about=about), last is not None and about.reset_after >= last.id
    view = WorkspaceView(
        name=layout.name,
        path=str(layout.folder),
        mode=about.mode,
        status=found.status,
        state=found.state,
        known_by=found.known_by,
        running_now=records.holder,
        copy_of=Holder(run_lock.pid_of(layout, about.run.id), run=about.run.id) if found.state == "copy" else None,
        progress=_progress(found, layout),
        report=_report(layout, found),
        report_of_task_before=found.report_is_old,
        last_run=last,
        last_dry_run=now if now is not None and now.dry_run else None,
        running_run=now if now is not None and now.now is not None else None,
        proof=records.evidence(about),
        counters=_counters(about, now),
        breaker=() if last is None or is_reset else _breaker(last, resolved.settings),
        is_reset=is_reset,
        created=about.created,
        last_run_at=about.last_run_at,
        next_run=next_run(about.mode, resolved.settings),
        settings=changed_settings(resolved),
        files={
            path.name: untrusted_files.exists(path)
            for path in (layout.instructions, layout.todo, layout.status, layout.metadata, layout.working)
        },
        log=str(log) if log is not None else None,
        without_journal=history_view.without_journal(records),
        merge=_merge(project, last),
    )
    return redactor_for(project.environ, resolved.settings).clean_struct(view)


def _counters(about: Metadata, newest: RunView | None) -> CountersView:
    """All runs cost as much as the newest journal has it, or as the metadata knew it before a journal was lost."""
    money = (newest.total_cost_usd, newest.total_cost_is_lower_bound) if newest is not None else (0.0, False)
    money = (about.total_cost_usd, True) if about.total_cost_usd > money[0] + 1e-5 else money
    return CountersView(about.total_iterations, about.setup_iterations, about.execution_iterations, *money)


def _breaker(last: RunView, settings: Settings) -> tuple[CounterView, ...]:
    now = last.breaker
    counts = Breaker(unmoved=now.no_progress, failures=now.failures, errors=now.same_error, red=now.test_failures)
    counted = [CounterView(*row) for row in counters(counts, stop_settings(settings, last.mode))]
    if settings.limits.calls_per_hour:
        counted.append(CounterView("pace", now.calls_in_last_hour, settings.limits.calls_per_hour))
    return tuple(counted)


def _merge(project: Project, last: RunView | None) -> str | None:
    if last is None or last.worktree is None:
        return None
    left = remains(project.root, last.worktree.path, last.worktree.branch, project.environ)
    return (left if last.now is None else replace(left, files=())).merge or None


def _last(records: RunRecords, newest: RunView | None, about: Metadata) -> RunView | None:
    """The last run of `claude-iterate run`; `newest` is the newest run of any purpose. What it advises is out of date
    after a `verify` that judged its work, and after a `reset`. A verify that found something missing has its own next
    step."""
    last = newest
    if newest is not None and (newest.purpose != "run" or newest.dry_run):
        found = records.newest(("run",))
        last = run_view.run_view(records.layout, found) if found is not None else None
    if newest is None or last is None:
        return None
    last = replace(last, totals=history_view.totals(records, last.id))
    if about.verified_by <= last.id and about.reset_after < last.id:
        return last
    refuted = newest.id == about.verified_by > last.id and not newest.proven
    return replace(last, about_claim="", advice="", next=newest.next if refuted else "")


def _report(layout: Layout, found: WorkspaceState) -> ReportView:
    reading = status_file.look(layout.status).reading
    if reading is None or reading.status is None:
        return ReportView(problems=reading.problems if reading is not None else ())
    said = msgspec.convert(reading.status, ReportView, from_attributes=True)
    text = reports.describe(reading.status)
    believed = found.status == "completed" and found.known_by not in UNPROVEN and not found.report_is_old
    if reading.status.complete and not believed:  # the word of Claude alone
        text = f"{reports.describe(replace(reading.status, complete=False))} - claimed to be complete"
    return replace(said, present=True, text=text, problems=reading.problems)


COPIED = "It is a copy of a workspace that is running now."


class WorkspaceRow(msgspec.Struct, frozen=True, rename="camel"):
    """One workspace in a list. Only name, status, state and path of a damaged one are known."""

    name: str
    path: str
    status: str
    """in_progress, completed, error, running, interrupted or damaged."""
    state: str
    """The one word for it: what the run is doing while it runs, then the reason why the last run ended; killed, new,
    new_task (the instructions changed since the task was completed), planned (`plan` made a plan), copy (of a workspace
    that is running), damaged. Where no reason is known, because the original ran it or `verify` judged it since:
    completed, unfinished or error."""
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
    waiting: CurrentWait | None = None
    created: str | None = None
    last_run: str | None = None
    cost_is_lower_bound: bool = False
    """Only part of the cost of some calls of the last run is known."""
    branch: str | None = None
    """The branch of the worktree that the last run worked in."""
    run_mode: str | None = None
    """The mode of the last run; the commands `plan` and `build` have their own, whatever the workspace's is."""
    plan: PlanCounts | None = None
    """The tasks of the plan, as the last run read it."""
    reset: bool = False
    """The command `reset` came after the last run: it no longer counts."""


class ListingView(msgspec.Struct, frozen=True, rename="camel"):
    """The workspaces of a project."""

    root: str
    workspaces: tuple[WorkspaceRow, ...]


def listing(root: Path, folder: Path, names: list[str]) -> ListingView:
    """One row per workspace."""
    return ListingView(str(root), tuple(_row(Layout(root, folder / name)) for name in names))


def state_of(layout: Layout) -> WorkspaceState | None:
    """How this workspace stands; None when its metadata is damaged."""
    try:
        document = untrusted_files.read_json(layout.metadata)
    except OSError:
        return None
    return WorkspaceState.load(metadata.parse(document), RunRecords(layout)) if document is not None else None


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
    if found.status == "running" or (found.status == "completed" and about.is_judged_since):
        return ""
    return rename_workspace(about.run.next, about.name, name) if about.run.next and about.name else about.run.next


def _progress(found: WorkspaceState, layout: Layout) -> Progress | None:
    """As the last run has it, else as the report does; of a new task nothing is known, nor where `verify` refuted
    what was claimed."""
    run = found.about.run
    done = found.status == "completed"
    refuted = found.state == "unfinished" and run.reason == "completed"
    if found.state == "new" or refuted or found.report_is_old:
        return None
    if run.progress is not None or run.plan is not None:
        return run.progress
    reading = status_file.look(layout.status).reading  # the original kept no progress of its runs
    status = reading.status if reading is not None else None
    return None if status is not None and status.complete and not done else counted_items(status)
