"""Steps of the fold about waits and what they depend on: usage windows, calls of Claude."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Why
from claude_iterate.core.state.run_state import RunState

_CALLS_KEPT = 1000
"""As many as `limits.calls_per_hour` can ask for."""


def window_seen(state: RunState, event: events.LimitReported) -> RunState:
    """A usage window as Claude last told it."""
    windows = {**state.waiting.windows, event.window: event}
    return replace(state, waiting=replace(state.waiting, windows=windows))


def agent_called(state: RunState, at: float) -> RunState:
    """Claude was called; the pace counts that."""
    recent = (*state.waiting.calls[1 - _CALLS_KEPT :], at)
    return replace(state, waiting=replace(state.waiting, calls=recent))


Waits = events.WaitStarted | events.WaitEnded | events.HeldBack


def waited(state: RunState, event: Waits, entry: events.Entry) -> RunState:
    """A wait begins or ends; or another run met a limit."""
    if isinstance(event, events.HeldBack):
        return replace(state, waiting=replace(state.waiting, held=event))
    return _started(state, event, entry) if isinstance(event, events.WaitStarted) else _ended(state, event)


def _started(state: RunState, event: events.WaitStarted, entry: events.Entry) -> RunState:
    """A wait, on the run's own clock too."""
    planned = max(0.0, event.until - entry.at)
    waiting = replace(state.waiting, wait=event, began=entry.elapsed, ends=entry.elapsed + planned)
    if event.why not in {Why.PACE, Why.SCHEDULE, Why.FAILURES}:  # which are our own wish: no trouble that could grow
        waiting = replace(waiting, waits=waiting.waits + 1, waited=waiting.waited + planned)
    return replace(state, waiting=waiting)


def _ended(state: RunState, event: events.WaitEnded) -> RunState:
    """The run goes on; what it waited for is forgotten."""
    waiting = replace(state.waiting, wait=None, held=None)
    if event.by != "time":
        # What is known of a window would only begin the wait again, and a user who ends a wait wants to try. That
        # begins a new count, too: what was planned was not waited.
        window = state.wait.window if state.wait is not None else ""
        windows = {name: seen for name, seen in waiting.windows.items() if name != window}
        waiting = replace(waiting, windows=windows, waits=0, waited=0.0, calls=())
        if state.wait is not None and state.wait.why == Why.SCHEDULE:
            waiting = replace(waiting, hours_waived=state.wait.until)
    return replace(state, waiting=waiting, last_outcome=None)
