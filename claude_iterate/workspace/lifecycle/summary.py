"""What a run leaves in `.metadata.json`: a projection of its state for quick looks, in the original's words too.

The journal is the truth; whoever writes here holds the workspace's lock. Unknown keys survive.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from claude_iterate.core.state.run_state import RunState, fold
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files.folders import unwritable_workspace
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import creation
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.running import run_lock

_STATUS = {
    "completed": "completed",
    "stagnation": "completed",
    "agent_failed": "error",
    "blocked": "error",
    "verification_failed": "error",
}
_SETUPS = frozenset({"setup", "edit"})


def record_run(layout: Layout, state: RunState, run: str, running: bool) -> None:
    """Write the state of a run that begins, goes on or is over. Errands leave only their journal, and are counted."""
    purpose = state.started.purpose if state.started else "run"
    if purpose in _SETUPS and not running and not (state.started and state.started.dry_run):
        count_setup(layout)
    if purpose == "verify":
        _record_verification(layout, state)
    if purpose != "run":
        return
    about = metadata.read(layout.metadata)
    _tell(about, state, run, running)
    metadata.write(layout.metadata, about)


def as_journal_has_it(layout: Layout, about: Metadata) -> RunState | None:
    """Bring what says `running` up to date, in memory; the state of that run, if its journal tells.

    Whoever was killed right after his last entry could not write his summary any more: his run is over all the same.
    """
    run = about.last_run.get("id")
    if about.last_run.get("state") != "running" or not isinstance(run, str) or run not in layout.run_ids():
        return None
    path = layout.journal(run)
    state = fold(reader.milestones(path)) if path.is_file() else RunState()
    if state.started is None:
        return None
    _tell(about, state, run, running=state.finished is None)
    return state


def catch_up(layout: Layout) -> str:
    """Write down how a run ended that could not do so itself: its id; nothing when there is none. Hold the lock."""
    about = metadata.read(layout.metadata)
    state = as_journal_has_it(layout, about)
    if state is None or state.finished is None:
        return ""
    metadata.write(layout.metadata, about)
    return str(about.last_run["id"])


def _tell(about: Metadata, state: RunState, run: str, running: bool) -> None:
    document = about.document
    document["run"] = projected(state, run, running)
    document["status"] = "in_progress" if running else _STATUS.get(state.reason or "", "in_progress")
    document["lastRun"] = _iso(state.last_at) or creation.now()
    document["executionIterations"] = state.total_iterations
    document["totalIterations"] = about.count("setupIterations") + state.total_iterations
    if state.proof is not None and not running:
        _note_proof(document, state)


def _record_verification(layout: Layout, state: RunState) -> None:
    """A verification of its own: the verdict counts, the story of the last run stays."""
    if state.proof is None or (state.started and state.started.dry_run):
        return
    about = metadata.read(layout.metadata)
    about.document["status"] = "completed" if state.proof.passed else "in_progress"
    _note_proof(about.document, state)
    metadata.write(layout.metadata, about)


def _note_proof(document: dict[str, Any], state: RunState) -> None:
    """What the original keeps of verifications, under its names."""
    before = document.get("verification")
    before = before if isinstance(before, dict) else {}
    attempts = before.get("verificationAttempts", 0)
    document["verification"] = before | {
        "verificationAttempts": (attempts if isinstance(attempts, int) else 0) + max(1, state.claims),
        "lastVerificationStatus": "pass" if state.proof and state.proof.passed else "fail",
        "lastVerificationTime": _iso(state.last_at),
    }


def count_setup(layout: Layout, mode: str | None = None) -> None:
    """One more setup happened; it may have changed the mode."""
    about = metadata.read(layout.metadata)
    about.document["setupIterations"] = about.count("setupIterations") + 1
    about.document["totalIterations"] = about.count("totalIterations") + 1
    if mode is not None:
        about.document["mode"] = mode
    metadata.write(layout.metadata, about)


def change_mode(layout: Layout, mode: str) -> None:
    """The mode decides which prompts Claude gets, so it changes before Claude is called."""
    with run_lock.hold(layout.lock, layout.name, "setup"):
        about = metadata.read(layout.metadata)
        about.document["mode"] = mode
        metadata.write(layout.metadata, about)


def reset(layout: Layout) -> list[str]:
    """Counters to 0, status in_progress, a stale `.status.json` set aside. Says what was done."""
    with run_lock.hold(layout.lock, layout.name, "reset"):
        about = metadata.read(layout.metadata)
        document = about.document
        document |= {"status": "in_progress", "totalIterations": 0, "setupIterations": 0, "executionIterations": 0}
        document.pop("run", None)

        last = reader.last_run(layout)
        if last is not None:
            document[metadata.RESET_AFTER] = last[0]
        done = ["counters set to 0"]
        try:
            metadata.write(layout.metadata, about)
            if layout.status.exists() or layout.status.is_symlink():
                layout.status.replace(layout.folder / ".status.json.bak")
                done.append("the old .status.json is now .status.json.bak")
        except OSError as error:
            raise unwritable_workspace(layout.name, layout.folder, error) from None
    return done


def projected(state: RunState, run: str, running: bool) -> dict[str, Any]:
    """A run in a few words, as `.metadata.json` and `run --json` tell it."""
    started, finished = state.started, state.finished
    shown: dict[str, Any] = {
        "id": run,
        "state": "running" if running else "finished",
        "started": _iso(state.started_at),
        "finished": _iso(state.last_at) if finished and not running else None,
        "reason": state.reason,
        "detail": finished.detail if finished else "",
        "iterations": state.iterations,
        "costUsd": round(state.cost_usd, 6),
        "dryRun": started.dry_run if started else False,
        "log": started.log if started else "",
    }
    if state.status is not None and state.status.total:
        shown["progress"] = {"completed": state.status.completed or 0, "total": state.status.total}
    return shown


def _iso(at: float) -> str | None:
    return creation.stamp(datetime.fromtimestamp(at, UTC)) if at else None
