"""All there is to know of one workspace, for `show`. Reads, never writes.

It folds the newest journals only, so its cost does not grow with the number of runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.groups import Streaks
from claude_iterate.core.formats import plain
from claude_iterate.core.reports import status as reports
from claude_iterate.core.rules.trips import counters
from claude_iterate.core.secrets.masked_settings import masked_setting
from claude_iterate.core.settings.catalogue import catalogue
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.layers import Resolved
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.tones import UNPROVEN
from claude_iterate.project.worktrees import remains
from claude_iterate.text.next_run import next_run
from claude_iterate.views import evidence_view, history_view, run_view
from claude_iterate.views.listing_view import Standing, known_by, standing
from claude_iterate.views.run_view import Recorded, RunView
from claude_iterate.views.story.proofs import EvidenceView
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock, runner, status_file


class CopyView(msgspec.Struct, frozen=True, rename="camel"):
    """A live run of another workspace, of which this one is a copy."""

    run: str
    pid: int


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
    """Of some calls only a part of the cost is known, or a journal is lost."""


class CounterView(msgspec.Struct, frozen=True, rename="camel"):
    """What ends a run when it reaches its limit."""

    name: str
    count: int
    limit: int


class SettingView(msgspec.Struct, frozen=True, rename="camel"):
    """A setting that differs from its default, secrets masked."""

    key: str
    value: Any
    origin: str


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
    running_now: dict[str, Any] | None
    """The process that holds the lock: pid, host, started, run."""
    copy_of: CopyView | None
    report: ReportView
    report_of_task_before: bool
    """The report is about instructions that were replaced since."""
    last_run: RunView | None
    """The last run of `claude-iterate run`, the one under way included; never a dry run."""
    last_dry_run: RunView | None
    """The last dry run of any purpose, if no real run came after it."""
    running_run: RunView | None
    """The run under way, of any purpose; it may be a dry run."""
    proof: EvidenceView | None
    counters: CountersView
    breaker: tuple[CounterView, ...]
    """How far what the breaker counts is, as the next run takes it over."""
    created: str | None
    last_run_at: str | None
    """When it last ran, also where there is no journal: the original kept none."""
    next_run: str
    """What the next run would be: mode and bounds, in words."""
    settings: tuple[SettingView, ...]
    files: dict[str, bool]
    log: str | None
    is_reset: bool = False
    """The command `reset` came after the last run: nothing of it counts any more."""
    without_journal: tuple[str, ...] = ()
    """Runs whose journal is gone or empty: what they did is not known."""
    merge: str | None = None
    """The command that merges the branch of its worktree, and before that commits what is not; null when there is
    nothing to merge."""


def workspace_view(project: Project, layout: Layout, at: float) -> WorkspaceView:
    """The view at the moment `at`. A damaged metadata file is a WorkspaceProblem."""
    found = standing(metadata.read(layout.metadata), str(layout.folder))
    about = found.about
    holder = run_lock.holder(layout.lock)
    newest = _newest(layout, holder, at)
    last = _as_it_stands(_last(layout, newest), about, newest.view if newest is not None else None)
    resolved, is_reset = project.settings_for(layout), last is not None and _is_reset(about, last)
    return WorkspaceView(
        name=layout.name,
        path=str(layout.folder),
        mode=about.mode,
        status=found.status,
        state=found.state,
        known_by=known_by(found),
        running_now=holder,
        copy_of=_copied(layout, about) if found.state == "copy" else None,
        **_of_report(layout, found),
        last_run=last,
        last_dry_run=newest.view if newest is not None and newest.view.dry_run else None,
        running_run=newest.view if newest is not None and newest.view.now is not None else None,
        proof=evidence_view.newest(layout, about, newest),
        counters=_counters(about, newest),
        breaker=() if last is None or is_reset else _breaker(last, resolved.settings),
        is_reset=is_reset,
        created=_text(about.document.get("created")),
        last_run_at=_text(about.document.get("lastRun")),
        next_run=next_run(about.mode, resolved.settings),
        settings=changed_settings(resolved),
        files={
            path.name: path.exists()
            for path in (layout.instructions, layout.todo, layout.status, layout.metadata, layout.working)
        },
        log=_log(layout, last),
        without_journal=history_view.without_journal(layout),
        merge=_merge(project, last),
    )


def _counters(about: metadata.Metadata, newest: Recorded | None) -> CountersView:
    total, setup, execution = (about.count(f"{key}Iterations") for key in ("total", "setup", "execution"))
    return CountersView(total, setup, execution, *_money(about, newest))


def _money(about: metadata.Metadata, newest: Recorded | None) -> tuple[float, bool]:
    """What all runs cost: as the newest journal has it, or as the metadata knew it before a journal was lost."""
    told = newest.view.total_cost_usd if newest is not None else 0.0
    partly = newest is not None and newest.view.total_cost_is_lower_bound
    return (about.total_cost_usd, True) if about.total_cost_usd > told + 1e-5 else (told, partly)


def _is_reset(about: metadata.Metadata, last: RunView) -> bool:
    """The command `reset` came after the run, so nothing of it is counted any more."""
    return str(about.document.get(metadata.RESET_AFTER, "")) >= last.id


def _breaker(last: RunView, settings: Settings) -> tuple[CounterView, ...]:
    now = last.breaker
    streaks = Streaks(unmoved=now.no_progress, failures=now.failures, errors=now.same_error, red=now.test_failures)
    counted = [CounterView(*row) for row in counters(streaks, stop_settings(settings, last.mode))]
    if settings.limits.calls_per_hour:
        counted.append(CounterView("pace", now.calls_in_last_hour, settings.limits.calls_per_hour))
    return tuple(counted)


def _merge(project: Project, last: RunView | None) -> str | None:
    if last is None or last.worktree is None:
        return None
    left = remains(project.root, last.worktree.path, last.worktree.branch, project.environ)
    return (left if last.now is None else replace(left, changed=False)).merge or None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def changed_settings(resolved: Resolved) -> tuple[SettingView, ...]:
    """What differs from the defaults, and where it comes from."""
    return tuple(
        SettingView(key, plain(masked_setting(key, value_of(resolved.settings, key))), _origin(resolved, key))
        for key in catalogue()
        if value_of(resolved.settings, key) != catalogue()[key].default
    )


def value_of(settings: Settings, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _newest(layout: Layout, holder: dict[str, Any] | None, at: float) -> Recorded | None:
    """The newest run of any purpose, live if it is the one that holds the lock."""
    run = next(reader.newest(layout), None)
    if run is None:
        return None
    held = holder is not None and holder.get("run", run) == run
    return run_view.under_way(layout, run, at) if held else run_view.recorded(layout, run)


def _last(layout: Layout, newest: Recorded | None) -> RunView | None:
    """The last run of `claude-iterate run`."""
    if newest is None:
        return None
    found: Recorded | None = newest
    if newest.view.purpose != "run" or newest.view.dry_run:
        run = next(reader.newest(layout, ("run",)), None)
        found = run_view.recorded(layout, run) if run is not None else None
    return replace(found.view, totals=history_view.totals(layout, found)) if found is not None else None


def _as_it_stands(last: RunView | None, about: metadata.Metadata, newest: RunView | None) -> RunView | None:
    """What the last run advises is out of date after a `verify` that judged its work, and after a `reset`. A verify
    that found something missing has its own next step."""
    if last is None:
        return None
    proof = about.document.get("verification")
    verified_by = str(proof.get(metadata.VERIFIED_BY, "")) if isinstance(proof, dict) else ""
    if verified_by <= last.id and str(about.document.get(metadata.RESET_AFTER, "")) < last.id:
        return last
    step = newest.next if newest is not None and newest.id == verified_by > last.id and not newest.proven else ""
    return replace(last, about_claim="", advice="", next=step)


def _copied(layout: Layout, about: metadata.Metadata) -> CopyView:
    """The live run in the metadata that belongs to another workspace: this one was copied during the run."""
    run = str(about.last_run.get("id", ""))
    return CopyView(run, runner.pid_of(layout, run))


def _log(layout: Layout, last: RunView | None) -> str | None:
    """Where to read of the last run; where there was none, or its log is gone, the newest log there is."""
    if last is not None and last.log:
        # By its name: the workspace may have been moved or restored under another one.
        own = layout.folder / Path(last.log).name
        if own.is_file():
            return str(own)
    logs = layout.logs()
    return str(logs[-1]) if logs else None


def _origin(resolved: Resolved, key: str) -> str:
    origin = resolved.origin(key)
    return f"{origin.kind}: {origin.place}" if origin.kind in {"user", "project"} else origin.kind


def _of_report(layout: Layout, found: Standing) -> dict[str, Any]:
    """The report, and whether it is about the task before this one."""
    old = found.state == "new_task" or found.about.last_run.get(metadata.REPORT_IS_OLD) is True
    believed = found.status == "completed" and known_by(found) not in UNPROVEN and not old
    return {"report": _report(layout, believed), "report_of_task_before": old}


def _report(layout: Layout, believed: bool) -> ReportView:
    reading = status_file.look(layout.status).reading
    if reading is None or reading.status is None:
        return ReportView(problems=reading.problems if reading is not None else ())
    said = msgspec.convert(reading.status, ReportView, from_attributes=True)
    text = reports.describe(reading.status)
    if reading.status.complete and not believed:  # the word of Claude alone
        text = f"{reports.describe(replace(reading.status, complete=False))} - claimed to be complete"
    return replace(said, present=True, text=text, problems=reading.problems)
