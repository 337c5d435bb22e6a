"""What a run leaves in `.metadata.json`: its summary for quick looks, in the original's words too.

The journal is the truth. Hold the lock of the workspace to write here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec.structs import replace

from claude_iterate.core import fingerprints, formats
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_write_errors
from claude_iterate.workspace import journal_reader, metadata, task_file
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import LastRun, Metadata
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.run_summary import RunSummary, summarise

_STATUS = {
    "completed": "completed",
    "stagnation": "completed",
    "agent_failed": "error",
    "blocked": "error",
    "verification_failed": "error",
}
_SETUPS = frozenset({"setup", "edit"})


def record_run(layout: Layout, state: RunState, run: str) -> None:
    """Write the state of a run that begins, goes on or is over. One-off calls are only counted; a dry run leaves no
    trace."""
    short = summarise(RunSummary, run, state, running=state.finished is None)
    if short.dry_run:
        return
    if short.purpose in _SETUPS and state.finished is not None:
        count_setup(layout)
    about = before = metadata.read(layout.metadata)
    if short.total_cost_usd > about.total_cost_usd:  # it never becomes less
        total, partly = round(short.total_cost_usd, 6), short.total_cost_is_lower_bound
        about = replace(about, total_cost_usd=total, total_cost_is_lower_bound=partly)
    if short.purpose in {"run", "verify"} and not _leaves_completed(about, state):
        about = _with_run(about, short, state, layout)
    if about != before:
        metadata.write(layout.metadata, about)


def refresh_from_journals(layout: Layout, about: Metadata, read: Callable[[str], RunState] | None = None) -> Metadata:
    """The metadata as the journals have it. A run that was killed right after its last entry could not write its
    summary, and git or a copy may have put back an older one: then the newest run and the newest `verify` say how
    things are. `read` gives what the journal of a run comes to."""
    read = read or partial(journal_reader.fold_journal, layout)
    newest = {next(journal_reader.newest_runs(layout, kinds), "") for kinds in (("run",), ("run", "verify"))}
    for run in sorted(newest):
        if run > about.newest_known_run or (about.is_running and run == about.run.id):
            state = read(run)
            about = _with_run(about, summarise(RunSummary, run, state, running=False), state, layout)
    return about


def catch_up(layout: Layout) -> None:
    """Write down how runs ended that could not do so themselves. Hold the lock."""
    before = metadata.read(layout.metadata)
    after = refresh_from_journals(layout, before)
    if after != before:
        metadata.write(layout.metadata, after)


def _with_run(about: Metadata, short: RunSummary, state: RunState, layout: Layout) -> Metadata:
    """The metadata after this run or `verify`, as far as its journal goes."""
    if state.finished is not None and _leaves_completed(about, state):
        return about
    judged = short.proven is not None and state.finished is not None
    if short.purpose == "run":
        about = _with_summary(about, short)
    elif judged:
        about = _without_report_of_another(about, short, state)
    else:
        return about
    if judged:
        document = {key: value for key, value in about.document.items() if key != "verification"}  # of the original
        about = replace(about, verified_by=short.id, verified_known_by=short.known_by, document=document)
    # A run that stagnated made no claim: there it is the present task that is completed.
    task = (state.claim.task or task_file.current_identity(layout.instructions)) if about.status == "completed" else ""
    return replace(about, completed_task=task or None)


def _with_summary(about: Metadata, short: RunSummary) -> Metadata:
    last = msgspec.convert(short, LastRun, from_attributes=True)
    phase = "finished" if short.reason is not None else "running"
    return replace(
        about,
        status=_status(short),
        last_run=replace(last, state=phase, cost_usd=round(short.cost_usd, 6)),
        last_run_at=short.updated or formats.moment(time.time()),
        execution_iterations=short.total_iterations,
        total_iterations=about.setup_iterations + short.total_iterations,
    )


def _leaves_completed(about: Metadata, state: RunState) -> bool:
    """The task is completed, and this run has not worked on it: no iteration, none under way, no judged claim, no cost.
    So its summary is not written; while it has no end, readers learn of it from its journal."""
    worked = state.iterations or state.call or state.proof or state.run.resumed or state.cost_usd
    return about.status == "completed" and state.run.purpose == "run" and not worked


def _without_report_of_another(about: Metadata, short: RunSummary, state: RunState) -> Metadata:
    """After a `verify` the verdict counts, the story of the last run stays. What that run reported is not about a new
    task."""
    last, before = about.last_run, about.completed_task
    is_new = before is not None and state.claim.task and not fingerprints.is_same_task(before, state.claim.task)
    if last is not None and is_new:
        last = replace(last, report_of_task_before=True, progress=None, plan=None)
    return replace(about, status="completed" if short.proven else "in_progress", last_run=last)


def _status(short: RunSummary) -> str:
    """The original's word."""
    if short.reason == "completed" and short.mode in MODES and MODES[short.mode].makes_plan:
        return "in_progress"  # the plan is made, the task is not done
    return _STATUS.get(short.reason or "", "in_progress")


def note_new_task(layout: Layout) -> None:
    """The instructions were written: a task that was completed is not the one that they describe."""
    about = metadata.read(layout.metadata)
    if about.status == "completed" and task_file.is_another(layout.instructions, about.completed_task):
        metadata.write(layout.metadata, replace(about, status="in_progress"))


def count_setup(layout: Layout) -> None:
    """Claude was called once more to write the instructions."""
    about = metadata.read(layout.metadata)
    counted = {"setup_iterations": about.setup_iterations + 1, "total_iterations": about.total_iterations + 1}
    metadata.write(layout.metadata, replace(about, **counted))


def reset(layout: Layout) -> list[str]:
    """Counters to 0, status in_progress, a stale `.status.json` set aside. Says what was done."""
    with run_lock.hold(layout.lock, layout.name, "reset"):
        about = metadata.read(layout.metadata)
        about = replace(
            about,
            status="in_progress",
            total_iterations=0,
            setup_iterations=0,
            execution_iterations=0,
            last_run=None,
            completed_task=None,
            reset_after=next(journal_reader.newest_runs(layout), about.reset_after),
        )
        done = ["counters set to 0"]
        with explain_write_errors(layout.name, layout.folder):
            metadata.write(layout.metadata, about)
            if untrusted_files.exists(layout.status):
                untrusted_files.rename(layout.status, layout.folder / ".status.json.bak")
                done.append("the old .status.json is now .status.json.bak")
    return done
