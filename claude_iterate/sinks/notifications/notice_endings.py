"""How the end of a run is told in a notification. A reason that has no row in ENDS is told as an error."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import RunFinished
from claude_iterate.core.events.reasons import ENDINGS
from claude_iterate.core.reports.status import describe
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.notifications.notice_parts import (
    Draft,
    iteration_number,
    quoted,
    remaining_line,
    workspace_line,
)


def ending(event: RunFinished, state: RunState) -> Draft:
    """The last notice of a run."""
    return ENDS.get(event.reason, _error)(event, state)


def _completed(event: RunFinished, state: RunState) -> Draft:
    status = state.status
    left = status.remaining if status is not None else None
    condition = f"Reported complete, {remaining_line(state).lower()}" if left else "All items completed"
    lines = [workspace_line(state), f"Total iterations: {event.iterations}", f"Status: {condition}"]
    if event.detail:
        lines.append(f"Summary: {quoted(event.detail)}")
    return Draft("completion", "Task Complete", "TASK COMPLETE ✅", lines, "high", ("completion",))


def _stagnated(event: RunFinished, state: RunState) -> Draft:
    times = f"{event.detail} consecutive iteration{'' if event.detail == '1' else 's'}"
    headline = f"⚠️ Stagnation detected: {times} with no work"
    return _unfinished("Stagnation Detected", headline, event, state)


def _used_up(event: RunFinished, state: RunState) -> Draft:
    headline = f"⚠️ Reached maximum iterations ({event.detail or event.iterations})"
    return _unfinished("Maximum Iterations Reached", headline, event, state)


def _unfinished(title: str, headline: str, event: RunFinished, state: RunState) -> Draft:
    lines = [workspace_line(state), f"Total iterations: {event.iterations}"]
    if state.status is not None:
        lines.append(f"Status: {quoted(describe(state.status))}")
    return Draft("completion", title, headline, lines, "high", ("completion",))


def _error(event: RunFinished, state: RunState) -> Draft:
    what = quoted(event.detail) or ENDINGS[event.reason].meaning
    lines = [
        workspace_line(state),
        f"Iteration: {iteration_number(state)}",
        f"Reason: {event.reason}",
        f"Error: {what}",
    ]
    lines += [event.advice] if event.advice else []
    return Draft("error", "Execution Error", "ERROR ENCOUNTERED ⚠️", lines, "urgent", ("error",))


def _blocked(event: RunFinished, state: RunState) -> Draft:
    lines = [workspace_line(state), f"Iteration: {iteration_number(state)}", f"It needs: {quoted(event.detail)}"]
    return Draft("blocked", "Agent Blocked", "A PERSON IS NEEDED ✋", lines, "high", ("blocked",))


def _stopped(event: RunFinished, state: RunState) -> Draft:
    why = ENDINGS[event.reason].meaning.rstrip(".")
    lines = [workspace_line(state), f"Total iterations: {event.iterations}", f"Reason: {why}"]
    return Draft("stopped", "Run Stopped", "RUN STOPPED", lines, tags=("stopped",))


ENDS: dict[str, Callable[[RunFinished, RunState], Draft]] = {
    "completed": _completed,
    "stagnation": _stagnated,
    "max_iterations": _used_up,
    "blocked": _blocked,
    "interrupted": _stopped,
    "terminated": _stopped,
    "stopped": _stopped,
}
