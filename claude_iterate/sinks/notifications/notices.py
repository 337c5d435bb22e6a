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
from claude_iterate.core.events import Entry, VerificationFinished
from claude_iterate.core.events.vocabulary import Why
from claude_iterate.core.formats import cost, one_line, precise_moment, shorten
from claude_iterate.core.outcomes.classes import FINE, RETRIED
from claude_iterate.core.reports.status import describe
from claude_iterate.core.rules.completion import changed_proof
from claude_iterate.core.rules.endings import in_words, made_plan, sign
from claude_iterate.core.state.items_done import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import UNPROVEN
from claude_iterate.text import proof_lines


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
    if started.purpose != "run" and not (started.purpose == "verify" and isinstance(entry.event, VerificationFinished)):
        return []
    ending = in_words(state.finished, state) if state.finished is not None else None
    facts = {
        "run": started.run,
        "iteration": iteration_number(state),
        "maxIterations": started.max_iterations or None,
        "costUsd": round(state.cost_usd, 6),
        "costIsLowerBound": state.cost_is_lower_bound,
        "reason": state.reason,
        "cause": ending.cause if ending is not None else None,
        "next": ending.next if ending is not None else None,
    }
    if report_url and ending is not None and not started.dry_run:
        facts["report"] = _filled_in(report_url, project=project, workspace=started.workspace, run=started.run)
    if state.finished is not None and state.finished.known_by:
        facts["knownBy"] = state.finished.known_by
    if (items := items_done(state)) is not None:
        facts["progress"] = {"completed": items.done, "total": items.total}
    drafts = [row(entry.event, state) for row in rows]
    return [
        _notice(
            _marked(draft) if started.dry_run else draft,
            started.workspace,
            project,
            entry.at,
            id=f"{started.run}-{entry.seq}-{draft.event}",
            **facts,
        )
        for draft in drafts
        if draft is not None
    ]


def _filled_in(address: str, **names: str) -> str:
    for name, value in names.items():
        address = address.replace(f"{{{name}}}", quote(value, safe=""))
    return address


def _marked(draft: Draft) -> Draft:
    """Nobody should take a dry run for the real thing."""
    return replace(draft, title=f"Dry Run: {draft.title}", headline=f"DRY RUN: {draft.headline}")


def setup_complete(workspace: str, project: str, instructions: str, at: float) -> Notice:
    """The one notice that no run sends."""
    lines = [f"Workspace: {workspace}", f"Instructions: {instructions}", f"Next: claude-iterate run {workspace}"]
    draft = Draft("setup_complete", "Setup Complete", "WORKSPACE SETUP COMPLETE", lines, tags=("setup",))
    return _notice(draft, workspace, project, at)


def trial(workspace: str | None, project: str, at: float) -> Notice:
    """What `notify test` sends."""
    lines = ["If you can read this, notifications arrive.", *([f"Workspace: {workspace}"] if workspace else [])]
    return _notice(Draft("test", "Test Notification", "TEST", lines, tags=("test",)), workspace, project, at)


def _notice(draft: Draft, workspace: str | None, project: str, at: float, **known: Any) -> Notice:
    """Facts that are not known are null: programs find the same keys in every notice. The title is often all that a
    phone shows, so it names the workspace."""
    unknown = dict.fromkeys(
        (
            "id",
            "run",
            "iteration",
            "maxIterations",
            "progress",
            "reason",
            "cause",
            "next",
            "costUsd",
            "costIsLowerBound",
            "report",
        )
    )
    facts = {"workspace": workspace, "project": project or None, "at": precise_moment(at), **unknown, **known}
    title = f"[{workspace}] {draft.title}" if workspace else draft.title
    lines = list(draft.lines)
    if known.get("report"):
        lines.append(f"Report: {known['report']}")
    if project and any(line.startswith("Workspace: ") for line in lines):
        lines.append(f"Project: {project}")
    body = "\n".join([draft.headline, "", *lines])
    return Notice(draft.event, title, body, draft.priority, ("claude-iterate", *draft.tags), facts)


MILESTONE = 10
LONGEST_QUOTE = 1000
BRIEF_WAITS = frozenset({"transient", "rate_limit", "away", "pace", "failures"})
"""No notification for these: overloads are short and frequent, and a configured pace is expected."""


