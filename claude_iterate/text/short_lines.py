"""An entry as one short line, for places that show the last few things that happened. Pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_iterate.core import events
from claude_iterate.core.formats import counted, one_line, shortened
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import event_lines, run_lines
from claude_iterate.text.ending_lines import closing
from claude_iterate.text.tool_calls import headline

LONGEST = 200
_LOOKED_AT = 4 * LONGEST


def is_worth_a_line(event: events.Event) -> bool:
    """False for what has no line: most of it comes often."""
    kind = type(event)
    return kind not in _SILENT and (kind is not events.ToolAnswered or bool(getattr(event, "is_error", False)))


def short_line(entry: events.Entry, before: RunState, after: RunState) -> str:
    """What happened, in one line; empty for what is not worth one. `before` and `after` are states of the run."""
    event = entry.event
    write = _WRITERS.get(type(event))
    if write is not None:
        return _clipped(write(event))
    if isinstance(event, events.IterationFinished):
        mode, dry_run = (after.started.mode, after.started.dry_run) if after.started else ("", False)
        return _first(run_lines.iteration_finished(event, mode, dry_run))
    if isinstance(event, events.RunStarted):
        return _first(run_lines.started(event, entry.at))
    if isinstance(event, events.RunFinished):
        return _clipped(closing(event, after).cause)
    return _first(event_lines.lines(entry, before, after) or [])


_SILENT = frozenset(
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


def _first(block: list[str]) -> str:
    return _clipped(block[0]) if block else ""


def _clipped(text: str) -> str:
    return shortened(one_line(text[:_LOOKED_AT]), LONGEST, "…")


def _answered(event: events.ToolAnswered) -> str:
    return f"❌ {event.name or 'tool'}: {event.text[:_LOOKED_AT]}" if event.is_error else ""


def _retried(event: events.ApiRetried) -> str:
    return f"API error, retry {event.attempt}/{event.max_retries}: {event.error or event.status or 'unknown'}"


def _started(event: events.IterationStarted) -> str:
    return f"Iteration {event.number} begins" + (f" (with {counted(event.notes, 'note')})" if event.notes else "")


_WRITERS: dict[type, Callable[[Any], str]] = {
    events.IterationStarted: _started,
    events.Said: lambda event: f"❌ {event.text or event.error}" if event.error else event.text,
    events.ToolCalled: lambda event: f"🔧 {headline(event)}",
    events.ToolAnswered: _answered,
    events.TaskStarted: lambda event: f"▶ {event.description or event.kind or event.id}",
    events.TaskEnded: lambda event: f"■ {event.summary or event.id} ({event.status or 'ended'})",
    events.ApiRetried: _retried,
    events.ContextCompacted: lambda event: f"· Context compacted at {counted(event.tokens, 'token')}",
    events.AgentExited: lambda event: "".join(run_lines.exited(event)),
}
