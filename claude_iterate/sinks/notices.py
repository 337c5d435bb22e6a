"""Which events are worth a notification, and what it says. Pure: an entry and the state after it become notices.

A new kind of notification is one function and its row in ROWS. How a notice travels is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events import Entry
from claude_iterate.core.events.enums import Why
from claude_iterate.core.formats import cost, one_line, precise_moment, shorten
from claude_iterate.core.outcomes.classes import FINE, RETRIED
from claude_iterate.core.reports.status import describe
from claude_iterate.core.rules.endings import changed_proof, made_plan, sign, with_words
from claude_iterate.core.state.condition import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import UNPROVEN
from claude_iterate.text import proof_lines

MILESTONE = 10
LONGEST_QUOTE = 1000
BRIEF_WAITS = frozenset({"transient", "rate_limit", "away", "pace", "failures"})
"""No notification for these: overloads are short and frequent, and a configured pace is expected."""
_KEYS = "id run iteration maxIterations progress reason cause next costUsd costIsLowerBound report"
"""Programs find the same keys in every notice; what is not known is null."""


class Notice(msgspec.Struct, frozen=True):
    """A notification before it takes a form. `facts` is the part of it that programs read."""

    event: str
    title: str
    body: str
    priority: str = "default"
    tags: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


def notices(entry: Entry, state: RunState, project: str = "", report_url: str = "") -> list[Notice]:
    """The notices of an entry, usually none. Of one-off calls only the verification of `verify` is reported. `project`
    is the name of the project, where several may notify the same user; `report_url` is where reports can be read."""
    rows, started = ROWS.get(type(entry.event)), state.started
    if rows is None or started is None:
        return []
    verified = started.purpose == "verify" and isinstance(entry.event, events.VerificationFinished)
    if started.purpose != "run" and not verified:
        return []
    found = []
    for row in rows:
        notice = row(entry.event, state)
        if notice is not None and started.dry_run:  # nobody should take it for the real thing
            notice = replace(notice, title=f"Dry Run: {notice.title}", body=f"DRY RUN: {notice.body}")
        if notice is not None:
            facts = {"id": f"{started.run}-{entry.seq}-{notice.event}", **_facts(state, project, report_url)}
            found.append(_complete(notice, started.workspace, project, entry.at, **facts))
    return found


def _facts(state: RunState, project: str, report_url: str) -> dict[str, Any]:
    started, items = state.run, items_done(state)
    ending = with_words(state.finished, state) if state.finished is not None else None
    facts: dict[str, Any] = {
        "run": started.run,
        "iteration": state.last_iteration,
        "maxIterations": started.max_iterations or None,
        "costUsd": round(state.cost_usd, 6),
        "costIsLowerBound": state.cost_is_lower_bound,
        "reason": state.reason,
    }
    if ending is not None:
        facts |= {"cause": ending.cause, "next": ending.next}
    if report_url and ending is not None and not started.dry_run:
        names = {"project": project, "workspace": started.workspace, "run": started.run}
        for name, value in names.items():
            report_url = report_url.replace(f"{{{name}}}", quote(value, safe=""))
        facts["report"] = report_url
    if state.finished is not None and state.finished.known_by:
        facts["knownBy"] = state.finished.known_by
    if items is not None:
        facts["progress"] = msgspec.to_builtins(items)
    return facts


def setup_complete(workspace: str, project: str, instructions: str, at: float) -> Notice:
    """The one notice that no run sends."""
    lines = [f"Workspace: {workspace}", f"Instructions: {instructions}", f"Next: claude-iterate run {workspace}"]
    notice = _notice("setup_complete", "Setup Complete", "WORKSPACE SETUP COMPLETE", lines, tags=("setup",))
    return _complete(notice, workspace, project, at)


def trial(workspace: str | None, project: str, at: float) -> Notice:
    """What `notify test` sends."""
    lines = ["If you can read this, notifications arrive.", *([f"Workspace: {workspace}"] if workspace else [])]
    return _complete(_notice("test", "Test Notification", "TEST", lines), workspace, project, at)


def _notice(
    event: str, title: str, headline: str, lines: list[str], priority: str = "default", tags: tuple[str, ...] = ()
) -> Notice:
    """What a row contributes; the rest is the same for all. The tag is the event, if no other is named."""
    return Notice(event, title, "\n".join([headline, "", *lines]), priority, tags or (event,))


def _complete(notice: Notice, workspace: str | None, project: str, at: float, **known: Any) -> Notice:
    """The title is often all that a phone shows, so it names the workspace."""
    about = {"workspace": workspace, "project": project or None, "at": precise_moment(at)}
    title, body = f"[{workspace}] {notice.title}" if workspace else notice.title, notice.body
    if known.get("report"):
        body += f"\nReport: {known['report']}"
    if project and "\nWorkspace: " in body:
        body += f"\nProject: {project}"
    tags, facts = ("claude-iterate", *notice.tags), {**about, **dict.fromkeys(_KEYS.split()), **known}
    return replace(notice, title=title, body=body, tags=tags, facts=facts)


def _workspace(state: RunState) -> str:
    return f"Workspace: {state.run.workspace}{' (dry run)' if state.run.dry_run else ''}"


def _remaining(state: RunState) -> str:
    left = state.status.remaining if state.status is not None else None
    return f"Remaining: {'unknown' if left is None else left}"


def _quote(text: str) -> str:
    return shorten(text.strip(), LONGEST_QUOTE, " ...")


def _execution_start(event: events.RunStarted, state: RunState) -> Notice:
    lines = [_workspace(state), f"Max iterations: {event.max_iterations or 'no limit'}"]
    return _notice("execution_start", "Execution Started", "EXECUTION STARTED", lines, tags=("execution",))


def _iteration(event: events.IterationFinished, state: RunState) -> Notice | None:
    kind = event.outcome.kind
    if kind in RETRIED:  # it is done again under the same number
        return None
    claimed = event.status is not None and event.status.complete
    fine = "Reported complete" if claimed else "In progress"
    ended = fine if kind in FINE else f"Failed: {_quote(event.outcome.message or kind)}"
    condition = {"interrupted": "Stopped before its end", "skipped": "Skipped"}.get(kind, ended)
    lines = [_workspace(state), f"Status: {condition}", _remaining(state)]
    most = f"/{state.run.max_iterations}" if state.run.max_iterations else ""
    return _notice("iteration", f"Iteration {event.number}", f"ITERATION {event.number}{most}", lines)


def _milestone(event: events.IterationFinished, state: RunState) -> Notice | None:
    if event.number % MILESTONE or event.outcome.kind in RETRIED:
        return None
    lines = [_workspace(state), f"Completed: {event.number} iterations", _remaining(state)]
    return _notice("iteration_milestone", "Milestone Reached", "ITERATION MILESTONE", lines, tags=("milestone",))


def _status_update(event: events.StatusChanged, state: RunState) -> Notice:
    number = state.last_iteration
    title = f"Progress Update (Iteration {number})"
    lines = [_quote(describe(event.status, event.change))]
    priority = "high" if event.status.complete else "default"
    return _notice("status_update", title, "STATUS UPDATE", lines, priority, ("progress", f"iteration-{number}"))


def _verification(event: events.VerificationFinished, state: RunState) -> Notice:
    lines = [_workspace(state), f"Claim: {event.claim}"]
    if not event.passed:
        lines.append(f"Findings: {_quote(event.findings) or 'none given'}")
        return _notice("verification", "Verification Failed", "VERIFICATION FAILED ❌", lines, "high")
    if not event.changes:
        return _notice("verification", "Verification Passed", "VERIFICATION PASSED ✅", lines)
    lines.append(f"Findings: {_quote(changed_proof(event.known_by, [change.path for change in event.changes]))}")
    headline = "VERIFICATION PASSED, PROOF CHANGED ⚠"
    return _notice("verification", "Verification Passed, Proof Changed", headline, lines)


def _limit_wait(event: events.WaitStarted, state: RunState) -> Notice | None:
    if event.why in BRIEF_WAITS:
        return None
    why = f"Reason: {_quote(event.detail) or event.why}"
    lines = [_workspace(state), why, f"Continues at: {precise_moment(event.until)}"]
    title = "Waiting For Its Hours" if event.why == Why.SCHEDULE else "Waiting For A Limit"
    return _notice("limit_wait", title, f"{title.upper()} ⏳", lines, tags=("limit",))


def _limit_over(event: events.WaitEnded, state: RunState) -> Notice | None:
    if event.why in BRIEF_WAITS:
        return None
    lines = [_workspace(state), f"Status: {'The run is paused' if state.paused else 'The run continues'}"]
    return _notice("limit_over", "Wait Over", "THE WAIT IS OVER", lines, tags=("limit",))


def _ending(event: events.RunFinished, state: RunState) -> Notice:
    """The words of the end are those of all readers: cause, advice, next step."""
    event = with_words(event, state)
    notice = _notice_of_end(event, state)
    words = [*map(_quote, proof_lines.claim_remarks(event, state)), *event.advice.splitlines()]
    if event.cost_usd or event.cost_is_lower_bound:
        words.append(f"Cost: {cost(event.cost_usd, event.cost_is_lower_bound)}")
    words += [f"Next: {event.next}"] if event.next else []
    return replace(notice, body="\n".join([notice.body, *words]))


def _notice_of_end(event: events.RunFinished, state: RunState) -> Notice:
    where, total, reason = _workspace(state), f"Total iterations: {event.iterations}", f"Reason: {event.cause}"
    number = f"Iteration: {state.last_iteration}"
    match event.reason:
        case "completed" if made_plan(state):
            return _notice("completion", "Plan Made", "PLAN MADE", [where, total, reason], "high")
        case "completed":
            return _completion(event, state, [where, total])
        case "stagnation" | "max_iterations":
            title = "Stagnation Detected" if event.reason == "stagnation" else "Maximum Iterations Reached"
            status = [f"Status: {_quote(describe(state.status))}"] if state.status is not None else []
            return _notice("completion", title, f"{sign(event)} {event.cause}", [where, total, *status], "high")
        case "blocked":
            lines = [where, number, f"Needed: {_quote(event.detail)}", reason]
            return _notice("blocked", "Agent Blocked", "A PERSON IS NEEDED ✋", lines, "high")
        case "interrupted" | "terminated" | "stopped":
            return _notice("stopped", "Run Stopped", "RUN STOPPED", [where, total, reason])
    lines = [where, number, f"Reason: {event.reason}", f"Error: {event.cause}"]
    return _notice("error", "Execution Error", "ERROR ENCOUNTERED ⚠", lines, "urgent")


def _completion(event: events.RunFinished, state: RunState, lines: list[str]) -> Notice:
    left, but = state.status.remaining if state.status is not None else None, UNPROVEN.get(event.known_by)
    condition = "All items completed" if but is None else "Reported complete"
    lines.append(f"Status: {f'Reported complete, {_remaining(state).lower()}' if left else condition}")
    lines += [f"Summary: {_quote(one_line(event.detail))}"] if event.detail else []
    lines.append(f"Reason: {event.cause}")
    if but is None:
        return _notice("completion", "Task Complete", "TASK COMPLETE ✅", lines, "high")
    return _notice("completion", f"Task Complete, {but.title()}", f"TASK COMPLETE, {but.upper()} ⚠", lines, "high")


ROWS: dict[type, tuple[Callable[[Any, RunState], Notice | None], ...]] = {
    events.RunStarted: (_execution_start,),
    events.IterationFinished: (_iteration, _milestone),
    events.StatusChanged: (_status_update,),
    events.VerificationFinished: (_verification,),
    events.WaitStarted: (_limit_wait,),
    events.WaitEnded: (_limit_over,),
    events.RunFinished: (_ending,),
}