class Draft(msgspec.Struct, frozen=True):
    """What a row contributes; the rest of a notice is the same for all."""

    event: str
    title: str
    headline: str
    lines: list[str]
    priority: str = "default"
    tags: tuple[str, ...] = ()


def iteration_number(state: RunState) -> int:
    """The iteration that runs, or the last one that did."""
    return (state.call.number if state.call is not None else 0) or state.iterations


def _workspace(state: RunState) -> str:
    started = state.started
    assert started is not None
    return f"Workspace: {started.workspace}{' (dry run)' if started.dry_run else ''}"


def _remaining(state: RunState) -> str:
    left = state.status.remaining if state.status is not None else None
    return f"Remaining: {'unknown' if left is None else left}"


def _quoted(text: str) -> str:
    return shorten(text.strip(), LONGEST_QUOTE, " ...")


def _execution_start(event: events.RunStarted, state: RunState) -> Draft:
    lines = [_workspace(state), f"Max iterations: {event.max_iterations or 'no limit'}"]
    return Draft("execution_start", "Execution Started", "EXECUTION STARTED", lines, tags=("execution",))


def _iteration(event: events.IterationFinished, state: RunState) -> Draft | None:
    kind = event.outcome.kind
    if kind in RETRIED:  # it is done again under the same number
        return None
    claimed = event.status is not None and event.status.complete
    fine = "Reported complete" if claimed else "In progress"
    ended = fine if kind in FINE else f"Failed: {_quoted(event.outcome.message or kind)}"
    condition = {"interrupted": "Stopped before its end", "skipped": "Skipped"}.get(kind, ended)
    lines = [_workspace(state), f"Status: {condition}", _remaining(state)]
    most = f"/{state.started.max_iterations}" if state.started and state.started.max_iterations else ""
    headline = f"ITERATION {event.number}{most}"
    return Draft("iteration", f"Iteration {event.number}", headline, lines, tags=("iteration",))


def _milestone(event: events.IterationFinished, state: RunState) -> Draft | None:
    if event.number % MILESTONE or event.outcome.kind in RETRIED:
        return None
    lines = [_workspace(state), f"Completed: {event.number} iterations", _remaining(state)]
    return Draft("iteration_milestone", "Milestone Reached", "ITERATION MILESTONE", lines, tags=("milestone",))


def _status_update(event: events.StatusChanged, state: RunState) -> Draft:
    number = iteration_number(state)
    title = f"Progress Update (Iteration {number})"
    lines = [_quoted(describe(event.status, event.change))]
    priority = "high" if event.status.complete else "default"
    return Draft("status_update", title, "STATUS UPDATE", lines, priority, ("progress", f"iteration-{number}"))


