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
from claude_iterate.core.rules.endings import made_plan
from claude_iterate.core.rules.steering import answer
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import proof_lines, run_lines
from claude_iterate.text.ending_lines import closing
from claude_iterate.text.tool_lines import headline

_PLAIN: dict[type, Callable[[Any], list[str]]] = {
    events.Warned: run_lines.warning,
    events.WorktreeMade: run_lines.worktree_made,
    events.ClaimDropped: run_lines.claim_dropped,
    events.StatusChanged: run_lines.status_changed,
    events.Rebooted: run_lines.session_rebooted,
    events.PlanRead: run_lines.plan_read,
    events.PlanFinished: run_lines.plan_finished,
    events.CutStarted: run_lines.cut_started,
    events.LeftoversEnded: run_lines.leftovers_ended,
    events.WorkMeasured: run_lines.work_measured,
    events.PatternSeen: run_lines.pattern_seen,
    events.StopScriptsRun: run_lines.stop_scripts_run,
    events.BreakerReset: run_lines.breaker_reset,
    events.VerificationStarted: proof_lines.verification_started,
    events.ChecksPassed: proof_lines.checks_passed,
    events.ReviewStarted: proof_lines.review_started,
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
        return requested(event, before, attended)
    if isinstance(event, events.StopRequested):
        return run_lines.stop_requested(event, after.call is not None)
    if isinstance(event, events.WaitStarted | events.WaitEnded):
        if isinstance(event, events.WaitStarted):
            return run_lines.wait_started(event, entry.at, after)
        return run_lines.wait_ended(event, after.paused)
    if isinstance(event, events.StatusChanged) and made_plan(after):  # none of the work is done
        return run_lines.status_changed(replace(event, status=replace(event.status, complete=False)))
    if isinstance(event, events.CheckFinished):
        return proof_lines.check_finished(event, event.command in after.claim.flaky, whole)
    if isinstance(event, events.HookFinished):
        return proof_lines.hook_finished(event, whole)
    if (judge := _VERDICTS.get(type(event))) is not None:
        return judge(event, after.started is not None and after.started.made_up)
    write = _PLAIN.get(type(event))
    return write(event) if write is not None else None


def requested(event: events.Requested, before: RunState, attended: bool = False) -> list[str]:
    """What the request means for the run, in the words that the user who asked gets as an answer."""
    if event.verb in _SILENT or event.by == "answer":
        return []
    return [answer(event.verb, before, attended=attended)]


LONGEST = 200
_LOOKED_AT = 4 * LONGEST


def is_worth_a_line(event: events.Event) -> bool:
    """False for what has no line: most of it comes often."""
    kind = type(event)
    return kind not in _WITHOUT_LINE and (kind is not events.ToolAnswered or bool(getattr(event, "is_error", False)))


def short_line(entry: events.Entry, before: RunState, after: RunState) -> str:
    """What happened, in one line; empty for what is not worth one. `before` and `after` are states of the run."""
    event = entry.event
    write = _SHORT.get(type(event))
    if write is not None:
        return _shorten(write(event))
    if isinstance(event, events.IterationFinished):
        mode, dry_run = (after.started.mode, after.started.dry_run) if after.started else ("", False)
        return _first_line(run_lines.iteration_finished(event, mode, dry_run))
    if isinstance(event, events.RunStarted):
        return _first_line(run_lines.run_started(event, entry.at))
    if isinstance(event, events.RunFinished):
        return _shorten(closing(event, after).cause)
    return _first_line(lines(entry, before, after) or [])


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


def _first_line(block: list[str]) -> str:
    return _shorten(block[0]) if block else ""


def _shorten(text: str) -> str:
    return shorten(one_line(text[:_LOOKED_AT]), LONGEST, "…")


def _short_result(event: events.ToolAnswered) -> str:
    return f"❌ {event.name or 'tool'}: {event.text[:_LOOKED_AT]}" if event.is_error else ""


def _short_retry(event: events.ApiRetried) -> str:
    return f"API error, retry {event.attempt}/{event.max_retries}: {event.error or event.status or 'unknown'}"


def _short_start(event: events.IterationStarted) -> str:
    return f"Iteration {event.number} begins" + (f" (with {plural(event.notes, 'note')})" if event.notes else "")


_SHORT: dict[type, Callable[[Any], str]] = {
    events.IterationStarted: _short_start,
    events.Said: lambda event: f"❌ {event.text or event.error}" if event.error else event.text,
    events.ToolCalled: lambda event: f"🔧 {headline(event)}",
    events.ToolAnswered: _short_result,
    events.TaskStarted: lambda event: f"▶ {event.description or event.kind or event.id}",
    events.TaskEnded: lambda event: f"■ {event.summary or event.id} ({event.status or 'ended'})",
    events.ApiRetried: _short_retry,
    events.ContextCompacted: lambda event: f"· Context compacted at {plural(event.tokens, 'token')}",
    events.AgentExited: lambda event: "".join(run_lines.agent_exited(event)),
}
