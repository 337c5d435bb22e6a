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
from claude_iterate.core.events import Tokens
from claude_iterate.core.rules.next_steps import KILLED, continue_command
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState
from claude_iterate.workspace import journal_reader, metadata, task_file
from claude_iterate.workspace.files.folders import explain_write_errors
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import LastRun, LastVerification, Metadata
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
_MOST_NEWER = 50
"""Runs that the summary does not know, at most so many of which are read."""
_MOST_IDLE = 3
"""Of those, runs without work that are folded: the one before them may have completed the task."""


def record_run(layout: Layout, state: RunState, run: str, running: bool) -> None:
    """Write the state of a run that begins, goes on or is over. One-off calls are only counted; a dry run leaves no
    trace."""
    short = summarise(RunSummary, run, state, running)
    if short.dry_run:
        return
    if short.purpose in _SETUPS and not running:
        count_setup(layout)
    about = before = metadata.read(layout.metadata)
    if short.total_cost_usd > about.total_cost_usd:  # it never becomes less
        total, partly = round(short.total_cost_usd, 6), short.total_cost_is_lower_bound
        about = replace(about, total_cost_usd=total, total_cost_is_lower_bound=partly)
    verified = short.purpose == "verify" and short.proven is not None
    if short.purpose == "run" or verified:
        about = _with_run(about, short, state, layout)
    if about != before:
        metadata.write(layout.metadata, about)


def refresh_from_journals(layout: Layout, about: Metadata, read: Callable[[str], RunState] | None = None) -> Metadata:
    """The metadata as the journals have it: with runs that it does not know, because git or a copy put back an older
    summary, and with the present state of the run that it says is running. A run that was killed right after its last
    entry could not write its summary, but it is over. `read` gives what the journal of a run comes to."""
    read = read or partial(journal_reader.fold_journal, layout)
    about = _with_newer_runs(layout, about, read)
    if not about.is_running or about.run.id not in layout.run_ids():
        return about
    run = about.run.id
    state = read(run)
    if state.started is None:
        return about
    about = _with_run(about, summarise(RunSummary, run, state, state.finished is None), state)
    if state.finished is None:  # for the case that it does not run any more
        about = replace(about, last_run=replace(about.run, cause=KILLED, next=continue_command(state)))
    return about


def catch_up(layout: Layout) -> None:
    """Write down how runs ended that could not do so themselves. Hold the lock."""
    before = metadata.read(layout.metadata)
    after = refresh_from_journals(layout, before)
    if after.newest_known_run != before.newest_known_run or (before.is_running and not after.is_running):
        metadata.write(layout.metadata, after)


def _with_newer_runs(layout: Layout, about: Metadata, read: Callable[[str], RunState]) -> Metadata:
    """With a `verify` since the last run, that run, and those before it up to one that worked: idle ones leave how the
    task was completed."""
    newer: list[tuple[str, RunState]] = []
    idle = 0
    for run in reversed([run for run in layout.run_ids()[-_MOST_NEWER:] if run > about.newest_known_run]):
        started = journal_reader.beginning(layout.journal(run))
        if started is None or started.dry_run:
            continue
        if started.purpose == "verify" and not newer:
            newer.append((run, read(run)))
        elif started.purpose == "run":
            newer.append((run, read(run)))
            idle += 1
            if idle == _MOST_IDLE or _did_work(newer[-1][1]):
                break
    for run, state in reversed(newer):
        about = _with_run(about, summarise(RunSummary, run, state, state.finished is None), state)
    return about


def _with_run(about: Metadata, short: RunSummary, state: RunState, layout: Layout | None = None) -> Metadata:
    """The metadata after this run or `verify`, as far as its journal goes. `layout`: the task is the one that is there
    now."""
    if short.purpose == "run":
        about = _with_summary(about, short, state)
        if short.proven is not None and short.state != "running":
            about = _with_verdict(about, short)
    elif short.proven is not None:
        about = _with_verdict(_without_report_of_another(about, short, state), short)
    return replace(about, completed_task=_completed_task(about, state, layout))


def _with_summary(about: Metadata, short: RunSummary, state: RunState) -> Metadata:
    running, before = short.state == "running", _earlier_completion(about)
    kept = before if short.reason != "completed" and not _did_work(state) else None
    status = "in_progress" if running else "completed" if kept is not None else _status(short)
    last = msgspec.convert(short, LastRun, from_attributes=True)
    cost, phase = round(short.cost_usd, 6), "running" if running else "finished"
    return replace(
        about,
        status=status,
        last_run=replace(last, state=phase, cost_usd=cost, completion=kept),
        last_run_at=short.updated or formats.moment(time.time()),
        execution_iterations=short.total_iterations,
        total_iterations=about.setup_iterations + short.total_iterations,
    )


def _with_verdict(about: Metadata, short: RunSummary) -> Metadata:
    before = about.verification or LastVerification()
    verification = LastVerification(
        verification_attempts=before.verification_attempts + max(1, short.claims),
        last_verification_status="pass" if short.proven else "fail",
        last_verification_time=short.updated,
        last_verification_run=short.id,
        known_by=short.known_by,
    )
    return replace(about, verification=verification)


def _without_report_of_another(about: Metadata, short: RunSummary, state: RunState) -> Metadata:
    """After a `verify` the verdict counts, the story of the last run stays. What that run reported is not about a new
    task."""
    last, before = about.last_run, about.completed_task
    if last is not None:
        last = replace(last, completion=None)
        if before is not None and state.claim.task and not fingerprints.is_same_task(before, state.claim.task):
            last = replace(last, report_of_task_before=True, progress=None, plan=None)
    return replace(about, status="completed" if short.proven else "in_progress", last_run=last)


def _completed_task(about: Metadata, state: RunState, layout: Layout | None) -> str | None:
    """Which task is completed, if one is. A run that stagnated made no claim: there it is the present task."""
    if about.status != "completed":
        return None
    kept = about.run.completion
    known = state.claim.task or (kept.task if kept is not None else "")
    return known or (task_file.current_identity(layout.instructions) if layout is not None else "") or None


def _status(short: RunSummary) -> str:
    """The original's word."""
    if short.reason == "completed" and short.mode in MODES and MODES[short.mode].makes_plan:
        return "in_progress"  # the plan is made, the task is not done
    return _STATUS.get(short.reason or "", "in_progress")


def _earlier_completion(about: Metadata) -> LastRun | None:
    """The run that completed the task, as the metadata has it before another run is noted: it stays so while no later
    run has worked on it."""
    last = about.run
    if last.completion is not None:
        return last.completion
    if about.status != "completed" or about.is_running:
        return None
    found = replace(last, task=about.completed_task or "")
    proof = about.newer_verification
    if proof is not None:
        found = replace(found, known_by=proof.known_by, finished=proof.last_verification_time)
    return found if found != LastRun() else None


def _did_work(state: RunState) -> bool:
    """An iteration was done or is under way, a claim was judged, or a call cost something."""
    resumed = state.run.resumed is not None
    spent = state.cost_usd > 0 or state.cost_is_lower_bound or state.tokens != Tokens()
    return bool(state.iterations or state.call is not None or state.proof is not None or resumed or spent)


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
            if layout.status.exists() or layout.status.is_symlink():
                layout.status.replace(layout.folder / ".status.json.bak")
                done.append("the old .status.json is now .status.json.bak")
    return done
