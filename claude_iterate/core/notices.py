"""Which events are worth a notification, and what it says. Pure: an entry and the state after it become notices.

A new kind of notification is one row in ROWS. How a notice travels is no business of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from claude_iterate.core.events import (
    Entry,
    IterationFinished,
    RunFinished,
    RunStarted,
    StatusChanged,
    VerificationFinished,
)
from claude_iterate.core.outcome import FINE
from claude_iterate.core.reasons import ENDINGS
from claude_iterate.core.state import RunState
from claude_iterate.core.status import describe

MILESTONE = 10
LONGEST_QUOTE = 1000
EXPENDABLE = frozenset({"status_update", "iteration", "iteration_milestone"})
"""What a slow receiver may miss: the next one of its kind tells as much."""
FINAL = frozenset({"completion", "error", "blocked", "stopped", "setup_complete"})
"""What must arrive: nothing comes after it."""


class Notice(msgspec.Struct, frozen=True):
    """A notification before it takes a form. `facts` is the part of it that programs read."""

    event: str
    title: str
    body: str
    priority: str = "default"
    tags: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


class Draft(NamedTuple):
    """What a row contributes; the rest of a notice is the same for all."""

    event: str
    title: str
    headline: str
    lines: list[str]
    priority: str = "default"
    tags: tuple[str, ...] = ()


def notices(entry: Entry, state: RunState) -> list[Notice]:
    """The notices of an entry, usually none. `state` is the state after it."""
    kind = type(entry.event)
    started = state.started
    if kind not in ROWS or started is None or (started.purpose != "run" and (started.purpose, kind) not in ASIDE):
        return []
    drafts = [row(entry.event, state) for row in ROWS[kind]]
    return [_notice(draft, entry, state) for draft in drafts if draft is not None]


def setup_complete(workspace: str, instructions: str, at: float) -> Notice:
    """The one notice that no run sends."""
    lines = [f"Workspace: {workspace}", f"Instructions: {instructions}", f"Next: claude-iterate run {workspace}"]
    body = _body("WORKSPACE SETUP COMPLETE", lines)
    return Notice(
        "setup_complete", "Setup Complete", body, tags=("claude-iterate", "setup"), facts=_facts(workspace, at)
    )


def trial(workspace: str | None, at: float) -> Notice:
    """What `notify test` sends."""
    body = _body(
        "TEST", ["If you can read this, notifications arrive.", *([f"Workspace: {workspace}"] * bool(workspace))]
    )
    return Notice("test", "Test Notification", body, tags=("claude-iterate", "test"), facts=_facts(workspace, at))


def _execution_start(event: RunStarted, state: RunState) -> Draft:
    most = str(event.max_iterations) if event.max_iterations else "no limit"
    lines = [_workspace(state), f"Max iterations: {most}"]
    return Draft("execution_start", "Execution Started", "EXECUTION STARTED", lines, tags=("execution",))


def _iteration(event: IterationFinished, state: RunState) -> Draft:
    most = state.started.max_iterations if state.started is not None else 0
    condition = "In progress"
    if event.outcome.kind == "interrupted":
        condition = "Stopped before its end"
    elif event.outcome.kind not in FINE:
        condition = f"Failed: {_quoted(event.outcome.message or event.outcome.kind)}"
    lines = [_workspace(state), f"Status: {condition}", _remaining(state)]
    headline = f"ITERATION {event.number}/{most}" if most else f"ITERATION {event.number}"
    return Draft("iteration", f"Iteration {event.number}", headline, lines, tags=("iteration",))


def _milestone(event: IterationFinished, state: RunState) -> Draft | None:
    if event.number % MILESTONE:
        return None
    lines = [_workspace(state), f"Completed: {event.number} iterations", _remaining(state)]
    return Draft("iteration_milestone", "Milestone Reached", "ITERATION MILESTONE", lines, tags=("milestone",))


def _status_update(event: StatusChanged, state: RunState) -> Draft:
    name, number = state.started.workspace if state.started is not None else "", _number(state)
    return Draft(
        "status_update",
        f"[{name}] Progress Update (Iteration {number})",
        "STATUS UPDATE",
        [describe(event.status, event.change)],
        "high" if event.status.complete else "default",
        ("progress", f"iteration-{number}"),
    )


def _verification(event: VerificationFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Claim: {event.claim}"]
    if event.passed:
        return Draft("verification", "Verification Passed", "VERIFICATION PASSED ✅", lines, tags=("verification",))
    lines.append(f"Findings: {_quoted(event.findings) or 'none given'}")
    return Draft("verification", "Verification Failed", "VERIFICATION FAILED ❌", lines, "high", ("verification",))


def _ending(event: RunFinished, state: RunState) -> Draft:
    return ENDS.get(event.reason, _error)(event, state)


def _completed(event: RunFinished, state: RunState) -> Draft:
    status = state.status
    left = status.remaining if status is not None else None
    condition = f"Reported complete, {_remaining(state).lower()}" if left else "All items completed"
    lines = [_workspace(state), f"Total iterations: {event.iterations}", f"Status: {condition}"]
    if event.detail:
        lines.append(f"Summary: {_quoted(event.detail)}")
    return Draft("completion", "Task Complete", "TASK COMPLETE ✅", lines, "high", ("completion",))


def _stagnated(event: RunFinished, state: RunState) -> Draft:
    times = f"{event.detail} consecutive iteration{'' if event.detail == '1' else 's'}"
    headline = f"⚠️ Stagnation detected: {times} with no work"
    return _unfinished("Stagnation Detected", headline, event, state)


def _used_up(event: RunFinished, state: RunState) -> Draft:
    headline = f"⚠️ Reached maximum iterations ({event.detail or event.iterations})"
    return _unfinished("Maximum Iterations Reached", headline, event, state)


def _unfinished(title: str, headline: str, event: RunFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Total iterations: {event.iterations}"]
    if state.status is not None:
        lines.append(f"Status: {describe(state.status)}")
    return Draft("completion", title, headline, lines, "high", ("completion",))


def _error(event: RunFinished, state: RunState) -> Draft:
    what = _quoted(event.detail) or ENDINGS[event.reason].meaning
    lines = [_workspace(state), f"Iteration: {_number(state)}", f"Reason: {event.reason}", f"Error: {what}"]
    lines += [event.advice] if event.advice else []
    return Draft("error", "Execution Error", "ERROR ENCOUNTERED ⚠️", lines, "urgent", ("error",))


def _blocked(event: RunFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Iteration: {_number(state)}", f"It needs: {_quoted(event.detail)}"]
    return Draft("blocked", "Agent Blocked", "A PERSON IS NEEDED ✋", lines, "high", ("blocked",))


def _stopped(event: RunFinished, state: RunState) -> Draft:
    why = ENDINGS[event.reason].meaning.rstrip(".")
    lines = [_workspace(state), f"Total iterations: {event.iterations}", f"Reason: {why}"]
    return Draft("stopped", "Run Stopped", "RUN STOPPED", lines, tags=("stopped",))


ROWS: dict[type, tuple[Callable[[Any, RunState], Draft | None], ...]] = {
    RunStarted: (_execution_start,),
    IterationFinished: (_iteration, _milestone),
    StatusChanged: (_status_update,),
    VerificationFinished: (_verification,),
    RunFinished: (_ending,),
}
ENDS: dict[str, Callable[[RunFinished, RunState], Draft]] = {
    "completed": _completed,
    "stagnation": _stagnated,
    "max_iterations": _used_up,
    "blocked": _blocked,
    "interrupted": _stopped,
    "terminated": _stopped,
    "stopped": _stopped,
}
"""How each reason is told; one that is not here is an error."""
ASIDE = frozenset({("verify", VerificationFinished)})
"""What is told of a run that is not there to iterate."""


def _notice(draft: Draft, entry: Entry, state: RunState) -> Notice:
    started, status = state.started, state.status
    assert started is not None
    facts = _facts(started.workspace, entry.at) | {
        "id": f"{started.run}-{entry.seq}",
        "run": started.run,
        "iteration": _number(state),
        "maxIterations": started.max_iterations or None,
        "costUsd": round(state.cost_usd, 6),
        "reason": state.reason,
    }
    if status is not None and status.total:
        facts["progress"] = {"completed": status.completed, "total": status.total}
    tags = ("claude-iterate", *draft.tags)
    return Notice(draft.event, draft.title, _body(draft.headline, draft.lines), draft.priority, tags, facts)


def _facts(workspace: str | None, at: float) -> dict[str, Any]:
    moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    unknown = dict.fromkeys(("id", "run", "iteration", "maxIterations", "progress", "reason", "costUsd"))
    return {"workspace": workspace, "at": moment, **unknown}


def _body(headline: str, lines: list[str]) -> str:
    return "\n".join([headline, "", *lines])


def _workspace(state: RunState) -> str:
    started = state.started
    assert started is not None
    return f"Workspace: {started.workspace}{' (dry run)' if started.dry_run else ''}"


def _number(state: RunState) -> int:
    """The iteration that runs, or the last one that did."""
    return (state.call.number if state.call is not None else 0) or state.iterations


def _remaining(state: RunState) -> str:
    left = state.status.remaining if state.status is not None else None
    return f"Remaining: {'unknown' if left is None else left}"


def _quoted(text: str) -> str:
    """Somebody else's words, not endlessly."""
    text = text.strip()
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE].rstrip() + " ..."
