"""What a run leaves in `.metadata.json`: its summary for quick looks, in the original's words too.

The journal is the truth. Hold the lock of the workspace to write here. Unknown keys survive.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from claude_iterate.core import formats, task_identity
from claude_iterate.core.events import Tokens
from claude_iterate.core.rules.next_steps import KILLED, go_on
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import fold
from claude_iterate.workspace import metadata, task_file
from claude_iterate.workspace.files.folders import writing
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import Metadata
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
_ENDING = ("reason", "cause", "detail", "next", "knownBy")
_MONEY = ("costUsd", "costIsLowerBound")
_KEPT = (
    "id",
    "state",
    "started",
    "finished",
    *_ENDING,
    "iterations",
    *_MONEY,
    "dryRun",
    "log",
    "progress",
    "mode",
    "plan",
    "worktree",
)
"""Keys of a summary that are kept in the file."""
_MOST_NEWER = 50
"""Runs of which the summary has not heard that are looked at."""
_MOST_IDLE = 3
"""Of those, runs without work that are folded: the one before them may have completed the task."""
_OPTIONAL = frozenset({"progress", "knownBy", "plan", "worktree"})


def record_run(layout: Layout, state: RunState, run: str, running: bool) -> None:
    """Write the state of a run that begins, goes on or is over. One-off calls are only counted; a dry run leaves no
    trace."""
    short = summarise(RunSummary, run, state, running)
    if short.dry_run:
        return
    if short.purpose in _SETUPS and not running:
        count_setup(layout)
    verified = short.purpose == "verify" and short.proven is not None
    about = metadata.read(layout.metadata)
    if short.purpose != "run" and not verified:
        if about.note_total_cost(short.total_cost_usd, short.total_cost_is_lower_bound):
            metadata.write(layout.metadata, about, derived=True)
        return
    about.note_total_cost(short.total_cost_usd, short.total_cost_is_lower_bound)
    if verified:
        _verified(about.document, short, state)
    else:
        _update(about, short, state)
    _note_task(about.document, state, layout)
    metadata.write(layout.metadata, about, derived=not verified)


def as_journal_has_it(layout: Layout, about: Metadata) -> RunSummary | None:
    """Bring a summary that says `running` up to date, in memory. Returns the summary of that run, if its journal can be
    read.

    A run that was killed right after its last entry could not write its summary, but it is over.
    """
    without_dry_run(layout, about)
    with_newer_runs(layout, about)
    run = about.last_run.get("id")
    if about.last_run.get("state") != "running" or not isinstance(run, str) or run not in layout.run_ids():
        return None
    state = fold(reader.milestones(layout.journal(run)))
    if state.started is None:
        return None
    short = summarise(RunSummary, run, state, running=state.finished is None)
    _update(about, short, state)
    _note_task(about.document, state)
    if state.finished is None:  # for the case that it does not run any more
        about.document["run"] |= {"cause": KILLED, "next": go_on(state)}
    return short


def catch_up(layout: Layout) -> str:
    """Write down how a run ended that could not do so itself. Returns its id, or nothing. Hold the lock."""
    about = metadata.read(layout.metadata)
    if without_dry_run(layout, about) | with_newer_runs(layout, about):
        metadata.write(layout.metadata, about)
    short = as_journal_has_it(layout, about)
    if short is None or short.state != "finished":
        return ""
    metadata.write(layout.metadata, about)
    return short.id


def with_newer_runs(layout: Layout, about: Metadata) -> bool:
    """Add what the journals of newer runs say, in memory: the summary is derived, and git or a copy may have put back
    an older one. True when there were any that count."""
    known, runs, proven = metadata.newest_known(about), layout.run_ids(), ""
    idle: list[tuple[str, RunState]] = []
    for run in reversed([run for run in runs[-_MOST_NEWER:] if run > known]):
        started = reader.beginning(layout.journal(run))
        if started is None or started.dry_run or started.purpose not in {"run", "verify"}:
            continue
        if started.purpose == "run":
            state = fold(reader.milestones(layout.journal(run)))
            idle.insert(0, (run, state))
            if _did_work(state) or len(idle) == _MOST_IDLE:
                break
        elif not idle:
            proven = proven or run
    for run, state in idle:
        _add(about, run, state)
    if proven:
        _add(about, proven, fold(reader.milestones(layout.journal(proven))))
    return metadata.newest_known(about) != known


def _add(about: Metadata, run: str, state: RunState) -> None:
    short = summarise(RunSummary, run, state, running=state.finished is None)
    if short.purpose == "run":
        _update(about, short, state)
    elif short.proven is not None:
        _verified(about.document, short, state)
    _note_task(about.document, state)


def _verified(document: dict[str, Any], short: RunSummary, state: RunState) -> None:
    """The verdict counts, the story of the last run stays. What that run reported is not about a new task."""
    document["status"] = "completed" if short.proven else "in_progress"
    run, before = document.get("run"), document.get(metadata.COMPLETED_TASK)
    if isinstance(run, dict):
        run.pop(COMPLETION, None)
        if isinstance(before, str) and state.claim.task and not task_identity.is_same(before, state.claim.task):
            run[metadata.REPORT_IS_OLD] = True
            for name in ("progress", "plan"):
                run.pop(name, None)
    _note_proof(document, short)


def without_dry_run(layout: Layout, about: Metadata) -> bool:
    """Earlier versions summed up dry runs, too. Make such a summary tell of the last real run, in memory; True when it
    did not."""
    if about.last_run.get("dryRun") is not True:
        return False
    document = about.document
    proof = document.get("verification")
    verified_by = proof.get(metadata.VERIFIED_BY) if isinstance(proof, dict) else None
    proven = reader.beginning(layout.journal(verified_by)) if isinstance(verified_by, str) else None
    if proven is not None and proven.dry_run:
        del document["verification"]
    found = reader.last_run(layout, ("run",))
    if found is not None:
        run, state = found
        _tell(about, summarise(RunSummary, run, state, running=state.finished is None), state)
        return True
    newest = reader.last_run(layout)
    done = newest[1].carried.iterations if newest is not None else 0
    del document["run"]
    document |= {"status": "in_progress", "executionIterations": done}
    document["totalIterations"] = about.count("setupIterations") + done
    return True


def _update(about: Metadata, short: RunSummary, state: RunState) -> None:
    _tell(about, short, state)
    if short.proven is not None and short.state != "running":
        _note_proof(about.document, short)


def _tell(about: Metadata, short: RunSummary, state: RunState) -> None:
    document = about.document
    running, before = short.state == "running", _earlier_completion(about)
    document["run"] = _kept(short)
    document["status"] = "in_progress" if running else _status(short)
    if before and short.reason != "completed" and not _did_work(state):
        document["run"][COMPLETION] = before
        document["status"] = "in_progress" if running else "completed"
    document["lastRun"] = short.updated or formats.moment(time.time())
    document["executionIterations"] = short.total_iterations
    document["totalIterations"] = about.count("setupIterations") + short.total_iterations


def _note_task(document: dict[str, Any], state: RunState, layout: Layout | None = None) -> None:
    """Which task is completed, if one is. A run that stagnated made no claim: there it is the task as it is now."""
    document.pop(metadata.COMPLETED_TASK, None)
    if document["status"] == "completed":
        kept = document.get("run", {}).get(COMPLETION, {})
        task = (
            state.claim.task
            or kept.get("task")
            or (task_file.current(layout.instructions) if layout is not None else "")
        )
        document |= {metadata.COMPLETED_TASK: task} if task else {}


def note_new_task(layout: Layout) -> None:
    """The instructions were written: a task that was completed is not the one that they describe."""
    about = metadata.read(layout.metadata)
    done = about.document.get(metadata.COMPLETED_TASK)
    if about.status == "completed" and task_file.is_another(layout.instructions, done):
        about.document["status"] = "in_progress"
        metadata.write(layout.metadata, about)


def _status(short: RunSummary) -> str:
    """The original's word."""
    if short.reason == "completed" and short.mode in MODES and MODES[short.mode].makes_plan:
        return "in_progress"  # the plan is made, the task is not done
    return _STATUS.get(short.reason or "", "in_progress")