def _verification(event: events.VerificationFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Claim: {event.claim}"]
    if event.passed and event.changes:
        lines.append(f"Findings: {_quoted(changed_proof(event.known_by, [change.path for change in event.changes]))}")
        headline = "VERIFICATION PASSED, PROOF CHANGED ⚠"
        return Draft("verification", "Verification Passed, Proof Changed", headline, lines, tags=("verification",))
    if event.passed:
        return Draft("verification", "Verification Passed", "VERIFICATION PASSED ✅", lines, tags=("verification",))
    lines.append(f"Findings: {_quoted(event.findings) or 'none given'}")
    return Draft("verification", "Verification Failed", "VERIFICATION FAILED ❌", lines, "high", ("verification",))


def _limit_wait(event: events.WaitStarted, state: RunState) -> Draft | None:
    if event.why in BRIEF_WAITS:
        return None
    why = f"Reason: {_quoted(event.detail) or event.why}"
    lines = [_workspace(state), why, f"Continues at: {precise_moment(event.until)}"]
    if event.why == Why.SCHEDULE:
        return Draft("limit_wait", "Waiting For Its Hours", "WAITING FOR ITS HOURS ⏳", lines, tags=("limit",))
    return Draft("limit_wait", "Waiting For A Limit", "WAITING FOR A LIMIT ⏳", lines, tags=("limit",))


def _limit_over(event: events.WaitEnded, state: RunState) -> Draft | None:
    if event.why in BRIEF_WAITS:
        return None
    lines = [_workspace(state), f"Status: {'The run is paused' if state.paused else 'The run continues'}"]
    return Draft("limit_over", "Wait Over", "THE WAIT IS OVER", lines, tags=("limit",))


def _ending(event: events.RunFinished, state: RunState) -> Draft:
    """The words of the end are those of all readers: cause, advice, next step."""
    event = in_words(event, state)
    draft = _ENDINGS.get(event.reason, _error)(event, state)
    words = [*map(_quoted, proof_lines.claim_remarks(event, state)), *event.advice.splitlines()]
    if event.cost_usd or event.cost_is_lower_bound:
        words.append(f"Cost: {cost(event.cost_usd, event.cost_is_lower_bound)}")
    return replace(draft, lines=[*draft.lines, *words, *([f"Next: {event.next}"] if event.next else [])])


def _completed(event: events.RunFinished, state: RunState) -> Draft:
    if made_plan(state):
        lines = [_workspace(state), f"Total iterations: {event.iterations}", f"Reason: {event.cause}"]
        return Draft("completion", "Plan Made", "PLAN MADE", lines, "high", ("completion",))
    left = state.status.remaining if state.status is not None else None
    said = "Reported complete" if event.known_by in UNPROVEN else "All items completed"
    condition = f"Reported complete, {_remaining(state).lower()}" if left else said
    lines = [_workspace(state), f"Total iterations: {event.iterations}", f"Status: {condition}"]
    lines += [f"Summary: {_quoted(one_line(event.detail))}"] if event.detail else []
    lines += [f"Reason: {event.cause}"]
    if (but := UNPROVEN.get(event.known_by)) is not None:
        title, headline = f"Task Complete, {but.title()}", f"TASK COMPLETE, {but.upper()} ⚠"
        return Draft("completion", title, headline, lines, "high", ("completion",))
    return Draft("completion", "Task Complete", "TASK COMPLETE ✅", lines, "high", ("completion",))


def _stagnated(event: events.RunFinished, state: RunState) -> Draft:
    return _unfinished("Stagnation Detected", event, state)


def _used_up(event: events.RunFinished, state: RunState) -> Draft:
    return _unfinished("Maximum Iterations Reached", event, state)


def _unfinished(title: str, event: events.RunFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Total iterations: {event.iterations}"]
    lines += [f"Status: {_quoted(describe(state.status))}"] if state.status is not None else []
    return Draft("completion", title, f"{sign(event)} {event.cause}", lines, "high", ("completion",))


def _error(event: events.RunFinished, state: RunState) -> Draft:
    error = f"Error: {event.cause}"
    lines = [_workspace(state), f"Iteration: {iteration_number(state)}", f"Reason: {event.reason}", error]
    return Draft("error", "Execution Error", "ERROR ENCOUNTERED ⚠", lines, "urgent", ("error",))


def _blocked(event: events.RunFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Iteration: {iteration_number(state)}", f"Needed: {_quoted(event.detail)}"]
    lines.append(f"Reason: {event.cause}")
    return Draft("blocked", "Agent Blocked", "A PERSON IS NEEDED ✋", lines, "high", ("blocked",))


def _stopped(event: events.RunFinished, state: RunState) -> Draft:
    lines = [_workspace(state), f"Total iterations: {event.iterations}", f"Reason: {event.cause}"]
    return Draft("stopped", "Run Stopped", "RUN STOPPED", lines, tags=("stopped",))


_ENDINGS: dict[str, Callable[[events.RunFinished, RunState], Draft]] = {
    "completed": _completed,
    "stagnation": _stagnated,
    "max_iterations": _used_up,
    "blocked": _blocked,
    "interrupted": _stopped,
    "terminated": _stopped,
    "stopped": _stopped,
}
ROWS: dict[type, tuple[Callable[[Any, RunState], Draft | None], ...]] = {
    events.RunStarted: (_execution_start,),
    events.IterationFinished: (_iteration, _milestone),
    events.StatusChanged: (_status_update,),
    events.VerificationFinished: (_verification,),
    events.WaitStarted: (_limit_wait,),
    events.WaitEnded: (_limit_over,),
    events.RunFinished: (_ending,),
}
