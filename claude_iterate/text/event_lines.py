"""Events of the run as lines, in one table: the console and the log say the same. And each event as one short line, for
places that show the last few things that happened. Pure functions.

Starts, iterations and endings are not in the table: the log frames them and the console does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.formats import one_line, plural, shorten
from claude_iterate.core.reports.status import describe
from claude_iterate.core.rules.endings import made_plan
from claude_iterate.core.rules.steering import answer
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import proof_lines, run_lines
from claude_iterate.text.ending_lines import closing
from claude_iterate.text.tool_lines import headline

_RESETS = {
    "run": "its counters are cleared (--reset)",
    "reset": "its counters are cleared (reset)",
    "instructions": "the instructions are another task now, so counting begins again",
}
_PLAIN: dict[type, Callable[[Any], list[str]]] = {
    events.Warned: run_lines.warning,
    events.WorktreeMade: run_lines.worktree_made,
    events.ClaimDropped: run_lines.claim_dropped,
    events.StatusChanged: lambda event: [f"  ↳ {describe(event.status, event.change)}"],
    events.Rebooted: run_lines.session_rebooted,
    events.PlanRead: run_lines.plan_read,
    events.PlanFinished: run_lines.plan_finished,
    events.CutStarted: run_lines.cut_started,
    events.LeftoversEnded: run_lines.leftovers_ended,
    events.WorkMeasured: run_lines.work_measured,
    events.PatternSeen: lambda event: [f"⚠ Stop pattern `{event.pattern}`: {one_line(event.text)}"],
    events.StopScriptsRun: lambda event: [
        f"⚠ The stop script `{script.command}` says stop." for script in event.results if script.code == 0
    ],
    events.BreakerReset: lambda event: [f"Breaker: {_RESETS.get(event.by, event.by)}."],
    events.VerificationStarted: proof_lines.verification_started,
    events.ChecksPassed: lambda event: (
        ["  The checks are green. The review begins when Claude can be called."] if event.review_waits else []
    ),
    events.ReviewStarted: lambda event: [f"  Claude reviews the work with fresh context ({event.depth})..."],
}
_VERDICTS: dict[type, Callable[[Any, bool], list[str]]] = {
    events.ReviewFinished: proof_lines.review_finished,
    events.VerificationFinished: proof_lines.verification_finished,
}
"""These say something else in a dry run, which proves nothing."""
_SILENT = frozenset({"stop", "go"})
"""Requests that another event reports."""


def lines(
    entry: events.Entry, before: RunState, after: RunState, attended: bool = False, whole: bool = False
) -> list[str] | None:
    """The lines of an entry, or None if this table does not have it. `before` and `after` are states of the run.
    `whole`: nothing is shortened."""
    event = entry.event
    if isinstance(event, events.Requested):
        return request_lines(event, before, attended)
    if isinstance(event, events.StopRequested):
        return run_lines.stop_requested(event, after.call is not None)
    if isinstance(event, events.WaitStarted):
        return run_lines.wait_started(event, entry.at, after)
    if isinstance(event, events.WaitEnded):
        return run_lines.wait_ended(event, after.paused)
    if isinstance(event, events.StatusChanged) and made_plan(after):  # none of the work is done
        event = replace(event, status=replace(event.status, complete=False))
    if isinstance(event, events.CheckFinished):
        return proof_lines.check_finished(event, event.command in after.claim.flaky, whole)
    if isinstance(event, events.HookFinished):
        return proof_lines.hook_finished(event, whole)
    if (judge := _VERDICTS.get(type(event))) is not None:
        return judge(event, after.run.made_up)
    write = _PLAIN.get(type(event))
    return write(event) if write is not None else None


def request_lines(event: events.Requested, before: RunState, attended: bool = False) -> list[str]:
    """What the request means for the run, in the words that the user who asked gets as an answer."""
    if event.verb in _SILENT or event.by == "answer":
        return []
    return [answer(event.verb, before, attended=attended)]


LONGEST = 200
_LOOKED_AT = 4 * LONGEST


def is_worth_a_line(event: events.Event) -> bool:
    """False for what has no line: most of it comes often."""
    return type(event) not in _WITHOUT_LINE and not (isinstance(event, events.ToolAnswered) and not event.is_error)


def short_line(entry: events.Entry, before: RunState, after: RunState) -> str:
    """What happened, in one line; empty for what is not worth one. `before` and `after` are states of the run."""
    event = entry.event
    if (write := _SHORT.get(type(event))) is not None:
        block = [write(event)]
    elif isinstance(event, events.IterationFinished):
        mode, dry_run = after.run.mode, after.run.dry_run
        block = run_lines.iteration_finished(event, mode, dry_run)
    elif isinstance(event, events.RunStarted):
        block = run_lines.run_started(event, entry.at)
    elif isinstance(event, events.RunFinished):
        block = [closing(event, after).cause]
    else:
        block = lines(entry, before, after) or [""]
    return shorten(one_line(block[0][:_LOOKED_AT]), LONGEST, "…") if block else ""


_WITHOUT_LINE = frozenset(
    {
        events.Thought,
        events.Told,
        events.UsageReported,
        events.LimitReported,
        events.AgentNoted,
        events.GarbageSeen,
        events.ErrorPrinted,
        events.SessionOpened,
        events.ResultReported,
        events.TasksListed,
        events.ToolDenied,
        events.AgentStarted,
        events.ProofDefined,
        events.ProofTestsCounted,
        events.SnapshotTaken,
    }
)


_SHORT: dict[type, Callable[[Any], str]] = {
    events.IterationStarted: lambda event: (
        f"Iteration {event.number} begins" + (f" (with {plural(event.notes, 'note')})" if event.notes else "")
    ),
    events.Said: lambda event: f"❌ {event.text or event.error}" if event.error else event.text,
    events.ToolCalled: lambda event: f"🔧 {headline(event)}",
    events.ToolAnswered: lambda event: (
        f"❌ {event.name or 'tool'}: {event.text[:_LOOKED_AT]}" if event.is_error else ""
    ),
    events.TaskStarted: lambda event: f"▶ {event.description or event.kind or event.id}",
    events.TaskEnded: lambda event: f"■ {event.summary or event.id} ({event.status or 'ended'})",
    events.ApiRetried: lambda event: (
        f"API error, retry {event.attempt}/{event.max_retries}: {event.error or event.status or 'unknown'}"
    ),
    events.ContextCompacted: lambda event: f"· Context compacted at {plural(event.tokens, 'token')}",
    events.AgentExited: lambda event: "".join(run_lines.agent_exited(event)),
}