def _kept(short: RunSummary) -> dict[str, Any]:
    """The summary as the file keeps it."""
    document = msgspec.to_builtins(short)
    document["state"] = "running" if short.state == "running" else "finished"
    document["costUsd"] = round(short.cost_usd, 6)
    return {key: document[key] for key in _KEPT if key not in _OPTIONAL or document[key] is not None}


def _note_proof(document: dict[str, Any], short: RunSummary) -> None:
    """What the original keeps of verifications, under its names, and which run holds the evidence."""
    before = document.get("verification")
    before = before if isinstance(before, dict) else {}
    attempts = before.get("verificationAttempts", 0)
    document["verification"] = before | {
        "verificationAttempts": (attempts if isinstance(attempts, int) else 0) + max(1, short.claims),
        "lastVerificationStatus": "pass" if short.proven else "fail",
        "lastVerificationTime": short.updated,
        metadata.VERIFIED_BY: short.id,
        "knownBy": short.known_by,
    }


def count_setup(layout: Layout) -> None:
    """Claude was called once more to write the instructions."""
    about = metadata.read(layout.metadata)
    about.document["setupIterations"] = about.count("setupIterations") + 1
    about.document["totalIterations"] = about.count("totalIterations") + 1
    metadata.write(layout.metadata, about)


