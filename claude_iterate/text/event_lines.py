"""Events of the run as lines, in one table: the console and the log say the same. Pure functions.

Starts, iterations and endings are not here: the log frames them and the console does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.rules.endings import made_plan
from claude_iterate.core.state.requests import answer
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import run_lines, verification_lines, wait_lines, work_lines

_PLAIN: dict[type, Callable[[Any], list[str]]] = {
    events.Warned: run_lines.warned,
    events.WorktreeMade: work_lines.worktree_made,
    events.ClaimDropped: run_lines.claim_dropped,
    events.StatusChanged: run_lines.status_changed,
    events.Rebooted: run_lines.rebooted,
    events.PlanRead: run_lines.plan_read,
    events.PlanFinished: run_lines.plan_finished,
    events.CutStarted: run_lines.cut_started,
    events.LeftoversEnded: run_lines.leftovers_ended,
    events.WorkMeasured: work_lines.measured,
    events.PatternSeen: work_lines.pattern_seen,
    events.StopScriptsRun: work_lines.scripts_run,
    events.BreakerReset: work_lines.breaker_reset,
    events.VerificationStarted: verification_lines.verification_started,
    events.ChecksPassed: verification_lines.checks_passed,
    events.ReviewStarted: verification_lines.review_started,
}
_VERDICTS: dict[type, Callable[[Any, bool], list[str]]] = {
    events.ReviewFinished: verification_lines.review_finished,
    events.VerificationFinished: verification_lines.verification_finished,
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
            return wait_lines.started(event, entry.at, after)
        return wait_lines.ended(event, after.paused)
    if isinstance(event, events.StatusChanged) and made_plan(after):  # none of the work is done
        return run_lines.status_changed(replace(event, status=replace(event.status, complete=False)))
    if isinstance(event, events.CheckFinished):
        return verification_lines.check_finished(event, event.command in after.claim.flaky, whole)
    if isinstance(event, events.HookFinished):
        return verification_lines.hook_finished(event, whole)
    if (judge := _VERDICTS.get(type(event))) is not None:
        return judge(event, after.started is not None and after.started.made_up)
    write = _PLAIN.get(type(event))
    return write(event) if write is not None else None


def requested(event: events.Requested, before: RunState, attended: bool = False) -> list[str]:
    """What the request means for the run, in the words that the user who asked gets as an answer."""
    if event.verb in _SILENT or event.by == "answer":
        return []
    return [answer(event.verb, before, attended=attended)]
