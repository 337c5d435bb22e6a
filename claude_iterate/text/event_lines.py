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
from claude_iterate.text import claude_lines, proof_lines, run_lines
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
    events.PlanFinished: lambda event: [f"The plan is done: {plural(event.tasks, 'task')} ticked."],
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


def lines(
    entry: events.Entry, before: RunState, after: RunState, attended: bool = False, whole: bool = False
) -> list[str] | None:
    """The lines of an entry, or None if this table does not have it. `before` and `after` are states of the run.
    `whole`: nothing is shortened."""
    match event := entry.event:
        case events.Requested():
            return request_lines(event, before, attended)
        case events.StopRequested():
            return run_lines.stop_requested(event, after.call is not None)
        case events.WaitStarted():
            return run_lines.wait_started(event, entry.at, after)
        case events.WaitEnded():
            return run_lines.wait_ended(event, after.paused)
        case events.StatusChanged() if made_plan(after):  # none of the work is done
            event = replace(event, status=replace(event.status, complete=False))
        case events.CheckFinished():
            return proof_lines.check_finished(event, event.command in after.claim.flaky, whole)
        case events.HookFinished():
            return proof_lines.hook_finished(event, whole)
        case events.ReviewFinished():
            return proof_lines.review_finished(event, after.run.made_up)
        case events.VerificationFinished():
            return proof_lines.verification_finished(event, after.run.made_up)
    write = _PLAIN.get(type(event))
    return write(event) if write is not None else None


def request_lines(event: events.Requested, before: RunState, attended: bool = False) -> list[str]:
    """What the request means for the run, in the words that the user who asked gets as an answer."""
    if event.verb in {"stop", "go"} or event.by == "answer":  # another event reports these
        return []
    return [answer(event.verb, before, attended=attended)]


LONGEST = 200
_LOOKED_AT = 4 * LONGEST


def is_worth_a_line(event: events.Event) -> bool:
    """False for what has no line: most of it comes often."""
    return type(event) not in _WITHOUT_LINE and not (isinstance(event, events.ToolResult) and not event.is_error)


def short_line(entry: events.Entry, before: RunState, after: RunState) -> str:
    """What happened, in one line; empty for what is not worth one. `before` and `after` are states of the run."""
    match event := entry.event:
        case events.ToolCalled():
            block = [f"🔧 {headline(event)}"]
        case events.AgentExited():
            block = run_lines.agent_exited(event)
        case events.IterationStarted():
            block = run_lines.iteration_started(event, before)
        case events.IterationFinished():
            block = run_lines.iteration_finished(event, after.run.mode, after.run.dry_run)
        case events.RunStarted():
            block = run_lines.run_started(event, entry.at)
        case events.RunFinished():
            block = [closing(event, after).cause]
        case _:
            block = lines(entry, before, after) or claude_lines.lines(event, whole=False)
    return shorten(one_line(block[0][:_LOOKED_AT]), LONGEST, "…") if block else ""


_WITHOUT_LINE = frozenset(
    {
        events.Thought,
        events.PromptSent,
        events.UsageReported,
        events.LimitReported,
        events.AgentNoted,
        events.UnparsedLine,
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
