"""Which events are worth a notification, and what it says. Pure: an entry and the state after it become notices.

A new kind of notification is one row in ROWS. How a notice travels is no business of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from claude_iterate.core.events import (
    Entry,
    IterationFinished,
    RunFinished,
    RunStarted,
    StatusChanged,
    VerificationFinished,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.formats import precise_moment
from claude_iterate.core.outcomes.classes import FINE, RETRIED
from claude_iterate.core.reports.status import describe
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.notifications.notice_endings import ending
from claude_iterate.sinks.notifications.notice_parts import (
    Draft,
    iteration_number,
    quoted,
    remaining_line,
    workspace_line,
)

MILESTONE = 10
EXPENDABLE = frozenset({"status_update", "iteration", "iteration_milestone"})
"""What a slow receiver may miss: the next one of its kind tells as much."""
FINAL = frozenset({"completion", "error", "blocked", "stopped", "setup_complete"})
"""What must arrive: nothing comes after it."""
BRIEF_WAITS = frozenset({"transient", "pace"})
"""An overload passes in seconds or minutes, and comes in flocks: nobody wants to be told of each. A pace that somebody
set is no news to him."""


class Notice(msgspec.Struct, frozen=True):
    """A notification before it takes a form. `facts` is the part of it that programs read."""

    event: str
    title: str
    body: str
    priority: str = "default"
    tags: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


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
    lines = [workspace_line(state), f"Max iterations: {most}"]
    return Draft("execution_start", "Execution Started", "EXECUTION STARTED", lines, tags=("execution",))


def _iteration(event: IterationFinished, state: RunState) -> Draft | None:
    if event.outcome.kind in RETRIED:  # it is done again under the same number
        return None
    most = state.started.max_iterations if state.started is not None else 0
    condition = "In progress"
    if event.outcome.kind == "interrupted":
        condition = "Stopped before its end"
    elif event.outcome.kind == "skipped":
        condition = "Skipped"
    elif event.outcome.kind not in FINE:
        condition = f"Failed: {quoted(event.outcome.message or event.outcome.kind)}"
    lines = [workspace_line(state), f"Status: {condition}", remaining_line(state)]
    headline = f"ITERATION {event.number}/{most}" if most else f"ITERATION {event.number}"
    return Draft("iteration", f"Iteration {event.number}", headline, lines, tags=("iteration",))


def _milestone(event: IterationFinished, state: RunState) -> Draft | None:
    if event.number % MILESTONE or event.outcome.kind in RETRIED:
        return None
    lines = [workspace_line(state), f"Completed: {event.number} iterations", remaining_line(state)]
    return Draft("iteration_milestone", "Milestone Reached", "ITERATION MILESTONE", lines, tags=("milestone",))


def _status_update(event: StatusChanged, state: RunState) -> Draft:
    name, number = state.started.workspace if state.started is not None else "", iteration_number(state)
    return Draft(
        "status_update",
        f"[{name}] Progress Update (Iteration {number})",
        "STATUS UPDATE",
        [quoted(describe(event.status, event.change))],
        "high" if event.status.complete else "default",
        ("progress", f"iteration-{number}"),
    )


def _verification(event: VerificationFinished, state: RunState) -> Draft:
    lines = [workspace_line(state), f"Claim: {event.claim}"]
    if event.passed:
        return Draft("verification", "Verification Passed", "VERIFICATION PASSED ✅", lines, tags=("verification",))
    lines.append(f"Findings: {quoted(event.findings) or 'none given'}")
    return Draft("verification", "Verification Failed", "VERIFICATION FAILED ❌", lines, "high", ("verification",))


def _limit_wait(event: WaitStarted, state: RunState) -> Draft | None:
    if event.why in BRIEF_WAITS:
        return None
    lines = [
        workspace_line(state),
        f"Reason: {quoted(event.detail) or event.why}",
        f"Goes on: {precise_moment(event.until)}",
    ]
    return Draft("limit_wait", "Waiting For A Limit", "WAITING FOR A LIMIT ⏳", lines, tags=("limit",))


def _limit_over(event: WaitEnded, state: RunState) -> Draft | None:
    if event.why in BRIEF_WAITS:
        return None
    lines = [workspace_line(state), f"Status: {'The run is paused' if state.paused else 'The run goes on'}"]
    return Draft("limit_over", "Wait Over", "THE WAIT IS OVER", lines, tags=("limit",))


ROWS: dict[type, tuple[Callable[[Any, RunState], Draft | None], ...]] = {
    RunStarted: (_execution_start,),
    IterationFinished: (_iteration, _milestone),
    StatusChanged: (_status_update,),
    VerificationFinished: (_verification,),
    WaitStarted: (_limit_wait,),
    WaitEnded: (_limit_over,),
    RunFinished: (ending,),
}
ASIDE = frozenset({("verify", VerificationFinished)})
"""What is told of a run that is not there to iterate."""


def _notice(draft: Draft, entry: Entry, state: RunState) -> Notice:
    started, status = state.started, state.status
    assert started is not None
    facts = _facts(started.workspace, entry.at) | {
        "id": f"{started.run}-{entry.seq}-{draft.event}",
        "run": started.run,
        "iteration": iteration_number(state),
        "maxIterations": started.max_iterations or None,
        "costUsd": round(state.cost_usd, 6),
        "reason": state.reason,
    }
    if status is not None and status.total:
        facts["progress"] = {"completed": status.completed, "total": status.total}
    tags = ("claude-iterate", *draft.tags)
    return Notice(draft.event, draft.title, _body(draft.headline, draft.lines), draft.priority, tags, facts)


def _facts(workspace: str | None, at: float) -> dict[str, Any]:
    unknown = dict.fromkeys(("id", "run", "iteration", "maxIterations", "progress", "reason", "costUsd"))
    return {"workspace": workspace, "at": precise_moment(at), **unknown}


def _body(headline: str, lines: list[str]) -> str:
    return "\n".join([headline, "", *lines])