def reset(layout: Layout) -> list[str]:
    """Counters to 0, status in_progress, a stale `.status.json` set aside. Says what was done."""
    with run_lock.hold(layout.lock, layout.name, "reset"):
        about = metadata.read(layout.metadata)
        document = about.document
        document |= {"status": "in_progress", "totalIterations": 0, "setupIterations": 0, "executionIterations": 0}
        for key in ("run", metadata.COMPLETED_TASK):
            document.pop(key, None)
        last = next(reader.newest(layout), None)
        if last is not None:
            document[metadata.RESET_AFTER] = last
        done = ["counters set to 0"]
        with writing(layout.name, layout.folder):
            metadata.write(layout.metadata, about)
            if layout.status.exists() or layout.status.is_symlink():
                layout.status.replace(layout.folder / ".status.json.bak")
                done.append("the old .status.json is now .status.json.bak")
    return done


COMPLETION = "completion"
"""In the summary of a run that did no work: how an earlier run completed the task."""
_OF_COMPLETION = ("id", "finished", "knownBy", "progress", "plan")


def _earlier_completion(about: Metadata) -> dict[str, Any]:
    """How the task was completed, as the metadata has it before another run is noted; empty when it was not."""
    known = about.last_run.get(COMPLETION)
    if isinstance(known, dict):
        return known
    if about.status != "completed" or about.last_run.get("state") == "running":
        return {}
    proof = about.document.get("verification")
    later = isinstance(proof, dict) and str(proof.get(metadata.VERIFIED_BY, "")) > str(about.last_run.get("id", ""))
    found = {name: about.last_run[name] for name in _OF_COMPLETION if name in about.last_run}
    task = about.document.get(metadata.COMPLETED_TASK)
    if later and isinstance(proof, dict):
        found |= {"knownBy": proof.get("knownBy"), "finished": proof.get("lastVerificationTime")}
    return found | ({"task": task} if task else {})


def _did_work(state: RunState) -> bool:
    """An iteration was done or is under way, a claim was judged, or a call cost something."""
    resumed = state.started is not None and state.started.resumed is not None
    spent = state.cost_usd > 0 or state.cost_is_lower_bound or state.tokens != Tokens()
    return bool(state.iterations or state.call is not None or state.proof is not None or resumed or spent)
